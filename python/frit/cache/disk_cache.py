"""Artifacts stored on disk between processes: one file per entry, written under a temporary name and renamed.

A reader needs no lock and sees a complete file or none. A bad entry (damaged, of another key, writable by others) is a counted miss. With a bad
disk (full, read-only, absent) frit runs as without a cache. An entry contains host code, so a file is trusted only if it and its folders
belong to the caller or to root and nobody else may write them.

Layout: `<folder>/<format>/<first two digits of the key>/<key>`. docs/Cache.md describes the folder and the limit.
"""

import contextlib
import contextvars
import hashlib
import json
import os
import re
import secrets
import stat
import struct
import tempfile
import threading
import time
import zlib

from .. import environment

MAGIC = b"frit-entry-3\n"
_HEAD = struct.Struct("<I32s")  # length of the description, SHA-256 of the description
_FORMAT = "v3"
ARTIFACT_MAGIC = b"\x7fFRIT\r\n\x1a"  # the first bytes of an artifact
_ARTIFACT_DIGEST = slice(40, 72)  # the digest in the header of an artifact (docs/Artifact.md)
_STALE_SECONDS = 3600
_SWEEP_SECONDS = 60


class BadEntry(Exception):
    """A file that is not a valid entry of its key; the text says why."""


def pack(key, description, artifact, source=b""):
    """The bytes of an entry. The description contains the key and the digests of artifact and source (`pack_source`), so that none can be
    exchanged."""
    digests = {"artifact": hashlib.sha256(artifact).hexdigest(), "body": artifact[_ARTIFACT_DIGEST].hex()}
    described = {**description, **digests, "key": key, "bytes": len(artifact), "source": hashlib.sha256(source).hexdigest()}
    text = json.dumps(described, sort_keys=True).encode()
    return b"".join((MAGIC, _HEAD.pack(len(text), hashlib.sha256(text).digest()), text, artifact, source))


def unpack(key, content, reader_digests=False):
    """(description, artifact) of an entry's bytes; raises BadEntry. With `reader_digests` the artifact's reader will check the artifact against the
    digest in its header, so only that digest is compared with the description here, and the source is not checked."""
    description, artifact, source = _parts(key, content)
    good = description.get("body") == artifact[_ARTIFACT_DIGEST].hex()
    if not good or not (reader_digests or hashlib.sha256(artifact).hexdigest() == description.get("artifact")):
        raise BadEntry("its artifact is damaged")
    if not reader_digests and hashlib.sha256(source).hexdigest() != description.get("source"):
        raise BadEntry("its source is damaged")
    return description, artifact


def pack_source(graph, options, identity):
    """The source of an artifact as bytes: the captured text, the options as the compiler got them, and the compiler's identity."""
    return zlib.compress(json.dumps([graph, options, identity]).encode(), 1)


def unpack_source(key, content):
    """(graph, options, identity) of an entry, or None if it has no source; raises BadEntry."""
    description, _, source = _parts(key, content)
    if hashlib.sha256(source).hexdigest() != description.get("source"):
        raise BadEntry("its source is damaged")
    if not source:
        return None
    try:
        graph, options, identity = json.loads(zlib.decompress(source))
    except (ValueError, RecursionError, TypeError, zlib.error) as error:
        raise BadEntry("its source cannot be read") from error
    if not all(isinstance(text, str) for text in (graph, options, identity)):
        raise BadEntry("its source has values of the wrong kind")
    return graph, options, identity


def _parts(key, content):
    """(description, artifact, source) of an entry's bytes; raises BadEntry. Only the description's digest is checked. The source is not copied."""
    start = len(MAGIC) + _HEAD.size
    if content[: len(MAGIC)] != MAGIC or len(content) < start:
        raise BadEntry("it is not an entry of this version")
    length, digest = _HEAD.unpack_from(content, len(MAGIC))
    text = content[start : start + length]
    if hashlib.sha256(text).digest() != digest:
        raise BadEntry("its description is damaged")
    try:
        description = json.loads(text.decode())  # decoded here, or json would first guess the encoding
    except (ValueError, RecursionError) as error:
        raise BadEntry("its description is no JSON") from error
    if not isinstance(description, dict):
        raise BadEntry("its description is not an object")
    if description.get("key") != key:
        raise BadEntry("it belongs to another key")
    size = description.get("bytes")
    if type(size) is not int or not 0 <= size <= len(content) - start - length:
        raise BadEntry("its artifact is damaged")
    end = start + length + size
    return description, content[start + length : end], memoryview(content)[end:]


def is_key(value):
    """Whether a value read from a file is a valid key. A valid key cannot name another file than an entry."""
    return type(value) is str and re.fullmatch(r"[0-9a-f]{64}", value) is not None


_asked_folder = contextvars.ContextVar("frit_cache_folder", default="")


@contextlib.contextmanager
def folder_of(settings):
    """A context in which the folder is that of the option `cache_dir`."""
    token = _asked_folder.set(os.path.expanduser(settings.get("cache_dir", "")))
    try:
        yield
    finally:
        _asked_folder.reset(token)


def default_folder():
    """The folder of entries, or None if there is none."""
    named = _asked_folder.get() or os.environ.get("FRIT_CACHE_DIR")
    if named:
        return named
    shared = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if shared and not _is_torchs_own(shared):
        return os.path.join(shared, "frit")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "frit") if os.path.isabs(base) else None


