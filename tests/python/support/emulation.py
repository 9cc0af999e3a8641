"""Runs the GPU kernels of graphs in the emulation, which checks every access, and collects the PTX of the same kernels for ptxas.

    emulation = Emulation()
    emulation.install(monkeypatch)       # compilations for the host are emulated from now on
    ...                                  # torch.compile(..., backend="frit") as usual
    emulation.assemble()                 # all kernels so far; fails if one uses local memory

The ledger (tests/golden/gpu-sweep.json, written by scripts/gpu-sweep) has the registers of every kernel of the suite. The name of a
kernel consists of its operators and a digest of its text. A kernel whose text changed is compared with the ledger's kernels of the
same operators.
"""

import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import re
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from benchmarks import ptx
from frit.native import compiler

PTXAS = next((p for p in (os.environ.get("FRIT_PTXAS"), "/usr/local/cuda/bin/ptxas") if p and os.path.exists(p)), None)
#: From the wheel nvidia-cuda-nvdisasm (scripts/requirements.txt).
NVDISASM = (os.environ.get("FRIT_NVDISASM", ""), *glob.glob(sysconfig.get_path("purelib") + "/nvidia/*/bin/nvdisasm"))
ARCHITECTURES = (80, 90, 100)
LEDGER = Path(__file__).resolve().parents[2] / "golden" / "gpu-sweep.json"
TEXTS = LEDGER.with_name("gpu-texts.json")
REPORT = re.compile(
    r"Compiling entry function '(\w+)' for 'sm_(\d+)\w*'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers",
    re.S,
)


def disassembled(cubin):
    """Returns nvdisasm's output for a cubin."""
    tool = next((each for each in NVDISASM if os.path.exists(each)), None)
    assert tool, "nvdisasm is missing: pip install -r scripts/requirements.txt, or name it in FRIT_NVDISASM"
    return subprocess.run([tool, "-c", str(cubin)], check=True, capture_output=True, text=True).stdout


@functools.cache
def _known_texts():
    """Returns {digest of a PTX text: registers of its entries in order}, if it is of this release of ptxas."""
    known = json.loads(TEXTS.read_text()) if TEXTS.exists() else {"ptxas": "", "texts": {}}
    return known["texts"] if known["ptxas"] == ptxas_release() else {}


def assemble(text, observe=None):
    """Assembles one PTX text and returns [(kernel, architecture, registers, bytes of local memory)]; fails with ptxas' message if it refuses.
    `observe` gets the cubin.

    ptxas takes most of the time of the tests of GPU kernels, and its answer depends on the text alone. What it said of texts that use no local memory
    is kept (scripts/gpu-texts); of one in 16 it is asked again."""
    arch = int(re.search(r"^\.target sm_(\d+)", text, re.M).group(1))
    entries = re.findall(r"\.entry (\w+)", text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:20]
    known = _known_texts().get(digest)
    if known and not observe and not digest.startswith("0"):
        return [(name, arch, registers, 0) for name, registers in zip(entries, known, strict=True)]
    rows = _ask_ptxas(text, arch, observe)
    assert {row[0] for row in rows} == set(entries), f"ptxas does not report {set(entries) - {row[0] for row in rows}}"
    found = {name: registers for name, _, registers, local in rows if not local}
    registers = [found[name] for name in entries] if len(found) == len(entries) else None
    assert not known or registers == known, f"{TEXTS.name} is wrong about {digest}: ptxas says {rows}"
    if registers and "FRIT_TEST_KEEP_TEXTS" in os.environ:
        with open(os.environ["FRIT_TEST_KEEP_TEXTS"], "a") as file:
            file.write(json.dumps([digest, registers]) + "\n")
    return rows


def _ask_ptxas(text, arch, observe):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_text(text)
        cubin = source.with_suffix(".cubin")
        done = subprocess.run([PTXAS, "-v", f"-arch=sm_{arch}", str(source), "-o", str(cubin)], capture_output=True, text=True)
        assert done.returncode == 0, f"ptxas -arch=sm_{arch}: {done.stderr[:2000]}"
        if observe:
            observe(cubin)
    return [
        (name, int(arch), int(registers), int(frame) + int(stores) + int(loads))
        for name, arch, frame, stores, loads, registers in REPORT.findall(done.stderr)
    ]


def without_digest(entry):
    """Removes the digest of the kernel's text from the name of an entry."""
    return re.sub(r"_[0-9a-f]{8}(?=(_v\d+)?(_u)?(_\d+)?$)", "", entry)


def family(kernel):
    """Removes the digest of the kernel's text and the number of its variant from the name."""
    return re.sub(r"_[0-9a-f]{8}(_v\d+)?(_u)?(?=(_\d+)?$)", "", kernel)


