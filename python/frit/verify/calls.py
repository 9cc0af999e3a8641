"""`options={"verify": N}` or FRIT_VERIFY=N: the first N calls of each graph also run through ATen, on copies, and are compared.

A difference raises frit.VerifyError (or warns: `verify_action`). The error says which result or argument differs, where and by how much, the sizes of
the call, and the first operator whose value differs, with its source line and its kernel or call. It leaves a folder that reproduces it
(`frit.verify.repro`). `frit.verify.differences` says what is compared and how. Counters: `verified_calls`, `verify_differences`, and
`verify_skipped: <reason>` for values and graphs that cannot be compared. Later calls, and calls without the option, run unchanged.
"""

import functools
import threading

import torch
from torch._dynamo.utils import counters

from ..capture.graph import capture
from ..errors import VerifyError
from ..logs import log
from . import locate, reference, repro
from .differences import Difference, Judge, Slot, sharing


def attach(executable, gm, stage, name, settings, captured, report, build):
    """Wraps `executable` so that its first calls are verified; returns it unchanged if the graph cannot be run twice. `build` compiles captured
    parts of the graph (`frit.backend.build`)."""
    reason = next((f"{node.target} communicates with other processes" for node in gm.graph.nodes if reference.is_collective(node)), None)
    if reason:
        counters["frit"][f"verify_skipped: {reason}"] += 1
        log.info("%s: not verified: %s", name, reason)
        return executable
    check = Check(gm, stage, name, settings, list(captured.devices), report, build)
    state = {"left": settings["verify"], "lock": threading.Lock()}

    def run(args):
        if state["left"] <= 0:
            return executable(args)
        with state["lock"]:
            state["left"] -= 1
        return check.call(executable, args)

    run._boxed_call = True
    return run


_NO_MEMORY = "ATen's run is out of memory"


