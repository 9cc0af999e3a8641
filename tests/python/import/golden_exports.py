"""Writes small archives with torch.export.save, one set for each older version that frit-compile reads:
tests/golden/exports/torch-<version>/<name>.pt2. Run it with that version of torch (a CPU build suffices), without frit:

    python tests/python/import/golden_exports.py

The version that the tests run with needs no files, because other tests write archives with it."""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.export import Dim

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tests/golden/exports"
sys.path[:0] = [str(ROOT)]

from benchmarks.programs.exported import Decoder, ResNet  # noqa: E402

VOCABULARY = 13


class State(nn.Module):
    """Shared weights, buffers that change (some are not saved), a constant, and a mutated argument."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("scale", torch.linspace(1, 2, 4), persistent=False)
        self.held = torch.tensor([1, -2, 3, 4])

    def forward(self, x, seen):
        self.count += 1
        seen.add_(x.sum())
        return self.second(torch.relu(self.first(x))) * self.scale + self.held, self.count * 2


class Related(nn.Module):
    """Derived sizes, and a size that is known only from a derived one."""

    def forward(self, x, y, z):
        return x[::2] + y, torch.cat([z, z]).sum(0), y.new_ones(y.shape[0], z.shape[0]).cumsum(1)


class Norms(nn.Module):
    """A module in training mode, which writes batch statistics."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return torch.softmax(self.norm(x), -1)


def tokens(batch, length):
    return (torch.randint(0, VOCABULARY, (batch, length)),)


def shapes_of(*dims):
    return tuple({at: size for at, size in enumerate(each) if size is not None} for each in dims)


BATCH, LENGTH, ROWS, HALF = Dim("batch", min=1, max=64), Dim("length", min=2, max=32), Dim("rows", min=1, max=40), Dim("half", min=2, max=20)

# name -> models of the archive: module, inputs of given sizes, dynamic shapes, sizes of the calls (the export's first).
CASES = {
    "decoder": {
        "model": (
            lambda: Decoder(width=8, heads=2, layers=1, positions=32, vocabulary=VOCABULARY).eval(),
            tokens, shapes_of((BATCH, LENGTH)), ((3, 7), (1, 2), (2, 31), (5, 32)),
        ),
    },
    "resnet": {
        "model": (
            lambda: ResNet(width=2, blocks=(1,), classes=3).eval(),
            lambda batch, height, width: (torch.randn(batch, 3, height, width),),
            shapes_of((Dim.AUTO, None, Dim.AUTO, Dim.AUTO)), ((3, 40, 48), (2, 35, 47), (5, 36, 35)),
        ),
    },
    "state": {
        "model": (
            State, lambda rows: (torch.randn(rows, 4), torch.zeros(2)), shapes_of((ROWS,), ()), ((3,), (1,), (2,), (17,)),
        ),
    },
    "related": {
        "model": (
            Related, lambda half, more: (torch.randn(2 * half, 3), torch.randn(half, 3), torch.randn(2 * more + 1, 2)),
            shapes_of((2 * HALF,), (HALF,), (2 * ROWS + 1,)), ((3, 2), (2, 3), (20, 9), (7, 40)),
        ),
    },
    "two": {
        "small": (lambda: nn.Sequential(nn.Linear(4, 3), nn.GELU()).eval(), lambda rows: (torch.randn(rows, 4),), shapes_of((ROWS,)), ((3,), (8,))),
        "norms": (lambda: Norms().train(), lambda rows: (torch.randn(rows, 3),), shapes_of((Dim("rows", min=2, max=40),)), ((4,), (9,), (2,))),
    },
}  # fmt: skip


def exported(make, inputs, shapes, sizes):
    torch.manual_seed(0)
    return torch.export.export(make(), inputs(*sizes[0]), dynamic_shapes=shapes)


def write(name, folder):
    programs = {model: exported(*case) for model, case in CASES[name].items()}
    if list(programs) == ["model"]:
        torch.export.save(programs["model"], folder / f"{name}.pt2")
    else:
        from torch.export.pt2_archive._package import package_pt2

        package_pt2(folder / f"{name}.pt2", exported_programs=programs)


if __name__ == "__main__":
    folder = FOLDER / f"torch-{torch.__version__.split('+')[0]}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or CASES:
        write(name, folder)
        print(f"{name}: {(folder / f'{name}.pt2').stat().st_size} bytes")
