"""The installed package: a wheel of what is built, in an environment of its own that sees this one's torch."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))


def run(*command, **more):
    """In an environment that knows nothing of the source tree."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=clean, **more)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The `bin` of a fresh virtual environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("wheel")
    run(ROOT / "scripts/wheel", "--build", BUILD, "--out", folder / "dist", cwd=folder)
    (wheel,) = (folder / "dist").glob("frit-*.whl")
    venv.create(folder / "venv", with_pip=False)
    scripts = folder / "venv" / "bin"
    (packages,) = (folder / "venv").glob("lib/python3*/site-packages")
    (packages / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "-q", "--no-deps", "--no-index", wheel]
    run(*pip, cwd=folder)
    return scripts


def test_torch_finds_the_backend_by_its_entry_point(installed, tmp_path):
    program = """
import json, sys, torch
listed = "frit" in torch._dynamo.list_backends()
early = "frit" in sys.modules
def function(x, y):
    return torch.softmax(x * y, -1) + 1
fast = torch.compile(function, backend="frit", fullgraph=True)
x, y = torch.randn(7, 33), torch.randn(33)
torch.testing.assert_close(fast(x, y), function(x, y))
import frit
print(json.dumps([listed, early, frit.__file__, torch._dynamo.utils.counters["frit"]["kernels"]]))
"""
    listed, early, place, kernels = json.loads(run(installed / "python", "-c", program, cwd=tmp_path))
    assert listed and not early and kernels == 1
    assert Path(place).is_relative_to(installed.parent)


def test_its_commands_compile_and_run_a_program(installed, tmp_path):
    save = """
import numpy, torch
x = torch.randn(4, 3)
model = torch.nn.Sequential(torch.nn.LayerNorm(3), torch.nn.GELU()).eval()
torch.export.save(torch.export.export(model, (x,)), "m.pt2")
numpy.save("x.npy", x.numpy())
numpy.save("expected.npy", model(x).detach().numpy())
"""
    check = """
import frit, numpy, torch
x, y, expected = (torch.from_numpy(numpy.load(name + ".npy")) for name in ("x", "y", "expected"))
torch.testing.assert_close(y, expected)
torch.testing.assert_close(frit.load("m.frit")(x), expected)
"""
    run(installed / "python", "-c", save, cwd=tmp_path)
    run(installed / "frit-compile", "m.pt2", "-o", "m.frit", cwd=tmp_path)
    run(installed / "frit-run", "m.frit", "--input=@x.npy", "--output=@y.npy", cwd=tmp_path)
    run(installed / "python", "-c", check, cwd=tmp_path)
    # Of torch it takes the libraries, of this environment or an outer one.
    libraries = Path(torch.__file__).parent / "lib"
    words = [installed / "frit-run-torch", "m.frit", "--input=@x.npy", "--expected-output=@expected.npy"]
    run("env", f"LD_LIBRARY_PATH={libraries}", *words, cwd=tmp_path)
    assert "usage: frit-compile" in run(installed / "frit-compile", "--help")
    # The schema, the style and the script of pages are in the package.
    assert "kernel frit_" in run(installed / "frit", "inspect", "m.frit", cwd=tmp_path)
    assert run(installed / "frit", "report", "m.frit", cwd=tmp_path) == "m.html\n" and "<style>" in (tmp_path / "m.html").read_text()
