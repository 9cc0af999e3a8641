"""What integer instructions of machine code compute, for all threads of a block at once: as much as addresses and branches follow from.

A value is an array of one number for each thread, or None where it is not known: what comes out of memory, and most that is computed in floating
point. Words are 32 bits wide and lie in 64; predicates are booleans.
"""

import re

import numpy as np

MASK = np.uint64(0xFFFFFFFF)
WORD = np.uint64(32)
ONE = np.uint64(1)


def low(x):
    return x & MASK


def signed(x):
    """Returns words as signed numbers of 64 bits."""
    return x.astype(np.uint32).view(np.int32).astype(np.int64)


def words(x):
    return x.astype(np.int64).view(np.uint64) & MASK


def as_float(x):
    return x.astype(np.uint32).view(np.float32)


def of_float(x):
    return x.astype(np.float32).view(np.uint32).astype(np.uint64)


def known(*values):
    return all(value is not None for value in values)


def compared(how, a, b):
    return {"LT": a < b, "LE": a <= b, "GT": a > b, "GE": a >= b, "EQ": a == b, "NE": a != b, "T": a == a, "F": a != a}[how]


def looked_up(table, a, b, c):
    """Applies a table of three inputs to the bits of words."""
    out = np.zeros_like(a)
    for n in range(8):
        if table >> n & 1:
            out |= (a if n & 4 else ~a) & (b if n & 2 else ~b) & (c if n & 1 else ~c)
    return low(out)


def chosen(truth, a, b, c):
    """The same for predicates; unknown ones do not matter where the table ignores them."""
    unknown = [n for n, each in enumerate((a, b, c)) if each is None]
    given = [np.zeros(1, bool) if each is None else each for each in (a, b, c)]
    results = []
    for fill in range(1 << len(unknown)):
        for bit, n in enumerate(unknown):
            given[n] = np.array([bool(fill >> bit & 1)])
        x, y, z = given
        results.append(np.asarray(sum(((x == bool(n & 4)) & (y == bool(n & 2)) & (z == bool(n & 1))) for n in range(8) if truth >> n & 1), dtype=bool))
    if any(not np.array_equal(*np.broadcast_arrays(results[0], each)) for each in results[1:]):
        return None
    return results[0]


def iadd(machine, one, to, given):
    """IADD3, IADD3.X: three numbers and carries; up to two predicates get the carry."""
    carries = [given.pop() for _ in range(len(given) - 3)] if len(given) > 3 else []
    values = [machine.word(x, unwrapped=".X" not in one.opcode) for x in given]
    flags = [machine.predicate(x) for x in carries]
    if not known(*values, *flags):
        return machine.forget(to)
    total = sum(values) + sum(flag.astype(np.uint64) for flag in flags)
    machine.put(to[-1], low(total))
    for n, each in enumerate(to[:-1]):
        machine.set_predicate(each, total >> WORD > np.uint64(n))


def imad(machine, one, to, given):
    """IMAD in its forms: the low word, the high word, or both."""
    wide, high = ".WIDE" in one.opcode, ".HI" in one.opcode
    carry = np.zeros(1, bool)
    if ".X" in one.opcode:
        carry = machine.predicate(given.pop())
    elif len(given) > 3:
        given = given[:3]
    a, b = machine.word(given[0]), machine.word(given[1])
    zero = [x for x, value in zip(given[:2], (a, b)) if value is not None and not value.any()]
    c = machine.pair(given[2]) if wide or high else machine.word(given[2])
    if zero and not known(a, b):
        a = b = np.zeros(1, np.uint64)
    if not known(a, b, c, carry):
        return machine.forget(to, wide)
    if wide or high:
        product = a * b if ".U32" in one.opcode else (signed(a) * signed(b)).view(np.uint64)
        total = product + c + carry.astype(np.uint64)
        if len(to) > 1:
            machine.set_predicate(to[0], total < product)
        if wide:
            return machine.put_pair(to[-1], total)
        return machine.put(to[-1], low(total >> WORD))
    machine.put(to[-1], low(a * b + c + carry.astype(np.uint64)))


def lea(machine, one, to, given):
    parts = one.opcode.split(".")
    carry = np.zeros(1, bool)
    if "X" in parts:
        carry = machine.predicate(given.pop())
    shift = machine.word(given.pop()) if len(given) > 2 else np.zeros(1, np.uint64)
    a, b = machine.word(given[0]), machine.word(given[1])
    if not known(a, b, shift, carry):
        return machine.forget(to)
    if "HI" in parts:
        over = words(signed(a) >> 31) if "SX32" in parts else machine.word(given[2]) if len(given) > 2 else np.zeros(1, np.uint64)
        if over is None:
            return machine.forget(to)
        # The shifted number's upper word.
        a = low((((over << WORD) | a) << shift) >> WORD)
    else:
        a = low(a << shift)
    total = a + b + carry.astype(np.uint64)
    machine.put(to[-1], low(total))
    if len(to) > 1:
        machine.set_predicate(to[0], total >> WORD > np.uint64(0))


