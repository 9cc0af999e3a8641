"""The part of a report that every compilation reads. It is stored beside the artifact, because parsing the whole report of a graph of
400 nodes would take a tenth of the time allowed for its warm start."""

import collections
import functools
import json
import re

_KINDS = {"kernels": int, "guards": int, "calls": dict, "random": dict, "channels_last_results": list, "has_buckets": bool}


def entries_of(report, what):
    """The entries of a list of a report such as "kernels", with those of the graphs that its control flow calls, whose `graph` is their name."""
    found = list(report.get(what, ()))
    for one in report.get("subgraphs", ()):
        found += [{"graph": one["name"], **entry} for entry in entries_of(one["report"], what)]
    return found


def summary(report):
    """The summary of a compiler's report (a dict)."""
    return {
        "kernels": len(entries_of(report, "kernels")),
        "guards": len(report.get("guards", ())),
        "calls": dict(collections.Counter(call["op"] for call in entries_of(report, "aten_calls"))),
        "random": report.get("random", {}),
        "channels_last_results": report["channels_last_results"],
        "has_buckets": bool(report.get("buckets")),
    }


def is_summary(value):
    """Whether a value read from a file is a valid summary."""
    return (
        type(value) is dict
        and {name: type(entry) for name, entry in value.items()} == _KINDS
        and all(type(count) is int for name in ("calls", "random") for count in value[name].values())
        and all(type(number) is int for number in value["channels_last_results"])
    )


class StoredReport(collections.UserDict):
    """A report that is parsed when it is first read. `renamed`: this program's names of the sizes, if the report is of another program of the same
    canonical form."""

    def __init__(self, text, renamed=None):
        self._text = text
        self._renamed = renamed

    @functools.cached_property
    def as_compiled(self):
        """The report with the names of the program that was compiled."""
        return json.loads(self._text)

    @functools.cached_property
    def data(self):
        """The report with this program's names of sizes."""
        report = self.as_compiled
        if self._renamed is None:
            return report
        report = {**report}
        for notes in ("guards", "buckets", "padding", "padding_refused"):
            report[notes] = [self._rename(note) for note in report[notes]]
        return {**report, "lines_of": "a program of the same meaning that was compiled before"}

    def settings_as_compiled(self, settings):
        """The options in terms of the names of sizes that the entry was compiled with."""
        theirs = {mine: name for name, mine in (self._renamed or {}).items()}
        buckets = re.sub(r"(?<=%)\w+", lambda word: theirs.get(word[0], word[0]), settings.get("symbol_buckets", ""))
        return {**settings, "symbol_buckets": buckets}

    def _rename(self, note):
        """Renames sizes in the text of a note, but not in its origin, which contains source lines."""
        return {key: self._in(value) if type(value) is str and key != "origin" else value for key, value in note.items()}

    def _in(self, text):
        return re.sub(r"[A-Za-z_]\w*", lambda word: self._renamed.get(word[0], word[0]), text)
