"""`frit cache verify`: entries with valid bytes and a wrong plan. The mistakes are planted in a stored artifact, and all digests are valid."""

import json
import subprocess
from pathlib import Path

import artifacts
import pytest
import torch
from torch._higher_order_ops import while_loop

from frit import _C
from frit.__main__ import main
from frit.cache import compiled_graphs, disk_cache
from frit.cache.check import check

pytestmark = pytest.mark.usefixtures("folder")


def program(x, y, kept):
    a = (x + y) @ y
    b = (a.t() + x) @ a
    kept.copy_(b.exp() + a)
    return b, (a * 2) @ b


def compiled(**options):
    torch.compiler.reset()
    compiled = torch.compile(program, backend="frit", dynamic=True, options=options)
    compiled(*(torch.rand(4, 4) for _ in range(3)))


def entry():
    """Returns (key, description, artifact, packed source) of the only entry."""
    store = compiled_graphs._store()
    (found,) = (each for each in map(unpacked, store.entries()) if "same_as" not in each[1])
    return found


def unpacked(listed):
    key = Path(listed[0]).name
    content = compiled_graphs._store().read(key)
    return key, *disk_cache.unpack(key, content), disk_cache.pack_source(*disk_cache.unpack_source(key, content) or ("", "", ""))


def rewrite(key, *parts):
    assert compiled_graphs._store().write(key, disk_cache.pack(key, *parts)) == ""


def as_json(artifact, folder):
    (folder / "body.bin").write_bytes(artifact[128:])
    schema = artifacts.ROOT / "runtime/artifact/Artifact.fbs"
    subprocess.run(["flatc", "--json", "--strict-json", "--raw-binary", "-o", str(folder), str(schema), "--", "body.bin"], cwd=folder, check=True, capture_output=True)
    return json.loads((folder / "body.json").read_text())


def found():
    return check(compiled_graphs._store(), _C)


def test_what_was_just_compiled_is_good(capsys):
    compiled()
    seen = found()
    assert (seen.good, seen.bad, seen.skipped.total(), seen.aliases) == (1, [], 0, 1)
    assert main(["cache", "verify"]) == 0
    assert "1 good entries, 0 bad, 0 skipped, 1 aliases" in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"fusion": False}, {"target": "simt"}, {"padding": "force"}, {"reuse": False, "numerics": "eager"}], ids=str)
def test_other_options_are_compiled_again_as_they_were(options):
    compiled(**options)
    assert (found().good, found().bad) == (1, [])


def branched(x):
    return torch.cond(x.sum() > 0, lambda x: x.softmax(-1), lambda x: x * 2, (x,))


def looped(x):
    return while_loop(lambda x: x.sum() < 80, lambda x: (x * 2 + 1,), (x,))


def nested(x):
    return torch.cond(x.mean() > 0, branched, lambda x: x.tanh(), (x,))


@pytest.mark.parametrize("program", [branched, looped, nested])
def test_graphs_of_control_flow_are_compiled_again_to_the_same_bytes(program):
    torch.compiler.reset()
    torch.compile(program, backend="frit", dynamic=True)(torch.rand(4, 4))
    seen = found()
    assert seen.good and (seen.bad, seen.skipped.total()) == ([], 0)


def test_code_for_a_device_is_compiled_again_without_one():
    compiled()
    key, *_ = entry()
    graph, options, identity = disk_cache.unpack_source(key, compiled_graphs._store().read(key))
    asked = json.dumps({**json.loads(options), "targets": ["sm_90", "cpu"]})
    compiled_graphs.store_artifact("12" * 32, _C.compile(graph, asked).artifact, disk_cache.pack_source(graph, asked, identity))
    assert (found().good, found().bad) == (2, [])


def steps(plan, kind):
    return [step for step in plan["steps"] if step["action_type"] == kind]


def frees_too_early(plan):
    """Frees an operand of a library call before the call."""
    call = steps(plan, "Aten")[0]
    register = call["action"]["arguments"][0].get("reg", 0)
    plan["steps"] = [step for step in plan["steps"] if step["action_type"] != "Free" or step["action"].get("tensor", 0) != register]
    plan["steps"].insert(plan["steps"].index(call), {"action_type": "Free", "action": {"tensor": register}})


