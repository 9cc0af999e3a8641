"""Views: operators whose results share memory with an operand (not always: `reshape`, `contiguous`)."""

from .tables import adder, view

TABLE = {}
entry = adder(TABLE)


def is_complex(x):
    return x.is_complex()


def some(b, least=1):
    return b.tensor(lambda x: x.dim() >= least)


@entry("slice", 6)
def _slice(b):
    a = some(b)
    d = b.c.integer(0, b.rank(a) - 1)
    cut = b.c.choice(["1:", ":-1", "::2", "1::2", ":2", "1:3", "-2:", ":1", "2:2", "::3", "-3:-1"])
    return view(b, f"{a}[{':, ' * d}{cut}]" if b.c.chance(70) else f"{a}[..., {cut}]")


@entry("select", 3)
def _select(b):
    a = some(b)
    return view(b, f"{a}.select({b.dim(a)}, {b.c.choice([0, -1, 1])})" if b.c.chance(50) else f"{a}[{b.c.choice([0, -1])}]")


@entry("narrow")
def _narrow(b):
    a = some(b)
    return view(b, f"{a}.narrow({b.dim(a)}, {b.c.choice([0, 1])}, {b.c.choice([1, 2, 0])})")


@entry("transpose", 4)
def _transpose(b):
    a = some(b)
    return view(b, f"{a}.transpose({b.dim(a)}, {b.dim(a)})")


@entry("t")
def _t(b):
    a = b.tensor(lambda x: x.dim() == 2)
    return view(b, f"{a}.{b.c.choice(['t()', 'mT', 'T', 'adjoint()'])}")


@entry("permute", 2)
def _permute(b):
    a = some(b, 2)
    order = list(range(b.rank(a)))
    for i in range(len(order) - 1):
        j = b.c.integer(i, len(order) - 1)
        order[i], order[j] = order[j], order[i]
    return view(b, f"{a}.permute({', '.join(map(str, order))})")


@entry("movedim")
def _movedim(b):
    a = some(b, 2)
    return view(b, f"{a}.movedim({b.dim(a)}, {b.dim(a)})")


@entry("expand", 2)
def _expand(b):
    a = some(b, 0)
    k = b.c.choice([2, 3, 1])
    return view(b, b.c.choice([
        f"{a}.expand({k}, *{a}.shape)", f"{a}.unsqueeze(-1).expand(*{a}.shape, {k})", f"{a}.unsqueeze(0).expand({k}, *{a}.shape)",
    ]))


@entry("expand_as")
def _expand_as(b):
    a, other = some(b, 0), some(b, 1)
    return view(b, f"{a}.expand_as({other})")


@entry("broadcast_tensors")
def _broadcast(b):
    a, other = some(b, 0), some(b, 0)
    return view(b, f"torch.broadcast_tensors({a}, {other})", 2)


@entry("unsqueeze", 2)
def _unsqueeze(b):
    a = some(b, 0)
    return view(b, f"{a}.unsqueeze({b.c.integer(-1, b.rank(a))})")


@entry("squeeze", 2)
def _squeeze(b):
    a = some(b)
    return view(b, f"{a}.squeeze()" if b.c.chance(40) else f"{a}.squeeze({b.dim(a)})")


@entry("reshape", 3)
def _reshape(b):
    a = some(b)
    word = b.c.choice(["reshape", "view", "reshape"])
    text = b.c.choice([
        "-1", f"{a}.shape[0], -1", f"-1, {a}.shape[-1]", "-1, 2", "2, -1", f"{a}.shape[0], -1, 2", f"{a}.shape[0], 2, -1", "-1, 1, 2",
    ])
    return view(b, f"{a}.{word}({text})")


@entry("flatten", 2)
def _flatten(b):
    a = some(b, 2)
    return view(b, b.c.choice([f"{a}.flatten()", f"{a}.flatten(1)", f"{a}.flatten(0, 1)", f"{a}.ravel()"]))


@entry("unflatten", 3)
def _unflatten(b):
    a = some(b)
    return view(b, f"{a}.unflatten({b.dim(a)}, ({b.c.choice(['2, -1', '-1, 2', '-1, 1', '3, -1', '2, 3'])}))")


