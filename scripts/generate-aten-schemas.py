"""Writes ir/AtenSchemas.def from the operators of the installed torch.

    .venv/bin/python scripts/generate-aten-schemas.py [--check]

The compiler knows operators only through this table: names, argument order, defaults, aliases and effects. It is
one string of sorted lines, `name flags (arguments) -> returns`. A line is found by bisection and parsed on demand, so
the table costs neither start-up time nor relocations. `--check` fails if the committed table differs.
"""
import json
import sys
from pathlib import Path

import torch

TABLE = Path(__file__).resolve().parent.parent / "ir" / "AtenSchemas.def"
NAMESPACES = {"aten", "prims", "_c10d_functional", "c10d_functional"}
HEADER = """\
// What torch {version} says about its operators: one string literal, sorted, one line an operator.
// Flags: r random, o ordered for another reason (collective, asserting, hidden mutation), m mutates an
// argument, v returns a view of an argument, - none. Written by scripts/generate-aten-schemas.py.
"""
# Operators that, in training, write to arguments (running statistics) that their schema does not mark.
HIDDEN_MUTATION = {
    "batch_norm", "instance_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_batch_norm_impl_index",
    "rnn_tanh", "rnn_relu", "lstm", "gru",
}
# Operators that assert facts about shapes and have no results: without a flag they would be removed as unused.
ASSERTING = ("_assert", "sym_constrain_range", "_functional_assert", "_functional_sym_constrain")
# Their tag would order them, but they are pure functions of their arguments.
PURE = {"sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "item", "_local_scalar_dense"}
# Operators of frit's own, which passes make and the runtime computes.
OWN = [
    "frit.convolution.default - (Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups, Tensor? scale, Tensor? shift, Tensor? added, Scalar? low, Scalar? high, SymInt[]? padding_behind) -> Tensor",
]


def flags_of(namespace, base, schema, tags):
    arguments = [a.alias_info for a in schema.arguments]
    flags = ""
    if torch.Tag.nondeterministic_seeded in tags:
        flags += "r"
    hidden = base in HIDDEN_MUTATION or torch.Tag.maybe_aliasing_or_mutating in tags
    ordered = namespace in ("_c10d_functional", "c10d_functional") or base.startswith(ASSERTING) or not schema.returns
    if (hidden or ordered) and base not in PURE:
        flags += "o"
    if any(a is not None and a.is_write for a in arguments):
        flags += "m"
    if any(a is not None and not a.is_write for a in arguments) and any(r.alias_info for r in schema.returns):
        flags += "v"
    return flags or "-"


def operators():
    for qualified in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = qualified.partition("::")
        base, _, overload = rest.partition(".")
        if namespace not in NAMESPACES:
            continue
        try:
            op = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
        except AttributeError:
            continue
        # Graphs never contain the out= form of a functional operator.
        if torch.Tag.out_variant in op.tags or any(a.is_out for a in op._schema.arguments):
            continue
        text = str(op._schema)
        yield f"{namespace}.{base}.{overload or 'default'}", flags_of(namespace, base, op._schema, op.tags), text[text.index("(") :]


def table():
    lines = sorted([*OWN, *(f"{name} {flags} {signature}" for name, flags, signature in operators())])
    version = torch.__version__.split("+")[0]
    return HEADER.format(version=version) + "".join(json.dumps(line + "\n", ensure_ascii=True) + "\n" for line in lines)


def main():
    text = table()
    if "--check" in sys.argv[1:]:
        if TABLE.read_text() != text:
            sys.exit(f"{TABLE.name} differs from torch {torch.__version__}: run scripts/generate-aten-schemas.py")
        return
    TABLE.write_text(text)
    print(f"{TABLE.name}: {text.count(chr(10)) - HEADER.count(chr(10))} operators, {len(text) // 1024} KiB")


if __name__ == "__main__":
    main()
