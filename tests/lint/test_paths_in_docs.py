"""Pages name files that exist: each path in backticks is one of the project, or is listed below with a reason."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = set(subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
PAGES = sorted(path for path in FILES if path.endswith(".md") and "/generated/" not in path and path != "CHANGELOG.md")
PATH = re.compile(r"`([\w./-]+/[\w.-]+\.(?:cpp|h|td|py|mlir|md|txt|json|fbs|toml))`(?!\s\(today)")
#: Examples of names, installed headers, and files of other projects.
NOT_OURS = {"frit/Model.h", "frit/TorchModel.h", "passes/Name.cpp", "tests/passes/name.mlir", "llvm/Support/DebugLog.h"}


def missing(text):
    """Returns the paths in a page that name no file relative to the root or to a folder of the project."""
    return [path for path in PATH.findall(text) if path not in NOT_OURS and not any(f"/{file}".endswith(f"/{path}") for file in FILES)]


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist(page):
    assert not missing((ROOT / page).read_text())


def test_a_path_that_is_not_there_is_found():
    assert missing("`docs/Tour.md`, `docs/NoSuchPage.md`, `passes/Name.cpp`") == ["docs/NoSuchPage.md"]
