"""Compiled graphs that need not be compiled again: the disk cache seen from the backend.

What happens to each graph is counted in `torch._dynamo.utils.counters["frit"]`: `cache_hits`, `cache_misses`,
`cache_stores`, `cache_bad_entries`, `cache_store_failures`, and `cache_bypass:<reason>` where a graph has no key.
Entries are also handed to torch's portable cache (`torch.compiler.save_cache_artifacts`). torch reads a portable
cache only if it knows every kind of entry in it, and it learns of frit's when this module is imported; so
`frit.load_cache_artifacts` imports it first.
"""

import functools
import os

import torch
from torch._dynamo.utils import counters
from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheArtifactManager

from .capture import Captured
from .disk_cache import BadEntry, DiskCache, default_folder, pack, unpack
from .errors import ArtifactError
from .graph_key import Uncacheable, graph_key
from .logs import log
from .summary import KeptReport, is_summary


@CacheArtifactFactory.register
class FritCacheArtifact(CacheArtifact):
    """An entry of the disk cache inside a portable cache."""

    def populate_cache(self):
        try:
            unpack(self.key, self.content)
        except BadEntry as why:
            log.warning("an entry of the portable cache is left out: %s", why)
            return
        store = _store()
        if store is not None:
            _note_write(store.write(self.key, self.content))

    @staticmethod
    def type():
        return "frit"


def load_cache_artifacts(serialized):
    """`torch.compiler.load_cache_artifacts`, with frit's kind of entry known to torch."""
    return torch.compiler.load_cache_artifacts(serialized)


@functools.lru_cache(maxsize=8)
def _at(folder):
    return DiskCache(folder)


def _store():
    folder = default_folder()
    return _at(folder) if folder else None


def _enabled(settings):
    if not settings["cache"] or os.environ.get("FRIT_CACHE", "1") == "0" or settings["dump_dir"] or settings["poison"]:
        return False
    config = torch.compiler.config
    return not getattr(config, "force_disable_caches", False)


def key_of(gm, settings, native):
    """The key of a graph, or None where nothing is kept. `native` gives the library, which a cache that is off does not load."""
    if not _enabled(settings):
        return None
    identity = native().identity()
    try:
        if not identity:
            raise Uncacheable("the compiler carries no build id")
        return graph_key(gm, settings, identity)
    except Uncacheable as reason:
        counters["frit"][f"cache_bypass:{reason}"] += 1
        log.info("not kept on disk: %s", reason)
        return None


def load(key, gm, native):
    """(Captured, executable, report, its summary) of a kept graph, or None."""
    store = _store()
    if store is None:
        return None
    tally = counters["frit"]
    try:
        content = store.read(key)
        if content is None:
            tally["cache_misses"] += 1
            return None
        description, artifact = unpack(key, content, reader_digests=True)
        constants = [functools.reduce(getattr, name.split("."), gm) for name in description["constants"]]
        executable = native.load(artifact, constants)
        devices = {torch.device(name): True for name in description["devices"]}
        text, nodes, short = description.get("graph"), description["nodes"], description["summary"]
        good = type(nodes) is int and isinstance(text, (str, type(None))) and is_summary(short)
        if not good or not all(isinstance(c, torch.Tensor) for c in constants):
            raise BadEntry("its description has values of the wrong kind")
        captured = Captured(text, constants, [], nodes, devices)
        captured.key, captured.artifact = key, artifact
    except (BadEntry, ArtifactError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as why:
        log.warning("cache entry %s is of no use and will be written anew: %s", key[:16], why)
        tally["cache_bad_entries"] += 1
        tally["cache_misses"] += 1
        store.drop(key)
        return None
    tally["cache_hits"] += 1
    CacheArtifactManager.record_artifact("frit", key, content)
    return captured, executable, KeptReport(executable.report()), short


def read_artifact(key):
    """The artifact of an entry that `keep_artifact` wrote, or None. Not in torch's portable cache: it is made again."""
    store = _store()
    try:
        content = store and store.read(key)
        return content and unpack(key, content)[1]
    except BadEntry as why:
        log.warning("cache entry %s is of no use and will be written anew: %s", key[:16], why)
        counters["frit"]["cache_bad_entries"] += 1
        store.drop(key)
        return None


def keep_artifact(key, artifact):
    """Writes kernels for one bucket of a graph; the graph's own entry says what they take."""
    store = _store()
    if store is not None:
        _note_write(store.write(key, pack(key, {}, artifact)))


def keep(key, captured, artifact, short, with_text=False):
    """Writes what was just compiled, with the summary of its report; callback steps are Python objects of this process and stay here. `with_text`: the graph as well, for
    who will compile it again."""
    if captured.callbacks:
        counters["frit"]["cache_bypass:it has Python steps"] += 1
        return
    store = _store()
    description = {
        "constants": captured.constant_names,
        "devices": [str(device) for device in captured.devices],
        "nodes": captured.nodes,
        "summary": short,
    }
    if with_text:
        description["graph"] = captured.json
    content = pack(key, description, artifact)
    if store is not None:
        _note_write(store.write(key, content))
    CacheArtifactManager.record_artifact("frit", key, content)


def _note_write(wrong):
    if wrong:
        counters["frit"]["cache_store_failures"] += 1
        log.info("not kept on disk: %s", wrong)
    else:
        counters["frit"]["cache_stores"] += 1
