"""The function that `torch.compile(..., backend="frit")` finds by entry point.

AOTAutograd turns the Dynamo graph into functional forward and backward graphs of core operators. Each is
captured as export-schema JSON (`capture/graph.py`), compiled to an artifact and loaded. The executable
follows torch's boxed convention and runs no Python per call. The C++ libraries are loaded by the first
compilation, not by importing this module.
"""

import contextlib
import functools
import importlib
import json
import logging
import sys
import time
import weakref

import torch
from torch._dynamo.utils import counters

from . import environment, native, phases, planted
from . import options as option_registry
from .cache import compiled_graphs, disk_cache, saved_graph, summary
from .capture import as_is, opaque
from .capture.graph import Captured, capture
from .eager import rows
from .eager.decompositions import LazyTable
from .errors import CompileError, FritError, OptionError
from .logs import artifact, counted, log, note_entry
from .modes import autotune, cuda_graphs
from .sizes import buckets, record, specialize
from .verify import guard

environment.check(option.environment for option in option_registry.REGISTRY.values() if option.environment)

_OBSERVERS = []
_GRAPHS = {"count": 0}
# Weak references to the executables compiled since the last reset, each with its report.
_EXECUTABLES = []
# Dynamo's numbers of the functions compiled since the last reset.
_FUNCTIONS = set()


def frit(gm, example_inputs, *, mode=None, options=None):
    """Compile a Dynamo graph. `mode` and `options` are documented in `frit.options`."""
    settings = option_registry.resolve(mode, options)
    if any(isinstance(x, (list, tuple, dict)) for x in example_inputs):
        from torch._dynamo.utils import flatten_graph_inputs

        return flatten_graph_inputs(gm, example_inputs, functools.partial(frit, mode=mode, options=options))
    settings = buckets.resolve(settings, gm, example_inputs)
    _FUNCTIONS.add(number_of_function())
    # Imported here, because `report` imports this module.
    settings = importlib.import_module("frit.report.watching").prepare(gm, settings)
    with phases.watched(settings["progress"]), disk_cache.folder_of(settings):
        if _is_saved():
            return _compile_to_save(gm, example_inputs, settings)
        return _compile(gm, example_inputs, settings, lambda compiler, stage: compiler, _result_store(settings))


def number_of_function():
    """Dynamo's number of the function that it compiles now, the same for all of its graphs and recompilations; None outside of a compilation."""
    current = torch._guards.CompileContext.current_compile_id()
    return current and current.frame_id


def _is_saved():
    """Whether torch will save the result in a file of its own (see `cache/aot.py`)."""
    config = torch._functorch.config
    return config.bundled_autograd_cache and config.force_autograd_cache


def _compile_to_save(gm, example_inputs, settings):
    from .cache import aot
    from .verify import repro_text

    wrap = functools.partial(aot.wrapping, settings=buckets.for_compiler(settings), describe=repro_text.traced_arguments)
    with aot.key_of_torch(settings, native.compiler().identity()):
        return _compile(gm, example_inputs, settings, wrap)


# Exceptions that indicate a bug in a decomposition; a decomposition that refuses its operands raises others.
_MISTAKES = (TypeError, NameError, AttributeError, LookupError)


def _why_no_results(settings):
    """Why AOTAutograd's results are neither looked up nor stored; "" if they are."""
    if planted.NUMBER or settings["mutant"]:
        return "a mistake is planted"
    # These options need the traced graphs in each process.
    for option, plain in (("verify", 0), ("autotune", False), ("cuda_graphs", False), ("fail_at", ""), ("dump_dir", ""), ("min_operators", 0)):
        if settings[option] != plain:
            return f"the option {option}"
    if settings["bucket_policy"] == "specialize":
        return "the option bucket_policy"
    if torch._dynamo.config.repro_after == "aot":
        return "torch's repro_after"
    return "the graphs are observed" if _OBSERVERS else ""


