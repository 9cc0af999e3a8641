"""The rooms of python/frit: allowed imports (also inside functions), no cycles, and no files outside of rooms except those listed here."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "frit"
FILES = sorted(path for path in PACKAGE.rglob("*.py"))
MOST_FILES = 10

# room or module of the package -> what it may import besides itself. A room is listed after those that it imports.
EDGES = {
    "errors": set(),
    "installed": {"errors"},
    "phases": set(),
    "environment": set(),
    "inductor_options": {"errors"},
    "options": {"environment", "errors", "inductor_options"},
    "planted": {"environment"},
    "logs": {"environment", "options"},
    "native": {"errors", "installed", "logs", "planted"},
    "stored_code": set(),
    "eager": {"planted"},
    "capture": {"eager", "errors", "logs", "stored_code"},
    "cache": {"capture", "environment", "errors", "logs", "native"},
    "sizes": {"cache", "errors", "logs", "native", "options"},
    "collating": {"errors", "options", "sizes"},
    "modes": {"cache", "capture", "errors", "logs", "sizes"},
    "verify": {"cache", "capture", "errors", "logs", "options"},
    "backend": {"cache", "capture", "eager", "environment", "errors", "logs", "modes", "native", "options", "phases", "planted", "sizes", "verify"},
    "pages": set(),
    "roofline": {"modes", "pages"},
    "inspect": {"errors", "roofline"},
    "torch_logs": {"logs"},
    "report": {"backend", "cache", "environment", "errors", "inspect", "logs", "modes", "pages", "roofline", "sizes", "torch_logs"},
    "replay": {"backend", "capture", "errors", "options", "verify"},
    "precompiling": {"backend", "cache", "errors"},
    "kept": {"cache"},
    "loading": {"errors", "native"},
    "peak_memory": {"backend", "environment", "errors", "inspect", "loading", "options", "precompiling", "sizes"},
    "commands": {"errors", "installed"},
    "doctor": {"cache", "environment", "errors", "installed", "native", "options"},
    "shell": {"commands", "errors", "inspect", "loading", "modes", "report", "roofline"},
    "__main__": {"cache", "doctor", "errors", "native", "replay", "shell"},
    "__init__": set(),
}


def module_of(path):
    """Returns `cache/summary.py` as ("cache", "summary"); the module of a package is the package's `__init__`."""
    return path.relative_to(PACKAGE).with_suffix("").parts


MODULES = {module_of(path) for path in FILES}
ROOMS = {module[0] for module in MODULES if len(module) > 1}


def resolve(names):
    """Returns the module with which a dotted name begins; () for the package itself, ("_C",) for the native module."""
    for length in range(min(len(names), 2), 0, -1):
        if names[:length] in MODULES:
            return names[:length]
    if names and names[0] in ROOMS:
        return (names[0], "__init__")
    return names[:1]


def imports(module, text):
    """Returns the modules of the package that a module imports, at any nesting level."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (resolve(tuple(alias.name.split("."))[1:]) for alias in node.names if alias.name.split(".")[0] == "frit")
        elif isinstance(node, ast.ImportFrom):
            named = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                base = module[: len(module) - node.level] + named
            elif named[:1] == ("frit",):
                base = named[1:]
            else:
                continue
            yield from (resolve((*base, alias.name)) for alias in node.names)


def found_edges(module, text):
    """Returns (room, imported room) for each import from another room."""
    return {(module[0], other[0]) for other in imports(module, text) if other and other[0] not in (module[0], "_C")}


def graph_of_modules():
    return {module_of(path): set(imports(module_of(path), path.read_text())) - {(), ("_C",), module_of(path)} for path in FILES}


def test_imports_follow_the_edges():
    edges = set().union(*(found_edges(module_of(path), path.read_text()) for path in FILES))
    allowed = {(room, other) for room, others in EDGES.items() for other in others}
    assert edges <= allowed, f"not allowed: {sorted(edges - allowed)}"
    assert allowed <= edges, f"allowed and not used, take them out: {sorted(allowed - edges)}"


def test_the_edges_have_an_order():
    seen = set()
    for room, others in EDGES.items():
        assert others <= seen, f"{room} stands before {sorted(others - seen)}"
        seen.add(room)


def test_modules_import_each_other_in_no_circle():
    try:
        TopologicalSorter(graph_of_modules()).prepare()
    except CycleError as circle:
        raise AssertionError(" -> ".join(".".join(module) for module in circle.args[1])) from None


@pytest.mark.parametrize(
    "module, text, edge",
    [
        (("cache", "a"), "from ..sizes import buckets", ("cache", "sizes")),
        (("cache", "a"), "def f():\n    from ..verify.calls import Check", ("cache", "verify")),
        (("verify", "a"), "from .. import backend", ("verify", "backend")),
        (("options",), "import frit.logs", ("options", "logs")),
        (("eager", "a"), "from frit.capture import graph", ("eager", "capture")),
    ],
)
def test_a_forbidden_edge_is_seen(module, text, edge):
    assert found_edges(module, text) == {edge} and edge[1] not in EDGES[edge[0]]


def test_nothing_lies_beside_the_rooms_but_what_is_listed():
    beside = {module[0] for module in MODULES if len(module) == 1}
    assert beside | ROOMS == set(EDGES), f"put it into a room: {sorted((beside | ROOMS) ^ set(EDGES))}"


def test_rooms_are_small_and_flat():
    for room in ROOMS:
        files = [module for module in MODULES if module[0] == room]
        assert all(len(module) == 2 for module in files), f"{room} has rooms in it"
        assert len(files) <= MOST_FILES, f"{room} has {len(files)} files: part it"


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_says_in_one_sentence_what_it_is(room):
    (sentence,) = ast.parse((PACKAGE / room / "__init__.py").read_text()).body
    text = sentence.value.value
    assert re.fullmatch(r"[A-Z][^\n]*\.", text) and ". " not in text and len(text) < 150, text


def test_the_native_library_is_imported_in_one_place():
    wrong = [path for path in FILES if ("_C",) in imports(module_of(path), path.read_text()) and path.name != "native.py"]
    assert not wrong, wrong


def test_public_names_are_where_the_package_looks_for_them():
    (table,) = (
        node.value
        for node in ast.parse((PACKAGE / "__init__.py").read_text()).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "_HOME"
    )
    for name, home in ast.literal_eval(table).items():
        path = PACKAGE.joinpath(*home.split(".")[1:]).with_suffix(".py")
        defined = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        assert name in defined, f"{home} has no {name}"
