"""The verdict on GPU figures, and all code of `benchmarks.gpu` except measurements: a missing figure never passes."""

import copy
import json
import math
import subprocess
from pathlib import Path

import pytest
import torch

from benchmarks import compile_cost, gpu, gpu_kernels, measure, verdict

ROOT = Path(__file__).resolve().parents[3]


def figures():
    """Figures of a run that meets every target, most of them exactly."""
    kernels = {}
    for name in gpu_kernels.kernels():
        times = {"eager": 3.0, "inductor": 1.15, "inductor-max": 1.15, "frit": 1.0}
        kernels[name] = {"milliseconds": times, "of_copy": {"frit": verdict.share_of(name, [9, 0]) or 0.1}, "errors": {}}
    kernels["foreach_adamw"]["launches"] = {"frit": 2}
    kernels["llama_block"]["launches"] = {"inductor": 12, "frit": 11}
    compiled = {name: {"kernels": 1, "cold_ms": 40.0, "warm_ms": 2.0} for name in verdict.SINGLE_KERNELS}
    compiled["twenty"] = {"kernels": 20, "cold_ms": 300.0, "warm_ms": 2.0}
    compiled["llama_block"] = {"kernels": 4, "cold_ms": 90.0, "warm_ms": 2.0}
    compiled["same_bucket"] = {"recompiles": 0}
    host = {"1": 4.0, "4": 8.2, "20": 30.6}
    return {
        "machine": {"torch": "2.11", "commit": "abc"}, "device": "H200", "capability": [9, 0], "driver": "580.1", "cuda": "13.0", "copy_gb_s": 4300.0,
        "kernels": kernels, "host": {count: {"microseconds": {"frit": us}} for count, us in host.items()}, "compile": compiled,
        "cpu": {name: {"milliseconds": {"frit": 1.0, "inductor": 1.0}, "cold_ms": 15.0} for name in verdict.CPU_KERNELS},
    }  # fmt: skip


def failed(found):
    judged = verdict.verdict(found)
    wrong = [row["what"] for row in judged["rows"] if not row["passed"]]
    assert judged["passed"] == (not wrong)
    return wrong


def test_figures_that_meet_every_target_pass():
    found = json.loads(json.dumps(figures()))
    assert not failed(found)
    items = {row["item"] for row in verdict.verdict(found)["rows"]}
    assert items == {None, *range(1, 26)}
    before = copy.deepcopy(found)
    verdict.verdict(found)
    assert found == before, "the verdict changes nothing"


def test_every_kernel_belongs_to_one_item():
    named = [name for names in verdict.ITEMS.values() for name in names]
    assert sorted(named) == sorted(gpu_kernels.kernels()) and list(verdict.ITEMS) == list(range(1, 23))
    assert set(verdict.CPU_KERNELS) == set(compile_cost.CPU)
    others = {name for name in named if verdict.share_of(name, [9, 0]) is None}
    assert others == {"index_add_equal", "group_norm_silu", "llama_block"}, "each of them is held to something else"


def test_long_rows_are_read_twice_where_there_are_no_clusters():
    assert [verdict.share_of("softmax_long", capability) for capability in ([8, 0], [9, 0], [10, 0], None)] == [0.63, 0.93, 0.93, 0.63]
    assert verdict.share_of("softmax", [8, 0]) == 0.95


