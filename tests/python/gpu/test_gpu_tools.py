"""One artifact for every target, by the tools without torch: compiled from an exported program, run on the CPU and under emulation,
assembled by ptxas, and equal to eager."""

import os
import subprocess
from pathlib import Path

import emulation
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from benchmarks import ptx

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))
TARGETS = [f"--target={name}" for name in ("cpu", "sm_80", "sm_90", "sm_100", "simt")]


def _run(*command, fails=False):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert (done.returncode != 0) == fails, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stderr if fails else done.stdout


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
    "cat_and_flip": (lambda x, y: torch.cat([x, y * 2], 1).flip(1), [_random(7, 10), _random(7, 21)]),
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


def _export(function, arguments, folder):
    torch.export.save(torch.export.export(Program(function), tuple(arguments)), folder / "m.pt2")
    _run(BUILD / "bin/frit-compile", folder / "m.pt2", "-o", folder / "m.frit", *TARGETS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_artifact_for_all_targets(name, tmp_path):
    function, arguments = PROGRAMS[name]
    _export(function, arguments, tmp_path)
    expected = function(*arguments)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    words = []
    for number, argument in enumerate(arguments):
        np.save(tmp_path / f"x{number}.npy", argument.numpy())
        words.append(f"--input=@{tmp_path}/x{number}.npy")
    for device in ("cpu", "simt"):
        outputs = [tmp_path / f"{device}{number}.npy" for number in range(len(expected))]
        _run(BUILD / "bin/frit-run", tmp_path / "m.frit", f"--device={device}", *words, *(f"--output=@{path}" for path in outputs))
        for path, want in zip(outputs, expected):
            torch.testing.assert_close(torch.from_numpy(np.load(path)), want, rtol=2e-5, atol=2e-5, check_stride=False)
    texts = ptx.texts_of((tmp_path / "m.frit").read_bytes())
    assert len(texts) in (3, 6)  # code of rare variants, if there is any, is separate
    if emulation.PTXAS:
        rows = [row for text in texts for row in emulation.assemble(text)]
        assert {arch for _, arch, *_ in rows} == {80, 90, 100}
        assert not [row for row in rows if row[3]], rows


def test_an_index_out_of_range_under_emulation(tmp_path):
    _export(lambda t, i: t[i] * 2, [_random(5, 8), torch.tensor([0, 4])], tmp_path)
    np.save(tmp_path / "t.npy", np.zeros((5, 8), "f4"))
    np.save(tmp_path / "i.npy", np.array([0, 5]))
    said = _run(BUILD / "bin/frit-run", tmp_path / "m.frit", "--device=simt", f"--input=@{tmp_path}/t.npy", f"--input=@{tmp_path}/i.npy", fails=True)
    assert "index 5 is out of bounds for dimension 0 with size 5" in said and said.count("\n") == 1


def test_operators_left_to_the_dispatcher_are_refused_by_name(tmp_path):
    _export(lambda x: x.mm(x) + 1, [_random(4, 4)], tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((4, 4), "f4"))
    for device in ("cpu", "simt"):
        said = _run(BUILD / "bin/frit-run", tmp_path / "m.frit", f"--device={device}", f"--input=@{tmp_path}/x.npy", fails=True)
        assert "aten::mm" in said and "needs libtorch" in said and said.count("\n") == 1
