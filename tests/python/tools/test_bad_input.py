"""Errors of an input are one line that names the location and the remedy; nothing crashes, and no partial file remains.

Each test of damaged files tries hundreds of them in one child process, so that a crash is noticed and does not end
the other tests.
"""

import json
import os
import random
import re
import subprocess
import textwrap
from pathlib import Path

import fresh
import pytest
import torch

from frit import backend, errors, options
from frit.capture.graph import capture
from frit.native import compiler

ROOT = Path(__file__).resolve().parents[3]
COMPILER = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build")) / "bin" / "frit-compile"


def failure(function, *inputs, **settings):
    """Returns the error message of a user's call."""
    with pytest.raises(Exception) as caught:
        torch.compile(function, backend="frit", **settings)(*inputs)
    lines = [line for line in str(caught.value).split("\n") if line and not line.startswith("backend='frit'")]
    return lines[0]


# -- tensors that frit does not support ------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32], ids=str
)
def test_types_without_kernels_are_left_to_aten(dtype):
    """They are stored, passed and cast; ATen computes with them."""
    x = torch.tensor([1.0, 2.0, 3.5]).to(dtype)
    compiled = torch.compile(lambda x: ((x.to(torch.complex64) * 2).real, x.clone()), backend="frit", fullgraph=True)
    doubled, same = compiled(x)
    assert torch.equal(doubled, (x.to(torch.complex64) * 2).real)
    assert same.dtype == dtype and torch.equal(same.view(torch.uint8), x.view(torch.uint8))


@pytest.mark.parametrize("dtype", [torch.float8_e8m0fnu, torch.bits8], ids=str)
def test_graphs_of_types_a_plan_cannot_hold_run_as_they_are(dtype, lenient):
    """As arguments; test_inexpressible.py tests such values inside of a graph."""
    x = torch.ones(4, dtype=torch.uint8).view(dtype)
    assert torch.compile(lambda x: x.view(torch.uint8) + 1, backend="frit")(x).tolist() == [2] * 4


def test_quantised_and_sparse_arguments_run():
    """Dynamo runs what it cannot trace in eager mode."""
    x = torch.randn(4, 4)
    for odd in (x.to_sparse(), x.to_sparse_csr(), torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)):
        dense = odd.dequantize() if odd.is_quantized else odd.to_dense()
        dense_of = (lambda q: q.dequantize() * 2) if odd.is_quantized else (lambda s: s.to_dense() * 2)
        torch.compiler.reset()
        assert torch.equal(torch.compile(dense_of, backend="frit")(odd), dense * 2)


def test_nested_tensors_run_as_eager():
    rows = [torch.randn(2, 3), torch.randn(4, 3)]
    for layout in (torch.strided, torch.jagged):
        torch.compiler.reset()
        compiled = torch.compile(lambda x: x * 2, backend="frit")
        for ours, row in zip(compiled(torch.nested.nested_tensor(rows, layout=layout)).unbind(), rows, strict=True):
            assert torch.equal(ours, row * 2)


@pytest.mark.parametrize("function", [lambda x: (x * 2).to_sparse(), lambda x: x.to_sparse().sum()], ids=["result", "inside"])
def test_sparse_values_in_a_function_run_as_eager(function):
    x = torch.eye(3)
    ours, eager = torch.compile(function, backend="frit")(x), function(x)
    assert ours.layout == eager.layout and torch.equal(ours.to_dense(), eager.to_dense())


def test_devices_frit_does_not_know_run_in_python():
    x = torch.ones(3)
    assert torch.compile(lambda x: x + 1, backend="frit")(x.to("meta")).device.type == "meta"
    assert torch.compile(lambda x: (x * 2).to("meta"), backend="frit")(x).device.type == "meta"


def test_what_no_step_can_make_is_named():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.ones(2, 2, dtype=torch.int16)
    graph.output((graph.call_function(torch.ops.aten.view.dtype, (x, torch.bits16)),))
    next(node for node in graph.nodes if node.op == "call_function").meta["val"] = torch.ones(2, 2, dtype=torch.int16).view(torch.bits16)
    with pytest.raises(errors.CaptureError, match="cannot capture node view_dtype: .*torch.bits16 are not supported"):
        capture(torch.fx.GraphModule(torch.nn.Module(), graph))


# -- arguments at run time -------------------------------------------------------------------------


@pytest.fixture
def executable(monkeypatch):
    """Returns a compiled (x + y) * n over x of (s, 3), y of (3,), n an int."""
    seen = []
    build = backend.build

    def record(*arguments):
        seen.append(build(*arguments))
        return seen[-1]

    monkeypatch.setattr(backend, "build", record)
    x = torch.ones(4, 3)
    torch._dynamo.mark_dynamic(x, 0)
    torch.compile(lambda x, y: (x + y) * x.shape[0], backend="frit")(x, torch.ones(3))
    ((run, _),) = seen
    return run


