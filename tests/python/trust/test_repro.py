"""Folders with a repro.py: which failures leave one, that it reproduces the failure, and what it must not contain."""

import os

import fresh
import planted
import pytest
import torch

import frit
from frit import backend, options
from frit.replay import bisect
from frit.replay.program import load
from frit.verify import guard, repro

SUPPORT = os.path.dirname(os.path.abspath(planted.__file__))


def run(script, *before):
    """Runs a script in a separate process, and returns (exit status, output)."""
    done = fresh.run([*before, script], cwd=SUPPORT)
    return done.returncode, done.stdout + done.stderr


def wrong_result(function, folder, *arguments, **compile_arguments):
    compiled = torch.compile(function, backend="frit", options={"verify": 1, "repro_dir": str(folder), **compile_arguments.pop("options", {})}, **compile_arguments)
    with pytest.raises(frit.VerifyError) as raised:
        compiled(*arguments)
    return raised.value


def planted_waves(a, b):
    c = a[1:].t() + b
    return c.sin().sum(), c, (b > 3).int() + torch.tensor([1, 2, 3])[:1]


def test_a_difference_is_shown_again_by_its_script(tmp_path, monkeypatch):
    planted.install("sin.default", "cos.default", setattr=monkeypatch.setattr)
    base = torch.rand(5, 4)
    error = wrong_result(planted_waves, tmp_path, base[1:], base[0, 1:], dynamic=True)
    script = os.path.join(error.repro, "repro.py")
    assert script in str(error) and os.listdir(error.repro) == ["repro.py"]
    program = load(error.repro)
    x, y = (x for x in program.arguments() if isinstance(x, torch.Tensor))
    assert x.stride() == (4, 1) and x.storage_offset() == 4 and y.storage_offset() == 1
    assert x.untyped_storage()._cdata == y.untyped_storage()._cdata
    with pytest.raises(frit.VerifyError, match="result 0"):
        program.run()
    status, said = run(script, "planted.py", "sin.default", "cos.default", "True")
    assert status == 1 and "the failure: VerifyError" in said, said
    status, said = run(script)
    assert status == 0 and "no failure" in said, said


def test_a_refused_graph_is_shown_again_by_its_script(tmp_path):
    def function(x):
        return torch.linalg.det(x).sin()

    with pytest.raises(Exception, match="to repeat it: python") as raised:
        torch.compile(function, backend="frit", options={"fallback": "error", "repro_dir": str(tmp_path)})(torch.rand(3, 3))
    (folder,) = os.listdir(tmp_path)
    assert folder.startswith("CompileError-") and folder in str(raised.value)
    status, said = run(str(tmp_path / folder / "repro.py"))
    assert status == 1 and "the failure: CompileError" in said, said


def test_a_failure_of_capture_leaves_one(tmp_path, monkeypatch):
    monkeypatch.setattr(backend, "capture", lambda gm: (_ for _ in ()).throw(frit.CaptureError("nothing can be said")))
    with pytest.raises(Exception, match="CaptureError-"):
        torch.compile(lambda x: x + 1, backend="frit", options={"repro_dir": str(tmp_path)})(torch.rand(3))
    (folder,) = os.listdir(tmp_path)
    with pytest.raises(frit.CaptureError):
        load(str(tmp_path / folder)).run()


def test_a_graph_that_runs_as_it_was_traced_leaves_one(tmp_path, lenient):
    x = torch.rand(3)
    compiled = torch.compile(lambda x: x.sin() + 1, backend="frit", options={"fail_at": "always", "repro_dir": str(tmp_path)})
    assert torch.equal(compiled(x), x.sin() + 1)
    (folder,) = os.listdir(tmp_path)
    status, said = run(str(tmp_path / folder / "repro.py"))
    assert status == 1 and "fails, as was asked" in said, said


