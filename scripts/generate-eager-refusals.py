"""Measures which types eager's CPU kernels refuse; writes passes/legalize/EagerRefusals.def and python/frit/eager/refusals.py.

    .venv/bin/python scripts/generate-eager-refusals.py [--check]

Decompositions, fake kernels and the compiler's rules also compute in types for which eager has no kernel (the absolute value of booleans, a bitwise
`xor` of floats), so eager's error would be lost. The script therefore runs all samples of torch's operator database in all types and records each call
that reaches a kernel, with the promoted type of its operands. An operator refuses a type if calls raised that the kernel is not implemented for
it and none succeeded. The database has no boolean numbers, so each overload that takes numbers is also called with boolean tensors and numbers of
each kind. `--check` fails if the committed files differ.
"""
import collections
import re
import sys
import warnings
from pathlib import Path

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core
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
    """Records which operators ran and which refused, by the type of their operands."""

    def __init__(self):
        super().__init__()
        # By operator and by whether scalars take part in promotion.
        self.ran, self.refused = collections.defaultdict(set), collections.defaultdict(set)
        # The type to which numbers promote tensors may be one that no call has as the type of a tensor. Then a refusal tells nothing about it.
        self.promotes = True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        dtypes = {scalars: operand_dtype(func, args, kwargs or {}, scalars) for scalars in (True, False)}
        try:
            result = func(*args, **(kwargs or {}))
        except (NotImplementedError, RuntimeError) as error:
            if REFUSAL.search(str(error)):
                for scalars, dtype in dtypes.items():
                    if self.promotes or not scalars:
                        self.refused[func, scalars].add(dtype)
            raise
        for scalars, dtype in dtypes.items():
            self.ran[func, scalars].add(dtype)
        return result

    def table(self):
        """operator -> (whether scalars take part in promotion, the types that it refuses). Of the two assumptions about scalars, that which explains more
        types is taken. If both explain as many, an operator that takes numbers refuses its tensors, whatever the numbers are."""
        found = {}
        for func in sorted({func for func, _ in self.refused}, key=str):
            ways = [(scalars, self.refused[func, scalars] - self.ran[func, scalars]) for scalars in (True, False)]
            scalars, dtypes = max(ways, key=lambda way: (len(way[1]), not way[0] and takes_numbers(func)))
            dtypes = [name for dtype, name in NAMES.items() if dtype in dtypes]
            # Graphs are functional. An operator that never ran tells nothing about types.
            if 0 < len(dtypes) < len(NAMES) and func.namespace == "aten" and not func._schema.is_mutable:
                found[str(func)] = (scalars, dtypes)
        return found


# The database looks for a test of unittest in the call stack, with the source of each frame, which takes most of the time.
core.extract_test_fn = lambda: None


def samples_of(op, dtype):
    """Samples in any type; for a type that the operator does not claim, samples are converted from one that it claims."""
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


def takes_numbers(func):
    return any(_is_number(argument.type) for argument in func._schema.arguments)


def _is_number(kind):
    return isinstance(kind.getElementType() if isinstance(kind, torch._C.OptionalType) else kind, torch._C.NumberType)


def of_booleans():
    """Calls of ATen's functional operators on boolean tensors, with boolean and other numbers; the last item says whether these promote."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        space, _, name = name.partition("::")
        name, _, overload = name.partition(".")
        func = getattr(getattr(torch.ops.aten, name), overload or "default") if space == "aten" else None
        if func is None or func._schema.is_mutable or not takes_numbers(func):
            continue
        needed = [argument for argument in func._schema.arguments if not argument.has_default_value() or _is_number(argument.type)]
        if all(_is_number(one.type) or isinstance(one.type, torch._C.TensorType) for one in needed):
            for number in (True, False, 2, 2.5):
                values = {one.name: number if _is_number(one.type) else torch.tensor([True, False]) for one in needed}
                positional = [values[one.name] for one in needed if not one.kwarg_only]
                yield func, positional, {one.name: values[one.name] for one in needed if one.kwarg_only}, type(number) is not bool


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
    for func, args, kwargs, promotes in of_booleans():
        recorder.promotes = not promotes
        try:
            with recorder:
                func(*args, **kwargs)
        except Exception:
            continue
    return recorder


def main():
    warnings.simplefilter("ignore")
    table = measure(op_db).table()
    version = torch.__version__.split("+")[0]
    head = f"// The types that eager's CPU kernels refuse, measured with torch {version}: operator, whether scalars take part in promotion, types.\n"
    rules = head + "// Written by scripts/generate-eager-refusals.py.\n" + "".join(
        f'EAGER_REFUSES("{name}", {str(scalars).lower()}, {" | ".join(dtypes)})\n' for name, (scalars, dtypes) in table.items()
    )
    torch_names = {name: str(dtype).removeprefix("torch.") for dtype, name in NAMES.items()}
    decomposed = set(map(str, decomposition_table()))
    lines = "".join(
        f'    "{name}": ({scalars}, "{" ".join(torch_names[one] for one in dtypes)}"),\n' for name, (scalars, dtypes) in table.items() if name in decomposed
    )
    sentence = "For each decomposed operator: whether scalars take part in promotion, and the types that eager's CPU kernel refuses."
    module = f'"""{sentence}\n\nWritten by scripts/generate-eager-refusals.py.\n"""\n\nREFUSED = {{\n{lines}}}\n'
    stale = [str(path.relative_to(ROOT)) for path, text in ((RULES, rules), (DECOMPOSED, module)) if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        sys.exit(f"generate-eager-refusals: {', '.join(stale)} differ; run it without --check" if stale else 0)
    RULES.write_text(rules)
    DECOMPOSED.write_text(module)
    print(f"{len(table)} operators, {sum(len(dtypes) for _, dtypes in table.values())} pairs; wrote {', '.join(stale) or 'nothing new'}")


if __name__ == "__main__":
    main()
