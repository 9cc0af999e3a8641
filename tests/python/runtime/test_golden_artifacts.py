"""Files that earlier compilers wrote: accepted with the same results as then, or refused because of their version, but never misread."""

import os
import shutil
import struct
import subprocess

import golden_artifacts
import numpy as np
import pytest
import torch
from golden_artifacts import CASES, FOLDER, TOOLS, VERSION

import frit

FILES = sorted(FOLDER.glob("v*/*.frit"))


def version_of(path):
    return struct.unpack_from("<I", path.read_bytes(), 8)[0]


@pytest.fixture
def owned(tmp_path):
    """Copies a file, because a checkout may be writable by a group, and host code of such files is refused."""

    def copy(path):
        target = tmp_path / path.name
        shutil.copyfile(path, target)
        os.chmod(target, 0o600)
        return target

    return copy


def test_this_version_has_its_files():
    assert {path.stem for path in FILES if version_of(path) == VERSION} == set(CASES)
    assert all(path.parent.name == f"v{version_of(path)}" and path.stat().st_size < 40_000 for path in FILES)


def close(ours, expected):
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_accepted_or_refused_by_version(path, owned):
    path, recorded = owned(path), golden_artifacts.calls(path)
    if version_of(path) != VERSION:
        with pytest.raises(frit.ArtifactError, match=f"format version is {version_of(path)}, this runtime reads {VERSION}"):
            frit.load(path)
        return
    model = frit.load(path, check_weights=True)
    for arguments, results in recorded:
        ours = model(*map(torch.from_numpy, arguments))
        close([one.numpy() for one in golden_artifacts.flat(ours if isinstance(ours, torch.Tensor) else tuple(ours))], results)


@pytest.mark.parametrize("device", ["cpu", "simt"])
@pytest.mark.parametrize("path", [path for path in FILES if path.stem in ("kernels", "guarded")], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_run_without_torch(path, device, owned, tmp_path):
    path, recorded = owned(path), golden_artifacts.calls(path)
    if device == "simt" and path.stem != "kernels":
        result = subprocess.run([TOOLS / "frit-run", path, "--device=simt"], capture_output=True, text=True)
        assert result.returncode == 1 and ("has no plan for simt" in result.stderr or "format version is" in result.stderr)
        return
    for arguments, results in recorded:
        command = [TOOLS / "frit-run", path, f"--device={device}", "--check-weights"]
        for at, array in enumerate(arguments):
            np.save(tmp_path / f"in{at}.npy", array)
            command.append(f"--input=@{tmp_path}/in{at}.npy")
        command += [f"--output=@{tmp_path}/out{at}.npy" for at in range(len(results))]
        result = subprocess.run(command, capture_output=True, text=True)
        if version_of(path) != VERSION:
            assert result.returncode == 1 and "format version is" in result.stderr
            return
        assert result.returncode == 0, result.stderr
        close([np.load(tmp_path / f"out{at}.npy") for at in range(len(results))], results)


def test_guards_of_golden_files_hold(owned):
    model = frit.load(owned(FOLDER / f"v{VERSION}/guarded.frit"))
    x, z = torch.zeros(6, 4), torch.zeros(3, 4)
    for arguments, message in [((torch.zeros(65, 4), x, z), "input 0.*between 1 and 64"), ((x, torch.zeros(8, 4), z), "input 1.*compiled for 6")]:
        with pytest.raises(RuntimeError, match=message):
            model(*arguments)
