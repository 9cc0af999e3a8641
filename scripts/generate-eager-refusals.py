"""Writes which types eager's CPU kernels refuse: passes/legalize/EagerRefusals.def and python/frit/eager/refusals.py.

    .venv/bin/python scripts/generate-eager-refusals.py [--check]

A decomposition, a fake kernel and a rule of the compiler compute what eager has no kernel for (the absolute value of booleans, a bitwise `xor` of
floats), and the error that the program raises in eager would be lost. So every sample of torch's operator database is run in every type, and each
call that reaches a kernel is recorded with the type that its operands promote to. A type is refused by an operator where calls raised that the
kernel is not implemented for it, and none succeeded. `--check` fails if the committed files differ.
"""
import collections
import re
import sys
import warnings
from pathlib import Path

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT)]

from frit.eager.decompositions import decomposition_table  # noqa: E402
from frit.eager.promotion import operand_dtype  # noqa: E402

RULES, DECOMPOSED = ROOT / "passes" / "legalize" / "EagerRefusals.def", ROOT / "python" / "frit" / "eager" / "refusals.py"
NAMES = {
    torch.bool: "Bool", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64", torch.float16: "F16",
    torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
}
REFUSAL = re.compile(r"not implemented for|not support|only support|not allowed|Expected .*dtype|must be|expects? .*(type|dtype)|Integer division with|can.t be cast")
SAMPLES = 4


class Recorder(TorchDispatchMode):
    """Which operators ran, and which refused, by the type of their operands."""

    def __init__(self):
        super().__init__()
        # By operator and by whether scalars promote, too.
        self.ran, self.refused = collections.defaultdict(set), collections.defaultdict(set)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        dtypes = {scalars: operand_dtype(func, args, kwargs or {}, scalars) for scalars in (True, False)}
        try:
            result = func(*args, **(kwargs or {}))
        except (NotImplementedError, RuntimeError) as error:
            if REFUSAL.search(str(error)):
                for scalars, dtype in dtypes.items():
                    self.refused[func, scalars].add(dtype)
            raise
        for scalars, dtype in dtypes.items():
            self.ran[func, scalars].add(dtype)
        return result

    def table(self):
        """Of each operator whether scalars promote, and the types that it refuses: whichever tells more types apart."""
        found = {}
        for func in sorted({func for func, _ in self.refused}, key=str):
            ways = [(scalars, self.refused[func, scalars] - self.ran[func, scalars]) for scalars in (True, False)]
            scalars, dtypes = max(ways, key=lambda way: len(way[1]))
            dtypes = [name for dtype, name in NAMES.items() if dtype in dtypes]
            # Graphs are functional. An operator of which no call ever ran says nothing about types.
            if 0 < len(dtypes) < len(NAMES) and func.namespace == "aten" and not func._schema.is_mutable:
                found[str(func)] = (scalars, dtypes)
        return found


def samples_of(op, dtype):
    """Samples in a type that the operator may not claim: those of one that it does, converted."""
    claimed = op.supported_dtypes("cpu")
    base = next((one for one in (dtype, torch.float32, torch.int64, torch.bool) if one in claimed), None)
    if base is None:
        return
    try:
        found = [sample for sample, _ in zip(op.sample_inputs("cpu", base), range(SAMPLES))]
    except Exception:
        return
    for sample in found:
        yield pytree.tree_map(
            lambda x: x.detach().to(dtype) if isinstance(x, torch.Tensor) and x.dtype == base else x, (sample.input, sample.args, dict(sample.kwargs))
        )


def measure(operators):
    recorder = Recorder()
    for op in operators:
        for dtype in NAMES:
            for first, args, kwargs in samples_of(op, dtype):
                try:
                    with recorder:
                        op(first, *args, **kwargs)
                except Exception:
                    continue
    return recorder


def main():
    warnings.simplefilter("ignore")
    table = measure(op_db).table()
    head = f"// The types that eager's CPU kernels refuse, by operator, measured with torch {torch.__version__.split('+')[0]}, after whether scalars promote them.\n"
    rules = head + "// Written by scripts/generate-eager-refusals.py.\n" + "".join(
        f'EAGER_REFUSES("{name}", {str(scalars).lower()}, {" | ".join(dtypes)})\n' for name, (scalars, dtypes) in table.items()
    )
    torch_names = {name: str(dtype).removeprefix("torch.") for dtype, name in NAMES.items()}
    decomposed = set(map(str, decomposition_table()))
    lines = "".join(
        f'    "{name}": ({scalars}, "{" ".join(torch_names[one] for one in dtypes)}"),\n' for name, (scalars, dtypes) in table.items() if name in decomposed
    )
    sentence = "The types that eager's CPU kernels refuse, of operators that are decomposed, after whether scalars promote them."
    module = f'"""{sentence}\n\nWritten by scripts/generate-eager-refusals.py.\n"""\n\nREFUSED = {{\n{lines}}}\n'
    stale = [str(path.relative_to(ROOT)) for path, text in ((RULES, rules), (DECOMPOSED, module)) if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        sys.exit(f"generate-eager-refusals: {', '.join(stale)} differ; run it without --check" if stale else 0)
    RULES.write_text(rules)
    DECOMPOSED.write_text(module)
    print(f"{len(table)} operators, {sum(len(dtypes) for _, dtypes in table.values())} pairs; wrote {', '.join(stale) or 'nothing new'}")


if __name__ == "__main__":
    main()
