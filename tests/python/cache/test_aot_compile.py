"""Functions that torch saves together with frit's artifacts: `torch.compile(...).aot_compile`, and AOTAutograd's bundled cache."""

import json
import os
import sys
import textwrap

import fresh
import pytest
import torch
from torch._dynamo.utils import counters

PROGRAMS = """
import torch

def similarity(x, y):
    return torch.softmax(x @ y.t(), -1) * 2 + torch.arange(y.shape[0])

def add(x, n):
    return x * 2 + n

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.norm = torch.nn.Linear(6, 8), torch.nn.LayerNorm(8)

    def forward(self, x):
        return torch.nn.functional.gelu(self.norm(self.first(x)))
"""
_HERE = {}
exec(PROGRAMS, _HERE)  # the other process has the same text
similarity, add, Net = _HERE["similarity"], _HERE["add"], _HERE["Net"]


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torch"))
    torch.compiler.reset()


def saved(function, inputs, path, **more):
    function = torch.compile(function, backend="frit", fullgraph=True, **more).aot_compile((tuple(inputs), {}))
    function.save_compiled_function(str(path))
    return function


def in_another_process(folder, code):
    """Runs `code` in a process that may not compile, and returns the JSON that it prints; PROGRAMS, `load` and `counters` are defined."""
    (folder / "programs.py").write_text(PROGRAMS)
    head = """
        import json, torch
        from programs import *
        from torch._dynamo.utils import counters
        def load(path):
            with open(path, "rb") as file:
                return torch.compiler.load_compiled_function(file)
    """
    environment = dict(os.environ, FRIT_CACHE="0", PYTHONPATH=os.pathsep.join([str(folder), *sys.path]))
    text = textwrap.dedent(head) + textwrap.dedent(code)
    done = fresh.run(["-c", text], cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_function_is_loaded_and_compiles_nothing(tmp_path):
    x, y = torch.randn(4, 6), torch.randn(5, 6)
    function = saved(similarity, (x, y), tmp_path / "f.pt")
    torch.testing.assert_close(function(x, y), similarity(x, y))
    torch.save((x, y), tmp_path / "inputs.pt")
    found = in_another_process(
        tmp_path,
        """
        f = load("f.pt")
        x, y = torch.load("inputs.pt")
        torch.testing.assert_close(f(x, y), similarity(x, y))
        tally = counters["frit"]
        print(json.dumps({"compiled": tally["kernels_compiled"], "graphs": tally["graphs"], "result": f(x, y).sum().item()}))
        """,
    )
    assert (found["compiled"], found["graphs"]) == (0, 1)
    assert found["result"] == pytest.approx(function(x, y).sum().item(), rel=0, abs=0)


def test_sizes_that_vary(tmp_path):
    x, y = torch.randn(4, 6), torch.randn(5, 6)
    torch._dynamo.mark_dynamic(x, 0)
    function = saved(similarity, (x, y), tmp_path / "f.pt")
    for rows in (2, 3, 17):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(function(x, y), similarity(x, y))
    found = in_another_process(
        tmp_path,
        """
        f, y = load("f.pt"), torch.randn(5, 6)
        for rows in (2, 3, 17, 64):
            x = torch.randn(rows, 6)
            torch.testing.assert_close(f(x, y), similarity(x, y))
        print(json.dumps(counters["frit"]["kernels_compiled"]))
        """,
    )
    assert found == 0


def test_calls_that_a_file_was_not_compiled_for_run_as_traced_and_leave_a_repro(tmp_path):
    x = torch.randn(4)
    saved(add, (x, 3), tmp_path / "f.pt", dynamic=True, options={"strict": False})
    found = in_another_process(
        tmp_path,
        """
        import os, subprocess, sys
        os.environ["FRIT_REPRO_DIR"] = "repros"
        f, x, least = load("f.pt"), torch.randn(4), -(2**63)
        assert torch.equal(f(x, 5), add(x, 5)) and torch.equal(f(x, least), add(x, least)) and torch.equal(f(x, least), add(x, least))
        (folder,) = os.listdir("repros")
        done = subprocess.run([sys.executable, f"repros/{folder}/repro.py"], capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert done.returncode == 1 and "the failure: CompileError" in said, said
        print(json.dumps(counters["frit"]["calls_as_traced"]))
        """,
    )
    assert found == 2


def test_gradients(tmp_path):
    x, y = torch.randn(4, 6, requires_grad=True), torch.randn(5, 6, requires_grad=True)
    function = saved(similarity, (x, y), tmp_path / "f.pt")
    expected = torch.autograd.grad(similarity(x, y).square().sum(), (x, y))
    torch.testing.assert_close(torch.autograd.grad(function(x, y).square().sum(), (x, y)), expected)
    torch.save((x, y, expected), tmp_path / "inputs.pt")
    found = in_another_process(
        tmp_path,
        """
        f = load("f.pt")
        x, y, expected = torch.load("inputs.pt")
        torch.testing.assert_close(torch.autograd.grad(f(x, y).square().sum(), (x, y)), expected)
        print(json.dumps(counters["frit"]["kernels_compiled"]))
        """,
    )
    assert found == 0


_CACHED = """
    config = torch._functorch.config
    config.bundled_autograd_cache = config.force_autograd_cache = config.enable_autograd_cache = True
    torch._inductor.config.fx_graph_cache = True
    x, y = torch.load("inputs.pt")
    if "{BUILD}":
        import frit.native
        native = frit.native.compiler()
        class Other:
            def __getattr__(self, name):
                return getattr(native, name)
            def identity(self):
                return "{BUILD}"
        frit.native.compiler = lambda: Other()
    f = torch.compile(similarity, backend="frit")
    given = torch.autograd.grad(f(x, y).square().sum(), (x, y))
    torch.testing.assert_close(given, torch.autograd.grad(similarity(x, y).square().sum(), (x, y)))
    print(json.dumps({{"compiled": counters["frit"]["kernels_compiled"] > 0, "hits": counters["aot_autograd"]["autograd_cache_hit"]}}))
"""


def test_the_cache_of_torch_serves_a_second_process_forward_and_backward_and_no_other_build(tmp_path):
    torch.save((torch.randn(4, 6, requires_grad=True), torch.randn(5, 6, requires_grad=True)), tmp_path / "inputs.pt")
    run = lambda build="": in_another_process(tmp_path, _CACHED.format(BUILD=build))  # noqa: E731
    compiled, found = {"compiled": True, "hits": 0}, {"compiled": False, "hits": 1}
    assert [run(), run()] == [compiled, found]
    assert run("build 00, llvm 22.1.0, host x86-64-v3") == compiled


def test_python_steps_cannot_be_saved(tmp_path):
    def branches(x):
        return torch.cond(x.sum() > 0, lambda y: torch.quantize_per_tensor(y, 0.1, 10, torch.quint8).dequantize(), lambda y: y.cos(), (x,)) + 1

    with pytest.raises(Exception, match="a file cannot hold this graph: it has Python steps .*cond"):
        saved(branches, [torch.randn(3)], tmp_path / "f.pt")


def test_the_bundled_cache_of_torch(tmp_path):
    """With torch's settings for it: a hit does not reach frit, and other options of frit give another key."""
    config = {"bundled_autograd_cache": True, "force_autograd_cache": True, "enable_autograd_cache": True}

    def run(**options):
        torch.compiler.reset()
        model = Net()
        x = torch.randn(3, 6)
        with torch.no_grad():
            torch.testing.assert_close(torch.compile(model, backend="frit", options=options)(x), model(x))
        return counters["frit"]["kernels_compiled"] > 0

    with torch._functorch.config.patch(config), torch._inductor.config.patch(fx_graph_cache=True):
        torch._dynamo.utils.counters.clear()
        assert [run(), run(), run(numerics="eager"), run(numerics="eager")] == [True, False, True, False]