def _is_torchs_own(folder):
    """Whether torch, not the user, has set the variable: torch sets it to a temporary folder when it first needs the folder."""
    return os.path.dirname(folder) == tempfile.gettempdir() and os.path.basename(folder).startswith("torchinductor_")


def default_limit():
    """The limit in bytes: FRIT_CACHE_LIMIT, or 1 GiB."""
    return environment.number_of_bytes("FRIT_CACHE_LIMIT", 1 << 30)


class DiskCache:
    """Entries under one folder. No method raises an error because of the disk."""

    def __init__(self, folder, limit=None):
        self.root = os.path.join(folder, _FORMAT)
        self.limit = default_limit() if limit is None else limit
        self._swept = 0.0
        self._written = 0  # bytes written since the last sweep

    def path(self, key):
        """The file of an entry."""
        return f"{self.root}/{key[:2]}/{key}"

    def read(self, key):
        """The bytes of an entry as written, or None if there is none; raises BadEntry."""
        try:
            handle = os.open(self.path(key), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            status = os.fstat(handle)
            if not _trusted(status) or not self._trusted_folders(key):
                raise BadEntry("others may write it, or it belongs to somebody else")
            # The exact size: read() allocates as many bytes as are requested.
            chunks, left = [], status.st_size
            while left and (chunk := os.read(handle, left)):
                chunks.append(chunk)
                left -= len(chunk)
            # The last use, for eviction. It is updated at most once a minute, because writing a time costs more than reading it.
            if time.time() - status.st_mtime > _SWEEP_SECONDS:
                try:
                    os.utime(handle)
                except OSError:
                    pass
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except OSError as error:
            raise BadEntry(f"it cannot be read: {error.strerror}") from error
        finally:
            os.close(handle)

    def write(self, key, content):
        """Writes an entry (`pack`). Returns an empty string, or why it was not written."""
        if len(content) > self.limit:
            return f"an entry of {len(content)} bytes is over the limit of {self.limit}"
        target = self.path(key)
        folder = os.path.dirname(target)
        aside = os.path.join(folder, f".{key[:8]}-{os.getpid()}-{secrets.token_hex(4)}")
        try:
            self._make_folders(key)
            if not self._trusted_folders(key):
                return f"others may write {folder} or its parent, or it belongs to somebody else (chmod go-w, or set FRIT_CACHE_DIR)"
            handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.replace(aside, target)
            except BaseException:
                os.unlink(aside)
                raise
        except OSError as error:
            return f"{folder}: {error.strerror}"
        self._written += len(content)
        # Sweep once a minute, and when a fifth of the limit was written since, which is what a sweep frees.
        if time.monotonic() - self._swept > _SWEEP_SECONDS or self._written > self.limit // 5:
            self._swept, self._written = time.monotonic(), 0
            threading.Thread(target=self.sweep, name="frit-cache-sweep", daemon=True).start()
        return ""

    def drop(self, key):
        """Removes an entry if there is one."""
        try:
            os.unlink(self.path(key))
        except OSError:
            pass

    def entries(self):
        """(path, bytes, last use) of every entry; `.`-files are unfinished writes."""
        found = []
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path, follow_symlinks=False)
                except OSError:
                    continue  # another process has removed it
                if not name.startswith("."):
                    found.append((path, status.st_size, status.st_mtime))
                elif time.time() - status.st_mtime > _STALE_SECONDS:
                    _remove(path)
        return found

    def count_aliases(self):
        """How many entries are aliases."""
        count, start = 0, len(MAGIC) + _HEAD.size
        for path, size, _ in self.entries():
            try:
                with open(path, "rb") as file:
                    head = file.read(start)
            except OSError:
                continue
            count += len(head) == start and head.startswith(MAGIC) and size == start + _HEAD.unpack_from(head, len(MAGIC))[0]
        return count

    def sweep(self):
        """Evicts the least recently used entries until the rest is below four fifths of the limit."""
        found = sorted(self.entries(), key=lambda entry: entry[2])
        total = sum(size for _, size, _ in found)
        if total <= self.limit:
            return 0
        removed = 0
        for path, size, _ in found:
            if total <= self.limit * 4 // 5:
                break
            total -= size
            removed += _remove(path)
        return removed

    def clear(self):
        """Removes every entry and every unfinished write; returns how many entries there were."""
        count = 0
        for folder, _, names in os.walk(self.root, topdown=False):
            for name in names:
                count += _remove(os.path.join(folder, name)) and not name.startswith(".")
            try:
                os.rmdir(folder)
            except OSError:
                pass
        return count

    def verify(self):
        """Reads every entry and compares digests (`check.py` compares plans): (number of good entries, [(path, why it is bad)])."""
        good, bad = 0, []
        for path, _, _ in self.entries():
            key = os.path.basename(path)
            try:
                content = self.read(key)
                if content is not None:
                    unpack(key, content)
                    good += 1
            except BadEntry as why:
                bad.append((path, str(why)))
        return good, bad

    def _make_folders(self, key):
        """Makes each folder with its mode; `os.makedirs` would apply the mode to the innermost folder only."""
        for make, folder in ((os.makedirs, os.path.dirname(self.root)), (os.mkdir, self.root), (os.mkdir, os.path.dirname(self.path(key)))):
            try:
                make(folder, 0o700)
            except FileExistsError:
                pass

    def _trusted_folders(self, key):
        try:
            return _trusted(os.stat(self.root)) and _trusted(os.stat(f"{self.root}/{key[:2]}"))
        except OSError:
            return False


def _trusted(status):
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _remove(path):
    try:
        os.unlink(path)
        return 1
    except OSError:
        return 0
