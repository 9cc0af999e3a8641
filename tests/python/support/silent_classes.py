"""The planted mistakes of `scripts/planted`: lists them and the tests of each class, and runs those tests with a mistake."""

import json
import os
import re
import time
from pathlib import Path

import fresh

ROOT = Path(__file__).resolve().parents[3]
LEDGER = ROOT / "tests" / "golden" / "planted.json"


def mistakes():
    """Returns class -> description of the mistake, from `ir/Planted.h` and `frit.planted`."""
    from frit import planted

    text = (ROOT / "ir" / "Planted.h").read_text()
    found = {int(number): words for words, number in re.findall(r"^  /// (.*)\n  \w+ = (\d+),", text, re.MULTILINE)}
    return dict(sorted({**found, **planted.MISTAKES}.items()))


def tests():
    """Returns class -> the tests that `tests/README.md` names for it, as arguments of pytest."""
    section = (ROOT / "tests" / "README.md").read_text().split("## The classes of silent errors")[1].split("\n## ")[0]
    files = {}
    places = {path.name: path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests" / "python").rglob("test_*.py"))}
    for file, place in places.items():
        for name in re.findall(r"^def (test_\w+)", (ROOT / place).read_text(), re.MULTILINE):
            files.setdefault(name, []).append(file)
    found = {}
    for number, names in re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|", section, re.MULTILINE):
        found[int(number)] = []
        for file, name in re.findall(r"`(?:([\w.]+)::)?([\w.]+)`", names):
            if name.startswith("..._"):
                name = f"test_class_{int(number):02}_{name[4:]}"
            (file,) = [file] if file else files[name]
            found[int(number)].append(f"{places[file]}::{name}")
    return found


def run(names, planted=0):
    """Runs tests with a mistake, or with none; returns (outcome, what caught it, seconds), with `survived` if all pass."""
    environment = {**os.environ, "FRIT_BUILD_DIR": os.environ.get("FRIT_BUILD_DIR", str(ROOT / "build"))}
    environment.pop("FRIT_PLANT", None)
    if planted:
        environment["FRIT_PLANT"] = str(planted)
    environment["COLUMNS"] = "300"  # so that pytest does not cut its last lines
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), str(ROOT)])
    started = time.perf_counter()
    command = ["-c", "import sys, pytest; sys.exit(pytest.main())", "-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", *names]
    done = fresh.run(command, cwd=ROOT, env=environment)
    seconds = time.perf_counter() - started
    failed = re.search(r"^(?:FAILED|ERROR) \S*/(.*)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed:
        by, refused = failed.group(1), re.search(r"^E +(?:[\w.]*CompileError: )?(frit: .*|.*the plan of graph.*)", done.stdout, re.MULTILINE)
        return "caught", (by.partition(" - ")[0] + " - " + refused.group(1) if refused else by)[:300], seconds
    if done.returncode < 0:
        return "caught", f"the process dies of signal {-done.returncode}", seconds
    if done.returncode == 0:
        return "survived", "", seconds
    return "error", (done.stdout + done.stderr)[-400:], seconds


def judge(names, planted):
    """Returns the same for the first test that fails, in the order of the table."""
    total = 0
    for name in names:
        outcome, by, seconds = run([name], planted)
        total += seconds
        if outcome != "survived":
            return outcome, by if by.startswith("test_") else f"{name.rpartition('/')[2]} - {by}", total
    return "survived", "", total


def read():
    return json.loads(LEDGER.read_text())
