"""Branches and loops (torch.cond, while_loop, scan) as steps of plans: values, aliases, gradients, sizes, files, and what stays a Python step."""

import json
import subprocess

import checker
import pytest
import torch
from exported import TOOLS
from torch import nn
from torch._dynamo.utils import counters
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import frit


def steps(graphs):
    """The control flow and the Python steps of the graphs of a program."""
    nodes = [node for graph in graphs for node in json.loads(graph.json)["graph_module"]["graph"]["nodes"]]
    return [node["target"].rpartition(".")[2] for node in nodes if ".higher_order." in node["target"]], [s.name for g in graphs for s in g.callbacks]


def branch(x, y):
    return torch.cond(x.sum() > 0, lambda x, y: (x.sin() + y, y * 2), lambda x, y: (x - y, (y @ y.t()).sum() + y), (x, y))


def halve(n, x):
    return while_loop(lambda n, x: (n < 5) & (x.abs().max() > 0.1), lambda n, x: (n + 1, x / 2 + 1e-3), (n, x))


def running(x):
    return scan(lambda total, part: (total + part, total * part), x[0] * 0, x, dim=0)


def nested(n, x):
    def body(n, x):
        return n + 1, torch.cond(n % 2 == 0, lambda x: x.relu() + 1, lambda x: -x, (x,))

    return while_loop(lambda n, x: n < 4, body, (n, x))


def twice(x):
    inner = lambda x: torch.cond(x.max() > 1, lambda x: x * 2, lambda x: x * 3, (x,)) + 1  # noqa: E731
    return torch.cond(x.sum() > 0, inner, lambda x: torch.cond(x.min() < -1, lambda x: -x, inner, (x,)), (x,))


