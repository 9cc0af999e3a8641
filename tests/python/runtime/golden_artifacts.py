"""Writes small files of this version of the format, with which later runtimes are tested: tests/golden/artifacts/v<version>/<name>.frit, with
the arguments and results of calls in <name>.npz. Needs a built tree:

    python tests/python/runtime/golden_artifacts.py

Files of a released version are never written again; a change of the format raises kFormatVersion and gets a new folder."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.export import Dim

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tests/golden/artifacts"
TOOLS = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build")) / "bin"
VERSION = int(re.search(r"kFormatVersion = (\d+)", (ROOT / "runtime/artifact/Artifact.h").read_text()).group(1))


class Kernels(nn.Module):
    """Pointwise, rows and columns; a scalar; a transposed result."""

    def forward(self, x, y):
        z = torch.softmax(x * 2 + y, 1)
        return z, z.sum(0), (x.mean(), z.t() + 1)


class Library(nn.Module):
    """An operator that ATen runs, between kernels."""

    def forward(self, x, y):
        return torch.relu((x + 1) @ y)


class Guarded(nn.Module):
    """Sizes that depend on each other, and buckets."""

    def forward(self, x, y, z):
        return torch.cat([x, z]) * 3, x + y, z.sum(1)


class Weights(nn.Module):
    """Weights of three dtypes, one of them read through two views, and a buffer that changes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(8.0).reshape(2, 4) / 8, requires_grad=False)
        self.register_buffer("offset", torch.tensor([1, -2, 3, 4]))
        self.register_buffer("fine", torch.linspace(-1, 1, 4).to(torch.float16))
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        self.count.add_(1)
        return x * self.weight[0] + self.weight[1] + self.offset + self.fine, x - self.weight.view(-1)[:4] + self.count


def arguments(*shapes):
    generator = torch.Generator().manual_seed(len(shapes))
    return [torch.randn(shape, generator=generator) for shape in shapes]


ROWS, MORE = Dim("rows", min=1, max=64), Dim("more", min=1, max=48)
# name -> module, example, dynamic shapes, options of the compiler, calls
CASES = {
    "kernels": (
        Kernels(), arguments((3, 5), (3, 5)), {"x": {0: ROWS}, "y": {0: ROWS}},
        ["--target=cpu", "--target=simt", "--target=sm_90"],
        [arguments((rows, 5), (rows, 5)) for rows in (1, 3, 17, 64)],
    ),
    "library": (Library(), arguments((3, 4), (4, 2)), {"x": {0: ROWS}, "y": None}, [], [arguments((rows, 4), (4, 2)) for rows in (1, 7)]),
    "guarded": (
        Guarded(), arguments((6, 4), (6, 4), (3, 4)), {"x": {0: ROWS}, "y": {0: ROWS}, "z": {0: MORE}},
        ["--buckets=z[0]=8,16,32"], [arguments((rows, 4), (rows, 4), (rows // 2 + 1, 4)) for rows in (2, 8, 20, 64)],
    ),
    "weights": (Weights(), arguments((3, 4)), {"x": {0: ROWS}}, [], [arguments((rows, 4)) for rows in (1, 2, 2)]),
}  # fmt: skip


def flat(results):
    return [tensor for result in results for tensor in (result if isinstance(result, tuple) else [result])] if isinstance(results, tuple) else [results]


def write(name, folder):
    module, example, shapes, options, calls = CASES[name]
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / f"{name}.pt2"
        torch.export.save(torch.export.export(module, tuple(example), dynamic_shapes=shapes), archive)
        subprocess.run([TOOLS / "frit-compile", archive, "-o", folder / f"{name}.frit", "--cpu=x86-64-v3", *options], check=True)
    arrays = {}
    for number, call in enumerate(calls):
        arrays |= {f"{number}.in{at}": value.numpy() for at, value in enumerate(call)}
        arrays |= {f"{number}.out{at}": value.contiguous().numpy() for at, value in enumerate(flat(module(*call)))}
    np.savez_compressed(folder / f"{name}.npz", **arrays)


def calls(path):
    """Returns arguments and results of each call that is stored next to an artifact."""
    arrays = np.load(path.with_suffix(".npz"))
    numbers = sorted({int(key.split(".")[0]) for key in arrays})

    def of(number, kind):
        return [arrays[f"{number}.{kind}{at}"] for at in range(sum(key.startswith(f"{number}.{kind}") for key in arrays))]

    return [(of(number, "in"), of(number, "out")) for number in numbers]


if __name__ == "__main__":
    folder = FOLDER / f"v{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or CASES:
        write(name, folder)
        print(f"{name}: {(folder / f'{name}.frit').stat().st_size} bytes")
