"""Archives that earlier versions of torch wrote (golden_exports.py): frit-compile's results equal those of this torch."""

import copy
import os
import subprocess

import checker
import pytest
import torch
from exported import TOOLS
from golden_exports import CASES, FOLDER
from torch.export.pt2_archive._package import load_pt2

import frit

FILES = sorted(FOLDER.glob("torch-*/*.pt2"))


def test_both_earlier_versions_have_their_files():
    assert {path.parent.name for path in FILES} == {"torch-2.11.0", "torch-2.12.1"}
    for folder in {path.parent for path in FILES}:
        assert {path.stem for path in folder.glob("*.pt2")} == set(CASES)


MODELS = [pytest.param(path, model, id=f"{path.parent.name}/{path.stem}/{model}") for path in FILES for model in CASES[path.stem]]


@pytest.mark.parametrize("path, model", MODELS)
def test_archive(tmp_path, path, model):
    program = load_pt2(path).exported_programs[model]
    target = tmp_path / "m.frit"
    done = subprocess.run([TOOLS / "frit-compile", path, "-o", target, "--model", model], capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 0, done.stderr
    os.chmod(target, 0o600)
    _, inputs, _, sizes = CASES[path.stem][model]
    module = program.module().requires_grad_(False)
    for one in sizes:
        torch.manual_seed(1)
        # Loaded again, because a call may change the buffers.
        checker.check(lambda *x: copy.deepcopy(module)(*x), *inputs(*one), compiled=frit.load(target, check_weights=True), module=module)
    if path.stem == "state":
        held, given = frit.load(target), [inputs(3) for _ in range(3)]
        for x, seen in given:
            torch.testing.assert_close(held(x, seen)[1], module(x, seen.clone())[1], rtol=0, atol=0)
