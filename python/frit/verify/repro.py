"""What went wrong with a graph, as a folder with one `repro.py` that shows it again.

A CompileError, a CaptureError, arguments that a compiled graph refuses and a VerifyError each leave one: the graph as readable code, the sizes,
strides, offsets and types of its arguments, constants, the options, the seed. No data: floats are drawn anew, of integers only the range is known,
unless `options={"repro_data": True}` asks for the arguments themselves. The error names the script.

Folders lie in `options={"repro_dir": ...}` or FRIT_REPRO_DIR ("off": nowhere), by default in `repro` beside the disk cache; the latest
20 stay. One failure of one graph has one folder, however often it happens. `python repro.py` exits with 1 where the failure shows again.
"""

import hashlib
import os
import shutil
import tempfile

import torch

from ..cache.disk_cache import default_folder
from ..errors import FritError, OptionError
from ..logs import log
from . import repro_text

MOST_FOLDERS = 20
#: The files of a folder: the script, and the arguments of the call where they were asked for.
SCRIPT = "repro.py"
DATA = "arguments.pt"


def note(error, gm, settings, stage, arguments=None):
    """Writes the folder of `error` and names it there; the same error object. `arguments`: those of the call that failed."""
    if isinstance(error, OptionError) or getattr(error, "repro", None) or settings["repro_dir"] == "off":
        return error
    try:
        folder = write(error, gm, settings, stage, arguments)
    except Exception as wrong:  # what tells of an error must not hide it
        log.info("no repro of %s: %s: %s", type(error).__name__, type(wrong).__name__, wrong)
        return error
    name_in(error, folder)
    return error


def name_in(error, folder):
    error.repro = folder
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\nto repeat it: python {os.path.join(folder, SCRIPT)}", *error.args[1:])


def write(error, gm, settings, stage, arguments=None, title=""):
    """A folder for `error` of this graph; its path."""
    keeps_data = settings["repro_data"] and arguments is not None
    text = repro_text.script(error, gm, settings, stage, arguments, keeps_data, title)
    # Of what it is about, without the numbers of one run.
    lasting = [line for line in text.split("\n") if not line.startswith(("#", "SEED ="))]
    digest = hashlib.sha256("\n".join([*lasting, title]).encode()).hexdigest()[:12]
    parent = parent_folder(settings)
    folder = os.path.join(parent, f"{type(error).__name__}-{digest}")
    if os.path.isfile(os.path.join(folder, SCRIPT)):
        os.utime(folder)
        return folder
    partial = tempfile.mkdtemp(prefix=".partial-", dir=parent)
    with open(os.path.join(partial, SCRIPT), "w", encoding="utf-8") as file:
        file.write(text)
    if keeps_data:
        torch.save([x.detach() if isinstance(x, torch.Tensor) else x for x in arguments], os.path.join(partial, DATA))
    try:
        os.rename(partial, folder)
    except OSError:  # another process was first
        shutil.rmtree(partial, ignore_errors=True)
    _make_room(parent, folder)
    return folder


def parent_folder(settings):
    """Where folders lie, made if need be: as asked, beside the cache, or among temporary files."""
    named = settings["repro_dir"]
    beside = default_folder()
    for folder in filter(None, [named, beside and os.path.join(beside, "repro"), os.path.join(tempfile.gettempdir(), f"frit-repro-{os.getuid()}")]):
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
        except OSError:
            pass
    raise FritError(f"no folder can be written to; name one with FRIT_REPRO_DIR (tried {named or beside})")


def _make_room(parent, newest):
    """Leaves the latest folders of this kind, and whatever else lies there alone."""
    ours = [entry.path for entry in os.scandir(parent) if entry.is_dir() and os.path.isfile(os.path.join(entry.path, SCRIPT)) and entry.path != newest]
    for path in sorted(ours, key=lambda path: os.stat(path).st_mtime, reverse=True)[MOST_FOLDERS - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def write_launcher(error, folder):
    """`minifier_launcher.py`, as torch's own minifiers call theirs: it looks for the smallest graph that shows `error`."""
    path = os.path.join(folder, "minifier_launcher.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# The smallest graph of a {type(error).__name__} of frit.\nimport sys\nfrom frit.replay import bisect, program\n\n")
        file.write(f"sys.exit(bisect.of_program(program.load({error.repro!r}), {folder!r}))\n")
    error.minifier_path = path
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\nthe smallest graph that shows it: python {path}", *error.args[1:])
