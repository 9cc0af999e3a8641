"""Policy `specialize`: kernels for single buckets are compiled in the background, and do not change results."""

import json
import os
import threading

import fresh
import pytest
import torch
import torch.nn.functional as F

import frit
from benchmarks.programs import models
from frit import backend
from frit.native import compiler
from frit.sizes import specialize


def compiled_for(function, buckets, policy="specialize"):
    torch.compiler.reset()
    return torch.compile(function, backend="frit", dynamic=True, options={"buckets": buckets, "bucket_policy": policy})


def same_bits(a, b):
    left, right = (torch.utils._pytree.tree_leaves(x) for x in (a, b))
    return len(left) == len(right) and all(
        x.dtype == y.dtype and x.stride() == y.stride() and torch.equal(x.reshape(-1).view(torch.uint8), y.reshape(-1).view(torch.uint8))
        for x, y in zip(left, right)
    )


def with_gradients(run, inputs):
    """Returns results and gradients of one call."""
    leaves = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    result = run(*leaves)
    wanted = [x for x in leaves if x.requires_grad]
    return result.detach(), torch.autograd.grad(result.float().sum(), wanted, allow_unused=True)


def plain(run, inputs):
    return run(*inputs)


# The buckets end at sizes up to which sums are not split: 4096 and 8192 elements for rows, 32 and 1024 steps for columns, 32768 for whole
# tensors. Kernels that know the bucket's limit could add in another order.
PROGRAMS = {
    "row sums": (lambda x: x.sum(-1), lambda n: (torch.randn(3, n),), "x[1]", [[8, 40], [1024, 4096], [4096, 8192], [16384, 40000]]),
    "softmax": (lambda x: torch.softmax(x * 2, -1), lambda n: (torch.randn(5, n),), "x[1]", [[8, 40], [2048, 4096], [4096, 8192], [16000, 20000]]),
    "column sums": (lambda x: (x * x).sum(0), lambda n: (torch.randn(n, 37),), "x[0]", [[8, 32], [500, 1024], [600, 1100]]),
    "whole tensor": (lambda x: (x.exp() + x).mean(), lambda n: (torch.randn(n),), "x[0]", [[8, 40], [16384, 32768], [65536, 70000]]),
    "bf16 rows": (lambda x: F.layer_norm(x, x.shape[-1:]), lambda n: (torch.randn(4, n).bfloat16(),), "x[1]", [[16, 48], [2048, 4096], [4096, 8192]]),
    "variance": (lambda x: torch.var(x, 0), lambda n: (torch.randn(n, 9),), "x[0]", [[16, 32], [512, 1024]]),
    "pieces": (
        lambda x, y: torch.cat([x * y, x + 1, F.pad(x, (1, 2))], -1).cumsum(0) * 3 + 1,
        lambda n: (torch.randn(2, n), torch.randn(2, n)),
        "x[1]",
        [[16, 48]],
    ),
    # Channels-last in both graphs, and for the backward.
    "images": (
        lambda x: F.max_pool2d(F.conv2d(torch.sin(x), torch.linspace(-1, 1, 54).view(3, 2, 3, 3)), 2).exp(),
        lambda n: (torch.randn(n, 2, 6, 7),),
        "x[0]",
        [[8, 12]],
    ),
    "transposed": (lambda x: (x.t().contiguous() * 2).view(-1).sum(), lambda n: (torch.randn(n, 12),), "x[0]", [[8, 40]]),
}


