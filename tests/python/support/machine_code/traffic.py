"""Bytes that the kinds of GPU kernels move, counted by the emulation, and what is kept of them."""

import concurrent.futures
import functools
import hashlib
import json
import multiprocessing
from pathlib import Path

import gpu_kinds
import torch

from benchmarks.gpu import error_of

from . import bars

#: The error and the bytes of each kind, with a digest of all that they follow from; written by scripts/gpu-table.
KEPT = bars.GOLDEN.with_name("gpu-traffic.json")
ROOT = Path(__file__).resolve().parents[4]
#: The compiler, the emulation, the importer and the kinds.
FOLDERS = ("codegen", "compiler", "import", "ir", "kernel", "passes", "python/frit", "runtime")
KINDS = ("benchmarks/gpu*.py", "tests/python/support/gpu*.py", "tests/python/support/one_trace.py")


@functools.cache
def sources():
    """Returns a digest of the sources and of torch's version."""
    found = hashlib.sha256(torch.__version__.encode())
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h", ".inc", ".td", ".fbs", ".py")]
    for path in sorted([*paths, *(path for pattern in KINDS for path in ROOT.glob(pattern))]):
        found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:32]


@functools.cache
def kept():
    """Returns {kind: {architecture: [error, moved, of the kernels, of the graph]}}, if it is of these sources."""
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {"sources": ""}
    return known["kinds"] if known["sources"] == sources() else {}


def is_sample(name):
    """Whether a kind that is kept is emulated all the same: one in eight, others for other sources."""
    return hashlib.sha256((sources() + name).encode()).hexdigest()[0] in "08"


def measured(name):
    """Emulates a kind from one trace. Returns {architecture with separate schedules: [error, moved, of the kernels, of the graph]}."""
    one = gpu_kinds.kinds()[name]
    found = gpu_kinds.emulated_for_each(one, (90, 80) if one.older else (90,))
    # The tests need no more of the results than their error; those of all kinds would fill the memory.
    return {
        str(architecture): [error_of(results, expected), traffic.moved, traffic.of_kernels, traffic.of_graph]
        for architecture, (results, expected, traffic) in found.items()
    }


@functools.cache
def emulated(name):
    """Returns {architecture: (error, Traffic)}: what is kept if all sources are the same, otherwise by the emulation."""
    row = kept().get(name)
    if not row or is_sample(name):
        now = measured(name)
        assert not row or {arch: each[1:] for arch, each in row.items()} == {arch: each[1:] for arch, each in now.items()}, f"{KEPT.name} is wrong about {name}: {now}"
        row = now
    return {int(arch): (error, gpu_kinds.Traffic(*numbers)) for arch, (error, *numbers) in row.items()}


def write():
    """Emulates all kinds, two at a time, and writes what is kept."""
    names = [name for name, one in gpu_kinds.kinds().items() if one.emulated]
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        rows = dict(zip(names, pool.map(measured, names), strict=True))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in names)
    KEPT.write_text(f'{{"sources": "{sources()}", "kinds": {{\n{lines}\n}}}}\n')
