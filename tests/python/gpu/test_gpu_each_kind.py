"""Every kind of kernel of the table on a GPU, including clusters and lists of tensors, compared with eager there (scripts/gpu-check)."""

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

import gpu_kinds  # noqa: E402
import gpu_smoke  # noqa: E402
import on_device  # noqa: E402

pytestmark = pytest.mark.gpu
KINDS = gpu_kinds.kinds()


@pytest.mark.parametrize("name", KINDS)
def test_against_eager(name):
    on_device.check_kind(KINDS[name], "cuda")


def test_what_the_sanitizers_watch():
    assert gpu_smoke.main([]) == 0


@pytest.mark.parametrize("columns", [20480, 40960, 131072, 131071])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_rows_of_clusters(columns, dtype):
    """Few and many long rows: on sm_90 the blocks of a cluster hold a row in registers."""
    for rows in (1, 7, 300):
        torch.compiler.reset()
        x = torch.randn(rows, columns, device="cuda", dtype=dtype)
        for function in (lambda x: torch.softmax(x, -1), lambda x: (x.float().sum(-1), x.amax(-1))):
            loose = dtype == torch.bfloat16
            actual = torch.compile(function, backend="frit", fullgraph=True)(x)
            torch.testing.assert_close(actual, function(x), rtol=2e-2 if loose else 1e-4, atol=1e-2 if loose else 1e-2)


def test_a_list_of_many_tensors_in_two_launches():
    import frit
    from benchmarks.programs.optimizer import adamw_step

    torch.compiler.reset()
    shapes = [(n % 37 + 1, n % 11 + 1) for n in range(148)]
    state = [[torch.randn(*shape, device="cuda") for shape in shapes] for _ in range(3)]
    state.append([torch.rand(*shape, device="cuda") for shape in shapes])
    step = torch.tensor(3.0)
    copied = [[x.clone() for x in tensors] for tensors in state]
    compiled = torch.compile(adamw_step, backend="frit", fullgraph=True)
    before = frit.counts()["kernel_launches"]
    actual, expected = compiled(*copied, step), adamw_step(*state, step)
    torch.testing.assert_close((actual, copied), (expected, state), rtol=1e-5, atol=1e-6)
    assert 1 <= frit.counts()["kernel_launches"] - before <= 2
