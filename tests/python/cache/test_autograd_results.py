"""AOTAutograd's results in the disk cache: the second process traces nothing and has the same results, and no stale entry is ever used."""

import contextlib
import json
import os
import pickle
import textwrap

import fresh
import pytest
import torch
import warm_programs
from torch._dynamo.utils import counters
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import frit
from frit import backend
from frit.cache import autograd_key, autograd_results, compiled_graphs, disk_cache, graph_key, saved_graph
from frit.cache.check import OTHER_BUILD, RESULTS, check
from frit.cache.disk_cache import pack, unpack
from frit.native import compiler

pytestmark = pytest.mark.usefixtures("results_folder")

# Programs whose results are not stored, with the reason.
BYPASSED = {
    "functions_with_gradients_of_their_own": "Unsupported call_function target autograd_function_apply.",
    "operators_of_a_library": "it calls an operator of the library warm",
    "tensor_subclasses": "an argument is a tensor subclass",
    "arguments_that_share_memory": "its arguments share memory",
}


def tally(name):
    return counters["frit"][name]


def bypasses():
    return {name.partition(":")[2].strip(): count for name, count in counters["frit"].items() if name.startswith("autograd_cache_bypass:")}


def compiled(function, *inputs, **how):
    """Returns the function's result under the backend, as in a new process, except for imported modules."""
    torch.compiler.reset()
    counters.clear()
    return torch.compile(function, backend="frit", **how)(*inputs)


def gradients(function, *inputs, **how):
    result = compiled(function, *inputs, **how)
    return [result.detach(), *torch.autograd.grad(result.square().sum(), [x for x in inputs if x.requires_grad])]


def softmax(x, w):
    return torch.softmax(x @ w, -1) * 2


def operands():
    return torch.randn(5, 6, requires_grad=True), torch.randn(6, 7, requires_grad=True)


def kept():
    """Returns (key, bytes) of each stored result."""
    store = compiled_graphs._store()
    found = {}
    for path, _, _ in store.entries():
        key = os.path.basename(path)
        description, content = disk_cache.unpack(key, store.read(key))
        if description.get("kind") == "autograd":
            found[key] = content
    return found


