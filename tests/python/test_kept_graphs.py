"""Graphs taken from the disk cache: in this process and in the next, with everything that can be wrong."""

import json
import os
import subprocess
import sys

import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit import backend, disk_cache, kept
from frit.summary import is_summary


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FRIT_CACHE", "1")
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path / "cache"))
    with torch.compiler.config.patch(force_disable_caches=False):
        yield tmp_path / "cache"


def tally(name):
    return counters["frit"][name]


def compiled(function, *inputs, **how):
    """The function's result under the backend, compiled as a new process would."""
    torch.compiler.reset()
    return torch.compile(function, backend="frit", **how)(*inputs)


def entries():
    return [path for path, _, _ in kept._store().entries()]


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


_BAD_CALLS = {"kernels": 1, "guards": 0, "calls": {"a": "b"}, "channels_last_results": [], "has_buckets": False}


@pytest.mark.parametrize("short", [None, {}, {"kernels": "1"}, _BAD_CALLS])
def test_a_summary_of_other_kinds_is_none(short):
    assert not is_summary(short)
    assert is_summary({"kernels": 1, "guards": 0, "calls": {"aten.mm.default": 2}, "channels_last_results": [0], "has_buckets": True})


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
        return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))

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
        content[-100] ^= 4
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
    kept._store().write(key, disk_cache.pack(key, description, b"whole, and no artifact"))
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
        assert len(info.frit_artifacts) == 1
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
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Softmax(-1))
result = torch.compile(model, backend="frit")(torch.randn(4, 6)).sum(0).tolist()
if sys.argv[1] == "save":
    open(sys.argv[2], "wb").write(torch.compiler.save_cache_artifacts()[0])
print(json.dumps({"result": result, **{k: v for k, v in counters["frit"].items() if k.startswith("cache")}}))
"""


def in_a_process(cache_folder, *arguments):
    environment = dict(os.environ, FRIT_CACHE_DIR=str(cache_folder), PYTHONPATH=os.pathsep.join(sys.path))
    environment.pop("TORCHINDUCTOR_FORCE_DISABLE_CACHES", None)  # the benchmarks set it where they are imported
    command = [sys.executable, "-c", _PROCESS, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_the_next_process_compiles_nothing(tmp_path):
    first = in_a_process(tmp_path / "a", "save", tmp_path / "blob")
    second = in_a_process(tmp_path / "a", "run")
    elsewhere = in_a_process(tmp_path / "b", "load", tmp_path / "blob")
    assert (first["cache_misses"], first["cache_stores"]) == (1, 1)
    for later in (second, elsewhere):
        assert later["cache_hits"] == 1 and "cache_misses" not in later
        assert later["result"] == first["result"]
