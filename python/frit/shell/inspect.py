"""`frit inspect model.frit`: prints sections, inputs, weights, guards, kernels and steps of an artifact, as text or JSON. Nothing in it is run."""

import collections
import json

from ..inspect.formula import PlanMemory
from ..inspect.memory import timeline
from ..inspect.reader import read_file
from ..inspect.sizes import NONE
from ..inspect.traffic import Traffic
from ..modes.cuda_graphs import in_bytes


def examine(path, symbols=None):
    """The content of an artifact as a dict, as `frit inspect --json` prints it."""
    artifact = read_file(path)
    return {
        "file": path,
        "graph": artifact["graph"],
        "producer": artifact["producer"],
        "format": artifact["format"],
        "sections": _sections(artifact),
        "weights": [{key: one[key] for key in ("name", "dtype", "sizes", "strides", "bytes", "given")} for one in artifact["weights"]],
        "plans": [_plan(artifact, plan, symbols) for plan in artifact["plans"]],
    }


def _sections(artifact):
    found = [{"name": "body", "bytes": artifact["body_bytes"]}]
    for image in artifact["images"]:
        level = ",".join([image["level"], *(f"+{feature}" for feature in image["features"])])
        found.append({"name": f"code image {image['kind'].lower()} {level}", "bytes": len(image["bytes"]), "entries": len(image["entries"])})
    for module in artifact["gpu_modules"]:
        found.append({"name": f"{module['kind'].lower()} sm_{module['arch']}", "bytes": len(module["bytes"]), "entries": len(module["entries"])})
    if artifact["weights_file"]:
        found.append({"name": f"weights, in {artifact['weights_file']['sha256'].hex()}.weights", "bytes": artifact["weights_file"]["bytes"]})
    elif artifact["weight_bytes"]:
        found.append({"name": "weights", "bytes": artifact["weight_bytes"]})
    return found


def _plan(artifact, plan, symbols):
    traffic = Traffic(artifact, plan, symbols)
    line = timeline(traffic)
    moved = collections.Counter()
    launches = collections.Counter()
    for step in traffic.steps:
        moved[step.name] += step.bytes
        launches[step.name] += step.uses
    return {
        "target": plan["target"].lower(),
        "inputs": [_input(traffic, one) for one in plan["inputs"]],
        "outputs": [traffic.describe(one["reg"]) if one["kind"] == "Tensor" else one["kind"].lower() for one in plan["outputs"]],
        "symbols": [{**{key: one[key] for key in ("name", "min", "max", "hint", "divisor")}, "used": traffic.values[one["reg"]],
                     "input": plan["inputs"][one["input"]]["name"], "dim": one["dim"], "stride": one["stride"]} for one in plan["symbols"]],
        "guards": [{"kind": one["kind"], "requirement": one["requirement"], "origin": one["origin"]} for one in plan["guards"]],
        "kernels": [{"name": one["name"], "operators": one["operators"], "variants": len(one["variants"]), "launches": launches[one["name"]],
                     "bytes": moved[one["name"]], "sources": [artifact["sources"][source] for source in one["sources"]]} for one in plan["kernels"]],
        "calls": [{"op": step.name, "bytes": step.bytes, "reason": step.reason, "source": step.source} for step in traffic.steps if step.kind == "aten"],
        "steps": [_step(traffic, step["action"]) for step in plan["steps"]],
        "bytes_moved": traffic.moved,
        "bytes_mandatory": traffic.mandatory,
        "peak_bytes": line.peak,
        "peak_step": line.peak_step,
        "peak_formula": PlanMemory(artifact["graph"], plan).formula(),
    }


def _input(traffic, one):
    shown = traffic.describe(one["reg"]) if one["kind"] in ("Tensor", "ScalarTensor") and one["reg"] != NONE else one["kind"].lower()
    return {"name": one["name"], "type": shown, "mutated": bool(one["mutated"])}


def _step(traffic, action):
    kind = action["kind"]
    if kind == "Launch":
        tensors = ", ".join(f"t{reg}" for reg in action["tensors"])
        return f"launch {traffic.plan['kernels'][action['kernel']]['name']}[{tensors}]"
    if kind == "Aten":
        return f"call {action['name']}{'.' if action['overload'] else ''}{action['overload']}"
    if kind in ("Alloc", "View", "Reuse", "Wrap"):
        source = f" of t{action['source']}" if kind == "View" else f" in the storage of t{action['from']}" if kind == "Reuse" else ""
        return f"{kind.lower()} t{action['tensor']} {traffic.describe(action['tensor'])}{source}"
    rest = ", ".join(f"{name} {value}" for name, value in action.items() if name != "kind" and value != NONE)
    return f"{kind.lower()} {rest}"


def lines(found, steps=False):
    """The text of `frit inspect`, line by line; `found` is the result of `examine`."""
    yield f"{found['file']}: graph '{found['graph']}', format {found['format']}, by {found['producer']}"
    yield "\nsections"
    for one in found["sections"]:
        entries = f", {one['entries']} entries" if "entries" in one else ""
        yield f"  {one['name']}: {in_bytes(one['bytes'])}{entries}"
    if found["weights"]:
        yield f"\nweights ({len(found['weights'])}, {in_bytes(sum(one['bytes'] for one in found['weights']))})"
        for one in found["weights"]:
            yield f"  {one['name']}: {one['dtype'].lower()}{one['sizes']}{', given to load' if one['given'] else ''}"
    for plan in found["plans"]:
        yield from _plan_lines(plan, steps)


def _plan_lines(plan, steps):
    yield f"\nplan for {plan['target']}"
    ratio = plan["bytes_moved"] / plan["bytes_mandatory"] if plan["bytes_mandatory"] else 0
    yield f"  a call moves {in_bytes(plan['bytes_moved'])}, {ratio:.2g} times what it must; {in_bytes(plan['peak_bytes'])} of memory at the peak"
    yield f"  with arguments and weights at the peak: {plan['peak_formula']} bytes"
    for one in plan["inputs"]:
        yield f"  input {one['name']}: {one['type']}{', written' if one['mutated'] else ''}"
    for number, one in enumerate(plan["outputs"]):
        yield f"  result {number}: {one}"
    for one in plan["symbols"]:
        where = one["input"] + (f".stride({one['dim']})" if one["stride"] else f"[{one['dim']}]" if one["dim"] >= 0 else "")
        high = "no limit" if one["max"] > 2**62 else one["max"]
        yield f"  size {one['name']} of {where}: {one['min']} to {high}, {one['used']} here"
    for one in plan["guards"]:
        yield f"  guard: {one['requirement']}, for {one['origin']}"
    for one in sorted(plan["kernels"], key=lambda kernel: -kernel["bytes"]):
        times = f" x{one['launches']}" if one["launches"] > 1 else ""
        yield f"  kernel {one['name']}{times}: {in_bytes(one['bytes'])}, {' '.join(one['operators']) or 'copy'}"
        yield from (f"    {source}" for source in one["sources"])
    calls = collections.Counter((one["op"], one["reason"]) for one in plan["calls"])
    for (op, reason), count in calls.most_common():
        yield f"  call {op}{f' x{count}' if count > 1 else ''}: {reason}"
    if steps:
        yield from (f"  {number:4} {step}" for number, step in enumerate(plan["steps"]))
    else:
        yield f"  {len(plan['steps'])} steps; --steps lists them"


def run(path, as_json, steps, sizes):
    """Prints the artifact; returns the exit status."""
    found = examine(path, sizes)
    print(json.dumps(found, indent=1) if as_json else "\n".join(lines(found, steps)))
    return 0