A, B = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)
PROGRAMS = {
    "first branch": (branch, (A, B)),
    "second branch": (branch, (-A, B)),
    "strided operands": (branch, (torch.randn(3, 2).t(), torch.randn(2, 6)[:, ::2])),
    "loop": (halve, (torch.tensor(0), A)),
    "loop that never runs": (halve, (torch.tensor(9), A)),
    "loop ended by a value": (halve, (torch.tensor(0), A / 100)),
    "branches in branches": (twice, (A,)),
    "branches in branches, others": (twice, (A / 9 - 1,)),
    "nested": (nested, (torch.tensor(0), A - 2)),
    "scan": (running, (torch.randn(5, 3),)),
    "scan of one": (running, (torch.randn(1, 3),)),
    "scan of columns": (lambda x: running(x.t()), (torch.randn(3, 5),)),
    "reversed scan": (lambda x: scan(lambda c, p: (c + p[0], (c.exp(), p[1] + 1)), x[:, 0] * 0, (x, x * 2), dim=1, reverse=True), (torch.randn(2, 4),)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(graphs, name, dynamic):
    function, inputs = PROGRAMS[name]
    checker.check(function, *inputs, dynamic=dynamic)
    found, python = steps(graphs)
    assert found and not python


@pytest.mark.parametrize("name", ["second branch", "nested", "scan"])
def test_the_json_says_all(graphs, interpreted, name):
    function, inputs = PROGRAMS[name]
    checker.check(function, *inputs)


def test_a_branch_by_a_size_and_sizes_inside(graphs):
    def function(x):
        return torch.cond(x.shape[0] > 4, lambda x: x[: x.shape[0] // 2].sum(0) * x.shape[0], lambda x: x.mean(0), (x,))

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for size in (3, 5, 8, 2):
        x = torch.randn(size, 3)
        torch.testing.assert_close(compiled(x), function(x))


def test_integers_are_carried(graphs):
    def function(x):
        return while_loop(lambda i, x: i < x.shape[0], lambda i, x: (i + 1, x + i), (0, x))

    compiled = torch.compile(function, backend="frit", dynamic=True)
    for size in (3, 4, 7):
        x = torch.randn(size, 2)
        count, total = compiled(x)
        assert count == size
        torch.testing.assert_close(total, x + sum(range(size)))


def test_results_have_memory_of_their_own():
    def function(n, x):
        n, y = while_loop(lambda n, x: n < 1, lambda n, x: (n + 1, x.clone()), (n, x))
        z = torch.cond(n > 5, lambda x: x.clone(), lambda x: x + 1, (x,))
        return y, z

    for start in (0, 1, 7):
        x = torch.randn(4)
        y, z = torch.compile(function, backend="frit")(torch.tensor(start), x)
        before = x.clone()
        y.zero_()
        z.zero_()
        assert torch.equal(x, before), start


def test_complex_operands(graphs):
    def function(z):
        return while_loop(lambda n, z: n < 2, lambda n, z: (n + 1, z * (2 + 1j)), (torch.tensor(0), z))

    checker.check(function, torch.randn(3, dtype=torch.complex64))


def test_slices_of_other_strides_are_copied_and_counted():
    x = torch.randn(3, 5)
    with checker.executables() as made:
        result = torch.compile(lambda x: running(x.t()), backend="frit")(x)
    torch.testing.assert_close(result, running(x.t()))
    assert json.loads(made[0].stats())["restrided_arguments"] == 5


def test_constants_of_the_graphs(graphs):
    def function(n, x):
        table = torch.tensor([1.0, 2.0, 3.0])

        def body(n, x):
            return n + 1, torch.cond(n > 1, lambda x: x + torch.tensor([0.5, 0.25, 0.125]), lambda x: x * torch.tensor(3.0) + table, (x,))

        return while_loop(lambda n, x: n < torch.tensor(4), body, (n, x))

    checker.check(function, torch.tensor(0), torch.randn(2, 3))
    found, python = steps(graphs)
    assert found and not python


def test_gradients(graphs):
    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: self.left(x).tanh(), lambda x: self.right(x).relu(), (x,))

    for sign in (1, -1):
        torch.compiler.reset()
        module = Gate()
        checker.check(module, (sign * torch.rand(3, 4)).requires_grad_(), training=True, module=module)
    found, python = steps(graphs)
    assert found and not python


def test_the_gradient_of_a_loop(graphs):
    function = lambda n, x: while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x.sin() * 2), (n, x))[1]  # noqa: E731
    for start in (0, 2):
        found = []
        for backend in ("aot_eager", "frit"):
            torch.compiler.reset()
            x = torch.linspace(0.1, 1, 4, requires_grad=True)
            y = torch.compile(function, backend=backend, fullgraph=True)(torch.tensor(start), x)
            y.sum().backward()
            found.append((y.detach(), x.grad))
        torch.testing.assert_close(found[1], found[0])
    operators, python = steps(graphs)
    assert "while_loop_stack_output" in operators and not python


def add_in_branch(x, state):
    def add(x, state):
        state.add_(x)
        return x * state

    return torch.cond(x.sum() > 0, add, lambda x, state: x - state, (x, state)), state.sum()


def add_in_loop(x, state, other):
    def body(n, x):
        state.mul_(2)
        return n + 1, x + state * other

    return while_loop(lambda n, x: (n < 3) & (state.sum() < 30), body, (torch.tensor(0), x)), state + 1


@pytest.mark.parametrize("sign", [1, -1])
def test_operands_that_are_written(graphs, sign):
    with torch.no_grad():
        checker.check(add_in_branch, sign * torch.rand(3), torch.ones(3))
        checker.check(add_in_loop, sign * torch.rand(3), torch.full((3,), 2.0), torch.rand(3))
        checker.check(add_in_loop, sign * torch.rand(3), torch.full((3,), 2.0), torch.rand(3), dynamic=True)
    found, python = steps(graphs)
    assert set(found) == {"cond", "while_loop"} and not python


VIEWS = {
    "rows": lambda s: s[1:],
    "row": lambda s: s[-1],
    "column": lambda s: s[:, 1],
    "every second": lambda s: s[:, ::2],
    "corner": lambda s: s[1:, 1:],
    "turned": lambda s: s.t(),
    "turned column": lambda s: s.t()[1],
    "flat": lambda s: s.view(-1),
    "diagonal": lambda s: s.diagonal(),
    "bits": lambda s: s.view(torch.int32)[0],
    "all": lambda s: s.detach(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_that_are_written(graphs, name):
    def function(x, state):
        made = state * 2
        part, own = VIEWS[name](state), VIEWS[name](made)

        def add(x, part, own):
            own.mul_(3)
            return x + part.add_(1).sum() + own.sum()

        def double(x, part, own):
            part.copy_(part + part)
            return x - part.sum()

        y = torch.cond(x.sum() > 0, add, double, (x, part, own))
        _, z = while_loop(lambda n, x: (n < 3) & (part.sum() < 1e9), lambda n, x: (n + 1, x + own.sub_(1).sum()), (torch.tensor(0), x))
        return y, z, part, own, made, state * 2

    for sign in (1, -1):
        for dynamic in (False, True):
            with torch.no_grad():
                checker.check(function, sign * torch.rand(3), torch.arange(12.0).reshape(4, 3), dynamic=dynamic)
    found, python = steps(graphs)
    assert set(found) == {"cond", "while_loop"} and not python


def test_parts_of_one_tensor_that_are_written(graphs):
    def made(first, second):
        def write(x, a, b):
            a.add_(1)
            b.mul_(2)
            return x + a.sum() * b.sum()

        def function(x, state):
            return torch.cond(x.sum() > 0, write, lambda x, a, b: x - a.sum() - b.sum(), (x, first(state), second(state))), state * 2

        return function

    x, state = torch.rand(3), torch.arange(12.0).reshape(4, 3)
    with torch.no_grad():
        for first, second in ((lambda s: s[0], lambda s: s[2:]), (lambda s: s[1], lambda s: s[3]), (lambda s: s[:, 0], lambda s: s[:, 2])):
            checker.check(made(first, second), x, state)
        checker.check(made(lambda s: s[0], lambda s: s[1]), x, state, dynamic=True)
        assert not steps(graphs)[1]
        # Views that overlap; torch passes them to the branch as if they did not.
        function = made(lambda s: s[0], lambda s: s[:2, 0])
        for found, expected in zip(torch.compile(function, backend="frit")(x, state.clone()), torch.compile(function, backend="aot_eager")(x, state.clone())):
            torch.testing.assert_close(found, expected)
    assert steps(graphs)[1] == ["auto_functionalized_v2"]


def test_a_written_part_of_an_input_that_begins_inside_of_its_storage(graphs):
    def function(x, state):
        part = state[:2]
        return torch.cond(x.sum() > 0, lambda x, part: x + part.add_(1).sum(), lambda x, part: x - part.sum(), (x, part)), state * 2

    with torch.no_grad():
        checker.check(function, torch.rand(3), torch.arange(9.0)[3:])
    assert steps(graphs) == (["cond"], [])


def test_a_written_view_in_a_branch_of_a_branch(graphs):
    def inner(x, state):
        return torch.cond(x.max() > 0.5, lambda x, part: x + part.add_(1), lambda x, part: x - part, (x, state[1:]))

    def outer(x, state):
        state = state * 2
        return inner(x, state) * state[0], state

    def function(x, state):
        return torch.cond(x.sum() > 0, outer, lambda x, state: (x * state[1:], state - 1), (x, state))

    with torch.no_grad():
        for x in (torch.ones(3), torch.full((3,), 0.1), -torch.ones(3)):
            checker.check(function, x, torch.arange(4.0))
    assert not steps(graphs)[1]


def test_random_numbers_in_a_branch_follow_eager():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: nn.functional.dropout(x, 0.5) + torch.rand(3), lambda x: x * 1.5, (x,)) + torch.rand(3)

    torch.manual_seed(3)
    expected = function(torch.ones(3))
    torch.manual_seed(3)
    assert torch.equal(torch.compile(function, backend="aot_eager")(torch.ones(3)), expected)
    torch.compiler.reset()
    torch.manual_seed(3)
    assert torch.equal(torch.compile(function, backend="frit")(torch.ones(3)), expected)


@pytest.mark.parametrize("predicate", [torch.tensor(0.5), torch.tensor([2]), torch.tensor(0j), torch.tensor(1j), torch.tensor(float("nan"))], ids=str)
def test_predicates_of_any_type(predicate):
    def function(p, x):
        return torch.cond(p, lambda x: x.sin(), lambda x: x.cos(), (x,))

    torch.testing.assert_close(torch.compile(function, backend="frit")(predicate, A), A.sin() if predicate else A.cos())


def test_a_predicate_has_one_element():
    compiled = torch.compile(lambda p, x: torch.cond(p, lambda x: x.sin(), lambda x: x.cos(), (x,)), backend="frit")
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        compiled(torch.tensor([True, False]), A)


def test_results_of_operators_that_break_promises_have_eagers_strides():
    @torch.library.custom_op("frit_test::turned", mutates_args=())
    def turned(x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous().t()

    turned.register_fake(torch.empty_like)
    function = lambda x: torch.cond(x.sum() > 0, lambda x: turned(x), lambda x: x - 1, (x,))  # noqa: E731
    x = torch.rand(3, 4)
    found, expected = torch.compile(function, backend="frit")(x), torch.compile(function, backend="aot_eager")(x)
    assert torch.equal(found, expected) and found.stride() == expected.stride() == (1, 3)


def test_a_view_of_a_graph_whose_storage_is_read_runs_as_traced(lenient):
    def function(x):
        part = torch.cond(x.sum() > 0, lambda x: (x + 1)[1:], lambda x: (x * 2)[1:], (x,))
        return part.as_strided((2, 2), (4, 1), 0), part * 2

    x = torch.arange(12.0).reshape(3, 4)
    for found, expected in zip(torch.compile(function, backend="frit")(x), torch.compile(function, backend="aot_eager")(x), strict=True):
        assert torch.equal(found, expected) and found.storage_offset() == expected.storage_offset()


def test_what_stays_a_python_step(graphs):
    from torch._higher_order_ops.map import map as map_rows

    x = torch.randn(2, 3, 4, 5, 6)
    function = lambda x: map_rows(lambda p: p.contiguous(memory_format=torch.channels_last) + 0.5, x)  # noqa: E731
    result = torch.compile(function, backend="frit")(x)
    assert torch.equal(result, function(x)) and result.stride() == function(x).stride()
    assert steps(graphs) == ([], ["map_impl"])


def test_a_loop_that_carries_a_python_bool_runs_as_traced(lenient):
    loop = lambda x: while_loop(lambda b, x: x.sum() < 0, lambda b, x: (b, x + 1), (False, x))  # noqa: E731
    counters.clear()
    assert torch.compile(loop, backend="frit")(torch.ones(2))[0] is False
    assert counters["frit"]["whole_graphs"] == 1


def test_no_step_is_a_fallback():
    counters.clear()
    with checker.executables() as made:
        torch.compile(halve, backend="frit")(torch.tensor(0), A)
    stats = json.loads(made[0].stats())
    assert stats["calls"] == 1 and stats["subgraph_calls"] == 11 and stats["aten"] == {}
    assert not [name for name in counters["frit"] if name.startswith("callback") or "while_loop" in name]
    report = json.loads(made[0].report())
    assert [one["op"] for one in report["control_flow"]] == ["higher_order.while_loop"]
    assert report["aten_calls"] == [] and not report["needs_libtorch"]
    assert all(one["report"]["kernels"] for one in report["subgraphs"])


def test_an_error_inside_of_a_loop_is_eagers():
    def function(n, x):
        return while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x + x.index_select(0, n.reshape(1))), (n, x))

    x = torch.eye(2)
    with pytest.raises(IndexError) as expected:
        function(torch.tensor(0), x)
    with pytest.raises(IndexError) as found:
        torch.compile(function, backend="frit")(torch.tensor(0), x)
    assert str(found.value) == str(expected.value).partition("\n")[0]


def test_a_file_runs_without_torch(tmp_path):
    import numpy

    class Program(nn.Module):
        def forward(self, n, x):
            n, x = halve(n, x)
            total, parts = running(x)
            return torch.cond(total.sum() > 1, lambda p: p.sum(0), lambda p: p[0] * 2, (parts,)), x

    module, inputs = Program(), (torch.tensor(0), torch.randn(5, 3))
    torch.export.save(torch.export.export(module, inputs), tmp_path / "program.pt2")
    made = subprocess.run([TOOLS / "frit-compile", tmp_path / "program.pt2", "--require-standalone", "-o", tmp_path / "program.frit"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    expected = module(*inputs)
    loaded = frit.load(tmp_path / "program.frit")
    for one, other in zip(loaded(*inputs), expected, strict=True):
        torch.testing.assert_close(one, other)
    for number, value in enumerate(inputs):
        numpy.save(tmp_path / f"in{number}.npy", value.numpy())
    places = [f"--expected-output=@{tmp_path}/out{number}.npy" for number in range(len(expected))]
    for number, other in enumerate(expected):
        numpy.save(tmp_path / f"out{number}.npy", other.numpy())
    words = [TOOLS / "frit-run", tmp_path / "program.frit", *(f"--input=@{tmp_path}/in{number}.npy" for number in range(2)), *places]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


#: The fixture that switches a cache on, of graphs alone or of AOTAutograd's results too, and the counter of its hits.
CACHES = [("folder", "cache_hits"), ("results_folder", "autograd_cache_hits")]


@pytest.mark.parametrize(("cache", "counter"), CACHES)
def test_equal_programs_hit_the_cache_and_others_do_not(cache, counter, request):
    request.getfixturevalue(cache)

    def made(operator, number):
        return lambda x: torch.cond(x.sum() > 0, lambda x: operator(x) + torch.tensor([number, 1.0]), lambda x: x - 1, (x,))

    x = torch.tensor([0.25, 0.5])
    for operator, number, hits in ((torch.sin, 2.0, 0), (torch.sin, 2.0, 1), (torch.exp, 2.0, 0), (torch.sin, 7.0, None)):
        torch.compiler.reset()
        counters.clear()
        assert torch.equal(torch.compile(made(operator, number), backend="frit")(x), made(operator, number)(x))
        assert hits is None or counters["frit"][counter] == hits, counters["frit"]
        assert counters["frit"]["callbacks"] == 0


@pytest.mark.parametrize(("cache", "counter"), CACHES)
def test_programs_that_write_hit_the_cache_too(cache, counter, request):
    request.getfixturevalue(cache)

    def made(first, factor):
        def write(x, part):
            return x + part.mul_(factor)

        return lambda x, state: torch.cond(x.sum() > 0, write, lambda x, part: x - part, (x, state[first]))

    x = torch.rand(3)
    for first, factor, hits in ((0, 2, 0), (0, 2, 1), (1, 2, 0), (0, 3, 0)):
        torch.compiler.reset()
        counters.clear()
        found, expected = torch.ones(2, 3), torch.ones(2, 3)
        with torch.no_grad():
            assert torch.equal(torch.compile(made(first, factor), backend="frit")(x, found), made(first, factor)(x, expected))
        assert torch.equal(found, expected) and counters["frit"][counter] == hits, counters["frit"]


@torch.compiler.nested_compile_region
def accumulate(x, state):
    return x + state.add_(torch.tensor(2.0))


def test_repeated_regions_that_write_and_have_constants(graphs):
    def function(x, state):
        part = state[0]
        return accumulate(x, part) * accumulate(x + 1, part), state * 2

    with torch.no_grad():
        for dynamic in (False, True):
            checker.check(function, torch.rand(4, 3), torch.ones(2, 3), dynamic=dynamic)
    nodes = [node["target"] for graph in graphs for node in json.loads(graph.json)["graph_module"]["graph"]["nodes"]]
    assert sum(target.endswith("invoke_subgraph") for target in nodes) == 4 and not steps(graphs)[1]


def test_statistics_that_a_branch_updates_run_as_traced(lenient):
    norm = nn.BatchNorm1d(3)

    def function(x):
        return torch.cond(x.sum() > 0, lambda x: norm(x), lambda x: x + norm.running_mean, (x,))

    counters.clear()
    x = torch.rand(4, 3)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(function, backend="frit")(x), nn.BatchNorm1d(3)(x))
    expected = nn.BatchNorm1d(3)
    expected(x)
    torch.testing.assert_close(norm.running_var, expected.running_var)
    assert any("updates its statistics" in name for name in counters["frit"]), counters["frit"]


def test_a_branch_that_writes_needs_torch_compile(tmp_path):
    class Program(nn.Module):
        def forward(self, x, state):
            return torch.cond(x.sum() > 0, lambda x, state: x + state.add_(1), lambda x, state: x - state, (x, state))

    with torch.no_grad():
        torch.export.save(torch.export.export(Program(), (torch.rand(3), torch.ones(3))), tmp_path / "program.pt2")
    made = subprocess.run([TOOLS / "frit-compile", tmp_path / "program.pt2", "-o", tmp_path / "program.frit"], capture_output=True, text=True)
    assert made.returncode and "that writes to its arguments: return the new values, or compile the program with torch.compile" in made.stderr
    assert not (tmp_path / "program.frit").exists()