@functools.cache
def _autograd_results():
    """The module that stores AOTAutograd's results; None where this version of torch has another cache."""
    try:
        from .cache import autograd_results

        autograd_results.install()
    except (ImportError, AttributeError) as why:
        log.info("AOTAutograd's results are not stored: %s", why)
        return None
    return autograd_results


@contextlib.contextmanager
def backwards_compiled_now():
    """A context in which backwards are compiled together with their forwards and not at their first call."""
    results = _autograd_results()
    if results is None:
        raise CompileError("frit: this version of torch cannot compile a backward before it is called; call the model once instead")
    token = results.COMPILE_BACKWARDS_NOW.set(True)
    try:
        yield
    finally:
        results.COMPILE_BACKWARDS_NOW.reset(token)


def _result_store(settings):
    """The ResultStore of AOTAutograd's results for one compilation; None if they are not cached. The reason is counted."""
    if not compiled_graphs.enabled(settings) or not torch._functorch.config.enable_autograd_cache:
        return None
    why = _why_no_results(settings)
    if not why and not native.compiler().identity():
        why = "the compiler has no build id"
    results = None if why else _autograd_results()
    if results is None:
        counters["frit"][f"autograd_cache_bypass:{why or 'this version of torch has another cache'}"] += 1
        return None
    from .verify import repro_text

    return results.ResultStore(buckets.for_compiler(settings), settings, repro_text.traced_arguments)


def _compile(gm, example_inputs, settings, wrap, store=None):
    from torch._functorch.aot_autograd import aot_module_simplified
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    disable = torch._dynamo.disable
    channels_last = []  # the backward's channels-last inputs; the forward fills the list

    def compiler_of(stage, wrap):
        channels_last_here = None if stage == "inference" else channels_last
        return wrap(functools.partial(compile_graph, settings=settings, stage=stage, channels_last=channels_last_here), stage)

    def trace(decompositions, store):
        compile_backward = disable(
            compiler_of("backward", store.with_saved_graph if store else wrap),
            reason="do not trace the backward compiler",
        )

        def backward(inner, inputs):
            # The backward runs outside AOTAutograd's wrapper, so it must be hidden from Dynamo separately.
            return _untraced(compile_backward(inner, inputs))

        # A graph takes no effect tokens: a result that torch takes from a cache would not be given any.
        unlifted = torch._functorch.config.patch(unlift_effect_tokens=True)
        with unlifted, store.in_use() if store else contextlib.nullcontext():
            return aot_module_simplified(
                gm,
                example_inputs,
                fw_compiler=compiler_of("forward", store.as_serializable if store else wrap),
                bw_compiler=backward,
                inference_compiler=compiler_of("inference", store.as_serializable if store else wrap),
                partition_fn=min_cut_rematerialization_partition,
                decompositions=decompositions,
                keep_inference_input_mutations=True,
            )

    is_invariant = settings["numerics"] == "batch-invariant"
    if is_invariant:
        native.compiler()  # it registers the operators that the table decomposes to
    try:
        compiled = trace(rows.RowTable() if is_invariant else LazyTable(), store)
    except (FritError, torch._dynamo.exc.TorchDynamoException):
        raise  # Dynamo's own exceptions ask it to restart the trace
    except Exception as error:
        # A decomposition of torch refused operands during tracing. The operator itself may accept them, or raise another message at run time.
        counters["frit"]["traced_whole"] += 1
        log.info("operators are not decomposed: %s", error)
        compiled = trace(rows.DECOMPOSITIONS if is_invariant else {}, None)
        if settings["strict"] and isinstance(error, _MISTAKES):
            raise  # tracing without decompositions succeeded, so a decomposition has a bug
    compiled = record.watch(compiled, lambda: buckets.places(gm, example_inputs))
    return disable(compiled, reason="do not trace a compiled graph")


