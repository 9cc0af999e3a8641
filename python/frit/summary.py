"""The few facts of a compiler's report that every compilation looks at. They are kept beside an artifact, because reading the whole report
of a graph of 400 nodes takes a tenth of what its warm start may."""

import collections
import functools
import json

_KINDS = {"kernels": int, "guards": int, "calls": dict, "channels_last_results": list, "has_buckets": bool}


def summary(report):
    return {
        "kernels": len(report.get("kernels", ())),
        "guards": len(report.get("guards", ())),
        "calls": dict(collections.Counter(call["op"] for call in report.get("aten_calls", ()))),
        "channels_last_results": report["channels_last_results"],
        "has_buckets": bool(report.get("buckets")),
    }


def is_summary(value):
    """Whether a value that comes from a file is one."""
    return (
        type(value) is dict
        and {name: type(entry) for name, entry in value.items()} == _KINDS
        and all(type(count) is int for count in value["calls"].values())
        and all(type(number) is int for number in value["channels_last_results"])
    )


class KeptReport(collections.UserDict):
    """A report that is read when somebody asks for it."""

    def __init__(self, text):
        self._text = text

    @functools.cached_property
    def data(self):
        return json.loads(self._text)