@entry("diagonal", 2)
def _diagonal(b):
    a = some(b, 2)
    d = b.c.integer(0, b.rank(a) - 2)
    return view(b, f"{a}.diagonal({b.c.choice([0, 1, -1])}, {d}, {d + 1})")


@entry("as_strided", 3)
def _as_strided(b):
    a = some(b, 0)
    size, stride = b.c.choice([
        ("2, 3", "3, 1"), ("3,", "1,"), ("2, 2", "1, 2"), ("2, 2", "1, 1"), ("1, 4", "4, 1"), ("2,", "0,"), ("3,", "2,"),
    ])
    offset = b.c.choice(["", ", 0", ", 1", ", 2"])
    return view(b, f"{a}.as_strided(({size}), ({stride}){offset})")


@entry("as_strided_own")
def _as_strided_own(b):
    a = some(b)
    return view(b, f"{a}.as_strided({a}.shape, {a}.stride())")


@entry("real", 3)
def _real(b):
    a = b.tensor(is_complex)
    return view(b, f"{a}.{b.c.choice(['real', 'imag'])}")


@entry("conj", 3)
def _conj(b):
    a = b.tensor(is_complex)
    return view(b, b.c.choice([f"{a}.conj()", f"{a}.mH" if b.rank(a) >= 2 else f"{a}.conj()", f"{a}.conj().imag", f"{a}.conj().real"]))


@entry("view_as_real", 2)
def _view_as_real(b):
    a = b.tensor(is_complex)
    return view(b, f"torch.view_as_real({a}.resolve_conj())")


@entry("view_as_complex")
def _view_as_complex(b):
    a = b.tensor(lambda x: x.dim() >= 1 and x.shape[-1] == 2 and str(x.dtype) in ("torch.float32", "torch.float64"))
    return view(b, f"torch.view_as_complex({a})")


@entry("unbind", 2)
def _unbind(b):
    a = some(b)
    d = b.dim(a)
    size = b.value(a).shape[d]
    if not 1 <= size <= 4:
        raise IndexError
    return view(b, f"{a}.unbind({d})" if size > 1 else f"{a}.unbind({d})[0]", size)


@entry("split", 2)
def _split(b):
    a = some(b)
    d = b.dim(a)
    number = b.c.choice([2, 1])
    parts = len(b.value(a).split(number, d))
    if not 2 <= parts <= 4:
        return view(b, f"{a}.split({number}, {d})[0]")
    return view(b, f"{a}.split({number}, {d})", parts)


@entry("chunk", 2)
def _chunk(b):
    a = some(b)
    d, parts = b.dim(a), len(b.value(a).chunk(2, 0))
    word = b.c.choice(["chunk", "tensor_split"])
    return view(b, f"{a}.{word}(2, {d})", 2) if parts == 2 else view(b, f"{a}.{word}(2, {d})[0]")


@entry("unfold")
def _unfold(b):
    a = some(b)
    return view(b, f"{a}.unfold({b.dim(a)}, 2, {b.c.choice([1, 2])})")


@entry("detach")
def _detach(b):
    return view(b, f"{some(b, 0)}.detach()")


@entry("contiguous", 2)
def _contiguous(b):
    return view(b, f"{some(b, 0)}.contiguous()")


@entry("to_same")
def _to_same(b):
    a = some(b, 0)
    return view(b, b.c.choice([
        f"{a}.to({b.value(a).dtype})", f"{a}.view_as({a})", f"{a}[...]", f"{a}[None]", f"torch.atleast_2d({a})", f"{a}.resolve_conj()",
        f"{a}.resolve_neg()",
    ]))


@entry("swapaxes")
def _swapaxes(b):
    a = some(b, 2)
    return view(b, f"{a}.swapaxes(0, -1)")


@entry("identity")
def _identity(b):
    """Operators that make an unchanged copy, or do nothing at all."""
    a = some(b, 0)
    return view(b, b.c.choice([
        f"{a} + 0", f"{a} * 1", f"{a}.clone()", f"+{a}", f"torch.cat([{a}])", f"{a}.repeat({', '.join('1' * b.rank(a)) or '1'})",
        f"{a}.expand({a}.shape)",
    ]))
