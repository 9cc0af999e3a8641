"""frit inspect, frit bench and frit report on files of frit-compile, and the targets of frit-compile."""

import html
import json
import re
import subprocess
from pathlib import Path

import pytest
import torch
from exported import TOOLS, compile_file

from frit.__main__ import main
from frit.errors import OptionError
from frit.inspect.reader import read, read_file
from frit.inspect.schema import parse, schema
from frit.shell.bench import parse_input
from frit.shell.compile import main as compile_with_words

ROOT = Path(__file__).resolve().parents[3]


class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 16)
        self.out = torch.nn.Linear(16, 4)

    def forward(self, ids, scale):
        return self.out(self.table(ids) * scale).softmax(-1)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models")
    sizes = ({0: torch.export.Dim("rows", min=2, max=64)}, None)
    return compile_file(folder, Mixed(), (torch.randint(0, 10, (4, 3)), torch.ones(16)), dynamic_shapes=sizes)


def test_the_schema_is_the_runtimes():
    known = schema()
    assert known.unions["Action"][:2] == ["Eval", "Alloc"] and known.enums["Dtype"][1][11] == "F32"
    assert [field.name for field in known.structs["PointerBits"]] == ["tensor", "mask"]
    assert known.tables["Alloc"][3].default == 2**32 - 1 and known.tables["Kernel"][1].is_list
    with_comment = parse("enum A : ubyte { X = 3, Y } // enum B : ubyte { Z }\ntable T { a: A; b: [long]; c: bool = true; }")
    assert with_comment.enums == {"A": ("ubyte", {3: "X", 4: "Y"})} and with_comment.tables["T"][2].default is True


def test_inspect_prints_what_a_file_holds(model, capsys):
    assert main(["inspect", str(model)]) == 0
    text = capsys.readouterr().out
    for part in ("graph 'main'", "code image cpu", "weights (3, ", "table.weight: f32[10, 16]", "input ids: i64[4, 3]", "size ", "result 0: f32[4, 3, 4]",
                 "kernel frit_", "with arguments and weights at the peak: ", "*ids[0]", "call aten.addmm.default", "test_inspect.py:", "steps; --steps lists them"):
        assert part in text, part
    assert main(["inspect", str(model), "--steps"]) == 0
    assert "launch frit_" in capsys.readouterr().out


