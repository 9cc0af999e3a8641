"""`frit doctor`: checks this machine and the installation, and says how to fix each problem.

Each check is one line: `ok`, `warning` (frit works, but not as well as it could) or `error` (it does not work). A line that is not `ok` ends with
what to do.
"""

import dataclasses
import os
import platform
import shutil
import sys
import tempfile
import time

import frit

from . import environment, installed, native
from .cache.disk_cache import DiskCache, default_folder
from .errors import FritError
from .options import REGISTRY

#: Minor versions of torch that the binding is tested with.
TORCH = ((2, 11), (2, 13))
#: Bytes free on the disk of the cache below which the cache is of little use.
_LEAST_FREE = 256 << 20
TARGETS = "cpu, simt, sm_80, sm_90, sm_100"


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check. `status`: "ok", "warning" or "error"; `text` says what to do unless it is "ok"."""

    status: str
    name: str
    text: str

    def line(self):
        return f"{self.status:8}{self.name:12}{self.text}"


def version():
    """One line: frit, its LLVM, the versions of torch it is for, and its targets."""
    low, high = (".".join(map(str, bound)) for bound in TORCH)
    try:
        llvm = next((part for part in native.library().identity().split(", ") if part.startswith("llvm ")), "llvm unknown")
    except FritError:
        llvm = "native library not found"
    return f"frit {frit.__version__} ({llvm}; torch {low} to {high}; targets {TARGETS})"


def _python():
    if sys.version_info < (3, 11):  # noqa: UP036 (says so where no package manager did)
        return Finding("error", "python", f"{platform.python_version()}: frit needs 3.11 or newer")
    return Finding("ok", "python", f"{platform.python_version()} on {platform.machine()}, {platform.system()}")


def _torch():
    try:
        import torch
    except ImportError as error:
        return Finding("error", "torch", f"cannot be imported ({error}); pip install torch")
    low, high = (".".join(map(str, bound)) for bound in TORCH)
    if not TORCH[0] <= installed.minor_version(torch.__version__) <= TORCH[1]:
        return Finding("warning", "torch", f"{torch.__version__} is untested; frit is tested with {low} to {high}")
    return Finding("ok", "torch", f"{torch.__version__}, {torch.get_num_threads()} threads")


def _library():
    import torch

    try:
        library = native.library()
    except FritError as error:
        return Finding("error", "library", str(error))
    if installed.minor_version(library.torch_version) != installed.minor_version(torch.__version__):
        return Finding("warning", "library", f"for torch {library.torch_version}, untested with {torch.__version__}; install frit again, or another torch")
    if not library.identity():
        return Finding("warning", "library", "the build has no build id, so nothing is cached on disk; link with --build-id")
    return Finding("ok", "library", f"{library.identity()}; for torch {library.torch_version}")


def _backend():
    import torch._dynamo

    if "frit" not in torch._dynamo.list_backends():
        return Finding("warning", "backend", "torch.compile does not list 'frit'; install the package, or pass backend=frit.backend.frit")
    return Finding("ok", "backend", "torch.compile finds 'frit'")


def _cpu():
    try:
        host = native.library().identity().rpartition("host ")[2].partition(",")[0] or "not known"
    except FritError:
        host = "not known"
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    import torch

    threads = torch.get_num_threads()
    if threads > usable:
        return Finding("warning", "cpu", f"{threads} threads on {usable} usable cores; set OMP_NUM_THREADS={usable}")
    return Finding("ok", "cpu", f"kernels for {host}; {threads} threads on {usable} usable cores")


def _gpu():
    import torch

    if not torch.cuda.is_available():
        why = "this torch is built without CUDA" if torch.version.cuda is None else "torch finds no device or driver"
        return Finding("ok", "gpu", f"none ({why}); frit compiles for the CPU")
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    old = [index for index in range(len(names)) if torch.cuda.get_device_capability(index) < (8, 0)]
    if old:
        return Finding("warning", "gpu", f"{names[old[0]]} is older than sm_80, for which frit has no kernels; use another device or backend")
    return Finding("ok", "gpu", f"{', '.join(names)}; CUDA {torch.version.cuda}")


def _cache():
    if environment.truth("FRIT_CACHE", os.environ.get("FRIT_CACHE") or "1") is False:
        return Finding("warning", "cache", "switched off by FRIT_CACHE; each process compiles anew")
    folder = default_folder()
    if folder is None:
        return Finding("warning", "cache", "there is no home folder; name a folder with FRIT_CACHE_DIR")
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Finding("warning", "cache", f"{folder} cannot be written ({error.strerror}); name another folder with FRIT_CACHE_DIR")
    cache = DiskCache(folder)
    entries = cache.entries()
    free = shutil.disk_usage(folder).free
    if free < _LEAST_FREE:
        return Finding("warning", "cache", f"{folder} is on a disk with {free / 2**20:.0f} MiB free; name another folder with FRIT_CACHE_DIR")
    used, limit = sum(size for _, size, _ in entries) / 2**20, cache.limit / 2**20
    return Finding("ok", "cache", f"{cache.root}: {len(entries)} entries, {used:.0f} of {limit:.0f} MiB")


def _programs():
    """The programs that the package carries. A source tree has them in build/bin."""
    folder = os.path.join(installed.FOLDER, "bin")
    if not os.path.isdir(folder):
        return Finding("ok", "programs", "frit-compile, frit-run and frit-run-torch are those of the build (build/bin), not of an installed package")
    programs = [os.path.join(folder, name) for name in ("frit-compile", "frit-run")]
    programs += [os.path.join(each, "frit-run-torch") for each in installed.torch_folders().values()]
    for path in programs:
        if not os.access(path, os.X_OK):
            what = "cannot be executed; chmod +x it" if os.path.exists(path) else "is missing; install frit again"
            return Finding("warning", "programs", f"{path} {what}")
    return Finding("ok", "programs", folder)


def _temporary():
    """Without temporary files there are no reports, dumps or repros."""
    try:
        with tempfile.NamedTemporaryFile() as file:
            return Finding("ok", "temporary", os.path.dirname(file.name))
    except OSError as error:
        return Finding("warning", "temporary", f"no temporary file can be made ({error.strerror}); name a writable folder with TMPDIR")


def _variables():
    wrong = environment.unknown(option.environment for option in REGISTRY.values() if option.environment)
    if wrong:
        return Finding("warning", "variables", "; ".join(wrong))
    found = sorted(name for name in os.environ if name.startswith("FRIT_"))
    return Finding("ok", "variables", ", ".join(f"{name}={os.environ[name]}" for name in found) or "none is set")


def _self_test():
    """Compiles a kernel with a dynamic size and compares it with eager at several sizes, forward and backward."""
    import torch

    def function(x, y):
        return (x * y + x.sin()).softmax(-1).sum(0)

    compiled = torch.compile(function, backend="frit", dynamic=True, options={"cache": False, "strict": True})
    start, first = time.perf_counter(), 0.0
    try:
        for size in (7, 64, 129):
            x, y = torch.linspace(-3, 3, 5 * size).view(5, size), torch.linspace(2, -1, size)
            grads = []
            for call in (compiled, function):
                leaf = x.clone().requires_grad_()
                call(leaf, y).square().sum().backward()
                grads.append(leaf.grad)
            first = first or time.perf_counter() - start
            torch.testing.assert_close(*grads)
            torch.testing.assert_close(compiled(x, y), function(x, y))
    except Exception as error:
        return Finding("error", "self-test", f"{type(error).__name__}: {str(error).strip().splitlines()[0]}; please report it with this output")
    return Finding("ok", "self-test", f"results and gradients are eager's; the first call took {first:.1f} s")


CHECKS = (_python, _torch, _library, _backend, _cpu, _gpu, _programs, _cache, _temporary, _variables, _self_test)


def examine():
    """A finding for each check, in order; checks that need a missing part are skipped."""
    findings = []
    for check in CHECKS:
        findings.append(check())
        if findings[-1].status == "error":
            break
    return findings


def main():
    """Prints the findings; returns the exit status, 1 if one is an error."""
    findings = examine()
    print(version(), *(finding.line() for finding in findings), sep="\n")
    return 1 if any(finding.status == "error" for finding in findings) else 0