def test_arguments_that_do_not_fit_are_named(executable):
    good = {torch.Tensor: lambda: torch.ones(3), int: lambda: 4}
    inputs = [4, torch.ones(4, 3), torch.ones(3)]
    assert executable(list(inputs))[0].shape == (4, 3)
    numbers = [i for i, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
    cases = [
        (inputs[:-1], "takes 3 inputs, got 2"),
        (inputs + [1], "takes 3 inputs, got 4"),
        (["four", *inputs[1:]], r"input 0 \('.*'\): an integer is needed"),
        ([*inputs[:2], 5], r"input 2 \('.*'\): a tensor is needed"),
        ([4, torch.ones(4, 3, dtype=torch.float64), torch.ones(3)], r"input 1 .*dtype is float64, compiled for float32"),
        ([4, torch.ones(4), torch.ones(3)], r"input 1 .*has 1 dimensions, compiled for 2"),
        ([4, torch.ones(4, 5), torch.ones(3)], r"input 1 .*size along dimension 1 is 5, compiled for 3"),
        ([4, torch.ones(7, 3), torch.ones(3)], r"input 1 .*size along dimension 0 is 7, compiled for 4"),
        ([4, torch.ones(3, 4).t(), torch.ones(3)], r"input 1 .*stride along dimension 0 is 1, compiled for 3"),
        ([-4, torch.ones(4, 3), torch.ones(3)], r"input 0 .*"),
        ([4, torch.ones(4, 3).to_sparse(), torch.ones(3)], r"input 1.*layout is not strided; convert it with to_dense"),
        ([4, torch.ones(4, 3, device="meta"), torch.ones(3)], r"input 1.*device"),
    ]
    assert numbers == [1, 2] and good
    for arguments, message in cases:
        with pytest.raises(RuntimeError, match=message) as caught:
            executable(list(arguments))
        assert len(str(caught.value).split("\n")[0]) < 250
    with pytest.raises(OverflowError):
        executable([1 << 70, *inputs[1:]])
    assert torch.equal(executable(list(inputs))[0], torch.full((4, 3), 8.0))


# -- damaged artifacts -----------------------------------------------------------------------------


def in_a_child(code, *arguments):
    """Runs Python code that prints each try; a crash is a failure with the last printed line."""
    done = fresh.run(["-c", textwrap.dedent(code), *arguments], timeout=300)
    assert done.returncode == 0, f"exit code {done.returncode} after: {done.stdout[-300:]}\n{done.stderr[-2000:]}"
    return done.stdout


def test_damaged_artifacts_are_refused(tmp_path):
    """Truncates at 120 positions and changes a byte at 400: always an ArtifactError of one line, never a crash or a run."""
    captured = capture(_traced(lambda x: (torch.softmax(x, -1) + x.sum(), torch.sort(x).values)))
    result = compiler().compile(captured.json, json.dumps({**options.resolve(), "name": "whole"}))
    (tmp_path / "a.frit").write_bytes(result.artifact)
    out = in_a_child(
        """
        import hashlib, random, sys, torch
        from frit import _C, errors
        whole = open(sys.argv[1], "rb").read()
        random.seed(0)
        assert _C.load(whole, [])([torch.ones(5, 7)])[1].shape == (5, 7)
        cuts = list(range(0, 80)) + [random.randrange(len(whole)) for _ in range(39)] + [len(whole) - 1]
        cases = [whole[:cut] for cut in cuts]
        for at in list(range(0, 128)) + [random.randrange(128, len(whole)) for _ in range(272)]:
            cases.append(whole[:at] + bytes([whole[at] ^ random.choice([1, 0x80, 0xFF])]) + whole[at + 1 :])
        cases += [whole + b"x", whole * 2, b"", b"PK" + whole]
        refused = 0
        for case in cases:
            try:
                _C.load(case, [])
            except errors.ArtifactError as error:
                assert str(error) and "\\n" not in str(error), str(error)
                refused += 1
        # Resealed, the digest says nothing: what remains is that every offset, index and enum is checked before use.
        def sealed(body):
            header = bytearray(whole[:128])
            header[40:72] = bytes(32)
            header[40:72] = hashlib.sha256(bytes(header) + body).digest()
            return bytes(header) + body

        assert sealed(whole[128:]) == whole
        for _ in range(600):
            body = bytearray(whole[128:])
            for _ in range(random.choice([1, 1, 2, 8])):
                body[random.randrange(len(body))] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
            try:
                _C.load(sealed(bytes(body)), [])
            except errors.ArtifactError as error:
                assert str(error) and len(str(error)) < 2000
        print(refused, len(cases))
        """,
        tmp_path / "a.frit",
    )
    refused, tried = map(int, out.split())
    assert refused == tried, out


def _traced(function):
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(function, tracing_mode="fake")(torch.ones(5, 7))


# -- damaged programs ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program_json():
    def function(x):
        halves = x.split([2, 3], 0)
        return torch.softmax(halves[0], -1) @ x.t(), halves[1].sum(0), torch.cat([x, x * 2.5]).reshape(-1)

    return capture(_traced(function)).json


def test_damaged_programs_are_refused(program_json, tmp_path):
    """Truncates or changes the text, or replaces values: the result is an error of the compiler or, if the change is harmless, an artifact."""
    (tmp_path / "p.json").write_text(program_json)
    out = in_a_child(
        """
        import copy, json, random, sys
        from frit import _C, errors, options
        text = open(sys.argv[1]).read()
        settings = json.dumps(options.resolve())
        random.seed(1)
        tally = {"refused": 0, "taken": 0}

        def attempt(text):
            try:
                _C.compile(text, settings)
                tally["taken"] += 1
            except errors.CompileError as error:
                assert str(error).strip(), "an error without words"
                assert len(str(error)) < 20000
                tally["refused"] += 1

        for cut in [0, 1, 2] + [random.randrange(len(text)) for _ in range(60)]:
            attempt(text[:cut])
        assert tally["taken"] == 0
        for _ in range(60):
            at = random.randrange(len(text))
            attempt(text[:at] + random.choice('{}[]",:0-x') + text[at + 1 :])

        def paths(value, path=()):
            found = [path]
            items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, item in items:
                found += paths(item, path + (key,))
            return found

        tree = json.loads(text)
        places = paths(tree)[1:]
        odd = [None, True, -1, 0, 2**63, 2**64, 1e400, 0.5, "", "\\u0000", "no such", [], {}, [[]], {"as_none": True},
               {"as_int": -5}, {"as_tensor": {"name": "nobody"}}]
        for place in random.sample(places, 220):
            changed = copy.deepcopy(tree)
            inner = changed
            for key in place[:-1]:
                inner = inner[key]
            if random.random() < 0.3:
                del inner[place[-1]]
            else:
                inner[place[-1]] = random.choice(odd)
            attempt(json.dumps(changed))
        print(tally["refused"], tally["taken"])
        """,
        tmp_path / "p.json",
    )
    refused, _ = map(int, out.split())
    assert refused > 150, out


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda p: p["schema_version"].update(major=9), "schema version 9"),
        (lambda p: p["schema_version"].pop("major"), "schema version -1.* cannot be read, only version 8: export the model again"),
        (lambda p: p.pop("graph_module"), "graph_module"),
        (lambda p: p["graph_module"]["graph"]["nodes"][0].update(target="torch.ops.aten.no_such.default"), "no_such"),
        (lambda p: p["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"].update(as_tensor={"name": "ghost"}), "ghost"),
    ],
)
def test_errors_of_programs_name_the_place(program_json, change, message):
    program = json.loads(program_json)
    change(program)
    with pytest.raises(errors.FritError) as caught:
        result = compiler().compile(json.dumps(program), json.dumps(options.resolve()))
        compiler().load(result.artifact, [])
    assert re.search(message, str(caught.value)), str(caught.value)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "m.pt2"
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()).eval()
    torch.export.save(torch.export.export(model, (torch.ones(2, 3),)), path)
    return path


