"""Recording the sizes of calls: the counts, the file, and its use by frit-compile."""

import json
import os
import subprocess

import fresh
import pytest
import torch
from exported import TOOLS

import frit


def function(x, w, n=None):
    return torch.relu(x) @ w * (1 if n is None else n)


def test_sizes_of_calls_by_argument_and_dimension(tmp_path):
    w = torch.randn(6, 3)
    path = tmp_path / "seen.json"
    with frit.record_sizes(path) as record:
        run = torch.compile(function, backend="frit")
        for rows in (5, 7, 9, 9, 1):
            torch.testing.assert_close(run(torch.ones(rows, 6), w), function(torch.ones(rows, 6), w))
    # The first graph is static, and so is that of one row.
    assert json.loads(path.read_text()) == {"x[0]": {"7": 1, "9": 2}}
    assert record.counts["x[0]"][9] == 2


def test_integers_and_training_steps_are_counted_once():
    with frit.record_sizes() as record:
        run = torch.compile(function, backend="frit", dynamic=True)
        for rows, n in ((5, 20), (8, 30)):
            run(torch.ones(rows, 6, requires_grad=True), torch.ones(6, 4), n).sum().backward()
    assert record.counts["x[0]"] == {5: 1, 8: 1} and record.counts["n"] == {20: 1, 30: 1}


def test_what_was_compiled_before_or_after_is_not_counted():
    run = torch.compile(function, backend="frit", dynamic=True)
    run(torch.ones(5, 6), torch.ones(6, 4))
    with frit.record_sizes() as record:
        run(torch.ones(8, 6), torch.ones(6, 4))
    torch.compile(lambda x: x * 2, backend="frit", dynamic=True)(torch.ones(4))
    assert record.counts == {}


def test_a_file_that_cannot_be_written_is_one_clear_error(tmp_path):
    with pytest.raises(frit.FritError, match=r"sizes cannot be written to .*nowhere/seen.json: No such file or directory"):
        with frit.record_sizes(tmp_path / "nowhere" / "seen.json"):
            pass


def test_the_environment_records_a_whole_program_and_frit_compile_takes_it(tmp_path):
    seen, program, artifact = tmp_path / "seen.json", tmp_path / "model.pt2", tmp_path / "model.frit"
    script = """
import sys, torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2
run = torch.compile(Model(), backend="frit", dynamic=True)
for rows in (5, 17, 17, 60):
    run(torch.ones(rows, 6))
torch.export.save(torch.export.export(Model(), (torch.ones(5, 6),), dynamic_shapes={"x": {0: torch.export.Dim("rows")}}), sys.argv[1])
"""
    environment = {**os.environ, "FRIT_RECORD_SIZES": str(seen), "FRIT_CACHE": "0"}
    fresh.run(["-c", script, program], env=environment, check=True, timeout=120)
    rows = json.loads(seen.read_text())["x[0]"]
    assert rows == {"5": 1, "17": 2, "60": 1}
    seen.write_text(json.dumps({"x[0]": rows}))
    command = [TOOLS / "frit-compile", program, "-o", artifact, f"--sizes={seen}", "--bucket-count=2", "--report"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (entry,) = [entry for entry in json.loads(done.stdout)["buckets"] if entry["names"] == ["x[0]"]]
    assert entry["policy"] == "histogram" and entry["sizes"] == [17, 60]
