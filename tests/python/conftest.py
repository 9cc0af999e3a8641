"""Shared set-up: a fresh Dynamo state per test, two threads, and the switch to the JSON interpreter.

With FRIT_TEST_ORACLE=1 every graph is run by `json_interpreter` instead of the native libraries: a failure is
then in capture or in the test itself; a failure only without it is in the compiler or the runtime. With
FRIT_TEST_TARGET=simt every graph runs its GPU kernels under emulation, and their PTX is assembled for
FRIT_TEST_ARCHITECTURES (scripts/gpu-sweep). With FRIT_PADDING=force FRIT_POISON=1 every library call that has a rule is padded, and every
padded or unused byte is poisoned; tests that count kernels, copies or bytes (not_padded.txt) then run without padding.
"""

import collections
import gc
import os
import sys

import pytest
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# support/, and the rooms: some tests take a program from those of another room. No two files have one name.
FOLDERS = sorted(entry.path for entry in os.scandir(HERE) if entry.is_dir() and entry.name != "__pycache__")
for path in (*FOLDERS, ROOT):
    if path not in sys.path:
        sys.path.insert(0, path)

import json_interpreter  # noqa: E402

from frit import backend, native  # noqa: E402

# Tests import `frit._C` by its name; in an installed package it has a place for each torch.
native._choose(torch.__version__)
torch.set_num_threads(2)
# Dynamo measures the guards of each traced graph with flushed caches, which takes 20 to 35 ms. The tests do not need that time, and Dynamo checks
# separately that the guards hold.
torch._dynamo.guards.profile_guard_manager = lambda guards, scope, runs: 0.0
# Every test compiles its graphs; tests of the cache switch it on in a separate folder.
os.environ["FRIT_CACHE"] = "0"
# Failures of frit are errors here, not calls of ATen.
os.environ["FRIT_STRICT"] = "1"
# Tests provoke errors; tests of repros set another folder.
os.environ["FRIT_REPRO_DIR"] = "off"
# Importing the benchmarks switches torch's caches off by a variable, unless it is set. The tests and the processes that they start (also pytest's
# workers) must not have it: torch prefers the variable, even "0", to what a test sets. Tests of another folder may have imported them before.
if "TORCHINDUCTOR_FORCE_DISABLE_CACHES" not in os.environ or "benchmarks" in sys.modules:
    import benchmarks  # noqa: F401

    os.environ.pop("TORCHINDUCTOR_FORCE_DISABLE_CACHES", None)


def build_interpreted(captured, settings, name, match=None):
    """Replaces `frit.backend.build`."""
    return json_interpreter.compile_json(captured.json, captured.constants), {"channels_last_results": []}


@pytest.fixture
def seen():
    """Collects the executables of a test."""
    import checker

    with checker.executables() as found:
        yield found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the test's disk cache, which is on for graphs, here and in processes that the test starts. AOTAutograd's results are off, because
    they would hide the graphs; `results_folder` has them too."""
    monkeypatch.setenv("TORCHINDUCTOR_AUTOGRAD_CACHE", "0")
    with torch._functorch.config.patch(enable_autograd_cache=False):
        yield from _cache_in(tmp_path / "cache", monkeypatch)


@pytest.fixture
def results_folder(tmp_path, monkeypatch):
    """Where the disk cache of the test lies, which is on for graphs and for AOTAutograd's results."""
    with torch._functorch.config.patch(enable_autograd_cache=True):
        yield from _cache_in(tmp_path / "cache", monkeypatch)


def _cache_in(folder, monkeypatch):
    monkeypatch.setenv("FRIT_CACHE", "1")
    monkeypatch.setenv("FRIT_CACHE_DIR", str(folder))
    with torch.compiler.config.patch(force_disable_caches=False):
        yield folder


@pytest.fixture
def interpreted(monkeypatch):
    """Graphs captured in this test are run by the JSON interpreter."""
    monkeypatch.setattr(backend, "build", build_interpreted)


@pytest.fixture
def graphs(monkeypatch):
    """What a test captures, in order."""
    seen = []
    write = backend.capture

    def record(gm):
        captured = write(gm)
        seen.append(captured)
        return captured

    monkeypatch.setattr(backend, "capture", record)
    return seen


@pytest.fixture
def lenient(monkeypatch):
    """Graphs that cannot be captured or compiled run as they were traced, as they do for users; elsewhere in the tests they are errors."""
    monkeypatch.setenv("FRIT_STRICT", "0")


