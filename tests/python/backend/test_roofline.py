"""What kernels compute and move, the bounds that follow, the measured times, and the picture: counts are exact, what is not known is said to be."""

import json
import re
import types

import pytest
import torch
from test_reports import page_of

import frit
from frit.inspect import stages
from frit.pages.roof import Dot, roofline
from frit.roofline import machine, work
from frit.roofline.machine import Machine
from frit.roofline.points import in_count, in_time
from frit.roofline.timing import steps_of

#: A machine of round numbers: 1 GB a second, 4 GB from its 64 KiB of caches, 8 G operations.
ROUND = Machine("round", "nothing", 1e9, 4e9, 64 << 10, 8e9)


@pytest.fixture(autouse=True)
def round_numbers(monkeypatch):
    monkeypatch.setattr(machine, "measured", lambda device: ROUND)


def softmax_of_product(x, y):
    return (x * y).softmax(-1)


def test_operations_are_those_of_the_kernel_program():
    explanation = frit.explain(softmax_of_product, dynamic=False)(torch.randn(8, 16), torch.randn(8, 16))
    (kernel,) = explanation.kernels
    # A product, maximum, difference, exp, sum and quotient for each element.
    assert kernel["operations"] == (1 + 1 + 1 + work.FUNCTION + 1 + 1) * 8 * 16
    assert f"{in_count(kernel['operations'])} operations" in str(explanation)
    assert json.loads(explanation.to_json())["graphs"][0]["kernels"][0]["operations"] == kernel["operations"]


def test_a_value_of_a_row_counts_once_a_row():
    def function(x, r):
        return x * r.exp()[:, None]

    (kernel,) = frit.explain(function, dynamic=False)(torch.randn(32, 64), torch.randn(32)).kernels
    assert kernel["operations"] == 32 * 64 + 32 * work.FUNCTION


def test_operations_follow_the_sizes_of_a_report(graphs, tmp_path):
    compiled = torch.compile(softmax_of_product, backend="frit", dynamic=True, options={"dump_dir": str(tmp_path)})
    compiled(torch.randn(5, 7), torch.randn(5, 7))
    (folder,) = tmp_path.iterdir()
    names = [one["name"] for one in stages.of_path(folder).plan["symbols"]]
    counts = []
    for sizes in ((5, 7), (50, 70)):
        anatomy = stages.of_graph(graphs[0].artifact, folder, dict(zip(names, sizes)))
        counts += [anatomy.operations_of(step) for step in anatomy.traffic.steps]
    assert counts == [30 * 5 * 7, 30 * 50 * 70]


def test_a_kernel_for_a_list_counts_all_its_items():
    def function(a, b):
        return torch._foreach_mul(torch._foreach_add([a, b], 1.5), 2.0)

    explanation = frit.explain(function, dynamic=False)(torch.randn(100), torch.randn(23))
    assert sum(kernel["operations"] for kernel in explanation.kernels) == 2 * 123


PROGRAM = """kernel k
domain [p0, floordiv(p1 + 3, 4) | max(p2, 2)]
%0 = constant 2.000000e+00 : f32 : f32 dims {} level 0
%1 = load arg0[d0 * p1] where 0 <= d0 < p0 : f32 dims {0} level 0
%2 = apply math.exp %1 : f32 dims {0} level 0
%3 = load arg1[d2] : bf16 dims {2} level 0
%4 = apply arith.extf %3 : f32 dims {2} level 0
%5 = apply arith.mulf %2, %4 : f32 dims {0,2} level 0
%6 = reduce sum %5 : f32 dims {0} level 0
%7 = reduce across sum %5 : f32 dims {2} level 0
%8 = apply math.fma %6, %0, %0 : f32 dims {0} level 1
%9 = random at d0 : i64 dims {0,1} level 0
%10 = select %8, %0 where 0 <= d1 < 3 : f32 dims {0,1} level 1
%11 = reduce deviations %5 : f32 dims {0} level 0
store %10 -> result 0[d0]
"""


def test_the_nodes_of_a_program():
    p0, p1, p2 = 10, 9, 5
    rows, columns = p0, (p1 + 3) // 4
    expected = [
        work.FUNCTION * rows,  # exp
        0,  # a conversion
        rows * p2,  # a product
        rows * p2,  # a sum along the reduced dims
        rows * columns * p2,  # one along all parallel dims
        2 * rows,  # a multiply-add
        work.FUNCTION * rows * columns,  # random bits
        rows * columns,  # a choice
        3 * rows * p2,  # squared deviations
    ]
    assert work.Program(PROGRAM).operations([p0, p1, p2]) == sum(expected)
    assert work.Program(PROGRAM).operations([p0, None, p2]) is None and work.Program(PROGRAM).operations([p0]) is None


