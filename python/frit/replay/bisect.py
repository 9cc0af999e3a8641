"""`frit bisect script.py`: finds the graph that differs from ATen, the operator, the responsible pass, and the smallest failing graph.

The script runs once, verified, in a process of its own; the first difference leaves a folder with the arguments. From then on only that graph is
compiled: first with each pass off in turn, then smaller and smaller, with ATen's values in place of the removed operators. The result is
a folder like that of any failure (`frit.verify.repro`).
"""

import os
import subprocess
import sys
import tempfile

import torch

from .. import backend
from ..capture.graph import capture
from ..errors import CompileError, VerifyError
from ..options import REGISTRY
from ..verify import locate, reference, repro
from ..verify.calls import Check, settings_of_part
from ..verify.differences import Difference
from .program import load

#: The options that switch each pass off.
SWITCHES = {
    "fusion": {"fusion": False},
    "padding": {"padding": "off"},
    "buckets": {"bucket_policy": "off", "symbol_buckets": ""},
    "in-place": {"reuse": False},
    "layout": {"relay": False},
    "product": {"products": False},
    "convolution": {"convolutions": False},
    "approximation": {"numerics": "eager"},
    "random": {"random": "torch"},
}
#: The switch of a pass that also switches off others: `numerics="eager"` keeps the program's order of dims and leaves all products to ATen.
_ALSO_WITHOUT = {"approximation": ("layout", "product")}
_MOST_TRIES = 80


def of_script(script, arguments, calls, out, say=print):
    """The exit status: 1 if a difference was found, 0 if none was, 2 if the script itself fails."""
    if os.path.isdir(script) or os.path.basename(script) == "repro.py":
        return of_program(load(script), out, say)
    folder = out or tempfile.mkdtemp(prefix="frit-bisect-")
    os.makedirs(folder, exist_ok=True)
    variables = {"FRIT_VERIFY": str(calls), "FRIT_VERIFY_ACTION": "raise", "FRIT_REPRO_DIR": folder, "FRIT_REPRO_DATA": "1"}
    before = set(os.listdir(folder))
    done = subprocess.run([sys.executable, script, *arguments], env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True, errors="replace")
    left = sorted(set(os.listdir(folder)) - before, key=lambda name: os.stat(os.path.join(folder, name)).st_mtime)
    found = [name for name in left if name.startswith("VerifyError-")]
    if found:
        return of_program(load(os.path.join(folder, found[0])), folder, say)
    if done.returncode == 0:
        say(f"{script}: no difference in the first {calls} calls of each graph")
        return 0
    sys.stderr.write(done.stderr[-4000:])
    how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else f"ended with status {done.returncode}"
    say(f"{script}: it {how}, not because of a difference" + "".join(f"\nto repeat it: python {os.path.join(folder, name, 'repro.py')}" for name in left))
    return 2


