"""The command line, also `python -m frit`. `frit doctor` checks the installation, `frit cache status|verify|clear` manages the disk cache, and
`frit bisect script.py` finds where a program differs from ATen and which pass is responsible."""

import argparse
import sys

from .cache.disk_cache import DiskCache, default_folder


def main(arguments=None):
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
    chosen = parser.parse_args(arguments)
    if chosen.version or chosen.command == "doctor":
        from . import doctor

        return print(doctor.version()) or 0 if chosen.version else doctor.main()
    if chosen.command is None:
        parser.error("a command is needed: doctor, cache or bisect")
    if chosen.command == "bisect":
        from .replay.bisect import of_script

        return of_script(chosen.script, chosen.arguments, chosen.calls, chosen.out)
    folder = chosen.dir or default_folder()
    if folder is None:
        print("frit cache: there is no home folder; name a folder with --dir or FRIT_CACHE_DIR", file=sys.stderr)
        return 2
    return _ACTIONS[chosen.action](DiskCache(folder))


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


_ACTIONS = {"status": _status, "verify": _verify, "clear": _clear}

if __name__ == "__main__":
    sys.exit(main())
