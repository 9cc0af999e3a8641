"""The weights of a compiled program: in the artifact, in a separate file, or passed by the caller."""

import hashlib
import os
import subprocess

import numpy as np
import pytest
import torch
from test_load import TOOLS, Counter
from torch import nn

import frit


class Net(nn.Module):
    """A model with parameters (one is tied), buffers (one is not part of the state), a constant, and a library call between kernels."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
        self.tied = self.first.weight
        self.register_buffer("scale", torch.linspace(0, 1, 8))
        self.register_buffer("shift", torch.linspace(1, 2, 8), persistent=False)

    def forward(self, x):
        y = self.norm(torch.relu(self.first(x))) * self.scale + self.shift
        return y @ self.tied + torch.tensor([0.25])


class Kernels(nn.Module):
    """The same model without a library call."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.register_buffer("fine", torch.linspace(0, 1, 8).half())
        self.register_buffer("shift", torch.linspace(1, 2, 8), persistent=False)

    def forward(self, x):
        return torch.softmax(self.norm(x) * self.fine + self.shift, -1) + torch.tensor([0.25])


def compiled(module, folder, weights, name="m"):
    torch.export.save(torch.export.export(module, (torch.randn(4, 8),)), folder / "m.pt2")
    path = folder / f"{name}.frit"
    subprocess.run([TOOLS / "frit-compile", folder / "m.pt2", "-o", path, f"--weights={weights}"], check=True)
    os.chmod(path, 0o600)
    return path


@pytest.fixture(params=[Net, Kernels])
def module(request):
    torch.manual_seed(7)
    return request.param().eval().requires_grad_(False)


def run(tool, *words):
    return subprocess.run([TOOLS / tool, *map(str, words)], capture_output=True, text=True)


def check(tool, module, path, folder, *words):
    """Compares the tool's result with eager's."""
    x = torch.randn(4, 8)
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "y.npy", module(x).numpy())
    done = run(tool, path, f"--input=@{folder}/x.npy", f"--expected-output=@{folder}/y.npy", *words)
    assert done.returncode == 0, done.stderr


def tool_of(module):
    return "frit-run-torch" if isinstance(module, Net) else "frit-run"


def test_in_a_file_of_their_own(module, tmp_path):
    path = compiled(module, tmp_path, "external")
    (weights,) = tmp_path.glob("*.weights")
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == weights.stem
    assert path.stat().st_size < compiled(module, tmp_path, "embed", "whole").stat().st_size
    x = torch.randn(4, 8)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    weights = weights.rename(moved / weights.name)
    torch.testing.assert_close(frit.load(path, weights=moved, check_weights=True)(x), module(x))
    torch.testing.assert_close(frit.load(path, weights=str(moved))(x), module(x))
    check(tool_of(module), module, path, tmp_path, f"--weights={moved}", "--check-weights")
    with pytest.raises(frit.ArtifactError, match=f"{weights.name}'; name its folder"):
        frit.load(path)
    with pytest.raises(frit.ArtifactError, match="cannot open '.*weights': No such file"):
        frit.load(path, weights=tmp_path)
    content = bytearray(weights.read_bytes())
    weights.write_bytes(content[:-1])
    with pytest.raises(frit.ArtifactError, match=f"has {len(content) - 1} bytes, the artifact's weights have {len(content)}"):
        frit.load(path, weights=moved)
    content[1] ^= 1
    weights.write_bytes(content)
    frit.load(path, weights=moved)
    with pytest.raises(frit.ArtifactError, match="does not match its SHA-256"):
        frit.load(path, weights=moved, check_weights=True)
    done = run(tool_of(module), path, f"--weights={moved}", "--check-weights")
    assert done.returncode == 1 and "does not match its SHA-256" in done.stderr and done.stderr.count("\n") == 1


def test_two_artifacts_share_a_file(tmp_path):
    torch.manual_seed(8)
    module = Kernels().requires_grad_(False)
    compiled(module, tmp_path, "external", "a")
    compiled(module, tmp_path, "external", "b")
    assert len(list(tmp_path.glob("*.weights"))) == 1
    assert (tmp_path / "a.frit").read_bytes() == (tmp_path / "b.frit").read_bytes()


def test_with_the_caller(module, tmp_path):
    path = compiled(module, tmp_path, "none")
    state = module.state_dict()
    model = frit.load(path, weights=state, check_weights=True)
    x = torch.randn(4, 8)
    torch.testing.assert_close(model(x), module(x))
    assert {value.name for value in model.weights} == set(state) and frit.load(path, weights=state).weights[0].kind == "tensor"
    # They are used in place.
    module.norm.weight.mul_(3)
    torch.testing.assert_close(model(x), module(x))
    words = []
    for number, (name, value) in enumerate(state.items()):
        np.save(tmp_path / f"{number}.npy", value.numpy())
        words.append(f"--weight={name}=@{tmp_path}/{number}.npy")
    check(tool_of(module), module, path, tmp_path, *words)
    done = run(tool_of(module), path, *words[1:])
    assert done.returncode == 1 and f"compiled without weights; missing: '{next(iter(state))}'" in done.stderr


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda state: {}, "compiled without weights; missing: 'fine', 'norm.bias', 'norm.weight'|missing: '"),
        (lambda state: {**state, "more": torch.zeros(1)}, "has no weights 'more'"),
        (lambda state: {**state, "fine": state["fine"].float()}, r"constant \d \('fine'\): its dtype is float32, compiled for float16"),
        (lambda state: {**state, "fine": state["fine"][:7]}, r"\('fine'\): its size along dimension 0 is 7, compiled for 8"),
        (lambda state: {**state, "fine": torch.zeros(16).half()[::2]}, r"\('fine'\): its stride along dimension 0 is 2, compiled for 1"),
        (lambda state: {**state, "fine": state["fine"].reshape(2, 4)}, r"\('fine'\): it has 2 dimensions, compiled for 1"),
        (lambda state: {**state, "fine": state["fine"].to("meta")}, "weight 'fine': its device or dtype is not one frit runs on"),
    ],
)
def test_what_is_wrong_with_given_weights(change, message, tmp_path):
    path = compiled(Kernels().requires_grad_(False), tmp_path, "none")
    state = Kernels().requires_grad_(False).state_dict()
    with pytest.raises(frit.ArtifactError, match=message):
        frit.load(path, weights=change(state))
    with pytest.raises(TypeError, match="weights are tensors by name"):
        frit.load(path, weights={**state, "fine": 3})


