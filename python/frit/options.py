"""Every option of the backend, in one registry.

`torch.compile(f, backend="frit", mode=..., options={...})`. torch refuses a mode and options together, so the mode
may also be given as an option. All settings reach the compiler through this registry, which validates and documents
them and puts them into the cache key.
"""

import difflib
import os
from dataclasses import dataclass

from . import environment, inductor_options
from .errors import OptionError

MODES = {
    "default": {},
    "reduce-overhead": {"cuda_graphs": True},
    "max-autotune": {"autotune": True, "cuda_graphs": True},
    "max-autotune-no-cudagraphs": {"autotune": True},
}


@dataclass(frozen=True)
class Option:
    """One setting: its type, default, the values it may take (empty: any), and what it does."""

    name: str
    type: type
    default: object
    doc: str
    choices: tuple = ()
    #: The environment variable that sets the default, for whole test suites.
    environment: str = ""
    # Raises OptionError if a value of the right type is malformed.
    check: object = None


REGISTRY = {
    option.name: option
    for option in (
        Option("mode", str, "default", "one of torch.compile's mode names", tuple(MODES)),
        Option(
            "numerics",
            str,
            "default",
            "'default' keeps half types in f32 inside a kernel; 'eager' rounds exactly where eager does; 'batch-invariant' does too, and a row (sample) "
            "has the same bits whatever the batch, its place in it, bucket, threads or process, products included: for CPUs, slower",
            ("default", "eager", "batch-invariant"),
        ),
        Option("fusion", bool, True, "merge operators into kernels; off: each operator is a kernel of its own, for bisecting"),
        Option("reuse", bool, True, "reuse memory and write in place; off: each value has storage of its own, for bisecting"),
        Option(
            "deterministic",
            bool,
            False,
            "on GPUs, sort the rows that index_add, index_put, scatter_add and gradients of embeddings add, however few they are, so that every call "
            "gives the same bits; by default where sorting is faster",
        ),
        Option("relay", bool, True, "run convolutions and pooling channels-last; off: keep the program's order of dims, for bisecting"),
        Option("products", bool, True, "run matrix products and attention on the CPU in frit's own kernels where they are faster; off: all are ATen calls"),
        Option("convolutions", bool, True, "run convolutions on the CPU in frit's own kernel, fused with what follows them; off: all are ATen calls"),
        Option(
            "target",
            str,
            "auto",
            "'simt' runs GPU kernels on the CPU, in an emulation that checks every access: slow, for finding bugs",
            ("auto", "simt"),
        ),
        Option(
            "cpu",
            str,
            "host",
            "the CPU to generate code for: 'host', 'x86-64-v3', 'x86-64-v4' or LLVM's name of a CPU, optionally with features: 'x86-64-v3,+avx512f'",
        ),
        Option("cuda_graphs", bool, False, "launch all kernels of a call as one CUDA graph; calls without a graph are counted by reason"),
        Option("autotune", bool, False, "measure the schedules of each region instead of taking the first (see `frit.modes.autotune`)"),
        Option("cache", bool, True, "use the disk cache of compiled graphs (see `frit.cache.disk_cache`)"),
        Option(
            "cache_dir",
            str,
            "",
            "the folder of the disk cache; by default `frit` in the user's folder of caches (docs/Cache.md)",
            environment="FRIT_CACHE_DIR",
        ),
        Option(
            "threads",
            int,
            0,
            "how many threads a call uses at most, kernels and ATen's operators alike (MKL's products have torch's number); 0: those of torch",
            check=lambda number: _check_number("threads", number, "threads"),
        ),
        Option(
            "min_operators",
            int,
            0,
            "a graph of fewer operators runs as it was traced, where compiling it is not worth the time",
            check=lambda number: _check_number("min_operators", number, "operators"),
        ),
        Option(
            "dryrun",
            bool,
            False,
            "compile each graph and say in a line what it would run, but run it as it was traced; nothing is read from or written to the disk cache",
        ),
        Option(
            "buckets",
            dict,
            {},
            "the sizes to round up to, by argument and dimension: {'x[0]': [8, 16, 32], 'ids[1]': 'ramp', 'y[0]': 'off'}",
            check=lambda value: check_buckets(value),
        ),
        Option(
            "bucket_policy",
            str,
            "auto",
            "the buckets of all other dynamic sizes: 'auto': the ramp where it gains time; 'ramp': the ramp everywhere; 'specialize': the ramp "
            "everywhere, and specialised kernels for recurring buckets, compiled in the background; 'off': none",
            ("auto", "ramp", "specialize", "off"),
        ),
        Option(
            "dump_dir",
            str,
            "",
            "write every stage of each graph into a folder of its own inside of this one: the captured graph, IR, kernel programs, LLVM IR, PTX, "
            "the plan, the report and the artifact; no cached graph is used, so that all are there",
            environment="FRIT_DUMP",
        ),
        Option(
            "report_dir",
            str,
            "",
            "write a page for each compiled function and an index into this folder when the program ends (`frit.explain(...).to_html`); no cached "
            "graph is used",
            environment="FRIT_REPORT",
        ),
        Option(
            "padding",
            str,
            "auto",
            "which library calls get padded operands: 'auto': those that gain; 'off': none; 'force': all that may be padded, for finding bugs",
            ("auto", "off", "force"),
            "FRIT_PADDING",
        ),
        Option(
            "poison",
            bool,
            False,
            "fill padded lanes and fresh memory with NaN and large numbers, and check the memory beside buffers: slow, for finding bugs",
            environment="FRIT_POISON",
        ),
        Option(
            "random",
            str,
            "auto",
            "'torch': torch's operators draw eager's random numbers; 'philox': kernels generate them from a seed of torch's generator: fast and "
            "reproducible by torch.manual_seed, but other numbers than eager's; 'auto': 'philox' on CUDA, 'torch' elsewhere",
            ("auto", "torch", "philox"),
        ),
        Option(
            "strict",
            bool,
            False,
            "a failure of frit itself is an error; by default the operators concerned become ATen calls, with a warning",
            environment="FRIT_STRICT",
        ),
        Option("fail_at", str, "", "fail on purpose at 'kernel:NAME', 'pass:NAME', 'plan' or 'always', to test the handling of failures"),
        Option(
            "mutant",
            str,
            "",
            "plant a mistake in a legalisation rule, 'OPERATOR:KIND/WHERE/NUMBER' (scripts/mutants), to test tests; results are wrong",
            environment="FRIT_MUTANT",
        ),
        Option("fallback", str, "aten", "'error' refuses graphs in which an operator is left to ATen", ("aten", "error")),
        Option(
            "verify",
            int,
            0,
            "how many first calls of each graph also run through ATen, on copies, and are compared (see `frit.verify`)",
            environment="FRIT_VERIFY",
            check=lambda number: _check_number("verify", number, "calls"),
        ),
        Option(
            "verify_action",
            str,
            "raise",
            "what happens at a difference: 'raise' a VerifyError, or 'warn' in the log",
            ("raise", "warn"),
            "FRIT_VERIFY_ACTION",
        ),
        Option(
            "repro_dir",
            str,
            "",
            "the folder in which failures leave a repro.py; 'off': none; by default beside the disk cache (see `frit.verify.repro`)",
            environment="FRIT_REPRO_DIR",
        ),
        Option(
            "progress",
            bool,
            True,
            "show a line on the terminal while a compilation lasts longer than a second; nothing if the standard error is not a terminal",
            environment="FRIT_PROGRESS",
        ),
        Option(
            "repro_data", bool, False, "store the arguments of the failed call, with their data, in the repro's folder", environment="FRIT_REPRO_DATA"
        ),
    )
}


