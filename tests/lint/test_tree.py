"""The rules about the tree that can be checked automatically: allowed includes, sizes, names, marks, passes in five places."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    if name and (ROOT / name).is_file()
]
CPP = [f for f in FILES if f.suffix in (".cpp", ".h", ".inc")]
CODE = CPP + [f for f in FILES if f.suffix in (".td", ".py", ".fbs") or "scripts" in f.parts]

MLIR, TORCH = {"mlir", "llvm"}, {"torch", "ATen", "c10"}
# room -> the rooms and libraries that it may include, besides itself and standard and system libraries
EDGES = {
    "ir": MLIR,
    "import": MLIR | {"ir"},
    "kernel": MLIR | {"ir"},
    "passes": MLIR | {"ir", "kernel"},
    "codegen": MLIR | {"ir", "kernel"},
    "compiler": MLIR | {"ir", "import", "kernel", "passes", "codegen", "runtime/artifact"},
    "runtime/artifact": set(),
    "runtime/plan": {"runtime/artifact"},
    "runtime/cpu": {"runtime/artifact", "runtime/plan"},
    "runtime/cuda": {"runtime/artifact", "runtime/plan"},
    "runtime/simt": {"runtime/artifact", "runtime/plan", "runtime/cpu"},
    "runtime/standalone": {"runtime/artifact", "runtime/plan", "runtime/cpu", "runtime/cuda", "runtime/simt"},
    "runtime/torch": TORCH | {"runtime/artifact", "runtime/plan", "runtime/cpu", "runtime/cuda", "runtime/simt"},
    "python": TORCH | {"compiler/Compiler.h", "runtime/torch", "runtime/artifact"},
    "tools": MLIR | {"compiler", "runtime"},
}
FACADE = "compiler/Compiler.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def relative(path):
    return path.relative_to(ROOT).as_posix()


def room_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "runtime" and len(parts) > 2 else parts[0]


def includes(path):
    return [target for _, target in INCLUDE.findall(path.read_text())]


def forbidden_edges(name, targets):
    room = room_of(name)
    if room not in EDGES:
        return []
    known = set(EDGES) | MLIR | TORCH | {"tests"}
    allowed = EDGES[room] | {room}
    wrong = []
    for target in targets:
        other = room_of(target)
        if other == "runtime" and "runtime" in allowed:
            continue
        if (other in known or target.split("/")[0] == "runtime") and not (
            other in allowed or target in allowed or other.split("/")[0] in allowed
        ):
            wrong.append(f"{name} includes {target}: {room} may include {sorted(EDGES[room])}")
        if target.startswith("../"):
            wrong.append(f"{name} includes {target}: write the path from the root")
    return wrong


def test_includes_follow_the_edges():
    wrong = [line for f in CPP for line in forbidden_edges(relative(f), includes(f))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "name, target",
    [
        ("passes/A.cpp", "codegen/B.h"),
        ("codegen/A.cpp", "passes/B.h"),
        ("runtime/plan/A.cpp", "llvm/ADT/DenseMap.h"),
        ("runtime/plan/A.cpp", "runtime/cpu/B.h"),
        ("runtime/cpu/A.cpp", "torch/all.h"),
        ("ir/A.cpp", "passes/B.h"),
        ("ir/A.cpp", "import/B.h"),
        ("kernel/A.cpp", "passes/B.h"),
        ("passes/A.cpp", "import/B.h"),
        ("python/bindings/A.cpp", "compiler/Pipeline.h"),
    ],
)
def test_a_forbidden_edge_is_seen(name, target):
    assert forbidden_edges(name, [target])


def test_no_unit_sees_both_mlir_and_torch():
    wrong = []
    for f in CPP:
        tops = {target.split("/")[0] for target in includes(f)}
        if tops & MLIR and tops & TORCH:
            wrong.append(relative(f))
    assert not wrong, wrong


def test_the_facade_shows_no_mlir():
    if (ROOT / FACADE).exists():
        assert not {t.split("/")[0] for t in includes(ROOT / FACADE)} & (MLIR | {"ir", "passes", "codegen"})


def test_a_tool_is_on_one_side_of_the_wall_and_short():
    for f in (f for f in CPP if room_of(relative(f)) == "tools"):
        rooms = {target.split("/")[0] for target in includes(f)}
        assert not {"compiler", "runtime"} <= rooms, relative(f)
        main = re.search(r"^int main\(.*?^}", f.read_text(), re.M | re.S)
        assert not main or main.group(0).count("\n") < 40, f"{relative(f)}: main is 40 lines or more"


def test_files_are_under_600_lines():
    long = {relative(f): n for f in CODE if (n := f.read_text().count("\n")) >= 600}
    assert not long, long


def test_names_say_something():
    vague = [relative(f) for f in FILES if re.fullmatch(r"(?i)(utils?|common|helpers?|misc|uncategorized)\.\w+", f.name)]
    assert not vague, vague


def test_headers_use_pragma_once():
    missing = [relative(f) for f in CPP if f.suffix == ".h" and "#pragma once" not in f.read_text()]
    assert not missing, missing


def test_values_of_tensors_are_read_by_a_name_that_every_torch_exports():
    assert not [f.name for f in CPP if re.search(r"\bconst_data_ptr<", f.read_text())], "use valuesOf of runtime/torch/Bridge.h"


def test_no_machine_paths_and_no_unfinished_marks():
    paths = re.compile(r"/(?:work|farm|root)/|/home/\w+|/tmp/" + "bash_jobs")
    marks = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
    wrong, code = [], set(CODE)
    for f in FILES:
        try:
            text = f.read_text()
        except UnicodeDecodeError:
            continue
        if not paths.search(text) and not (f in code and marks.search(text)):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if paths.search(line) or (f in code and marks.search(line)):
                if f != Path(__file__):
                    wrong.append(f"{relative(f)}:{number}: {line.strip()[:100]}")
    assert not wrong, "\n".join(wrong)


PASS = re.compile(r'^def\s+(\w+)\s*:\s*Pass<"([\w-]+)"', re.M)


def declared_passes():
    for room in ("passes", "codegen"):
        for td in sorted((ROOT / room).glob("*Passes.td")):
            for name, flag in PASS.findall(td.read_text()):
                yield room, name, flag


@pytest.mark.parametrize("room, name, flag", list(declared_passes()), ids=lambda value: value)
def test_a_pass_has_one_name_in_five_places(room, name, flag):
    assert name.endswith("Pass"), f"{room}/Passes.td: {name} must end in Pass"
    noun = name.removesuffix("Pass")
    kebab = re.sub(r"(?<!^)(?=[A-Z])", "-", noun).lower()
    assert flag == f"frit-{kebab}", f"{name}: flag {flag}, expected frit-{kebab}"
    source = [f for f in CPP if f.name == f"{noun}.cpp" and relative(f).startswith(room)]
    assert source, f"{name}: no {room}/{noun}.cpp"
    test = ROOT / "tests" / room / f"{kebab}.mlir"
    assert test.exists(), f"{name}: no {relative(test)}"
    assert f"--{flag}" in test.read_text(), f"{relative(test)} never runs --{flag}"
