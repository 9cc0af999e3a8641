"""`options={"verify": N}` reports differences from ATen, and nothing else; mistakes are planted in the captured text."""

import re

import planted
import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit import options
from frit.verify import differences, guard, locate, reference


@pytest.fixture
def wrong(monkeypatch):
    """Plants a mistake for the test."""

    def plant(*arguments, **more):
        planted.install(*arguments, **more, setattr=monkeypatch.setattr)

    return plant


def verified(function, folder="off", dynamic=False, calls=1, **options):
    given = {"verify": calls, "repro_dir": str(folder), **options}
    return torch.compile(function, backend="frit", dynamic=dynamic, options=given)


def waves(a, b):
    c = (a + b).exp()
    d = c.sin() * 2
    return (d @ d.T).sum(0), a.mul_(2)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_difference_names_operator_line_sizes_and_kernel(wrong, dynamic, tmp_path):
    wrong("sin.default", "cos.default")
    with pytest.raises(frit.VerifyError) as raised:
        verified(waves, tmp_path, dynamic)(torch.rand(4, 8), torch.rand(1, 8))
    error = raised.value
    assert error.place.operator == "aten.sin.default" and "test_verify.py" in error.place.source and "c.sin() * 2" in error.place.source
    assert error.place.runs.startswith("kernel frit_") and re.search(r"result 0: 4 of 4 elements differ, worst at \(\d,\)", str(error))
    assert sorted(error.sizes.values()) == ([4, 8] if dynamic else [])
    assert error.repro and error.repro in str(error)
    assert counters["frit"]["verify_differences"] == 1


def test_a_mistake_of_fusion_is_found_where_looking_mends_it(wrong):
    wrong("sin.default", "cos.default", results=1)

    def function(x):
        return (x.exp().sin() + 1).tanh()

    with pytest.raises(frit.VerifyError, match=r"first operator: aten\.sin\.default .* shortest wrong part"):
        verified(function)(torch.rand(5))


def test_a_difference_warns_where_that_is_asked(wrong, caplog):
    wrong("sin.default", "cos.default")
    with caplog.at_level("WARNING", logger="frit"):
        result = verified(lambda x: x.sin(), verify_action="warn")(torch.zeros(3))
    assert result.tolist() == [1, 1, 1] and "frit differs from ATen" in caplog.text


def test_only_the_first_calls_are_compared():
    compiled = verified(lambda x: x + 1, calls=2)
    for _ in range(4):
        compiled(torch.rand(3))
    assert counters["frit"]["verified_calls"] == 2


@pytest.mark.parametrize("where", ["copied", "eager"])
@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no"), RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory")])
def test_a_run_of_aten_without_memory_is_no_difference(monkeypatch, caplog, where, error):
    def fails(*arguments):
        raise error

    monkeypatch.setattr(reference, where, fails)
    compiled = verified(lambda x: x + 1, calls=3)
    with caplog.at_level("WARNING", logger="frit"):
        assert [compiled(torch.zeros(1)).item() for _ in range(4)] == [1.0] * 4
    assert counters["frit"]["verify_skipped: ATen's run is out of memory"] == 3 and caplog.text.count("is not compared") == 1
    assert not counters["frit"]["verified_calls"] and not counters["frit"]["verify_differences"]


def test_without_the_option_the_executable_itself_is_called():
    settings = options.resolve(None, {"repro_dir": "off"})
    executable = object()
    assert guard._watched(executable, None, settings, "inference", None, "name", "inference", None, {}, executable) is executable


def exact(x):
    return torch.where(x > 0.5, x.int(), 7).flip(0)


def mutated(x):
    y = x[1:]
    x.mul_(2)
    y.add_(1)
    return x.sum()


def random(x):
    return torch.nn.functional.dropout(x, 0.5) + torch.rand(4)


def views(x):
    y = x.sum(0) + 1
    return y, y[1:], x.t()


def halves(x):
    return torch.softmax(x.bfloat16() * 3, -1).sum(0), x.half().exp().mean()


def rounded_choices(x):
    """The chosen elements depend on roundings."""
    y = x / x.sum()
    return (y > y.mean()).int(), y.sort().indices, (y * 1000).round()


def empty(x):
    return torch.empty_like(x), x.new_zeros(0).sum()