def of_program(program, out=None, say=print):
    """Bisects the graph of a repro.py (`replay.program.Program`). The exit status: 1 if a difference was found, 0 if none was, 2 if the graph fails
    in another way."""
    gm, _, settings = program.graph()
    settings = {**settings, "repro_data": True, "repro_dir": out or os.path.dirname(program.folder)}
    case = Case(gm, program.arguments(), settings, program.stage, program.module.SEED, program.expected)
    nodes = sum(node.op == "call_function" for node in gm.graph.nodes)
    try:
        found = case.differences()
    except Undecided as error:
        say(f"{program.folder}: the graph of {nodes} operators fails in another way: {error}")
        return 2
    if not found:
        say(f"{program.folder}: alone, the graph of {nodes} operators agrees with ATen: the difference depends on what ran before it, or on the data")
        return 0
    place = locate.first(case.check(), found, case.arguments)
    say(f"graph: {program.folder}, {nodes} operators")
    say(f"difference: {found[0]}")
    for line in place.lines():
        say(line)
    culprits, undecided = [], []
    for name, changed in {**SWITCHES, "schedule": None}.items():
        if not changed or all(key in REGISTRY or key == "symbol_buckets" for key in changed):
            try:
                changed = changed or case.other_schedules()
                if not changed:
                    continue
                wrong = case.differences(changed)
            except Undecided as error:
                undecided.append(name)
                say(f"without {name}: undecided, it fails: {error}")
                continue
            also = next((one for one in _ALSO_WITHOUT.get(name, ()) if one in culprits), None) if not wrong else None
            said_by_other = also is not None
            culprits.extend([] if wrong or said_by_other else [name])
            say(f"without {name}: {'still wrong' if wrong else 'right'}{f', and without it {also}s are not changed' if said_by_other else ''}")
    if culprits:
        say(f"the difference needs: {', '.join(culprits)}")
    elif undecided:
        say(f"no other pass than {', '.join(undecided)} can make the difference: it is in one of them, or in the rule or the kernel of an operator")
    else:
        say("no pass makes the difference: it is in the rule or the kernel of an operator")
    smallest, values, difference = case.smallest(place, found)
    kind = CompileError if difference.place == "the compilation" else VerifyError
    error = kind(f"the smallest graph that shows it: {difference}")
    kept = {**settings_of_part(settings), "fallback": settings["fallback"], "repro_dir": settings["repro_dir"]}
    folder = repro.write(error, smallest, kept, "inference", values)
    left = sum(node.op == "call_function" for node in smallest.graph.nodes)
    say(f"smallest graph: {left} operators, {os.path.join(folder, 'repro.py')}")
    say(smallest.graph.python_code("self", verbose=True).src.strip("\n"))
    return 1


def _retries(report):
    """The parts of frit that were switched off after a failure -> the reason."""
    return {retry["without"]: retry["because"] for retry in report.get("retries", ())}


