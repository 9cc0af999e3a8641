"""docs/Tour.md shows real output: every command in it is run, and its output must contain every line of the block in order."""
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))
BLOCKS = re.findall(r"^```\n\$ (.+?)\n(.*?)^```$", (ROOT / "docs/Tour.md").read_text(), re.M | re.S)


def missing_line(expected, printed):
    """Returns the first line of `expected` that `printed` lacks after the position of the previous one."""
    lines = iter(printed.splitlines())
    for wanted in filter(str.strip, expected.splitlines()):
        pattern = re.compile(".*".join(map(re.escape, wanted.strip().split("..."))))
        if not any(pattern.search(line) for line in lines):
            return wanted
    return None


def test_a_line_that_is_not_printed_is_noticed():
    assert missing_line("one\ntwo", "zero\none\n") == "two"
    assert missing_line("a...c", "a b c") is None
    assert missing_line("two\none", "one\ntwo") == "one"


def test_the_tour_has_its_blocks():
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("command, expected", BLOCKS, ids=[command for command, _ in BLOCKS])
def test_the_tour_shows_what_the_tools_print(command, expected, tmp_path):
    command = command.replace("docs/", f"{ROOT}/docs/")
    path = f"{BUILD / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert missing_line(expected, done.stdout) is None
