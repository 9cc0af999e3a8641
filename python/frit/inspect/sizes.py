"""The values of a plan's int registers: constants, symbols at given or typical values, buckets, and what the size program computes from them."""

NONE = 4294967295
_WRAP = 1 << 64


def _wrapped(number):
    number &= _WRAP - 1
    return number - _WRAP if number >= _WRAP >> 1 else number


_BINARY = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "TruncDiv": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "TruncRem": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "Min": min,
    "Max": max,
    "And": lambda a, b: a & b,
    "Or": lambda a, b: a | b,
    "Xor": lambda a, b: a ^ b,
    "Shl": lambda a, b: a << (b & 63),
    "Shr": lambda a, b: a >> (b & 63),
    "Pow": lambda a, b: a**b if 0 <= b < 64 else 0,
    "Eq": lambda a, b: int(a == b),
    "Ne": lambda a, b: int(a != b),
    "Lt": lambda a, b: int(a < b),
    "Le": lambda a, b: int(a <= b),
    "Gt": lambda a, b: int(a > b),
    "Ge": lambda a, b: int(a >= b),
    "Divides": lambda a, b: int(b != 0 and a % b == 0),
    "NoBits": lambda a, b: int(a & b == 0),
}
_UNARY = {
    "Neg": lambda a: -a,
    "Abs": abs,
    "Not": lambda a: int(a == 0),
    "BitNot": lambda a: ~a,
    "Move": lambda a: a,
    "ToBool": lambda a: int(a != 0),
}
_TERNARY = {
    "Select": lambda a, b, c: b if a else c,
    "InRange": lambda a, b, c: int(b <= a <= c),
}


def computed(one, values):
    """The value of an instruction; None if an operand is not known, or it is not an integer instruction."""
    for table, operands in ((_BINARY, "ab"), (_UNARY, "a"), (_TERNARY, "abc")):
        if one["op"] in table:
            known = [values.get(one[name]) for name in operands]
            if None in known:
                return None
            try:
                return _wrapped(table[one["op"]](*known))
            except ZeroDivisionError:
                return None
    return None


def typical(symbol):
    """The default value of a symbol: its value in the first call if that is known, else an allowed one."""
    return symbol["hint"] if symbol["hint"] > 0 else max(symbol["min"], min(symbol["max"], 64))


def values_of(plan, symbols=None):
    """Register -> value for the int registers that follow from the symbols. `symbols`: name -> value; the others are `typical`.

    Registers that the steps compute from data are absent.
    """
    symbols = symbols or {}
    values = {one["reg"]: one["value"] for one in plan["int_constants"]}
    for symbol in plan["symbols"]:
        values[symbol["reg"]] = symbols.get(symbol["name"], typical(symbol))
    for bucket in plan["buckets"]:
        size = values[bucket["symbol"]]
        values[bucket["dst"]] = next((known for known in bucket["sizes"] if known >= size), size)
    if plan["size_program"] != NONE:
        for one in plan["programs"][plan["size_program"]]["code"]:
            value = computed(one, values)
            if value is not None:
                values[one["dst"]] = value
    return values