def test_damaged_archives_leave_no_file(exported, tmp_path):
    """Truncates or changes archives: the result is one line and no output, or an artifact if the damage is in unused bytes."""
    whole = exported.read_bytes()
    random.seed(2)
    cases = [whole[:cut] for cut in [0, 10, len(whole) // 2, len(whole) - 1]]
    for _ in range(24):
        at = random.randrange(len(whole))
        cases.append(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    refused = 0
    for case in cases:
        (tmp_path / "m.pt2").write_bytes(case)
        done = subprocess.run(
            [COMPILER, tmp_path / "m.pt2", "-o", tmp_path / "m.frit"], capture_output=True, text=True, timeout=60
        )
        left = sorted(path.name for path in tmp_path.iterdir())
        if done.returncode == 0:
            assert left == ["m.frit", "m.pt2"]
            (tmp_path / "m.frit").unlink()
        else:
            assert done.returncode == 1 and done.stderr.startswith("frit-compile: ") and left == ["m.pt2"], (done, left)
            refused += 1
    assert refused >= 8


def test_an_output_that_cannot_be_written_leaves_nothing(exported, tmp_path):
    done = subprocess.run([COMPILER, exported, "-o", tmp_path / "no" / "m.frit"], capture_output=True, text=True)
    assert done.returncode == 1 and "no/m.frit" in done.stderr and not list(tmp_path.iterdir())
