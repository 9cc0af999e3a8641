"""`frit doctor` reports its findings with remedies; `frit --version` is one line."""

import os
import re
import subprocess
import sys

import pytest
import torch

from frit import doctor
from frit.__main__ import main


def lines_of(capsys):
    return capsys.readouterr().out.splitlines()


def test_a_machine_where_all_is_well(folder, capsys):
    assert main(["doctor"]) == 0
    head, *lines = lines_of(capsys)
    assert head == doctor.version() and [line.split()[1] for line in lines] == [
        "python", "torch", "library", "backend", "cpu", "gpu", "programs", "cache", "temporary", "variables", "self-test",
    ]
    assert not [line for line in lines if line.startswith("error")]
    assert re.search(r"ok +self-test +results and gradients are eager's", lines[-1])


def test_the_version_is_one_line(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"frit \d+\.\d+\.\d+ \(llvm \d+\.\d+\.\d+; torch 2\.11 to 2\.13; targets cpu, simt, sm_80, sm_90, sm_100\)", lines_of(capsys)[0])


def test_a_command_is_needed(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "a command is needed: doctor, cache, bisect, inspect, bench or report" in capsys.readouterr().err


def test_what_is_wrong_is_said_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FRIT_CACHE", "1")
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("FRIT_VERFY", "1")
    cache, variables = doctor._cache(), doctor._variables()
    assert cache.status == "warning" and cache.text.endswith("name another folder with FRIT_CACHE_DIR")
    assert variables.status == "warning" and "nothing reads FRIT_VERFY; did you mean FRIT_VERIFY?" in variables.text
    monkeypatch.setenv("FRIT_CACHE", "off")
    assert doctor._cache().text.startswith("switched off by FRIT_CACHE")


def test_a_wrong_result_fails_the_self_test(monkeypatch):
    monkeypatch.setenv("FRIT_MUTANT", "aten.mul.Tensor:operation/arith.mulf/0")
    found = doctor._self_test()
    assert found.status == "error" and "please report it" in found.text


def test_without_its_library_the_doctor_says_so_and_stops():
    code = "import sys; sys.modules['frit._C'] = None; from frit.__main__ import main; sys.exit(main(['doctor']))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert said.returncode == 1 and said.stdout.splitlines()[-1].startswith("error   library")
    assert "pip install ." in said.stdout


def test_a_library_for_another_torch_is_a_warning(monkeypatch):
    assert doctor._library().text.endswith(f"for torch {torch.__version__.partition('+')[0]}")
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    found = doctor._library()
    assert found.status == "warning" and found.text.endswith("untested with 2.99.0; install frit again, or another torch")
