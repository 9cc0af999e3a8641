"""The user programs on a GPU, forward and backward, compared with eager there (scripts/gpu-check)."""

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

import on_device  # noqa: E402

from benchmarks.programs import programs  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", programs())
def test_program(name):
    if programs()[name].make.__module__.endswith(".models"):
        pytest.importorskip("transformers")
    on_device.check_program(programs()[name], "cuda")
