"""The canonical key: a program that is written differently, but has the same meaning, finds the stored graph; no other program does."""

import json
import os

import pytest
import torch
from torch._dynamo.utils import counters

import frit
from frit import backend, options
from frit.cache import compiled_graphs, disk_cache
from frit.native import compiler

pytestmark = pytest.mark.usefixtures("folder")


def compiled(function, *inputs, **how):
    """Returns the function's result under the backend, compiled as in a new process, and the cache's counters."""
    torch.compiler.reset()
    result = torch.compile(function, backend="frit", **how)(*inputs)
    return result, {name[6:]: count for name, count in counters["frit"].items() if name.startswith("cache_")}


MISS = {"misses": 1, "stores": 1, "aliases": 1}
ALIKE = {"hits_canonical": 1, "aliases": 1}
HIT = {"hits": 1}


def first(x, w):
    y = torch.softmax(x @ w, -1)
    return y * 2 + x.sum() * x.shape[0] * w.shape[1]


def written_differently(ids, table):
    z = ids.mm(table)
    unused = z.exp()  # noqa: F841
    return torch.add(torch.mul(torch.softmax(z, 1), 2), ids.sum() * ids.shape[0] * table.shape[1])


def inputs(rows=5):
    return torch.randn(rows, 6), torch.randn(6, 7)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_program_written_differently_is_a_hit_and_the_next_time_a_fast_one(dynamic):
    x, w = inputs()
    assert compiled(first, x, w, dynamic=dynamic)[1] == MISS
    for what in (ALIKE, HIT, HIT):
        result, seen = compiled(written_differently, x, w, dynamic=dynamic)
        assert seen == what
        torch.testing.assert_close(result, first(x, w))
        assert counters["frit"]["kernels"] == 2 and counters["frit"]["aten:aten.mm.default"] == 1, "counted as if compiled"
    assert compiled(first, x, w, dynamic=dynamic)[1] == HIT


def test_the_report_has_this_programs_sizes_and_says_whose_lines_it_has():
    x, w = inputs()
    compiled(first, x, w, dynamic=True)
    theirs = backend._EXECUTABLES[-1][1]
    compiled(written_differently, x, w, dynamic=True, options={"cache": False})
    mine = {entry["symbol"] for entry in backend._EXECUTABLES[-1][1]["buckets"]}
    compiled(written_differently, x, w, dynamic=True)
    alike = backend._EXECUTABLES[-1][1]
    compiled(written_differently, x, w, dynamic=True)
    fast = backend._EXECUTABLES[-1][1]
    assert dict(alike) == dict(fast)
    assert {entry["symbol"] for entry in fast["buckets"]} == mine != {entry["symbol"] for entry in theirs["buckets"]}
    assert [entry["names"] for entry in fast["buckets"]] == [["ids[0]"], ["ids[1]", "table[0]"], ["table[1]"]]
    assert "lines_of" in fast and "lines_of" not in theirs
    (strides,) = (guard["requirement"] for guard in fast["guards"] if guard["kind"] == "strides")
    assert strides.split("(")[1].split(",")[0] in mine
    assert any("in first" in line for kernel in fast["kernels"] for line in kernel["sources"])


def test_an_entry_that_another_process_kept_meanwhile_stays(monkeypatch):
    """The entry was missing when the graph's fast key was looked up, but exists when the canonical key is."""
    x, w = inputs()
    assert compiled(first, x, w)[1] == MISS
    load = compiled_graphs.load
    monkeypatch.setattr(compiled_graphs, "load", lambda *arguments: None)
    assert compiled(first, x, w)[1] == {"hits_canonical": 1}
    monkeypatch.setattr(compiled_graphs, "load", load)
    assert compiled(first, x, w)[1] == HIT


