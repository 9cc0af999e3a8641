"""Runs programs for `scripts/random-programs`. Each input line is JSON, `{"seed": 7, "mode": ""}` or `{"program": ...}`; the output is the program and
then its outcome. The worker is a separate process, so a crash does not end the caller."""

import dataclasses
import json
import logging
import os
import random
import resource
import sys
import traceback
import warnings

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(os.path.dirname(HERE)))]


def main():
    # Output of programs and warnings of torch go to stderr, and the answers to the original stdout.
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.environ["FRIT_CACHE"] = "0"
    # Limits memory, so that a program that allocates too much fails and does not affect others.
    resource.setrlimit(resource.RLIMIT_DATA, (12 << 30, 12 << 30))
    warnings.simplefilter("ignore")
    import torch

    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    torch._dynamo.guards.profile_guard_manager = lambda guards, scope, runs: 0.0
    from random_programs import Choices, Program, generate, outcome

    for line in sys.stdin:
        asked = json.loads(line)
        if "seed" in asked:
            program = generate(Choices(random.Random(asked["seed"])), asked["mode"], tuple(asked.get("avoided", ())))
            lines.write(json.dumps(program.to_json()) + "\n")
        else:
            program = Program.from_json(asked["program"])
        try:
            found = dataclasses.asdict(outcome(program))
        except Exception as error:
            # A mistake of the generator, or of torch in a step that eager runs but the fp64 run does not.
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(at.filename)}: {at.name}"
            found = {"status": "unchecked", "kind": type(error).__name__, "place": place, "message": str(error)[:300]}
        lines.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
