"""Every program of docs/Integrations.md runs, each in a separate process, as a user would run it."""

import os
import re
from pathlib import Path

import fresh
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/Integrations.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: re.findall(r"^```python\n(.*?)^```$", part, re.M | re.S) for part in PAGE.split("\n## ")[1:]}
#: What runs a program whose library is not in the environment of the tests.
RUNNERS = {"timm": [ROOT / "tests/python/tools/with_timm.py"]}


@pytest.mark.parametrize("section", SECTIONS)
def test_program(section, tmp_path):
    (program,) = SECTIONS[section]
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    tools = f"{os.environ.get('FRIT_BUILD_DIR', ROOT / 'build')}/bin"
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "FRIT_CACHE_DIR": str(tmp_path / "cache"), "OMP_NUM_THREADS": "2"}
    done = fresh.run([*RUNNERS.get(section, ()), file], env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_section_has_a_program():
    assert len(SECTIONS) >= 16 and all(len(programs) == 1 for programs in SECTIONS.values())
