"""Symbolic sizes as text: sympy's constructor form (srepr), hints, and the ranges of symbols.

sympy takes a hundred microseconds to write an expression, and a graph has few different expressions, so
their texts are cached during a capture.
"""

import json

import torch
from torch.utils._sympy.numbers import int_oo

_WRAP = {
    torch.SymInt: ("as_int", int),
    torch.SymFloat: ("as_float", float),
    torch.SymBool: ("as_bool", bool),
}


def float_text(value):
    """A JSON token for a float; the schema spells the special ones as strings."""
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return float.__repr__(value)


def literal_text(value):
    """A JSON token for a bool, an int or a float."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return int.__repr__(value) if isinstance(value, int) else float_text(value)


def guarded_equalities(env):
    """What torch has guarded to be equal, as a dictionary: an expression -> a number or a shorter expression. Torch puts a symbol's value into all
    sizes, but not an expression's: `s // 2` that is guarded to be 1 stays `s // 2` in some sizes and is 1 in others. Integers only: equal floats may be
    zeros of different signs."""
    import sympy

    equal = {}
    for guard in env.guards:
        expr = guard.expr
        if not isinstance(expr, sympy.Eq) or not all(side.is_integer for side in expr.args):
            continue
        left, right = (env.replace(side) for side in expr.args)
        if left.is_number or (not right.is_number and right.count_ops() > left.count_ops()):
            left, right = right, left
        if not (left.is_number or left.is_Symbol or left == right or left in right.free_symbols or right.has(left)):
            equal.setdefault(left, right)
    return equal


def bounded_to_a_number(env, expr):
    """The parts of an expression that torch's ranges of symbols leave one value, as a dictionary: `s // 2` is 1 for s from 2 to 3. Fake kernels use this."""
    import sympy

    found = {}
    for part in {expr, *expr.atoms(sympy.Function)}:
        if getattr(part, "is_integer", False) and not part.is_number and not part.is_Symbol:
            bounds = env.bound_sympy(part)
            if bounds.lower == bounds.upper and bounds.lower.is_Integer:
                found[part] = bounds.lower
    return found


class SizeWriter:
    """Writes the sizes and scalars of one capture as text, and collects their symbols."""

    def __init__(self):
        self._texts = {}
        self._equal = {}  # ShapeEnv -> what its guards say is equal
        self._simpler = {}  # expression -> what is written of it
        self.symbols = {}

    def size(self, value):
        """The schema's SymInt, SymFloat or SymBool union for a Python or symbolic scalar."""
        kind = type(value)
        if kind is int:
            return f'{{"as_int":{value}}}'
        if kind is bool:
            return f'{{"as_bool":{literal_text(value)}}}'
        if kind is float:
            return f'{{"as_float":{float_text(value)}}}'
        node = value.node
        if not hasattr(node, "expr"):  # a constant or nested symbolic node has a value
            return self.size(_WRAP[kind][1](value))
        # A replacement found later in the trace changes `expr`, not the key it is made from.
        key = (kind, node._expr, node.expr)
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = self._symbolic(kind, node)
        return text

    def _symbolic(self, kind, node):
        import sympy

        expr = self._expression(node)
        tag, convert = _WRAP[kind]
        if expr.is_number or expr in (sympy.true, sympy.false):
            return f'{{"{tag}":{literal_text(convert(expr))}}}'
        for symbol in expr.free_symbols:
            self.symbols.setdefault(symbol, node.shape_env)
        body = f'"expr_str":{json.dumps(sympy.srepr(expr))}'
        hint = node.hint if node.has_hint() else None
        if hint is not None and not isinstance(hint, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            body += f',"hint":{{"{tag}":{literal_text(convert(hint))}}}'
        return f'{{"as_expr":{{{body}}}}}'

    def constant(self, value):
        """The Python value of a symbolic scalar that torch has specialised to a constant, else None."""
        node = value.node
        if not hasattr(node, "expr"):
            return _WRAP[type(value)][1](value)
        import sympy

        expr = self._expression(node)
        if expr.is_number or expr in (sympy.true, sympy.false):
            return _WRAP[type(value)][1](expr)
        return None

    def _expression(self, node):
        env = node.shape_env
        if env not in self._equal:
            self._equal[env] = guarded_equalities(env)
        expr = node.expr
        if expr.is_Symbol or expr.is_number:
            return expr
        if expr not in self._simpler:
            equal = expr.xreplace(self._equal[env])
            self._simpler[expr] = equal.xreplace(bounded_to_a_number(env, equal))
        return self._simpler[expr]

    def range_constraints(self):
        """The JSON object symbol -> range; an open end is null."""
        entries = []
        for symbol, env in sorted(self.symbols.items(), key=lambda item: item[0].name):
            bounds = env.var_to_range.get(symbol)
            low = _bound(bounds.lower) if bounds is not None else "null"
            high = _bound(bounds.upper) if bounds is not None else "null"
            entries.append(f'{json.dumps(symbol.name)}:{{"min_val":{low},"max_val":{high}}}')
        return "{" + ",".join(entries) + "}"


def _bound(value):
    import sympy

    if value in (sympy.oo, -sympy.oo, int_oo, -int_oo) or not value.is_Integer:
        return "null"
    return str(int(value))