@functools.cache
def ptxas_release():
    """Returns ptxas' release, such as `13.0`: other releases allocate registers differently."""
    said = subprocess.run([PTXAS, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", said).group(1)


def unlike_ledger(rows, kernels, growth=1.1):
    """Returns one line for each (kernel, architecture, registers) that exceeds the ledger."""
    most = {}
    for name, registers in kernels.items():
        known = most.setdefault(family(name), registers)
        most[family(name)] = [max(pair, key=lambda number: number or 0) for pair in zip(known, registers)]
    wrong = []
    for name, arch, registers in rows:
        # The ledger has none for an architecture with other schedules.
        known = kernels.get(name, most.get(family(name), [None] * len(ARCHITECTURES)))[ARCHITECTURES.index(arch)]
        if known is None:
            wrong.append(f"{name}: not in the ledger" + ("" if name not in kernels else f" on sm_{arch}"))
        elif registers > growth * known:
            wrong.append(f"{name} on sm_{arch}: {registers} registers, {known} in the ledger")
    return sorted(set(wrong))


def unlike_table(known, found, growth=1.1):
    """Returns one line for each entry of a kind that exceeds the table."""
    wrong = []
    for architecture, entries in found.items():
        if sorted(entries) != sorted(known.get(architecture, ())):
            wrong.append(f"{architecture}: the kernels are {', '.join(entries)}, in the table {', '.join(known.get(architecture, ()))}")
            continue
        for name, numbers in entries.items():
            for what, now, before in zip(("registers", "bytes of shared memory"), numbers, known[architecture][name]):
                if now > growth * before:
                    wrong.append(f"{name} on {architecture}: {now} {what}, {before} in the table")
    return wrong


def check_ledger(rows):
    ledger = json.loads(LEDGER.read_text())
    # With another release than the ledger's, registers cannot be compared; a kernel must be known and use no local memory.
    wrong = unlike_ledger(rows, ledger["kernels"], 1.1 if ptxas_release() == ledger["ptxas"] else float("inf"))
    assert not wrong, "\n".join([*wrong, "after a look at why: scripts/gpu-sweep --add measures these tests into the ledger"])


@functools.cache
def sweep():
    """Returns the single emulation of a sweep (scripts/gpu-sweep)."""
    chosen = os.environ.get("FRIT_TEST_ARCHITECTURES")
    return Emulation(ARCHITECTURES if chosen is None else tuple(int(arch) for arch in chosen.split()))


def _kernels(result):
    return {kernel["name"] for kernel in json.loads(result.report)["kernels"]}


class Emulation:
    def __init__(self, architectures=ARCHITECTURES):
        self.architectures = architectures
        self.texts = []
        self.seen = set()

    def install(self, monkeypatch):
        native = compiler()
        monkeypatch.setattr(native, "compile", functools.partial(self.compile, native.compile))

    def compile(self, native, text, settings, *lookup):
        """Replaces `frit._C.compile`; with the cache on, the last argument is the compiler's lookup."""
        try:
            given = json.loads(settings)
        except ValueError:
            return native(text, settings, *lookup)
        if given.get("targets", ["cpu"]) != ["cpu"]:
            return native(text, settings, *lookup)
        result = native(text, json.dumps({**given, "targets": ["simt"]}), *lookup)
        if lookup and lookup[0].found:
            return result  # the compiler stopped at a hit
        # Skips texts that were assembled before.
        if self.architectures and _kernels(result) - self.seen:
            self.seen |= self._collect(native, text, given, self.architectures, _kernels(result))
        return result

    def _collect(self, native, text, given, architectures, emulated):
        """Collects PTX. Schedules are those of the oldest architecture; newer architectures with other schedules are compiled separately."""
        made = native(text, json.dumps({**given, "targets": [f"sm_{arch}" for arch in architectures]}))
        self.texts += ptx.texts_of(made.artifact)
        names = _kernels(made)
        if names != emulated and architectures[0] < 90 and len(architectures) > 1:
            names |= self._collect(native, text, given, [arch for arch in architectures if arch >= 90], emulated)
        return names | emulated

    def assemble(self):
        """Assembles and removes the collected PTX; returns (kernel, architecture, registers) of each kernel."""
        texts, self.texts = self.texts, []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            rows = [row for rows in pool.map(assemble, texts) for row in rows]
        spilled = [f"{name} on sm_{arch}: {local} bytes of local memory" for name, arch, _, local in rows if local]
        assert not spilled, "\n".join(spilled)
        return [row[:3] for row in rows]
