"""`frit report PATH --out report.html`: the page of a .frit file, of what `frit-compile --dump` or FRIT_DUMP left, or of an exported program; and
`frit-compile --report=x.html`."""

import os
import subprocess
import tempfile

from ..commands import program
from ..errors import FritError
from ..inspect.stages import all_of_path
from ..report.collected import graph_entry
from ..report.explain import Explanation
from ..report.html import write

#: The endings of programs that frit-compile takes.
_PROGRAMS = (".pt2", ".json", ".mlir")


def graph_folders(path):
    """The folders of graphs in a dump; [path] if it is a file or the folder of one graph."""
    if not os.path.isdir(path) or any(name.endswith(".frit") for name in os.listdir(path)):
        return [path]
    inner = [os.path.join(path, name) for name in sorted(os.listdir(path))]
    found = [folder for folder in inner if os.path.isdir(folder) and any(name.endswith(".frit") for name in os.listdir(folder))]
    if not found:
        raise FritError(f"{path} has no graph; name a .frit file, or a folder that FRIT_DUMP or frit-compile --dump wrote")
    return found


def explanation_of(path):
    """The Explanation of a file or a dump; nothing is run, so it has no counts of calls. It counts what the file has for its first target."""
    anatomies, graphs, others = [], [], []
    for folder in graph_folders(path):
        targets = all_of_path(folder)
        name = targets[0].artifact["graph"] or os.path.basename(folder)
        stage = next((stage for stage in ("forward", "backward", "inference") if name.endswith(stage)), "exported")
        for anatomy in targets:
            shown = f"{name} for {anatomy.target}" if len(targets) > 1 else name
            entry = graph_entry(shown, stage, len(anatomy.plan["steps"]), anatomy.report, anatomy)
            if anatomy is targets[0]:
                anatomies.append(anatomy)
                graphs.append(entry)
            else:
                others.append((entry, anatomy))
    return Explanation(graphs, (), (), anatomies, os.path.basename(os.path.normpath(path)), others)


def _compiled(path, words, folder):
    """Compiles an exported program with frit-compile; the folder of what it leaves."""
    done = subprocess.run([program("frit-compile"), path, "-o", os.path.join(folder, "model.frit"), f"--dump={folder}/dump", *words], capture_output=True, text=True)
    if done.returncode:
        raise FritError(done.stderr.strip().removeprefix("frit-compile: ") or f"frit-compile ended with {done.returncode}")
    return f"{folder}/dump"


def compile_with_page(words, out):
    """Runs frit-compile with these arguments, which writes what they ask for, then writes the page of what it compiled. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="frit-report-") as folder:
        named = next((word.partition("=")[2] for word in words if word.startswith("--dump=")), None)
        done = subprocess.run([program("frit-compile"), *words, *([] if named else [f"--dump={folder}"])])
        if done.returncode:
            return done.returncode
        explanation = explanation_of(named or folder)
    explanation.title = next((os.path.basename(word) for word in words if word.endswith(_PROGRAMS)), "program")
    write(explanation, out, "compiled for this page, nothing was run")
    return 0


def run(path, out, words=()):
    """Writes the page and prints its path; `words` are more arguments of frit-compile, for an exported program. Returns the exit status."""
    out = out or os.path.splitext(os.path.normpath(path))[0] + ".html"
    if not path.endswith(_PROGRAMS):
        if words:
            raise FritError(f"{words[0]} is for frit-compile; {path} is compiled already")
        write(explanation_of(path), out, "read from a file, nothing was run")
    else:
        if not os.path.exists(path):
            raise FritError(f"{path} cannot be read: No such file or directory")
        with tempfile.TemporaryDirectory(prefix="frit-report-") as folder:
            explanation = explanation_of(_compiled(path, words, folder))
        explanation.title = os.path.basename(path)
        write(explanation, out, "compiled for this page, nothing was run")
    print(out)
    return 0
