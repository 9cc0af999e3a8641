"""`frit cache verify`: checks that the artifacts in the disk cache are what this compiler produces.

Digests show that an entry has the bytes that were written, not that those bytes were right. So each graph is compiled again from the text and options
in its entry, and the stored artifact must be equal: the compiler validates each plan it writes (compiler/PlanValidator.h), and compilation is
deterministic. The artifacts inside AOTAutograd's results must be those of their graphs' entries. Entries of another build or processor cannot be
compiled again here and are counted as skipped.
"""

import collections
import json
import os
import pickletools

from ..errors import FritError
from .disk_cache import ARTIFACT_MAGIC, BadEntry, is_key, unpack, unpack_source
from .summary import summary

OTHER_BUILD = "compiled by another build of frit or on another processor"
CUBINS = "cubins that nvJitLink made, whose digests match"
RESULTS = "results of AOTAutograd with a graph that is no longer in the cache"
NO_GRAPH = "with no graph in it (schedules that were measured)"


class Findings:
    """`bad`: (path, why) of each; `skipped`: how many for each reason. Aliases have no artifact and are counted separately."""

    def __init__(self):
        self.good = self.aliases = 0
        self.bad = []
        self.skipped = collections.Counter()

    def lines(self):
        """The report: a line for each bad entry and each reason to skip entries, then the totals."""
        yield from (f"bad: {path}: {why}" for path, why in self.bad)
        yield from (f"skipped: {count} {why}" for why, count in sorted(self.skipped.items()))
        yield f"{self.good} good entries, {len(self.bad)} bad, {self.skipped.total()} skipped, {self.aliases} aliases"


def check(cache, native):
    """The Findings over every entry; `native` is the library."""
    found = Findings()
    for path, _, _ in cache.entries():
        key = os.path.basename(path)
        try:
            content = cache.read(key)
            if content is None:
                continue  # another process has removed it
            description, artifact = unpack(key, content)
            if "same_as" in description:
                _check_alias(cache, description["same_as"])
                found.aliases += 1
                continue
            if description.get("kind") == "cubins":
                found.skipped[CUBINS] += 1
                continue
            if description.get("kind") == "autograd":
                if "graphs" not in description:
                    found.skipped[OTHER_BUILD] += 1  # of a build that did not name them
                elif _check_result(cache, description, artifact):
                    found.good += 1
                else:
                    found.skipped[RESULTS] += 1
                continue
            source = unpack_source(key, content)
            if source is None:
                found.skipped[NO_GRAPH] += 1
            elif not source[2] or source[2] != native.identity():
                found.skipped[OTHER_BUILD] += 1
            else:
                _check_artifact(source, description, artifact, native)
                found.good += 1
        except BadEntry as why:
            found.bad.append((path, str(why)))
    return found


def _check_alias(cache, named):
    if not is_key(named):
        raise BadEntry("the name of the entry that it refers to is not a key")
    content = cache.read(named)
    # If the named entry was evicted, the next lookup removes the alias.
    if content is not None and "same_as" in unpack(named, content)[0]:
        raise BadEntry("it is an alias of an alias")


def _check_result(cache, description, pickled):
    """Compares the artifacts inside a result, which is not unpickled, with the entries of its graphs; False if one of these is gone."""
    graphs = description["graphs"]
    if not isinstance(graphs, list) or not all(key is None or is_key(key) for key in graphs):
        raise BadEntry("the names of its graphs are not keys")
    try:
        inside = [value for _, value, _ in pickletools.genops(pickled) if isinstance(value, bytes) and value.startswith(ARTIFACT_MAGIC)]
    except ValueError as error:
        raise BadEntry("it is not a pickle") from error
    if len(inside) != len(graphs):
        raise BadEntry(f"it has {len(inside)} artifacts, and {len(graphs)} graphs")
    for key, artifact in zip(graphs, inside):
        content = key and cache.read(key)
        if content is None:
            return False
        if unpack(key, content)[1] != artifact:
            raise BadEntry("an artifact in it is not its graph's")
    return True


def _check_artifact(source, description, artifact, native):
    graph, options, _ = source
    symbols = []

    def note(_, names):
        symbols[:] = names
        return False

    try:
        made = native.compile(graph, options, note)
        wrong = "" if made.artifact == artifact else native.difference(artifact, made.artifact) or "the same content in other bytes"
    except FritError as error:
        raise BadEntry(f"its graph cannot be compiled again: {error}") from error
    if wrong:
        raise BadEntry(f"it is not what this compiler makes of its graph: {wrong}")
    # Entries of specialised kernels have neither summary nor symbols; the graph's own entry has them.
    for what, expected in (("summary", summary(json.loads(made.report))), ("symbols", symbols)):
        if description.get(what, expected) != expected:
            raise BadEntry(f"its description has another {what} than its graph")
