"""CUDA graphs of calls that contain torch operators. torch captures them: `torch.cuda.CUDAGraph` handles its allocator, its random numbers and its
libraries. The runtime decides what is captured and when (`runtime/cuda/CudaGraphs.h`). The binding calls only `open`, `capture` and
`replay`, so it builds against a torch without CUDA, and tests can replace this module.

A call is captured after it has run on this thread, so modules are loaded and libraries are initialised. Nothing here waits for the GPU."""

import contextlib
import weakref

import torch

# Captures that failed to begin. They stay alive, because torch's allocator may still query their streams.
_BROKEN = []


class Shared:
    """The resources that graphs launched on one stream share: a capture stream, and memory, which they can share because they run one after
    another."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.device = torch.cuda.current_device()
        self._graphs = weakref.WeakSet()
        self._pool = None

    def pool(self):
        """The handle of the memory pool. torch releases a pool with its last graph and then refuses the old handle."""
        if self._pool is None or not self._graphs:
            self._pool = torch.cuda.graph_pool_handle()
        return self._pool

    def add(self, graph):
        """Notes that a graph uses the pool."""
        self._graphs.add(graph)


def open():
    """The resources for the current stream's graphs; the binding calls this once per stream."""
    return Shared()


@torch._dynamo.disable
def capture(shared, body):
    """Captures the launches of `body()`. Returns (graph, the handle with which the driver launches it, or 0 if this torch does not provide one)."""
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
    """Launches a graph on the current stream; torch advances its generators by the graph's draws."""
    graph.replay()


def _begin(graph, shared):
    pool = shared.pool()
    try:
        # thread_local: other threads may allocate and synchronise during the capture.
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
    except BaseException:
        # Undo the pool, or later allocations of this thread would go to it.
        _BROKEN.append(graph)
        shared._pool = None
        with contextlib.suppress(RuntimeError):
            torch._C._cuda_endAllocateToPool(shared.device, pool)
        raise


@contextlib.contextmanager
def _libraries_apart():
    """Separates the libraries' memory from the graph's. cuBLAS keeps a workspace per stream: one allocated during a capture is in the graph's memory
    and must not be used later; one allocated before must not be captured, because it may be freed. cuDNN must not empty the allocator's cache while
    it benchmarks."""
    torch._C._cuda_clearCublasWorkspaces()
    empties = torch._C._cuda_get_conv_benchmark_empty_cache()
    torch._C._cudnn_set_conv_benchmark_empty_cache(False)
    try:
        yield
    finally:
        torch._C._cudnn_set_conv_benchmark_empty_cache(empties)
        torch._C._cuda_clearCublasWorkspaces()
