"""Mutation testing of the legalisation rules: each rule gets small mistakes, one at a time (passes/legalize/Mutants.h), and a check that uses
it must fail. `scripts/mutants` runs all of them and writes the ledger.

A check is one operator of `operator_database` in a few types as one graph, with its samples unchanged and with special values in them, or one
of the package `mutation`. A check counts only if it passes without a mistake.

    python mutants.py        # a worker: reads questions as lines of JSON from standard input, and writes answers to standard output
"""

import collections
import dataclasses
import json
import os
import random
import sys

#: Samples of an operator and a type.
SAMPLES = 3
#: The prefix of the names of checks from `edge_programs`.
EDGES = "edges: "
PHASES = ("inference", "training", "dynamic", "exported")
TYPES = {
    "inference": ("float32", "int64", "bool", "bfloat16", "uint8"),
    "training": ("float32",),
    "dynamic": ("float32",),
    "exported": ("float32", "int64", "bool"),
}
#: The database's samples for an exported program, which keeps the composite operators that `torch.compile` decomposes.
DATABASE = {"exported": "inference", "gpu": "inference"}
#: Phases of exported programs, with the compiler's options: GPU kernels are emulated.
EXPORTED = {"exported": {}, "gpu": {"targets": ["simt"], "deterministic": True}}


def checks():
    """Returns (operator of the database, phase) of every check."""
    import operator_database as database

    edges = [(EDGES + name, phase) for phase, table in edge_tables().items() for name in table]
    return edges + [(name, phase) for phase in PHASES for name in database.operators() if _types(name, phase)]


def edge_tables():
    from mutation import direct_programs, edge_programs

    return {
        "inference": edge_programs.INFERENCE,
        "training": edge_programs.TRAINING,
        "dynamic": edge_programs.DYNAMIC,
        "exported": {**edge_programs.EXPORTED, **direct_programs.PROGRAMS},
        "gpu": direct_programs.GPU,
    }


def _types(name, phase):
    import operator_database as database

    return [dtype for dtype in TYPES[phase] if dtype in database.types(name, DATABASE.get(phase, phase))]


def cases(name, phase):
    import operator_database as database

    if name.startswith(EDGES):
        function, leaves = edge_tables()[phase][name.removeprefix(EDGES)]
        return [database.Case(name, function, [leaf.clone().requires_grad_(phase == "training") for leaf in leaves])]
    phase, types = DATABASE.get(phase, phase), _types(name, phase)
    training = database.PHASES[phase][0]
    found = []
    for dtype in types:
        plain = [case for case in database.cases(name, dtype, phase, 0, SAMPLES) if case.label.endswith("plain, as it is")]
        found += plain
        if not training:
            found += [_special(case) for case in plain] + [_read(case) for case in plain]
    return [case for case in found if case is not None and case.compare]


