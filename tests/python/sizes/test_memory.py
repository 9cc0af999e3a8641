"""`frit.memory`: the formula equals the memory of calls, as counted by torch's allocator, and nothing runs to compute it."""

import functools
import re

import pytest
import torch
from exported import compile_file
from small_models import MODELS
from torch import nn
from torch.nn import functional as F

import frit
from benchmarks.measure import peak_bytes
from frit.errors import OptionError
from frit.inspect.polynomial import Polynomial, largest


class Block(nn.Module):
    """A transformer block: attention that torch does not decompose, a norm and a feed-forward net."""

    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads = heads
        self.norm, self.project = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        parts = self.project(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + F.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)
        return x + self.feed(x)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(50, 24), nn.Linear(24, 50)

    def forward(self, ids):
        return self.head(self.table(ids).cumsum(1)).log_softmax(-1)


def rows(shape):
    return [torch.randn(*shape)]


def similarity(a, b):
    return (a[:, None, :] - b[None, :, :]).pow(2).sum(2).neg().exp()


def attention_by_hand(q, k):
    return (q @ k.transpose(-1, -2)).softmax(-1) @ k


#: name -> (function, the arguments at two sizes)
PROGRAMS = {
    "elementwise": (lambda x: (x * 2).sin() + 1, lambda n: rows((n, 3 * n))),
    "softmax": (lambda x: x.softmax(-1) + x.softmax(0), lambda n: rows((n, 2 * n))),
    "columns": (lambda x: (x - x.mean(0)) / x.var(0).sqrt(), lambda n: rows((4 * n, n))),
    "similarity": (similarity, lambda n: [torch.randn(n, 16), torch.randn(2 * n, 16)]),
    "perceptron": (nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 8)), lambda n: rows((n, 16))),
    "attention by hand": (attention_by_hand, lambda n: [torch.randn(2, n, 16), torch.randn(2, n, 16)]),
    "block": (Block().eval(), lambda n: rows((3, n, 32))),
    "words": (Words().eval(), lambda n: [torch.randint(0, 50, (2, n))]),
    "transposed": (lambda x, w: (x.transpose(1, 2).reshape(x.shape[0], -1)[:, :64] @ w).relu(), lambda n: [torch.randn(n, n, 64), torch.randn(64, 32)]),
    "joined": (lambda x, y: torch.cat([x.exp(), y.sin()], 1).sum(1, keepdim=True) * y, lambda n: [torch.randn(n, 8), torch.randn(n, n)]),
}


def sizes_of(memory, arguments, names):
    """Returns the sizes of a call by their names in the Memory."""
    values = {f"{name}[{dim}]": size for name, one in zip(names, arguments) for dim, size in enumerate(one.shape)}
    return {name: values[name] for name in memory.sizes}


def names_of(function):
    code = (function.forward if isinstance(function, nn.Module) else function).__code__
    names = code.co_varnames[: code.co_argcount]
    return names[1:] if isinstance(function, nn.Module) else names


def evaluated(formula, sizes, workspace=0):
    """Evaluates a formula."""
    for name, value in sorted(sizes.items(), key=lambda one: -len(one[0])):
        formula = formula.replace(name, str(value))
    formula = re.sub(r"workspace\(\w+\)", str(workspace), formula).replace("^", "**")
    assert not re.search(r"[a-z]", formula.replace("max", "").replace("min", "").replace("floor", "")), formula
    return eval(formula, {"floor": int, "max": max, "min": min})


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_formula_is_what_a_call_takes(name):
    function, make = PROGRAMS[name]
    with torch.no_grad():
        memory = frit.memory(function, *make(20))
        assert not memory.not_counted, str(memory)
        compiled = torch.compile(function, backend="frit", dynamic=True)
        for n in (20, 37, 90):
            arguments = make(n)
            parts = memory.parts(sizes_of(memory, arguments, names_of(function)))
            measured = peak_bytes(lambda: compiled(*arguments))
            said = parts.results + parts.temporaries + parts.workspaces
            assert measured == pytest.approx(said, rel=0.03), (n, parts, str(memory))
            weights = list(function.parameters()) if isinstance(function, nn.Module) else []
            assert parts.arguments + parts.constants == sum(one.nbytes for one in (*arguments, *weights))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_says_what_at_says(name):
    function, make = PROGRAMS[name]
    with torch.no_grad():
        memory = frit.memory(function, *make(20))
    for n in (20, 51):
        sizes = sizes_of(memory, make(n), names_of(function))
        parts = memory.parts(sizes)
        assert evaluated(memory.formula, sizes, parts.workspaces) == parts.total == memory.at(sizes)


