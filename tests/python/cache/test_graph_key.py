"""The fast key is the same in every process, and differs if anything differs that the compiler reads."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sympy
import torch
from torch._guards import SLoc
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeGuard
from torch.utils._sympy.value_ranges import ValueRanges

from frit import options
from frit.cache import graph_key
from frit.cache.graph_key import Uncacheable
from frit.eager.decompositions import decomposition_table
from frit.native import compiler


def program(x, y):
    return (x * 2 + y).relu().sum(1)


def graph(function=program, shapes=((4, 6), (4, 6)), dtype=torch.float32, mode="fake", stride=None):
    inputs = [torch.zeros(shape, dtype=dtype) for shape in shapes]
    if stride is not None:
        inputs[0] = torch.zeros(1000).as_strided(shapes[0], stride)
    return make_fx(function, tracing_mode=mode)(*inputs)


def key(gm=None, settings=None, identity="build 1"):
    return graph_key.graph_key(gm or graph(), settings or options.resolve(), identity)


def test_the_same_program_has_the_same_key():
    assert key() == key()
    assert len(key()) == 64


GRAPHS = {
    "a literal": dict(function=lambda x, y: (x * 3 + y).relu().sum(1)),
    "the type of a literal": dict(function=lambda x, y: (x * 2.0 + y).relu().sum(1)),
    "the sign of a zero": dict(function=lambda x, y: (x * 0.0 + y).relu().sum(1)),
    "the other sign": dict(function=lambda x, y: (x * -0.0 + y).relu().sum(1)),
    "an operator": dict(function=lambda x, y: (x * 2 - y).relu().sum(1)),
    "an overload": dict(function=lambda x, y: (x * 2 + y).relu().sum()),
    "a dimension": dict(function=lambda x, y: (x * 2 + y).relu().sum(0)),
    "a keyword": dict(function=lambda x, y: (x * 2 + y).relu().sum(1, dtype=torch.float64)),
    "the order of operands": dict(function=lambda x, y: (y * 2 + x).relu().sum(1)),
    "the number of results": dict(function=lambda x, y: ((x * 2 + y).relu().sum(1), y)),
    "a shape": dict(shapes=((4, 7), (4, 7))),
    "a dtype": dict(dtype=torch.float64),
    "a stride": dict(stride=(1, 4)),
    "a symbolic size": dict(mode="symbolic"),
    "equal symbols": dict(mode="symbolic", shapes=((4, 4), (4, 4))),
}


def test_every_difference_in_the_graph_is_another_key():
    keys = {name: key(graph(**how)) for name, how in GRAPHS.items()}
    keys["the first"] = key()
    assert len(set(keys.values())) == len(keys), keys


def test_every_option_is_in_the_key():
    other = {bool: lambda v: not v, str: lambda v: v + "x", int: lambda v: v + 1, dict: lambda v: {**v, "x": 1}}
    settings = options.resolve()
    assert set(settings) == set(options.REGISTRY)
    keys = [key(settings={**settings, name: other.get(type(value), repr)(value)}) for name, value in settings.items()]
    assert len({key(), *keys}) == len(keys) + 1


def test_the_compiler_torch_and_our_own_sources_are_in_the_key(monkeypatch):
    keys = [key(), key(identity="build 2")]
    monkeypatch.setattr(torch, "__version__", "2.99")
    keys.append(key())
    monkeypatch.undo()
    monkeypatch.setattr(graph_key, "sources_digest", lambda: "other")
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_the_sources_of_every_room_are_in_the_key(monkeypatch, tmp_path):
    for name in ("__init__.py", "cache/graph_key.py", "capture/graph.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(graph_key, "__file__", str(tmp_path / "cache/graph_key.py"))
    digest = graph_key.sources_digest.__wrapped__
    before = digest()
    assert digest() == before
    (tmp_path / "capture/graph.py").write_text("another")
    edited = digest()
    (tmp_path / "capture/graph.py").rename(tmp_path / "capture/graphs.py")
    assert len({before, edited, digest()}) == 3


# Functions that change each of `graph_key.FLAGS`, and that restore it.
FLIPS = {
    "deterministic": (lambda: torch.use_deterministic_algorithms(True), lambda: torch.use_deterministic_algorithms(False)),
    "deterministic_warn_only": (
        lambda: torch.use_deterministic_algorithms(True, warn_only=True),
        lambda: torch.use_deterministic_algorithms(False),
    ),
    "default_dtype": (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
    "autocast_cpu": (lambda: torch.set_autocast_enabled("cpu", True), lambda: torch.set_autocast_enabled("cpu", False)),
    "autocast_cuda": (lambda: torch.set_autocast_enabled("cuda", True), lambda: torch.set_autocast_enabled("cuda", False)),
    "autocast_cpu_dtype": (lambda: torch.set_autocast_dtype("cpu", torch.float16), lambda: torch.set_autocast_dtype("cpu", torch.bfloat16)),
    "autocast_cuda_dtype": (lambda: torch.set_autocast_dtype("cuda", torch.bfloat16), lambda: torch.set_autocast_dtype("cuda", torch.float16)),
}


def attribute(owner, name, value):
    before = []

    def there():
        before.append(getattr(owner, name))
        setattr(owner, name, value)

    return there, lambda: setattr(owner, name, before.pop())


FLIPS["fill_uninitialized_memory"] = attribute(torch.utils.deterministic, "fill_uninitialized_memory", False)
for flag, owner in (("cuda_matmul", torch.backends.cuda.matmul), ("cudnn_conv", torch.backends.cudnn.conv), ("cudnn_rnn", torch.backends.cudnn.rnn)):
    FLIPS[f"fp32_{flag}"] = attribute(owner, "fp32_precision", {"cuda_matmul": "tf32"}.get(flag, "ieee"))
for flag in ("matmul", "conv"):
    FLIPS[f"fp32_mkldnn_{flag}"] = attribute(getattr(torch.backends.mkldnn, flag), "fp32_precision", "bf16")


def test_the_precision_of_products_is_in_the_key():
    keys = []
    owners = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    before = [owner.fp32_precision for owner in owners]
    try:
        for precision in ("highest", "high", "medium"):
            torch.set_float32_matmul_precision(precision)
            keys.append(key())
    finally:
        torch.set_float32_matmul_precision("highest")
        for owner, precision in zip(owners, before):
            owner.fp32_precision = precision
    assert len(set(keys)) == 3


def both_keys(gm):
    return key(gm), graph_key.canonical_key("digest", options.resolve(), "build 1")


def test_every_setting_of_torch_has_a_flip():
    assert set(FLIPS) == set(graph_key.FLAGS)


@pytest.mark.parametrize("flag", FLIPS)
def test_every_setting_of_torch_is_in_both_keys(flag):
    gm = graph()
    there, back = FLIPS[flag]
    before, values = both_keys(gm), graph_key.FLAGS[flag]()
    try:
        there()
        assert graph_key.FLAGS[flag]() != values
        assert all(one != other for one, other in zip(before, both_keys(gm)))
    finally:
        back()
    assert both_keys(gm) == before


@pytest.mark.parametrize("part", ["build", "llvm", "host"])
def test_each_part_of_the_identity_is_in_both_keys(part):
    mine = compiler().identity()
    assert re.fullmatch(r"build [0-9a-f]{16,}, llvm 22\.\d+\.\d+, host x86-64-v[34]", mine), mine
    other = re.sub(rf"({part} [^,]*)", r"\1x", mine)
    assert other != mine and key(identity=mine) != key(identity=other)
    assert graph_key.canonical_key("d", {}, mine) != graph_key.canonical_key("d", {}, other)


def test_the_build_is_the_one_the_linker_wrote_into_the_library():
    build = bytes.fromhex(re.match(r"build ([0-9a-f]+)", compiler().identity())[1])
    with open("/proc/self/maps") as file:
        libraries = {line.split()[-1] for line in file if re.search(r"/(libfrit_compiler\.so|_C\.[^/]*)$", line.rstrip())}
    assert any(b"GNU\0" + build in Path(library).read_bytes()[:4096] for library in libraries), libraries


def test_options_and_the_digest_are_in_the_canonical_key():
    settings = options.resolve()
    keys = [graph_key.canonical_key(digest, settings, "build 1") for digest in ("a", "b")]
    for name, value in {**settings, "targets": ["cpu"], "first_kept": -1, "channels_last_inputs": []}.items():
        keys.append(graph_key.canonical_key("a", {**settings, name: [value, "other"]}, "build 1"))
    assert len(set(keys)) == len(keys)


def test_the_devices_of_the_process_are_in_the_key(monkeypatch):
    keys = [key()]
    for capabilities in ([(8, 0)], [(9, 0)], [(9, 0), (9, 0)]):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda found=capabilities: len(found))
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda i, found=capabilities: found[i])
        keys.append(key())
    assert len(set(keys)) == 4


def placed(make):
    """Returns the graph with the value of its first placeholder made by `make`."""
    gm = graph()
    first = next(iter(gm.graph.nodes))
    with first.meta["val"].fake_mode:
        first.meta["val"] = make()
    return gm


PLACES = {
    "as it is": lambda: torch.empty(4, 6),
    "a storage offset": lambda: torch.empty(30)[6:].view(4, 6),
    "a device": lambda: torch.empty(4, 6, device="cuda"),
    "another device": lambda: torch.empty(4, 6, device="cuda:1"),
    "a gradient": lambda: torch.empty(4, 6, requires_grad=True),
}


def test_everything_about_a_placeholder_is_in_the_key():
    keys = {name: key(placed(make)) for name, make in PLACES.items()}
    assert keys["as it is"] == key()
    assert len(set(keys.values())) == len(keys), keys


def environment_of(gm):
    first = next(iter(gm.graph.nodes)).meta["val"]
    return first.shape[0].node.shape_env, first.shape[0].node.expr


def note_a_guard(gm):
    env, symbol = environment_of(gm)
    env.guards.append(ShapeGuard(sympy.Ne(symbol, 77), SLoc(None, ""), False))


def note_a_replacement(gm):
    env, _ = environment_of(gm)
    env.replacements[sympy.Symbol("s1000", integer=True)] = sympy.Integer(3)


def note_a_divisor(gm):
    env, symbol = environment_of(gm)
    env.divisible = {sympy.Mod(symbol, 4)}


def narrow_the_range(gm):
    env, symbol = environment_of(gm)
    env.var_to_range[symbol] = ValueRanges(2, 4096)


@pytest.mark.parametrize("note", [note_a_guard, note_a_replacement, note_a_divisor, narrow_the_range])
def test_each_fact_about_sizes_is_in_the_key_by_itself(note):
    gm = graph(mode="symbolic")
    before = key(gm)
    assert before == key(graph(mode="symbolic"))
    note(gm)
    assert key(gm) != before


def test_ranges_and_guards_of_symbols_are_in_the_key():
    def guarded(x, y):
        torch._check(x.shape[0] <= 64)
        return program(x, y)

    assert key(graph(mode="symbolic")) != key(graph(guarded, mode="symbolic"))


def test_hints_count_by_their_power_of_two():
    sizes = {n: key(graph(shapes=((n, 6), (n, 6)), mode="symbolic")) for n in (17, 30, 33)}
    assert sizes[17] == sizes[30] != sizes[33]


def test_operators_are_known_by_name_or_by_schema():
    """torch's operators are identified by a name with the overload, all others by the whole schema."""
    library = torch.library.Library("frit_key", "DEF")
    library.define("twice(Tensor x, int by=2) -> Tensor")
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.ops.aten.add.Tensor, (x, x))
    y = graph.call_function(torch.ops.aten.add.Scalar, (y, 2), {"alpha": 3})
    y = graph.call_function(torch.ops.aten.sum.default, (y,))
    y = graph.call_function(torch.ops.frit_key.twice.default, (y,))
    graph.output((y, [x]))
    lines = []
    graph_key._graph_lines(torch.fx.GraphModule(torch.nn.Module(), graph), lines, graph_key._Symbols())
    nodes, targets = lines[0].split("targets\n")
    assert targets.splitlines() == ["aten::add.Tensor", "aten::add.Scalar", "aten::sum", "frit_key::twice(Tensor x, int by=2) -> Tensor"]
    assert nodes.splitlines()[:3] == ["x", "add_tensor=0(x,x,]{}", "add_scalar=1(add_tensor,2,]{'alpha':3,}"]


