"""torch's logs and traces show frit's parts, and reached limits of Dynamo are reported."""

import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fresh
import pytest
import torch
from torch._dynamo.utils import counters

PROGRAM = """
import torch
f = torch.compile(lambda x, w: (x.transpose(1, 2).reshape(8, -1) @ w).sin(), backend="frit", dynamic=False)
for n in (8, 6): f(torch.ones(8, n, 4), torch.ones(4 * n, 8))
"""


def said(tmp_path, **environment):
    done = fresh.run(["-c", PROGRAM], env={**os.environ, **environment}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_torch_logs_names_frit(tmp_path):
    assert said(tmp_path) == ""
    plain = said(tmp_path, TORCH_LOGS="frit")
    assert "graph0_inference: " in plain and "schedule" not in plain
    detailed = said(tmp_path, TORCH_LOGS="+frit")
    assert ": kernel frit_" in detailed and "a matrix product: a library has the kernel" in detailed and "compiled and loaded in" in detailed
    assert '"graph_module"' not in detailed


def test_the_artifacts_of_torch_show_frits_parts(tmp_path):
    text = said(tmp_path, TORCH_LOGS="output_code,recompiles,perf_hints")
    assert "frit.kernel @frit_" in text and "define dso_local i32 @frit_" in text
    assert "1 copy moves 2 KiB a call because aten.mm.default needs another layout" in text
    remedy = r"frit: (x\[1\] was 8|w\[0\] was 32) in the first call and treated as constant, now it is \d+; call torch._dynamo.mark_dynamic\("
    assert re.search(remedy, text)


def test_torch_compile_debug_holds_the_stages(tmp_path):
    said(tmp_path, TORCH_COMPILE_DEBUG="1")
    (folder,) = (tmp_path / "torch_compile_debug").glob("run_*/frit")
    graphs = sorted(path.name for path in folder.iterdir())
    assert graphs == ["graph0_inference", "graph1_inference"] and list(folder.glob("*/*-report.json"))


def test_the_structured_trace_has_graph_kernels_and_plan(tmp_path):
    said(tmp_path, TORCH_TRACE=str(tmp_path / "trace"))
    (log,) = (tmp_path / "trace").iterdir()
    text = log.read_text()
    for title in ("report", "imported_graph", "fused_graph", "plan", "kernels"):
        assert f'"name": "frit_graph0_inference_{title}"' in text
    assert "define dso_local i32 @frit_" in text


def test_tlparse_shows_the_files_of_each_graph(tmp_path):
    parser = shutil.which("tlparse", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if parser is None:
        pytest.skip("no tlparse; scripts/requirements.txt has it")
    said(tmp_path, TORCH_TRACE=str(tmp_path / "trace"))
    (log,) = (tmp_path / "trace").iterdir()
    # Strict: what it cannot read is an error.
    done = subprocess.run([parser, "--strict", log, "-o", tmp_path / "pages", "--no-browser"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "pages/index.html").read_text()
    for graph in (0, 1):
        for title in ("report", "imported_graph", "fused_graph", "plan", "kernels"):
            (file,) = (tmp_path / "pages").rglob(f"frit_graph{graph}_inference_{title}_*")
            assert file.name in index and file.stat().st_size > 100
    assert "define dso_local i32 @frit_" in next((tmp_path / "pages").rglob("frit_graph0_inference_kernels_*")).read_text()


class Heard(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def heard(function, calls):
    handler, log = Heard(), logging.getLogger("frit")
    log.addHandler(handler)
    try:
        for call in calls:
            function(*call)
    finally:
        log.removeHandler(handler)
    return [line for line in handler.lines if "recompile_limit" in line]


def test_a_reached_limit_is_one_counted_line_with_the_remedy():
    function = torch.compile(lambda x: x.softmax(-1) + 1, backend="frit", dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=2):
        (line,) = heard(function, [(torch.ones(n, 3),) for n in range(2, 8)])
    assert line.startswith("<lambda> (test_torch_logs.py:") and "recompile_limit = 2: calls that fit none of its graphs now run in eager" in line
    assert "mark_dynamic(x, 0)" in line and counters["frit"]["recompile_limit"] == 1


def test_the_line_comes_when_torchs_logs_are_silenced():
    logging.getLogger("torch._dynamo.convert_frame").setLevel(logging.CRITICAL)
    try:
        function = torch.compile(lambda x: x.softmax(-1) + 2, backend="frit", dynamic=False)
        with torch._dynamo.config.patch(recompile_limit=2):
            assert len(heard(function, [(torch.ones(n, 3),) for n in range(2, 6)])) == 1
    finally:
        logging.getLogger("torch._dynamo.convert_frame").setLevel(logging.NOTSET)


def test_limits_of_other_backends_are_not_frits():
    function = torch.compile(lambda x: x.softmax(-1) + 3, backend="eager", dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=2):
        assert heard(function, [(torch.ones(n, 3),) for n in range(2, 6)]) == []