def test_a_refused_call_leaves_one_and_goes_on(tmp_path):
    """The fallback of an executable runs after the folder is written."""
    gm = torch.fx.symbolic_trace(lambda x: torch.ops.aten.add.Tensor(x, 1))
    for node in gm.graph.nodes:
        node.meta["val"] = torch.rand(3)
    settings = options.resolve(None, {"repro_dir": str(tmp_path)})

    class Otherwise:
        takes = staticmethod(lambda why: why.startswith("input"))
        __call__ = staticmethod(lambda args, why: [args, why])

    refused = guard.Refused(Otherwise(), "graph0", lambda: gm, settings, "inference")
    assert refused([torch.ones(2)], "input 0: it has 2")[1] == "input 0: it has 2"
    (folder,) = os.listdir(tmp_path)
    assert "tensor((2,), (1,), 0, torch.float32)" in (tmp_path / folder / "repro.py").read_text()
    with pytest.raises(frit.CompileError, match=folder):
        guard.Refused(None, "graph0", lambda: gm, settings, "inference")([torch.ones(2)], "input 0: it has 2")
    with pytest.raises(frit.CompileError, match=folder):
        refused([torch.ones(2)], "something else")


def test_data_is_kept_only_where_asked(tmp_path, monkeypatch):
    planted.install("sin.default", "cos.default", setattr=monkeypatch.setattr)
    x = torch.full((3,), 0.5)
    error = wrong_result(lambda x: x.sin(), tmp_path, x, options={"repro_data": True})
    assert sorted(os.listdir(error.repro)) == ["arguments.pt", "repro.py"]
    assert load(error.repro).arguments()[0].tolist() == [0.5] * 3


def test_folders_are_bounded_and_not_written_twice(tmp_path):
    settings = options.resolve(None, {"repro_dir": str(tmp_path)})
    (tmp_path / "not-ours").mkdir()
    folders = []
    for number in range(repro.MOST_FOLDERS + 3):
        gm = torch.fx.symbolic_trace(lambda x: torch.ops.aten.add.Tensor(x, number))
        gm.graph.find_nodes(op="placeholder")[0].meta["val"] = torch.rand(3)
        folders.append(repro.write(frit.CompileError("no"), gm, settings, "inference"))
        os.utime(folders[-1], (number, number))
    assert repro.write(frit.CompileError("no"), gm, settings, "inference") == folders[-1]
    left = set(os.listdir(tmp_path))
    assert "not-ours" in left and len(left) == repro.MOST_FOLDERS + 1 and os.path.basename(folders[-1]) in left


def test_constants_of_modules_in_modules_are_written(tmp_path):
    owner = torch.nn.Module()
    owner.inner = torch.nn.Module()
    owner.inner.limit = torch.tensor([1.5, 2.5])
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.rand(2)
    graph.output((graph.call_function(torch.ops.aten.add.Tensor, (x, graph.get_attr("inner.limit"))),))
    folder = repro.write(frit.CompileError("no"), torch.fx.GraphModule(owner, graph), options.resolve(None, {"repro_dir": str(tmp_path)}), "inference")
    assert load(folder).module.Graph().inner.limit.tolist() == [1.5, 2.5]


def test_off_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path))
    with pytest.raises(Exception) as raised:
        torch.compile(torch.linalg.det, backend="frit", options={"fallback": "error", "repro_dir": "off"})(torch.rand(3, 3))
    assert "to repeat it" not in str(raised.value) and not os.listdir(tmp_path)


@pytest.mark.parametrize("needs", ["", "fusion"])
def test_bisect_names_the_pass_and_ends_with_the_smallest_graph(tmp_path, monkeypatch, needs):
    planted.install("sin.default", "cos.default", when=lambda settings: not needs or settings[needs], setattr=monkeypatch.setattr)

    def function(a, b):
        c = (a + b).exp().tanh()
        return (c.sin() * 2) @ b.t(), c.sum(0)

    error = wrong_result(function, tmp_path, torch.rand(4, 4), torch.rand(4, 4), options={"repro_data": True})
    said = []
    assert bisect.of_program(load(error.repro), str(tmp_path / "smallest"), said.append) == 1
    text = "\n".join(said)
    assert ("the difference needs: fusion" in text) if needs else ("no pass makes the difference" in text), text
    assert "smallest graph: 1 operators" in text and "first operator: aten.sin.default" in text, text
    (folder,) = os.listdir(tmp_path / "smallest")
    with pytest.raises(frit.VerifyError):
        load(str(tmp_path / "smallest" / folder)).run()


