"""Buckets: named by argument and dimension, chosen at every call, counted, and without effect on results."""

import json
import subprocess

import checker
import numpy as np
import pytest
import torch
from exported import TOOLS

import frit
from frit import backend
from frit.errors import OptionError
from frit.native import compiler
from frit.sizes import buckets


def softmax(x):
    return torch.softmax(x * 2, -1)


def compiled_with(function, asked, **settings):
    settings.setdefault("dynamic", True)
    return torch.compile(function, backend="frit", options={"buckets": asked}, **settings)


def reports(function, *calls, asked=None, **settings):
    """Returns the part of each graph's report on its sizes."""
    seen = []

    def observe(name, stage, captured, report, executable):
        seen.append((stage, report["buckets"]))

    backend._OBSERVERS.append(observe)
    try:
        run = compiled_with(function, asked or {}, **settings)
        for call in calls:
            run(*call)
    finally:
        backend._OBSERVERS.remove(observe)
    return seen


def entry_of(function, *calls, asked, **settings):
    (_, entries), *_ = reports(function, *calls, asked=asked, **settings)
    return next(entry for entry in entries if entry["asked"])


# -- keys ------------------------------------------------------------------------------------------


def test_a_list_for_one_dimension():
    entry = entry_of(softmax, (torch.randn(5, 7),), asked={"x[0]": [8, 16, 32]})
    assert entry["names"] == ["x[0]"] and entry["policy"] == "list" and entry["sizes"] == [8, 16, 32]


def test_the_ramp_stops_at_the_declared_maximum():
    x = torch.randn(5, 7)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=100)
    entry = entry_of(softmax, (x,), asked={"x[0]": "ramp"}, dynamic=None)
    assert entry["sizes"] == [2, 4, 8, 16, 32, 64, 72, 80, 88, 96, 100]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(9))
        self.fc = torch.nn.Linear(4, 4)
        self.extra = {"k": torch.randn(11)}

    def forward(self, x, *, mask=None, **more):
        return self.fc(x).sum() + mask.sum() + more["bias"].sum() + more["pieces"][1].sum() + self.table.sum() + self.extra["k"].sum()


@pytest.mark.parametrize("key", ["x[0]", "mask[0]", "more['bias'][0]", "more['pieces'][1][0]", "self.extra['k'][0]"])
def test_keywords_containers_and_attributes(key):
    model = Model()
    arguments = {"mask": torch.ones(6), "bias": torch.ones(7), "pieces": [torch.ones(3), torch.ones(8)]}
    run = torch.compile(model, backend="frit", dynamic=True, options={"buckets": {key: [8, 64]}})
    with torch.no_grad():
        torch.testing.assert_close(run(torch.ones(5, 4), **arguments), model(torch.ones(5, 4), **arguments))
    assert frit.counts()["buckets"][key]["hits"] == 1


def test_integers():
    def function(x, n):
        return x[:n] * n

    entry = entry_of(function, (torch.randn(9), 5), asked={"n": [4, 8]})
    assert entry["names"] == ["n"] and entry["sizes"] == [4, 8]


def test_static_sizes_are_accepted_and_have_no_buckets():
    """With automatic dynamic shapes the first graph is static, and keys are valid for it too."""
    seen = reports(softmax, (torch.randn(5, 7),), (torch.randn(6, 7),), asked={"x[0]": [8]}, dynamic=None)
    assert [[entry["sizes"] for entry in entries if entry["asked"]] for _, entries in seen] == [[], [[8]]]


def test_a_key_of_a_later_graph():
    def function(x, y):
        z = x + 1
        torch._dynamo.graph_break()
        return z * 2, y * 2

    run = compiled_with(function, {"y[0]": [8], "z[0]": [16]})
    run(torch.ones(5), torch.ones(6))
    assert set(frit.counts()["buckets"]) == {"y[0]", "z[0]"}


def test_backward_graphs_know_the_same_sizes():
    def function(x):
        return (torch.sin(x) * x).sum()

    run = compiled_with(function, {"x[0]": [8, 16]})
    for n in (5, 9, 20):
        run(torch.randn(n, 4, requires_grad=True)).backward()
    counted = frit.counts()["buckets"]["x[0]"]
    assert (counted["hits"], counted["misses"]) == (4, 2)
    assert counted["logical"] == 2 * (5 + 9 + 20) and counted["padded"] == 2 * (8 + 16 + 20)


