"""Runs tasks of `operator_database` in separate processes, so that a crash or a hang is an ordinary failure.

    python operator_sweep.py        # a worker: reads tasks as lines of JSON from standard input, and writes their verdicts to standard output
"""

import collections
import json
import os
import queue
import re
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Seconds without output after which a worker is killed, and tasks after which it is replaced.
PATIENCE, TASKS = 300, 100
#: The most cases in one graph.
TOGETHER = 40


class Worker:
    """A process that judges one task at a time."""

    def __init__(self):
        self.process = None

    def run(self, task):
        """Returns the verdicts of a task ({"name", "types", "phase", "seed", "count"}) as lists [label, outcome, reason]."""
        verdicts = []
        while True:
            judged = {label for label, *_ in verdicts}
            found, running, why = self._ask({**task, "without": sorted(judged), "single": task.get("single", bool(judged))})
            if found is not None:
                return verdicts + found
            if len(running) == 1:
                verdicts.append([running[0], *self._crash(task, running[0], why)])
            elif not task.get("single"):
                task = {**task, "single": True}
            else:
                return verdicts + [["all", "failed", f"crash: {why} outside of any case"]]

    def _crash(self, task, label, why):
        """Returns the verdict of a crash: an exception if the process also dies with aot_eager, else a failure."""
        found, _, other = self._ask({**task, "without": [], "only": label, "single": True, "backend": "aot_eager"})
        return ("failed", f"crash: {why}") if found is not None else ("exception", f"aot_eager: crash: {other}")

    def _ask(self, task):
        """Returns (verdicts, None, None), or (None, labels of the running cases, reason) if the process died."""
        if self.process is None or self.process.poll() is not None or self.tasks >= TASKS:
            self._start()
        self.tasks += 1
        running = []
        try:
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                self.close()
                return None, running, f"no word for {PATIENCE} s"
            if line is None:
                return None, running, f"the process ended with status {self.process.wait()}"
            said = json.loads(line)
            if "verdicts" in said:
                return said["verdicts"], None, None
            running = said["started"]

    def _start(self):
        self.close()
        paths = os.pathsep.join([str(HERE.parents[2] / "python"), str(HERE.parents[2]), str(HERE)])
        environment = {**os.environ, "PYTHONPATH": paths}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "operator_sweep.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.lines, self.tasks = queue.Queue(), 0
        threading.Thread(target=self._read, args=(self.process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(None)

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def work():
    """Reads tasks until its input ends."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of torch goes to stderr
    import operator_comparison
    import operator_database
    import torch
    from torch._dynamo.backends.debugging import aot_eager

    from frit import backend

    operator_comparison.quiet()

    def say(**what):
        output.write(json.dumps(what) + "\n")
        output.flush()

    for line in sys.stdin:
        task = json.loads(line)
        say(started=[])
        name, phase = task["name"], task["phase"]
        training, dynamic, _ = operator_database.PHASES[phase]
        cases = [case for dtype in task["types"] for case in operator_database.cases(name, dtype, phase, task["seed"], task["count"])]
        cases = [case for case in cases if case.label not in task["without"] and case.label == task.get("only", case.label)]
        compiler = aot_eager if task.get("backend") == "aot_eager" else backend.frit

        def is_traced(case):
            return (name, case.label.partition(" ")[0]) in operator_database.FAKE_SIZES

        size = 1 if task["single"] else TOGETHER
        parts = []
        for case in cases:
            if not parts or len(parts[-1]) == size or is_traced(parts[-1][-1]) != is_traced(case):
                parts.append([])
            parts[-1].append(case)
        strict = os.environ.get("FRIT_STRICT", "0")
        verdicts = []
        for part in parts:
            os.environ["FRIT_STRICT"] = "0" if is_traced(part[0]) else strict
            verdicts += operator_comparison.judge(part, training, dynamic, compiler, started=lambda labels: say(started=labels))
        say(verdicts=[[v.label, v.outcome, v.reason] for v in verdicts])
        torch.compiler.reset()


# -- the ledger --------------------------------------------------------------------------------------------


def counted(rows):
    """Returns operator -> type -> [passed, exceptions, failed], for rows (task, verdicts)."""
    places = {"passed": 0, "exception": 1, "failed": 2}
    table = {}
    for task, verdicts in rows:
        row = table.setdefault(task["name"], {})
        for dtype in task["types"]:
            row.setdefault(dtype, [0, 0, 0])
        for label, outcome, _ in verdicts:
            row.setdefault(label.partition(" ")[0], [0, 0, 0])[places[outcome]] += 1
    return table


def reasons(rows, outcome):
    """Returns lines `operator<TAB>types<TAB>phases<TAB>reason` of the cases with this outcome, one for each reason of an operator."""
    groups = collections.defaultdict(lambda: (set(), set(), {}))
    for task, verdicts in rows:
        for label, found, reason in verdicts:
            if found == outcome:
                said, _, message = reason.partition(": ")
                what, _, words = message.partition(": ")
                # Errors are of one kind if they begin with the same words, before the first number or name in brackets.
                kind = f"{said} {what} {re.split('[0-9{(<]', words)[0][:50] if said == 'aot_eager' else ''}"
                types, phases, texts = groups[task["name"], kind]
                types.add(label.partition(" ")[0])
                phases.add(task["phase"])
                texts.setdefault(reason, label)
    lines = []
    for (name, _), (types, phases, texts) in sorted(groups.items(), key=lambda item: item[0]):
        lines.append("\t".join([name, ",".join(sorted(types)), ",".join(sorted(phases)), next(iter(texts))]))
    return lines


def cause(causes, operator, phases, difference):
    """The name of the first of `causes` (rows of operator-causes.txt) that explains an exception; None if none does."""
    matching = (name for name, names, text, _ in causes if re.fullmatch(names, operator) and re.search(text, f"{phases} {difference}"))
    return next(matching, None)


if __name__ == "__main__":
    work()
