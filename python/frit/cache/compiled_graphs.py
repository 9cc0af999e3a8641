"""The disk cache as the backend sees it; `get_or_compile` looks up or compiles one graph.

An entry is stored under the fast key of the graph it was compiled for. An alias is an entry without an artifact that names another entry. Each entry
has an alias under its canonical key, and each program that found an entry that way gets an alias under its own fast key, for a direct hit next time.

Hits, misses, stores and failures are counted in `torch._dynamo.utils.counters["frit"]` (docs/generated/counters.md).

Entries are also passed to torch's portable cache (`torch.compiler.save_cache_artifacts`). torch reads a portable cache only if every kind of entry in
it is registered. Importing this module registers frit's kind, so `frit.load_cache_artifacts` imports it first.
"""

import functools
import os
import typing

import torch
from torch._dynamo.utils import counters
from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheArtifactManager

from .. import environment, native
from ..capture.graph import Captured
from ..errors import ArtifactError
from ..logs import log
from .disk_cache import BadEntry, DiskCache, default_folder, folder_of, is_key, pack, pack_source, unpack, unpack_source
from .graph_key import Uncacheable, canonical_key, graph_key
from .summary import StoredReport, is_summary, summary


def _registered(kind):
    """Registers a kind of artifact. It first removes the registration of an earlier import of this module, because torch refuses a second one."""
    CacheArtifactFactory._artifact_types.pop(kind.type(), None)
    return CacheArtifactFactory.register(kind)


@_registered
class FritCacheArtifact(CacheArtifact):
    """An entry of the disk cache inside a portable cache."""

    def populate_cache(self):
        """Called by torch for each entry of a portable cache: writes it to the disk cache."""
        try:
            unpack(self.key, self.content)
        except BadEntry as why:
            log.warning("an entry of the portable cache is not used: %s", why)
            return
        store = _store()
        if store is not None:
            _note_write(store.write(self.key, self.content))

    # torch collects artifacts in a set. Hashing the content too would read all of it once more.
    def __hash__(self):
        return hash(self.key)

    @staticmethod
    def type():
        """torch's name of the kind."""
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


def enabled(settings):
    """Whether the disk cache is on: by the options, the environment and torch's own switch."""
    if environment.truth("FRIT_CACHE", os.environ.get("FRIT_CACHE") or "1") is False:
        return False
    if not settings["cache"] or settings["dump_dir"] or settings["poison"]:
        return False
    config = torch.compiler.config
    return not getattr(config, "force_disable_caches", False)


def keep_cubins(executable, settings):
    """Lets the executable keep the cubins that it makes on a GPU in the disk cache, and take those of other processes."""
    with folder_of(settings):
        store = _store() if enabled(settings) else None
    if store is not None and hasattr(executable, "keep_cubins"):
        executable.keep_cubins(store.root, store.limit)


class Compiled(typing.NamedTuple):
    """A graph that can run: its text, the executable, the compiler's report and its summary, and, as text, where they come from."""

    captured: Captured
    executable: object
    report: typing.Mapping
    summary: dict
    origin: str


def get_or_compile(gm, settings, capture, build, with_text=False):
    """The Compiled of a graph: cached under its fast key, cached under its canonical key, or compiled now and stored.

    `settings` are the compiler's. `capture()` writes the graph as text; it is called after a miss of the fast key. `build(captured, match)` returns
    (executable, report). If `match` is not None, `build` compiles with `match.compile`, which looks up the canonical key, and returns `match.found`
    after a hit. `with_text`: the graph will be compiled again later, so a cached graph must include its text.
    """
    key = key_of(gm, settings)
    found = load(key, gm, with_text) if key else None
    if found:
        return found
    captured = capture()
    captured.key = key
    match = _match_for(captured, with_text)
    executable, report = build(captured, match)
    if match and match.found:
        return Compiled(captured, executable, report, match.summary, "from the cache by its canonical form")
    short = summary(report)
    if match:
        match.keep(short)
    return Compiled(captured, executable, report, short, "compiled and loaded")


def key_of(gm, settings):
    """The fast key of a graph, or None if it is not cached. If the cache is off, the library is not loaded."""
    if not enabled(settings):
        return None
    identity = native.compiler().identity()
    try:
        if not identity:
            raise Uncacheable("the compiler has no build id")
        return graph_key(gm, settings, identity)
    except Uncacheable as reason:
        counters["frit"][f"cache_bypass:{reason}"] += 1
        log.info("not stored on disk: %s", reason)
        return None