def shf(machine, one, to, given):
    parts = one.opcode.split(".")
    a, shift, c = machine.word(given[0]), machine.word(given[1]), machine.word(given[2])
    high, left = "HI" in parts, "L" in parts
    # One of the words often does not matter.
    if not high and left and "U64" not in parts:
        c = np.zeros(1, np.uint64)
    if high and not left:
        a = np.zeros(1, np.uint64)
    if not known(a, shift, c):
        return machine.forget(to)
    both, shift = (c << WORD) | a, np.minimum(shift, np.uint64(63))
    if left:
        both = both << shift
    elif "S32" in parts or "S64" in parts:
        both = (both.view(np.int64) >> shift.astype(np.int64)).view(np.uint64)
    else:
        both = both >> shift
    machine.put(to[0], low(both >> WORD if high else both))


def lop3(machine, one, to, given):
    table = int(given[3].text, 16)
    values = [machine.word(x) for x in given[:3]]
    # An operand that the table ignores, or a mask with zeros, need not be known.
    for n, bit in enumerate((4, 2, 1)):
        if values[n] is None and all((table >> m & 1) == (table >> (m ^ bit) & 1) for m in range(8)):
            values[n] = np.zeros(1, np.uint64)
    if not known(*values):
        return machine.forget(to)
    result = looked_up(table, *np.broadcast_arrays(*values))
    machine.put(to[-1], result)
    if len(to) > 1:
        machine.set_predicate(to[0], result != 0)


def plop3(machine, one, to, given):
    first, second = (int(each.text, 16) for each in given[3:5])
    flags = [machine.predicate(x) for x in given[:3]]
    for each, table in zip(to, (first, second)):
        machine.set_predicate(each, chosen(table, *flags))


def isetp(machine, one, to, given):
    parts = one.opcode.split(".")
    how, join = parts[1], next(each for each in parts[2:] if each in ("AND", "OR", "XOR"))
    a, b, other = machine.word(given[0]), machine.word(given[1]), machine.predicate(given[2])
    if known(a, b):
        if "U32" not in parts:
            a, b = signed(a), signed(b)
        result = compared(how, a, b)
        if "EX" in parts:
            below = machine.predicate(given[3])
            strict = {"GE": "GT", "LE": "LT"}.get(how, how)
            result = None if below is None else (result & below if how == "EQ" else result | below if how == "NE" else compared(strict, a, b) | ((a == b) & below))
    else:
        result = None
    for n, each in enumerate(to):
        value = None if result is None else ~result if n else result
        if value is None or other is None:
            # A constant may decide.
            sure = value if other is None else other
            fixed = sure is not None and ((join == "AND" and not sure.any()) or (join == "OR" and sure.all()))
            machine.set_predicate(each, sure if fixed else None)
        else:
            machine.set_predicate(each, value & other if join == "AND" else value | other if join == "OR" else value ^ other)


def sel(machine, one, to, given):
    a, b, flag = machine.word(given[0]), machine.word(given[1]), machine.predicate(given[2])
    if flag is None:
        return machine.put(to[0], a if known(a, b) and np.array_equal(*np.broadcast_arrays(a, b)) else None)
    if flag.all() or not flag.any():
        return machine.put(to[0], a if flag.all() else b)
    machine.put(to[0], np.where(flag, a, b) if known(a, b) else None)


def minmax(machine, one, to, given):
    a, b, least = machine.word(given[0]), machine.word(given[1]), machine.predicate(given[2])
    if not known(a, b, least):
        return machine.forget(to)
    order = (a, b) if ".U32" in one.opcode else (signed(a), signed(b))
    machine.put(to[0], np.where((order[0] < order[1]) == least, a, b))


def add_minmax(machine, one, to, given):
    """VIADDMNMX: the less or greater one of a sum and a number."""
    a, b, c, least = machine.word(given[0]), machine.word(given[1]), machine.word(given[2]), machine.predicate(given[3])
    if not known(a, b, c, least):
        return machine.forget(to)
    total = low(a + b)
    order = (total, c) if ".U32" in one.opcode else (signed(total), signed(c))
    machine.put(to[0], np.where((order[0] < order[1]) == least, total, c))


def prmt(machine, one, to, given):
    a, selector, c = (machine.word(x) for x in given[:3])
    if not known(a, selector, c) or len(one.opcode.split(".")) > 1:
        return machine.forget(to)
    both, out = (c << WORD) | a, np.uint64(0)
    for n in range(4):
        nibble = (selector >> np.uint64(4 * n)) & np.uint64(0xF)
        byte = (both >> ((nibble & np.uint64(7)) << np.uint64(3))) & np.uint64(0xFF)
        byte = np.where(nibble & np.uint64(8), np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0)), byte)
        out = out | (byte << np.uint64(8 * n))
    machine.put(to[0], out)


