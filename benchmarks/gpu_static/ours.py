"""frit's own kernels for programs, made without a GPU: a graph of fake tensors, the compiler's PTX, and ptxas' cubins."""

import contextlib
import glob
import json
import math
import os
import re
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import FakeTensorMode

from .. import ptx
from . import sass
from .walk import Launch

ARCHITECTURE = 90
PTXAS = next((each for each in (os.environ.get("FRIT_PTXAS"), "/usr/local/cuda/bin/ptxas") if each and os.path.exists(each)), None)
NONE = 4294967295
#: Storages lie so far apart that none reaches another.
FIRST, APART = 0x7F00_0000_0000, 1 << 37


@dataclass(frozen=True)
class Kernel:
    """A launch of a program: its machine code, and what it is launched with."""

    name: str
    listed: sass.Listed
    launch: Launch
    registers: int
    shared: int
    config: str = ""


def disassembler():
    """Returns nvdisasm: of the wheel nvidia-cuda-nvdisasm, or of triton's."""
    folder = sysconfig.get_path("purelib")
    given = (os.environ.get("FRIT_NVDISASM", ""), *glob.glob(f"{folder}/nvidia/*/bin/nvdisasm"), f"{folder}/triton/backends/nvidia/bin/nvdisasm")
    return next((each for each in given if os.path.exists(each)), None)


def disassembled(cubin):
    tool = disassembler()
    if not tool:
        raise RuntimeError("nvdisasm is missing: pip install nvidia-cuda-nvdisasm, or name it in FRIT_NVDISASM")
    return subprocess.run([tool, "-c", str(cubin)], check=True, capture_output=True, text=True).stdout


def captured(program):
    """Returns (the graph as JSON for the compiler, offsets of its arguments in bytes)."""
    from frit.capture.graph import capture
    from frit.eager.decompositions import decomposition_table

    found = []

    def compiler(gm, inputs):
        def keep(graph, given):
            offset = lambda x: int(getattr(x.storage_offset().node, "hint", 0) if isinstance(x.storage_offset(), torch.SymInt) else x.storage_offset())  # noqa: E731
            found.append((capture(graph).json, [offset(x) * x.itemsize if isinstance(x, torch.Tensor) else 0 for x in given]))
            return graph.forward

        return aot_module_simplified(gm, inputs, fw_compiler=keep, inference_compiler=keep, decompositions=decomposition_table(), keep_inference_input_mutations=True)

    torch._dynamo.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        function, arguments = program.make("cpu")
        torch.compile(function, backend=compiler, fullgraph=True, dynamic=program.dynamic)(*arguments)
    (one,) = found
    return one


class Addresses:
    """Addresses of a plan's tensors."""

    def __init__(self, plan, values, offsets):
        self.plan, self.values, self.at, self.storages = plan, values, {}, 0
        self.ends = {}
        for number, one in enumerate(plan["inputs"]):
            if one["kind"] in ("Tensor", "ScalarTensor") and one["reg"] != NONE:
                self.at[one["reg"]] = self.fresh() + (offsets[number] if number < len(offsets) else 0)
        for one in plan["constants"]:
            self.at[one["tensor"]] = self.fresh()

    def fresh(self):
        self.storages += 1
        return FIRST + self.storages * APART

    def step(self, action):
        from frit.inspect.traffic import width

        if action["kind"] == "Alloc":
            self.at[action["tensor"]] = self.fresh()
        elif action["kind"] == "Reuse":
            self.at[action["tensor"]] = self.at[action["from"]]
        elif action["kind"] == "View":
            offset = 0 if action["offset"] == NONE else self.values[action["offset"]]
            self.at[action["tensor"]] = self.at[action["source"]] + offset * width(self.plan["tensors"][action["tensor"]]["dtype"])

    def of(self, reg):
        """Returns the address of a tensor; what an operator of torch returns has one of its own."""
        if reg not in self.at:
            self.at[reg] = self.fresh()
        return self.at[reg]


def variant_of(action, values, addresses):
    """Returns the number of the variant that a launch runs, and its sizes: the first whose guard and alignment hold."""
    for number, one in enumerate(action["variants"]):
        guarded = one["guard"] == NONE or values.get(one["guard"], 0) != 0
        if guarded and not any(addresses.of(action["tensors"][each["tensor"]]) & each["mask"] for each in one["aligned"]):
            return number, one
    raise ValueError("no variant applies")


