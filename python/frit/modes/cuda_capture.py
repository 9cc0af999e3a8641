"""Calls that operators of torch take part in as CUDA graphs, captured by torch itself: `torch.cuda.CUDAGraph` knows what its allocator, its
random numbers and its libraries need. The runtime decides what is captured and when (`runtime/cuda/OperatorGraphs.cpp`); the binding calls
`open`, `capture` and `replay` without knowing CUDA, so a torch without it builds the same binding and tests play this module's part.

What is captured has just been run on this thread: modules are loaded and libraries have their handles. Nothing is waited for."""

import contextlib
import weakref

import torch

# Captures that could not begin: torch's allocator may still ask them which streams are theirs.
_BROKEN = []


class Shared:
    """What the graphs that are launched on one stream share: the stream they are captured on, and memory, for they run one after the other."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.device = torch.cuda.current_device()
        self._graphs = weakref.WeakSet()
        self._pool = None

    def pool(self):
        """torch forgets a pool with its last graph, and does not take its handle again."""
        if self._pool is None or not self._graphs:
            self._pool = torch.cuda.graph_pool_handle()
        return self._pool

    def add(self, graph):
        self._graphs.add(graph)


def open():
    return Shared()


@torch._dynamo.disable
def capture(shared, body):
    """A graph of what body() launches, and the address by which the driver launches it; 0 where this torch does not tell."""
    graph = torch.cuda.CUDAGraph()
    with _libraries_apart(), torch.cuda.stream(shared.stream):
        _begin(graph, shared)
        try:
            body()
        finally:
            graph.capture_end()
    shared.add(graph)
    return graph, graph.raw_cuda_graph_exec() if hasattr(graph, "raw_cuda_graph_exec") else 0


@torch._dynamo.disable
def replay(graph):
    """On the current stream; torch moves its generators on by what the graph draws."""
    graph.replay()


def _begin(graph, shared):
    pool = shared.pool()
    try:
        # Other threads may allocate and wait meanwhile.
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
    except BaseException:
        # Memory of this thread would go to the pool from here on.
        _BROKEN.append(graph)
        shared._pool = None
        with contextlib.suppress(RuntimeError):
            torch._C._cuda_endAllocateToPool(shared.device, pool)
        raise


@contextlib.contextmanager
def _libraries_apart():
    """Workspaces of cuBLAS are kept by stream. One made in a capture lies in the graph's memory, and must not serve what comes later; one made
    before must not go into the graph, because it may be given away. cuDNN must not empty the allocator's cache while it measures."""
    torch._C._cuda_clearCublasWorkspaces()
    empties = torch._C._cuda_get_conv_benchmark_empty_cache()
    torch._C._cudnn_set_conv_benchmark_empty_cache(False)
    try:
        yield
    finally:
        torch._C._cudnn_set_conv_benchmark_empty_cache(empties)
        torch._C._cuda_clearCublasWorkspaces()