#: The maximum number of sizes in all bucket lists of a graph together.
MOST_BUCKETS = 64

#: Options that apply before or after a graph is compiled. Neither the compiler nor the cache keys use them.
BESIDE = (
    "verify", "verify_action", "repro_dir", "repro_data", "minifier_level", "report_dir", "progress", "cache_dir", "threads", "min_operators", "dryrun",
)  # fmt: skip


def check_buckets(value):
    """Raises OptionError if a `buckets` option is malformed, whatever the program."""
    total = 0
    for key, sizes in value.items():
        if not isinstance(key, str) or not key:
            raise OptionError(f"frit: buckets are given by argument and dimension, like 'x[0]', not by {key!r}")
        if isinstance(sizes, str):
            if sizes not in ("ramp", "off"):
                raise OptionError(f"frit: buckets of {key!r} cannot be {sizes!r}; give a list of sizes, 'ramp' or 'off'")
            continue
        if not isinstance(sizes, (list, tuple)):
            shown = f"{type(sizes).__name__} {sizes!r}"
            raise OptionError(f"frit: buckets of {key!r} are a list of sizes, 'ramp' or 'off', not {shown}")
        _check_sizes(key, sizes)
        total += len(sizes)
    if total > MOST_BUCKETS:
        raise OptionError(f"frit: bucket lists hold {total} sizes together; a graph takes at most {MOST_BUCKETS}")


