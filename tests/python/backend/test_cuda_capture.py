"""`frit.cuda_capture` and its binding, with a fake of torch's CUDA: the order of calls, and the state after failures. The times of captures and the
results of replays are tested in `unit/runtime/cuda/OperatorGraphs.cpp`."""

import contextlib
import gc
import signal

import pytest
import torch

import frit
from frit._C import capture_traits, capture_with
from frit.modes import cuda_capture


class Script:
    """Records the calls of torch, and raises scripted exceptions."""

    def __init__(self):
        self.log, self.fails, self.pools, self.empties = [], {}, 0, True

    def say(self, what, *more):
        self.log.append(" ".join([what, *map(str, more)]))
        if what in self.fails:
            raise self.fails[what]


@pytest.fixture
def script(monkeypatch):
    script = Script()

    class Graph:
        def capture_begin(self, pool, capture_error_mode):
            script.say("begin", pool, capture_error_mode)

        def capture_end(self):
            script.say("end")

        def raw_cuda_graph_exec(self):
            return 0x1234

        def replay(self):
            script.say("replay")

    @contextlib.contextmanager
    def stream(which):
        script.say("enter", which)
        yield
        script.say("leave", which)

    def new_pool():
        script.pools += 1
        return (0, script.pools)

    def set_empties(value):
        script.empties = value

    for name, value in [("CUDAGraph", Graph), ("Stream", lambda: "side"), ("stream", stream), ("current_device", lambda: 0),
                        ("graph_pool_handle", new_pool)]:
        monkeypatch.setattr(torch.cuda, name, value)
    for name, value in [("_cuda_clearCublasWorkspaces", lambda: script.say("clear")),
                        ("_cuda_get_conv_benchmark_empty_cache", lambda: script.empties),
                        ("_cudnn_set_conv_benchmark_empty_cache", set_empties),
                        ("_cuda_endAllocateToPool", lambda device, pool: script.say("close", device, pool))]:
        monkeypatch.setattr(torch._C, name, value, raising=False)
    monkeypatch.setattr(cuda_capture, "_BROKEN", [])
    return script


def test_what_is_launched_is_captured_on_a_stream_aside(script):
    def body():
        script.say("body")
        assert not script.empties

    assert capture_with(cuda_capture, body) == (0x1234, "", False)
    assert script.log == ["clear", "enter side", "begin (0, 1) thread_local", "body", "end", "leave side", "clear", "replay"]
    assert script.empties


def test_a_torch_that_does_not_tell_where_its_graph_lies_launches_it(script, monkeypatch):
    monkeypatch.delattr(torch.cuda.CUDAGraph, "raw_cuda_graph_exec")
    assert capture_with(cuda_capture, lambda: None) == (0, "", False)
    assert script.log[-1] == "replay"


def test_graphs_share_memory_as_long_as_one_of_them_lives(script):
    shared = cuda_capture.open()
    first = cuda_capture.capture(shared, lambda: None)
    second = cuda_capture.capture(shared, lambda: None)
    assert script.pools == 1
    del first
    gc.collect()
    third = cuda_capture.capture(shared, lambda: None)
    assert script.pools == 1
    del second, third
    gc.collect()
    cuda_capture.capture(shared, lambda: None)
    assert script.pools == 2, "torch does not take the handle of a pool it has forgotten"


@pytest.mark.parametrize("where", ["body", "end", "begin", "replay"])
def test_whatever_fails_ends_the_capture_and_is_told(script, where):
    script.fails[where] = RuntimeError(f"{where} went wrong\nSearch for it in the documentation")
    address, error, is_memory = capture_with(cuda_capture, lambda: script.say("body"))
    assert error.endswith(f"{where} went wrong") and not is_memory
    assert script.log.count("end") == (where != "begin")
    assert ("replay" in script.log) == (where == "replay")
    assert (script.log[-1] if where != "replay" else script.log[-2]) == "clear"
    assert script.empties
    assert ("close 0 (0, 1)" in script.log) == (where == "begin"), "else this thread's memory would go to the pool"
    assert len(cuda_capture._BROKEN) == (where == "begin")


def test_a_lack_of_memory_is_told_apart(script):
    script.fails["end"] = torch.OutOfMemoryError("CUDA out of memory")
    assert capture_with(cuda_capture, lambda: None) == (0, "capturing: CUDA out of memory", True)
    script.fails["end"] = RuntimeError("CUDA error: out of memory\nmore")
    assert capture_with(cuda_capture, lambda: None) == (0, "capturing: CUDA error: out of memory", True)
    assert "replay" not in script.log


def test_a_recorder_that_does_not_run_the_body_or_runs_it_twice():
    class Recorder:
        def __init__(self, times):
            self.times = times

        def open(self):
            return None

        def capture(self, shared, body):
            self.body = body
            for _ in range(self.times):
                body()
            return object(), 7

        def replay(self, graph):
            pass

    ran = []
    assert capture_with(Recorder(0), lambda: ran.append(1)) == (0, "nothing was captured", False)
    assert ran == []
    recorder = Recorder(1)
    assert capture_with(recorder, lambda: ran.append(1)) == (7, "", False)
    with pytest.raises(RuntimeError, match="only while it is captured"):
        recorder.body()
    address, error, _ = capture_with(Recorder(2), lambda: ran.append(1))
    assert "can be run once" in error
    assert ran == [1, 1]


def test_an_interrupt_is_raised_when_the_call_is_over(script):
    script.fails["end"] = KeyboardInterrupt()
    # A shell's background jobs start with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            capture_with(cuda_capture, lambda: None)
            for _ in range(1000):
                pass
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "name, overload, reason, is_random",
    [
        ("aten::mm", "", "", False),
        ("aten::convolution", "", "", False),
        ("aten::_scaled_dot_product_flash_attention", "", "", True),
        ("aten::native_dropout", "", "", True),
        ("aten::_local_scalar_dense", "", "it reads a value back from the GPU (aten::_local_scalar_dense)", False),
        ("_c10d_functional::all_reduce", "", "it communicates with other processes (_c10d_functional::all_reduce)", False),
    ],
)
def test_what_a_capture_knows_of_operators(name, overload, reason, is_random):
    assert capture_traits(name, overload) == (reason, is_random)


def test_operators_that_say_so_and_python_steps_are_not_captured():
    library = torch.library.Library("frit_test_capture", "FRAGMENT")
    library.define("unsafe(Tensor x) -> Tensor", tags=[torch.Tag.cudagraph_unsafe])
    assert capture_traits("frit_test_capture::unsafe", "")[0] == "it calls frit_test_capture::unsafe, which says that CUDA graphs may not have it"
    steps = torch.library.Library("frit_callback", "FRAGMENT")
    steps.define("step_for_capture(Tensor x) -> Tensor")
    assert capture_traits("frit_callback::step_for_capture", "")[0] == "it has a Python step, frit_callback::step_for_capture"
    with pytest.raises(RuntimeError, match="frit_test_capture::nothing"):
        capture_traits("frit_test_capture::nothing", "")


def test_reduce_overhead_passes_it_on_and_touches_no_cuda(script):
    torch.compiler.reset()
    x = torch.randn(4, 4)
    torch.testing.assert_close(torch.compile(lambda a: (a @ a).relu(), backend="frit", mode="reduce-overhead")(x), (x @ x).relu())
    assert frit.counts()["not_captured"] == {"no GPU plan: it runs on the CPU": 1}
    assert script.log == []
