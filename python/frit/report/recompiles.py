"""Explains why Dynamo recompiled a function.

frit compiles each graph once, for all sizes. Dynamo causes the remaining recompilations before any backend is called: it guards sizes 0
and 1, sizes that were equal by chance, declared ranges and the program's own conditions. torch reports the failed guard; this module translates it
to the input, the source line and what to do.
"""

import os
import re
from dataclasses import asdict, dataclass

_LINE = re.compile(r"#\s(?P<code>(?:(?!  # ).)+?)\s+# (?P<file>\S+):(?P<line>\d+) in (?P<function>\S+)")
_SIZE = re.compile(r"(?P<of>[\w.\[\]']+?)\.size\(\)\[(?P<dim>\d+)\]")
_MISMATCH = re.compile(r"tensor '(?P<of>.+?)' size mismatch at index (?P<dim>\d+)\. expected (?P<was>-?\d+), actual (?P<now>-?\d+)")
_LOW = re.compile(r"^(?P<low>-?\d+) <= ")
_HIGH = re.compile(r"(?:^|\] )<= (?P<high>\d+)")
_MULTIPLE = re.compile(r"% (?P<by>\d+)\)? (?:==|!=) ")
_OF_JAGGED = re.compile(r"^(?=.*\._(?:offsets|values)\.)[\w.\[\]']+\.size\(\)\[\d\] == (?:\d+ \+ )?[\w.\[\]']+\.size\(\)\[\d\]$")
_INTEGER = re.compile(r"^(?P<of>[\w.\[\]']+) == (?P<was>-?\d+)\b")


@dataclass
class Recompile:
    """One recompilation of a function. `remedy` says how to avoid it; `guard` is torch's text of the failed guard."""

    kind: str
    function: str
    source: str
    input: str
    reason: str
    remedy: str
    guard: str

    def __str__(self):
        return f"recompiled {self.function} ({self.source}): {self.reason}; {self.remedy}"

    def to_dict(self):
        """The fields as a dict."""
        return asdict(self)


def explain_reason(guard, function, definition, sizes=None):
    """A Recompile for the text of a failed guard; `sizes` maps "x[0]" to its value in the call, where known."""
    guard = re.sub(r"^\d+/\d+(?:_\d+)?: ", "", guard)
    line = _LINE.search(guard)
    source = f"{os.path.basename(line['file'])}:{line['line']} in {line['function']}: {line['code'].strip()}" if line else definition
    condition = guard.split("  #")[0].strip()
    kind, of, reason, remedy = _classify(guard, condition, source, sizes or {})
    return Recompile(kind, function, source, of, reason, remedy, guard)


def _mark(of, extra=""):
    name, dim = of.rsplit("[", 1) if of.endswith("]") else (of, "0]")
    return f"torch._dynamo.mark_dynamic({name}, {dim[:-1]}{extra})"


def _unbacked(of):
    name, dim = of.rsplit("[", 1) if of.endswith("]") else (of, "0]")
    return f"torch._dynamo.decorators.mark_unbacked({name}, {dim[:-1]})"


def _classify(guard, condition, source, sizes):
    mismatch = _MISMATCH.search(guard)
    if mismatch:
        of, was, now = f"{mismatch['of']}[{mismatch['dim']}]", int(mismatch["was"]), int(mismatch["now"])
        small = was if was in (0, 1) else now if now in (0, 1) else None
        if small is not None:
            return _zero_one(of, small, f"{of} is {now}, an earlier graph is for {was}")
        return (
            "static",
            of,
            f"{of} was {was} in the first call and treated as constant, now it is {now}",
            f"call {_mark(of)} before the first call, or compile with dynamic=True",
        )
    found = [f"{m['of']}[{m['dim']}]" for m in _SIZE.finditer(condition)]
    of = found[0] if found else ""
    if _OF_JAGGED.match(condition):
        return (
            "duck",
            of,
            f"{condition} held by chance in an earlier call and was assumed from then on",
            "begin with a batch in which neither the samples nor the offsets are as many as another size",
        )
    if "duck sizing" in guard:
        return (
            "duck",
            of,
            f"{' and '.join(found)} were equal by chance in an earlier call and treated as one size",
            f"call {' and '.join(_mark(name) for name in found)} before the first call: marked sizes are told apart",
        )
    multiple = _MULTIPLE.search(condition)
    if multiple:
        return _multiple(guard, of, int(multiple["by"]), condition, source)
    if found and _LOW.match(condition):
        return _range(guard, condition, of, source, sizes.get(of))
    if found:
        return _program(of, condition, source)
    integer = _INTEGER.match(condition)
    if integer:
        of = integer["of"]
        return (
            "integer",
            of,
            f"{of} was {integer['was']} and treated as constant",
            "compile with dynamic=True, or pass it as a tensor",
        )
    return "other", "", condition, "it does not concern sizes"