@pytest.mark.parametrize("text, value", [("p0 * (p1 + 1) - 2", 40), ("mod(p0, 4)", 2), ("min(p0, -p1)", -6), ("p9", None), ("p0 ** 2", None), ("a.b", None)])
def test_sizes_are_computed_and_nothing_else_is(text, value):
    assert work.value_of(text, [6, 6]) == value


def test_products_and_convolutions_count_by_torchs_formulas():
    def function(x, w, b, image, kernel):
        return torch.addmm(b, x, w), x @ w, torch.nn.functional.conv2d(image, kernel), x.sort().values

    inputs = torch.randn(6, 5), torch.randn(5, 7), torch.randn(7), torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
    found = {point["name"]: point["operations"] for point in frit.explain(function, dynamic=False)(*inputs).roofline() if point["kind"] == "aten"}
    convolution = 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3)
    assert found["aten.addmm.default"] == found["aten.mm.default"] == 2 * 6 * 5 * 7 and found["aten.sort.default"] is None
    assert [count for name, count in found.items() if "convolution" in name] == [convolution]


def test_the_backward_of_a_convolution_has_a_count():
    inputs = torch.randn(2, 3, 8, 8, requires_grad=True), torch.randn(4, 3, 3, 3, requires_grad=True)
    points = frit.explain(torch.nn.functional.conv2d, dynamic=False)(*inputs).roofline()
    counts = {point["name"]: point["operations"] for point in points}
    forward = 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3)
    assert counts["aten.convolution_backward.default"] == 2 * forward


def test_bounds_follow_from_the_machine():
    assert ROUND.bound(16_000, 4_000) == ("arithmetic", 16_000 / 8e9)
    assert ROUND.bound(80, 4_000) == ("caches", 4_000 / 4e9)
    assert ROUND.bound(80, 1 << 20) == ("memory", (1 << 20) / 1e9)
    assert ROUND.bound(None, 4_000) == ("caches", 4_000 / 4e9) and ROUND.bound(None, 0) == (None, None)
    raised = ROUND.at_least(9e9, 5e9, 0.0)
    assert (raised.peak, raised.bandwidth, raised.cache_bandwidth) == (9e9, 5e9, 5e9)


def test_the_roofline_is_data():
    (point,) = frit.explain(softmax_of_product, dynamic=False)(torch.randn(64, 16), torch.randn(64, 16)).roofline()
    moved, operations = 3 * 64 * 16 * 4, 30 * 64 * 16
    assert (point["bytes"], point["operations"], point["launches"], point["seconds"]) == (moved, operations, 1, None)
    assert point["intensity"] == operations / moved == 2.5 and (point["bound"], point["least_seconds"]) == ("arithmetic", operations / 8e9)


def test_each_launch_is_bounded_by_itself():
    def function(x):
        for _ in range(3):
            x = torch.nn.functional.softmax(x @ x, -1)
        return x

    points = frit.explain(function, dynamic=False)(torch.randn(64, 64)).roofline()
    kernel = next(point for point in points if point["kind"] == "kernel")
    # 32 KiB of each launch lie in the caches, though 96 KiB would not.
    assert kernel["launches"] == 3 and kernel["bytes"] == 3 * 2 * 64 * 64 * 4 and kernel["bound"] == "arithmetic"
    assert kernel["least_seconds"] == pytest.approx(kernel["operations"] / 8e9)


def test_timed_calls_measure_kernels_and_calls():
    def function(x, w):
        return (x @ w).softmax(-1).sum(0)

    x, w = torch.randn(64, 32), torch.randn(32, 48, requires_grad=True)
    explanation = frit.explain(function, dynamic=False, timed=2)(x, w)
    assert {one["stage"] for one in explanation.graphs} == {"forward", "backward"}
    points = explanation.roofline()
    assert points and all(point["seconds"] > 0 for point in points), points
    assert all(kernel["seconds"] > 0 for kernel in explanation.kernels) and " measured)" in str(explanation)
    # No step is faster than the roofs, which are at least what was measured.
    assert all(point["seconds"] >= point["least_seconds"] * 0.999 for point in points)


