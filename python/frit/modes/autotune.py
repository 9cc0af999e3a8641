"""Modes "max-autotune" and "max-autotune-no-cudagraphs": measures the schedules of each region.

If the compiler has several candidate schedules for a region (`listSchedules`), the graph is compiled with each in turn and run on generated arguments
of the traced sizes; a schedule that is faster by a margin is taken. The result is a list of choices, `2=1;5=1` (region = candidate). It is stored in
the disk cache, by graph and device, so the next process measures nothing, and ranks that share a cache agree. A graph that cannot be measured takes
the first schedules and is counted with the reason.
"""

import hashlib
import json
import re
import time

import torch
from torch._dynamo.utils import counters
from torch.utils._python_dispatch import _disable_current_modes

from ..cache import compiled_graphs
from ..cache.summary import entries_of
from ..capture.graph import capture
from ..errors import FritError
from ..logs import log
from ..sizes import buckets

#: A schedule is taken only if its time is below this fraction of the best one's, so that noise does not decide a tie.
MARGIN = 0.97
MOST_REGIONS = 32
_CHOICES = re.compile(r"(\d+=\d+(;\d+=\d+)*)?")


def choose(gm, settings, targets_of, native, name):
    """(the compiler's option `schedule_choices`, the outcome in words, whether schedules were measured now or earlier)."""
    if settings["target"] == "simt":
        return "", "the emulation says nothing about times", False
    device = _device(gm)
    key = compiled_graphs.key_of(gm, {**buckets.for_compiler(settings), "schedule_choices": "list", "dump_dir": ""})
    key = key and hashlib.sha256(f"{key} schedules on {_describe(device)}".encode()).hexdigest()
    known = key and _read(key)
    if known is not None:
        counters["frit"]["autotune_remembered"] += 1
        return known, "schedules measured before" + (f": {known}" if known else ": the first of each region"), True
    captured = capture(gm)
    options = {**buckets.for_compiler(settings), "targets": targets_of(captured), "name": name, "dump_dir": "", "poison": False}
    try:
        choices, regions = _Search(captured, gm, options, native, device).run()
    except NotMeasured as reason:
        log.info("%s: autotune: %s", name, reason)
        return "", str(reason), False
    counters["frit"]["autotune_regions"] += regions
    counters["frit"]["autotune_changed"] += len(choices)
    text = ";".join(f"{region}={candidate}" for region, candidate in sorted(choices.items()))
    if key:
        compiled_graphs.store_artifact(key, json.dumps({"choices": text}).encode())
    told = f"{regions} regions measured, {len(choices)} take another schedule than the first" + (f" ({text})" if text else "")
    log.info("%s: autotune: %s", name, told)
    return text, told, True


class NotMeasured(Exception):
    """Raised if the schedules of a graph cannot be measured; the text says why."""


class _Search:
    """Tries the regions one after the other, each with the best schedules of those before it."""

    def __init__(self, captured, gm, options, native, device):
        self._captured, self._gm, self._options, self._native, self._device = captured, gm, options, native, device
        if captured.callbacks:
            raise NotMeasured("it has Python steps, which may not be run twice")
        base, report = self._compile("list")
        if report.get("retries"):
            raise NotMeasured("a part of it could not be compiled, so its regions differ from those of a plain compilation")
        foreign = sorted({call["op"] for call in entries_of(report, "aten_calls") if not call["op"].startswith("aten.")})
        if foreign:
            raise NotMeasured(f"it calls {foreign[0]}, which may not be run twice")
        self._base = base
        self._candidates = {at: count for at, count in enumerate(report.get("schedule_candidates", ())) if count > 1}

    def run(self):
        """({region: candidate} for each region that does not take the first candidate, how many regions were measured)."""
        choices = {}
        if not self._candidates:
            return choices, 0
        best = self._base
        with _disable_current_modes(), torch.random.fork_rng(devices=[self._device] if self._device.type == "cuda" else []), torch.no_grad():
            inputs = self._inputs()
            try:
                expected = self._results(self._base)
            except RuntimeError as error:
                # Random arguments may be invalid for the graph: a random matrix is not positive definite, for example.
                raise NotMeasured(f"it cannot be run on arguments that are made up: {str(error).splitlines()[0]}") from error
            for region in list(self._candidates)[:MOST_REGIONS]:
                for candidate in range(1, self._candidates[region]):
                    tried = self._try({**choices, region: candidate}, expected)
                    # Both lambdas are called within this iteration.
                    if tried and is_faster(lambda: tried(list(inputs)), lambda: best(list(inputs)), self._device):  # noqa: B023
                        choices, best = {**choices, region: candidate}, tried
        return choices, min(len(self._candidates), MOST_REGIONS)

    def _compile(self, choices):
        # With `strict`, a schedule that does not compile is an error here, not a retry without it.
        asked = {**self._options, "schedule_choices": choices, "strict": self._options.get("strict", False) or choices != "list"}
        result = self._native.compile(self._captured.json, json.dumps(asked))
        return self._native.load(result.artifact, self._captured.constants, False), json.loads(result.report)

    def _try(self, choices, expected):
        """The graph compiled with these schedules; None if the compilation fails or the results differ."""
        text = ";".join(f"{region}={candidate}" for region, candidate in sorted(choices.items()))
        try:
            executable, _ = self._compile(text)
            results = self._results(executable)
        except (FritError, RuntimeError) as error:
            log.warning("autotune: schedules %s cannot be used: %s", text, error)
            return None
        if not all(map(_agree, results, expected)):
            counters["frit"]["autotune_wrong"] += 1
            log.warning("autotune: schedules %s give other results and are not used; report it with the graph", text)
            return None
        return executable

    def _results(self, executable):
        """The results for fresh arguments, with the same random numbers in each call."""
        torch.manual_seed(0)
        return executable(self._inputs())

    def _inputs(self):
        """Fresh arguments, with the layouts that the compiled forward gives to what it saves for this graph."""
        inputs = made_up_inputs(self._gm)
        for number in self._options.get("channels_last_inputs", ()):
            inputs[number] = inputs[number].contiguous(memory_format=torch.channels_last if inputs[number].dim() == 4 else torch.channels_last_3d)
        return inputs


