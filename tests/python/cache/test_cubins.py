"""Cubins that the runtime keeps in the disk cache are entries as Python writes them: counted, checked, evicted and cleared with the others."""

import hashlib
import json
import os
import struct

import torch

from frit.cache import check, compiled_graphs, disk_cache

KEY = "a" * 64
# As in tests/unit/runtime/cuda/CubinStore.cpp.
DIGEST = "3a113517e06d38a774285e9b03d20a31038e9a4cd4190e962b295078dfbb47e1"


def text(value):
    return struct.pack("<Q", len(value)) + value


def entry():
    content = struct.pack("<Q", 2)
    for value, names in ((b"one\0two", (b"k0", b"k2")), (b"three", (b"k1",))):
        content += struct.pack("<Q", len(names)) + b"".join(map(text, names)) + text(value)
    described = {
        "artifact": hashlib.sha256(content).hexdigest(),
        "body": content[40:72].hex(),
        "bytes": len(content),
        "key": KEY,
        "kind": "cubins",
        "source": hashlib.sha256(b"").hexdigest(),
    }
    head = json.dumps(described).encode()
    return disk_cache.MAGIC + struct.pack("<I", len(head)) + hashlib.sha256(head).digest() + head + content


def test_the_runtimes_bytes_are_an_entry(tmp_path):
    content = entry()
    assert hashlib.sha256(content).hexdigest() == DIGEST
    cache = disk_cache.DiskCache(str(tmp_path))
    assert cache.write(KEY, content) == "" and disk_cache.unpack(KEY, cache.read(KEY))[0]["kind"] == "cubins"
    assert cache.verify() == (1, []) and cache.count_aliases() == 0
    found = check.check(cache, None)
    assert (found.good, found.bad, dict(found.skipped)) == (0, [], {check.CUBINS: 1})
    assert cache.clear() == 1


class Executable:
    def __init__(self):
        self.kept = []

    def keep_cubins(self, *where):
        self.kept.append(where)


def test_where_cubins_are_kept(folder, monkeypatch):
    settings = {"cache": True, "dump_dir": "", "poison": False}
    for change, expected in (({}, 1), ({"cache": False}, 0), ({"dump_dir": "/tmp/x"}, 0)):
        executable = Executable()
        compiled_graphs.keep_cubins(executable, {**settings, **change})
        assert len(executable.kept) == expected
    monkeypatch.setenv("FRIT_CACHE_LIMIT", "2MB")
    compiled_graphs._at.cache_clear()
    compiled_graphs.keep_cubins(executable, settings)
    assert executable.kept == [(os.path.join(str(folder), "v3"), 2 << 20)]
    compiled_graphs._at.cache_clear()


def test_executables_of_cpus_keep_none(folder):
    x = torch.randn(3)
    torch.testing.assert_close(torch.compile(lambda x: x.sin() + 1, backend="frit")(x), x.sin() + 1)
    store = compiled_graphs._store()
    assert store.entries() and check.check(store, compiled_graphs.native.compiler()).skipped[check.CUBINS] == 0
