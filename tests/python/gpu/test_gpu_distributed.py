"""Two processes train under DDP on two GPUs with different lengths: the losses are those of eager DDP (scripts/gpu-check)."""

import pytest
import torch

if torch.cuda.device_count() < 2:
    pytest.skip("needs a GPU, and a second one", allow_module_level=True)

from test_training_sizes import check_two_processes  # noqa: E402

pytestmark = pytest.mark.gpu


def test_two_devices(tmp_path):
    check_two_processes(tmp_path, "cuda", rel=1e-3, abs=1e-4)