def table_of(action, variant, values, addresses, items):
    """Returns the words of a list's table (of each item the number of its first block, its addresses, ints and floats), the number of blocks, and
    samples of them."""
    count = action["items"]
    share = lambda list_, n: list_[n * len(list_) // count : (n + 1) * len(list_) // count]  # noqa: E731
    words, total, alike = [], 0, {}
    for n in range(count):
        blocks = values[variant["launches"][n]["x"]]
        if blocks > 0:
            # Items with the same numbers have blocks that are alike, but for the last of each.
            same = alike.setdefault(tuple(values.get(reg) for reg in share(action["ints"], n)), [total, blocks, 0])
            same[2] += 1
            words += [total, *(addresses.of(reg) for reg in share(action["tensors"], n)), *(values.get(reg) for reg in share(action["ints"], n))]
            words += [None for _ in share(action["floats"], n)]
            total += blocks
    size = 1 + (len(action["tensors"]) + len(action["ints"]) + len(action["floats"])) // count
    while len(words) < items * size:
        words.append((1 << 31) - 1 if len(words) % size == 0 else 0)
    samples = [((first, 0, 0), (blocks - 1) * items_) for first, blocks, items_ in alike.values() if blocks > 1]
    samples += [((first + blocks - 1, 0, 0), items_) for first, blocks, items_ in alike.values()]
    return words, total, tuple(samples)


def split(word):
    return (None, None) if word is None else (word & 0xFFFFFFFF, (word >> 32) & 0xFFFFFFFF)


def launches_of(program, native=None):
    """Returns the launches of a program in order, and (bytes, launches) of what operators of torch do besides: of a product, which is left out, what it
    adds counts, as on Inductor's side."""
    from frit.inspect.reader import read
    from frit.inspect.sizes import values_of
    from frit.inspect.traffic import width
    from frit.native import compiler

    graph, offsets = captured(program)
    native = native or compiler()
    result = native.compile(graph, json.dumps({"targets": [f"sm_{ARCHITECTURE}"], "name": program.name}))
    artifact = read(result.artifact)
    plan = artifact["plans"][0]
    values = values_of(plan)
    addresses, wanted, operators = Addresses(plan, values, offsets), [], []
    for step in plan["steps"]:
        action = step["action"]
        addresses.step(action)
        if action["kind"] == "Aten" and action["name"] == "aten::addmm_":
            summand = plan["tensors"][action["arguments"][0]["reg"]]
            operators.append((math.prod(values[size] for size in summand["sizes"]) * width(summand["dtype"]), 0))
        if action["kind"] != "Launch":
            continue
        number, variant = variant_of(action, values, addresses)
        workspace = [addresses.fresh()] if variant["workspace"] != NONE else []
        plain = [(8, addresses.of(reg)) for reg in action["tensors"]] + [(8, values.get(reg)) for reg in action["ints"]]
        plain += [(8, None) for _ in action["floats"]] + [(8, each) for each in workspace]
        for launched, sizes in zip(plan["kernels"][action["kernel"]]["variants"][number]["launches"], variant["launches"]):
            size = lambda reg: 1 if reg == NONE else values[reg]  # noqa: E731
            grid, parameters, samples = (size(sizes["x"]), size(sizes["y"]), size(sizes["z"])), tuple(plain), ()
            if launched["list_items"]:
                words, blocks, samples = table_of(action, variant, values, addresses, launched["list_items"])
                grid, parameters = (blocks, 1, 1), ((8 * len(words), tuple(half for word in words for half in split(word))),)
            if all(each > 0 for each in grid):
                wanted.append((launched, Launch(ARCHITECTURE, launched["block_x"], grid, parameters, launched["cluster_x"], samples)))
    codes, registers = assembled(ptx.texts_of(result.artifact), {launched["entry"] for launched, _ in wanted})
    return [Kernel(one["entry"], codes[one["entry"]], launch, registers[one["entry"]], one["shared_bytes"]) for one, launch in wanted], operators


def assembled(texts, entries):
    """Returns ({entry: Listed}, {entry: registers}) of the PTX texts that have one of the entries."""
    codes, registers = {}, {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for text in texts:
            if not entries & set(re.findall(r"\.entry (\w+)", text)):
                continue
            source = folder / "kernels.ptx"
            source.write_text(text)
            said = subprocess.run([PTXAS, "-v", f"-arch=sm_{ARCHITECTURE}", source, "-o", source.with_suffix(".cubin")], check=True, capture_output=True, text=True)
            codes.update(sass.listed(disassembled(source.with_suffix(".cubin"))))
            registers.update((name, int(count)) for name, count in re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", said.stderr, re.S))
    return codes, registers