def _agree(a, b):
    """Equal up to the order of additions."""
    if not isinstance(a, torch.Tensor) or not a.is_floating_point():
        return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
    a, b = a.double(), b.double()
    different = (a - b)[torch.isfinite(a) & torch.isfinite(b)]
    scale = torch.linalg.vector_norm(b[torch.isfinite(b)])
    return torch.equal(torch.isfinite(a), torch.isfinite(b)) and bool(torch.linalg.vector_norm(different) <= 1e-2 * scale + 1e-6)


def made_up_inputs(gm):
    """Arguments of the sizes, strides and devices that a graph was traced with. Floats are random; integers are zero, which is a valid index.
    NotMeasured if one cannot be made."""
    generators = {}

    def number(size):
        if not isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return size
        if not size.node.has_hint():
            raise NotMeasured("a size of its arguments is not known")
        return size.node.hint

    def tensor(fake):
        shape, strides, offset = [[number(x) for x in numbers] for numbers in (fake.shape, fake.stride(), [fake.storage_offset()])]
        span = offset[0] + (0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)))
        memory = torch.zeros(span, dtype=fake.dtype, device=fake.device)
        if memory.is_floating_point() and memory.dtype.itemsize > 1:
            if memory.device not in generators:
                generators[memory.device] = torch.Generator(memory.device).manual_seed(0)
            memory.normal_(generator=generators[memory.device])
        return memory.as_strided(shape, strides, offset[0])

    inputs = []
    with _disable_current_modes():
        for node in gm.graph.nodes:
            if node.op != "placeholder":
                continue
            value = node.meta.get("val")
            try:
                inputs.append(tensor(value) if isinstance(value, torch.Tensor) else number(value))
            except (RuntimeError, NotImplementedError) as error:
                raise NotMeasured(f"an argument like {node.name} cannot be made: {str(error).splitlines()[0]}") from error
    return inputs


def is_faster(tried, best, device, seconds=0.05):
    """Whether `tried` is faster than `best` by the margin. They run alternately; the minimum times are compared."""
    times = ([], [])
    end = time.perf_counter() + seconds
    for turn in range(200):
        for run, found in zip((tried, best), times):
            found.append(milliseconds(run, device))
        if turn >= 4 and time.perf_counter() > end:
            break
    # The first run of each is a warm-up.
    return min(times[0][1:]) < MARGIN * min(times[1][1:])


def milliseconds(run, device):
    """The time of one call of `run`, on a GPU by events."""
    if device.type == "cuda":
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)
    began = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - began)


def _device(gm):
    for node in gm.graph.nodes:
        value = node.meta.get("val") if node.op == "placeholder" else None
        if isinstance(value, torch.Tensor) and value.device.type == "cuda":
            return value.device
    return torch.device("cpu")


def _describe(device):
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu with {torch.get_num_threads()} threads"


def _read(key):
    """The choices in the cache, or None."""
    content = compiled_graphs.read_artifact(key)
    if content is None:
        return None
    try:
        choices = json.loads(bytes(content))["choices"]
        return choices if _CHOICES.fullmatch(choices) else None
    except (ValueError, KeyError, TypeError):
        return None
