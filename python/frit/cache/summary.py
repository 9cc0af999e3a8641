"""The few facts of a compiler's report that every compilation looks at. They are kept beside an artifact, because reading the whole report
of a graph of 400 nodes takes a tenth of what its warm start may."""

import collections
import functools
import json
import re

_KINDS = {"kernels": int, "guards": int, "calls": dict, "random": dict, "channels_last_results": list, "has_buckets": bool}


def summary(report):
    return {
        "kernels": len(report.get("kernels", ())),
        "guards": len(report.get("guards", ())),
        "calls": dict(collections.Counter(call["op"] for call in report.get("aten_calls", ()))),
        "random": report.get("random", {}),
        "channels_last_results": report["channels_last_results"],
        "has_buckets": bool(report.get("buckets")),
    }


def is_summary(value):
    """Whether a value that comes from a file is one."""
    return (
        type(value) is dict
        and {name: type(entry) for name, entry in value.items()} == _KINDS
        and all(type(count) is int for name in ("calls", "random") for count in value[name].values())
        and all(type(number) is int for number in value["channels_last_results"])
    )


class KeptReport(collections.UserDict):
    """A report that is parsed when somebody asks for it. `renamed`: it is of another program of the same canonical form, whose sizes have these names
    here."""

    def __init__(self, text, renamed=None):
        self._text = text
        self._renamed = renamed

    @functools.cached_property
    def as_compiled(self):
        return json.loads(self._text)

    @functools.cached_property
    def data(self):
        report = self.as_compiled
        if self._renamed is None:
            return report
        report = {**report}
        for notes in ("guards", "buckets", "padding", "padding_refused"):
            report[notes] = [self._rename(note) for note in report[notes]]
        return {**report, "lines_of": "a program of the same meaning that was compiled before"}

    def settings_as_compiled(self, settings):
        """Options with the names of sizes that the entry was compiled under."""
        theirs = {mine: name for name, mine in (self._renamed or {}).items()}
        buckets = re.sub(r"(?<=%)\w+", lambda word: theirs.get(word[0], word[0]), settings.get("symbol_buckets", ""))
        return {**settings, "symbol_buckets": buckets}

    def _rename(self, note):
        """Names of sizes stand in what a note says, lines of the program only in its origin."""
        return {key: self._in(value) if type(value) is str and key != "origin" else value for key, value in note.items()}

    def _in(self, text):
        return re.sub(r"[A-Za-z_]\w*", lambda word: self._renamed.get(word[0], word[0]), text)