def sgxt(machine, one, to, given):
    a, bits = machine.word(given[0]), machine.word(given[1])
    if not known(a, bits):
        return machine.forget(to)
    over = (WORD - bits).astype(np.int64)
    up = (a.astype(np.int64) << over).view(np.uint64) & MASK
    machine.put(to[0], up >> over.astype(np.uint64) if ".U32" in one.opcode else words(signed(up) >> over))


def move(machine, one, to, given):
    machine.put(to[0], machine.word(given[0]))


def halves(machine, one, to, given):
    """HFMA2 of zeros moves a constant: two halves, which are bits of an integer."""
    if len(given) == 4 and all(re.fullmatch(r"-?RZ", each.text) for each in given[:2]):
        upper, lower = (np.array([float(each.text)], np.float16).view(np.uint16).astype(np.uint64) for each in given[2:])
        return machine.put(to[0], (upper << np.uint64(16)) | lower)
    machine.forget(to)


def constant(machine, one, to, given):
    """LDC, ULDC: a part of the parameters, or of what the launch says."""
    width = one.width()
    for n in range(max(width // 4, 1)):
        machine.put(to[0].next(n), machine.bank(given[0], 4 * n))


def special(machine, one, to, given):
    value = machine.special(given[0].text)
    machine.put(to[0], value)
    if one.base == "CS2R" and ".32" not in one.opcode:
        machine.put(to[0].next(1), value if given[0].text == "SRZ" else None)


def unary(compute):
    def run(machine, one, to, given):
        a = machine.word(given[0])
        machine.put(to[0], None if a is None else compute(one, a))

    return run


def to_float(one, a):
    exact = (a if ".U32" in one.opcode else signed(a)).astype(np.float64)
    near = exact.astype(np.float32)
    if ".RP" in one.opcode:
        near = np.where(near.astype(np.float64) < exact, np.nextafter(near, np.float32(np.inf)), near)
    return of_float(near)


def to_integer(one, a):
    return low(np.trunc(np.nan_to_num(as_float(a).astype(np.float64))).astype(np.int64).view(np.uint64))


def mufu(machine, one, to, given):
    a = machine.word(given[0])
    if a is None or ".RCP" not in one.opcode or "64H" in one.opcode:
        return machine.forget(to)
    with np.errstate(divide="ignore"):
        machine.put(to[0], of_float(np.float32(1) / as_float(a)))


def pack_predicates(machine, one, to, given):
    """P2R: predicates as the bits of a word."""
    mask, rest = machine.word(given[-1]), machine.word(given[1]) if len(given) > 2 else np.zeros(1, np.uint64)
    flags = [machine.registers.get(f"P{n}") for n in range(7)]
    if "." in one.opcode or not known(mask, rest) or any(flags[n] is None for n in range(7) if int(mask[0]) >> n & 1):
        return machine.forget(to)
    bits = sum(flags[n].astype(np.uint64) << np.uint64(n) for n in range(7) if int(mask[0]) >> n & 1)
    machine.put(to[0], (bits & mask) | (rest & ~mask & MASK))


def unpack_predicates(machine, one, to, given):
    bits, mask = machine.word(given[-2]), machine.word(given[-1])
    shift = int(given[-2].text[-1]) * 8 if re.search(r"\.B\d$", given[-2].text) else 0
    for n in range(7):
        if int(mask[0]) >> n & 1:
            machine.set_predicate_named(f"P{n}", None if bits is None else (bits >> np.uint64(n + shift)) & ONE != 0)


def vote(machine, one, to, given):
    """VOTE: over the threads of a warp."""
    flag = machine.predicate(given[-1])
    machine.forget(to)
    if flag is not None and to[-1].is_predicate:
        by_warp = np.broadcast_to(flag, machine.lanes.shape).reshape(-1, machine.lane_count)
        together = (by_warp.all if ".ALL" in one.opcode else by_warp.any)(1)
        machine.set_predicate(to[-1], np.repeat(together, machine.lane_count))


OPERATIONS = {
    "IADD3": iadd, "VIADD": iadd, "IMAD": imad, "LEA": lea, "SHF": shf, "LOP3": lop3, "PLOP3": plop3, "ISETP": isetp, "SEL": sel, "IMNMX": minmax, "VIMNMX": minmax,
    "VIADDMNMX": add_minmax,
    "PRMT": prmt, "SGXT": sgxt, "MOV": move, "R2UR": move, "HFMA2": halves, "LDC": constant, "S2R": special, "CS2R": special, "S2UR": special,
    "IABS": unary(lambda one, a: words(np.abs(signed(a)))), "I2F": unary(to_float), "I2FP": unary(to_float), "F2I": unary(to_integer), "MUFU": mufu,
    "P2R": pack_predicates, "R2P": unpack_predicates, "VOTE": vote,
}  # fmt: skip


def operation(one):
    """Returns the function of an instruction; those of uniform registers are the same. None if its result is not known."""
    return OPERATIONS.get(one.base) or (OPERATIONS.get(one.base[1:]) if one.base.startswith("U") else None)