def test_constants_are_known_by_their_description():
    def with_constant(value):
        gm = graph(lambda x: x + 1, shapes=((3,),))
        gm.register_buffer("constant", value)
        with gm.graph.inserting_before(next(n for n in gm.graph.nodes if n.op == "call_function")):
            gm.graph.get_attr("constant")
        return gm

    first = key(with_constant(torch.zeros(3)))
    assert first == key(with_constant(torch.ones(3))), "data is bound when the artifact is loaded"
    assert first != key(with_constant(torch.zeros(4)))


def test_what_no_other_process_would_write_the_same_way_has_no_key():
    gm = graph()
    node = next(n for n in gm.graph.nodes if n.op == "call_function")
    node.kwargs = {"thing": object()}
    with pytest.raises(Uncacheable, match="no text of its own"):
        key(gm)


_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import test_graph_key as t
print(t.key(), t.key(t.graph(mode="symbolic")))
"""


def test_keys_agree_between_processes():
    seen = set()
    for seed in ("1", "77"):
        environment = dict(os.environ, PYTHONHASHSEED=seed, PYTHONPATH=os.pathsep.join(sys.path))
        command = [sys.executable, "-c", _SCRIPT, os.path.dirname(__file__)]
        seen.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd="/").stdout)
    assert len(seen) == 1 and seen.pop().split() == [key(), key(graph(mode="symbolic"))]


def test_the_library_has_an_identity():
    identity = compiler().identity()
    assert "build " in identity and "llvm 22" in identity and "x86-64-v" in identity


def test_the_operator_that_was_decomposed_into_a_view_is_in_the_key():
    """Its result is no view for autograd, that of the view itself is one."""
    table = decomposition_table()
    with torch.fx.traceback.preserve_node_meta():
        keys = [
            key(make_fx(function, decomposition_table=table, tracing_mode="fake")(torch.zeros(4, 6)))
            for function in (lambda x: torch.stack([x, x]), lambda x: torch.cat([x, x]).view(2, 4, 6))
        ]
    assert keys[0] != keys[1]
