"""Every C++ file of the tree is formatted by `.clang-format`: `git ls-files '*.cpp' '*.h' | xargs clang-format-22 -i` does it."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = "clang-format-22"


def complaints(files, root=ROOT):
    """Returns the first lines that clang-format would change, with their locations."""
    assert shutil.which(TOOL), f"{TOOL} is missing; scripts/bootstrap installs it"
    run = subprocess.run([TOOL, "--dry-run", "--Werror", "--ferror-limit=3", *files], cwd=root, capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def test_every_file_is_formatted():
    listed = subprocess.run(["git", "ls-files", "*.cpp", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.split() if (ROOT / name).is_file()]
    parts = [files[at : at + 50] for at in range(0, len(files), 50)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = "".join(pool.map(complaints, parts))
    assert not wrong, wrong


@pytest.mark.parametrize("text", ["int  x;\n", "int f() {\n  if (1) return 2;\n  return 3;\n}\n", f"// {'word ' * 30}\n"])
def test_a_file_that_is_not_is_found(tmp_path, text):
    shutil.copy(ROOT / ".clang-format", tmp_path)
    (tmp_path / "a.cpp").write_text(text)
    assert "clang-format-violations" in complaints(["a.cpp"], tmp_path)
