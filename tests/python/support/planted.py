"""Mistakes on purpose: an operator of the captured text becomes another one, so that frit is wrong and ATen is not.

`install("sin.default", "cos.default")` in a process, or `python planted.py sin.default cos.default script.py` for a script of its own. `when` says
under which settings the mistake is made: it stands for a pass that is on. `results`: only in graphs with so many results, as mistakes that go away
when values are looked at. `where=is_relaid`: only in graphs that the layout pass changes.
"""

import json
import runpy
import sys


def is_relaid(captured, settings):
    """Whether the graph is compiled to something else because its library calls may work channels-last."""
    from frit import backend
    from frit.native import compiler

    # Schedules are chosen by number, and kernels have other numbers where layouts differ.
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
