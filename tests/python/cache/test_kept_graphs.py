"""Graphs from the disk cache, in the same process and in the next one, and damaged entries."""

import json
import logging
import os
import re
import sys

import fresh
import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit import backend
from frit.cache import compiled_graphs, disk_cache
from frit.cache.summary import is_summary

pytestmark = pytest.mark.usefixtures("folder")


def tally(name):
    return counters["frit"][name]


def compiled(function, *inputs, **how):
    """Returns the function's result under the backend, compiled as in a new process."""
    torch.compiler.reset()
    return torch.compile(function, backend="frit", **how)(*inputs)


def entries():
    """Returns the paths of entries that contain an artifact."""
    store = compiled_graphs._store()
    keys = {os.path.basename(path): path for path, _, _ in store.entries()}
    return [path for key, path in keys.items() if "same_as" not in disk_cache.unpack(key, store.read(key))[0]]


def forbid_compilation(monkeypatch):
    def refuse(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(backend, "build", refuse)


def softmax(x, w):
    return torch.softmax(x @ w, -1) * 2


def test_a_second_compilation_is_a_hit(monkeypatch):
    x, w = torch.randn(5, 6), torch.randn(6, 7)
    compiled(softmax, x, w)
    assert (tally("cache_misses"), tally("cache_stores"), tally("cache_hits")) == (1, 1, 0)
    forbid_compilation(monkeypatch)
    result = compiled(softmax, x, w)
    assert tally("cache_hits") == 1
    assert tally("kernels") == 1 and tally("aten:aten.mm.default") == 1, "counted as if compiled"
    torch.testing.assert_close(result, softmax(x, w))


def test_the_report_of_a_hit_is_read_when_somebody_asks(monkeypatch):
    x, w = torch.randn(5, 6), torch.randn(6, 7)
    compiled(softmax, x, w)
    fresh = dict(backend._EXECUTABLES[-1][1])
    forbid_compilation(monkeypatch)
    compiled(softmax, x, w)
    report = backend._EXECUTABLES[-1][1]
    assert "data" not in vars(report) and report["aten_calls"] == fresh["aten_calls"] and "data" in vars(report)


_BAD_CALLS = {"kernels": 1, "guards": 0, "calls": {"a": "b"}, "random": {}, "channels_last_results": [], "has_buckets": False}


@pytest.mark.parametrize("short", [None, {}, {"kernels": "1"}, _BAD_CALLS])
def test_a_summary_of_other_kinds_is_none(short):
    assert not is_summary(short)
    assert is_summary({"kernels": 1, "guards": 0, "calls": {"aten.mm.default": 2}, "random": {"aten.rand.default": 1}, "channels_last_results": [0], "has_buckets": True})


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_backward_is_told_how_a_kept_forward_lays_out_what_it_saves(monkeypatch, dynamic):
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.GELU(), torch.nn.Conv2d(4, 2, 3))
    x = torch.randn(2, 3, 9, 10)
    compiled(lambda x: layers(x).square().mean(), x, dynamic=dynamic).backward()
    expected = [p.grad.clone() for p in layers.parameters()]
    assert tally("cache_stores") == 2
    layers.zero_grad()
    forbid_compilation(monkeypatch)
    compiled(lambda x: layers(x).square().mean(), x, dynamic=dynamic).backward()
    assert tally("cache_hits") == 2
    torch.testing.assert_close([p.grad for p in layers.parameters()], expected)


def test_training_and_dynamic_graphs(monkeypatch):
    layer = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))

    def step(x):
        return layer(x).square().mean()

    x = torch.randn(5, 6)
    compiled(step, x, dynamic=True).backward()
    expected = [p.grad.clone() for p in layer.parameters()]
    assert tally("cache_stores") == 2
    forbid_compilation(monkeypatch)
    layer.zero_grad()
    compiled(step, x, dynamic=True).backward()
    assert tally("cache_hits") == 2
    for parameter, gradient in zip(layer.parameters(), expected):
        assert torch.equal(parameter.grad, gradient)


