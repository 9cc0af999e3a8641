"""The C++ API as users have it: frit is installed, and the programs of examples/ are built with their CMakeLists and run on compiled models."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
from test_load import ROOT, Counter, compile_file
from torch import nn
from torch.export import Dim

BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))


def run(*command, **more):
    """Runs a command without Python's and torch's paths, so that libraries are found only by the build's settings."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=clean, **more)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("frit")
    done = run("cmake", "--install", BUILD, "--component", "runtime", "--prefix", prefix)
    assert done.returncode == 0, done.stderr
    return prefix


def compiler():
    return next((line.split("=", 1)[1] for line in (BUILD / "CMakeCache.txt").read_text().split("\n") if line.startswith("CMAKE_CXX_COMPILER:")), "c++")


def build(name, installed, folder, *more):
    prefixes = ";".join(map(str, [installed, *more]))
    flags = [f"-DCMAKE_PREFIX_PATH={prefixes}", f"-DCMAKE_CXX_COMPILER={compiler()}", "-GNinja"]
    for command in (["cmake", "-S", ROOT / "examples" / name, "-B", folder, *flags], ["cmake", "--build", folder]):
        done = run(*command)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder / "run"


@pytest.fixture(scope="module")
def standalone(installed, tmp_path_factory):
    return build("standalone", installed, tmp_path_factory.mktemp("standalone"))


@pytest.fixture(scope="module")
def libtorch(installed, tmp_path_factory):
    return build("libtorch", installed, tmp_path_factory.mktemp("libtorch"), torch.utils.cmake_prefix_path)


def numbers(program, *arguments):
    done = run(program, *arguments)
    assert done.returncode == 0, done.stderr
    return torch.tensor([float(line) for line in done.stdout.split()])


def tenths(*shape):
    return (torch.arange(torch.Size(shape).numel()) / 10).view(shape)


def flat(*results):
    return torch.cat([result.flatten() for result in results])


class Normalised(nn.Module):
    """A model with two results, weights and a constant, and without library calls."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(5)
        self.register_buffer("scale", torch.linspace(-1, 1, 5))

    def forward(self, x, y):
        z = self.norm(x) * self.scale + torch.tensor([0.5])
        return torch.softmax(z + y, -1), z.sum(0)


ROWS = Dim("rows", min=2, max=64)


def test_without_torch(standalone, tmp_path):
    torch.manual_seed(3)
    module = Normalised().requires_grad_(False)
    path = compile_file(tmp_path, module, [tenths(3, 5), tenths(5)], dynamic_shapes={"x": {0: ROWS}, "y": None})
    for size in (2, 7, 64):
        torch.testing.assert_close(numbers(standalone, path, size), flat(*module(tenths(size, 5), tenths(5))), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(numbers(standalone, path), flat(*module(tenths(2, 5), tenths(5))), rtol=1e-4, atol=1e-5)
    assert "libtorch" not in run("ldd", standalone).stdout


class Block(nn.Module):
    """An attention layer over embedded tokens: calls of ATen between kernels."""

    def __init__(self):
        super().__init__()
        self.tokens, self.norm = nn.Embedding(50, 16), nn.LayerNorm(16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, ids):
        return self.layer(self.norm(self.tokens(ids)))


def test_over_libtorch_and_without_python(libtorch, standalone, tmp_path):
    torch.manual_seed(4)
    module = Block().eval().requires_grad_(False)
    path = compile_file(tmp_path, module, [torch.zeros(2, 5, dtype=torch.int64)], dynamic_shapes={"ids": {1: Dim("length", min=2, max=32)}})
    for size in (2, 5, 32):
        ids = torch.arange(2 * size).view(2, size) % 50
        torch.testing.assert_close(numbers(libtorch, path, size), flat(module(ids)), rtol=1e-4, atol=1e-5)
    libraries = run("ldd", libtorch).stdout
    assert "libtorch_cpu" in libraries and "libpython" not in libraries and "libtorch_python" not in libraries
    refused = run(standalone, path)
    assert refused.returncode == 1 and "needs libtorch" in refused.stderr and refused.stderr.count("\n") == 1


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(10, 3))

    def forward(self, ids):
        return self.table[ids].sort().values


def test_errors_are_one_line(standalone, libtorch, tmp_path):
    path = compile_file(tmp_path, Counter(), [torch.randn(5, 3)])
    broken = tmp_path / "broken.frit"
    broken.write_bytes(path.read_bytes()[:-1])
    whole = compile_file(tmp_path, nn.GELU(), [torch.randn(4)], name="small", dynamic_shapes={"input": {0: Dim("n", min=2, max=9)}})
    for program in (standalone, libtorch):
        for arguments, message in [
            ((tmp_path / "none.frit",), "cannot open"),
            ((broken,), "not a usable .frit artifact"),
            ((whole, 10), "input 0 ('input'): its size along dimension 0 is 10"),
        ]:
            done = run(program, *arguments)
            assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert run(libtorch, path).returncode == 0
    gather = compile_file(tmp_path, Rows(), [torch.zeros(3, dtype=torch.int64)], name="rows", dynamic_shapes={"ids": {0: Dim("n", min=1, max=60)}})
    done = run(libtorch, gather, 20)
    assert done.returncode == 1 and "run: index" in done.stderr and "out of" in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_the_headers_bring_only_the_standard_library(installed):
    headers = {path.name: path.read_text() for path in (installed / "include/frit").iterdir()}
    assert set(headers) == {"Model.h", "Status.h", "TorchModel.h", "Values.h"}
    for name, text in headers.items():
        included = set(re.findall(r'#include [<"](.*?)[>"]', text))
        others = {one for one in included if "/" in one and one.removeprefix("frit/") not in headers}
        assert others == ({"ATen/core/ivalue.h"} if name == "TorchModel.h" else set()), name


@pytest.mark.parametrize("name", ["standalone", "libtorch"])
def test_they_are_short(name):
    assert (ROOT / "examples" / name / "main.cpp").read_text().count("\n") < 60


PAGE = (ROOT / "docs/Deploy.md").read_text()


def test_the_program_of_the_page_builds_and_runs(installed, tmp_path):
    """docs/Deploy.md: its CMakeLists.txt and its C++, in a main function that prints the result."""
    (recipe,), (program,) = (re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S) for language in ("cmake", "cpp"))
    source = tmp_path / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(page CXX)\n{recipe}")
    printed = 'for (size_t i = 0; i < 8; ++i) { std::printf("%g\\n", static_cast<const float *>(y.data)[i]); }'
    (source / "main.cpp").write_text(f"#include <frit/Model.h>\n#include <cstdio>\n#include <vector>\nint main() {{\n{program}\n{printed}\n}}\n")
    compile_file(tmp_path, nn.Sequential(nn.Tanh(), nn.Softmax(-1)), (torch.zeros(2, 8),), name="model")
    flags = [f"-DCMAKE_PREFIX_PATH={installed}", f"-DCMAKE_CXX_COMPILER={compiler()}", "-GNinja"]
    for command in (["cmake", "-S", source, "-B", tmp_path / "build", *flags], ["cmake", "--build", tmp_path / "build"], [tmp_path / "build/run"]):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.split() == ["0.125"] * 8