@pytest.fixture(autouse=True)
def fresh_dynamo(monkeypatch, request):
    for switch in request.node.stash.get(_WITHOUT, ()):
        monkeypatch.delenv(switch)
    if os.environ.get("FRIT_TEST_ORACLE"):
        monkeypatch.setattr(backend, "build", build_interpreted)
    if os.environ.get("FRIT_TEST_TARGET") == "simt":
        import emulation

        emulation.sweep().install(monkeypatch)
    torch.manual_seed(0)
    # Torch resets the backends that Dynamo called; tests call ours without Dynamo as well, and its counters would stay.
    torch.compiler.reset()
    backend.reset()
    yield
    torch.compiler.reset()
    backend.reset()


def pytest_collection_finish(session):
    """Torch's modules alone are half a million objects. Looking through them again and again for garbage took a tenth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_sessionfinish(session):
    """What a sweep compiled is assembled at its end; the table goes to FRIT_TEST_PTX_TABLE."""
    if os.environ.get("FRIT_TEST_TARGET") == "simt":
        import emulation

        rows = emulation.sweep().assemble()
        with open(os.environ["FRIT_TEST_PTX_TABLE"], "w", encoding="utf-8") as table:
            table.writelines(f"{name} sm_{arch} {registers}\n" for name, arch, registers in sorted(rows))


def _named(file, columns):
    """The lines of a list beside this file: `file::test<TAB>...`, comments left out."""
    with open(os.path.join(HERE, file), encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if line.strip() and not line.startswith("#")]
    assert all(len(row) == columns for row in rows), f"{file}: {columns} columns, separated by tabs"
    return {row[0]: row[1:] for row in rows}


_WITHOUT = pytest.StashKey()


def _switches_off(items):
    """What a sweep with padding and poison leaves out of a test that counts what they add."""
    named = _named("not_padded.txt", 3)
    off = {"padding": ["FRIT_PADDING"], "both": ["FRIT_PADDING", "FRIT_POISON"]}
    for item in items:
        name = item.nodeid.rsplit("/", 1)[-1]
        row = named.get(name) or named.get(name.partition("[")[0]) or named.get(name.partition("::")[0])
        if row:
            item.stash[_WITHOUT] = [switch for switch in off[row[0]] if switch in os.environ]


# The files that take longest, longest first (scripts/run-tests names them at its end).
_LONG = (
    "test_batch_invariant",
    "test_gpu_kernels",
    "test_gpu_table",
    "test_operators",
    "test_random_programs",
    "test_control_flow",
    "test_wheel",
    "test_integrations",
    "test_lists",
    "test_gpu_check",
    "test_hard_sizes",
    "test_gpu_suite",
    "test_operator_database",
    "test_offline_models",
    "test_hidden_views",
    "test_ragged",
    "test_silent_classes_structure",
    "test_specialize",
    "test_programs",
    "test_cut_errors",
    "test_capture_details",
    "test_autograd_results",
    "test_kept_graphs",
    "test_eager_refusals",
    "test_kernels",
    "test_memory",
    "test_fresh",
    "test_training_sizes",
    "test_training",
)


def _long_files_first(items):
    """So that no worker begins with one when the others are done; the rest as pytest-xdist would, by the number of tests."""
    count = collections.Counter(item.path for item in items)
    longest = {name: -place for place, name in enumerate(reversed(_LONG), 1)}
    # Tests of one file stay together.
    items.sort(key=lambda item: (longest.get(item.path.stem, 0), -count[item.path], str(item.path)))


def pytest_collection_modifyitems(items):
    """A known gap must fail: one that passes is mended, and its line has to go. So must in a sweep what only the host's own code
    can do; what is too large for the emulation is left out."""
    _long_files_first(items)
    _switches_off(items)
    gaps = _named("known_gaps.txt", 2)
    marks = {name: pytest.mark.xfail(reason=reason, strict=True) for name, (reason,) in gaps.items()}
    if os.environ.get("FRIT_TEST_TARGET") == "simt":
        for name, (kind, reason) in _named("not_emulated.txt", 3).items():
            said = f"not emulated: {reason}"
            marks[name] = pytest.mark.skip(reason=said) if kind == "large" else pytest.mark.xfail(reason=said, strict=True)
    for item in items:
        name = item.nodeid.rsplit("/", 1)[-1]
        for key in (name, name.partition("[")[0]):
            if key in marks:
                item.add_marker(marks[key])
                break
