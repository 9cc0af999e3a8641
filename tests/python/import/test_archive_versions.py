"""Archives of other releases of torch: the same major version of the schema, with fewer or more fields.

Only one torch is installed, so its archives are rewritten. An older minor version lacks the fields that have a default "for older
models" in the schema; a newer one may add fields, which are skipped, and kinds of arguments, which are refused.
"""

import json
import os
import subprocess
import zipfile

import checker
import pytest
import torch
from exported import TOOLS

import frit
from benchmarks.programs.exported import EXPORTED

NAMES = ("resnet", "gpt2, plain torch")


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    saved = {}
    for name in NAMES:
        program = EXPORTED[name]
        module = program.module()
        saved[name] = (module, folder / f"{name.split(',')[0]}.pt2")
        torch.export.save(program.export(module), saved[name][1])
    return saved


def rewritten(source, target, change):
    """Copies the archive with a changed program."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith("models/model.json"):
                program = json.loads(content)
                change(program)
                content = json.dumps(program).encode()
            new.writestr(entry.filename, content)
    return target


def graphs(program):
    """Yields the graph and the graphs inside of arguments."""
    found = [program["graph_module"]["graph"]]
    for graph in found:
        for node in graph["nodes"]:
            found += [each["arg"]["as_graph"]["graph"] for each in node["inputs"] if "as_graph" in each["arg"]]
    return found


def older(minor):
    def change(program):
        program["schema_version"]["minor"] = minor
        for field in ("guards_code", "verifiers", "torch_version"):
            program.pop(field)
        for field in ("metadata", "treespec_namedtuple_fields"):
            program["graph_module"].pop(field, None)
        for graph in graphs(program):
            for field in ("sym_float_values", "custom_obj_values", "is_single_tensor_return"):
                graph.pop(field)
            for node in graph["nodes"]:
                node.pop("name", None)
                node.pop("is_hop_single_tensor_return", None)
                for argument in node["inputs"]:
                    argument.pop("kind", None)

    return change


def newer(program):
    program["schema_version"]["minor"] = 99
    program["an_addition"] = {"nested": [1, {"deep": None}], "text": "\u00e9"}
    program["graph_module"]["an_addition"] = [[]]
    for graph in graphs(program):
        graph["an_addition"] = {"x": 1.5}
        for node in graph["nodes"]:
            node["an_addition"] = None
        for meta in graph["tensor_values"].values():
            meta["an_addition"] = {"as_int": 3}


def compiled(source, target):
    return subprocess.run([TOOLS / "frit-compile", source, "-o", target], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [older(14), older(17), older(0), newer], ids=["8.14", "8.17", "8.0", "8.99"])
def test_other_minor_versions(archives, tmp_path, name, change):
    module, source = archives[name]
    done = compiled(rewritten(source, tmp_path / "m.pt2", change), tmp_path / "m.frit")
    assert done.returncode == 0, done.stderr
    os.chmod(tmp_path / "m.frit", 0o600)
    model = frit.load(tmp_path / "m.frit")
    for sizes in EXPORTED[name].sizes[1:3]:
        checker.check(module, *EXPORTED[name].inputs(*sizes), compiled=model, module=module)


def unknown_argument(program):
    program["schema_version"]["minor"] = 99
    node = program["graph_module"]["graph"]["nodes"][0]
    node["inputs"][0]["arg"] = {"as_new_things": [1]}


def unknown_input(program):
    program["graph_module"]["signature"]["input_specs"][0] = {"new_input": {"arg": {"name": "x"}}}


@pytest.mark.parametrize(
    "change, message",
    [
        (unknown_argument, "argument of the kind 'as_new_things' is not one this version reads"),
        (unknown_input, "input of the unknown kind 'new_input'"),
        (lambda program: program["schema_version"].update(major=9), "schema version 9"),
        (lambda program: program["schema_version"].update(major=7), "schema version 7"),
    ],
    ids=["argument", "input", "major 9", "major 7"],
)
def test_what_would_change_the_program_is_refused(archives, tmp_path, change, message):
    done = compiled(rewritten(archives[NAMES[0]][1], tmp_path / "m.pt2", change), tmp_path / "m.frit")
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "m.frit").exists()