def test_constants_are_this_programs_own():
    def make(value):
        table = torch.tensor([value, 2.0])
        return lambda x: x + table

    x = torch.zeros(2)
    first = compiled(make(1.0), x)
    second = compiled(make(5.0), x)
    assert first.tolist() == [1.0, 2.0] and second.tolist() == [5.0, 2.0]


def test_python_steps_are_not_kept():
    def branch(x):
        return torch.cond(x.sum() > 0, lambda v: torch.quantize_per_tensor(v, 0.1, 10, torch.quint8).dequantize() + 1, lambda v: v - 1, (x,))

    compiled(branch, torch.ones(3))
    if tally("callbacks"):
        assert tally("cache_stores") == 0
        assert [n for n in counters["frit"] if n.startswith("cache_bypass:")]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "empty", "writable by others"])
def test_a_bad_entry_is_a_counted_miss_and_written_anew(damage):
    x, w = torch.randn(5, 6), torch.randn(6, 7)
    compiled(softmax, x, w)
    (path,) = entries()
    with open(path, "rb") as file:
        content = bytearray(file.read())
    if damage == "truncated":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[content.index(b"\x7fFRIT") + 500] ^= 4
    elif damage == "foreign":
        content = disk_cache.pack("00" * 32, {}, b"")
    elif damage == "empty":
        content = b""
    with open(path, "wb") as file:
        file.write(content)
    if damage == "writable by others":
        os.chmod(path, 0o666)
    result = compiled(softmax, x, w)
    torch.testing.assert_close(result, softmax(x, w))
    assert (tally("cache_bad_entries"), tally("cache_misses"), tally("cache_hits")) == (1, 1, 0)
    compiled(softmax, x, w)
    assert tally("cache_hits") == 1


def test_an_artifact_that_does_not_load_is_a_counted_miss():
    x, w = torch.randn(5, 6), torch.randn(6, 7)
    compiled(softmax, x, w)
    (path,) = entries()
    key = os.path.basename(path)
    with open(path, "rb") as file:
        description, _ = disk_cache.unpack(key, file.read())
    compiled_graphs._store().write(key, disk_cache.pack(key, description, b"whole, and no artifact"))
    torch.testing.assert_close(compiled(softmax, x, w), softmax(x, w))
    assert (tally("cache_bad_entries"), tally("cache_hits")) == (1, 0)


def test_a_disk_that_refuses_is_counted(folder):
    folder.write_text("a file where the folder should be")
    x, w = torch.randn(5, 6), torch.randn(6, 7)
    torch.testing.assert_close(compiled(softmax, x, w), softmax(x, w))
    assert (tally("cache_misses"), tally("cache_store_failures"), tally("cache_stores")) == (1, 1, 0)


def switched_off(monkeypatch):
    monkeypatch.setenv("FRIT_CACHE", "0")
    return {}


def torch_says_no(monkeypatch):
    torch.compiler.config.force_disable_caches = True
    return {}


def by_option(_):
    return {"options": {"cache": False}}


@pytest.mark.parametrize("how", [switched_off, torch_says_no, by_option])
def test_the_cache_can_be_switched_off(monkeypatch, how, folder):
    compiled(softmax, torch.randn(5, 6), torch.randn(6, 7), **how(monkeypatch))
    assert tally("cache_misses") == 0 and not folder.exists()


def test_the_portable_cache_carries_entries(monkeypatch, tmp_path):
    from torch.compiler._cache import CacheArtifactManager

    x, w = torch.randn(5, 6), torch.randn(6, 7)
    with CacheArtifactManager.with_fresh_cache():
        compiled(softmax, x, w)
        blob, info = torch.compiler.save_cache_artifacts()
        assert len(info.frit_artifacts) == 2, "an entry, and its alias by what the graph means"
        monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path / "another machine"))
        loaded = frit.load_cache_artifacts(blob)
        assert loaded.frit_artifacts == info.frit_artifacts
        forbid_compilation(monkeypatch)
        torch.testing.assert_close(compiled(softmax, x, w), softmax(x, w))
        assert tally("cache_hits") == 1
        # A warm process can save again.
        assert torch.compiler.save_cache_artifacts()[1].frit_artifacts == info.frit_artifacts


