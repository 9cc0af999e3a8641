"""Calls do not leak: a short run of each program is within the limits of `growth.py`. `scripts/growth` does the long run."""

import growth
import pytest


@pytest.mark.parametrize("program", growth.PROGRAMS, ids=lambda program: program.__name__)
def test_a_few_hundred_calls_leave_nothing_behind(program):
    assert not growth.beyond(growth.growth(program, 600))


def test_what_is_left_behind_is_seen():
    kept = []

    def leaking():
        return lambda x: x + 1, lambda call: (kept.append(growth.torch.rand(3)) or kept[-1],)

    assert growth.beyond(growth.growth(leaking, 100))["tensors"] > 50
