"""`frit.precompile`: a process without weights fills the cache, and the process with weights compiles nothing."""

import json
import os
import sys
import textwrap

import fresh
import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch._subclasses.fake_tensor import FakeTensorMode

import frit
from frit.errors import CompileError

pytestmark = pytest.mark.usefixtures("results_folder")

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 8), nn.LayerNorm(8))
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("places", torch.arange(64), persistent=False)

    def forward(self, ids, scale=1.0):
        x = self.embed(ids) + self.places[: ids.shape[1], None] * scale
        return self.head(self.layers(x))
"""
_HERE = {}
exec(PROGRAM, _HERE)
Net = _HERE["Net"]

_SERVE = """
    import json, torch
    from program import Net
    from torch._dynamo.utils import counters
    torch.manual_seed(0)
    model = Net().eval()
    run, ids = torch.compile(model, backend="frit"), torch.randint(0, 11, (2, 5))
    with torch.no_grad():
        torch.testing.assert_close(run(ids), model(ids))
    found = dict(counters["frit"])
    torch.compiler.reset()
    run = torch.compile(model.train(), backend="frit")
    torch.manual_seed(1)
    run(ids).square().mean().backward()
    data = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.manual_seed(1)
    model(ids).square().mean().backward()
    for p, gradient in zip(model.parameters(), data):
        torch.testing.assert_close(gradient, p.grad)
    print(json.dumps([{name: tally.get(name, 0) for name in ("autograd_cache_hits", "autograd_cache_misses", "graphs")} for tally in (found, counters["frit"])]))
"""


def on_meta():
    with torch.device("meta"):
        return Net(), torch.zeros(2, 5, dtype=torch.long)


def under_fake_mode():
    with FakeTensorMode():
        return Net(), torch.zeros(2, 5, dtype=torch.long)


def with_data():
    return Net(), torch.zeros(2, 5, dtype=torch.long)


@pytest.mark.parametrize("make", [on_meta, under_fake_mode, with_data])
def test_the_serving_process_compiles_nothing(tmp_path, make):
    model, ids = make()
    with torch.no_grad():
        assert frit.precompile(model.eval(), ids, device="cpu") == {"results": 1, "graphs": 1, "bypassed": {}}
    assert frit.precompile(model.train(), ids, device="cpu") == {"results": 1, "graphs": 2, "bypassed": {}}
    (tmp_path / "program.py").write_text(PROGRAM)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = fresh.run(["-c", textwrap.dedent(_SERVE)], env=dict(os.environ, PYTHONPATH=path))
    assert done.returncode == 0, done.stderr[-4000:]
    inference, training = json.loads(done.stdout.splitlines()[-1])
    assert inference == {"autograd_cache_hits": 1, "autograd_cache_misses": 0, "graphs": 1}
    assert training == {"autograd_cache_hits": 1, "autograd_cache_misses": 0, "graphs": 2}


def test_nothing_is_called_and_the_model_stays_as_it_is():
    model, ids = on_meta()
    weights = dict(model.named_parameters())
    frit.precompile(model, ids, device="cpu")
    assert all(parameter is weights[name] and parameter.is_meta and parameter.grad is None for name, parameter in model.named_parameters())
    real = Net()
    before = {name: value.clone() for name, value in real.state_dict().items()}
    frit.precompile(nn.Sequential(nn.BatchNorm1d(3)), torch.zeros(4, 3))
    frit.precompile(real, torch.zeros(2, 5, dtype=torch.long))
    assert all(torch.equal(value, before[name]) for name, value in real.state_dict().items())


def test_sizes_that_vary_and_functions():
    x = torch.empty(7, 3, device="meta")
    torch._dynamo.mark_dynamic(x, 0)
    frit.precompile(_function, x, device="cpu")
    torch.compiler.reset()
    counters.clear()
    y = torch.randn(7, 3)
    torch._dynamo.mark_dynamic(y, 0)
    torch.testing.assert_close(torch.compile(_function, backend="frit")(y), _function(y))
    assert (counters["frit"]["autograd_cache_hits"], counters["frit"]["autograd_cache_misses"]) == (1, 0)


def _function(x):
    return x * x.shape[0] + 1


def test_options_are_those_of_the_serving_process():
    frit.precompile(_function, torch.zeros(3), options={"numerics": "eager"})
    for options, hits in (({}, 0), ({"numerics": "eager"}, 1)):
        torch.compiler.reset()
        counters.clear()
        torch.compile(_function, backend="frit", options=options)(torch.zeros(3))
        assert counters["frit"]["autograd_cache_hits"] == hits


def test_what_cannot_be_stored_is_said():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    found = frit.precompile(lambda x: Doubled.apply(x) + 1, torch.zeros(3, requires_grad=True))
    assert found["results"] == 0 and any("autograd_function_apply" in reason for reason in found["bypassed"])


def test_errors(monkeypatch):
    with pytest.raises(CompileError, match="name the device"):
        frit.precompile(_function, torch.zeros(3, device="meta"))
    with pytest.raises(CompileError, match="begins inside its storage"):
        frit.precompile(_function, torch.zeros(3, device="meta")[1:], device="cpu")
    with pytest.raises(torch._dynamo.exc.Unsupported):
        frit.precompile(lambda x: (torch._dynamo.graph_break(), x + 1), torch.zeros(3))
    monkeypatch.setenv("FRIT_CACHE", "0")
    with pytest.raises(CompileError, match="which is off"):
        frit.precompile(_function, torch.zeros(3))