DIFFERENT = {
    "a literal": dict(function=lambda x, w: torch.softmax(x @ w, -1) * 3 + x.sum() * x.shape[0] * w.shape[1]),
    "the type of a literal": dict(function=lambda x, w: torch.softmax(x @ w, -1) * 2.5 + x.sum() * x.shape[0] * w.shape[1]),
    "an operator": dict(function=lambda x, w: torch.softmax(x @ w, -1) * 2 - x.sum() * x.shape[0] * w.shape[1]),
    "which of two sizes": dict(function=lambda x, w: torch.softmax(x @ w, -1) * 2 + x.sum() * x.shape[1] * w.shape[1]),
    "the order of results": dict(function=lambda x, w: (x.sum(), first(x, w))),
    "an option": dict(function=written_differently, options={"numerics": "eager"}),
    "another": dict(function=written_differently, options={"fusion": False}),
    "buckets": dict(function=written_differently, options={"buckets": {"ids[0]": [8, 16]}}),
    "the class of a hint": dict(function=written_differently, rows=40),
    "a stride": dict(function=written_differently, stride=True),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_whatever_else_differs_is_a_miss(what):
    how = dict(DIFFERENT[what])
    function, rows, stride = how.pop("function"), how.pop("rows", 5), how.pop("stride", False)
    compiled(first, *inputs(), dynamic=True)
    x, w = inputs(rows)
    _, seen = compiled(function, x.t().contiguous().t() if stride else x, w, dynamic=True, **how)
    assert seen == MISS


def bounded(least):
    def function(x):
        torch._check(x.shape[0] >= least)
        return x * x.shape[0]

    return function


def test_a_guard_is_in_the_key():
    """The compiler's assumptions depend on the range of a size."""
    x = torch.randn(40, 3)
    torch._dynamo.mark_dynamic(x, 0)
    assert compiled(bounded(8), x)[1] == MISS
    assert compiled(bounded(9), x)[1] == MISS
    assert compiled(bounded(8), x)[1] == HIT


def test_the_same_buckets_under_another_name_are_the_same():
    x, w = inputs()
    assert compiled(first, x, w, dynamic=True, options={"buckets": {"x[0]": [8, 16]}})[1] == MISS
    assert compiled(written_differently, x, w, dynamic=True, options={"buckets": {"ids[0]": [8, 16]}})[1] == ALIKE
    assert compiled(written_differently, x, w, dynamic=True, options={"buckets": {"ids[1]": [8, 16]}})[1] == MISS


def test_constants_are_matched_by_position():
    def make(left, right):
        a, b = torch.tensor([left, 2.0]), torch.tensor([right, 3.0])
        return lambda x: x * a + b

    def other(left, right):
        a, b = torch.tensor([left, 2.0]), torch.tensor([right, 3.0])
        return lambda tensor: torch.add(tensor * a, b)

    x = torch.ones(2)
    assert compiled(make(1.0, 10.0), x)[0].tolist() == [11.0, 5.0]
    result, seen = compiled(other(4.0, 20.0), x)
    assert result.tolist() == [24.0, 5.0] and "misses" not in seen


@pytest.mark.parametrize("dynamic", [False, True])
def test_training(dynamic):
    """A forward from the cache gives its backward the same layouts. Only one size varies, because torch orders several for the backward by name."""
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.GELU(), torch.nn.Conv2d(4, 2, 3))
    x = torch.randn(5, 3, 9, 10)
    if dynamic:
        torch._dynamo.mark_dynamic(x, 0)

    def loss(x):
        return layers(x).square().mean()

    def cost(images):
        y = layers(images)
        return torch.mean(torch.square(y))

    result, _ = compiled(loss, x)
    result.backward()
    assert counters["frit"]["cache_misses"] == 2
    expected = [p.grad.clone() for p in layers.parameters()]
    layers.zero_grad()
    result, _ = compiled(cost, x)
    result.backward()
    hits = counters["frit"]["cache_hits"] + counters["frit"]["cache_hits_canonical"]
    assert (hits, counters["frit"]["cache_misses"]) == (2, 0) and (not dynamic or counters["frit"]["cache_hits_canonical"])
    torch.testing.assert_close([p.grad for p in layers.parameters()], expected, rtol=0, atol=0)


def aliases():
    """Returns the key of each alias -> the key that it names."""
    store = compiled_graphs._store()
    found = {os.path.basename(path): disk_cache.unpack(os.path.basename(path), store.read(os.path.basename(path)))[0] for path, _, _ in store.entries()}
    return {key: description["same_as"] for key, description in found.items() if "same_as" in description}