@guard.guarded(lambda stage, channels_last: _layout_freedom(stage, channels_last), lambda *part: build(*part))
def compile_graph(gm, example_inputs, *, settings, stage, channels_last=None, made):
    """Compiles one functional graph to a boxed callable. In the list `channels_last` a forward notes which inputs of its backward are channels-last;
    without the list none are. The arguments of the observers, (name, stage, captured, report, executable), are appended to the list `made`."""
    name = f"graph{_GRAPHS['count']}_{stage}"
    _GRAPHS["count"] += 1
    if saved := _saved(stage, channels_last):
        # A backward of frit's never writes to what the forward saved, so torch need not refuse retain_graph and create_graph.
        saved.bw_donated_idxs = []
    if as_is.is_small(gm, settings["min_operators"]):
        return _run_as_is(gm, name, settings, stage, channels_last, made, f"it has fewer than min_operators = {settings['min_operators']} operators", True)
    try:
        with contextlib.ExitStack() as span, disk_cache.folder_of(settings):
            return _compile_graph(gm, name, settings, stage, channels_last, made, span)
    except FritError as error:
        if isinstance(error, OptionError) or not as_is.allowed(error, settings):
            raise
        from .verify import repro

        reason = as_is.reason_of(error)
        if folder := getattr(repro.note(error, gm, {**settings, "strict": True}, stage), "repro", None):
            log.info("%s: %s shows why it is not compiled", name, folder)
        return _run_as_is(gm, name, settings, stage, channels_last, made, reason)


def _compile_graph(gm, name, settings, stage, channels_last, made, span):
    clock = _Clock(name)

    def captured_now():
        # Called only for a graph that is compiled: a span would take a tenth of the time of a graph from the cache.
        span.enter_context(phases.watched(settings["progress"]))  # a backward may be compiled by itself, at its first call
        span.enter_context(phases.phase("graph", name, nodes=len(gm.graph.nodes)))
        return _captured(gm, name, clock)

    tuned = None
    if settings["autotune"]:
        choices, *tuned = autotune.choose(gm, settings, lambda captured: _targets(captured, settings), native.compiler(), name)
        settings["schedule_choices"] = choices
    is_specialized = settings["bucket_policy"] == "specialize"
    captured, executable, report, short, origin = compiled_graphs.get_or_compile(
        gm,
        buckets.for_compiler(settings),
        capture=captured_now,
        build=lambda captured, match: build(captured, settings, name, match),
        with_text=is_specialized,
    )
    clock.note(captured, origin)
    if is_specialized:
        specialize.attach(executable, captured, _for_compiler(captured, settings), report, name)
    _prepare_calls(executable, settings)
    cuda_graphs.apply(executable, gm, stage, settings, report, tuned)
    _note_channels_last(stage, as_is.report("") if settings["dryrun"] else short, channels_last)
    captured.summary, captured.relaid = short, settings.get("channels_last_inputs", ())
    captured.input_names = buckets.names_of_inputs(gm, settings.get("argument_names", ()))
    _EXECUTABLES.append((weakref.ref(executable) if hasattr(executable, "stats") else lambda: None, report))
    if short["has_buckets"]:
        for entry in report["buckets"]:
            entry["names"] = settings.get("symbol_names", {}).get(entry["symbol"], entry["names"])
    _count(name, stage, captured.nodes, report, short)
    _count_callbacks(name, captured)
    others = {op for op in short["calls"] if not rows.is_row_by_row(op)} | {step.name for step in captured.callbacks}
    if settings["numerics"] == "batch-invariant" and others:
        environment.warn(f"numerics='batch-invariant' does not hold for what ATen or Python computes: {', '.join(sorted(others))}")
    made.append((name, stage, captured, report, executable))
    for observe in _OBSERVERS:
        observe(*made[-1])
    if settings["dryrun"]:
        captured.why_not_saved = "the option dryrun"
        return as_is.instead(gm, name, captured.nodes, short)
    as_is.attach(executable, gm, captured, name, settings, stage)
    executable = planted.plant_results(executable)
    return opaque.with_table(executable, captured) if captured.callbacks or captured.opaque_results else executable


