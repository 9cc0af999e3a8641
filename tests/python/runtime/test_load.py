"""`frit.load`: artifacts of exported programs, with their weights, run from Python without a compiler."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from artifacts import Plan
from exported import TOOLS, compile_file
from torch import nn
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import make_fx

import frit

ROOT = Path(__file__).resolve().parents[3]

class Net(nn.Module):
    """A model with kernels and ATen calls, shared and plain weights, a constant, and several results."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 8)
        self.tied = self.first.weight

    def forward(self, x, scale):
        y = self.norm(torch.relu(self.first(x))) * scale
        return self.second(y) + torch.arange(8.0), (y @ self.tied).sum(1)


ROWS = Dim("rows", min=2, max=64)
SHAPES = {"x": {0: ROWS}, "scale": None}


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    torch.manual_seed(1)
    module = Net().requires_grad_(False)
    path = compile_file(tmp_path_factory.mktemp("net"), module, [torch.randn(4, 8), torch.randn(16)], dynamic_shapes=SHAPES)
    return module, path


def test_equal_to_the_module_over_sizes(net):
    module, path = net
    model = frit.load(path, check_weights=True)
    for rows in (2, 3, 17, 64):
        x, scale = torch.randn(rows, 8), torch.randn(16)
        for ours, eager in zip(model(x, scale), module(x, scale), strict=True):
            torch.testing.assert_close(ours, eager)
            assert ours.stride() == eager.stride()
    assert model.stats()["calls"] == 4
    assert model.report()["graph"] == "main"


def test_it_says_what_it_takes(net):
    model = frit.load(net[1])
    assert [(value.name, value.kind, value.dtype, value.device) for value in model.inputs] == [
        ("x", "tensor", "float32", "cpu"),
        ("scale", "tensor", "float32", "cpu"),
    ]
    (symbol,) = model.symbols
    assert model.inputs[0].shape == (symbol, 8) and model.inputs[1].shape == (16,) and model.symbols[symbol] == (2, 64)
    assert [value.shape for value in model.outputs] == [(symbol, 8), (symbol,)]
    assert f"x: float32[{symbol}, 8]" in repr(model)


def test_one_result_is_a_tensor(tmp_path):
    model = frit.load(compile_file(tmp_path, nn.Linear(3, 2).requires_grad_(False), [torch.randn(4, 3)]))
    assert isinstance(model(torch.randn(4, 3)), torch.Tensor)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (lambda x, s: (x,), "takes 2 inputs, got 1"),
        (lambda x, s: (x, s, s), "takes 2 inputs, got 3"),
        (lambda x, s: (x.double(), s), "input 0 \\('x'\\): its dtype is float64, compiled for float32"),
        (lambda x, s: (x[0], s), "input 0 \\('x'\\): it has 1 dimensions, compiled for 2"),
        (lambda x, s: (x[:, :7], s), "dimension 1 is 7, compiled for 8"),
        (lambda x, s: (x[:1], s), "between 2 and 64"),
        (lambda x, s: (x.repeat(20, 1), s), "between 2 and 64"),
        (lambda x, s: (x, torch.randn(32)[::2]), "its stride along dimension 0 is 2, compiled for 1"),
        (lambda x, s: (x.to("meta"), s), "its device or dtype is not one frit runs on"),
        (lambda x, s: (x.numpy(), s), "a tensor is needed"),
        (lambda x, s: (x, 2.0), "input 1 \\('scale'\\): a tensor is needed"),
        (lambda x, s: (x.to_sparse(), s), "convert it with to_dense"),
    ],
)
def test_wrong_arguments_are_named(net, arguments, message):
    model = frit.load(net[1])
    x, scale = torch.randn(4, 8), torch.randn(16)
    with pytest.raises(RuntimeError, match=message):
        model(*arguments(x, scale))
    torch.testing.assert_close(model(x, scale)[0], net[0](x, scale)[0])