def test_weights_that_are_not_asked_for(tmp_path):
    path = compiled(Kernels().requires_grad_(False), tmp_path, "embed")
    with pytest.raises(frit.ArtifactError, match="has no file of weights; load it without"):
        frit.load(path, weights=tmp_path)
    with pytest.raises(frit.ArtifactError, match="brings its own weights"):
        frit.load(path, weights={"fine": torch.zeros(8)})


def test_a_program_without_weights_has_no_file(tmp_path):
    path = compiled(nn.GELU(), tmp_path, "external")
    assert not list(tmp_path.glob("*.weights"))
    x = torch.randn(4, 8)
    torch.testing.assert_close(frit.load(path)(x), nn.GELU()(x))


def test_given_buffers_are_updated(tmp_path):
    torch.export.save(torch.export.export(Counter(), (torch.randn(5, 3),)), tmp_path / "m.pt2")
    path = tmp_path / "m.frit"
    subprocess.run([TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", path, "--weights", "none"], check=True)
    os.chmod(path, 0o600)
    eager, state, x = Counter(), {"count": torch.zeros(3)}, torch.randn(5, 3)
    model = frit.load(path, weights=state)
    for _ in range(3):
        torch.testing.assert_close(model(x), eager(x))
    torch.testing.assert_close(state["count"], eager.count)


def test_a_program_that_was_exported_without_data(tmp_path):
    from torch._subclasses.fake_tensor import FakeTensorMode

    module = Kernels().requires_grad_(False)
    with FakeTensorMode(allow_non_fake_inputs=True):
        hollow = nn.LayerNorm(8).requires_grad_(False)
        program = torch.export.export(hollow, (torch.randn(4, 8),))
    torch.export.save(program, tmp_path / "m.pt2")
    path = tmp_path / "m.frit"
    subprocess.run([TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", path, "--weights=none"], check=True)
    os.chmod(path, 0o600)
    x = torch.randn(4, 8)
    torch.testing.assert_close(frit.load(path, weights=module.norm.state_dict())(x), module.norm(x))


def test_external_weights_are_mapped_and_not_read(tmp_path):
    torch.manual_seed(9)
    module = nn.Linear(8, 1 << 20, bias=False).requires_grad_(False)
    path = compiled(module, tmp_path, "external")
    (weights,) = tmp_path.glob("*.weights")

    def resident():
        inside, total = False, 0
        for line in open("/proc/self/smaps", encoding="ascii"):
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                inside = line.rstrip().endswith(weights.name)
            elif inside and words[0] == "Rss:":
                total += int(words[1])
        return total

    model = frit.load(path, weights=tmp_path)
    assert resident() < 4096
    x = torch.randn(4, 8)
    torch.testing.assert_close(model(x), module(x))
    assert resident() > 16384


class Filters(nn.Module):
    """Filters that only convolutions read (one with groups), one with two names, one with another reader, and one that is half of a storage."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, (3, 1), padding=(1, 0), groups=8)
        self.third, self.fourth, self.fifth = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.tied, self.part = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.tied.weight = self.third.weight
        self.part.weight = nn.Parameter(torch.randn(16, 8, 3, 3)[8:])

    def forward(self, x):
        x = torch.relu(self.second(torch.relu(self.first(torch.relu(x)))))
        x = torch.relu(self.tied(torch.relu(self.third(x))))
        return self.part(torch.relu(self.fifth(torch.relu(self.fourth(x))))) * self.fifth.weight.sum()


@pytest.mark.parametrize("targets, relaid", [((), 3), (("cpu",), 3), (("cpu", "sm_90"), 0)])
@pytest.mark.parametrize("weights", ["embed", "external", "none"])
def test_filters_are_laid_out_once(weights, targets, relaid, tmp_path):
    """`relaid_weights` are the first, the second and the fourth; none if a GPU plan reads the same bytes, or if the caller passes them."""
    torch.manual_seed(5)
    module = Filters().eval().requires_grad_(False)
    batch = torch.export.Dim("batch", min=1, max=64)
    torch.export.save(torch.export.export(module, (torch.randn(2, 4, 6, 7),), dynamic_shapes=({0: batch},)), tmp_path / "m.pt2")
    path = tmp_path / "m.frit"
    words = [f"--weights={weights}", *(f"--target={target}" for target in targets)]
    subprocess.run([TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", path, *words], check=True)
    os.chmod(path, 0o600)
    given = {"embed": None, "external": tmp_path, "none": module.state_dict()}[weights]
    model = frit.load(path, weights=given, check_weights=weights != "none")
    assert model.report()["relaid_weights"] == (0 if weights == "none" else relaid)
    for size in (1, 2, 5):
        x = torch.randn(size, 4, 6, 7)
        torch.testing.assert_close(model(x), module(x), rtol=1e-5, atol=1e-4)