def forbid_tracing(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("traced again")

    monkeypatch.setattr(torch._functorch.aot_autograd, "aot_stage1_graph_capture", refuse)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The output of each program in the first process and in the second."""
    folder = tmp_path_factory.mktemp("programs")
    environment = dict(os.environ, FRIT_CACHE="1", FRIT_CACHE_DIR=str(folder), FRIT_STRICT="1", FRIT_REPRO_DIR="off")

    def run(hashes):
        done = fresh.run([warm_programs.__file__], env=environment, hashes=hashes)
        assert done.returncode == 0, done.stderr[-4000:]
        return {found["name"]: found for found in map(json.loads, done.stdout.splitlines())}

    return run(0), run(1)


@pytest.mark.parametrize("name", warm_programs.PROGRAMS)
def test_the_second_process_is_as_the_first(both, name):
    first, second = (process[name] for process in both)
    assert second["facts"] == first["facts"]
    assert not (type(first["facts"]) is str and "Error" in first["facts"]), first["facts"]
    left_out = [what.partition(":")[2].strip() for what in second["cache"] if what.startswith("autograd_cache_bypass:")]
    assert left_out == ([BYPASSED[name]] if name in BYPASSED else [])
    assert "autograd_cache_misses" not in second["cache"]
    assert "autograd_cache_hits" in second["cache"] or name in BYPASSED
    assert second["cache"]["graphs"] == first["cache"]["graphs"], "counted as if compiled"
    assert second["cache"].get("calls_as_traced") == first["cache"].get("calls_as_traced")


def test_a_warm_call_neither_traces_nor_decomposes(monkeypatch):
    x, w = operands()
    expected = gradients(softmax, x, w)
    assert (tally("autograd_cache_misses"), tally("autograd_cache_stores"), tally("cache_stores")) == (1, 1, 2)
    kernels = tally("kernels")
    forbid_tracing(monkeypatch)
    from frit.eager import decompositions

    monkeypatch.setattr(decompositions, "decomposition_table", None)
    for result, right in zip(gradients(softmax, x, w), expected):
        assert torch.equal(result, right)
    assert (tally("autograd_cache_hits"), tally("kernels"), tally("graphs"), tally("cache_hits")) == (1, kernels, 2, 0)


@pytest.mark.parametrize(
    "off",
    [
        lambda monkeypatch: monkeypatch.setenv("FRIT_CACHE", "0"),
        lambda _: torch._functorch.config.patch(enable_autograd_cache=False),
        lambda _: torch.compiler.config.patch(force_disable_caches=True),
        lambda monkeypatch: monkeypatch.setenv("FRIT_DUMP", os.environ["FRIT_CACHE_DIR"] + "-dump"),
    ],
    ids=["FRIT_CACHE", "enable_autograd_cache", "force_disable_caches", "FRIT_DUMP"],
)
def test_what_switches_it_off(monkeypatch, off):
    x, w = operands()
    gradients(softmax, x, w)
    with off(monkeypatch) or contextlib.nullcontext():
        gradients(softmax, x, w)
    assert tally("graphs") == 2 and not any(name.startswith("autograd_cache") for name in counters["frit"])


@pytest.mark.parametrize("options", [{"verify": 1}, {"bucket_policy": "specialize"}, {"autotune": True}])
def test_options_that_look_at_each_graph(options):
    x, w = operands()
    gradients(softmax, x, w, options=options)
    assert bypasses() == {f"the option {next(iter(options))}": 1}


def test_explain_sees_the_graphs():
    x, w = operands()
    with torch.no_grad():
        compiled(softmax, x, w)
        assert "softmax" in str(frit.explain(softmax)(x, w)) or bypasses() == {"the graphs are observed": 1}


def test_other_code_is_another_key():
    x, w = operands()
    for text in ("x @ w * 2", "x @ w * 3", "x @ w.sin()", "x @ w * torch.tensor([1.0] * 7)", "x @ w * torch.tensor([2.0] * 7)"):
        function = eval(f"lambda x, w: {text}")
        for result, right in zip(gradients(function, x, w), [function(x, w).detach()]):
            torch.testing.assert_close(result, right)
        assert tally("autograd_cache_hits") == 0, text
    assert len(kept()) == 5


def test_branches_and_loops_are_in_the_key():
    """The graphs of control flow, and what they read of the program, decide the key as the graph that calls them does."""
    x, table = torch.randn(4, 3), torch.ones(3)
    programs = [
        lambda x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,)),
        lambda x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.tan(), (x,)),
        lambda x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y * table, (x,)),
        lambda x: while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y * 2), (torch.tensor(0), x)),
        lambda x: while_loop(lambda n, y: n < 4, lambda n, y: (n + 1, y * 2), (torch.tensor(0), x)),
        lambda x: scan(lambda total, part: (total + part, total * part), x[0] * 0, x, dim=0),
        lambda x: scan(lambda total, part: (total + part, total - part), x[0] * 0, x, dim=0),
    ]
    with torch.no_grad():
        for hits in (0, 1):
            for program in programs:
                torch.testing.assert_close(compiled(program, x), program(x))
                assert (tally("autograd_cache_hits"), tally("autograd_cache_misses")) == (hits, 1 - hits) and not bypasses()
    assert len(kept()) == len(programs)


def test_data_of_closures_is_an_argument():
    x = torch.randn(3)
    for value in (1.0, 2.0):
        table = torch.full((3,), value)
        with torch.no_grad():
            assert torch.equal(compiled(lambda x: x * table, x), x * value)
    assert tally("autograd_cache_hits") == 1


def change_sources(monkeypatch):
    for module in (graph_key, saved_graph):
        monkeypatch.setattr(module, "sources_digest", lambda: "other sources")
    saved_graph._build.cache_clear()


class OtherBuild:
    """The native library with another identity."""

    def __init__(self, native):
        self._native = native

    def __getattr__(self, name):
        return getattr(self._native, name)

    def identity(self):
        return self._native.identity() + ", of another processor"


def change_build(monkeypatch):
    other = OtherBuild(compiler())
    monkeypatch.setattr(frit.native, "compiler", lambda: other)


def change(name, value):
    return lambda monkeypatch: monkeypatch.setattr(*name, value)


CHANGES = {
    "sources": change_sources,
    "build": change_build,
    "torch's version": change((torch, "__version__"), "2.99.0"),
    "torch's commit": change((torch.version, "git_version"), "0" * 40),
    "the user's tag": lambda _: torch.compiler.config.patch(cache_key_tag="mine"),
    "a setting of AOTAutograd": lambda _: torch._functorch.config.patch(activation_memory_budget=0.5),
    "the partitioner's settings": lambda _: torch._functorch.config.patch(aggressive_recomputation=True),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_environment_is_another_key(monkeypatch, what):
    x, w = operands()
    expected = gradients(softmax, x, w)
    saved_graph._build.cache_clear()
    try:
        with monkeypatch.context() as patch, CHANGES[what](patch) or contextlib.nullcontext():
            for result, right in zip(gradients(softmax, x, w), expected):
                torch.testing.assert_close(result, right)
            assert (tally("autograd_cache_hits"), tally("autograd_cache_misses")) == (0, 1)
    finally:
        saved_graph._build.cache_clear()
    gradients(softmax, x, w)
    assert tally("autograd_cache_hits") == 1


@pytest.mark.parametrize(
    "setting",
    [
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        lambda: _deterministic(),
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.inference_mode(),
        lambda: torch.no_grad(),
    ],
    ids=["autocast", "attention", "deterministic", "anomaly", "inference_mode", "no_grad"],
)
def test_modes_are_in_the_key(setting):
    x = torch.randn(2, 2, 5, 8)
    attend = lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x) @ x.transpose(-1, -2)  # noqa: E731
    compiled(attend, x)
    with setting():
        compiled(attend, x)
        assert tally("autograd_cache_hits") == 0


class _deterministic:
    def __enter__(self):
        torch.use_deterministic_algorithms(True)

    def __exit__(self, *_):
        torch.use_deterministic_algorithms(False)


def test_options_are_in_the_key():
    x, w = operands()
    for options in ({}, {"numerics": "eager"}, {"fusion": False}, {"reuse": False}, {"cpu": "x86-64-v3"}, {"random": "philox"}):
        for hits in (0, 1):
            gradients(softmax, x, w, options=options)
            assert tally("autograd_cache_hits") == hits, options


def test_layouts_are_in_the_key():
    memory = torch.randn(60)
    for x in (memory[:12].view(3, 4), memory[1:13].view(3, 4), memory[:12].view(4, 3).t(), memory[:12].double().view(3, 4), memory[:24].view(3, 8)[:, ::2]):
        for hits in (0, 1):
            with torch.no_grad():
                assert torch.equal(compiled(lambda x: x.t() * 2, x), x.t() * 2)
            assert tally("autograd_cache_hits") == hits


def test_replaced_operators_are_traced():
    x = torch.randn(3)
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("sinc", lambda x: x * 0, "CompositeImplicitAutograd")
        compiled(lambda x: x.sin(), x)
        assert bypasses() == {"the program replaces operators of torch": 1}
    finally:
        library._destroy()


def test_functions_of_the_program_are_traced():
    """Torch would store results with a builtin function of an extension, whose code is not in the key."""

    def triple(x):
        return x * 3

    torch._dynamo.allow_in_graph(triple)
    compiled(lambda x: triple(x) + 1, torch.randn(3))
    assert bypasses() == {f"it calls a function of {__name__.split('.')[0]}": 1}


def damage_byte(content):
    return content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]


@pytest.mark.parametrize("damage", [damage_byte, lambda content: content[: len(content) // 2], lambda content: b"", lambda content: content + b"x"])
def test_damaged_files_are_counted_misses(damage):
    x, w = operands()
    expected = gradients(softmax, x, w)
    store = compiled_graphs._store()
    for key in kept():
        with open(store.path(key), "rb") as file:
            content = file.read()
        with open(store.path(key), "wb") as file:
            file.write(damage(content))
    for result, right in zip(gradients(softmax, x, w), expected):
        assert torch.equal(result, right)
    assert (tally("autograd_cache_misses"), tally("autograd_cache_hits"), tally("autograd_cache_stores")) == (1, 0, 1)
    assert tally("cache_bad_entries") == (1 if damage(b"123456") else 0) and tally("cache_hits") == 2
    gradients(softmax, x, w)
    assert tally("autograd_cache_hits") == 1


class Raises:
    def __reduce__(self):
        return _raise, ()


def _raise():
    raise SystemError("code of an entry that is run")


def with_other_artifact(entry):
    entry.compiled_fw.saved.artifact = b"x" * len(entry.compiled_fw.saved.artifact)
    return entry


def with_other_build(entry):
    entry.compiled_fw.saved._build = ("another", "build", "0")
    return entry


def with_other_summary(entry):
    entry.compiled_bw.saved.summary = {"kernels": "many"}
    return entry


@pytest.mark.parametrize("other", [lambda entry: Raises(), lambda entry: [1], with_other_artifact, with_other_build, with_other_summary])
def test_entries_of_no_use_are_counted_misses(other):
    """Their digests are valid: another program, or a bug, has written them."""
    x, w = operands()
    expected = gradients(softmax, x, w)
    ((key, content),) = kept().items()
    compiled_graphs.store_bytes(key, pickle.dumps(other(pickle.loads(content))), "autograd")
    for result, right in zip(gradients(softmax, x, w), expected):
        assert torch.equal(result, right)
    assert (tally("autograd_cache_misses"), tally("autograd_cache_hits"), tally("cache_bad_entries")) == (1, 0, 1)
    gradients(softmax, x, w)
    assert tally("autograd_cache_hits") == 1


def test_results_that_cannot_be_pickled(monkeypatch):
    monkeypatch.setattr(saved_graph.SavedGraph, "__reduce__", lambda self: _raise(), raising=False)
    x, w = operands()
    gradients(softmax, x, w)
    assert bypasses() == {"its result cannot be pickled: SystemError": 1} and not kept()


def test_files_that_others_may_write_are_not_unpickled():
    x, w = operands()
    gradients(softmax, x, w)
    store = compiled_graphs._store()
    for key in kept():
        os.chmod(store.path(key), 0o666)
    gradients(softmax, x, w)
    assert (tally("autograd_cache_hits"), tally("cache_bad_entries")) == (0, 1)


def test_verify_finds_another_plan_in_a_result():
    x, w = operands()
    gradients(softmax, x, w)
    store = compiled_graphs._store()
    (key,) = kept()
    description, pickled = unpack(key, store.read(key))
    forward, backward = (unpack(graph, store.read(graph))[1] for graph in description["graphs"])
    assert pickled.count(forward) == pickled.count(backward) == 1

    def found(stored, **changed):
        assert store.write(key, pack(key, {**description, **changed}, stored)) == ""
        return check(store, compiler())

    wrong = found(pickled.replace(backward, backward[:-1] + bytes([backward[-1] ^ 1])))
    assert (wrong.good, [why for _, why in wrong.bad]) == (2, ["an artifact in it is not its graph's"])
    for stored, changed, why in (
        (pickled, {"graphs": description["graphs"][:1]}, "it has 2 artifacts, and 1 graphs"),
        (pickled, {"graphs": ["../x"]}, "the names of its graphs are not keys"),
        (b"\xff", {}, "it is not a pickle"),
    ):
        assert [said for _, said in found(stored, **changed).bad] == [why]
    unnamed = {name: value for name, value in description.items() if name != "graphs"}
    assert store.write(key, pack(key, unnamed, pickled)) == ""
    older = check(store, compiler())
    assert (older.good, older.bad, older.skipped) == (2, [], {OTHER_BUILD: 1})
    store.drop(description["graphs"][1])
    gone = found(pickled)
    assert (gone.good, gone.bad, gone.skipped) == (1, [], {RESULTS: 1})


def test_verify_and_clear():
    x, w = operands()
    gradients(softmax, x, w)
    store = compiled_graphs._store()
    found = check(store, compiler())
    assert (found.good, found.bad, found.skipped) == (3, [], {})
    (key,) = kept()
    with open(store.path(key), "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"?")
    assert [path for path, _ in check(store, compiler()).bad] == [store.path(key)]
    store.clear()
    gradients(softmax, x, w)
    assert tally("autograd_cache_misses") == 1


def test_the_limit(monkeypatch):
    monkeypatch.setenv("FRIT_CACHE_LIMIT", "100")
    compiled_graphs._at.cache_clear()
    try:
        gradients(softmax, *operands())
        assert (tally("autograd_cache_stores"), tally("cache_store_failures")) == (0, 3)
    finally:
        compiled_graphs._at.cache_clear()


def test_portable_caches_contain_results(tmp_path, monkeypatch):
    x, w = operands()
    with torch.compiler._cache.CacheArtifactManager.with_fresh_cache():
        expected = gradients(softmax, x, w)
        data, _ = torch.compiler.save_cache_artifacts()
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path / "elsewhere"))
    frit.load_cache_artifacts(data)
    forbid_tracing(monkeypatch)
    for result, right in zip(gradients(softmax, x, w), expected):
        assert torch.equal(result, right)
    assert tally("autograd_cache_hits") == 1


def test_guards_on_sizes_are_those_of_a_miss():
    def f(x):
        return x * 2 if x.shape[0] > 8 else x + 1

    for _ in range(2):
        torch.compiler.reset()
        counters.clear()
        run = torch.compile(f, backend="frit", dynamic=True)
        for rows in (3, 4, 20, 9, 8, 5):
            x = torch.randn(rows, 2)
            assert torch.equal(run(x), f(x))
        assert counters["stats"]["unique_graphs"] == 2
    assert tally("autograd_cache_hits") == 2


def test_more_guards_than_slots():
    """Sizes that AOTAutograd specialises have one entry each, of which four are kept."""
    sizes = (3, 5, 7, 9, 11, 13)

    def f(x):
        return x.expand(x.shape[0], 4).reshape(-1)[: x.shape[0]] * 2

    for _ in range(2):
        for size in sizes:
            x = torch.randn(size, 1)
            assert torch.equal(compiled(f, x, dynamic=True), f(x))
    assert len(kept()) <= autograd_results._MOST_PER_KEY * len(sizes)


def test_other_backends_keep_torchs_cache(monkeypatch, tmp_path):
    """The class that replaces torch's cache forwards calls of other backends to it."""
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache

    gradients(softmax, *operands())
    assert torch._functorch.aot_autograd.AOTAutogradCache is autograd_results.Results
    seen, load = [], "try_load" if hasattr(AOTAutogradCache, "try_load") else "load"
    torchs_own = getattr(AOTAutogradCache, load)
    monkeypatch.setattr(AOTAutogradCache, load, staticmethod(lambda *given, **named: seen.append(given) or torchs_own(*given, **named)))
    torch.compiler.reset()
    with torch._functorch.config.patch(force_autograd_cache=True):
        torch.compile(softmax, backend="aot_eager")(*operands())
    assert len(seen) == 1


def test_without_torchs_cache(monkeypatch):
    """With a version of torch that has other names, nothing is stored and everything runs."""
    backend._autograd_results.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(autograd_results, "install", lambda: (_ for _ in ()).throw(AttributeError("another cache")))
            gradients(softmax, *operands())
            assert bypasses() == {"this version of torch has another cache": 1} and tally("graphs") == 2
    finally:
        backend._autograd_results.cache_clear()


def test_graphs_that_cannot_be_compiled(lenient):
    """A graph that runs uncompiled has no artifact."""
    x, w = operands()
    for _ in range(2):
        gradients(softmax, x, w, options={"fail_at": ""})
    x = torch.randn(3)
    for _ in range(2):
        with torch.no_grad():
            compiled(lambda x: torch.cond(x.sum() > 0, lambda y: torch.quantize_per_tensor(y, 0.1, 10, torch.quint8).dequantize(), lambda y: y.cos(), (x,)), x)
        assert tally("autograd_cache_hits") == 0


_PRECOMPILED = """
    import json, sys, torch
    from torch._dynamo.utils import counters
    sys.path.insert(0, ".")
    from program import Net
    torch.manual_seed(0)
    model, x = Net(), torch.ones(3, 6)
    result = torch.compile(model, backend="frit")(x)
    result.sum().backward()
    torch.testing.assert_close(result, model(x))
    torch.compiler.save_cache_artifacts()
    found = {"traced": counters["stats"]["unique_graphs"], "graphs": counters["frit"]["graphs"]}
    from frit import backend
    try:
        backend._EXECUTABLES[0][0]()([])
    except RuntimeError as refused:
        found["refused"] = str(refused)
    print(json.dumps({**found, "data": [p.grad.sum().item() for p in model.parameters()]}))
"""
_PROGRAM = """
    import torch
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = torch.nn.Linear(6, 8), torch.nn.LayerNorm(8)
        def forward(self, x):
            return torch.nn.functional.gelu(self.norm(self.first(x)))
"""


def test_dynamo_is_skipped_with_caching_precompile(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(_PROGRAM))
    environment = dict(os.environ, TORCH_CACHING_PRECOMPILE="1", TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "torch"), FRIT_REPRO_DIR=str(tmp_path / "repros"))

    def run(hashes, **more):
        done = fresh.run(["-c", textwrap.dedent(_PRECOMPILED)], cwd=tmp_path, env={**environment, **more}, hashes=hashes)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    first, second = run(0), run(1)
    assert (first["traced"], second["traced"]) == (1, 0) and second["graphs"] == 2
    assert second["data"] == first["data"]
    for one in (first, second):
        assert "inputs, got 0" in one["refused"] and "to repeat it: python" in one["refused"]
    # Torch loads what it stored without a key; the build is compared nevertheless.
    other = run(0, FRIT_PLANT="1")
    assert other["traced"] == 1
    torch.testing.assert_close(other["data"], first["data"])


def test_no_setting_is_in_the_key_twice():
    assert set(autograd_key._WHILE_TRACING).isdisjoint(graph_key.FLAGS)


def test_a_refused_call_of_a_stored_graph_leaves_a_repro(tmp_path):
    def function(x):
        return x[:, 1:].sin() + torch.tensor([1.0, 2.0, 3.0])

    x, how = torch.randn(5, 4), {"dynamic": True, "options": {"repro_dir": str(tmp_path)}}
    compiled(function, x, **how)
    compiled(function, x, **how)
    assert tally("autograd_cache_hits") == 1
    executable = backend._EXECUTABLES[-1][0]()
    with pytest.raises(frit.CompileError, match="to repeat it: python") as raised:
        executable([5, 4, torch.randn(5, 4, dtype=torch.float64)])
    script = os.path.join(raised.value.repro, "repro.py")
    done = fresh.run([script], env=dict(os.environ, FRIT_CACHE="0"))
    assert done.returncode == 1 and "the failure: CompileError" in done.stdout + done.stderr, done.stdout + done.stderr
