"""The command line, also `python -m frit`. `frit doctor` checks the installation, `frit cache status|verify|clear` manages the disk cache,
`frit bisect script.py` finds where a program differs from ATen and which pass is responsible, `frit inspect` shows what an artifact contains,
`frit bench` measures it, and `frit report` writes a page about it."""

import argparse
import os
import sys

from .cache.disk_cache import DiskCache, default_folder
from .errors import FritError


def main(arguments=None):
    """Runs one command; returns the exit status. `arguments`: those of the process by default."""
    parser = argparse.ArgumentParser(prog="frit", description="frit, a graph-compiler backend for PyTorch 2")
    parser.add_argument("--version", action="store_true", help="print the versions of frit and LLVM, the supported torch versions, and the targets")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("doctor", help="check this machine, run a self-test, and say how to fix each problem")
    cache = commands.add_parser("cache", help="show, verify or clear the disk cache")
    cache.add_argument("action", choices=["status", "verify", "clear"])
    cache.add_argument("--dir", help="the folder; FRIT_CACHE_DIR or the user's cache folder by default")
    bisect = commands.add_parser("bisect", help="find where a program differs from ATen: graph, operator, pass, and the smallest failing graph")
    bisect.add_argument("--calls", type=int, default=2, help="how many calls of each graph are compared (2)")
    bisect.add_argument("--out", help="the folder for the results; a new temporary folder by default")
    bisect.add_argument("script", help="a Python program that uses backend='frit', or a folder with a repro.py")
    bisect.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own")
    _add_artifact_commands(commands)
    chosen, others = parser.parse_known_args(arguments)
    if others and chosen.command != "report":
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    chosen.others = others
    if chosen.version or chosen.command == "doctor":
        from . import doctor

        return print(doctor.version()) or 0 if chosen.version else doctor.main()
    if chosen.command is None:
        parser.error("a command is needed: doctor, cache, bisect, inspect, bench or report")
    if chosen.command in _ARTIFACT_COMMANDS:
        try:
            return _ARTIFACT_COMMANDS[chosen.command](chosen)
        except BrokenPipeError:
            # The reader has closed the pipe (`| head`). Without this, Python's flush at exit would raise again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (FritError, OSError) as error:
            print(f"frit {chosen.command}: {error}", file=sys.stderr)
            return 1
    if chosen.command == "bisect":
        from .replay.bisect import of_script

        return of_script(chosen.script, chosen.arguments, chosen.calls, chosen.out)
    folder = chosen.dir or default_folder()
    if folder is None:
        print("frit cache: there is no home folder; name a folder with --dir or FRIT_CACHE_DIR", file=sys.stderr)
        return 2
    return _CACHE_ACTIONS[chosen.action](DiskCache(folder))


def bench():
    """The command `frit-bench`, which is `frit bench`."""
    return main(["bench", *sys.argv[1:]])


def inspect():
    """The command `frit-inspect`, which is `frit inspect`."""
    return main(["inspect", *sys.argv[1:]])


def _add_artifact_commands(commands):
    """Adds the commands that read an artifact."""
    inspect = commands.add_parser("inspect", help="print an artifact's sections, inputs, weights, guards, kernels and steps; nothing is run")
    inspect.add_argument("model", help="a .frit file")
    inspect.add_argument("--json", action="store_true", help="print JSON")
    inspect.add_argument("--steps", action="store_true", help="print each step of the plan")
    inspect.add_argument("--size", action="append", default=[], metavar="NAME=N", help="the value of a size that varies; repeat for several")
    bench = commands.add_parser("bench", help="measure an artifact on random inputs: latency, throughput, memory, each kernel")
    bench.add_argument("model", help="a .frit file")
    bench.add_argument("--input", action="append", default=[], metavar="[NAME=]4x64xi64", help="the form of an input, by name or in order")
    bench.add_argument("--iterations", type=int, nargs="?", const=100, default=100, help="calls that are measured (100)")
    bench.add_argument("--warmup", type=int, default=10, help="calls before them (10)")
    bench.add_argument("--json", action="store_true", help="print JSON")
    bench.add_argument("--allow-host-code", action="store_true", help="map machine code from a file that others own or can write")
    report = commands.add_parser("report", help="write a page on an exported program, an artifact, or what FRIT_DUMP or frit-compile --dump wrote")
    report.add_argument("path", help="a .pt2 file, which is compiled; a .frit file, the folder of a graph, or of a dump; an artifact has no code of kernels")
    report.add_argument("--out", metavar="FILE.html", help="the page; beside the input by default")
    report.epilog = "For a .pt2 file, all other flags are those of frit-compile: --target=sm_90."


def _inspect(chosen):
    from .shell.inspect import run

    sizes = {}
    for text in chosen.size:
        name, _, number = text.partition("=")
        if not number.isdecimal():
            raise FritError(f"--size={text!r} is not of the form s0=64")
        sizes[name] = int(number)
    return run(chosen.model, chosen.json, chosen.steps, sizes)


def _bench(chosen):
    from .shell.bench import run

    return run(chosen.model, chosen.input, chosen.iterations, chosen.warmup, chosen.json, chosen.allow_host_code)


def _report(chosen):
    from .shell.report import run

    return run(chosen.path, chosen.out, chosen.others)


_ARTIFACT_COMMANDS = {"inspect": _inspect, "bench": _bench, "report": _report}


def _status(cache):
    found = cache.entries()
    aliases = cache.count_aliases()
    print(f"{cache.root}: {len(found) - aliases} entries and {aliases} aliases, {sum(size for _, size, _ in found)} of {cache.limit} bytes")
    return 0


def _verify(cache):
    from . import native
    from .cache.check import check

    found = check(cache, native.library())
    *lines, total = found.lines()
    print(*lines, f"{cache.root}: {total}", sep="\n")
    return 1 if found.bad else 0


def _clear(cache):
    print(f"{cache.root}: {cache.clear()} entries removed")
    return 0


_CACHE_ACTIONS = {"status": _status, "verify": _verify, "clear": _clear}

if __name__ == "__main__":
    sys.exit(main())
