"""Writes a failure of a graph as a folder with a `repro.py` that reproduces it.

A CompileError, a CaptureError, a call whose arguments a compiled graph refuses and a VerifyError each leave a folder; the error names the script. The
script has the graph as readable code, sizes, strides, offsets and types of the arguments, constants, the options and the seed. It has no data: floats
are drawn anew, and of integers only the range is recorded. `options={"repro_data": True}` stores the arguments too.

Folders are in `options={"repro_dir": ...}` or FRIT_REPRO_DIR ("off": none), by default in `repro` beside the disk cache. The latest 20 are kept; the
same failure of the same graph has one folder. `python repro.py` exits with 1 if the failure occurs again.
"""

import hashlib
import os
import shutil
import tempfile

import torch

from ..cache.disk_cache import default_folder, folder_of
from ..errors import FritError, OptionError
from ..logs import log
from . import repro_text

MOST_FOLDERS = 20
#: The files of a folder: the script, and with `repro_data` the arguments of the call.
SCRIPT = "repro.py"
DATA = "arguments.pt"


def note(error, gm, settings, stage, arguments=None, traced=None):
    """Writes the folder of `error` and adds its path to the message; returns the same error. `arguments`: those of the failed call; `traced`: the
    `traced_arguments` of a graph that was stored without them."""
    if isinstance(error, OptionError) or getattr(error, "repro", None) or settings["repro_dir"] == "off":
        return error
    try:
        folder = write(error, gm, settings, stage, arguments, traced=traced)
    except Exception as wrong:  # a failure to write the repro must not hide the error
        log.info("no repro of %s: %s: %s", type(error).__name__, type(wrong).__name__, wrong)
        return error
    name_in(error, folder)
    return error


def name_in(error, folder):
    """Adds the path of a repro to an error and its message."""
    error.repro = folder
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\nto repeat it: python {os.path.join(folder, SCRIPT)}", *error.args[1:])


def write(error, gm, settings, stage, arguments=None, title="", traced=None):
    """Writes a folder for `error` of this graph; returns its path."""
    keeps_data = settings["repro_data"] and arguments is not None
    text = repro_text.script(error, gm, settings, stage, arguments, keeps_data, title, traced)
    # Digest only the text that is the same each time the failure occurs.
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
    except OSError:  # another process has written it
        shutil.rmtree(partial, ignore_errors=True)
    _make_room(parent, folder)
    return folder


def parent_folder(settings):
    """The folder of all repros: the one asked for, the one beside the cache, or a temporary one. Makes it if necessary."""
    named = settings["repro_dir"]
    with folder_of(settings):
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
    """Removes all but the latest repro folders; leaves other files alone."""
    ours = [entry.path for entry in os.scandir(parent) if entry.is_dir() and os.path.isfile(os.path.join(entry.path, SCRIPT)) and entry.path != newest]
    for path in sorted(ours, key=lambda path: os.stat(path).st_mtime, reverse=True)[MOST_FOLDERS - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def write_launcher(error, folder):
    """Writes `minifier_launcher.py` (the name that torch's minifiers use), which finds the smallest graph that shows `error`."""
    path = os.path.join(folder, "minifier_launcher.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# The smallest graph of a {type(error).__name__} of frit.\nimport sys\nfrom frit.replay import bisect, program\n\n")
        file.write(f"sys.exit(bisect.of_program(program.load({error.repro!r}), {folder!r}))\n")
    error.minifier_path = path
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\nthe smallest graph that shows it: python {path}", *error.args[1:])
