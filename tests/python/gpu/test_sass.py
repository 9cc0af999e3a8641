"""The hot path of machine code and its figures (benchmarks/gpu_static/sass.py), for listings written by hand."""

import pytest

from benchmarks.gpu_static import sass


def code(text):
    """Formats lines of instructions and labels as a listing of nvdisasm."""
    lines = [line.strip() for line in text.strip().splitlines()]
    body = "\n".join(line if line.endswith(":") else f"        /*{16 * n:04x}*/                   {line} ;" for n, line in enumerate(lines))
    found = sass.listing(f"//--------------------- .text.kernel --------------------------\nkernel:\n.text.kernel:\n{body}\n//--- .nv.info ---\n")
    return found["kernel"]


def test_a_straight_kernel():
    path = code("""
        S2R R0, SR_CTAID.X
        LDG.E.128 R4, desc[UR4][R2.64]
        LDG.E.128.CONSTANT R8, desc[UR4][R2.64+0x10]
        FADD R4, R4, R8
        MUFU.EX2 R4, R4
        STG.E.128 desc[UR4][R2.64], R4
        EXIT
    """).figures()
    # No address depends on the number of the block, so loads are the same in all blocks.
    assert path == {
        "loop": False, "instructions": 7, "moved": 16, "in_flight": 32, "per_16": 7.0, "mufu": 1.0, "load": 16, "store": 16, "barriers": 0, "divisions": 0,
    }  # fmt: skip


def test_a_load_that_is_used_at_once_is_alone_in_flight():
    assert code("""
        LDG.E.64 R4, desc[UR4][R2.64]
        FADD R4, R5, 1
        LDG.E.64 R6, desc[UR4][R2.64+0x8]
        FADD R4, R4, R6
        EXIT
    """).figures()["in_flight"] == 8  # fmt: skip


def test_loads_come_back_in_order():
    """Waiting for the second load completes the first too, and a load waits for its address."""
    assert code("""
        LDG.E.64 R4, desc[UR4][R2.64]
        LDG.E.64 R6, desc[UR4][R2.64+0x8]
        LDG.E.128 R8, desc[UR4][R6.64]
        EXIT
    """).figures()["in_flight"] == 16  # fmt: skip


VECTORS_AND_A_TAIL = """
    @P0 BRA `(.L_x_0)
    LDG.E.128 R4, desc[UR4][R2.64]
    STG.E.128 desc[UR4][R2.64], R4
    .L_x_0:
    @P1 EXIT
    .L_x_1:
    LDG.E R4, desc[UR4][R2.64]
    FADD R4, R4, 1
    STG.E desc[UR4][R2.64], R4
    @!P0 BRA `(.L_x_1)
    EXIT
"""


def test_a_tail_element_by_element_is_not_hot():
    path = code(VECTORS_AND_A_TAIL).figures()
    assert (path["loop"], path["instructions"], path["moved"]) == (False, 4, 32)


def test_a_loop_that_loads_more_than_what_lies_around_it_is_hot():
    path = code("""
        LDG.E.128 R20, desc[UR4][R2.64]
        .L_x_1:
        LDG.E.128 R4, desc[UR4][R2.64]
        LDG.E.128 R8, desc[UR4][R2.64+0x10]
        @P2 BRA `(.L_x_2)
        FADD R4, R4, R8
        FADD R4, R4, R8
        .L_x_2:
        BAR.SYNC.DEFER_BLOCKING 0x0
        @!P0 BRA `(.L_x_1)
        STG.E.128 desc[UR4][R2.64], R4
        EXIT
    """).figures()
    # The shortest path through the loop skips optional code.
    assert (path["loop"], path["instructions"], path["moved"], path["barriers"]) == (True, 5, 32, 1)
    # Nothing waits for the loads, so those of the next pass are in flight too.
    assert path["in_flight"] == 64


def test_of_nested_loops_the_inner_one_is_hot_and_the_outer_one_has_no_part_of_it():
    path = code("""
        .L_x_1:
        LDG.E R4, desc[UR4][R2.64]
        .L_x_2:
        LDG.E.64 R6, desc[UR4][R2.64]
        @P0 BRA `(.L_x_2)
        STG.E desc[UR4][R2.64], R4
        @P1 BRA `(.L_x_1)
        EXIT
    """).figures()
    assert (path["loop"], path["instructions"], path["moved"]) == (True, 2, 8)