@pytest.mark.parametrize("name, unbounded", [("gpt2", []), ("t5", []), ("vit", [])])
def test_the_formula_of_a_model(name, unbounded):
    model, make, _ = MODELS[name]()
    model.eval()
    with torch.no_grad():
        memory = frit.memory(model, make(4))
        compiled = torch.compile(model, backend="frit", dynamic=True)
        for batch in (4, 31):
            x = make(batch)
            sizes = {one: x.shape[int(one[one.rindex("[") + 1 : -1])] for one in memory.sizes}
            parts = memory.parts(sizes)
            # Attention needs a workspace only in ATen's kernel; sizes and CPU determine which kernel runs.
            needed, peak = parts.results + parts.temporaries, peak_bytes(lambda: compiled(x))
            assert 0.97 * needed <= peak <= 1.03 * (needed + parts.workspaces), str(memory)
    assert [line.partition(": ")[2] for line in memory.not_counted] == unbounded


def test_training_is_two_graphs():
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 8))
    memory = frit.memory(model, torch.randn(20, 16))
    assert [graph.name.rsplit("_", 1)[1] for graph in memory.graphs] == ["forward", "backward"]
    compiled, x = torch.compile(model, backend="frit", dynamic=True), torch.randn(33, 16)
    forward, backward = (graph.at({name: 33 for name in graph.sizes}) for graph in memory.graphs)
    assert peak_bytes(lambda: compiled(x)) == pytest.approx(forward.total - forward.arguments, rel=0.03)
    loss = compiled(x)
    grad = torch.ones_like(loss)
    losses = [loss, compiled(x)]

    def step():
        return torch.autograd.grad(losses.pop(), list(model.parameters()), grad)

    assert peak_bytes(step) == pytest.approx(backward.results + backward.temporaries + backward.workspaces, rel=0.03)
    assert "_backward: " in str(memory)


def test_a_peak_counts_what_the_call_allocated():
    earlier = []
    peak_bytes(lambda: earlier.append(torch.empty(5000)))

    def call():
        earlier.pop(0)
        return torch.empty(700), torch.empty(800)

    assert peak_bytes(call) == 4 * (700 + 800)


def test_nothing_runs_and_nothing_changes():
    ran = []

    @torch.library.custom_op("frit_memory_test::noted", mutates_args=())
    def noted(x: torch.Tensor) -> torch.Tensor:
        ran.append(x.shape)
        return x.clone()

    noted.register_fake(lambda x: torch.empty_like(x))
    compiled = torch.compile(lambda x: noted(x) + 1, backend="frit", dynamic=True)
    memory = frit.memory(compiled, torch.randn(5, 3))
    assert not ran and memory.not_counted == ["graph0_inference: frit_memory_test.noted.default: its own workspace"]
    assert "peak bytes of a call, at least: " in str(memory)
    assert compiled(torch.zeros(4, 3)).sum() == 12 and ran == [(4, 3)]


def test_arguments_without_data_and_a_model_on_meta():
    with torch.device("meta"):
        model, x = nn.Linear(16, 8, bias=False), torch.empty(20, 16)
    with torch.no_grad():
        memory = frit.memory(model.compile(backend="frit") or model, x, device="cpu")
    assert memory.at({"input[0]": 100}) == 4 * (100 * 16 + 16 * 8 + 100 * 8)
    assert memory.formula == "96*input[0] + 512"


def test_sizes_get_names():
    memory = frit.memory(similarity, torch.randn(10, 16), torch.randn(12, 16)).named(batch="a[0]", others="b[0]")
    assert list(memory.sizes) == ["batch", "a[1]", "others"] and "batch: 2 up, also a[0]" in str(memory) and "a[1]: 2 up, also b[1]" in str(memory)
    assert memory.formula == "4*a[1]*batch + 4*a[1]*others + 4*batch*others"
    assert memory.at(batch=10, others=20, **{"b[1]": 16}) == memory.at({"a[0]": 10, "others": 20, "a[1]": 16}) == 4 * (160 + 320 + 200)


def test_keywords_that_a_wrapper_passes_on_have_their_names():
    @functools.wraps(similarity)
    def wrapper(*args, **kwargs):
        return similarity(*args, **kwargs)

    memory = frit.memory(wrapper, torch.randn(10, 16), b=torch.randn(12, 16))
    assert list(memory.sizes) == ["args[0][0]", "args[0][1]", "b[0]"]

    class Wrapped(torch.nn.Module):
        def forward(self, first, second, *more):
            return similarity(first, second) + sum(more)

    forward = Wrapped.forward
    Wrapped.forward = functools.wraps(forward)(lambda self, *args, **kwargs: forward(self, *args, **kwargs))
    memory = frit.memory(Wrapped(), torch.randn(10, 16), torch.randn(12, 16), torch.randn(1, 12))
    assert list(memory.sizes) == ["first[0]", "first[1]", "second[0]"]
    options = {"buckets": {"second[0]": [16, 32]}}
    compiled = torch.compile(Wrapped(), backend="frit", dynamic=True, options=options)
    compiled(torch.randn(10, 16), torch.randn(12, 16))
    assert frit.counts()["bucket_hits"] == 1

    # A builtin has no parameters that Python knows.
    assert list(frit.memory(torch.exp2, torch.randn(10, 16)).sizes) == ["args[0][0]", "args[0][1]"]

    def both(mask, kwargs):
        return mask.sum() + kwargs["mask"].sum()

    memory = frit.memory(both, torch.randn(10), {"mask": torch.randn(12)})
    assert list(memory.sizes) == ["mask[0]", "kwargs['mask'][0]"]


