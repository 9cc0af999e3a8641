"""What a `buckets` option may say, whatever the program. Apart from buckets.py because the registry of options loads no torch."""

from .errors import OptionError

MOST_BUCKETS = 64


def check(value):
    """Raises where a `buckets` option is malformed, whatever the program."""
    total = 0
    for key, sizes in value.items():
        if not isinstance(key, str) or not key:
            raise OptionError(f"frit: buckets are given by argument and dimension, like 'x[0]', not by {key!r}")
        if isinstance(sizes, str):
            if sizes not in ("ramp", "off"):
                raise OptionError(f"frit: buckets of {key!r} cannot be {sizes!r}; give a list of sizes, 'ramp' or 'off'")
            continue
        if not isinstance(sizes, (list, tuple)):
            shown = f"{type(sizes).__name__} {sizes!r}"
            raise OptionError(f"frit: buckets of {key!r} are a list of sizes, 'ramp' or 'off', not {shown}")
        _check_list(key, sizes)
        total += len(sizes)
    if total > MOST_BUCKETS:
        raise OptionError(f"frit: bucket lists hold {total} sizes together; a graph takes at most {MOST_BUCKETS}")


def _check_list(key, sizes):
    if not sizes:
        raise OptionError(f"frit: buckets of {key!r} are empty; give sizes in ascending order, or 'ramp'")
    before = 0
    for size in sizes:
        if type(size) is not int:
            raise OptionError(f"frit: buckets of {key!r} must be integers, found {size!r}")
        if size < 1:
            raise OptionError(f"frit: buckets of {key!r} must be positive sizes, found {size}")
        if size <= before:
            raise OptionError(f"frit: buckets of {key!r} must ascend, found {size} after {before}")
        before = size
