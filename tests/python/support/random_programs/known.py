"""Classes of differences that are known and only counted (known.txt)."""

import functools
import re
from pathlib import Path


@functools.cache
def known_classes():
    """Returns rows of a class's name and patterns of its kind, message and source."""
    rows = []
    for line in Path(__file__).with_name("known.txt").read_text().split("\n"):
        if line.strip() and not line.startswith("#"):
            rows.append(line.split("\t"))
    assert all(len(row) == 4 for row in rows), "known.txt: four columns, separated by tabs"
    return rows


def known_as(program, found):
    """Returns the class of a difference (a dict with `kind` and `message`), or None."""
    for name, kind, message, source in known_classes():
        if re.fullmatch(kind, found["kind"]) and re.search(message, found["message"]) and re.search(source, program.snippet()):
            return name
    return None