def load(key, gm, with_text=False):
    """The Compiled of a cached graph, or None. None is counted as a miss only if the canonical key is not found either (`CanonicalMatch`).
    `with_text`: see `get_or_compile`."""
    store = _store()
    if store is None:
        return None
    tally = counters["frit"]
    try:
        own = store.read(key)
        if own is None:
            return None
        description, artifact = unpack(key, own, reader_digests=True)
        kept_for, content, theirs = key, own, description
        if "same_as" in description:
            found = _follow(store, key, description)
            if found is None:
                return None
            kept_for, content, theirs, artifact = found
        constants = [functools.reduce(getattr, name.split("."), gm) for name in description["constants"]]
        devices = {torch.device(name): True for name in description["devices"]}
        text, nodes = _text(kept_for, content) if with_text else None, description["nodes"]
        if not (type(nodes) is int and all(isinstance(c, torch.Tensor) for c in constants)):
            raise BadEntry("its description has values of the wrong kind")
        executable, report, short = _read(theirs, artifact, constants, description["symbols"] if kept_for != key else None)
        captured = Captured(text, constants, [], nodes, devices)
        # Specialised kernels are compiled with the entry's names of sizes.
        captured.key, captured.artifact = kept_for, artifact
    except _UNUSABLE as why:
        _note_bad(store, key, why)
        return None
    tally["cache_hits"] += 1
    CacheArtifactManager.record_artifact("frit", key, own)
    if kept_for != key:
        CacheArtifactManager.record_artifact("frit", kept_for, content)
    return Compiled(captured, executable, report, short, "from the cache")


def _follow(store, key, description):
    """(key, content, description, artifact) of the entry that an alias names. If that entry was evicted, removes the alias and returns None."""
    named = description["same_as"]
    if not is_key(named):
        raise BadEntry("the name of the entry that it refers to is not a key")
    content = store.read(named)
    if content is None:
        store.drop(key)
        return None
    try:
        theirs, artifact = unpack(named, content, reader_digests=True)
        if "same_as" in theirs:
            raise BadEntry("it is an alias of an alias")
    except BadEntry:
        store.drop(named)
        raise
    return named, content, theirs, artifact


def _read(description, artifact, constants, symbols):
    """(executable, report, its summary). `symbols`: the program's names of sizes, if the entry was compiled for another program."""
    executable = native.compiler().load(artifact, constants)
    short = description["summary"]
    if not is_summary(short):
        raise BadEntry("its description has values of the wrong kind")
    renamed = None
    if symbols is not None:
        if not _are_names(symbols) or not _are_names(description["symbols"]) or len(symbols) != len(description["symbols"]):
            raise BadEntry("its description has other sizes")
        renamed = dict(zip(description["symbols"], symbols))
    return executable, StoredReport(executable.report(), renamed), short


def _text(key, content):
    source = unpack_source(key, content)
    return source and source[0]


def _are_names(value):
    return type(value) in (list, tuple) and all(type(name) is str for name in value)


_UNUSABLE = (BadEntry, ArtifactError, ValueError, KeyError, TypeError, AttributeError, RuntimeError)


def _note_bad(store, key, why):
    log.warning("cache entry %s cannot be used and will be written again: %s", key[:16], why)
    counters["frit"]["cache_bad_entries"] += 1
    store.drop(key)