def test_rows_that_are_kept_are_hot_and_not_those_that_are_swept():
    path = code("""
        @P0 BRA `(.L_x_0)
        LDG.E.128 R4, desc[UR4][R2.64]
        STG.E.128 desc[UR4][R2.64], R4
        EXIT
        .L_x_0:
        LDG.E.128 R4, desc[UR4][R2.64]
        @P1 BRA `(.L_x_0)
        .L_x_1:
        LDG.E.128 R4, desc[UR4][R2.64]
        STG.E.128 desc[UR4][R2.64], R4
        @P1 BRA `(.L_x_1)
        EXIT
    """).figures()
    assert (path["loop"], path["instructions"], path["moved"]) == (False, 4, 32)


def test_code_that_is_called_is_not_counted_but_its_calls_are():
    path = code("""
        LDG.E R4, desc[UR4][R2.64]
        CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64)
        STG.E desc[UR4][R2.64], R4
        EXIT
        $__internal_0_$__cuda_sm20_div_s64:
        LDG.E.128 R4, desc[UR4][R2.64]
        RET.REL.NODEC R4 `(kernel)
    """).figures()
    assert (path["divisions"], path["instructions"], path["load"]) == (1, 4, 4)


def test_a_slow_path_is_passed_by():
    path = code("""
        LDG.E R4, desc[UR4][R2.64]
        BSSY B0, `(.L_x_0)
        @!P0 BRA `(.L_x_1)
        CALL.REL.NOINC `($__internal_1_$__cuda_sm3x_div_rn_noftz_f32)
        BRA `(.L_x_2)
        .L_x_1:
        FFMA R4, R4, R4, R4
        .L_x_2:
        BSYNC B0
        .L_x_0:
        STG.E desc[UR4][R2.64], R4
        EXIT
        .L_x_3:
        BRA `(.L_x_3)
    """).figures()
    assert (path["divisions"], path["instructions"], path["loop"]) == (0, 7, False)


def test_what_all_blocks_load_alike_is_no_duty():
    path = code("""
        S2R R0, SR_CTAID.X
        S2R R1, SR_TID.X
        IMAD.WIDE R2, R0, 0x10, R2
        IMAD.WIDE R6, R1, 0x10, R6
        LDG.E.128 R8, desc[UR4][R2.64]
        LDG.E.128 R12, desc[UR4][R6.64]
        LDG.E R20, desc[UR4][R6.64+0x10]
        STG.E.128 desc[UR4][R2.64], R8
        EXIT
    """).figures()
    assert path["moved"] == 32 and path["in_flight"] == 36


@pytest.mark.parametrize(
    "architecture, registers, threads, shared, blocks",
    [
        (90, 32, 256, 0, 8), (90, 33, 256, 0, 6), (90, 128, 512, 256, 1), (90, 80, 128, 64, 6), (90, 16, 64, 0, 32), (90, 16, 128, 0, 16),
        (90, 24, 256, 8320, 8), (90, 24, 128, 40 << 10, 5), (80, 24, 128, 40 << 10, 4), (90, 255, 1024, 0, 1),
    ],
)  # fmt: skip
def test_resident_blocks(architecture, registers, threads, shared, blocks):
    assert sass.resident_blocks(architecture, registers, threads, shared) == blocks


PIPELINED = """
    @P0 {jump} `(.L_x_3)
    LDG.E.128 R4, desc[UR4][R2.64]
    .L_x_1:
    FADD R8, R4, 1
    LDG.E.128 R4, desc[UR4][R2.64]
    STG.E.128 desc[UR4][R2.64], R8
    @P1 {jump} `(.L_x_3)
    BRA `(.L_x_1)
    .L_x_3:
    STG.E.128 desc[UR4][R2.64], R12
    STG.E.128 desc[UR4][R2.64], R12
    EXIT
"""


@pytest.mark.parametrize("jump", ["BRA", "CALL.REL.NOINC"])
def test_loads_in_front_of_a_loop_that_loads_as_much_are_of_its_first_step(jump):
    path = code(PIPELINED.format(jump=jump)).figures()
    assert (path["loop"], path["instructions"], path["in_flight"], path["divisions"]) == (True, 5, 16, 0)
    # Rows in registers lead to no such loop.
    apart = """
        @P0 BRA `(.L_x_1)
        LDG.E.128 R4, desc[UR4][R2.64]
        STG.E.128 desc[UR4][R2.64], R4
        EXIT
        .L_x_1:
        LDG.E.128 R4, desc[UR4][R2.64]
        STG.E.128 desc[UR4][R2.64], R4
        @P1 BRA `(.L_x_1)
        EXIT
    """
    assert not code(apart).figures()["loop"]
