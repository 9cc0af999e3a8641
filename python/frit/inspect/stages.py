"""The texts that a compilation dumped (`FRIT_DUMP`), split into kernels, together with what the artifact says about each step."""

import functools
import os
import re

from ..errors import FritError
from ..roofline import work
from .memory import whole_timeline
from .reader import read, read_file
from .traffic import Traffic

#: Stages of a whole graph that a report shows, by the end of the file's name.
_GRAPH_STAGES = (("imported.mlir", "imported graph"), ("fused.mlir", "fused graph"), ("plan.txt", "plan"))


class Anatomy:
    """One compiled graph for one target: its artifact, what its steps move, its memory over time, and its stages as text. `number` is that of the
    plan."""

    def __init__(self, artifact, texts=None, symbols=None, number=0):
        self.artifact = artifact
        self.report = artifact["report"]
        if number:
            others = self.report.get("other_plans", ())
            unknown = {"kernels": [], "aten_calls": [], "guards": [], "buckets": [], "control_flow": []}
            self.report = {**self.report, **(others[number - 1] if len(others) >= number else unknown)}
        self.plan = artifact["plans"][number]
        self.traffic = Traffic(artifact, self.plan, symbols)
        self.timeline = whole_timeline(self.traffic)
        self.renamed = {}  # the graph's name of an input -> the user's
        self.seconds = {}  # number of a step -> how long it took, where it was measured
        self._texts = texts or {}
        self._kernels = _cut_all(self._texts, artifact)

    @property
    def target(self):
        """What the plan is for, as in the tables of `frit inspect`."""
        if self.plan["target"] != "Cpu":
            return self.plan["target"].upper()
        image = self.artifact["images"][self.plan["image"]] if self.plan["image"] < len(self.artifact["images"]) else None
        return " ".join(["CPU", *([image["level"]] if image else [])])

    def in_users_names(self, requirement):
        """The text of a guard, which has names of inputs in quotes."""
        return re.sub(r"'(\w+)'", lambda match: f"'{self.renamed.get(match[1], match[1])}'", requirement)

    @property
    def stages(self):
        """(title, text) of the stages of the whole graph."""
        for ending, title in _GRAPH_STAGES:
            for name, text in self._texts.items():
                if name.endswith(ending):
                    yield title, text

    def texts_of(self, kernel):
        """(title, text) of each stage of a kernel: its IR, its program, LLVM's IR, PTX."""
        entries = [launch["entry"] for variant in kernel["variants"] for launch in variant["launches"]]
        for title, parts in self._kernels.items():
            found = [parts[name] for name in dict.fromkeys([kernel["name"], *entries]) if name in parts]
            if found:
                yield title, "\n\n".join(found)

    @functools.cached_property
    def operations_by_kernel(self):
        """Name -> operations of all launches in a call; None where they are not known."""
        sums = {}
        for step in self.traffic.steps:
            if step.kind == "kernel":
                one, before = self.operations_of(step), sums.get(step.name, 0)
                sums[step.name] = None if one is None or before is None else before + one
        return sums

    @functools.cached_property
    def _programs(self):
        return {name: work.Program(text) for name, text in self._kernels.get("kernel program", {}).items()}

    def operations_of(self, step):
        """The arithmetic operations of a step that moves data; None if they are not known."""
        if step.kind == "copy":
            return 0
        action = self.plan["steps"][step.number]["action"]
        if step.kind == "aten":
            return work.of_call(action, self.traffic)
        program = self._programs.get(step.name)
        return None if program is None else work.of_launch(program, action, self.traffic.values)

    @property
    def bytes_by_kernel(self):
        """Name -> bytes of all launches in a call."""
        return self._sums("kernel")

    @property
    def bytes_by_call(self):
        """Operator -> bytes of all its calls of ATen in a call."""
        return self._sums("aten")

    def _sums(self, kind):
        sums = {}
        for step in self.traffic.steps:
            if step.kind == kind:
                sums[step.name] = sums.get(step.name, 0) + step.bytes
        return sums


def of_graph(artifact, folder=None, symbols=None, names=()):
    """The Anatomy of an artifact's bytes, with the texts in a folder of `FRIT_DUMP` if there is one; None if there is no artifact. `names`: the user's
    name of each input, None for one that has none."""
    if not artifact:
        return None
    content, renamed = read(artifact), {}
    for plan in content["plans"]:
        for one, name in zip(plan["inputs"], names):
            if name:
                renamed[one["name"]], one["name"] = name, name
    anatomy = Anatomy(content, texts_in(folder) if folder else None, symbols)
    anatomy.renamed = renamed
    return anatomy


def of_path(path):
    """The Anatomy of the first target of a .frit file, or of a folder that a dump wrote."""
    return all_of_path(path)[0]


def all_of_path(path):
    """The Anatomy of each target of a .frit file, or of a folder that a dump wrote."""
    artifact, texts = _read_path(path)
    return [Anatomy(artifact, texts, number=number) for number in range(len(artifact["plans"]))]


def _read_path(path):
    if not os.path.isdir(path):
        return read_file(path), {}
    found = sorted(name for name in os.listdir(path) if name.endswith(".frit"))
    if not found:
        raise FritError(f"{path} has no artifact (NN-artifact.frit); name the folder of one graph, which FRIT_DUMP or --dump made inside of yours")
    return read_file(os.path.join(path, found[-1])), texts_in(path)


def texts_in(folder):
    """File name -> text of the stages in a folder; {} if it is missing."""
    found = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith((".mlir", ".txt", ".ll", ".ptx")):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                found[name] = file.read()
    return found


_CUTS = (
    ("outlined.mlir", "IR", re.compile(r"^  frit\.kernel @(\w+)\(.*?^  \}$", re.MULTILINE | re.DOTALL)),
    ("kernel-programs.txt", "kernel program", re.compile(r"^kernel (\w+)\n.*?(?=^kernel |\Z)", re.MULTILINE | re.DOTALL)),
    (".ll", "LLVM IR", re.compile(r"^define [^@\n]*@(\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL)),
    (".ptx", "PTX", re.compile(r"^\.visible \.entry (\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL)),
)


def _cut_all(texts, artifact):
    """Title of a stage -> {name of a kernel or entry: its text}."""
    found = {}
    for ending, title, pattern in _CUTS:
        for name, text in texts.items():
            if name.endswith(ending):
                target = re.sub(r"^\d+-", "", name).removesuffix(ending).strip("-.")
                found.setdefault(f"{title} ({target})" if ending in (".ll", ".ptx") else title, {}).update(_cut(pattern, text))
    if not any(title.startswith("PTX") for title in found):
        for module in artifact["gpu_modules"]:
            if module["kind"] == "Ptx":
                found[f"PTX (sm_{module['arch']})"] = _cut(_CUTS[3][2], module["bytes"].rstrip(b"\0").decode("utf-8", "replace"))
    return found


def _cut(pattern, text):
    return {match[1]: match[0].rstrip() for match in pattern.finditer(text)}


def folder_of(parent, name):
    """The folder that the newest compilation of a graph `name` left inside of a dump: `name`, or `name-2` ... after earlier ones."""
    numbers = []
    for entry in os.listdir(parent) if os.path.isdir(parent) else ():
        found = re.fullmatch(re.escape(name) + r"(?:-(\d+))?", entry)
        if found:
            numbers.append((int(found[1] or 1), entry))
    return os.path.join(parent, max(numbers)[1]) if numbers else None