WRONG = [
    ({"x[0]": []}, "buckets of 'x[0]' are empty"),
    ({"x[0]": [16, 8]}, "buckets of 'x[0]' must ascend, found 8 after 16"),
    ({"x[0]": [8, 8]}, "buckets of 'x[0]' must ascend, found 8 after 8"),
    ({"x[0]": [-8, 8]}, "buckets of 'x[0]' must be positive sizes, found -8"),
    ({"x[0]": [0]}, "buckets of 'x[0]' must be positive sizes, found 0"),
    ({"x[0]": [8.0]}, "buckets of 'x[0]' must be integers, found 8.0"),
    ({"x[0]": [True]}, "buckets of 'x[0]' must be integers, found True"),
    ({"x[0]": ["8"]}, "buckets of 'x[0]' must be integers, found '8'"),
    ({"x[0]": "rmap"}, "buckets of 'x[0]' cannot be 'rmap'"),
    ({"x[0]": 8}, "are a list of sizes, 'ramp' or 'off', not int 8"),
    ({0: [8]}, "by argument and dimension, like 'x[0]', not by 0"),
    ({"x[0]": list(range(1, 40)), "x[1]": list(range(1, 40))}, "hold 78 sizes together; a graph takes at most 64"),
    ({"q[0]": [8]}, "no argument dimension 'q[0]' for buckets; known: x[0], x[1]"),
    ({"x[2]": [8]}, "no argument dimension 'x[2]' for buckets; known: x[0], x[1]"),
    ({"s77": [8]}, "'s77' is torch's name of a size, which changes with the program; known: x[0], x[1]"),
]


@pytest.mark.parametrize("asked, message", WRONG, ids=[message[:40] for _, message in WRONG])
def test_what_is_wrong_is_one_clear_error(asked, message):
    with pytest.raises(Exception) as caught:
        compiled_with(softmax, asked)(torch.randn(5, 7))
    lines = [line for line in str(caught.value).splitlines() if "frit: " in line]
    assert len(lines) == 1 and message in lines[0]


def test_two_keys_of_one_size_must_agree():
    def add(x, y):
        return x + y

    inputs = torch.randn(5), torch.randn(5)
    with pytest.raises(Exception, match=r"'x\[0\]' and 'y\[0\]' differ, but both are one size \(x\[0\] = y\[0\]\)"):
        compiled_with(add, {"x[0]": [8], "y[0]": [16]})(*inputs)
    torch.compiler.reset()
    compiled_with(add, {"x[0]": [8], "y[0]": [8]})(*inputs)
    assert frit.counts()["buckets"] == {"x[0] = y[0]": {"hits": 1, "misses": 0, "logical": 5, "padded": 8, "waste_percent": 37.5}}


def test_names_of_sources():
    assert buckets.readable("L['x']") == "x"
    assert buckets.readable("L['self']._modules['fc']._parameters['weight']") == "self.fc.weight"
    assert buckets.readable("L['kw']['lst'][0]") == "kw['lst'][0]"
    assert buckets.readable("G['table']") == "table"


# -- calls -----------------------------------------------------------------------------------------


def test_hits_misses_and_waste():
    run = compiled_with(softmax, {"x[0]": [8, 16]})
    for n in (5, 8, 5, 5, 17, 100, 9):
        checker.check(softmax, torch.randn(n, 7), compiled=run)
    counted = frit.counts()
    logical, padded = 5 + 8 + 5 + 5 + 17 + 100 + 9, 8 * 4 + 17 + 100 + 16
    assert counted["bucket_hits"] == 5 and counted["bucket_misses"] == 2
    assert counted["buckets"]["x[0]"] == {
        "hits": 5, "misses": 2, "logical": logical, "padded": padded, "waste_percent": round(100 * (1 - logical / padded), 2),
    }
    assert torch._dynamo.utils.counters["frit"]["bucket_misses"] == 2
    torch.compiler.reset()
    assert frit.counts()["bucket_hits"] == 0


def test_misses_are_served_by_kernels_and_not_by_eager():
    explanation = frit.explain(softmax, dynamic=True, options={"buckets": {"x[0]": [8]}}).over([(torch.randn(n, 7),) for n in (5, 9)])
    (graph,) = explanation.graphs
    assert graph["runs"] == 2 and not graph["aten_calls"] and graph["kernels"]
    assert [entry["misses"] for entry in explanation.buckets if entry["asked"]] == [1]


def test_explain_shows_choice_and_waste():
    settings = {"dynamic": True, "options": {"buckets": {"x[0]": [8, 16]}}}
    shown = str(frit.explain(softmax, **settings).over([(torch.randn(n, 7),) for n in (4, 12)]))
    assert "buckets x[0]: list [8, 16]; 2 hits, 0 misses, 33.3 % waste" in shown
    assert "buckets x[1]: ramp" in shown and "not used: nothing gains" in shown


