"""The GPU path without a GPU: programs exported, compiled for the emulator and for three architectures, run under emulation with
every access checked, compared with eager, and assembled by ptxas."""
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))
PTXAS = next((p for p in ("/usr/local/cuda/bin/ptxas",) if os.path.exists(p)), None)


def _run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def _random(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def _giou(p, t):
    def area(b):
        return (b[..., 2] - b[..., 0]).clamp(min=0) * (b[..., 3] - b[..., 1]).clamp(min=0)

    low, high = torch.maximum(p[..., :2], t[..., :2]), torch.minimum(p[..., 2:], t[..., 2:])
    inter = (high - low).clamp(min=0).prod(-1)
    union = area(p) + area(t) - inter
    enclosing = (torch.maximum(p[..., 2:], t[..., 2:]) - torch.minimum(p[..., :2], t[..., :2])).clamp(min=0).prod(-1)
    valid = t[..., 3] > 0
    loss = 1 - (inter / union.clamp(min=1e-5) - (enclosing - union) / enclosing.clamp(min=1e-5))
    return torch.where(valid, loss, 0.0).sum() / valid.sum().clamp(min=1)


PROGRAMS = {
    "five_muls": (lambda x: x * x * x * x * x, [_random(33, 65)]),
    "bias_gelu_residual": (lambda x, b, r: F.gelu(x + b, approximate="tanh") + r, [_random(17, 96), _random(96), _random(17, 96)]),
    "softmax": (lambda x: torch.softmax(x, -1), [_random(5, 1000)]),
    "log_softmax_odd": (lambda x: torch.log_softmax(x, -1), [_random(3, 77)]),
    "layer_norm": (lambda x, r, w, b: F.layer_norm(x + r, [768], w, b), [_random(6, 768), _random(6, 768), _random(768), _random(768)]),
    "similarity": (lambda x, y: (x[:, :, None] - y[:, None, :]).abs().lt(1).sum(0), [_random(16, 40), _random(16, 40)]),
    "pairwise_distance": (lambda a, b: ((a[:, None, :] - b[None, :, :]) ** 2).sum(2), [_random(20, 12), _random(23, 12)]),
    "column_mean": (lambda x: x.mean(0), [_random(130, 70)]),
    "argmax": (lambda x: (x.argmax(1), x.amax(1)), [_random(9, 300)]),
    "full_sum": (lambda x: x.sum(), [_random(301, 117)]),
    "cat_and_pad": (lambda x, y: F.pad(torch.cat([x, y * 2], 1), (1, 2)), [_random(7, 10), _random(7, 21)]),
    "transpose": (lambda x: x.t().contiguous() + 1, [_random(37, 45)]),
    "embedding": (lambda t, i: F.embedding(i, t) * 2, [_random(50, 24), torch.arange(30) * 7 % 50]),
    "giou": (_giou, [_random(8, 30, 4), _random(8, 30, 4)]),
    "integers": (lambda x: (x // 3, x % 5, x > 4), [torch.arange(-100, 100)]),
}


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


@pytest.fixture(params=list(PROGRAMS))
def exported(request, tmp_path):
    function, arguments = PROGRAMS[request.param]
    torch.export.save(torch.export.export(Program(function), tuple(arguments)), tmp_path / "m.pt2")
    return function, arguments, tmp_path


def test_under_emulation(exported):
    function, arguments, folder = exported
    _run(BUILD / "bin/frit-compile", folder / "m.pt2", "-o", folder / "m.frit", "--target=simt")
    words = []
    for number, argument in enumerate(arguments):
        np.save(folder / f"x{number}.npy", argument.numpy())
        words.append(f"--input=@{folder}/x{number}.npy")
    expected = function(*arguments)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    words += [f"--output=@{folder}/y{number}.npy" for number in range(len(expected))]
    _run(BUILD / "bin/frit-run", folder / "m.frit", "--device=simt", *words)
    for number, want in enumerate(expected):
        got = torch.from_numpy(np.load(folder / f"y{number}.npy"))
        torch.testing.assert_close(got, want, rtol=2e-5, atol=2e-5, check_stride=False)


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
def test_assembles_without_spills(exported):
    _, _, folder = exported
    _run(BUILD / "bin/frit-compile", folder / "m.pt2", "-o", folder / "m.frit", "--target=sm_80", "--target=sm_90", "--target=sm_100")
    _run(BUILD / "bin/frit-compile", folder / "m.pt2", "-o", folder / "m.mlir", "--emit=outlined")
    said = _run(ROOT / "scripts/ptxas-sweep", "--frit-opt", BUILD / "bin/frit-opt", "--ptxas", PTXAS,
                "--passes=--frit-generate-gpu-kernels", folder / "m.mlir")
    assert said.endswith("3 architectures, 0 spills\n")
