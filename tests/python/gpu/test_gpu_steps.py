"""scripts/gpu-check without a GPU: its steps, steps that crash, hang or lack a tool, and the tree that `make portable` makes."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import gpu_smoke
import on_device
import pytest

from benchmarks.programs import programs

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))


def loaded(path=ROOT / "scripts/gpu-check"):
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def check(tmp_path, monkeypatch):
    """The script on a fake machine with one device, with a passing command for every step."""
    module = loaded()
    monkeypatch.setattr(module, "SCRATCH", tmp_path / "scratch")
    monkeypatch.setattr(module, "describe", lambda: {"devices": [{"name": "a device"}]})
    monkeypatch.setattr(module, "build", lambda: {"status": 0, "output": ""})
    monkeypatch.setattr(module, "sanitizer", lambda: "/somewhere/compute-sanitizer")
    monkeypatch.setattr(module, "command_of", lambda step, table: [sys.executable, "-c", "print('3 passed')"])
    return module


def run(module, tmp_path, *words):
    status = module.main(["--out", str(tmp_path / "out.json"), *words])
    return status, json.loads((tmp_path / "out.json").read_text())


def test_the_steps_are_listed_and_each_ends_within_a_command(capsys):
    module = loaded()
    assert module.main(["--list"]) == 0
    listed = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert list(listed) == list(module.SECONDS) and all(0 < int(seconds) < 600 for seconds in listed.values())
    assert all((ROOT / "tests/python/gpu" / name).exists() for name in module.FILES.values())
    assert {f"benchmarks-{part}" for part in ("kernels", "host", "compile", "cpu")} < set(listed)


def test_what_each_step_runs():
    module = loaded()
    table = Path("table.json")
    assert module.command_of("tests", table)[-1] == ROOT / "tests/python/gpu/test_gpu.py"
    assert module.command_of("benchmarks-host", table)[-2:] == ["--parts", "host"] and "--resume" in module.command_of("benchmarks-host", table)
    for tool in module.SANITIZERS:
        words = module.command_of(tool, table)
        assert words[1:3] == ["--tool", tool] and words[-1] == ROOT / "tests/python/support/gpu_smoke.py" and "86" in words


def test_all_steps_pass_and_a_verdict_is_wanted(check, tmp_path):
    status, found = run(check, tmp_path)
    assert status == 0 and list(found["steps"]) == list(check.SECONDS) and not found["missing"]
    assert found["steps"]["distributed"] == {"outcome": "left out", "reason": "needs two devices, there are 1"}
    assert not found["passed"], "nobody judged a figure"
    (check.SCRATCH / "benchmarks.json").write_text('{"verdict": {"passed": true}}')
    status, found = run(check, tmp_path, "--steps", "smoke")
    assert status == 0 and found["passed"] and list(found["steps"]) == list(check.SECONDS), "what was done before stays"
    assert found["commit"] and found["pytest"] == "installed"
    status, found = run(check, tmp_path, "--steps", "smoke", "--fresh")
    assert list(found["steps"]) == ["smoke"] and not found["passed"] and "tests" in found["missing"]


DEATHS = {
    "import os; print('last words', flush=True); os.kill(os.getpid(), 9)": -9,
    "raise SystemExit('last words')": 1,
    "import subprocess, sys, time; print('last words', flush=True); subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])": -9,
}


@pytest.mark.parametrize("code", DEATHS)
def test_a_step_that_dies_is_recorded_and_the_others_run(check, tmp_path, monkeypatch, code):
    monkeypatch.setattr(check, "SECONDS", {**check.SECONDS, "kinds": 5})
    passing = check.command_of
    monkeypatch.setattr(check, "command_of", lambda step, table: [sys.executable, "-c", code] if step == "kinds" else passing(step, table))
    status, found = run(check, tmp_path, "--steps", "programs", "kinds", "faults")
    assert status == 1 and not found["passed"]
    assert {step: done["outcome"] for step, done in found["steps"].items()} == {"programs": "passed", "kinds": "failed", "faults": "passed"}
    died = found["steps"]["kinds"]
    assert died["status"] == DEATHS[code] and "last words" in died["output"]
    assert ("died" in died) == ("600" in code)


def test_what_cannot_be_run_is_said(check, tmp_path, monkeypatch):
    monkeypatch.setattr(check, "sanitizer", lambda: None)
    monkeypatch.setattr(check, "pytest_found", lambda: None)
    status, found = run(check, tmp_path, "--steps", "memcheck", "tests")
    assert found["steps"]["memcheck"] == {"outcome": "left out", "reason": "compute-sanitizer is not installed"}
    assert found["steps"]["tests"] == {"outcome": "failed", "reason": "there is no pytest, and no copy in fallback/"} and status == 1
    monkeypatch.setattr(check, "pytest_found", lambda: "installed")
    monkeypatch.setattr(check, "command_of", lambda step, table: [sys.executable, "-c", "print('40 skipped')"])
    _, found = run(check, tmp_path, "--steps", "tests")
    assert found["steps"]["tests"]["outcome"] == "failed" and found["steps"]["tests"]["reason"] == "no test ran"
    monkeypatch.setattr(check, "take", lambda *_: 1 // 0)
    _, found = run(check, tmp_path, "--steps", "faults")
    assert found["steps"]["faults"]["reason"].startswith("ZeroDivisionError")


def test_nothing_follows_a_build_that_failed(check, tmp_path, monkeypatch):
    monkeypatch.setattr(check, "build", lambda: {"status": 1, "output": "an error"})
    status, found = run(check, tmp_path)
    assert status == 1 and list(found["steps"]) == ["build"] and found["steps"]["build"]["output"] == "an error"


@pytest.fixture(scope="module")
def portable(tmp_path_factory):
    folder = tmp_path_factory.mktemp("portable") / "frit"
    subprocess.run([ROOT / "scripts/portable", "--from", BUILD, "--to", folder], check=True, cwd=ROOT)
    return folder


@pytest.mark.skipif(os.environ.get("FRIT_TEST_TARGET") == "simt", reason="not emulated: no graph runs")
def test_the_portable_tree_is_all_that_the_build_takes(portable, tmp_path):
    """Checks sources, headers, archives and the bundled pytest, with a fake compiler that records its arguments; one source is really compiled."""
    module = loaded(portable / "scripts/gpu-check")
    assert module.ROOT == portable and module.commit() == (portable / "COMMIT").read_text().strip()
    noted = tmp_path / "noted"
    fake = tmp_path / "compiler"
    fake.write_text(f'#!/bin/sh\necho "$*" >> {noted}\nwhile [ $# -gt 0 ]; do [ "$1" != -o ] || touch "$2"; shift; done\n')
    fake.chmod(0o755)
    out = tmp_path / "out.json"
    command = [sys.executable, portable / "scripts/gpu-check", "--build-only", "--out", out]
    done = subprocess.run(command, env={**os.environ, "CXX": str(fake)}, capture_output=True, text=True)
    found = json.loads(out.read_text())
    assert found["steps"]["build"]["outcome"] == "passed", done.stdout
    assert found["steps"]["smoke"]["outcome"] == "failed" and done.returncode == 1, "an empty module runs no graph"
    *compiled, linked = noted.read_text().splitlines()
    sources = [path.name for folder in ("runtime/torch", "python/bindings") for path in (ROOT / folder).glob("*.cpp")]
    assert sorted(line.split(" -c ")[1].split()[0].rpartition("/")[2] for line in compiled) == sorted(sources)
    assert all(Path(word).exists() for word in linked.split() if word.startswith(str(portable)) and word.endswith((".a", ".so")))
    assert linked.count("libfrit_runtime_") == len(list(portable.glob("lib/*.a"))) >= 6
    real = module.run(["g++", *module.flags(), "-fsyntax-only", portable / "runtime/torch/ParallelFor.cpp"], 300)
    assert real["status"] == 0, real["output"]


def test_pytest_from_the_portable_tree_runs(portable, tmp_path):
    """Runs it without the packages of this environment."""
    (tmp_path / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n")
    environment = {"PYTHONPATH": str(portable / "fallback"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-S", "-m", "pytest", "-q", tmp_path], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["five multiplications", "sampling, static", "giou, padded, backward", "vit, training", "adamw step"])
def test_programs_are_checked_on_a_device_as_on_this_one(name):
    on_device.check_program(programs()[name], "cpu")


def test_what_the_sanitizers_watch_agrees_here(capsys):
    assert gpu_smoke.main(["--device", "cpu"]) == 0
    assert "agree with eager" in capsys.readouterr().out
