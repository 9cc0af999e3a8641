"""Every kind of GPU kernel at the sizes of a device: assembled for each architecture without a byte of local memory, its registers and
its shared memory held to the committed table (golden/gpu-kernels.json), and the bytes it moves, counted by the emulation, to those it has to.

    scripts/gpu-table [KIND ...]        measures into the table, after a look at why it grew
"""

import json

import emulation
import gpu_kinds
import pytest

from benchmarks.gpu import error_of

KINDS = gpu_kinds.kinds()


@pytest.fixture(scope="module")
def table():
    return json.loads(gpu_kinds.TABLE.read_text())


@pytest.mark.skipif(emulation.PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("name", KINDS)
def test_registers_and_shared_memory(name, table):
    found = gpu_kinds.assembled(KINDS[name])
    # Registers are an assembler's choice: those of another release are not compared, kernels and local memory are.
    growth = 1.1 if emulation.ptxas_release() == table["ptxas"] else float("inf")
    wrong = gpu_kinds.unlike(table["kinds"].get(name, {}), found, growth)
    assert not wrong, "\n".join([*wrong, f"after a look at why: scripts/gpu-table {name}"])


@pytest.mark.parametrize("name", [name for name, one in KINDS.items() if one.emulated])
def test_bytes_moved(name):
    results, expected, traffic = gpu_kinds.emulated(KINDS[name])
    assert error_of(results, expected) < 0.02
    assert traffic <= KINDS[name].traffic, f"{traffic:.3f} times the bytes that have to be moved, {KINDS[name].traffic} are allowed"
    # What became better is to be held.
    assert traffic > KINDS[name].traffic - 0.1


def test_the_table_holds_these_kinds_and_no_others(table):
    assert sorted(table["kinds"]) == sorted(KINDS)
    assert all(sorted(kind) == ["sm_100", "sm_80", "sm_90"] for kind in table["kinds"].values())


def test_growth_is_found():
    known = {"sm_90": {"frit_a": [40, 64]}}
    assert not gpu_kinds.unlike(known, {"sm_90": {"frit_a": [44, 64]}})
    assert gpu_kinds.unlike(known, {"sm_90": {"frit_a": [45, 64]}}) == ["frit_a on sm_90: 45 registers, 40 in the table"]
    assert gpu_kinds.unlike(known, {"sm_90": {"frit_a": [40, 128]}}) == ["frit_a on sm_90: 128 bytes of shared memory, 64 in the table"]
    assert "the kernels are frit_b" in gpu_kinds.unlike(known, {"sm_90": {"frit_b": [40, 64]}})[0]
    assert not gpu_kinds.unlike(known, {"sm_90": {"frit_a": [400, 64]}}, float("inf"))
