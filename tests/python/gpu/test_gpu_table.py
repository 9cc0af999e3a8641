"""Every kind of GPU kernel at the sizes of a device, assembled for each architecture without local memory. Registers and shared memory are
compared with the committed table (tests/golden/gpu-kernels.json), machine code with bars and committed figures (gpu-sass.json), and the
moved bytes, counted by the emulation, with the minimum.

    scripts/gpu-table [KIND ...]        writes the table anew; find out first why figures grew
"""

import json

import emulation
import gpu_kinds
import pytest
import torch
from machine_code import assembled, bars, traffic

KINDS = gpu_kinds.kinds()


@pytest.fixture(scope="module")
def table():
    return json.loads(gpu_kinds.TABLE.read_text())


@pytest.mark.skipif(emulation.PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("name", KINDS)
def test_registers_and_shared_memory(name, table):
    found = {arch: {entry: [one.registers, one.shared] for entry, one in entries.items()} for arch, entries in assembled.entries_of(KINDS[name]).items()}
    # Other releases of ptxas allocate registers differently; then only kernels and local memory are compared.
    growth = 1.1 if emulation.ptxas_release() == table["ptxas"] else float("inf")
    wrong = emulation.unlike_table(table["kinds"].get(name, {}), found, growth)
    assert not wrong, "\n".join([*wrong, f"after a look at why: scripts/gpu-table {name}"])


@pytest.fixture(scope="module")
def golden():
    return json.loads(bars.GOLDEN.read_text())


@pytest.mark.skipif(emulation.PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("name", KINDS)
def test_machine_code(name, golden):
    """Figures are no worse than the committed ones, and reach the bars of an H200 or are listed as exceptions."""
    found = assembled.entries_of(KINDS[name])
    growth = 1.1 if emulation.ptxas_release() == golden["ptxas"] else float("inf")
    wrong = bars.unlike_golden(golden["kinds"].get(name, {}), found, growth)
    wrong += bars.unlike_bars(name, found["sm_90"])
    assert not wrong, "\n".join([*wrong, f"after a look at why: scripts/gpu-table {name}, tests/python/support/machine_code/exceptions.py"])


@pytest.mark.skipif(emulation.PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("name", ["mul_add", "softmax", "dynamic_sums"])
def test_what_is_kept_is_what_ptxas_says(name, monkeypatch):
    """Elsewhere in this file PTX that is the same to the byte is not assembled again."""
    measured = assembled.measured(KINDS[name])
    assert assembled.entries_of(KINDS[name]) == measured
    row = assembled.kept_row(KINDS[name], measured)
    monkeypatch.setattr(assembled, "kept", lambda: {name: row})
    assert assembled.entries_of.__wrapped__(KINDS[name]) == measured
    # The row is what is taken, until its digest is another one.
    marked = [*row["entries"]["sm_90"].values()][0]
    marked[0] += 1
    assert assembled.entries_of.__wrapped__(KINDS[name]) != measured
    row["digest"] = "0" * 32
    assert assembled.entries_of.__wrapped__(KINDS[name]) == measured


@pytest.mark.skipif(emulation.PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("name", bars.TWINS)
def test_any_number_of_rows_takes_the_same_code(name):
    (graph,) = gpu_kinds.captured_on_a_device(KINDS[name], any_rows=True)
    assert json.loads(graph)["range_constraints"], f"{name}: the number of rows is known"
    kernels, _, codes = assembled.compiled_for(graph, name, 90, KINDS[name].calls)
    first = [codes[kernel["entries"][0]["entry"]].figures()["instructions"] for kernel in kernels]
    known = [entry.length for each, entry in assembled.entries_of(KINDS[name])["sm_90"].items() if not each.endswith(("_u", "_1"))]
    assert sum(first) <= bars.MOST_LONGER * sum(known)


def test_an_exception_is_of_a_kind_and_of_a_bar():
    assert {kind for kind, _, _ in bars.EXCEPTIONS} <= set(KINDS)
    assert {bar for _, _, bar in bars.EXCEPTIONS} <= {"in flight", "instructions", "barriers", "divisions"}
    assert all(bars.EXCEPTIONS.values())


def test_what_is_worse_or_better_is_found():
    good = bars.Figures(40_000, 50.0, 1.0, 8, 16, 16, 1)
    entry = bars.Entry(32, 0, good, 100, 0, False)
    assert not entry.below() and not good.unlike(good.row())
    assert good.unlike([45_000, *good.row()[1:]]) == ["in flight 40000, 45000 in the golden file"]
    assert good.unlike([40_000, 45.0, *good.row()[2:]]) == ["instructions 50.0, 45.0 in the golden file"]
    assert list(bars.Entry(32, 0, bars.Figures(20_000, 61.0, 0, 8, 16, 16, 3), 100, 1, False).below()) == [
        "in flight", "instructions", "barriers", "divisions"]  # fmt: skip
    assert not bars.Entry(32, 0, bars.Figures(30_000, 99.0, 0, 8, 16, 16, 2), 100, 0, True).below()
    # An exception that is not needed is an error.
    (kind, one, bar), _ = next(iter(bars.EXCEPTIONS.items()))
    assert f"{one}: reaches the bar '{bar}'" in "\n".join(bars.unlike_bars(kind, {one: entry}))
    assert bars.unlike_golden({}, {"sm_90": {"frit_a": entry}}) == ["sm_90: frit_a is not in the golden file"]


@pytest.mark.parametrize("name", sorted(set(KINDS) - set(gpu_kinds.LIT_ELSEWHERE)))
def test_the_lit_test_is_of_this_kind(name):
    test = gpu_kinds.lit_test(name).read_text()
    assert test == gpu_kinds.with_graph(test, gpu_kinds.imported(KINDS[name])), f"it has another graph: scripts/gpu-table {name}"


def check_traffic(one, architecture, limits):
    error, found = traffic.emulated(one.name)[architecture]
    assert error < 0.02
    for what, moved, limit in zip(("graph", "kernels"), found.ratios(), limits):
        assert moved <= limit, f"sm_{architecture}: {moved} times the bytes that the {what} have to move, {limit} are allowed"
        # A limit must be lowered if traffic has improved.
        assert moved > limit - 0.1, f"sm_{architecture}: {moved} times the bytes that the {what} have to move, better than {limit}"


@pytest.mark.parametrize("name", [name for name, one in KINDS.items() if one.emulated])
def test_bytes_moved(name):
    check_traffic(KINDS[name], 90, (KINDS[name].traffic, KINDS[name].of_kernels))


@pytest.mark.parametrize("name", [name for name, one in KINDS.items() if one.emulated and one.older])
def test_bytes_moved_by_an_older_device(name):
    check_traffic(KINDS[name], 80, KINDS[name].older)


def test_what_is_kept_is_what_the_emulation_counts(monkeypatch):
    """Elsewhere in this file most kinds are not emulated again while no source changes."""
    now = traffic.measured("row_sum_short")
    rows = {"row_sum_short": {arch: [error, moved + 1, *others] for arch, (error, moved, *others) in now.items()}}
    monkeypatch.setattr(traffic, "kept", lambda: rows)
    monkeypatch.setattr(traffic, "is_sample", lambda name: False)
    assert traffic.emulated.__wrapped__("row_sum_short")[90][1].moved == now["90"][1] + 1
    monkeypatch.setattr(traffic, "is_sample", lambda name: True)
    with pytest.raises(AssertionError, match="gpu-traffic.json is wrong about row_sum_short"):
        traffic.emulated.__wrapped__("row_sum_short")
    rows.clear()
    assert traffic.emulated.__wrapped__("row_sum_short")[90][1].moved == now["90"][1]


def test_a_changed_source_is_another_digest(monkeypatch, tmp_path):
    before = traffic.sources.__wrapped__()
    (tmp_path / "codegen").mkdir()
    monkeypatch.setattr(traffic, "ROOT", tmp_path)
    without = traffic.sources.__wrapped__()
    (tmp_path / "codegen" / "Emitter.cpp").write_text("// ...")
    assert len({before, without, traffic.sources.__wrapped__()}) == 3


def test_who_moves_more_says_why():
    most = {name: max(one.traffic, one.of_kernels, *one.older) for name, one in KINDS.items()}
    assert not [name for name, limit in most.items() if (limit > gpu_kinds.MOST_TRAFFIC) != bool(KINDS[name].why)]
    # Exceptions are few.
    assert sum(bool(one.why) for one in KINDS.values()) <= 11


def test_what_a_second_kernel_reads_again_is_no_duty():
    """Two kernels each move their minimum, but the minimum of the graph is less."""
    one = gpu_kinds.Kind("two", lambda s: (lambda x: (x - x.mean(0)).abs().sum(0), [torch.randn(64, 512)]))
    _, _, found = gpu_kinds.emulated(one)
    operand, results = 64 * 512 * 4, 512 * 4
    assert found.of_graph == operand + results
    assert found.of_kernels >= 2 * operand + results
    assert found.ratios()[0] > 1.9 and found.ratios()[1] < 1.02


def test_arguments_that_are_written_count():
    def function(x, y):
        x.add_(y)

    one = gpu_kinds.Kind("writes", lambda s: (function, [torch.randn(1000), torch.randn(1000)]), writes=True)
    assert gpu_kinds.emulated(one)[2].of_graph == 3 * 4000


def test_the_table_holds_these_kinds_and_no_others(table, golden):
    assert sorted(table["kinds"]) == sorted(golden["kinds"]) == sorted(KINDS)
    assert all(sorted(kind) == ["sm_100", "sm_80", "sm_90"] for kind in table["kinds"].values())


def test_growth_is_found():
    known = {"sm_90": {"frit_a": [40, 64]}}
    assert not emulation.unlike_table(known, {"sm_90": {"frit_a": [44, 64]}})
    assert emulation.unlike_table(known, {"sm_90": {"frit_a": [45, 64]}}) == ["frit_a on sm_90: 45 registers, 40 in the table"]
    assert emulation.unlike_table(known, {"sm_90": {"frit_a": [40, 128]}}) == ["frit_a on sm_90: 128 bytes of shared memory, 64 in the table"]
    assert "the kernels are frit_b" in emulation.unlike_table(known, {"sm_90": {"frit_b": [40, 64]}})[0]
    assert not emulation.unlike_table(known, {"sm_90": {"frit_a": [400, 64]}}, float("inf"))
