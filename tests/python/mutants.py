"""Mutation testing of the legalisation rules: each rule gets small mistakes, one at a time (passes/legalize/Mutants.h), and a check that runs
it must fail. `scripts/mutants` runs all of them and keeps the ledger.

A check is the operator database (`operator_database`): one operator in a few types as one graph, samples as they are and with special values
in them. What a check does without a mistake it must pass, or it says nothing.

    python mutants.py        # a worker: questions as lines of JSON on its input, answers on its output
"""

import collections
import json
import os
import random
import sys

#: Samples of an operator and a type.
SAMPLES = 3
PHASES = ("inference", "training", "dynamic")
TYPES = {"inference": ("float32", "int64", "bool", "bfloat16", "uint8"), "training": ("float32",), "dynamic": ("float32",)}


def checks():
    """(operator of the database, phase) of every check."""
    import operator_database as database

    return [(name, phase) for phase in PHASES for name in database.operators() if _types(name, phase)]


def _types(name, phase):
    import operator_database as database

    return [dtype for dtype in TYPES[phase] if dtype in database.types(name, phase)]


def cases(name, phase):
    import operator_database as database

    training = database.PHASES[phase][0]
    found = []
    for dtype in _types(name, phase):
        plain = [case for case in database.cases(name, dtype, phase, 0, SAMPLES) if case.label.endswith("plain, as it is")]
        found += plain
        found += [_special(case) for case in plain if not training]
    return [case for case in found if case is not None and case.compare]


def _special(case):
    """The same with NaN, infinities, zeros of both signs and large numbers among its operands' elements; None where none is a float."""
    import dataclasses

    import torch

    chooser = random.Random(case.label)
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e30, 0.5, 2.5]
    leaves, changed = [], False
    for leaf in case.leaves:
        if leaf.layout is torch.strided and leaf.is_floating_point() and leaf.dtype.itemsize > 1 and leaf.numel() > 1:
            leaf = leaf.detach().clone()
            flat = leaf.view(-1) if leaf.is_contiguous() else None
            if flat is not None:
                places = chooser.sample(range(flat.numel()), min(len(values), (flat.numel() + 1) // 2))
                for place, value in zip(places, chooser.sample(values, len(values))):
                    flat[place] = value
                changed = True
        leaves.append(leaf)
    return dataclasses.replace(case, label=case.label + ", special", leaves=leaves) if changed else None


def verdict(name, phase):
    """What a check says: '' where frit is right, else what is wrong; then which mistakes were made, or may be, in its graphs."""
    import operator_comparison as comparison
    import operator_database as database
    import torch

    from frit import backend

    training, dynamic, _ = database.PHASES[phase]
    places, seen = set(), lambda name, stage, captured, report, executable: places.update(report.get("mutants") or ())
    right, together = [], []
    for case in cases(name, phase):
        wanted = comparison.eager_outcome(case, training)
        if wanted.error is None:
            alone = not torch.equal(torch.get_rng_state(), comparison._state_of_seed())
            (right if alone else together).append((case, wanted))
    backend._OBSERVERS.append(seen)
    try:
        for batch in [[one] for one in right] + ([together] if together else []):
            given = [case for case, _ in batch]
            actual = comparison.compiled_outcomes(backend.frit, given, training, dynamic)
            if isinstance(actual, Exception):
                return f"error: {comparison.short(actual)}", places
            for (case, wanted), one in zip(batch, actual):
                wrong = [what for what in comparison.differences(one, wanted, case, training) if what]
                if wrong:
                    return f"{case.label}: {wrong[0]}", places
    finally:
        backend._OBSERVERS.remove(seen)
        torch.compiler.reset()
    return "", places


def chosen(found, most):
    """Of the places of a rule: `most` of each kind, those of other operations first."""
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