def _special(case):
    """Returns the case with special values in its operands and a reader of its result; None if its operands can hold none."""
    import torch

    chooser = random.Random(case.label)
    leaves, changed = [], False
    for leaf in case.leaves:
        if leaf.layout is torch.strided and leaf.numel() > 1 and leaf.is_contiguous() and (values := _values(leaf.dtype)):
            leaf = leaf.detach().clone()
            flat = leaf.view(-1)
            places = chooser.sample(range(flat.numel()), min(len(values), (flat.numel() + 1) // 2))
            for place, value in zip(places, chooser.sample(values, len(values))):
                flat[place] = value
            changed = True
        leaves.append(leaf)
    return dataclasses.replace(_read(case), label=case.label + ", special", leaves=leaves) if changed else None


def _values(dtype):
    import torch

    if dtype.is_floating_point and dtype.itemsize > 1:
        return [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e30, 0.5, 2.5]
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        return []
    limits = torch.iinfo(dtype)
    return [limits.min, limits.max, limits.max - 1, limits.min + 1, 1]


def _read(case):
    """Returns the case followed by an operator that reads the result, so that a result which is a view of an argument is computed."""
    import torch
    from torch.utils import _pytree as pytree

    def other(x):
        if not isinstance(x, torch.Tensor) or x.layout is not torch.strided:
            return x
        if x.dtype == torch.bool:
            return x.logical_not()
        return x.neg() if x.is_floating_point() or x.is_complex() else x.bitwise_not()

    def run(*leaves):
        return pytree.tree_map(other, case.function(*leaves))

    return dataclasses.replace(case, label=case.label + ", read", function=run)


def verdict(name, phase):
    """Returns the result of a check: '' if frit is right, else the difference; then the mistakes that were made, or are possible, in its graphs."""
    import operator_comparison as comparison
    import operator_database as database
    import torch

    from frit import backend

    training, dynamic, _ = database.PHASES[DATABASE.get(phase, phase)]
    places = set()
    if phase in EXPORTED:
        return _exported_verdict(name, phase, places), places

    def seen(name, stage, captured, report, executable):
        # Zero if the rule refused its operator because of the mistake: then ATen's call is right.
        places.update(place for place, count in (report.get("mutants") or {}).items() if count)

    right, together = [], []
    for case in cases(name, phase):
        wanted = comparison.eager_outcome(case, training)
        if wanted.error is None:
            alone = not torch.equal(torch.get_rng_state(), comparison._state_of_seed())
            (right if alone else together).append((case, wanted))
        elif name.startswith(EDGES):
            right.append((case, wanted))
    backend._OBSERVERS.append(seen)
    try:
        for batch in [[one] for one in right] + ([together] if together else []):
            given = [case for case, _ in batch]
            actual = comparison.compiled_outcomes(backend.frit, given, training, dynamic)
            if batch[0][1].error is not None:
                if type(actual) is not type(batch[0][1].error):
                    return f"{given[0].label}: no error of eager's", places
                continue
            if isinstance(actual, Exception):
                return f"error: {comparison.short(actual)}", places
            for (case, wanted), one in zip(batch, actual):
                wrong = [what for what in comparison.differences(one, wanted, case, training) if what]
                # Perturbed inputs do not help with discontinuous rules: numbers are close to eager's, or wrong.
                wrong = wrong or (_apart(one, wanted) if name.startswith(EDGES) else [])
                if wrong:
                    return f"{case.label}: {wrong[0]}", places
    finally:
        backend._OBSERVERS.remove(seen)
        torch.compiler.reset()
    return "", places


def _exported_verdict(name, phase, places):
    """The same for each case as an exported program, which is not decomposed. What torch does not export of its database is no case."""
    import exported
    import operator_comparison as comparison
    import torch

    is_edge = name.startswith(EDGES)
    for case in cases(name, phase):
        wanted = comparison.eager_outcome(case, False)
        if is_edge and wanted.error is not None:
            actual = _exported_outcome(case, phase, places)
            return "" if type(actual) is type(wanted.error) else f"{case.label}: no error of eager's"
        if wanted.error is not None or not torch.equal(torch.get_rng_state(), comparison._state_of_seed()):
            continue
        try:
            torch.export.export(exported.Function(case.function), tuple(comparison._copied(case.leaves)))
        except Exception:
            if not is_edge:
                continue
        actual = _exported_outcome(case, phase, places)
        if isinstance(actual, Exception):
            return f"error: {comparison.short(actual)}"
        if is_edge or len(actual.leaves) == len(wanted.leaves):
            wrong = [what for what in comparison.differences(actual, wanted, case, False) if what]
            wrong = wrong or (_apart(actual, wanted) if is_edge else [])
            if wrong:
                return f"{case.label}: {wrong[0]}"
    return ""


def _exported_outcome(case, phase, places):
    """Returns the outcome of a case as an exported program, or the error of compiling or running it."""
    import exported
    import operator_comparison as comparison
    import torch

    try:
        leaves = comparison._copied(case.leaves)
        call, report = exported.compiled(exported.Function(case.function), leaves, mutant=os.environ.get("FRIT_MUTANT", ""), **EXPORTED[phase])
        places.update(place for place, count in (report.get("mutants") or {}).items() if count)
        inputs = comparison._copied(case.leaves)
        with torch.no_grad():
            return comparison.Outcome(inputs, list(call(*inputs)))
    except Exception as error:
        return error


def _apart(actual, expected):
    import torch

    found = []
    for number, (a, e) in enumerate(zip(actual.leaves, expected.leaves)):
        if isinstance(e, torch.Tensor) and not torch.allclose(a, e, rtol=1e-5, atol=1e-6, equal_nan=True):
            found.append(f"result {number}: {a.flatten()[:12].tolist()} instead of {e.flatten()[:12].tolist()}")
    return found


def chosen(found, most):
    """Chooses among the places of a rule: at most `most` of each kind, those of other operations first."""
    by_kind = collections.defaultdict(list)
    for place in sorted(found, key=lambda place: (int(place.rpartition("/")[2]), place)):
        by_kind[place.partition("/")[0]].append(place)
    return {kind: places[:most] for kind, places in sorted(by_kind.items())}


def work():
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import operator_comparison

    operator_comparison.quiet()
    os.environ["FRIT_STRICT"] = "1"
    os.environ["FRIT_REPRO_DIR"] = "off"
    for line in sys.stdin:
        question = json.loads(line)
        os.environ["FRIT_MUTANT"] = question["mutant"]
        said, places = verdict(question["name"], question["phase"])
        output.write(json.dumps({"said": said, "places": sorted(places)}) + "\n")
        output.flush()


if __name__ == "__main__":
    work()