_PROCESS = """
import json, sys, torch
from torch._dynamo.utils import counters
if sys.argv[1] == "load":
    import frit
    frit.load_cache_artifacts(open(sys.argv[2], "rb").read())
if sys.argv[1] == "import":
    import frit.kept
    torch.compiler.load_cache_artifacts(open(sys.argv[2], "rb").read())
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Softmax(-1))
result = torch.compile(model, backend="frit")(torch.randn(4, 6)).sum(0).tolist()
if sys.argv[1] == "save":
    open(sys.argv[2], "wb").write(torch.compiler.save_cache_artifacts()[0])
print(json.dumps({"result": result, **{k: v for k, v in counters["frit"].items() if k.startswith("cache")}}))
"""


def in_a_process(cache_folder, *arguments, hashes=0):
    environment = dict(os.environ, FRIT_CACHE_DIR=str(cache_folder), PYTHONPATH=os.pathsep.join(sys.path))
    done = fresh.run(["-c", _PROCESS, *arguments], env=environment, check=True, hashes=hashes)
    return json.loads(done.stdout.splitlines()[-1])


def test_the_next_process_compiles_nothing(tmp_path):
    first = in_a_process(tmp_path / "a", "save", tmp_path / "blob")
    second = in_a_process(tmp_path / "a", "run", hashes=1)
    elsewhere = [in_a_process(tmp_path / how, how, tmp_path / "blob", hashes=1) for how in ("load", "import")]
    assert (first["cache_misses"], first["cache_stores"]) == (1, 1)
    for later in (second, *elsewhere):
        assert later["cache_hits"] == 1 and "cache_misses" not in later
        assert later["result"] == first["result"]


def test_the_log_says_what_came_from_the_cache(caplog):
    x, w = torch.randn(5, 6), torch.randn(6, 7)
    lines = []
    with caplog.at_level(logging.DEBUG, "frit.artifact.timing"):
        for function in (softmax, softmax, lambda a, b: torch.mul(torch.softmax(torch.mm(a, b), 1), 2)):
            caplog.clear()
            compiled(function, x, w)
            lines.append([record.getMessage() for record in caplog.records if "nodes" in record.getMessage()][-1])
    said = [re.fullmatch(r"graph0_inference: \d+ nodes, (.*) in \d+\.\d ms", line)[1] for line in lines]
    assert said == ["compiled and loaded", "from the cache", "from the cache by its canonical form"]


_HOMELESS = """
import os, sys
if sys.argv[1] == "unknown":
    os.environ.pop("HOME", None)
    os.path.expanduser = lambda path: path  # as it is for a user id that belongs to nobody
else:
    os.environ["HOME"] = "/dev/null"
"""


@pytest.mark.parametrize("home, store_failures", [("unknown", None), ("no folder", 1)])
def test_without_a_home_everything_is_compiled(home, store_failures):
    environment = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "FRIT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")}
    environment.update(PYTHONPATH=os.pathsep.join(sys.path))
    done = fresh.run(["-c", _HOMELESS + _PROCESS, home], env=environment)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["cache_misses"] == 1 and seen.get("cache_store_failures") == store_failures and "cache_stores" not in seen


def test_processes_that_compile_one_graph_at_once(tmp_path):
    """Only four, because each compiles; test_disk_cache tests the files of the cache with 64 processes."""
    environment = dict(os.environ, FRIT_CACHE_DIR=str(tmp_path / "shared"), PYTHONPATH=os.pathsep.join(sys.path))
    start = [fresh.start(["-c", _PROCESS, "run"], env=environment, hashes=number % 2) for number in range(4)]
    seen = [json.loads(process.communicate()[0].splitlines()[-1]) for process in start]
    assert all(one["result"] == seen[0]["result"] for one in seen)
    assert all(one.get("cache_hits", 0) + one.get("cache_hits_canonical", 0) + one.get("cache_misses", 0) == 1 for one in seen)
    assert not any("cache_bad_entries" in one or "cache_store_failures" in one for one in seen)
    good, bad = disk_cache.DiskCache(str(tmp_path / "shared")).verify()
    assert (good, bad) == (2, []), "an entry and its alias"
    assert in_a_process(tmp_path / "shared", "run")["cache_hits"] == 1