def test_the_largest_size_within_a_budget():
    memory = frit.memory(similarity, torch.randn(10, 16), torch.randn(12, 16)).named(batch="a[0]", others="b[0]", width="a[1]")
    found = memory.largest("batch", "1M", others=100, width=16)
    assert memory.at(batch=found, others=100, width=16) <= 1 << 20 < memory.at(batch=found + 1, others=100, width=16)
    assert memory.largest("batch", 100, others=100, width=16) is None
    with pytest.raises(OptionError, match="'1 large' is not a budget; give a number of bytes"):
        memory.largest("batch", "1 large", others=100, width=16)


def test_a_limit_of_a_size_is_its_limit():
    x = torch.randn(10, 16)
    torch._dynamo.mark_dynamic(x, 0, min=4, max=64)
    memory = frit.memory(lambda x: x.sin() * 2, x, dynamic=False)
    assert memory.sizes == {"x[0]": (4, 64)} and memory.largest("x[0]", "1G") == 64
    with pytest.raises(OptionError, match=r"x\[0\] cannot be 65; it is a number from 4 to 64"):
        memory.at({"x[0]": 65})


def test_wrong_names_and_missing_sizes_are_errors():
    memory = frit.memory(lambda x: x.sin() * 2, torch.randn(10, 16)).named(batch="x[0]")
    with pytest.raises(OptionError, match="no size 'bach' varies; did you mean 'batch'"):
        memory.at(bach=3)
    with pytest.raises(OptionError, match=r"no value of x\[1\]; give one for each"):
        memory.at(batch=3)


@pytest.mark.parametrize("call", [lambda f: frit.memory(torch.compile(f, backend="frit")), lambda f: frit.precompile(f)])
def test_arguments_that_are_missing_are_named(call, folder):
    with pytest.raises(OptionError, match="missing a required argument: 'rows'; give the arguments of a call beside the function"):
        call(lambda rows, width: rows * width)


def test_sizes_that_were_equal_are_one_size():
    memory = frit.memory(lambda x: x.sin() * 2, torch.randn(16, 16))
    with pytest.raises(OptionError, match=r"rows and columns are one size \(x\[1\] = x\[0\]\); trace with sizes that differ"):
        memory.named(rows="x[0]", columns="x[1]")


def test_results_that_follow_from_data_are_named():
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        memory = frit.memory(lambda x: x.nonzero() + 1, torch.ones(10))
    assert any("nonzero.default: the size of its result follows from data" in line for line in memory.not_counted), memory.not_counted


def test_a_file_and_a_loaded_model_have_a_formula(tmp_path):
    sizes = ({0: torch.export.Dim("rows", min=2, max=64)},)
    path = compile_file(tmp_path, nn.Sequential(nn.Linear(16, 8, bias=False), nn.Tanh()), (torch.randn(4, 16),), dynamic_shapes=sizes)
    for memory in (frit.memory(path), frit.memory(frit.load(path))):
        (name,) = memory.sizes
        assert memory.sizes[name] == (2, 64) and memory.parts({name: 50}).constants == 4 * 16 * 8


def test_a_large_temporary_takes_its_bucket():
    def function(x):
        y = x.softmax(-1)
        return (y + y.softmax(0)).sum(1)

    memory = frit.memory(function, torch.empty(1024, 1000, device="meta"), device="cpu", options={"bucket_policy": "ramp"}).named(rows="x[0]", columns="x[1]")
    assert memory.at(rows=2305, columns=1000) >= memory.at(rows=2304, columns=1000) + (1 << 20)


def test_polynomials():
    b, t = Polynomial.of("b"), Polynomial.of("t")
    product = (b + 1) * (b - 1) * t
    assert str(product) == "b^2*t - t" and product.at({"b": 3, "t": 2}).number == 16 and (b - b).number == 0
    assert (b * t).is_never_below(b + t - 1, {"b": 1, "t": 1}) and not (b * t).is_never_below(b + t, {"b": 1, "t": 1})
    assert [str(one) for one in largest([b, 2 * b + 3, t, 2 * b], {"b": 1, "t": 1})] == ["2*b + 3", "t"]
