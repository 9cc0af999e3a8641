"""Plants mistakes: replaces an operator of the captured text by another one, so that frit is wrong and ATen is not.

Call `install("sin.default", "cos.default")` in a process, or run `python planted.py sin.default cos.default script.py` for a script. `when` limits the
mistake to some settings, as if a pass that is on made it. `results` limits it to graphs with this number of results, like a mistake that disappears
when more values are observed. `where=is_relaid` limits it to graphs that the layout pass changes.
"""

import json
import runpy
import sys


def is_relaid(captured, settings):
    """Whether the graph is compiled differently because its library calls may run channels-last."""
    from frit import backend
    from frit.native import compiler

    # Schedules are selected by the kernel's number, and other layouts change the numbering.
    options = {**backend._for_compiler(captured, settings), "schedule_choices": ""}
    native = compiler()
    made = [native.compile(captured.json, json.dumps({**options, "relay": relay, "name": "planted"})) for relay in (options["relay"], False)]
    return made[0].artifact != made[1].artifact


def install(wrong, instead, when=lambda settings: True, results=0, setattr=setattr, where=lambda captured, settings: True):
    from frit import backend

    build = backend.build

    def build_wrongly(captured, settings, name, match=None):
        if when(settings) and results in (0, captured.json.count('"user_output"')) and where(captured, settings):
            captured.json = captured.json.replace(f'"torch.ops.aten.{wrong}"', f'"torch.ops.aten.{instead}"')
        return build(captured, settings, name, match)

    setattr(backend, "build", build_wrongly)


if __name__ == "__main__":
    wrong, instead, condition, script, *arguments = sys.argv[1:]
    install(wrong, instead, eval(f"lambda settings: {condition}"))
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")