def _captured(gm, name, clock):
    with phases.phase("capture", name):
        captured = capture(gm)
    clock.note(captured, "captured")
    artifact("graph").debug("%s %s", name, captured.json)
    return captured


def _run_as_is(gm, name, settings, stage, channels_last, made, reason, is_wanted=False):
    """A boxed callable for a graph that cannot be captured or compiled, or that is not to be (`is_wanted`); it runs the graph as it was traced."""
    as_is.note(name, reason, is_wanted)
    report = as_is.report(reason)
    captured = Captured(None, [], [], len(gm.graph.nodes))
    captured.why_not_saved = f"the whole graph ({reason})"
    executable = as_is.boxed(gm, settings.get("channels_last_inputs", ()))
    _note_channels_last(stage, report, channels_last)
    tally = counters["frit"]
    tally["graphs"] += 1
    tally[f"graphs_{stage}"] += 1
    tally["nodes"] += captured.nodes
    made.append((name, stage, captured, report, executable))
    for observe in _OBSERVERS:
        observe(*made[-1])
    return executable


def _layout_freedom(stage, channels_last):
    """Facts about strides that the graph does not contain: which results only the backward sees, and which inputs of a backward the forward
    has made channels-last."""
    if stage == "backward":
        return {"channels_last_inputs": list(channels_last)} if channels_last else {}
    saved = _saved(stage, channels_last)
    return {"first_kept": saved.num_forward} if saved else {}


def _saved(stage, channels_last):
    """AOTAutograd's metadata of the values that a forward saves for its backward."""
    context = torch._guards.TracingContext.try_get()
    return context.fw_metadata if stage == "forward" and channels_last is not None and context is not None else None


def _note_channels_last(stage, short, channels_last):
    """Notes which inputs of the backward will be channels-last. Its inputs are sizes, then the tensors that the forward saved. AOTAutograd
    ignores the strides of saved tensors, and its own interface for strides (`output_strides`) takes no symbols."""
    saved = _saved(stage, channels_last)
    if saved:
        channels_last[:] = [saved.num_symints_saved_for_bw + number - saved.num_forward for number in short["channels_last_results"]]


def build(captured, settings, name, match=None):
    """Compiles captured JSON to (boxed callable, report). `match` looks the graph up under its canonical key; None if the graph is not cached."""
    library = native.compiler()
    given = _for_compiler(captured, settings)
    options = json.dumps({**given, "name": name})
    with phases.phase("compile", name, nodes=captured.nodes):
        result = match.compile(given, options) if match else library.compile(captured.json, options)
        if match and match.found:
            return match.found
        report = json.loads(result.report)
        phases.note("compile", kernels=len(report.get("kernels", ())), phases_ms=report.get("phases_ms", {}))
    for what in ("kernels_compiled", "kernels_reused", "kernels_forgotten"):
        if number := getattr(result, what):
            counters["frit"][what] += number
    for retry in summary.entries_of(report, "retries"):
        counters["frit"]["retries"] += 1
        log.warning("%s: compiled with %s, because of a mistake of frit's own, please report it: %s", name, retry["without"], retry["because"])
    captured.artifact = result.artifact
    with phases.phase("load", name):
        return library.load(result.artifact, captured.constants, settings["poison"]), report


def _for_compiler(captured, settings):
    return {**buckets.for_compiler(settings), "targets": _targets(captured, settings)}


class _Clock:
    """Logs the milliseconds from one note to the next (`FRIT_LOGS=timing`)."""

    def __init__(self, name):
        self._name = name
        self._started = time.perf_counter()

    def note(self, captured, what):
        artifact("timing").debug("%s: %d nodes, %s in %.1f ms", self._name, captured.nodes, what, 1e3 * (time.perf_counter() - self._started))
        self._started = time.perf_counter()


