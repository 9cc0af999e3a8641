"""The installed command `frit-compile`: the program of the package, and a page about what it compiles (`--report=x.html`).

The program knows no HTML. It replaces this process unless a page is asked for.
"""

import re
import sys

from .. import commands
from ..errors import FritError

_PAGE = re.compile(r"--report=(.*\.html?)", re.IGNORECASE | re.DOTALL)


def main(words=None):
    """Runs the command; returns the exit status. `words`: the arguments of the process by default."""
    words = sys.argv[1:] if words is None else words
    pages = [found[1] for found in map(_PAGE.fullmatch, words) if found]
    if not pages:
        return commands.frit_compile()
    from .report import compile_with_page

    try:
        return compile_with_page([word for word in words if not _PAGE.fullmatch(word)], pages[-1])
    except (FritError, OSError) as error:
        print(f"frit-compile: {error}", file=sys.stderr)
        return 1
