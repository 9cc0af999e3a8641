"""Dynamo's limits of recompilations: beyond them a function runs without frit. One warning says so, counts it, and gives the remedy.

torch's own warning names no remedy, and a program that silences torch's logs does not see it. So this module wraps the function with which torch
tests whether a limit is exceeded.
"""

import functools
import logging
import os
import sys

from torch._dynamo import convert_frame
from torch._dynamo.utils import counters

from .. import backend as _backend
from ..logs import log


def _is_ours():
    """Whether frit has compiled the function that Dynamo is processing."""
    number = _backend.number_of_function()
    return number is not None and number in _backend._FUNCTIONS


@functools.cache
def watch():
    """Wraps torch's function once."""
    asked = getattr(convert_frame, "exceeds_recompile_limit", None)
    if asked is None:
        log.info("this torch does not say when a limit of recompilations is exceeded")
        return

    @functools.wraps(asked)
    def exceeds(*args, **kwargs):
        answer = asked(*args, **kwargs)
        if answer[0] and _is_ours():
            caller = sys._getframe(1).f_locals
            note(caller.get("code"), caller.get("recompile_reason"), answer[1])
        return answer

    convert_frame.exceeds_recompile_limit = exceeds
    logging.getLogger("torch._dynamo.guards.__recompiles").addFilter(_with_remedy)


def note(code, reason, limit):
    """Warns that a function is not compiled any more."""
    from .recompiles import explain_reason

    counters["frit"]["recompile_limit"] += 1
    name = code.co_name if code else "a function"
    place = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else "?"
    found = explain_reason(reason or "", name, place)
    value = getattr(convert_frame.config, limit or "recompile_limit", "?")
    log.warning(
        "%s (%s) reached torch._dynamo.config.%s = %s: calls that fit none of its graphs now run in eager, without frit. The last reason: %s; %s",
        name, place, limit, value, found.reason or "unknown", found.remedy,
    )


def _with_remedy(record):
    """A filter of the log records of TORCH_LOGS=recompiles: adds the remedy to torch's text."""
    if _is_ours() and "frit: " not in str(record.msg):
        text = record.getMessage()
        reason = next((line.strip().removeprefix("- ") for line in text.splitlines() if line.strip().startswith("- ")), "")
        if reason:
            from .recompiles import explain_reason

            found = explain_reason(reason, "", "")
            # Without arguments a message is not formatted again.
            record.msg, record.args = f"{text}\n    frit: {found.reason}; {found.remedy}", ()
    return True