class Undecided(Exception):
    """Raised if a compilation or a call fails for another reason than the one that is searched: it is neither right nor wrong."""

    def __init__(self, error):
        super().__init__(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")


class Case:
    """A graph, the arguments of the failing call, and how the graph is compiled."""

    def __init__(self, gm, arguments, settings, stage, seed, expected):
        self.gm, self.arguments, self.stage, self.seed, self._expected = gm, arguments, stage, seed, expected
        self._settings = {**settings, "cache": False, "verify": 0, "autotune": False, "cuda_graphs": False, "dump_dir": ""}
        self._report = {}
        self._raises = False  # whether the failure is an error that the call raises

    def check(self):
        """The Check that compares calls of this graph with ATen."""
        return self._check(self.gm, self._settings, self._devices(), self._report)

    def _check(self, gm, settings, devices, report):
        return Check(gm, self.stage, "bisect", settings, devices, report, backend.build)

    def _devices(self):
        return list(dict.fromkeys(x.device for x in self.arguments if isinstance(x, torch.Tensor)))

    def differences(self, changed=None, gm=None, arguments=None):
        """The differences of this graph, or of another one with its arguments. The expected failure of a compilation counts as a difference; any
        other failure raises Undecided."""
        settings = {**self._settings, **(changed or {})}
        if gm is not None:
            settings = {**settings_of_part(settings), "fallback": settings["fallback"]}
        gm, arguments = gm or self.gm, self.arguments if arguments is None else arguments
        try:
            captured = capture(gm)
            executable, report = backend.build(captured, settings, "bisect")
        except Exception as error:
            if type(error).__name__ != self._expected:
                raise Undecided(error) from error
            return [Difference("the compilation", f"{type(error).__name__}: {error}", is_value=False)]
        if gm is self.gm and not changed:
            self._report = report
        elif changed and (retried := _retries(report)) != _retries(self._report):
            raise Undecided(CompileError("; ".join(retried.values()) or "the part that failed before does not fail"))
        torch.manual_seed(self.seed)
        args = reference.copied(arguments)
        check = self._check(gm, settings, list(captured.devices), report)
        found, _, failure = check.compare(executable, args, list(args), arguments)
        if check.uncompared:
            raise Undecided(VerifyError(check.uncompared))
        if gm is self.gm and not changed:
            self._raises = failure is not None
        elif found and failure is not None and not self._raises:
            raise Undecided(failure) from failure
        return found

    def other_schedules(self):
        """The option that selects the second schedule of each region that has one."""
        try:
            _, report = backend.build(capture(self.gm), {**self._settings, "schedule_choices": "list"}, "bisect")
        except Exception as error:
            raise Undecided(error) from error
        choices = ";".join(f"{region}=1" for region, count in enumerate(report.get("schedule_candidates", ())) if count > 1)
        return {"schedule_choices": choices} if choices else {}

    # -- smaller -------------------------------------------------------------------------------------

    def smallest(self, place, found):
        """(graph, arguments, difference) of the smallest wrong graph that was found."""
        values = self._values()
        for results in self._starts(place, found):
            self._tries = 0
            best = self._shrunk(results, values)
            if best:
                return best
        return self.gm, self.arguments, found[0]

    def _values(self):
        """node -> its value in a run by ATen."""
        seen = {node: None for node in self.gm.graph.nodes if node.op == "call_function"}
        torch.manual_seed(self.seed)
        reference.eager(self.gm, reference.copied(self.arguments), seen)
        placeholders = (node for node in self.gm.graph.nodes if node.op == "placeholder")
        return {**seen, **dict(zip(placeholders, self.arguments))}

    def _starts(self, place, found):
        """The lists of results from which the search starts, the shortest first."""
        results = self.check()._result_nodes()
        if place.node is not None and place.node.op == "call_function":
            yield [place.node]
        for difference in found:
            number = difference.place.split()[1] if difference.place.startswith("result ") else ""
            if number.isdecimal() and isinstance(results[int(number)], torch.fx.Node):
                yield [results[int(number)]]
        nodes = list(dict.fromkeys(node for node in results if isinstance(node, torch.fx.Node)))
        yield from ([node] for node in nodes)
        if nodes:
            yield nodes

    def _shrunk(self, results, values):
        cuttable = {
            node
            for node in locate.ancestors(results)
            if node not in results and isinstance(values.get(node), (torch.Tensor, int, float)) and not reference.mutated(node)
        }
        distance, best = 1, None
        while best is None:
            inputs = self._beyond(results, cuttable, distance)
            best = self._wrong(results, inputs, values)
            if best is None and not inputs:
                return None
            distance *= 2
        # Then turn one value after another into an argument, from the results backwards.
        for node in reversed(list(self.gm.graph.nodes)):
            if node in cuttable and node not in inputs and node in locate.ancestors(results, inputs) and node.op == "call_function":
                smaller = self._wrong(results, inputs | {node}, values)
                if smaller:
                    best, inputs = smaller, inputs | {node}
        return best

    @staticmethod
    def _beyond(results, cuttable, distance):
        """The values `distance` steps before the results. A value that cannot become an argument is replaced by the nearest ones before it that
        can."""
        inputs, front, seen = set(), set(results), set(results)
        while front:
            following = set()
            for node in front:
                for source in node.all_input_nodes:
                    if source.op == "placeholder" or source in seen:
                        continue
                    if distance <= 1 and source in cuttable:
                        inputs.add(source)
                    else:
                        seen.add(source)
                        following.add(source)
            front, distance = following, distance - 1
        return inputs - seen

    def _wrong(self, results, inputs, values):
        """(graph, arguments, difference) if the results differ with `inputs` as arguments, else None."""
        self._tries += 1
        if self._tries > _MOST_TRIES:
            return None
        gm, taken = locate.cut(self.gm, results, inputs)
        arguments = [values[node] for node in taken]
        try:
            found = self.differences(gm=gm, arguments=arguments)
        except Undecided:
            return None
        return (gm, arguments, found[0]) if found else None
