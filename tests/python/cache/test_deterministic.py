"""The same program gives the same bytes: in another process, with another hash seed, number of threads and folder, and after other compilations."""

import json
import os
import subprocess
import sys

import pytest
import torch
from exported import TOOLS

import frit
from benchmarks.programs.exported import EXPORTED
from frit import backend
from frit.native import compiler

# Prints a digest of each artifact for training an encoder: forward and backward, with one dynamic dimension.
_PROCESS = """
import hashlib, json, os, sys
import torch
from frit import backend
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
seen = []
backend._OBSERVERS.append(lambda name, stage, captured, *_: seen.append((stage, hashlib.sha256(captured.artifact).hexdigest())))
torch.manual_seed(0)
model = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, activation="gelu", batch_first=True)
x = torch.randn(3, 9, 32)
torch._dynamo.mark_dynamic(x, 1)
torch.compile(model, backend="frit")(x).square().mean().backward()
print(json.dumps(seen))
"""


def in_a_process(folder, seed, threads):
    folder.mkdir()
    environment = dict(os.environ, PYTHONHASHSEED=str(seed), OMP_NUM_THREADS=str(threads), PYTHONPATH=os.pathsep.join(sys.path), FRIT_CACHE="0")
    done = subprocess.run([sys.executable, "-c", _PROCESS], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_artifacts_of_training_are_the_same_bytes_in_every_process(tmp_path):
    first = in_a_process(tmp_path / "a", 1, 1)
    assert [stage for stage, _ in first] == ["forward", "backward"] and len(dict(first)) == 2
    assert in_a_process(tmp_path / "another folder", 4711, 5) == first


def layers(count):
    def model(x, w):
        for _ in range(count):
            x = torch.nn.functional.gelu(torch.softmax(x @ w, -1) * x).sum(-1, keepdim=True) + x
        return x.square().mean()

    return model


@pytest.mark.parametrize("target", ["cpu", "sm_90", "simt"])
def test_kernels_that_are_reused_give_the_same_bytes(target):
    native = compiler()
    texts = []
    for count in (3, 2):
        gm = torch.fx.experimental.proxy_tensor.make_fx(layers(count), tracing_mode="symbolic")(torch.randn(8, 16), torch.randn(16, 16))
        texts.append(backend.capture(gm).json)
    settings = json.dumps({"name": "model", "targets": [target]})
    native.release_memory()
    fresh = native.compile(texts[0], settings)
    native.release_memory()
    native.compile(texts[1], settings)
    after = native.compile(texts[0], settings)
    assert after.artifact == fresh.artifact
    assert fresh.kernels_reused == 0 and after.kernels_reused > 0
    assert after.kernels_reused + after.kernels_compiled == fresh.kernels_compiled


def test_a_model_compiled_offline_is_the_same_file_twice(tmp_path):
    program = EXPORTED["bert"]
    torch.export.save(program.export(program.module()), tmp_path / "m.pt2")
    files = []
    for name, environment in (("a", {}), ("b", {"OMP_NUM_THREADS": "7", "HOME": "/", "LANG": "C"})):
        (tmp_path / name).mkdir()
        command = [TOOLS / "frit-compile", "../m.pt2", "--target=cpu", "--target=sm_90", "-o", "m.frit"]
        done = subprocess.run(command, cwd=tmp_path / name, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        files.append((tmp_path / name / "m.frit").read_bytes())
    assert files[0] == files[1] and b".target sm_90" in files[0]
    os.chmod(tmp_path / "a" / "m.frit", 0o600)
    assert frit.load(tmp_path / "a" / "m.frit").inputs
