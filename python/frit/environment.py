"""The environment variables that frit reads.

An unknown name or value is logged once and the default is used, so that a typo does not stop a program.
"""

import difflib
import functools
import logging
import os
import re

#: The variables that do not set the default of an option (`options.REGISTRY` has those).
VARIABLES = {
    "FRIT_CACHE": "0 switches the disk cache off",
    "FRIT_CACHE_LIMIT": "the limit of the disk cache: bytes, or a number with K, M, G or T (KB and KiB are K); 1 GiB by default",
    "FRIT_CUDA_SYNC": "1 waits for the GPU after each launch, so that an error names the kernel",
    "FRIT_LOGS": "what is logged, in the grammar of TORCH_LOGS: all, frit, graph, kernels, fallbacks, guards, timing",
    "FRIT_LOGS_FORMAT": "'text' (the default), or 'json': each line of FRIT_LOGS is a JSON object",
    "FRIT_NVJITLINK": "the path of libnvJitLink, or off",
    "FRIT_PLANT": "plants the mistake of this class of silent errors, to test tests",
    "FRIT_RECORD_SIZES": "a file that collects the sizes of all calls",
}
#: The variables of tests, benchmarks and the build.
_ELSEWHERE = re.compile(
    r"FRIT_(BUILD|TEST|RANDOM|OPERATOR|GPU|BASE|PRESET|JOBS|MEANWHILE|PTXAS|NVDISASM|RULES|PYTHON|EXAMPLES?|WHEEL|UNIT|FUZZ|WRITE|SOURCE|"
    r"NVJITLINK_LIBRARY)(_|$)"
)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TRUTHS = {**dict.fromkeys(("1", "true", "on", "yes"), True), **dict.fromkeys(("0", "false", "off", "no"), False)}


@functools.cache
def warn(text):
    """Logs a warning once per process."""
    logging.getLogger("frit").warning("%s", text)


def number_of_bytes(name, default):
    """The bytes that the variable `name` gives, as in `bytes_in`; `default` if it is not set, or invalid (with a warning)."""
    text = os.environ.get(name, "")
    if not text:
        return default
    found = bytes_in(text)
    if found is None:
        warn(f"{name}={text!r} is not a size and is ignored; give a number of bytes, or one like 512M or 1GB")
        return default
    return found


def bytes_in(text):
    """The number of bytes in a text such as '1073741824', '1G', '512 MB' or '1.5GiB', in powers of 1024; None if the text is not a size."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    return int(float(found[1]) * _UNITS[found[2].lower()]) if found else None


def truth(name, text):
    """Whether a variable's text is 1, true, on or yes; False for 0, false, off and no; None, with a warning, for anything else."""
    found = _TRUTHS.get(text.strip().lower())
    if found is None:
        warn(f"{name}={text!r} is ignored; give 1 or 0")
    return found


def unknown(options):
    """A sentence for each unknown FRIT_* variable; `options` are the names of the variables that set options."""
    known = {*VARIABLES, *options}
    found = []
    for name in sorted(os.environ):
        if name.startswith("FRIT_") and name not in known and not _ELSEWHERE.match(name):
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
            found.append(f"nothing reads {name}" + (f"; did you mean {close[0]}?" if close else f"; known: {', '.join(sorted(known))}"))
    return found


def check(options):
    """Warns of unknown FRIT_* variables, and of values that only the runtime reads."""
    if os.environ.get("FRIT_CUDA_SYNC"):
        truth("FRIT_CUDA_SYNC", os.environ["FRIT_CUDA_SYNC"])
    for sentence in unknown(options):
        warn(sentence)