@pytest.mark.parametrize("fails", ["raised", "retried", "called"])
def test_bisect_blames_no_pass_whose_absence_fails(tmp_path, monkeypatch, fails):
    planted.install("sin.default", "cos.default", setattr=monkeypatch.setattr)
    error = wrong_result(lambda a: (a + 1).sin() * 2, tmp_path, torch.rand(4), options={"repro_data": True})
    build = backend.build

    def build_badly(captured, settings, name, match=None):
        executable, report = build(captured, settings, name, match)
        if settings["fusion"]:
            return executable, report
        if fails == "raised":
            raise frit.CompileError("as planned\nin detail")
        if fails == "retried":
            return executable, {**report, "retries": [{"without": "everything", "because": "as planned\nin detail"}]}
        return (lambda args: (_ for _ in ()).throw(frit.CompileError("as planned\nin detail"))), report

    monkeypatch.setattr(backend, "build", build_badly)
    said = []
    assert bisect.of_program(load(error.repro), str(tmp_path / "smallest"), said.append) == 1
    assert "without fusion: undecided, it fails: CompileError: as planned" in said, said
    assert "without padding: still wrong" in said and not any(line.startswith("the difference needs") for line in said), said
    assert any(line.startswith("no other pass than fusion can make the difference") for line in said), said


@pytest.mark.parametrize("dynamic", [False, True])
def test_bisect_names_the_layouts(tmp_path, monkeypatch, dynamic):
    """The mistake occurs only in graphs that the layout pass changes, so the smallest graph has the channels-last convolution."""
    planted.install("sin.default", "cos.default", where=planted.is_relaid, setattr=monkeypatch.setattr)

    def function(x, w, v):
        return torch.conv2d(torch.conv2d(x, w).sin() * 2, v), x.exp().sum()

    error = wrong_result(function, tmp_path, torch.rand(2, 3, 9, 9), torch.rand(8, 3, 3, 3), torch.rand(4, 8, 3, 3), options={"repro_data": True}, dynamic=dynamic)
    said = []
    assert bisect.of_program(load(error.repro), str(tmp_path / "smallest"), said.append) == 1
    text = "\n".join(said)
    assert "without layout: right" in text and "without fusion: still wrong" in text, text
    assert "without approximation: right, and without it layouts are not changed" in text, text
    assert "the difference needs: layout\n" in text and "aten.convolution.default" in text[text.index("smallest graph") :], text
    assert "first operator: aten.sin.default" in text, text
    (folder,) = os.listdir(tmp_path / "smallest")
    with pytest.raises(frit.VerifyError):
        load(str(tmp_path / "smallest" / folder)).run()
    monkeypatch.undo()
    load(str(tmp_path / "smallest" / folder)).run()


def test_bisect_runs_scripts(tmp_path):
    """A correct script, a wrong one, and one that fails by itself."""
    script = tmp_path / "program.py"
    script.write_text(
        f"""
import sys
sys.path.insert(0, {SUPPORT!r})
import planted, torch
if sys.argv[1] == "wrong":
    planted.install("sin.default", "cos.default")
if sys.argv[1] == "fails":
    raise ValueError("of its own")
torch.compile(lambda x: x.sin() + 1, backend="frit")(torch.rand(3))
"""
    )
    said = []
    assert bisect.of_script(str(script), ["right"], 1, str(tmp_path / "right"), said.append) == 0
    assert bisect.of_script(str(script), ["fails"], 1, str(tmp_path / "fails"), said.append) == 2
    # The mistake is planted only in the script's process, so the graph by itself is correct.
    assert bisect.of_script(str(script), ["wrong"], 1, str(tmp_path / "wrong"), said.append) == 0
    assert "no difference in the first 1 calls" in said[0] and "ended with status 1" in said[1] and "agrees with ATen" in said[2]