def _targets(captured, settings):
    """The targets to generate code for: by default the device of the graph's tensors."""
    found = _targets_of(captured, settings)
    if settings["numerics"] == "batch-invariant" and found != ["cpu"]:
        raise OptionError(f"frit: numerics='batch-invariant' is for CPUs; kernels for {found[0]} divide rows by how many there are")
    return found


def _targets_of(captured, settings):
    if settings["target"] != "auto":
        return [settings["target"]]
    device = next((device for device in captured.devices if device.type == "cuda"), None)
    if device is None:
        return ["cpu"]
    major, minor = torch.cuda.get_device_capability(device)
    for architecture in (100, 90, 80):
        # PTX of an older architecture runs on a newer device.
        if architecture <= 10 * major + minor:
            return [f"sm_{architecture}"]
    raise CompileError(f"{device} is an sm_{major}{minor} device; frit generates code for sm_80 and newer, use backend='eager' there")


def _note_loaded(saved, executable, report, settings):
    """Counts a graph that came from a file, as if it were compiled now, and handles the calls that it was not compiled for."""
    name = f"graph{_GRAPHS['count']}_{saved.stage}"
    _GRAPHS["count"] += 1
    _EXECUTABLES.append((weakref.ref(executable), report))
    _count(name, saved.stage, saved.nodes, report, saved.summary)
    # A file of torch has the options of its compilation; the options that apply after a compilation are those of this process.
    settings = settings or {**option_registry.resolve(None, None), **saved.settings}
    _prepare_calls(executable, settings)
    as_is.attach_traced(executable, saved.traced, name, settings, saved.stage)
    guard.watch_loaded(executable, name, saved, settings)


def _prepare_calls(executable, settings):
    compiled_graphs.keep_cubins(executable, settings)
    if settings["threads"] and hasattr(executable, "limit_threads"):
        executable.limit_threads(settings["threads"])


saved_graph.ON_LOAD.append(_note_loaded)


def _count(name, stage, nodes, report, short):
    tally = counters["frit"]
    tally["graphs"] += 1
    tally[f"graphs_{stage}"] += 1
    calls = sum(short["calls"].values())
    left = f" ({', '.join(sorted(short['calls']))})" if calls else ""
    log.info("%s: %s, %s, %s%s", name, counted(nodes, "node"), counted(short["kernels"], "kernel"), counted(calls, "ATen call"), left)
    for what, number in (("nodes", nodes), ("kernels", short["kernels"]), ("guards", short["guards"]), ("aten_calls", calls)):
        tally[what] += number
    for op, number in short["calls"].items():
        tally[f"aten:{op}"] += number
    for op, number in short["random"].items():
        tally[f"philox:{op}"] += number
    for what, entries in (("kernels", "kernels"), ("guards", "guards"), ("fallbacks", "aten_calls")):
        if artifact(what).isEnabledFor(logging.DEBUG):  # otherwise skip the text
            for entry in report.get(entries, ()):
                note_entry(what, name, entry)


def _count_callbacks(name, captured):
    tally = counters["frit"]
    for step in captured.callbacks:
        tally["callbacks"] += 1
        tally[f"callback:{step.name}"] += 1
        log.info("%s: %s runs in Python: %s", name, step.name, step.why)
        note_entry("fallbacks", name, {"op": step.name, "reason": step.why, "python": True})


def _untraced(executable):
    fenced = torch._dynamo.disable(executable, reason="do not trace a compiled backward")
    fenced._boxed_call = True
    return fenced


def reset():
    """Clears the state of earlier compilations; `torch.compiler.reset` calls it."""
    counters["frit"].clear()
    _GRAPHS["count"] = 0
    _EXECUTABLES.clear()
    _FUNCTIONS.clear()
    buckets.reset()
    specialize.forget()
    if "frit._C" in sys.modules:
        native.compiler().release_memory()


frit.reset = reset
