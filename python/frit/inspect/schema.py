"""Parses the schema of artifacts (`Artifact.fbs`), in the part of FlatBuffers' language that it uses.

The runtime is compiled from the same file, so the reader in Python needs no list of fields of its own.
"""

import functools
import os
import re
from dataclasses import dataclass

from ..errors import FritError

#: Bytes and letter (of the module `struct`) of each scalar type.
SCALARS = {
    "bool": (1, "?"),
    "ubyte": (1, "B"),
    "byte": (1, "b"),
    "ushort": (2, "H"),
    "short": (2, "h"),
    "uint": (4, "I"),
    "int": (4, "i"),
    "ulong": (8, "Q"),
    "long": (8, "q"),
    "double": (8, "d"),
    "float": (4, "f"),
}


@dataclass(frozen=True)
class Field:
    """A field of a table or struct."""

    name: str
    type: str
    is_list: bool
    default: object


@dataclass(frozen=True)
class Schema:
    """The declarations of a schema, by name."""

    enums: dict  # name -> (scalar type, the names of its values)
    structs: dict  # name -> [Field]
    tables: dict  # name -> [Field]
    unions: dict  # name -> the names of its tables; number 0 is none


def _values(body):
    names, following = {}, 0
    for part in filter(None, (part.strip() for part in body.split(","))):
        name, _, number = (text.strip() for text in part.partition("="))
        following = int(number) if number else following
        names[following] = name
        following += 1
    return names


def _default(text):
    if text in ("", "null"):
        return None
    return {"true": True, "false": False}.get(text) if text in ("true", "false") else int(text)


def _fields(body):
    found = re.findall(r"(\w+)\s*:\s*(\[?)(\w+)\]?\s*(?:=\s*([\w.-]+))?\s*(?:\([^)]*\))?\s*;", body)
    return [Field(name, kind, bool(bracket), _default(default) if default else (None if bracket else 0)) for name, bracket, kind, default in found]


def parse(text):
    """The Schema of a text in FlatBuffers' language."""
    text = re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", text), flags=re.DOTALL)
    enums = {name: (of, _values(body)) for name, of, body in re.findall(r"enum (\w+)\s*:\s*(\w+)\s*\{([^}]*)\}", text)}
    unions = {name: [part.strip() for part in body.split(",")] for name, body in re.findall(r"union (\w+)\s*\{([^}]*)\}", text)}
    of = {kind: {name: _fields(body) for name, body in re.findall(kind + r" (\w+)\s*\{([^}]*)\}", text)} for kind in ("struct", "table")}
    return Schema(enums, of["struct"], of["table"], unions)


@functools.cache
def schema():
    """The schema of the artifacts of this version: beside the package's modules, or in the source tree."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = [os.path.join(package, "Artifact.fbs"), os.path.join(package, "..", "..", "runtime", "artifact", "Artifact.fbs")]
    for place in places:
        if os.path.exists(place):
            with open(place, encoding="utf-8") as file:
                return parse(file.read())
    raise FritError(f"{places[0]} is missing; install frit again")