def reads_another_register(plan):
    first, second = steps(plan, "Aten")[0]["action"]["arguments"]
    first["reg"], second["reg"] = second.get("reg", 0), first.get("reg", 0)


def stores_nothing(plan):
    plan["steps"].remove((steps(plan, "CopyInto") + steps(plan, "Touch"))[0])


def hides_a_write(plan):
    for given in plan["inputs"]:
        given.pop("mutated", None)


def swaps_results(plan):
    plan["outputs"].reverse()


def allocates_too_little(plan):
    alloc = steps(plan, "Alloc")[0]["action"]
    plan["int_constants"].append({"value": 8, "reg": plan["int_count"]})
    alloc["bytes"] = plan["int_count"]
    plan["int_count"] += 1


def takes_smaller_sizes(plan):
    plan["symbols"][0]["min"] = 0


def nothing(plan):
    pass


MISTAKES = {
    frees_too_early: "is Free, not Aten",
    reads_another_register: "is another Aten",
    stores_nothing: "step",
    hides_a_write: "input",
    swaps_results: "output 0 of the plan for Cpu is another",
    allocates_too_little: "is another Alloc",
    takes_smaller_sizes: "symbol 0 of the plan for Cpu is another",
    nothing: "",
}


@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_planted_in_a_plan_is_found(plant, tmp_path, capsys):
    """Plants it in the JSON of the schema; without a mistake, the conversion to JSON and back gives the same bytes."""
    compiled()
    key, description, artifact, source = entry()
    body = as_json(artifact, tmp_path)
    plant(body["plans"][0])
    planted = artifacts.pack(body)
    assert (planted == artifact) == (plant is nothing)
    rewrite(key, description, planted, source)
    store = compiled_graphs._store()
    assert store.verify() == (2, []), "all digests fit"
    seen = found()
    if MISTAKES[plant]:
        assert seen.good == 0 and MISTAKES[plant] in seen.bad[0][1] and "not what this compiler makes" in seen.bad[0][1], seen.bad
        assert main(["cache", "verify"]) == 1
        assert f"bad: {store.path(key)}" in capsys.readouterr().out
    else:
        assert (seen.good, seen.bad) == (1, [])


def test_other_machine_code_is_found(tmp_path):
    compiled()
    key, description, artifact, source = entry()
    body = as_json(artifact, tmp_path)
    body["images"][0]["bytes"][40] ^= 1
    rewrite(key, description, artifacts.pack(body), source)
    assert "code image 0 of the artifact is another" in found().bad[0][1]


@pytest.mark.parametrize("what, instead", [("summary", {}), ("symbols", ["s0", "s1", "s2"])])
def test_another_description_is_found(what, instead):
    compiled()
    key, description, artifact, source = entry()
    rewrite(key, {**description, what: instead}, artifact, source)
    assert f"another {what}" in found().bad[0][1]


def test_another_build_and_what_has_no_graph_are_skipped():
    compiled()
    key, description, artifact, _ = entry()
    graph, options, identity = disk_cache.unpack_source(key, compiled_graphs._store().read(key))
    rewrite(key, description, artifact, disk_cache.pack_source(graph, options, identity + " of another machine"))
    compiled_graphs.store_artifact("34" * 32, b'{"choices": ""}')
    seen = found()
    assert (seen.good, seen.bad, seen.skipped.total(), seen.aliases) == (0, [], 2, 1) and len(seen.skipped) == 2


@pytest.mark.parametrize("source, says", [(b"no zlib", "cannot be read"), (disk_cache.pack_source("no graph", "{}", _C.identity()), "cannot be compiled again")])
def test_a_source_that_is_none_is_bad(source, says):
    compiled()
    key, description, artifact, _ = entry()
    rewrite(key, description, artifact, source)
    assert says in found().bad[0][1]


@pytest.mark.parametrize("named, says", [("../x", "is not a key"), (None, "alias of an alias")])
def test_a_bad_alias_is_found(named, says):
    compiled()
    (alias,) = (each[0] for each in map(unpacked, compiled_graphs._store().entries()) if "same_as" in each[1])
    rewrite(alias, {"same_as": named or alias}, b"")
    seen = found()
    assert seen.good == 1 and says in seen.bad[0][1]