def test_inspect_as_json_at_another_size(model, capsys):
    (name,) = [one["name"] for one in read_file(model)["plans"][0]["symbols"]]
    assert main(["inspect", str(model), "--json", "--size", f"{name}=8"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert plan["outputs"] == ["f32[8, 3, 4]"] and plan["inputs"][0]["type"] == "i64[8, 3]" and plan["bytes_moved"] > plan["bytes_mandatory"] > 0
    assert plan["peak_bytes"] >= 8 * 3 * 4 * 4 and len(plan["steps"]) > 3


def test_bench_measures_at_the_sizes_given(model, capsys):
    assert main(["bench", str(model), "--input", "ids=6x3xi64", "--iterations", "5", "--warmup", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    times = found["milliseconds"]
    assert 0 < times["least"] <= times["p50"] <= times["p99"] <= times["most"] and found["calls_per_second"] > 0
    assert found["inputs"][0] == "(6, 3) torch.int64" and found["resident_bytes"] > 0
    rows = {row["name"]: row for row in found["kernels"]}
    assert rows["aten.addmm.default"]["microseconds"] > 0 and all(row["microseconds"] for name, row in rows.items() if name.startswith("frit_"))
    assert main(["bench", str(model), "--iterations", "2"]) == 0
    text = capsys.readouterr().out
    assert "latency (ms): least" in text and "calls a second" in text and "kernel or operator" in text


def test_bench_gives_sizes_that_are_arguments_and_finds_own_products(tmp_path, capsys):
    artifact = tmp_path / "s.frit"
    words = [TOOLS / "frit-compile", ROOT / "docs" / "tour" / "similarity.json", "-o", artifact]
    subprocess.run(words, check=True, capture_output=True)
    assert main(["bench", str(artifact), "--input", "6x5xf32", "--input", "7x5xf32", "--iterations", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == ["6", "5", "(6, 5) torch.float32", "7", "(7, 5) torch.float32"]
    assert main(["bench", str(artifact), "--input", "6x5xf32", "--input", "7x4xf32", "--iterations", "2"]) == 1
    said = capsys.readouterr().err
    assert "the model refuses these inputs: frit: graph 'main'" in said and said.count("\n") == 1
    product = compile_file(tmp_path, torch.nn.Linear(64, 96), (torch.randn(32, 64),))
    assert main(["bench", str(product), "--iterations", "2", "--json"]) == 0
    assert all(row["microseconds"] > 0 for row in json.loads(capsys.readouterr().out)["kernels"])


@pytest.mark.parametrize("text", ["4x", "4xf99", "ids=", "ids=x", "-1x3"])
def test_bench_refuses_what_is_no_form(text):
    with pytest.raises(OptionError, match="is not of the form"):
        parse_input(text)


def test_forms_of_inputs():
    assert parse_input("ids=4x64xi64") == ("ids", [4, 64], "i64") and parse_input("3x2") == ("", [3, 2], "") and parse_input("f32") == ("", [], "f32")


def test_wrong_uses_end_with_one_line(model, tmp_path, capsys):
    (tmp_path / "text.frit").write_text("no artifact")
    (tmp_path / "empty").mkdir()
    for words, message in [
        (["inspect", str(tmp_path / "text.frit")], "is not a .frit file"),
        (["inspect", str(tmp_path / "none.frit")], "cannot be read: No such file"),
        (["inspect", str(model), "--size", "rows"], "is not of the form"),
        (["report", str(tmp_path / "empty")], "has no graph"),
        (["bench", str(model), "--input", "idz=4x3"], "the model has no input 'idz'; it has ids, scale"),
        (["bench", str(model), "--iterations", "0"], "--iterations takes a number from 1"),
    ]:
        assert main(words) == 1
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1, said


def test_a_damaged_file_is_refused_or_read(model):
    data = bytearray(model.read_bytes())
    for place in range(128, 128 + 4 * 400, 4):
        damaged = bytearray(data)
        damaged[place : place + 4] = b"\xff\xff\xff\x7f"
        try:
            read(damaged)
        except Exception as error:
            assert type(error).__name__ == "ArtifactError", (place, error)


def test_report_of_a_file_and_of_a_dump(model, tmp_path, capsys):
    assert main(["report", str(model), "--out", str(tmp_path / "a.html")]) == 0
    text = (tmp_path / "a.html").read_text()
    assert "nothing was run" in text and "unknown: the file has no kernel programs" in text
    program = model.with_suffix(".pt2")
    subprocess.run([TOOLS / "frit-compile", program, "-o", tmp_path / "m.frit", f"--dump={tmp_path / 'dump'}"], check=True, capture_output=True)
    assert main(["report", str(tmp_path / "dump")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(tmp_path / "dump.html")
    text = (tmp_path / "dump.html").read_text()
    assert "define dso_local i32 @frit_" in text and "frit.kernel @frit_" in text
    assert "roofline of the kernels" in text and "unknown: the file has no kernel programs" not in text


def test_report_of_an_exported_program_compiles_it(model, tmp_path, capsys):
    program = model.with_suffix(".pt2")
    assert main(["report", str(program), "--out", str(tmp_path / "p.html"), "--target=sm_90"]) == 0
    text = (tmp_path / "p.html").read_text()
    assert "PTX (gpu-sm_90)" in text and "frit.kernel @frit_" in text and f"<h1>{program.name}</h1>" in text
    for words, message in [
        ([str(program), "--target=nix"], "option 'target' cannot be 'nix'"),
        ([str(model), "--target=sm_90"], "--target=sm_90 is for frit-compile"),
        ([str(tmp_path / "none.pt2")], "cannot be read: No such file"),
    ]:
        assert main(["report", *words]) == 1
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1, said
    with pytest.raises(SystemExit):
        main(["inspect", str(model), "--nix"])


def test_frit_compile_writes_a_page_too(model, tmp_path, capsys):
    program = str(model.with_suffix(".pt2"))
    assert compile_with_words([program, "-o", str(tmp_path / "m.frit"), f"--report={tmp_path / 'm.html'}"]) == 0
    assert main(["inspect", str(tmp_path / "m.frit")]) == 0 and not list(tmp_path.glob("*-report*"))
    text = (tmp_path / "m.html").read_text()
    assert f"<h1>{Path(program).name}</h1>" in text and "define dso_local i32 @frit_" in text and "roofline of the kernels" in text
    words = [program, f"--dump={tmp_path / 'dump'}", "-o", str(tmp_path / "m.frit"), f"--report={tmp_path / 'n.HTM'}"]
    assert compile_with_words(words) == 0 and list((tmp_path / "dump").iterdir()) and (tmp_path / "n.HTM").exists()
    assert compile_with_words([program, "-o", str(tmp_path / "p.frit"), "--target=nix", f"--report={tmp_path / 'p.html'}"]) != 0
    assert not (tmp_path / "p.html").exists() and not (tmp_path / "p.frit").exists()
    assert compile_with_words([program, "-o", str(tmp_path / "p.frit"), f"--report={tmp_path / 'm.frit' / 'p.html'}"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("frit-compile: ")


def test_report_of_gpu_code_shows_ptx(model, tmp_path):
    subprocess.run([TOOLS / "frit-compile", model.with_suffix(".pt2"), "-o", tmp_path / "g.frit", "--target=sm_90"], check=True, capture_output=True)
    assert main(["report", str(tmp_path / "g.frit")]) == 0
    text = (tmp_path / "g.html").read_text()
    assert "PTX (sm_90)" in text and ".visible .entry frit_" in text


def test_a_page_of_several_targets_shows_each(model, tmp_path):
    program = str(model.with_suffix(".pt2"))
    targets = ["--target=cpu:x86-64-v3", "--target=sm_90", "--target=cpu:x86-64-v4"]
    assert compile_with_words([program, "-o", str(tmp_path / "m.frit"), *targets, f"--report={tmp_path / 'm.html'}"]) == 0
    text = (tmp_path / "m.html").read_text()
    sections = re.findall(r'<h2 id="g\d">([^<]+)</h2>', text)
    # The best CPU comes first, as in the file.
    assert [name.partition(" for ")[2] for name in sections] == ["CPU x86-64-v4", "CPU x86-64-v3", "GPU"]
    # Each has the schedule and the code of its own kernels.
    kernels = read_file(tmp_path / "m.frit")["report"]
    assert [len(plan["kernels"]) for plan in kernels["other_plans"]] == [len(kernels["kernels"])] * 2
    assert all(kernel["schedule"] in html.unescape(text) for plan in [kernels, *kernels["other_plans"]] for kernel in plan["kernels"])
    assert "LLVM IR (cpu-x86-64-v4)" in text and "PTX (gpu-sm_90)" in text


def test_targets_are_listed_and_html_is_another_command(model, tmp_path):
    listed = subprocess.run([TOOLS / "frit-compile", "--list-targets"], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["cpu", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:CPU", "sm_80", "sm_90", "sm_100", "simt"]
    words = [TOOLS / "frit-compile", model.with_suffix(".pt2"), "-o", tmp_path / "m.frit", "--report=x.html"]
    refused = subprocess.run(words, capture_output=True, text=True)
    assert refused.returncode == 2 and f"for HTML run: frit report {words[1]} --out x.html" in refused.stderr
