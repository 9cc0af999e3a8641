"""Archives whose constants do not fit the program: rows 21 and 22 of the table of malformed programs in tests/README.md."""

import json
import subprocess
import zipfile

import pytest
import torch
from exported import TOOLS
from torch import nn

import frit


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.arange(12.0).reshape(3, 4))
        self.second = nn.Parameter(torch.arange(4.0) + 1)
        self.register_buffer("third", torch.full((2,), 5.0), persistent=False)

    def forward(self, x):
        return x * self.first + self.second + self.third.sum()


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "m.pt2"
    torch.export.save(torch.export.export(Weighted(), (torch.ones(3, 4),)), path)
    return path


def changed(archive, path, change):
    """Copies an archive and applies `change(name, bytes)` to its entries; None removes an entry."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            content = change(info.filename, old.read(info))
            if content is not None:
                new.writestr(info.filename, content)
    return path


def config_of(archive, name, kind="weights"):
    """Returns the entry of a tensor's storage."""
    with zipfile.ZipFile(archive) as files:
        (config,) = (entry for entry in files.namelist() if entry.endswith(f"_{kind}_config.json"))
        return json.loads(files.read(config))["config"][name]["path_name"]


def compile_it(path, status=0):
    done = subprocess.run([TOOLS / "frit-compile", path, "-o", path.with_suffix(".frit")], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert status == 0 or (done.stderr.count("\n") == 1 and len(done.stderr) < 1200 and not path.with_suffix(".frit").exists()), done.stderr
    return done.stderr


@pytest.mark.parametrize("name, kind, size", [("first", "weights", 48), ("second", "weights", 16), ("third", "constants", 8)])
@pytest.mark.parametrize("missing", ["all", 1, 4])
def test_m21_constants_of_the_wrong_length(name, kind, size, missing, archive, tmp_path):
    entry = f"data/{kind}/{config_of(archive, name, kind)}"
    keep = 0 if missing == "all" else size - missing
    path = changed(archive, tmp_path / "m.pt2", lambda at, content: content[:keep] if at.endswith(entry) else content)
    assert f"'{name}' reaches beyond its storage of {keep} bytes" in compile_it(path, 1)


def test_m21_a_constant_that_is_not_there(archive, tmp_path):
    entry = f"data/weights/{config_of(archive, 'first')}"
    path = changed(archive, tmp_path / "m.pt2", lambda at, content: None if at.endswith(entry) else content)
    assert "has no entry 'm/" in compile_it(path, 1)

    def forget(at, content):
        if not at.endswith("_weights_config.json"):
            return content
        config = json.loads(content)
        del config["config"]["second"]
        return json.dumps(config)

    assert "the archive has no data for 'second'" in compile_it(changed(archive, tmp_path / "n.pt2", forget), 1)


def test_m21_bytes_that_no_constant_has_are_not_shipped(archive, tmp_path):
    entry = f"data/weights/{config_of(archive, 'first')}"
    path = changed(archive, tmp_path / "m.pt2", lambda at, content: content + b"left over" * 99 if at.endswith(entry) else content)
    compile_it(path)
    assert b"left over" not in path.with_suffix(".frit").read_bytes()
    x = torch.randn(3, 4)
    torch.testing.assert_close(frit.load(path.with_suffix(".frit"))(x), Weighted()(x))


def test_m22_constants_that_share_storage(archive, tmp_path):
    """Two names of one entry are two views of the same bytes: the second is the beginning of the first."""
    first, second = config_of(archive, "first"), config_of(archive, "second")

    def share(at, content):
        if at.endswith(f"data/weights/{second}"):
            return None
        return content.replace(f'"{second}"'.encode(), f'"{first}"'.encode()) if at.endswith("_weights_config.json") else content

    path = changed(archive, tmp_path / "m.pt2", share)
    compile_it(path)
    x = torch.randn(3, 4)
    module = Weighted()
    want = x * module.first + module.first.flatten()[:4] + module.third.sum()
    torch.testing.assert_close(frit.load(path.with_suffix(".frit"))(x), want)
    # A constant beyond the shared storage is refused.
    def other(at, content):
        if at.endswith(f"data/weights/{first}"):
            return None
        return content.replace(f'"{first}"'.encode(), f'"{second}"'.encode()) if at.endswith("_weights_config.json") else content

    assert "'first' reaches beyond its storage of 16 bytes" in compile_it(changed(archive, tmp_path / "n.pt2", other), 1)


def test_m22_a_path_that_leads_outside_names_nothing(archive, tmp_path):
    first = config_of(archive, "first")
    (tmp_path / "secret").write_bytes(bytes(64))

    def lead(at, content):
        return content.replace(f'"{first}"'.encode(), json.dumps(str(tmp_path / "secret")).encode()) if at.endswith("_weights_config.json") else content

    assert "has no entry" in compile_it(changed(archive, tmp_path / "m.pt2", lead), 1)
