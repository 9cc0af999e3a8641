"""Phases of a compilation: spans in torch's profiler and traces, a progress line on terminals only, and kernels as events of the profiler."""

import gzip
import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest
import torch

from frit import phases


class Terminal(io.StringIO):
    def isatty(self):
        return True


def is_watched():
    return any(thread.name == "frit-progress" for thread in threading.enumerate())


def compile_slowly(monkeypatch, stream, options=None):
    """Compiles with a slow capture and a progress line after a moment instead of a second; returns the output."""
    from frit import backend

    capture = backend.capture

    def slow(gm):
        time.sleep(0.2)
        return capture(gm)

    monkeypatch.setattr(backend, "capture", slow)
    monkeypatch.setattr(phases, "AFTER", 0.02)
    monkeypatch.setattr(phases, "EVERY", 0.02)
    monkeypatch.setattr(sys, "stderr", stream)
    torch.compile(lambda x: x.sin() + 1, backend="frit", options=options or {})(torch.ones(3))
    return stream.getvalue()


def test_a_terminal_shows_one_line_that_goes_away(monkeypatch):
    text = compile_slowly(monkeypatch, Terminal())
    assert not is_watched()
    lines = text.split("\r")
    assert "\n" not in text and any("s, capture graph0_inference" in line for line in lines), text
    assert lines[-1] == "" and lines[-2].strip() == "" and len(lines[-2]) >= max(len(line) for line in lines[:-2])


@pytest.mark.parametrize("how", ["a file", "the option", "the variable", "a short compilation", "no stream"])
def test_nothing_is_shown_otherwise(monkeypatch, how):
    if how == "the variable":
        monkeypatch.setenv("FRIT_PROGRESS", "0")
    if how == "a short compilation":
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        torch.compile(lambda x: x.sin() + 1, backend="frit")(torch.ones(3))
        assert stream.getvalue() == "" and not is_watched()
        return
    if how == "no stream":
        monkeypatch.setattr(sys, "stderr", None)
        torch.compile(lambda x: x.sin() + 1, backend="frit")(torch.ones(3))
        return
    stream = io.StringIO() if how == "a file" else Terminal()
    assert compile_slowly(monkeypatch, stream, {"progress": False} if how == "the option" else None) == ""
    assert not is_watched()


def test_a_failed_compilation_leaves_no_thread(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(Exception, match="as was asked"):
        torch.compile(lambda x: x.sin() + 1, backend="frit", options={"fail_at": "always"})(torch.ones(3))
    assert not is_watched()


PROGRAM = """
import sys, time, torch
from frit import backend, phases
phases.AFTER, capture = 0.05, backend.capture
backend.capture = lambda gm: (time.sleep(0.3), capture(gm))[1]
print(torch.compile(lambda x: x.sin() + 1, backend="frit")(torch.zeros(2)).tolist(), flush=True)
"""


def test_a_real_terminal_shows_it(tmp_path):
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=theirs, text=True, env={**os.environ, "COLUMNS": "60"})
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.stdout == "[1.0, 1.0]\n" and "frit: 0." in shown and "capture graph0_inference" in shown and shown.endswith("\r"), shown


def test_phases_are_spans_of_the_profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.compile(lambda x: x.sin() + 1, backend="frit")(torch.ones(3))
    spans = {event.name: event.time_range for event in profile.events() if event.name.startswith("frit.")}
    outer = spans["frit.graph (dynamo_timed)"]
    for name in ("capture", "compile", "load"):
        inner = spans[f"frit.{name} (dynamo_timed)"]
        assert outer.start <= inner.start <= inner.end <= outer.end, name


def test_phases_are_events_of_torchs_trace(tmp_path):
    program = "import torch\ntorch.compile(lambda x: x.sin() + 1, backend='frit')(torch.ones(3))"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TORCH_TRACE": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (log,) = tmp_path.iterdir()
    # A payload follows the line of its event, indented.
    payloads = re.findall(r'^V\S+ .*"chromium_event".*\n((?:\t.*\n)+)', log.read_text(), re.MULTILINE)
    ended = {event["name"]: event["args"] for event in map(json.loads, payloads) if event["ph"] == "E"}
    assert {f"frit.{name}" for name in ("graph", "capture", "compile", "load")} <= set(ended)
    facts = ended["frit.compile"]
    assert facts["graph"] == "graph0_inference" and facts["kernels"] == 1 and facts["phases_ms"]["import"] > 0


def has_own_kernels():
    return torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def profiled(function, *inputs, path=None, **how):
    """The events of frit's in one call; with a path, and in the chrome trace that is written there: name -> arguments."""
    compiled = torch.compile(function, backend="frit")
    with torch.no_grad():
        compiled(*inputs)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **how) as profile:
            compiled(*inputs)
    events = [event for event in profile.events() if event.name.startswith("frit")]
    if path is None:
        return events
    profile.export_chrome_trace(str(path / "trace.json.gz"))
    with gzip.open(path / "trace.json.gz", "rt") as file:
        return events, {event["name"]: event.get("args", {}) for event in json.load(file)["traceEvents"] if event.get("name", "").startswith("frit")}


def test_kernels_are_events_of_the_profiler(tmp_path):
    def function(table, w):
        y = (table["x"] @ w) * 2 + 1
        return y.softmax(-1).sum(0)

    events, traced = profiled(function, {"x": torch.randn(8, 32)}, torch.randn(32, 16), path=tmp_path, record_shapes=True)
    first = function.__code__.co_firstlineno
    kernels = [event for event in events if event.name.startswith("frit_")]
    if has_own_kernels():
        (product,) = [event for event in events if event.name == "frit::product"]
        # torch writes strings into a trace as they are, so there are no quotation marks in them.
        assert product.input_shapes == [[8, 32], [32, 16]]
        assert product.kwinputs["source"] == f"test_phases.py:{first + 1} in function: y = (table['x'] @ w) * 2 + 1"
    # Operands, then results, which lie in bare memory.
    assert [kernel.input_shapes for kernel in kernels] == [[[8, 16], [8], [8]], [[8, 16], [8], [8], [16]]]
    last = kernels[-1]
    assert last.name.startswith("frit_") and last.kwinputs["source"].endswith(f"test_phases.py:{first + 2} in function: return y.softmax(-1).sum(0)")
    shown = traced[kernels[0].name]
    assert shown["Input Dims"] == [[8, 16], [8], [8]] and shown["Input Strides"] == [[16, 1], [1], [1]] and set(shown["Input type"]) == {"float"}
    assert shown["source"] == kernels[0].kwinputs["source"]


def test_attention_and_convolutions_of_the_runtime_have_shapes():
    def function(q, x, kernel):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q), torch.nn.functional.conv2d(x, kernel)

    q, image, kernel = torch.randn(1, 2, 16, 64), torch.randn(1, 16, 9, 9), torch.randn(32, 16, 3, 3)
    if not has_own_kernels():
        pytest.skip("the runtime's kernels want AVX2")
    events = {event.name: event for event in profiled(function, q, image, kernel, record_shapes=True)}
    assert events["frit::attention"].input_shapes == [[1, 2, 16, 64]] * 3
    assert events["frit::convolution"].input_shapes[:2] == [[1, 16, 9, 9], [32, 16, 3, 3]]
    for name in ("frit::attention", "frit::convolution"):
        assert "in function: return torch.nn.functional.scaled_dot" in events[name].kwinputs["source"]


def test_events_without_shapes_have_only_names():
    for event in profiled(lambda x: (x * 2).softmax(-1), torch.randn(8, 16)):
        assert event.input_shapes == [] and event.kwinputs == {}