def rewrite(key, how):
    store = compiled_graphs._store()
    content = store.read(key)
    description, artifact = disk_cache.unpack(key, content)
    if how == "flipped":
        content = content[:-3] + bytes([content[-3] ^ 4]) + content[-2:]
    elif how == "truncated":
        content = content[: len(content) // 2]
    elif how == "names itself":
        content = disk_cache.pack(key, {**description, "same_as": key}, artifact)
    elif how == "names a path":
        content = disk_cache.pack(key, {**description, "same_as": "../../etc/passwd"}, artifact)
    elif how == "has other sizes":
        content = disk_cache.pack(key, {**description, "symbols": ["s1"]}, artifact)
    assert store.write(key, content) == ""


@pytest.mark.parametrize("damage", ["flipped", "truncated", "names itself", "names a path", "has other sizes"])
def test_a_bad_alias_is_a_counted_miss_and_written_anew(damage):
    x, w = inputs()
    compiled(first, x, w, dynamic=True)
    before = set(aliases())
    compiled(written_differently, x, w, dynamic=True)
    (fast,) = set(aliases()) - before
    rewrite(fast, damage)
    result, seen = compiled(written_differently, x, w, dynamic=True)
    torch.testing.assert_close(result, first(x, w))
    assert seen == {"bad_entries": 1, **ALIKE}
    assert compiled(written_differently, x, w, dynamic=True)[1] == HIT


@pytest.mark.parametrize("damage", ["flipped", "names itself", "names a path"])
def test_a_bad_canonical_alias_is_a_counted_miss(damage):
    x, w = inputs()
    compiled(first, x, w)
    (canonical,) = aliases()
    rewrite(canonical, damage)
    result, seen = compiled(written_differently, x, w)
    torch.testing.assert_close(result, first(x, w))
    assert seen == {"bad_entries": 1, **MISS}


def test_an_alias_of_an_entry_that_left_is_a_miss():
    x, w = inputs()
    compiled(first, x, w)
    compiled(written_differently, x, w)
    (entry,) = set(aliases().values())
    compiled_graphs._store().drop(entry)
    assert compiled(written_differently, x, w)[1] == MISS
    assert compiled(written_differently, x, w)[1] == HIT
    assert compiled(first, x, w)[1] == ALIKE


def test_aliases_are_small_and_counted_apart(capsys):
    from frit.__main__ import main

    x, w = inputs()
    compiled(first, x, w)
    compiled(written_differently, x, w)
    assert main(["cache", "status"]) == 0
    assert "1 entries and 2 aliases" in capsys.readouterr().out
    assert main(["cache", "verify"]) == 0
    assert all(os.path.getsize(compiled_graphs._store().path(key)) < 1000 for key in aliases())


def test_the_compiler_asks_once_and_an_error_of_who_is_asked_is_raised():
    gm = torch.fx.experimental.proxy_tensor.make_fx(first, tracing_mode="symbolic")(*inputs())
    captured = backend.capture(gm)
    settings = json.dumps(options.resolve())
    asked = []
    native = compiler()
    result = native.compile(captured.json, settings, lambda *form: asked.append(form))
    ((digest, symbols),) = asked
    assert len(digest) == 64 and set(symbols) == set(json.loads(captured.json)["range_constraints"]) and result.artifact
    assert native.compile(captured.json, settings, lambda *_: True).artifact == b""
    with pytest.raises(ZeroDivisionError):
        native.compile(captured.json, settings, lambda *_: 1 / 0)


def test_kernels_for_buckets_of_a_program_found_by_its_meaning():
    """They are compiled from the stored program: its text, its names of sizes, its entries on disk."""
    how = {"dynamic": True, "options": {"bucket_policy": "specialize", "buckets": {"x[0]": [8, 16]}}}
    compiled(lambda x: torch.softmax(x * 2, -1), torch.randn(5, 7), **how)
    torch.compiler.reset()
    how["options"]["buckets"] = {"values[0]": [8, 16]}
    run = torch.compile(lambda values: torch.softmax(torch.mul(values, 2), -1), backend="frit", **how)
    for size in (5, 6):
        run(torch.randn(size, 7))
    assert frit.wait_for_background(60)
    x = torch.randn(7, 7)
    torch.testing.assert_close(run(x), torch.softmax(x * 2, -1))
    assert counters["frit"]["cache_hits_canonical"] == 1 and frit.counts()["specialized_calls"] == 1
    executable, report = backend._EXECUTABLES[-1]
    made = executable()._specializer._settings["symbol_buckets"]
    assert made == f"%{report.as_compiled['buckets'][0]['symbol']}=8,16" != f"%{report['buckets'][0]['symbol']}=8,16"