def _zero_one(of, size, reason):
    return (
        "zero_one",
        of,
        f"{reason}: sizes 0 and 1 have graphs of their own, because 1 may broadcast and 0 is empty",
        f"call {_unbacked(of)} to have one graph for all sizes, or warm up with size {size}",
    )


def _range(guard, condition, of, source, size):
    high = _HIGH.search(condition)
    high = int(high["high"]) if high else None
    low = int(_LOW.match(condition)["low"])
    if low == 2 and (size in (0, 1) or (high is None and size is None)):
        return _zero_one(of, 1 if size is None else size, f"{of} is {'0 or 1' if size is None else size}")
    if "0/1 specialization" not in guard and high is None:
        return _program(of, condition, source)
    if "variables/builder.py" not in guard and high is not None:
        return _program(of, condition, source)
    shown = f"{of} is {size}" if size is not None else f"{of} lies"
    return (
        "range",
        of,
        f"{shown} outside of the declared range {low} to {high if high is not None else 'infinity'}",
        f"declare a larger one: {_mark(of, f', min={low}, max=...')}",
    )


def _multiple(guard, of, by, condition, source):
    if re.search(r"attention|sdpa|expand_mask|attn", guard):
        return (
            "alignment",
            of,
            f"attention on CUDA requires {of} to be a multiple of {by}, so there is one graph for sizes that are and one for sizes that are not",
            f"pad the sequence to a multiple of {by} (tokenizers: pad_to_multiple_of={by})",
        )
    return _program(of, condition, source)


def _program(of, condition, source):
    return (
        "condition",
        of,
        f"the program branches on {condition}",
        f"each outcome has a graph; compute both and choose with torch.where, or remove the condition from the program ({source})",
    )


class Watch:
    """Collects the recompilations during a sequence of calls."""

    def __init__(self):
        self.found = []

    def call(self, function, args, kwargs, sizes=None):
        """Runs `function` and notes the recompilations."""
        from torch._dynamo.utils import get_compilation_metrics, guard_failures

        known = {id(metric): metric for metric in get_compilation_metrics()}
        failed = {code: len(reasons) for code, reasons in guard_failures.items()}
        try:
            return function(*args, **kwargs)
        finally:
            for metric in get_compilation_metrics():
                if id(metric) in known or not metric.recompile_reason:
                    continue
                self.found.append(self._best(metric, guard_failures, failed, sizes or {}))

    @staticmethod
    def _best(metric, guard_failures, failed, sizes):
        """The Recompile of the most general graph; the guards of all graphs so far have failed."""
        definition = f"{os.path.basename(metric.co_filename or '?')}:{metric.co_firstlineno} in {metric.co_name}"
        reasons = [metric.recompile_reason]
        for code, texts in guard_failures.items():
            if code.co_name == metric.co_name and code.co_firstlineno == metric.co_firstlineno:
                reasons += texts[failed.get(code, 0) :]
        explained = [explain_reason(text, metric.co_name, definition, sizes) for text in reasons]
        order = ["condition", "alignment", "range", "duck", "zero_one", "integer", "other", "static"]
        return min(explained, key=lambda one: order.index(one.kind))


def sizes_of(function, args, kwargs):
    """"x[0]" -> size for tensors among the arguments of a call, by the names of the parameters."""
    import inspect

    import torch

    function = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    return {
        f"{name}[{dim}]": size
        for name, value in bound.items()
        if isinstance(value, torch.Tensor)
        for dim, size in enumerate(value.shape)
    }