def test_policies():
    x = torch.randn(5, 7)
    for policy, asked in (("auto", {}), ("ramp", {}), ("off", {}), ("off", {"x[1]": "ramp"}), ("ramp", {"x[1]": "off"})):
        torch.compiler.reset()
        options = {"bucket_policy": policy, "buckets": asked}
        entries = frit.explain(softmax, dynamic=True, options=options)(x).buckets
        used = sorted(name for entry in entries for name in entry["names"] if entry["index"] >= 0)
        wanted = {"auto": [], "ramp": ["x[0]", "x[1]"], "off": []}[policy]
        assert used == (["x[1]"] if asked.get("x[1]") == "ramp" else ["x[0]"] if asked else wanted)


def test_a_call_that_fails_leaves_no_sizes_behind():
    """Partially filled registers of a refused call must not be used by the next one."""
    executables = []
    backend._OBSERVERS.append(lambda name, stage, captured, report, executable: executables.append(executable))
    try:
        compiled_with(lambda x, y: (x * 2).sum(0) + y.sum(), {"x[0]": [8, 16]})(torch.ones(5, 3), torch.ones(4))
    finally:
        backend._OBSERVERS.pop()
    (run,) = executables
    arguments = json.loads(run.stats()) and [5, 3, torch.ones(5, 3), 4, torch.ones(4)]
    expected = run(list(arguments))[0]
    with pytest.raises(RuntimeError):
        run([9, 3, torch.ones(9, 3), 1, torch.ones(1)])
    assert torch.equal(run([9, 3, torch.ones(9, 3), 4, torch.ones(4)])[0], torch.full((3,), 22.0))
    assert torch.equal(run(list(arguments))[0], expected)


# -- memory ----------------------------------------------------------------------------------------


def attention_scores(x):
    """A temporary of x[0] * 2048 floats between a kernel and a call."""
    return (torch.relu(x) * 2) @ torch.ones(x.shape[1], 3)


def test_large_temporaries_are_blocks_of_bucket_size_that_come_back():
    frit.reset()
    run = torch.compile(attention_scores, backend="frit", dynamic=True)
    before = compiler().memory_stats()
    for n in (1040, 1100, 1089, 1150, 1030):
        x = torch.randn(n, 4096)
        torch.testing.assert_close(run(x), attention_scores(x))
    after = compiler().memory_stats()
    # 1040 and 1030 are in the bucket of 1152 with the others: one block, made once.
    assert after["blocks_made"] - before["blocks_made"] == 1
    assert after["blocks_reused"] - before["blocks_reused"] == 4
    assert after["kept_bytes"] == 1152 * 4096 * 4
    frit.reset()
    assert compiler().memory_stats()["kept_bytes"] == 0


def test_explain_shows_the_gain_that_is_predicted():
    shown = str(frit.explain(attention_scores, dynamic=True)(torch.randn(1088, 4096)))
    assert "1 hits, 0 misses, 5.6 % waste; predicted gain: 17 MiB a call without page faults" in shown
    assert "predicted gain" not in str(frit.explain(attention_scores, dynamic=True)(torch.randn(40, 4096)))


def test_small_temporaries_and_the_policy_off_keep_nothing():
    frit.reset()
    for options in ({}, {"bucket_policy": "off"}):
        torch.compiler.reset()
        run = torch.compile(attention_scores, backend="frit", dynamic=True, options=options)
        for n in (40, 30) if not options else (1040, 1100):
            run(torch.randn(n, 4096))
        assert compiler().memory_stats()["kept_bytes"] == 0


def test_kept_blocks_never_exceed_what_was_in_use_at_once():
    frit.reset()
    run = torch.compile(attention_scores, backend="frit", dynamic=True)
    largest = 0
    for n in (1500, 1040, 2000, 600, 1040, 1500, 700):
        run(torch.randn(n, 4096))
        rounded = next(b for b in (640, 704, 1152, 1536, 2048) if b >= n)
        largest = max(largest, rounded * 4096 * 4)
        assert compiler().memory_stats()["kept_bytes"] <= largest
    frit.reset()


# -- offline ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    class Twice(torch.nn.Module):
        def forward(self, x, ids):
            return x * 2, ids + 1

    folder = tmp_path_factory.mktemp("buckets")
    sizes = {"x": {0: torch.export.Dim("rows", min=2, max=500)}, "ids": {0: None, 1: torch.export.Dim("length", min=2)}}
    program = torch.export.export(Twice(), (torch.randn(5, 3), torch.ones(2, 7, dtype=torch.int64)), dynamic_shapes=sizes)
    torch.export.save(program, folder / "twice.pt2")
    return folder


def tool(name, *arguments):
    return subprocess.run([str(TOOLS / name), *map(str, arguments)], capture_output=True, text=True)


def compile_offline(exported, *flags):
    made = tool("frit-compile", exported / "twice.pt2", "-o", exported / "twice.frit", "--report", *flags)
    return made, {entry["names"][0]: entry for entry in json.loads(made.stdout)["buckets"]} if not made.returncode else {}


