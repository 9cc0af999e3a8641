"""ruff finds nothing in the Python of the tree, including scripts without a suffix. The rules are in pyproject.toml."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("python", "tests", "benchmarks", "scripts")


def scripts_without_a_suffix():
    names = (path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file() and not path.suffix)
    return [path for path in names if re.match(rb"#!.*\bpython3?\b", path.read_bytes()[:80])]


def ruff(*paths):
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--quiet", "--output-format=concise", *paths]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_nothing_is_found():
    scripts = scripts_without_a_suffix()
    assert ROOT / "scripts/run-tests" in scripts
    done = ruff(*FOLDERS, *scripts)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_mistake_is_found(tmp_path):
    script = tmp_path / "script"
    script.write_text("import os\nprint(undefined)\n")
    done = ruff("--config", ROOT / "pyproject.toml", script)
    assert done.returncode == 1 and "F401" in done.stdout and "F821" in done.stdout, done.stdout + done.stderr
