"""Every program of docs/Integrations.md runs, each in a separate process, as a user would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/Integrations.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: re.findall(r"^```python\n(.*?)^```$", part, re.M | re.S) for part in PAGE.split("\n## ")[1:]}

# PyPI's torchvision does not load its operators under a CPU build of torch, and describes two of them without asking. No program here calls them.
OPERATORS_OF_TORCHVISION = """
import importlib.metadata, torch
if not torch.version.cuda and "+" not in importlib.metadata.version("torchvision"):
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


@pytest.mark.parametrize("section", SECTIONS)
def test_program(section, tmp_path):
    (program,) = SECTIONS[section]
    file = tmp_path / "program.py"
    file.write_text((OPERATORS_OF_TORCHVISION if section == "timm" else "") + program, encoding="utf-8")
    environment = {**os.environ, "PATH": f"{ROOT / 'build/bin'}:{os.environ['PATH']}", "FRIT_CACHE_DIR": str(tmp_path / "cache"), "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, file], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_section_has_a_program():
    assert len(SECTIONS) >= 16 and all(len(programs) == 1 for programs in SECTIONS.values())
