"""Every kind of GPU kernel (tests/python/support/gpu_kinds.py) has a lit test of its kernels and of their PTX, and every such test has a kind."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "python" / "support"), str(ROOT)]

import gpu_kinds  # noqa: E402


def lacking(test):
    """Returns the required parts that a lit test of a kind lacks."""
    needed = {
        "a check of the kernels": r"^// CHECK: ",
        "a check of the PTX": r"^// PTX: ",
        "no local memory": r"^// RUN: .*FileCheck %s --check-prefix=PTX %no_local\b",
        "no division in a loop": r"^// RUN: (not )?%ptx_loops ",
    }
    return [what for what, pattern in needed.items() if not re.search(pattern, test, re.M)]


def test_every_kind_has_a_lit_test():
    wrong = []
    for name in gpu_kinds.kinds():
        file = gpu_kinds.lit_test(name)
        if not file.exists():
            wrong.append(f"{name}: {file.relative_to(ROOT)} is missing")
        elif name not in gpu_kinds.LIT_ELSEWHERE:
            wrong += [f"{file.relative_to(ROOT)}: lacks {what}" for what in lacking(file.read_text())]
    assert not wrong, "\n".join(wrong)


def test_no_lit_test_is_left_over():
    assert {file.stem for file in gpu_kinds.LIT.iterdir()} == set(gpu_kinds.kinds()) - set(gpu_kinds.LIT_ELSEWHERE)


def test_what_is_lacking_is_found():
    assert len(lacking("")) == 4
    assert lacking("// CHECK: a\n// PTX: b\n// RUN: FileCheck %s --check-prefix=PTX %no_local < x\n") == ["no division in a loop"]