class Check:
    """Verifies calls of one graph."""

    def __init__(self, gm, stage, name, settings, devices, report, build):
        self.gm, self.stage, self.name, self.settings, self.devices, self.report = gm, stage, name, settings, devices, report
        self._build = build
        self.own_random = bool(report.get("random"))
        self.uncompared = ""  # why the last call could not be compared
        self._has_warned = False
        # The number of results that the program sees; the layouts of the others, which only the backward sees, are free.
        self.visible = settings.get("first_kept", -1)

    def call(self, executable, args):
        """The results of `executable`; raises or warns if they differ from ATen's."""
        arguments = list(args)
        try:
            before = reference.copied(arguments)
        except Exception as error:
            if not reference.is_out_of_memory(error):
                raise
            self._note_uncompared(_NO_MEMORY)
            return executable(args)
        found, results, failure = self.compare(executable, args, arguments, before)
        if self.uncompared:
            self._note_uncompared(self.uncompared)
        else:
            counters["frit"]["verified_calls"] += 1
        if not found:
            if failure is not None:
                raise failure
            return results
        counters["frit"]["verify_differences"] += 1
        error = self._error(found, before)
        if failure is not None:
            raise error from failure
        if self.settings["verify_action"] == "raise":
            raise error
        log.warning("%s", error)
        return results

    def _note_uncompared(self, why):
        counters["frit"][f"verify_skipped: {why}"] += 1
        if not self._has_warned:
            self._has_warned = True
            log.warning("%s: a call is not compared: %s", self.name, why)

    def compare(self, executable, args, arguments, before):
        """(differences, results, the exception of `executable` if it raised one). `args` is the list that `executable` consumes, `arguments` has the
        same values, `before` has copies of them. If ATen's run is out of memory there are no differences, and `uncompared` says so."""
        self.uncompared = ""
        random = reference.SavedRandom(self.devices)
        results = failure = None
        try:
            results = executable(args)
        except Exception as error:
            failure = error
        after = reference.SavedRandom(self.devices)
        random.restore()
        drawn = {node: None for node in self.gm.graph.nodes if node.op == "call_function" and reference.is_random(node)}
        expected = theirs = None
        try:
            expected, expected_arguments = reference.eager(self.gm, reference.copied(before), drawn)
        except Exception as error:
            theirs = error
        their_random = reference.SavedRandom(self.devices)
        after.restore()
        if reference.is_out_of_memory(theirs):
            self.uncompared = _NO_MEMORY
            return [], results, failure
        if failure is not None or theirs is not None:
            return self._compare_errors(failure, theirs), results, failure
        judge = Judge(self.gm, before, drawn, self.own_random, functools.partial(self._size, self._bindings(before)))
        slots = self._slots(results, expected, arguments, expected_arguments)
        try:
            found = judge.differences(slots)
        except Exception as error:
            if not reference.is_out_of_memory(error):
                raise
            self.uncompared = _NO_MEMORY
            return [], results, None
        for place, reason in judge.skipped.items():
            counters["frit"][f"verify_skipped: {reason}"] += 1
            log.info("%s: %s is not compared: %s", self.name, place, reason)
        found.extend(self._compare_sharing(slots))
        if drawn and not self.own_random and after != their_random:
            found.append(Difference("random numbers", "the generator is left in another state", list(drawn), is_value=False))
        return found, results, None

    def _compare_errors(self, failure, theirs):
        node = self._output_node()
        if failure is None:
            return [Difference("the call", f"ATen raises {type(theirs).__name__}: {_line(theirs)}; frit does not", [node], is_value=False)]
        if theirs is None and not isinstance(failure, torch.OutOfMemoryError):
            return [Difference("the call", f"frit raises {type(failure).__name__}: {_line(failure)}; ATen does not", [node], is_value=False)]
        return []

    def _slots(self, results, expected, arguments, expected_arguments):
        nodes = self._result_nodes()
        slots = []
        for number, (mine, theirs, node) in enumerate(zip(results, expected, nodes)):
            visible = self.visible < 0 or number < self.visible
            slots.append(Slot(f"result {number}", mine, theirs, node, functools.partial(_read, 0, number), visible))
        placeholders = [node for node in self.gm.graph.nodes if node.op == "placeholder"]
        for number, (mine, theirs, node) in enumerate(zip(arguments, expected_arguments, placeholders)):
            if isinstance(theirs, torch.Tensor):
                slots.append(Slot(f"argument {number} ({node.name}) after the call", mine, theirs, node, functools.partial(_read, 1, number), False))
        return slots

    def _compare_sharing(self, slots):
        seen = [slot for slot in slots if slot.sees_layout or slot.place.startswith("argument")]
        mine, theirs = (sharing([getattr(slot, which) for slot in seen]) for which in ("actual", "expected"))
        for number, (a, b) in enumerate(zip(mine, theirs)):
            if a != b:
                there = f"memory of {seen[b].place}" if b != number else "memory of its own"
                here = f"memory of {seen[a].place}" if a != number else "memory of its own"
                return [Difference(seen[number].place, f"has {here}, with ATen {there}", [seen[number].node], is_value=False)]
        return []

    # -- sizes ---------------------------------------------------------------------------------------

    def _bindings(self, arguments):
        """symbol -> its value in this call."""
        bound = {}
        placeholders = [node for node in self.gm.graph.nodes if node.op == "placeholder"]
        for node, value in zip(placeholders, arguments):
            meta = node.meta.get("val")
            if isinstance(meta, torch.Tensor) and isinstance(value, torch.Tensor) and meta.ndim == value.ndim:
                pairs = [*zip(meta.shape, value.shape), *zip(meta.stride(), value.stride()), (meta.storage_offset(), value.storage_offset())]
            else:
                pairs = [(meta, value)]
            for symbolic, number in pairs:
                expr = symbolic.node.expr if isinstance(symbolic, torch.SymInt) else None
                if expr is not None and expr.is_Symbol and type(number) is int:
                    bound.setdefault(expr, number)
        return bound

    @staticmethod
    def _size(bound, size):
        """The value of a size in this call; None if it depends on data."""
        if not isinstance(size, torch.SymInt):
            return size
        value = size.node.expr.xreplace(bound)
        return int(value) if getattr(value, "is_number", True) else None

    def _output_node(self):
        return next(node for node in self.gm.graph.nodes if node.op == "output")

    def _result_nodes(self):
        (results,) = self._output_node().args
        return list(results) if isinstance(results, (list, tuple)) else [results]

    # -- the error -----------------------------------------------------------------------------------

    def _error(self, found, before):
        first = found[0]
        place = locate.first(self, found, before)
        sizes = {str(symbol): number for symbol, number in sorted(self._bindings(before).items(), key=str)}
        lines = [f"{self.name}: {first}"]
        lines.extend(f"also {other}" for other in found[1:4])
        if len(found) > 4:
            lines.append(f"and {len(found) - 4} more")
        lines.extend(place.lines())
        if sizes:
            lines.append("sizes of the call: " + ", ".join(f"{name} = {number}" for name, number in sizes.items()))
        error = VerifyError("frit differs from ATen in " + "\n  ".join(lines))
        error.graph, error.stage, error.differences, error.sizes, error.place = self.name, self.stage, [str(x) for x in found], sizes, place
        repro.note(error, self.gm, self.settings, self.stage, arguments=before)
        if self.settings.get("minifier_level", 0) >= 2 and error.repro:
            repro.write_launcher(error, self.settings["repro_dir"])
        return error

    def again(self, gm, before):
        """(differences, the exception if its call raised one) of a part of this graph with other results, on copies of these arguments."""
        settings = settings_of_part(self.settings)
        captured = capture(gm)
        executable, report = self._build(captured, settings, f"{self.name}_part")
        part = Check(gm, self.stage, self.name, settings, list(captured.devices), report, self._build)
        args = reference.copied(before)
        found, _, failure = part.compare(executable, args, list(args), before)
        return found, failure


def settings_of_part(settings):
    """The options for compiling a part of a graph, without those that apply to the whole graph only."""
    kept = {name: value for name, value in settings.items() if name not in ("first_kept", "schedule_choices")}
    return {**kept, "cache": False, "verify": 0, "dump_dir": "", "autotune": False, "cuda_graphs": False, "fallback": "aten"}


def _read(part, number, outcome):
    return outcome[part][number]


def _line(error):
    return (str(error).splitlines() or [""])[0]
