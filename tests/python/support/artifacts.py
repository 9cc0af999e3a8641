"""Writes artifacts by hand, without the compiler: JSON of the schema through flatc, kernels in C through the system's compiler."""
import hashlib
import json
import struct
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NONE = 0xFFFFFFFF
CONTEXT = """
#include <stdint.h>
struct Error { int32_t code, operand; int64_t index, size; };
struct Context { void *const *pointers; const int64_t *ints; const double *floats; void *workspace; const void *callbacks;
                 struct Error *error; };
"""


def machine_code(body):
    """Compiles the body of `kernel(const struct Context *c, int64_t begin, int64_t end)` to position-independent bytes."""
    source = CONTEXT + "int32_t kernel(const struct Context *c, int64_t begin, int64_t end) {" + body + "}"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "k.c").write_text(source)
        subprocess.run(
            ["gcc", "-O1", "-ffreestanding", "-fPIC", "-fno-tree-loop-distribute-patterns", "-fcf-protection=none",
             "-c", "k.c", "-o", "k.o"], cwd=folder, check=True)
        relocations = subprocess.run(["objdump", "-r", "-j", ".text", "k.o"], cwd=folder, capture_output=True, text=True)
        assert "R_X86_64" not in relocations.stdout, "the kernel refers to data outside of its text"
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.text", "k.o", "k.bin"], cwd=folder, check=True)
        return (folder / "k.bin").read_bytes()


def frame(body):
    header = bytearray(128)
    struct.pack_into("<8sIIQQQ", header, 0, b"\x7fFRIT\r\n\x1a", 1, 128, len(body), 0, 0)
    header[40:72] = hashlib.sha256(bytes(header) + body).digest()
    return bytes(header) + body


def pack(artifact):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "a.json").write_text(json.dumps(artifact))
        subprocess.run(
            ["flatc", "-b", "-o", str(folder), str(ROOT / "runtime/artifact/Artifact.fbs"), "a.json"],
            cwd=folder, check=True, capture_output=True)
        return frame((folder / "a.bin").read_bytes())


class Plan:
    """A plan in JSON of the schema; registers are numbered as in ArtifactBuilder.h."""

    def __init__(self, name="hand"):
        self.name = name
        self.plan = {key: [] for key in ("int_constants", "float_constants", "tensors", "symbols", "inputs", "constants",
                                         "outputs", "programs", "kernels", "steps")}
        self.plan.update(target="Cpu", int_count=0, float_count=0)
        self.known = {}
        self.images = []

    def int(self, value=None):
        if value is not None and value in self.known:
            return self.known[value]
        reg = self.plan["int_count"]
        self.plan["int_count"] += 1
        if value is not None:
            self.plan["int_constants"].append({"value": value, "reg": reg})
            self.known[value] = reg
        return reg

    def float(self):
        self.plan["float_count"] += 1
        return self.plan["float_count"] - 1

    def tensor(self, sizes=None, strides=None, dtype="F32"):
        """Adds a tensor register; sizes and strides are ints (constants) or registers given as strings."""
        def reg(value):
            return int(value) if isinstance(value, str) else self.int(value)

        tensor = {"dtype": dtype, "device": "Cpu"}
        if sizes is not None:
            tensor.update(rank=len(sizes), sizes=[reg(s) for s in sizes])
            if strides is not None:
                tensor["strides"] = [reg(s) for s in strides]
        self.plan["tensors"].append(tensor)
        return len(self.plan["tensors"]) - 1

    def program(self, *code):
        """Adds a scalar program of instructions (op, dst, a, b, c)."""
        fields = ("op", "dst", "a", "b", "c")
        self.plan["programs"].append({"code": [dict(zip(fields, tuple(i) + (0,) * (5 - len(i)))) for i in code]})
        return len(self.plan["programs"]) - 1

    def input(self, kind, reg=NONE, **more):
        self.plan["inputs"].append({"kind": kind, "reg": reg, "name": f"a{len(self.plan['inputs'])}", **more})

    def output(self, kind, reg=NONE, **more):
        self.plan["outputs"].append({"kind": kind, "reg": reg, **more})

    def step(self, action, **fields):
        self.plan["steps"].append({"action_type": action, "action": fields})

    def alloc(self, tensor, count, size=4, storage="Output"):
        self.step("Alloc", tensor=tensor, bytes=self.int(count * size) if isinstance(count, int) else int(count), storage=storage)

    def kernel(self, body, grain=1 << 20):
        entry = f"k{len(self.plan['kernels'])}"
        code = list(machine_code(body))
        for level in ("x86-64-v3", "x86-64-v4"):
            self.images.append({"kind": "Cpu", "level": level, "entries": [{"name": entry, "offset": 0}], "bytes": code})
        self.plan["kernels"].append({"name": entry, "variants": [{"launches": [{"entry": entry, "grain": grain}]}]})
        return len(self.plan["kernels"]) - 1

    def launch(self, kernel, tensors, units, ints=(), floats=()):
        self.step("Launch", kernel=kernel, tensors=tensors, ints=list(ints), floats=list(floats),
                  variants=[{"launches": [{"x": units}]}])

    def aten(self, name, overload, arguments, results, **more):
        self.step("Aten", name=name, overload=overload, arguments=arguments, results=results, **more)

    def bytes(self):
        return pack({"graph": self.name, "report": "{}", "plans": [self.plan], "images": self.images})


def tensor_value(reg):
    return {"kind": "Tensor", "reg": reg}
