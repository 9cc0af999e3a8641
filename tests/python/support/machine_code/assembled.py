"""Compiles and assembles the kinds of GPU kernels at the sizes of a device: registers, shared memory and machine code of each entry."""

import concurrent.futures
import functools
import json

import emulation
from gpu_kinds import captured_on_a_device

from benchmarks import ptx
from benchmarks.gpu_static import sass
from frit import native

from . import bars


def compiled_for(graph, name, architecture, calls=()):
    """Returns (descriptions of the kernels, {entry: ptxas' figures}, {entry: its machine code}) of one graph."""
    result = native.compiler().compile(graph, json.dumps({"targets": [f"sm_{architecture}"], "name": name}))
    report = json.loads(result.report)
    assert report["kernels"] and {call["op"] for call in report["aten_calls"]} == set(calls), f"{name}: torch runs a part of it"
    codes = {}
    observe = lambda cubin: codes.update(sass.listing(emulation.disassembled(cubin)))  # noqa: E731
    rows = {row[0]: row for text in ptx.texts_of(result.artifact) for row in emulation.assemble(text, observe)}
    return report["kernels"], rows, codes


@functools.cache
def entries_of(one):
    """Returns {architecture: {entry: Entry}}; fails if an entry uses local memory."""
    table = {}
    graphs = captured_on_a_device(one)
    with concurrent.futures.ThreadPoolExecutor(len(emulation.ARCHITECTURES)) as pool:
        for_each = [(arch, [pool.submit(compiled_for, graph, one.name, arch, one.calls) for graph in graphs]) for arch in emulation.ARCHITECTURES]
    chosen = {architecture: [kernel["name"] for job in jobs for kernel in job.result()[0]] for architecture, jobs in for_each}
    assert bool(one.older) == (chosen[80] != chosen[90]), f"{one.name}: `older` is for kinds that have schedules of their own on sm_80"
    for architecture, jobs in for_each:
        entries = table[f"sm_{architecture}"] = {}
        for job in jobs:
            kernels, found, codes = job.result()
            for ops, launched in ((kernel["ops"], launch) for kernel in kernels for launch in kernel["entries"]):
                _, _, registers, local = found[launched["entry"]]
                assert not local, f"{one.name}: {launched['entry']} on sm_{architecture} has {local} bytes of local memory"
                name = emulation.without_digest(launched["entry"])
                while name in entries:
                    name += "+"
                entries[name] = bars.Entry.of(architecture, registers, launched, ops, codes[launched["entry"]])
    return table


def tables(one):
    """Returns a kind's part of the golden files: {architecture: {entry: [registers, bytes of shared memory of a block]}}, and its figures."""
    found = entries_of(one)
    return (
        {arch: {name: [entry.registers, entry.shared] for name, entry in entries.items()} for arch, entries in found.items()},
        {arch: {name: entry.figures.row() for name, entry in entries.items()} for arch, entries in found.items()},
    )
