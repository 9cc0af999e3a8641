"""An artifact's bytes as nested dictionaries, with the names of the schema's fields.

The reader raises ArtifactError for a file that it cannot follow; all other checks are the runtime's (docs/Artifact.md).
"""

import json
import struct

from ..errors import ArtifactError
from .schema import SCALARS, schema

MAGIC = b"\x7fFRIT\r\n\x1a"
HEADER = 128


class _Buffer:
    """Reads values of the FlatBuffers format; `at` is an offset in the buffer."""

    def __init__(self, data, known):
        self.data = data
        self.known = known

    def number(self, letter, at):
        return struct.unpack_from("<" + letter, self.data, at)[0]

    def follow(self, at):
        return at + self.number("I", at)

    def text(self, at):
        return bytes(self.data[at + 4 : at + 4 + self.number("I", at)]).decode("utf-8", "replace")

    def scalar(self, kind, at):
        if kind in self.known.enums:
            of, names = self.known.enums[kind]
            number = self.number(SCALARS[of][1], at)
            return names.get(number, number)
        return self.number(SCALARS[kind][1], at)

    def width(self, kind):
        """(bytes, alignment) of a value inside of a list or struct."""
        if kind in self.known.structs:
            offset, largest = 0, 1
            for field in self.known.structs[kind]:
                size, alignment = self.width(field.type)
                offset = -(-offset // alignment) * alignment + size
                largest = max(largest, alignment)
            return -(-offset // largest) * largest, largest
        kind = self.known.enums[kind][0] if kind in self.known.enums else kind
        size = SCALARS[kind][0] if kind in SCALARS else 4
        return size, size

    def struct(self, kind, at):
        found, offset = {}, 0
        for field in self.known.structs[kind]:
            size, alignment = self.width(field.type)
            offset = -(-offset // alignment) * alignment
            found[field.name] = self.scalar(field.type, at + offset)
            offset += size
        return found

    def list(self, kind, at):
        count = self.number("I", at)
        width = self.width(kind)[0]
        if count * width > len(self.data):
            raise ArtifactError("a list of the artifact is longer than the artifact")
        if kind == "ubyte":
            return bytes(self.data[at + 4 : at + 4 + count])
        if kind in SCALARS:
            return list(struct.unpack_from(f"<{count}{SCALARS[kind][1]}", self.data, at + 4))
        places = range(at + 4, at + 4 + count * width, width)
        if kind in self.known.structs:
            return [self.struct(kind, place) for place in places]
        if kind == "string":
            return [self.text(self.follow(place)) for place in places]
        return [self.table(kind, self.follow(place)) for place in places]

    def table(self, kind, at):
        numbers = at - self.number("i", at)
        known = (self.number("H", numbers) - 4) // 2
        found, slot = {}, 0
        for field in self.known.tables[kind]:
            if field.type in self.known.unions:
                which, place = (self._place(at, numbers, known, number) for number in (slot, slot + 1))
                slot += 2
                name = self.known.unions[field.type][self.number("B", which) - 1] if which else None
                found[field.name] = {"kind": name, **self.table(name, self.follow(place))} if name else None
                continue
            place = self._place(at, numbers, known, slot)
            slot += 1
            found[field.name] = self._value(field, place)
        return found

    def _place(self, at, numbers, known, slot):
        offset = self.number("H", numbers + 4 + 2 * slot) if slot < known else 0
        return at + offset if offset else None

    def _value(self, field, place):
        if place is None:
            if field.is_list:
                return b"" if field.type == "ubyte" else []
            if field.type in self.known.enums:
                return None if field.default is None else self.known.enums[field.type][1][field.default]
            return "" if field.type == "string" else None if field.type in self.known.tables else field.default
        if field.is_list:
            return self.list(field.type, self.follow(place))
        if field.type == "string":
            return self.text(self.follow(place))
        if field.type in self.known.tables:
            return self.table(field.type, self.follow(place))
        return self.scalar(field.type, place)


def read(data):
    """The artifact in `data`, the bytes of a .frit file: the root table as a dict; "report" is parsed."""
    view = memoryview(data)
    if len(view) < HEADER or bytes(view[:8]) != MAGIC:
        raise ArtifactError("these bytes are not an artifact of frit: they do not begin with its magic")
    version, header, body = struct.unpack_from("<IIQ", view, 8)
    weights, weight_bytes = struct.unpack_from("<QQ", view, 24)
    try:
        buffer = _Buffer(view[header : header + body], schema())
        found = buffer.table("Artifact", buffer.follow(0))
        found["report"] = json.loads(found["report"] or "{}")
    except (struct.error, IndexError, KeyError, RecursionError, ValueError) as error:
        raise ArtifactError(f"the artifact cannot be read ({type(error).__name__}: {error}); compile it again") from error
    return {**found, "format": version, "body_bytes": body, "weights_offset": weights, "weight_bytes": weight_bytes}


def read_file(path):
    """The artifact in a file; its weights are not read."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEADER)
            if len(head) < HEADER or head[:8] != MAGIC:
                raise ArtifactError(f"{path} is not a .frit file: it does not begin with frit's magic")
            return read(head + file.read(struct.unpack_from("<Q", head, 16)[0]))
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from error
