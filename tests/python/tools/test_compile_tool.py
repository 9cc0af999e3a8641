"""The command line of frit-compile: the choice of a model, messages, output files, and exit statuses."""

import hashlib
import json
import os
import subprocess
import zipfile

import pytest
import torch
from emulation import PTXAS
from exported import TOOLS
from torch import nn
from torch.export.pt2_archive._package import package_pt2

import frit
from frit.inspect.reader import read_file

OK, FAILED, USAGE, OWN = 0, 1, 2, 70


class Scaled(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", torch.tensor([scale]))

    def forward(self, x):
        return torch.softmax(x * self.scale, -1)


class Products(nn.Module):
    def forward(self, x):
        return torch.relu(x @ x + 1) @ x, torch.sort(x).values


class Several(nn.Module):
    """Three kernels of a GPU."""

    def forward(self, x):
        return torch.softmax(x, -1), x.sum(0), x.T.contiguous() * 2


def run(*words, status=OK, **more):
    done = subprocess.run([TOOLS / "frit-compile", *map(str, words)], capture_output=True, text=True, **more)
    assert done.returncode == status, (done.returncode, done.stderr)
    return done


def program(module):
    return torch.export.export(module, (torch.randn(4, 4),))


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    torch.export.save(program(Scaled(2.0)), folder / "one.pt2")
    torch.export.save(program(Products()), folder / "products.pt2")
    torch.export.save(program(Several()), folder / "several.pt2")
    package_pt2(folder / "two.pt2", exported_programs={"small": program(Scaled(2.0)), "large": program(Scaled(20.0))})
    return folder


def loaded(path):
    os.chmod(path, 0o600)
    return frit.load(path)


def test_one_model_of_several(archives, tmp_path):
    said = run(archives / "two.pt2", "-o", tmp_path / "m.frit", status=FAILED).stderr
    assert "two.pt2 holds the models 'large', 'small'; name one with --model=NAME" in said and said.count("\n") == 1
    said = run(archives / "two.pt2", "-o", tmp_path / "m.frit", "--model=huge", status=FAILED).stderr
    assert "has no model 'huge'; it holds the models 'large', 'small'" in said
    x = torch.randn(4, 4)
    for name, scale in (("small", 2.0), ("large", 20.0)):
        run(archives / "two.pt2", "-o", tmp_path / f"{name}.frit", "--model", name)
        torch.testing.assert_close(loaded(tmp_path / f"{name}.frit")(x), Scaled(scale)(x))
    run(archives / "one.pt2", "-o", tmp_path / "m.frit", "--model=model")
    run(archives / "one.pt2", "-o", tmp_path / "m.frit", "--model=other", status=FAILED)


@pytest.mark.parametrize(
    "entries, message",
    [
        (["serialized_exported_program.json", "serialized_state_dict.pt", "version"], "layout of torch before 2.8; write it again: torch.export.save("),
        (["m/archive_format", "m/data/aotinductor/model/model.so"], "is a package of AOTInductor: compiled code without the program"),
        (["m/data.pkl", "m/data/0", "m/version"], "is a file of torch.save or torch.jit.save"),
        (["m/readme"], "holds no exported model"),
    ],
)
def test_other_archives_are_named_with_the_fix(entries, message, tmp_path):
    with zipfile.ZipFile(tmp_path / "m.pt2", "w") as archive:
        for entry in entries:
            archive.writestr(entry, "1")
    said = run(tmp_path / "m.pt2", "-o", tmp_path / "m.frit", status=FAILED).stderr
    assert message in said and "torch.export.save" in said and said.count("\n") == 1
    assert not (tmp_path / "m.frit").exists()


def test_a_file_of_torch_save(tmp_path):
    torch.save({"x": torch.zeros(3)}, tmp_path / "m.pt")
    assert "is a file of torch.save" in run(tmp_path / "m.pt", "-o", tmp_path / "m.frit", status=FAILED).stderr


def test_how_it_ends(archives, tmp_path):
    one, out = archives / "one.pt2", tmp_path / "m.frit"
    for words, status, message in [
        ((), USAGE, "no input"),
        ((one,), USAGE, "no output"),
        ((one, "-o"), USAGE, "-o needs a file name"),
        ((one, "-o", out, "--taget=cpu"), USAGE, "unknown flag '--taget=cpu'"),
        ((one, one, "-o", out), USAGE, "one input at a time"),
        ((one, "-o", out, "--target"), USAGE, "--target needs a value"),
        ((one, "-o", out, "--model="), USAGE, "--model needs a value"),
        ((one, "-o", out, "--target=sm_75"), USAGE, "option 'target' cannot be 'sm_75'"),
        ((one, "-o", out, "--target=cpu:avx3"), USAGE, "option 'target': 'avx3' is neither a CPU nor a feature that LLVM knows; did you mean 'avx'?"),
        ((one, "-o", out, "--cpu=x86-64-v3,avx512_vnni"), USAGE, "option 'cpu': 'avx512_vnni' is no feature that LLVM knows; did you mean 'avx512vnni'?"),
        ((one, "-o", out, "--target=cpu:"), USAGE, "option 'target': no CPU is named; known: host, x86-64-v3"),
        ((one, "-o", out, "--target=cpu:nehalem"), USAGE, "'nehalem' is below x86-64-v3, the least that kernels are compiled for: it lacks avx"),
        ((one, "-o", out, "--cpu=x86-64-v3", "--cpu=host"), USAGE, "--cpu is one CPU, got 'x86-64-v3' and 'host'; name several by --target=cpu:CPU"),
        ((one, "-o", out, "--target=sm_90:v4"), USAGE, "only cpu has levels, got 'sm_90:v4'"),
        ((one, "-o", out, "--target=cpu:x86-64-v3", "--cpu=x86-64-v4"), USAGE, "--cpu=x86-64-v4 is what --target=cpu stands for"),
        ((one, "-o", out, "--weights=some"), USAGE, "option 'weights' cannot be 'some'; known: embed, external, none"),
        ((one, "-o", "-", "--weights=external"), USAGE, "--weights=external writes a file beside the output"),
        ((one, "-o", tmp_path / "b.frit", "--report=out/R.HTML"), USAGE, "the report is JSON, not HTML: --report=out/R.json"),
        ((one, "-o", "-", "--report"), USAGE, "name a file for the report"),
        ((one, "-o", out, "--bucket-count=0"), USAGE, "--bucket-count takes a number"),
        ((one, "-o", out, "--buckets=q[0]=8"), FAILED, "q"),
        ((one, "-o", out, "--sizes", tmp_path / "none.json"), FAILED, "none.json: No such file"),
        ((tmp_path / "none.pt2", "-o", out), FAILED, "none.pt2 cannot be opened"),
        ((one, "-o", tmp_path / "no" / "m.frit"), FAILED, "m.frit"),
        ((archives / "products.pt2", "-o", out, "--fallback=error"), FAILED, "is left to ATen"),
    ]:
        said = run(*words, status=status).stderr
        assert said.startswith("frit-compile: ") and message in said, said
        assert not out.exists()
    text = run("--help").stdout
    assert all(part in text for part in ("0 success", "1 the input", "2 a wrong command line", "70 a mistake")) and "--crash-in" not in text
    assert "--crash-in" in run("--help-hidden").stdout
    assert "LLVM 2" in run("--version").stdout


@pytest.mark.parametrize("phase", ["import", "passes", "codegen", "artifact"])
def test_a_crash_leaves_what_it_takes_to_repeat_it(phase, archives, tmp_path):
    more = {"env": {**os.environ, "TMPDIR": str(tmp_path)}}
    said = run(archives / "one.pt2", "-o", tmp_path / "m.frit", "--target=cpu", "--crash-in", phase, status=OWN, **more).stderr
    (kept,) = tmp_path.glob("frit-compile-crash*.mlir")
    assert "a mistake of frit's own; please report it with " + str(kept) in said
    first, *rest = kept.read_text().split("\n")
    assert "'--target=cpu'" in first and "'--crash-in'" in first
    assert not (tmp_path / "m.frit").exists()
    if phase != "import":
        run(kept, "-o", tmp_path / "again.frit")
    else:
        assert "imported nothing yet" in rest[0]


def test_values_after_the_flag_and_levels(archives, tmp_path):
    one = archives / "one.pt2"
    run(one, "-o", tmp_path / "a.frit", "--cpu=x86-64-v3", "--numerics=eager")
    run(one, f"-o={tmp_path / 'b.frit'}", "--target", "cpu:x86-64-v3", "--numerics", "eager")
    assert (tmp_path / "a.frit").read_bytes() == (tmp_path / "b.frit").read_bytes()
    assert b"x86-64-v3" in (tmp_path / "a.frit").read_bytes()


class Mixed(nn.Module):
    """Row, column and full reductions, half types and indices, whose kernels depend on the vector width."""

    def forward(self, x, i):
        half = (x * 1e-39).to(torch.bfloat16) + x.to(torch.float16)
        return torch.softmax(x, -1), x.sum(0), (x * x).mean(), half, torch.relu(x)[i]


def compiled_for(path, out, *cpus):
    run(path, "-o", out, *(f"--target=cpu:{cpu}" for cpu in cpus))
    return out.read_bytes()


def test_images_for_several_cpus_in_one_file(tmp_path):
    x, i = torch.randn(37, 515), torch.arange(0, 37, 3)
    torch.export.save(torch.export.export(Mixed(), (x, i)), tmp_path / "m.pt2")
    cpus = ("x86-64-v3", "sapphirerapids", "x86-64-v4", "x86-64-v3,+avx512f")
    both = compiled_for(tmp_path / "m.pt2", tmp_path / "both.frit", *cpus)
    # The best is first, whatever the order of the arguments.
    assert both == compiled_for(tmp_path / "m.pt2", tmp_path / "other.frit", *reversed(cpus), "avx2,fma")
    results = loaded(tmp_path / "both.frit")(x, i)
    compiled_for(tmp_path / "m.pt2", tmp_path / "v3.frit", "avx2,fma")
    least = loaded(tmp_path / "v3.frit")(x, i)
    for got, narrow, want in zip(results, least, Mixed()(x, i), strict=True):
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(narrow, want)


def test_a_feature_is_recorded_and_looked_for(archives, tmp_path):
    one = archives / "one.pt2"
    for cpu, recorded in (("x86-64-v3,+avx512fp16,+gfni", (b"avx512fp16", b"gfni")), ("x86-64-v3,+clwb,+avx512bf16", ())):
        artifact = compiled_for(one, tmp_path / "m.frit", cpu)
        assert [name for name in (b"avx512fp16", b"gfni", b"clwb", b"avx512bf16") if name in artifact] == list(recorded)
    # The error names the missing feature: here one that no machine has, with a valid digest.
    artifact = compiled_for(one, tmp_path / "m.frit", "x86-64-v3,+gfni").replace(b"gfni", b"gfn9")
    with pytest.raises(frit.errors.ArtifactError, match=r"cannot run the artifact's code \(x86-64-v3,\+gfn9: it lacks gfn9\)"):
        frit.load(with_digest(artifact, tmp_path / "patched.frit"))
    # The next image is chosen if there is one.
    artifact = compiled_for(one, tmp_path / "m.frit", "x86-64-v3,+gfni", "x86-64-v3").replace(b"gfni", b"gfn9")
    x = torch.randn(4, 4)
    torch.testing.assert_close(frit.load(with_digest(artifact, tmp_path / "patched.frit"))(x), Scaled(2.0)(x))


class Chooses(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x @ x, lambda x: x @ x.t(), (x,)) @ x


def test_operators_of_branches_are_counted_together(tmp_path):
    torch.export.save(torch.export.export(Chooses(), (torch.randn(4, 4),)), tmp_path / "m.pt2")
    note = run(tmp_path / "m.pt2", "-o", tmp_path / "m.frit").stderr
    assert note.count("aten.mm.default") == 1 and " 3 times" in note


def with_digest(artifact, path):
    """Writes an artifact with a valid digest (docs/Artifact.md)."""
    body = int.from_bytes(artifact[16:24], "little")
    zeroed = artifact[:40] + bytes(32) + artifact[72 : 128 + body]
    path.write_bytes(artifact[:40] + hashlib.sha256(zeroed).digest() + artifact[72:])
    path.chmod(0o600)
    return path


def test_operators_that_need_libtorch(archives, tmp_path):
    products, out = archives / "products.pt2", tmp_path / "m.frit"
    said = run(products, "-o", out, "--require-standalone", status=FAILED).stderr
    assert "needs libtorch" in said and said.count("\n") == 1 and not out.exists()
    assert "aten.mm.default (a matrix product: a library has the kernel) 2 times" in said and "aten.sort" in said
    note = run(products, "-o", out, "--report", tmp_path / "unused", status=USAGE)
    note = run(products, "-o", out, f"--report={tmp_path / 'r.json'}")
    assert "note: " in note.stderr and "needs libtorch, for aten.mm.default" in note.stderr and note.stdout == ""
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["needs_libtorch"] is True and len(report["aten_calls"]) == 3
    alone = run(archives / "one.pt2", "-o", out, "--require-standalone", "--report")
    assert alone.stderr == "" and json.loads(alone.stdout)["needs_libtorch"] is False
    assert loaded(out).report()["needs_libtorch"] is False


def test_stages_of_an_archive(archives, tmp_path):
    folder = tmp_path / "deep" / "stages"
    run(archives / "one.pt2", "-o", tmp_path / "m.frit", f"--dump={folder}", "--target=cpu", "--target=sm_90")
    names = sorted(path.name for path in (folder / "main").iterdir() if path.is_file())
    assert [name.split("-")[0] for name in names] == [f"{number:02}" for number in range(1, len(names) + 1)]
    # Compilation can continue from each stage with IR.
    for name in ("02-imported.mlir", "06-cpu-outlined.mlir"):
        run(folder / "main" / name, "-o", tmp_path / "again.frit")


def said_as_json(*words, status):
    return [json.loads(line) for line in run(*words, "--diagnostics-format=json", status=status).stderr.splitlines()]


def test_diagnostics_as_json(archives, tmp_path):
    out = tmp_path / "m.frit"
    (note,) = said_as_json(archives / "products.pt2", "-o", out, status=OK)
    assert (note["severity"], note["kind"]) == ("note", "libtorch") and "needs libtorch, for aten." in note["message"]
    assert said_as_json(archives / "one.pt2", "-o", out, status=OK) == []
    for words, status, kind, message in [
        ((tmp_path / "none.json", "-o", out), FAILED, "input", "none.json: No such file"),
        ((archives / "two.pt2", "-o", out), FAILED, "input", "holds the models 'large', 'small'"),
        (("--taget=cpu", "-o", out), USAGE, "usage", "unknown flag '--taget=cpu'"),
        ((archives / "one.pt2", "-o", out, "--crash-in=passes"), OWN, "internal", "this is a mistake of frit's own"),
    ]:
        found = said_as_json(*words, status=status)
        assert [one["severity"] for one in found] == ["error"] * len(found) and found[-1]["kind"] == kind and message in found[-1]["message"], found
    assert "text or json, got 'xml'" in run(archives / "one.pt2", "-o", out, "--diagnostics-format", "xml", status=USAGE).stderr


def test_an_operator_that_is_refused_has_its_line_in_json(archives, tmp_path):
    found = said_as_json(archives / "products.pt2", "-o", tmp_path / "m.frit", "--fallback=error", status=FAILED)
    assert {one["kind"] for one in found} <= {"unsupported", "input"} and any("test_compile_tool.py:" in one["source"] + one["message"] for one in found), found


def test_rows_that_depend_on_nothing_else_are_for_cpus(archives, tmp_path):
    words = (archives / "one.pt2", "-o", tmp_path / "m.frit", "--numerics=batch-invariant")
    assert run(*words).stderr == ""
    with_products = run(archives / "products.pt2", "-o", tmp_path / "m.frit", "--numerics=batch-invariant")
    assert "'batch-invariant' does not hold for what libtorch computes" in with_products.stderr
    assert "option 'numerics' is 'batch-invariant' only for CPUs" in run(*words, "--target=sm_90", status=USAGE).stderr


def gpu_code(path):
    return [(one["kind"], one["arch"], sorted(one["entries"])) for one in read_file(path)["gpu_modules"]]


def test_cubins_beside_ptx(archives, tmp_path):
    out, ptxas = tmp_path / "g.frit", {**os.environ, "FRIT_PTXAS": PTXAS}
    words = (archives / "several.pt2", "-o", out, "--target=sm_80", "--target=sm_90")
    assert "ptxas" not in run(*words, env=ptxas).stderr
    first, code = out.read_bytes(), gpu_code(out)
    for arch in (80, 90):
        texts, cubins = ([entries for kind, number, entries in code if (kind, number) == (wanted, arch)] for wanted in ("Ptx", "Cubin"))
        # Each kernel is in one cubin, and several cubins have them.
        assert sorted(sum(cubins, [])) == sorted(sum(texts, [])) and len(cubins) > len(texts)
    run(*words, env=ptxas)
    assert out.read_bytes() == first
    assert run(*words, "--ptx-only", env=ptxas).stderr == ""
    assert {kind for kind, *_ in gpu_code(out)} == {"Ptx"}


def test_without_an_assembler_files_have_ptx(archives, tmp_path):
    out = tmp_path / "g.frit"
    stub = tmp_path / "stub"
    stub.write_text("#!/bin/sh\necho no such option >&2\nexit 1\n")
    stub.chmod(0o700)
    for named, said in ((tmp_path / "none", "there is no ptxas, so each process that loads"), (stub, "refuses frit_")):
        done = run(archives / "one.pt2", "-o", out, "--target=sm_90", "--diagnostics-format=json", env={**os.environ, "FRIT_PTXAS": str(named)})
        notes = [json.loads(line) for line in done.stderr.splitlines()]
        assert notes and {one["kind"] for one in notes} == {"ptxas"} and all(said in one["message"] for one in notes)
        assert {kind for kind, *_ in gpu_code(out)} == {"Ptx"}
    assert "stub refuses frit_" in notes[0]["message"] and "no such option" in notes[0]["message"]
    assert run(archives / "one.pt2", "-o", out, env={**os.environ, "FRIT_PTXAS": "/none"}).stderr == ""