def test_files_that_are_no_artifacts(net, tmp_path):
    whole = net[1].read_bytes()
    cases = {
        "missing": (None, "cannot open '.*missing.frit': No such file"),
        "empty": (b"", "has 0 bytes"),
        "half": (whole[: len(whole) // 2], "not a usable .frit artifact"),
        "short": (whole[:-1], "its weights section does not fit"),
        "long": (whole + b"x", "its weights section does not fit"),
        "other": (b"PK" + bytes(500), "does not start with the magic"),
        "flipped": (whole[:200] + bytes([whole[200] ^ 1]) + whole[201:], "SHA-256 does not match"),
    }
    for name, (content, message) in cases.items():
        path = tmp_path / f"{name}.frit"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(frit.ArtifactError, match=message):
            frit.load(path)
    for path, message in [(tmp_path, "is not a regular file"), ("", "path of a .frit file")]:
        with pytest.raises(frit.ArtifactError, match=message):
            frit.load(path)


def test_damaged_weights_are_found_when_asked(net, tmp_path):
    path = tmp_path / "m.frit"
    content = bytearray(net[1].read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    frit.load(path)
    with pytest.raises(frit.ArtifactError, match="does not match its SHA-256"):
        frit.load(path, check_weights=True)


def test_code_is_only_taken_from_files_others_cannot_write(net, tmp_path):
    path = tmp_path / "m.frit"
    path.write_bytes(net[1].read_bytes())
    x = torch.randn(4, 8), torch.randn(16)
    reasons = [("can be written by others", lambda: os.chmod(path, 0o622)), ("can be written by others", lambda: os.chmod(path, 0o660))]
    if os.geteuid() == 0:
        reasons.append(("belongs to another user", lambda: (os.chmod(path, 0o600), os.chown(path, 12345, 12345))))
    for message, change in reasons:
        change()
        with pytest.raises(frit.ArtifactError, match=message):
            frit.load(path)
        torch.testing.assert_close(frit.load(path, allow_host_code=True)(*x), net[0](*x))


def test_constants_that_are_not_in_the_file(tmp_path):
    plan = Plan()
    plan.plan["constants"].append({"name": "held", "tensor": plan.tensor([3], [1]), "index": 0})
    path = tmp_path / "held.frit"
    path.write_bytes(plan.bytes())
    with pytest.raises(frit.ArtifactError, match="needs 1 constants that are not in the file"):
        frit.load(path)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(x.sum(0))
        return self.count * 2


def test_buffers_live_in_the_loaded_model_and_not_in_the_file(tmp_path):
    path = compile_file(tmp_path, Counter(), [torch.randn(5, 3)])
    before = path.read_bytes()
    eager, first, second = Counter(), frit.load(path), frit.load(path)
    x = torch.randn(5, 3)
    for _ in range(3):
        torch.testing.assert_close(first(x), eager(x))
    torch.testing.assert_close(second(x), Counter()(x))
    assert path.read_bytes() == before
    np.save(tmp_path / "x.npy", x.numpy())
    command = [TOOLS / "frit-run", path, f"--input=@{tmp_path}/x.npy", f"--output=@{tmp_path}/y.npy"]
    subprocess.run(command, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), Counter()(x).numpy(), rtol=1e-5, atol=1e-6)


def test_results_keep_the_mapping(tmp_path):
    class Weight(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.arange(5000.0))

        def forward(self, x):
            return x + 1, self.weight[2:]

    model = frit.load(compile_file(tmp_path, Weight(), [torch.randn(3)]))
    weight = model(torch.zeros(3))[1]
    del model
    assert torch.equal(weight, torch.arange(5000.0)[2:])


def test_weights_are_mapped_and_not_read(tmp_path):
    megabytes = 64
    model = nn.Linear(1024, megabytes * 256, bias=False).requires_grad_(False)
    path = compile_file(tmp_path, model, [torch.randn(1, 1024)])

    def resident():
        total = 0
        with open("/proc/self/smaps", encoding="ascii") as lines:
            inside = False
            for line in lines:
                words = line.split()
                if "-" in words[0] and not words[0].endswith(":"):
                    inside = line.rstrip().endswith(str(path))
                elif inside and words[0] == "Rss:":
                    total += int(words[1])
        return total

    loaded = frit.load(path)
    assert resident() < 8192
    x = torch.randn(1, 1024)
    torch.testing.assert_close(loaded(x), model(x))
    assert resident() > megabytes * 1000


def test_threads(net):
    module, path = net
    model = frit.load(path)
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(50):
            x = torch.randn(int(torch.randint(2, 65, (), generator=generator)), 8, generator=generator)
            scale = torch.randn(16, generator=generator)
            if not torch.allclose(model(x, scale)[0], module(x, scale)[0], rtol=1e-4, atol=1e-5):
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and model.stats()["calls"] == 100


def test_loading_needs_no_compiler(net):
    code = (
        f"import torch, frit, sys; model = frit.load({str(net[1])!r}); model(torch.randn(4, 8), torch.randn(16));"
        "print('torch._dynamo' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize(
    "trace",
    [
        *(lambda call, x, mode=mode: make_fx(call, tracing_mode=mode)(x) for mode in ("real", "fake", "symbolic")),
        lambda call, x: torch.jit.trace(call, (x,)),
    ],
    ids=["make_fx real", "make_fx fake", "make_fx symbolic", "jit.trace"],
)
def test_a_call_is_not_traced_as_a_constant(net, trace):
    model = frit.load(net[1])
    x, scale = torch.randn(4, 8), torch.randn(16)
    with pytest.raises(frit.ArtifactError, match="records operators"):
        trace(lambda x: model(x, scale)[0], x)
    torch.testing.assert_close(model(x, scale)[0], net[0](x, scale)[0])