@pytest.mark.parametrize(
    "place, value, what",
    [
        (("kernels", "mul_add", "of_copy", "frit"), 0.969, "mul_add: share"),
        (("kernels", "mul_add", "milliseconds", "inductor"), 0.94, "mul_add: Inductor's time"),
        (("kernels", "index_add_equal", "milliseconds", "eager"), 0.9, "index_add_equal: eager's time"),
        (("kernels", "group_norm_silu", "milliseconds", "eager"), 0.9, "group_norm_silu: frit's time over the best"),
        (("kernels", "llama_block", "milliseconds", "inductor"), 0.99, "llama_block: Inductor's time over frit's, whole graph"),
        (("kernels", "llama_block", "launches", "frit"), 12, "llama_block: launches"),
        (("kernels", "foreach_adamw", "launches", "frit"), 3, "foreach_adamw: launches"),
        (("host", "1", "microseconds", "frit"), 4.01, "host, 1 kernels"),
        (("host", "4", "microseconds", "frit"), 8.3, "host, 4 kernels"),
        (("host", "20", "microseconds", "frit"), 30.7, "host, 20 kernels"),
        (("compile", "softmax", "cold_ms"), 40.1, "softmax: ms to compile"),
        (("compile", "softmax", "kernels"), 2, "softmax: ms to compile"),
        (("compile", "twenty", "cold_ms"), 301, "twenty: ms to compile"),
        (("compile", "llama_block", "warm_ms"), 2.1, "llama_block: ms from the disk"),
        (("compile", "same_bucket", "recompiles"), 1, "another size of a bucket"),
        (("cpu", "cpu_gelu", "milliseconds", "inductor"), 0.99, "cpu_gelu: Inductor's time"),
        (("cpu", "cpu_gelu", "cold_ms"), 15.1, "cpu_gelu: ms to compile"),
        (("driver",), "", "driver is recorded"),
        (("machine", "commit"), "", "commit is recorded"),
    ],
)
def test_a_figure_beyond_its_target_fails(place, value, what):
    found = figures()
    *way, last = place
    part = found
    for key in way:
        part = part[key]
    part[last] = value
    assert any(row.startswith(what) for row in failed(found)), failed(found)
    del part[last]
    assert any(row.startswith(what) for row in failed(found)), "a missing figure is no pass"
    for wrong in (None, math.nan, "0", True):
        if what.endswith("recorded"):
            break
        part[last] = wrong
        assert any(row.startswith(what) for row in failed(found)), f"{wrong!r} is no figure"


def test_the_geometric_mean_wants_all_kernels():
    found = figures()
    for row in found["kernels"].values():
        row["milliseconds"]["inductor"] = 1.1
    assert failed(found) == ["Inductor's time over frit's, geometric mean"]
    found = figures()
    del found["kernels"]["swiglu"]
    row = next(row for row in verdict.verdict(found)["rows"] if "geometric" in row["what"])
    assert not row["passed"] and row["measured"] is None and row["why"] == "lacks swiglu"


def test_nothing_measured_is_nothing_passed():
    assert len(failed({})) == len(verdict.verdict({})["rows"]) == len(verdict.verdict(figures())["rows"])


def test_a_contender_that_failed_is_the_reason():
    found = figures()
    row = found["kernels"]["softmax"]
    del row["milliseconds"]["frit"], row["of_copy"]["frit"]
    row["errors"]["frit"] = "RuntimeError: a | b"
    rows = [row for row in verdict.verdict(found)["rows"] if row["what"].startswith("softmax: share")]
    assert rows[0]["why"] == "RuntimeError: a | b"
    table = verdict.markdown(found)
    assert "| 9 | softmax: share of the copy's bandwidth | >= 0.95 | RuntimeError: a / b | **no** |" in table
    assert "- driver: 580.1" in table and "- commit: abc" in table and "| 1 | mul_add: share of the copy's bandwidth | >= 0.97 | 0.97 | yes |" in table