def sizes_of(low, high):
    """Returns every size of a small bucket; for a large one its ends and sizes around powers of two."""
    if high - low <= 64:
        return range(low + 1, high + 1)
    near = {low + 1, high, (low + high) // 2} | {(1 << k) + d for k in range(20) for d in (-1, 0, 1)}
    return sorted(n for n in near if low < n <= high)


@pytest.mark.parametrize("gradients", [plain, with_gradients], ids=["forward", "backward"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_bits_before_and_after(name, gradients):
    function, make, key, lists = PROGRAMS[name]
    for low, high in lists:
        inputs = {n: make(n) for n in sizes_of(low, high)}
        generic = compiled_for(function, {key: [low, high]}, "ramp")
        before = {n: gradients(generic, x) for n, x in inputs.items()}
        run = compiled_for(function, {key: [low, high]})
        first, *_ = inputs
        for _ in range(2):
            assert same_bits(gradients(run, inputs[first]), before[first])
        assert frit.wait_for_background(60)
        taken = frit.counts()["specialized_calls"]
        for n, x in inputs.items():
            assert same_bits(gradients(run, x), before[n]), n
        counted = frit.counts()
        assert counted["specialize_failures"] == 0 and counted["specialized_kernels"] >= 1
        graphs = (counted["specialized_calls"] - taken) // len(inputs)
        assert counted["specialized_calls"] - taken == graphs * len(inputs) and graphs in ((1,) if gradients is plain else (1, 2))


@pytest.mark.parametrize("name, bounds", [("softmax", [24, 40]), ("row sums", [1000, 1030]), ("whole tensor", [24, 40])])
def test_the_kernels_of_a_gpu_give_the_same_bits(name, bounds):
    function, make, key, _ = PROGRAMS[name]
    inputs = {n: make(n) for n in (bounds[0] + 1, bounds[0] + 8, bounds[1])}
    seen = []
    for policy in ("ramp", "specialize"):
        torch.compiler.reset()
        options = {"buckets": {key: bounds}, "bucket_policy": policy, "target": "simt"}
        run = torch.compile(function, backend="frit", dynamic=True, options=options)
        for _ in range(2):
            run(*inputs[bounds[1]])
        assert frit.wait_for_background(60)
        seen.append([run(*x) for x in inputs.values()])
    assert same_bits(*seen) and frit.counts()["specialized_calls"] == len(inputs)


def test_a_model_trains_to_the_same_bits():
    def losses(policy):
        model = models.gpt2(layers=1, width=32, heads=2)
        run = compiled_for(lambda tokens: model(input_ids=tokens, labels=tokens, return_dict=False)[0], {"tokens[1]": [16, 32]}, policy)
        seen = []
        generator = torch.Generator().manual_seed(3)
        for step, n in enumerate((20, 30, 9, 17, 12, 40, 25, 31)):
            loss = run(torch.randint(0, 101, (2, n), generator=generator))
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.1 * parameter.grad
                    parameter.grad = None
            seen.append(loss.item())
            assert step % 3 or frit.wait_for_background(60)
        return seen, frit.counts()["specialized_calls"]

    (mine, calls), (theirs, _) = losses("specialize"), losses("ramp")
    assert mine == theirs and calls > 0


# -- what is counted and shown -----------------------------------------------------------------------


def double(x):
    return torch.softmax(x * 2, -1)


def call(run, *sizes):
    for n in sizes:
        x = torch.randn(n, 7)
        torch.testing.assert_close(run(x), double(x))


def test_a_bucket_that_comes_back_gets_kernels_and_others_do_not():
    run = compiled_for(double, {"x[0]": [8, 16, 32]})
    call(run, 5, 10, 6)
    assert frit.wait_for_background(60)
    assert frit.counts()["specialized_buckets"] == 1 and frit.counts()["specialized_calls"] == 0
    call(run, 7, 8, 12)
    assert frit.wait_for_background(60)
    counted = frit.counts()
    assert counted["specialized_buckets"] == 2 and counted["specialized_calls"] == 2 and counted["specialized_kernels"] == 2
    # Calls are counted together, whichever executable ran them.
    assert counted["calls"] == 6 and counted["bucket_hits"] >= 6
    assert counted["buckets"]["x[0]"] == {"hits": 6, "misses": 0, "logical": 48, "padded": 64, "waste_percent": 25.0}
    assert torch._dynamo.utils.counters["frit"]["specialized_calls"] == 2


def test_a_miss_runs_the_kernels_for_all_sizes():
    run = compiled_for(double, {"x[0]": [8]})
    call(run, 9, 9, 9, 9)
    assert frit.wait_for_background(60)
    counted = frit.counts()
    assert counted["specialized_buckets"] == 0 and counted["buckets"]["x[0]"]["misses"] == 4


def test_explain_shows_them():
    settings = {"dynamic": True, "options": {"buckets": {"x[0]": [8], "x[1]": "off"}, "bucket_policy": "specialize"}}
    shown = str(frit.explain(double, **settings).over([(torch.randn(n, 7),) for n in (4, 5)]))
    assert "specialised kernels for 1 bucket (1 kernel, 0 calls), 0 could not be compiled" in shown


def test_at_most_64_sets_of_kernels():
    run = compiled_for(lambda x: x * 2, {"x[0]": [2 * k for k in range(1, 10)], "x[1]": [2 * k + 1 for k in range(1, 10)]})
    for n in range(2, 19, 2):
        for m in range(3, 20, 2):
            for _ in range(2):
                x = torch.randn(n, m)
                assert torch.equal(run(x), x * 2)
    assert frit.wait_for_background(300)
    assert frit.counts()["specialized_buckets"] == 64


# -- what may go wrong ---------------------------------------------------------------------------------


class Broken:
    """The native library with a compiler that fails."""

    def __init__(self, native):
        self._native = native

    def __getattr__(self, name):
        return getattr(self._native, name)

    def compile(self, *arguments):
        raise RuntimeError("no space left")


def test_a_compilation_that_fails_is_counted_and_logged(monkeypatch, caplog):
    run = compiled_for(double, {"x[0]": [8]})
    call(run, 5)
    native = compiler()
    monkeypatch.setattr("frit.native.compiler", lambda: Broken(native))
    with caplog.at_level("WARNING", logger="frit"):
        call(run, 6)
        assert frit.wait_for_background(60)
    monkeypatch.undo()
    call(run, 7, 8)
    counted = frit.counts()
    assert (counted["specialize_failures"], counted["specialized_buckets"], counted["specialized_calls"]) == (1, 0, 0)
    assert any("the generic ones run: no space left" in record.getMessage() for record in caplog.records)


def test_artifacts_of_other_graphs_are_refused():
    native = compiler()
    seen = []
    backend._OBSERVERS.append(lambda name, stage, captured, report, executable: seen.append((captured, executable)))
    try:
        run = compiled_for(double, {"x[0]": [8]})
        call(run, 5)
        other = torch.compile(lambda x, y: (x + y).sum(), backend="frit", dynamic=True)
        other(torch.ones(5), torch.ones(5))
    finally:
        backend._OBSERVERS.pop()
    (_, mine), (theirs, _) = seen[0], seen[-1]
    artifact = native.compile(theirs.json, json.dumps({"name": "other"})).artifact
    with pytest.raises(frit.ArtifactError, match="their signature is another one than the graph's"):
        native.specialize(mine, (0, 0), artifact, [])
    with pytest.raises(frit.ArtifactError, match="it has no such buckets"):
        native.specialize(mine, (99, 0), artifact, [])
    with pytest.raises(TypeError):
        native.specialize(None, (0,), artifact, [])


def test_calls_from_several_threads_while_kernels_take_over():
    run = compiled_for(double, {"x[0]": [8, 16, 24, 32, 40, 48]})
    call(run, 5)
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(60):
            n = int(torch.randint(2, 49, (), generator=generator))
            x = torch.randn(n, 7, generator=generator)
            if not torch.allclose(run(x), double(x), atol=1e-6):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and frit.wait_for_background(60)
    call(run, 5, 40)
    assert frit.counts()["specialized_calls"] >= 2 and frit.counts()["specialize_failures"] == 0


def test_reset_drops_what_has_not_begun():
    run = compiled_for(double, {"x[0]": [8, 16, 24, 32, 40, 48]})
    for n in (5, 10, 20, 30, 35, 45):
        call(run, n, n)
    frit.reset()
    assert frit.wait_for_background(60)
    call(run, 5, 10)
    fresh = compiled_for(double, {"x[0]": [8]})
    call(fresh, 5, 6)
    assert frit.wait_for_background(60)
    call(fresh, 7)
    assert frit.counts()["specialized_calls"] == 1


def test_an_executable_that_is_gone_is_not_compiled_for():
    class Gone:
        def __call__(self):
            return None

    worker = specialize._Worker()
    holder = type("Specializer", (), {"make": lambda self, *arguments: pytest.fail("it is gone")})()
    worker._thread = threading.current_thread()
    worker.put(holder, (0,))
    del holder
    reference, _ = worker._waiting.popleft()
    assert reference() is None


_EXIT = """
import torch, sys
run = torch.compile(lambda x: torch.softmax(x * 2, -1) + torch.tanh(x).sum(0), backend="frit", dynamic=True,
                    options={"buckets": {"x[0]": [8, 16, 24, 32, 40, 48]}, "bucket_policy": "specialize"})
for n in (5, 5, 10, 10, 20, 20, 30, 30, 45, 45):
    run(torch.randn(n, 7))
print("done", flush=True)
"""


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "import os; pid = os.fork(); run(torch.randn(35, 7)); pid and os.waitpid(pid, 0)"])
def test_the_process_ends_while_kernels_are_compiled(ending):
    done = fresh.run(["-c", _EXIT + ending], timeout=120, env={**os.environ, "FRIT_CACHE": "0"})
    assert done.returncode == (3 if "exit" in ending else 0) and done.stdout == "done\n" and "Error" not in done.stderr, done.stderr


# -- the disk cache ------------------------------------------------------------------------------------


def test_kernels_of_buckets_come_from_the_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("FRIT_CACHE", "1")
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path))
    tally = torch._dynamo.utils.counters["frit"]
    run = compiled_for(double, {"x[0]": [8, 16]})
    call(run, 5, 6)
    assert frit.wait_for_background(60)
    assert tally["cache_stores"] == 2

    native = compiler()
    monkeypatch.setattr("frit.native.compiler", lambda: Broken(native))
    run = compiled_for(double, {"x[0]": [8, 16]})
    call(run, 5, 6)
    assert frit.wait_for_background(60)
    call(run, 7)
    assert tally["cache_hits"] == 1 and frit.counts()["specialized_calls"] == 1
    monkeypatch.setattr("frit.native.compiler", lambda: native)
    # A graph from the cache can be compiled for further buckets, because its text is stored with it.
    call(run, 10, 11)
    assert frit.wait_for_background(60)
    call(run, 12)
    assert frit.counts()["specialized_calls"] == 2 and tally["cache_stores"] == 1


def test_a_damaged_entry_is_made_again(monkeypatch, tmp_path):
    monkeypatch.setenv("FRIT_CACHE", "1")
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path))
    for damaged in (False, True):
        run = compiled_for(double, {"x[0]": [8, 16]})
        if damaged:
            small = min((p for p in tmp_path.rglob("*") if p.is_file()), key=lambda p: "summary" in p.read_bytes()[:4096].decode("latin-1"))
            small.write_bytes(small.read_bytes()[:-1] + b"?")
        call(run, 5, 6)
        assert frit.wait_for_background(60)
        call(run, 7)
        assert frit.counts()["specialized_calls"] == 1