def test_no_call_is_made_for_times_that_nobody_wants():
    calls = []

    @torch.compiler.disable
    def count():
        calls.append(1)

    def function(x):
        count()
        return x.sin()

    frit.explain(function)(torch.ones(3))
    once = len(calls)
    frit.explain(function, timed=3)(torch.ones(3))
    assert once == 1 and len(calls) == once + 1 + 3


def event(name, start, microseconds):
    return types.SimpleNamespace(name=name, time_range=types.SimpleNamespace(start=start), cpu_time_total=microseconds, device_time_total=0)


def test_events_are_matched_in_order():
    steps = [types.SimpleNamespace(number=number, kind=kind, name=name)
             for number, kind, name in ((2, "aten", "aten.mm.default"), (4, "kernel", "frit_k"), (7, "aten", "aten.mm.default"), (9, "kernel", "frit_k"))]
    events = [event("frit_k", 30, 5.0), event("frit::product", 10, 3.0), event("aten::empty", 15, 9.0), event("aten::mm", 40, 7.0)]
    assert [(number, round(1e6 * seconds, 6)) for number, seconds in steps_of(events, steps, "Cpu")] == [(2, 3.0), (4, 5.0), (7, 7.0)]
    assert list(steps_of(events, steps, "Gpu")) == []


def picture(text):
    (drawn,) = re.findall(r'<svg[^>]*aria-label="roofline of the kernels".*?</svg>', text, re.DOTALL)
    return drawn


def test_a_page_has_the_roofline(tmp_path):
    def function(x, w):
        return (x.softmax(-1) @ w).relu().cumsum(0)

    explanation = frit.explain(function, dynamic=False)(torch.randn(8, 16), torch.randn(16, 4))
    page, text = page_of(explanation, tmp_path / "r.html")
    words = "".join(page.words)
    assert "Roofline" in words and "bound by" in words and "at least " in words and "hollow: not measured" in words
    assert "unknown for 1 step" in words and "caches (arithmetic unknown)" in words
    drawn = picture(text)
    assert drawn.count("<circle") == 3 and drawn.count('class="kernel hollow"') == 2 and "nan" not in drawn and 'href="#k0-' in drawn


def test_a_measured_point_is_filled(tmp_path):
    explanation = frit.explain(softmax_of_product, dynamic=False, timed=1)(torch.randn(8, 16), torch.randn(8, 16))
    _, text = page_of(explanation, tmp_path / "r.html")
    assert '<circle class="kernel"' in picture(text) and "hollow" not in picture(text) and " measured" in text


def test_what_only_moves_data_is_in_the_table_alone(tmp_path):
    explanation = frit.explain(lambda x: x.t().contiguous(), dynamic=False)(torch.randn(8, 16))
    (kernel,) = explanation.kernels
    _, text = page_of(explanation, tmp_path / "r.html")
    assert kernel["operations"] == 0 and "roofline of the kernels" not in text and "Roofline" in text and kernel["name"] in text


def test_dots_and_numbers_lie_in_the_picture():
    dots = [Dot(str(n), "kernel", x, y, False, "") for n, (x, y) in enumerate([(0.01, 1e6), (1.0, 5e9), (1.0, 5e9), (1.001, 5e9), (3000.0, 8e9)])]
    drawn = roofline(dots, [("memory", 1e9), ("caches", 4e9)], 8e9, in_count)
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.-]+)" cy="([\d.-]+)"', drawn)]
    assert len(places) == 5 and all(84 <= x <= 1100 and 18 <= y <= 294 for x, y in places), places
    assert places[0][0] < places[1][0] < places[4][0] and places[4][1] < places[1][1] < places[0][1]
    numbers = [(float(x), float(y)) for x, y in re.findall(r'class="sub number" x="([\d.-]+)" y="([\d.-]+)"', drawn)]
    for one, other in ((a, b) for a in range(5) for b in range(a)):
        assert abs(numbers[one][0] - numbers[other][0]) >= 20 or abs(numbers[one][1] - numbers[other][1]) >= 12


def test_numbers_are_readable():
    assert [in_count(one) for one in (12, 1234, 5.6e6, 7e9, 8e12)] == ["12", "1.23 k", "5.6 M", "7 G", "8 T"]
    assert [in_time(one) for one in (2.0, 0.0345, 1.5e-6, 2e-9)] == ["2 s", "34.5 ms", "1.5 us", "2 ns"]


def test_this_machine_can_be_measured(monkeypatch):
    monkeypatch.undo()
    found = machine.measured("cpu")
    assert found is machine.measured("cpu") and found.name
    assert 0 < found.bandwidth <= found.cache_bandwidth and found.peak > 0 and found.cache_bytes >= 0