def integers(x):
    y = (x * 100).to(torch.int64)
    return y // 7, y % 3, (y << 2).sum()


@pytest.mark.parametrize("function", [exact, mutated, random, views, halves, rounded_choices, empty, integers], ids=lambda f: f.__name__)
def test_what_agrees_is_not_complained_about(function):
    verified(function)(torch.rand(4, 4) if function in (views, halves) else torch.rand(4))
    assert counters["frit"]["verified_calls"] == 1 and not counters["frit"]["verify_differences"]


def test_training_is_verified_in_both_directions(wrong):
    layer = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))
    verified(layer)(torch.rand(3, 8)).sum().backward()
    assert counters["frit"]["verified_calls"] == 2
    torch.compiler.reset()
    wrong("cos.default", "sin.default")
    x = torch.rand(3, requires_grad=True)
    result = verified(lambda x: x.sin() * x)(x)
    with pytest.raises(frit.VerifyError, match="backward"):
        result.sum().backward()


def test_the_generator_goes_on_as_without_verifying():
    def draws(calls):
        torch.compiler.reset()
        torch.manual_seed(3)
        compiled = verified(lambda x: x + torch.rand(3), calls=calls)
        return [compiled(torch.zeros(3)).tolist() for _ in range(2)], torch.rand(1).item()

    assert draws(1) == draws(0)


def test_a_written_argument_is_compared_after_the_call(wrong):
    wrong("sin.default", "cos.default")

    def function(x):
        x.copy_(x.sin())
        return x.shape[0]

    with pytest.raises(frit.VerifyError, match=r"argument 0 .* after the call"):
        verified(function)(torch.rand(4))


def slot(actual, expected):
    node = torch.fx.Graph().placeholder("x")
    node.meta["val"] = expected
    return differences.Slot("result 0", actual, expected, node, lambda outcome: None)


@pytest.mark.parametrize(
    "actual, expected, text",
    [
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "1 of 2 elements differ, worst at (1,): 2 instead of 3"),
        (torch.tensor([0.0]), torch.tensor([-0.0]), "1 of 1 elements differ"),
        (torch.zeros(2, 3), torch.zeros(3, 2), "sizes (2, 3) instead of (3, 2)"),
        (torch.zeros(2, 3), torch.zeros(3, 2).t(), "strides (3, 1) instead of (1, 2)"),
        (torch.zeros(4)[2:], torch.zeros(2), "storage offset 2 instead of 0"),
        (torch.zeros(2).int(), torch.zeros(2), "dtype torch.int32 instead of torch.float32"),
        (None, torch.zeros(2), "NoneType instead of a tensor"),
    ],
)
def test_what_is_said_of_one_value(actual, expected, text):
    gm = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
    (found,) = differences.Judge(gm, [], {}, False, lambda size: size).differences([slot(actual, expected)])
    assert text in str(found)


def test_memory_that_is_shared_or_is_not():
    a = torch.zeros(4)
    assert differences.sharing([a, a[1:], a.clone(), torch.zeros(0), torch.zeros(0)]) == [0, 0, 2, 3, 4]


@pytest.mark.parametrize("scale, is_right", [(1e-7, True), (3e-5, False)])
def test_sums_are_held_to_what_roundings_allow(scale, is_right):
    """An error of a thousand times that of a sum is not due to rounding."""
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.rand(64, 64)
    gm = make_fx(lambda x: (x.exp() / 3).sum(1), tracing_mode="fake")(x)
    expected = gm(x)
    (result,) = next(node for node in gm.graph.nodes if node.op == "output").args
    judged = differences.Slot("result 0", expected * (1 + scale), expected, result, lambda outcome: outcome[0][0])
    found = differences.Judge(gm, [x], {}, False, lambda size: size).differences([judged])
    assert bool(found) != is_right


def test_a_part_of_a_graph_begins_where_it_is_cut():
    from torch.fx.experimental.proxy_tensor import make_fx

    gm = make_fx(lambda x, y: ((x + y).sin() * y).cos())(torch.rand(3), torch.rand(3))
    by_name = {node.name: node for node in gm.graph.nodes}
    small, taken = locate.cut(gm, [by_name["cos"]], {by_name["mul"]})
    assert taken == [by_name["mul"]] and [node.op for node in small.graph.nodes] == ["placeholder", "call_function", "output"]