def test_lists_on_the_command_line(exported):
    made, entries = compile_offline(exported, "--buckets=x[0]=8,16,1000", "--buckets=ids[1]=ramp")
    assert made.returncode == 0, made.stderr
    assert entries["x[0]"]["sizes"] == [8, 16, 500] and entries["ids[1]"]["sizes"][:7] == [2, 4, 8, 16, 32, 64, 72]


def test_lists_from_counted_sizes(exported):
    histogram = exported / "sizes.json"
    histogram.write_text(json.dumps({"x[0]": {"3": 50, "4": 30, "90": 2, "100": 9}}))
    made, entries = compile_offline(exported, f"--sizes={histogram}", "--bucket-count=2")
    assert made.returncode == 0, made.stderr
    assert entries["x[0]"]["policy"] == "histogram" and entries["x[0]"]["sizes"] == [4, 100]


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--buckets=x[0]="], "buckets of 'x[0]' are empty"),
        (["--buckets=x[0]=9,8"], "buckets of 'x[0]' must ascend, found 8 after 9"),
        (["--buckets=x[0]=-1"], "buckets of 'x[0]' must be positive sizes, found -1"),
        (["--buckets=x[0]=a"], "buckets of 'x[0]' must be integers, found 'a'"),
        (["--buckets=y[0]=8"], "no size 'y[0]' for buckets; known: x[0], ids[1]"),
        (["--buckets=x[0]=8", "--buckets=x[0]=9"], "buckets of 'x[0]' are given twice"),
        (["--bucket-policy=never"], "option 'bucket_policy' cannot be 'never'; known: auto, ramp, specialize, off"),
        (["--bucket-policy=specialize"], "bucket policy 'specialize' compiles while a program runs, which a file cannot; use 'ramp'"),
        (["--bucket-count=0"], "--bucket-count takes a number from 1 to 64, got '0'"),
        (["--sizes=/nowhere.json"], "/nowhere.json: No such file or directory"),
    ],
)
def test_a_wrong_command_line_is_one_line(exported, flags, message):
    made, _ = compile_offline(exported, *flags)
    assert made.returncode != 0 and len(made.stderr.splitlines()) == 1 and message in made.stderr


@pytest.mark.parametrize("text", ["{", "[]", '{"x[0]": 3}', '{"x[0]": {"a": 1}}', '{"x[0]": {"3": "many"}}', '{"x[0]": {"3": 0}}'])
def test_a_histogram_that_is_none_is_one_line(exported, text):
    broken = exported / "broken.json"
    broken.write_text(text)
    made, _ = compile_offline(exported, f"--sizes={broken}")
    assert made.returncode != 0 and len(made.stderr.splitlines()) == 1 and "broken.json: " in made.stderr


def run_offline(exported, rows, length):
    np.save(exported / "x.npy", np.ones((rows, 3), "f4"))
    np.save(exported / "ids.npy", np.ones((2, length), "i8"))
    result = exported / "y.npy"
    ran = tool("frit-run", exported / "twice.frit", f"--input=@{exported}/x.npy", f"--input=@{exported}/ids.npy", f"--output=@{result}")
    return ran, np.load(result) if ran.returncode == 0 else None


def test_above_the_largest_bucket_an_artifact_warns_once_and_is_right(exported):
    made, _ = compile_offline(exported, "--buckets=ids[1]=8,16")
    assert made.returncode == 0, made.stderr
    ran, y = run_offline(exported, 5, 16)
    assert ran.returncode == 0 and ran.stderr == "" and np.all(y == 2)
    ran, y = run_offline(exported, 5, 17)
    assert ran.returncode == 0 and np.all(y == 2)
    assert len(ran.stderr.splitlines()) == 1
    assert "input 1 ('ids'): its size along dimension 1 is 17, above the largest bucket 16; the generic kernels run it" in ran.stderr


def test_above_the_exported_maximum_an_artifact_is_an_error(exported):
    """torch traced the program for at most 500 rows, so the kernels may be wrong beyond."""
    made, _ = compile_offline(exported, "--buckets=x[0]=ramp")
    assert made.returncode == 0, made.stderr
    ran, _ = run_offline(exported, 501, 7)
    assert ran.returncode != 0 and len(ran.stderr.splitlines()) == 1
    assert "input 0 ('x')" in ran.stderr and "is 501" in ran.stderr and "between 2 and 500" in ran.stderr


def test_the_check_of_the_option_itself():
    with pytest.raises(OptionError, match="are empty"):
        frit.list_options() and __import__("frit.options").options.resolve(None, {"buckets": {"x[0]": []}})