def _check_sizes(key, sizes):
    if not sizes:
        raise OptionError(f"frit: buckets of {key!r} are empty; give sizes in ascending order, or 'ramp'")
    before = 0
    for size in sizes:
        if type(size) is not int:
            raise OptionError(f"frit: buckets of {key!r} must be integers, found {size!r}")
        if size < 1:
            raise OptionError(f"frit: buckets of {key!r} must be positive sizes, found {size}")
        if size <= before:
            raise OptionError(f"frit: buckets of {key!r} must ascend, found {size} after {before}")
        before = size


def _check_number(name, number, what):
    if number < 0:
        raise OptionError(f"frit: option {name!r} takes a number of {what}, not {number}")


def nearest(name, known):
    """The part of a message that suggests the closest known name, or lists all."""
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(known))}"


def resolve(mode=None, options=None):
    """All options as a plain dict name -> value; raises an OptionError that says what to do."""
    given = inductor_options.translate(options or {})
    mode = given.pop("mode", None) if mode is None else mode
    mode = "default" if mode is None else mode
    if mode not in MODES:
        raise OptionError(f"frit: unknown mode {mode!r}; {nearest(mode, MODES)}")
    values = {name: _default(option) for name, option in REGISTRY.items()}
    values.update(MODES[mode], mode=mode)
    for name, value in given.items():
        values[name] = _checked(name, value)
    values["cache"] = values["cache"] and not values["dryrun"]
    if values["min_operators"] and values["fallback"] == "error":
        raise OptionError("frit: options 'min_operators' and 'fallback': 'error' contradict each other; small graphs would be left to ATen")
    return values


def _default(option):
    """The default of an option: the environment's value if it is valid, else the option's own, with a warning."""
    text = os.environ.get(option.environment, "") if option.environment else ""
    if not text:
        return option.default
    if option.type is bool:
        value = environment.truth(option.environment, text)
        return option.default if value is None else value
    if option.type is int and not text.isdecimal():
        environment.warn(f"{option.environment}={text!r} is not a number and is ignored")
        return option.default
    try:
        return _checked(option.name, option.type(text))
    except OptionError as error:
        environment.warn(f"{option.environment}={text!r} is ignored: {str(error).removeprefix('frit: ')}")
        return option.default


def _checked(name, value):
    option = REGISTRY.get(name)
    if option is None:
        if inductor_options.is_known(name):
            raise OptionError(f"frit: {name!r} is an option of Inductor, and frit has none like it; leave it out. docs/Integrations.md lists those that are translated")
        raise OptionError(f"frit: unknown option {name!r}; {nearest(name, REGISTRY)}")
    if type(value) is not option.type:
        shown = f"{type(value).__name__} {value!r}"
        raise OptionError(f"frit: option {name!r} takes a value of type {option.type.__name__}, not {shown}")
    if option.choices and value not in option.choices:
        raise OptionError(f"frit: option {name!r} cannot be {value!r}; {nearest(value, option.choices)}")
    if option.check is not None:
        option.check(value)
    return value


def list_options():
    """The names of all options, as torch._inductor.list_options gives Inductor's."""
    return sorted(REGISTRY)


def list_mode_options():
    """What each mode sets."""
    return {mode: dict(values) for mode, values in MODES.items()}
