"""Compiles and assembles the kinds of GPU kernels at the sizes of a device: registers, shared memory and machine code of each entry."""

import concurrent.futures
import functools
import hashlib
import json
from pathlib import Path

import emulation
from gpu_kinds import captured_on_a_device

from benchmarks import ptx
from benchmarks.gpu_static import sass
from frit import native

from . import bars

#: What ptxas and nvdisasm said of each kind, with a digest of what they were asked; written by scripts/gpu-table.
KEPT = bars.GOLDEN.with_name("gpu-assembled.json")


def generated_for(graph, name, architecture, calls=()):
    """Returns (descriptions of the kernels, their PTX texts) of one graph."""
    result = native.compiler().compile(graph, json.dumps({"targets": [f"sm_{architecture}"], "name": name}))
    report = json.loads(result.report)
    assert report["kernels"] and {call["op"] for call in report["aten_calls"]} == set(calls), f"{name}: torch runs a part of it"
    return report["kernels"], ptx.texts_of(result.artifact)


def assembled(texts):
    """Returns ({entry: ptxas' figures}, {entry: its machine code}) of PTX texts."""
    codes = {}
    observe = lambda cubin: codes.update(sass.listing(emulation.disassembled(cubin)))  # noqa: E731
    return {row[0]: row for text in texts for row in emulation.assemble(text, observe)}, codes


def compiled_for(graph, name, architecture, calls=()):
    """Returns (descriptions of the kernels, {entry: ptxas' figures}, {entry: its machine code}) of one graph."""
    kernels, texts = generated_for(graph, name, architecture, calls)
    return kernels, *assembled(texts)


def digest(made):
    """Of everything that determines the entries of a kind: its PTX, how it is launched, and the code that reads the machine code."""
    launches = [[kernel["ops"], [[each["entry"], each["threads"], each["shared_bytes"]] for each in kernel["entries"]]] for kernels, _ in made for kernel in kernels]
    readers = [Path(module.__file__).read_text() for module in (sass, bars)]
    return hashlib.sha256(json.dumps([[texts for _, texts in made], launches, readers]).encode()).hexdigest()[:32]


@functools.cache
def kept():
    """Returns what is kept of each kind, if it is of this release of ptxas."""
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {"ptxas": "", "kinds": {}}
    return known["kinds"] if known["ptxas"] == emulation.ptxas_release() else {}


@functools.cache
def generated(one):
    """Returns {architecture: [(descriptions of the kernels, their PTX texts) of each graph]}."""
    graphs = captured_on_a_device(one)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = {arch: [pool.submit(generated_for, graph, one.name, arch, one.calls) for graph in graphs] for arch in emulation.ARCHITECTURES}
        made = {arch: [job.result() for job in each] for arch, each in jobs.items()}
    chosen = {arch: [kernel["name"] for kernels, _ in each for kernel in kernels] for arch, each in made.items()}
    assert bool(one.older) == (chosen[80] != chosen[90]), f"{one.name}: `older` is for kinds that have schedules of their own on sm_80"
    return made


def measured(one):
    """Returns {architecture: {entry: Entry}}, by ptxas and nvdisasm; fails if an entry uses local memory."""
    table = {}
    for architecture, each in generated(one).items():
        entries = table[f"sm_{architecture}"] = {}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            codes_of = list(pool.map(assembled, [texts for _, texts in each]))
        for (kernels, _), (found, codes) in zip(each, codes_of):
            for ops, launched in ((kernel["ops"], launch) for kernel in kernels for launch in kernel["entries"]):
                _, _, registers, local = found[launched["entry"]]
                assert not local, f"{one.name}: {launched['entry']} on sm_{architecture} has {local} bytes of local memory"
                name = emulation.without_digest(launched["entry"])
                while name in entries:
                    name += "+"
                entries[name] = bars.Entry.of(architecture, registers, launched, ops, codes[launched["entry"]])
    return table


@functools.cache
def entries_of(one):
    """Returns {architecture: {entry: Entry}}: what is kept if the PTX is the same to the byte, otherwise by ptxas and nvdisasm, which take
    most of the time of these tests."""
    row = kept().get(one.name)
    if row and row["digest"] == digest_of(one):
        return {arch: {name: bars.Entry.from_row(each) for name, each in entries.items()} for arch, entries in row["entries"].items()}
    return measured(one)


def digest_of(one):
    return digest([each for graphs in generated(one).values() for each in graphs])


def kept_row(one, table):
    """Returns what gpu-table keeps of a kind."""
    return {"digest": digest_of(one), "entries": {arch: {name: entry.row() for name, entry in entries.items()} for arch, entries in table.items()}}


def tables(one):
    """Measures a kind and returns its part of the golden files: {architecture: {entry: [registers, bytes of shared memory of a block]}}, its
    figures, and what is kept."""
    found = measured(one)
    return (
        {arch: {name: [entry.registers, entry.shared] for name, entry in entries.items()} for arch, entries in found.items()},
        {arch: {name: entry.figures.row() for name, entry in entries.items()} for arch, entries in found.items()},
        kept_row(one, found),
    )
