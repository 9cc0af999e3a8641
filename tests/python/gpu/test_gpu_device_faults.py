"""Rows of the table "GPU faults" (tests/README.md) on a real GPU that a scripted driver cannot test (scripts/gpu-check). Faults that destroy a
process's GPU state happen in a child process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

pytestmark = pytest.mark.gpu
SUPPORT = str(Path(__file__).resolve().parents[1] / "support")
SEED = str(Path(__file__).resolve().parents[2] / "fuzz/corpus/artifact/gpu-cubin")


def in_a_process(code, **environment):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=240, env={**os.environ, **environment})
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_row_03_damaged_cubins_are_refused_in_a_child():
    """The header is checked before the driver gets the cubin, and the driver refuses other damage. Neither ends the process."""
    code = (
        "import sys, os, frit\n"
        f"sys.path[:0] = [{SUPPORT!r}]\n"
        "import artifacts\n"
        f"good = open({SEED!r}, 'rb').read()\n"
        "body = bytearray(good[128:])\n"
        "start = body.index(b'\\x7fELF')\n"
        "for place, byte in ((0, 0), (4, 1), (5, 2), (18, 62), (58, 1), (42, 255), (47, 255)):\n"
        "    broken = body.copy()\n"
        "    broken[start + place] = byte\n"
        "    open('/dev/shm/frit-broken.frit', 'wb').write(artifacts.frame(bytes(broken)))\n"
        "    os.chmod('/dev/shm/frit-broken.frit', 0o600)\n"
        "    try:\n"
        "        frit.load('/dev/shm/frit-broken.frit')\n"
        "        print(place, 'taken')\n"
        "    except Exception as error:\n"
        "        assert 'cubin' in str(error), (place, error)\n"
        "os.remove('/dev/shm/frit-broken.frit')\n"
        "print('done')\n"
    )
    status, shown, said = in_a_process(code)
    assert (status, shown) == (0, "done"), said[-2000:]


def test_row_04_no_memory_on_a_device_that_is_full():
    """If there is no memory for results, the error is eager's, nothing leaks, and the next call works."""
    compiled = torch.compile(lambda x: torch.softmax(x, -1) + 1, backend="frit", dynamic=True)
    small = torch.randn(16, 1024, device="cuda")
    compiled(small)
    large = torch.empty(1 << 18, 1024, device="cuda")
    compiled(large[:1024])
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    # Blocks that earlier tests have left in the allocator count as free memory, so all of it is filled.
    spare = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
    filled, size = [], torch.cuda.mem_get_info()[0]
    while size >= 64 << 20:
        try:
            filled.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size //= 2
    del spare
    before = torch.cuda.memory_allocated()
    for _ in range(3):
        with pytest.raises(torch.OutOfMemoryError):
            compiled(large)
        assert torch.cuda.memory_allocated() == before
        torch.testing.assert_close(compiled(small), torch.softmax(small, -1) + 1)
    del filled
    torch.cuda.empty_cache()
    assert compiled(large).shape == large.shape


def test_row_05_an_index_out_of_range_names_the_kernel_in_a_child():
    """torch's kernel would assert. frit's error names the kernel and the graph, and every later call says that the process must be restarted."""
    code = (
        "import torch\n"
        "f = torch.compile(lambda t, i: torch.nn.functional.embedding(i, t) * 2, backend='frit')\n"
        "t = torch.ones(5, 64, device='cuda')\n"
        "f(t, torch.tensor([1, 2], device='cuda'))\n"
        "torch.cuda.synchronize()\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        f(t, torch.tensor([1, 999999], device='cuda'))\n"
        "        torch.cuda.synchronize()\n"
        "        print('no error')\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, str(error).splitlines()[0])\n"
    )
    status, shown, said = in_a_process(code, FRIT_CUDA_SYNC="1")
    lines = shown.splitlines()
    assert len(lines) == 2 and "no error" not in shown, (status, shown, said)
    assert "frit_" in lines[0] or "index" in lines[0], lines


def test_row_10_another_stream_and_an_allocator_that_reuses_at_once():
    """Temporaries belong to the launching stream, so another stream that reuses their memory overwrites nothing."""
    compiled = torch.compile(lambda x: torch.softmax(torch.softmax(x, -1) @ x.t(), -1) @ x, backend="frit")
    x = torch.randn(512, 512, device="cuda")
    expected = compiled(x).clone()
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    found = []
    for turn in range(64):
        with torch.cuda.stream(streams[turn % 4]):
            found.append(compiled(x))
            torch.empty(512, 512, device="cuda").fill_(float("nan"))
    torch.cuda.synchronize()
    assert all(torch.equal(one, expected) for one in found)


def test_row_11_a_capture_by_the_caller_replays_a_hundred_times():
    compiled = torch.compile(lambda x: torch.softmax(x * 2, -1) + x.sum(0), backend="frit")
    x = torch.randn(64, 512, device="cuda")
    compiled(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = compiled(x)
    for turn in range(100):
        x.copy_(torch.randn(64, 512, device="cuda") + turn)
        graph.replay()
        torch.testing.assert_close(result, torch.softmax(x * 2, -1) + x.sum(0), rtol=1e-4, atol=1e-2)


def test_schedules_are_measured_and_remembered_by_the_next_process(tmp_path):
    """max-autotune on a device, in two processes that share a cache."""
    code = (
        "import json, torch\n"
        "from torch._dynamo.utils import counters\n"
        "f = torch.compile(lambda x: (torch.softmax(x, -1), x.sum(0)), backend='frit', mode='max-autotune-no-cudagraphs')\n"
        "x = torch.randn(4096, 4096, device='cuda')\n"
        "torch.testing.assert_close(f(x), (torch.softmax(x, -1), x.sum(0)), rtol=1e-3, atol=1e-2)\n"
        "print(json.dumps({n: v for n, v in counters['frit'].items() if 'autotune' in n}))\n"
    )
    tallies = []
    for _ in range(2):
        status, shown, said = in_a_process(code, FRIT_CACHE="1", FRIT_CACHE_DIR=str(tmp_path))
        assert status == 0, said[-2000:]
        tallies.append(json.loads(shown.splitlines()[-1]))
    assert tallies[0]["autotune_regions"] >= 1 and tallies[1].get("autotune_remembered") == 1 and not tallies[1].get("autotune_regions"), tallies