def faked(monkeypatch, found):
    """Replaces the measurements of the benchmark by those of `found`; returns the list of measured names."""
    asked = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: found["device"])
    monkeypatch.setattr(gpu, "_capability", lambda: found["capability"])
    monkeypatch.setattr(gpu, "driver_version", lambda: found["driver"])
    monkeypatch.setattr(gpu, "machine", lambda: found["machine"])
    monkeypatch.setattr(torch.version, "cuda", found["cuda"])
    monkeypatch.setattr(gpu, "copy_bandwidth", lambda seconds: found["copy_gb_s"])

    def one(part, name):
        asked.append(name)
        if name == "swiglu":
            raise MemoryError("there is none")
        row = copy.deepcopy(found[part][name])
        return {**row, "bytes": row["of_copy"]["frit"] * found["copy_gb_s"] * 1e6, "target": 0} if part == "kernels" else row

    monkeypatch.setattr(gpu, "measure", lambda kernel, seconds: one("kernels", kernel.name))
    monkeypatch.setattr(gpu, "host_cost", lambda count, seconds: one("host", str(count)))
    monkeypatch.setattr(gpu, "compilation", lambda name: one("compile", name))
    monkeypatch.setattr(gpu, "cpu_kernel", lambda name, seconds: one("cpu", name))
    return asked


def test_a_run_in_parts_leaves_one_json_and_one_table(monkeypatch, tmp_path, capsys):
    asked = faked(monkeypatch, figures())
    output = str(tmp_path / "figures.json")
    assert gpu.main(["--output", output, "--parts", "kernels"]) == 0
    assert asked == list(gpu_kernels.kernels())
    assert gpu.main(["--output", output, "--resume"]) == 0
    assert sorted(asked) == sorted([*gpu_kernels.kernels(), "1", "4", "20", *gpu.COMPILED, *compile_cost.CPU])
    found = json.loads((tmp_path / "figures.json").read_text())
    assert found["verdict"] == verdict.verdict(found)
    assert found["kernels"]["swiglu"]["error"] == "MemoryError: there is none"
    wrong = [row for row in found["verdict"]["rows"] if not row["passed"]]
    assert {row["what"].partition(":")[0] for row in wrong} == {"swiglu", "Inductor's time over frit's, geometric mean"}
    assert (tmp_path / "figures.md").read_text() == verdict.markdown(found)
    assert verdict.main([output]) == 1
    monkeypatch.setattr(gpu, "driver_version", lambda: "another")
    with pytest.raises(SystemExit, match="is of another run .driver differ."):
        gpu.main(["--output", output, "--resume"])


def test_what_compilation_costs_is_measured_in_a_process_of_its_own(monkeypatch):
    found = gpu.compilation("twenty", "cpu", small=True)
    assert found["kernels"] == 20 and found["cold_ms"] > found["warm_ms"] > 0, found
    assert compile_cost.same_bucket("cpu")["recompiles"] == 0
    monkeypatch.setattr(gpu.sys, "executable", "/bin/false")
    assert gpu.compilation("twenty", "cpu") == {"error": "ended with status 1"}


@pytest.mark.parametrize("name", compile_cost.CPU)
def test_kernels_of_the_cpu(name, monkeypatch):
    monkeypatch.setattr(gpu, "CONTENDERS", {"frit": {"backend": "frit"}})
    monkeypatch.setattr(gpu, "compilation", lambda *_: {"cold_ms": 1.0})
    row = gpu.cpu_kernel(name, 0.01, small=True)
    assert set(row["milliseconds"]) == {"eager", "frit"} and not row["errors"] and row["cold_ms"] == 1.0


def test_the_commit_of_a_tree_without_git(tmp_path):
    assert measure.commit(str(tmp_path)) == ""
    (tmp_path / "COMMIT").write_text("0123456789ab-dirty\n")
    assert measure.commit(str(tmp_path)) == "0123456789ab-dirty"
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    assert said.startswith(measure.commit().removesuffix("-dirty")) and measure.commit()
    assert '>"$stage/COMMIT"' in (ROOT / "scripts/portable").read_text()


def test_tiny_graphs_have_as_many_kernels_as_they_say():
    from torch._dynamo.utils import counters

    for count in verdict.HOST_KERNELS:
        torch.compiler.reset()
        function, arguments = gpu_kernels.tiny(count, "cpu")
        torch.compile(function, backend="frit", fullgraph=True)(*arguments)
        assert counters["frit"]["kernels"] == count
