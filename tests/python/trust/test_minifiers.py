"""torch's own switches, TORCHDYNAMO_REPRO_AFTER and TORCHDYNAMO_REPRO_LEVEL, with frit as the backend."""

import os

import planted
import pytest
import torch
from torch._dynamo.debug_utils import AccuracyError

import frit
from frit.replay.program import load


@pytest.fixture
def minify(tmp_path, monkeypatch):
    """Sets the switches, with torch's output folder inside of the test's."""

    def switch(after, level):
        patch = torch._dynamo.config.patch(repro_after=after, repro_level=level, debug_dir_root=str(tmp_path))
        patch.__enter__()
        patches.append(patch)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    patches = []
    yield switch
    for patch in patches:
        patch.__exit__(None, None, None)


def files(folder):
    return [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]


def function(x):
    return (x + 1).sin() * 2


def test_after_dynamo_an_error_leaves_torchs_launcher(minify):
    folder = minify("dynamo", 2)
    with pytest.raises(Exception, match="frit"):
        torch.compile(torch.linalg.det, backend="frit", options={"fallback": "error"})(torch.rand(3, 3))
    (launcher,) = [path for path in files(folder) if path.endswith("minifier_launcher.py")]
    with open(launcher, encoding="utf-8") as file:
        assert "backend='frit'" in file.read()


def test_after_dynamo_wrong_numbers_are_seen(minify, monkeypatch):
    folder = minify("dynamo", 4)
    planted.install("sin.default", "cos.default", setattr=monkeypatch.setattr)
    with pytest.raises(Exception) as raised:
        torch.compile(function, backend="frit")(torch.rand(5))
    assert isinstance(raised.value, AccuracyError) or "Bad accuracy" in str(raised.value)
    assert any(path.endswith("minifier_launcher.py") for path in files(folder))


def test_after_aot_wrong_numbers_leave_a_graph_and_a_launcher(minify, monkeypatch):
    folder = minify("aot", 4)
    planted.install("sin.default", "cos.default", setattr=monkeypatch.setattr)
    with pytest.raises(frit.VerifyError, match="minifier_launcher.py") as raised:
        torch.compile(function, backend="frit")(torch.rand(5))
    assert raised.value.repro.startswith(str(folder)) and "arguments.pt" in os.listdir(raised.value.repro)
    (launcher,) = [path for path in files(folder) if path.endswith("minifier_launcher.py")]
    with open(launcher, encoding="utf-8") as file:
        text = file.read()
    with pytest.raises(SystemExit) as status:
        exec(text, {})
    assert status.value.code == 1


@pytest.mark.parametrize("level, launchers", [(1, 0), (2, 1)])
def test_after_aot_an_error_leaves_its_graph(minify, level, launchers):
    folder = minify("aot", level)
    with pytest.raises(Exception, match="to repeat it"):
        torch.compile(torch.linalg.det, backend="frit", options={"fallback": "error"})(torch.rand(3, 3))
    left = files(folder)
    assert sum(path.endswith("repro.py") for path in left) == 1 and sum(path.endswith("launcher.py") for path in left) == launchers


def test_after_aot_level_three_leaves_what_runs_next(minify):
    folder = minify("aot", 3)
    assert torch.compile(function, backend="frit")(torch.zeros(1)).item() == pytest.approx(2 * 0.8414709848)
    (script,) = [path for path in files(folder) if path.endswith("repro.py")]
    load(os.path.dirname(script)).run()