class CanonicalMatch:
    """Looks up a graph under its canonical key. The compiler calls this object when it has the canonical form, and stops after a hit: `found` is then
    (executable, report), and an alias under the graph's fast key has been written."""

    def __init__(self, captured, with_text):
        self.symbols = []
        self.found = None
        self.summary = None
        self._captured = captured
        self._with_text = with_text
        self._settings = None
        self._options = None
        self._key = None

    def compile(self, settings, options):
        """Compiles the graph; the result is unusable if `found` is set, because the compiler stopped. `options`: the settings as JSON."""
        self._settings, self._options = settings, options
        return native.compiler().compile(self._captured.json, options, self)

    def __call__(self, digest, symbols):
        self.symbols = list(symbols)
        store = _store()
        if store is not None:
            self._key = canonical_key(digest, self._settings, native.compiler().identity())
            found = self._look(store)
            if found:
                self.found, self.summary = found[:2], found[2]
        counters["frit"]["cache_hits_canonical" if self.found else "cache_misses"] += 1
        return self.found is not None

    def _look(self, store):
        try:
            content = store.read(self._key)
            if content is None:
                return None
            description, _ = unpack(self._key, content)
            entry = _follow(store, self._key, description)
            if entry is None:
                return None
            named, theirs, description, artifact = entry
            found = _read(description, artifact, self._captured.constants, self.symbols)
            text = _text(named, theirs) if self._with_text else None
        except _UNUSABLE as why:
            _note_bad(store, self._key, why)
            return None
        CacheArtifactManager.record_artifact("frit", named, theirs)
        # Another process may have stored the same graph since the fast key was looked up. An alias would then overwrite the entry itself.
        if named != self._captured.key:
            _write_alias(store, self._captured.key, named, {**_described(self._captured), "symbols": self.symbols})
        # From here on the graph is the entry's, so specialised kernels are compiled for that graph too.
        self._captured.key, self._captured.artifact, self._captured.json = named, artifact, text
        return found

    def keep(self, short):
        """Stores the compiled graph under its fast and its canonical key."""
        if self._options is None:
            return  # `compile` was not called, because a test replaces it
        store = _store()
        description = {**_described(self._captured), "symbols": self.symbols, "summary": short}
        key = self._captured.key
        source = pack_source(self._captured.json, self._options, native.compiler().identity())
        content = pack(key, description, self._captured.artifact, source)
        CacheArtifactManager.record_artifact("frit", key, content)
        if store is not None and _note_write(store.write(key, content)) and self._key:
            _write_alias(store, self._key, key, {})


def _described(captured):
    devices = [str(device) for device in captured.devices]
    return {"constants": captured.constant_names, "devices": devices, "nodes": captured.nodes}


def _write_alias(store, key, named, description):
    content = pack(key, {**description, "same_as": named}, b"")
    CacheArtifactManager.record_artifact("frit", key, content)
    _note_write(store.write(key, content), "cache_aliases")


def read_artifact(key):
    """The artifact of an entry that `store_artifact` wrote, or None. torch's portable cache does not contain such entries; they are compiled
    again."""
    store = _store()
    try:
        content = store and store.read(key)
        return content and unpack(key, content)[1]
    except BadEntry as why:
        log.warning("cache entry %s cannot be used and will be written again: %s", key[:16], why)
        counters["frit"]["cache_bad_entries"] += 1
        store.drop(key)
        return None


def store_artifact(key, artifact, source=b""):
    """Stores the specialised kernels of one bucket (the graph's own entry describes their arguments), or other data, which has no source."""
    store = _store()
    if store is not None:
        _note_write(store.write(key, pack(key, {}, artifact, source)))


def read_bytes(key):
    """The bytes that `store_bytes` stored, or None. A damaged entry is counted and removed, and gives None."""
    store = _store()
    try:
        content = store and store.read(key)
        if not content:
            return None
        _, stored = unpack(key, content)
    except BadEntry as why:
        _note_bad(store, key, why)
        return None
    CacheArtifactManager.record_artifact("frit", key, content)
    return stored


def store_bytes(key, stored, kind, **more):
    """Stores bytes that are not an artifact; torch's portable cache contains them. `kind` and `more` are for `frit cache verify`. Returns whether they
    were written."""
    store = _store()
    content = pack(key, {"kind": kind, **more}, stored)
    CacheArtifactManager.record_artifact("frit", key, content)
    wrong = "there is no folder" if store is None else store.write(key, content)
    return not wrong or _note_write(wrong)


def note_bad(key, why):
    """Counts and removes an entry that is undamaged but cannot be used."""
    _note_bad(_store(), key, why)


def _match_for(captured, with_text):
    """The CanonicalMatch of a captured graph, or None if it cannot be stored: Python steps are objects of this process."""
    if not captured.key:
        return None
    if captured.callbacks or captured.opaque_results:
        counters["frit"]["cache_misses"] += 1
        counters["frit"]["cache_bypass:it has Python steps"] += 1
        return None
    return CanonicalMatch(captured, with_text)


def _note_write(wrong, counted="cache_stores"):
    if wrong:
        counters["frit"]["cache_store_failures"] += 1
        log.info("not stored on disk: %s", wrong)
    else:
        counters["frit"][counted] += 1
    return not wrong
