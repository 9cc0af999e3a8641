"""Answers of torch alone that tests compare frit's with, kept in tests/golden/torch-answers.json (scripts/torch-answers) because tracing a sweep of sizes
takes minutes.

An answer counts for one torch, one transformers and one text of the files that it follows from; otherwise torch is asked. One answer in 16 is always
asked again.
"""

import functools
import hashlib
import importlib.metadata
import json
import os
from pathlib import Path

ANSWERS = Path(__file__).resolve().parents[2] / "golden" / "torch-answers.json"


def versions():
    return {package: importlib.metadata.version(package) for package in ("torch", "transformers")}


@functools.cache
def _known():
    kept = json.loads(ANSWERS.read_text(encoding="utf-8")) if ANSWERS.exists() else {}
    return kept["answers"] if kept.get("versions") == versions() else {}


@functools.cache
def _digest(files):
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:16]


def remembered(question, files, ask):
    """Returns `ask()`, a value of JSON, from the kept answers if the `files` that it follows from (a tuple) have not changed."""
    digest = _digest(files)
    known = _known().get(question)
    if known and known[0] == digest and not hashlib.sha256(question.encode()).hexdigest().startswith("0"):
        return known[1]
    answer = ask()
    assert not known or known[0] != digest or known[1] == answer, f"{ANSWERS.name} is wrong about {question}: {answer}; run scripts/torch-answers"
    if "FRIT_TEST_KEEP_ANSWERS" in os.environ:
        with open(os.environ["FRIT_TEST_KEEP_ANSWERS"], "a", encoding="utf-8") as file:
            file.write(json.dumps([question, digest, answer]) + "\n")
    return answer
