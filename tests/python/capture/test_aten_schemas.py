"""The operators the compiler knows are those of the installed torch."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_committed_table_is_torchs():
    command = [sys.executable, ROOT / "scripts" / "generate-aten-schemas.py", "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
