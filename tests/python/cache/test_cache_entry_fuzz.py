"""Fuzzes entries of the disk cache for a minute: the result is a hit or a counted miss, never an exception.

The reader is written in Python, so this is not a libFuzzer target; the reader of the artifact, which is native code, is one (tests/fuzz). Half of
the inputs have valid digests, so that the checks behind the digests are reached.
"""

import json
import os
import random
import struct
import time
from hashlib import sha256

import pytest
import torch
from torch._dynamo.utils import counters

from frit import _C, options
from frit.cache import compiled_graphs, disk_cache
from frit.cache.summary import is_summary, summary
from frit.capture.graph import capture

# For a longer run: FRIT_TEST_FUZZ_SECONDS=3600 FRIT_TEST_FUZZ_SEED=... pytest ... The default seed is fixed, so
# findings are reproducible.
SECONDS = int(os.environ.get("FRIT_TEST_FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("FRIT_TEST_FUZZ_SEED", "1"))


class Constants(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = torch.arange(4.0)

    def forward(self, x):
        return x.sin() + self.held


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """Returns (graph, key, bytes of its entry, the store)."""
    monkeypatch.setenv("FRIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("FRIT_CACHE", "1")
    # pytest stores each warning, and with it the frames that refer to the entry.
    monkeypatch.setattr(compiled_graphs.log, "disabled", True)
    graph = torch.fx.experimental.proxy_tensor.make_fx(Constants())(torch.randn(4))
    captured = capture(graph)
    result = _C.compile(captured.json, json.dumps({"name": "main"}))
    key = compiled_graphs.key_of(graph, options.resolve())
    description = {"constants": captured.constant_names, "devices": ["cpu"], "nodes": captured.nodes, "symbols": [], "summary": summary(json.loads(result.report))}
    yield graph, key, disk_cache.pack(key, description, result.artifact), disk_cache.DiskCache(str(tmp_path))
    counters["frit"].clear()


def damaged_value(draw, value, depth=0):
    """Draws JSON that differs from `value` somewhere."""
    strange = [None, True, -1, 1 << 70, 1e308, "", "cuda:9999", "a.b.c", "__class__.__init__", [], [[]], {}, {"key": 1}, [None] * 50]
    if draw.random() < 0.3 or depth > 3 or not isinstance(value, (dict, list)) or not value:
        return draw.choice(strange)
    if isinstance(value, dict):
        changed = dict(value)
        name = draw.choice(list(changed))
        if draw.random() < 0.2:
            del changed[name]
        else:
            changed[name] = damaged_value(draw, changed[name], depth + 1)
        return changed
    changed = list(value)
    place = draw.randrange(len(changed))
    changed[place] = damaged_value(draw, changed[place], depth + 1)
    return changed


def damaged_bytes(draw, content):
    content = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8])):
        place = draw.randrange(len(content) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            content[place:] = b""
        elif kind == 1:
            content[place : place + 1] = bytes([draw.randrange(256)])
        elif kind == 2:
            content[place:place] = draw.randbytes(draw.choice([1, 4, 100]))
        else:
            content[place : place + draw.choice([1, 4, 100])] = b""
    return bytes(content)


def with_text(text, artifact):
    return disk_cache.MAGIC + struct.pack("<I32s", len(text), sha256(text).digest()) + text + artifact


def damaged(draw, key, content):
    description, artifact = disk_cache.unpack(key, content)
    kind = draw.randrange(5)
    if kind == 0:
        return damaged_bytes(draw, content)
    if kind == 1:  # another description with a valid digest
        return with_text(json.dumps(damaged_value(draw, description)).encode(), artifact)
    if kind == 2:  # a description that is not JSON, or nested too deeply
        text = json.dumps(description).encode()
        return with_text(draw.choice([damaged_bytes(draw, text), b"[" * 200_000, b'{"a":' * 100_000, b"\xff\xfe", b"NaN"]), artifact)
    if kind == 3:  # another artifact, and all digests of the entry are valid
        return disk_cache.pack(key, description, damaged_bytes(draw, artifact))
    # As before, but the artifact's own digest is valid too.
    body = bytearray(damaged_bytes(draw, artifact))
    if len(body) > 128:
        body[40:72] = bytes(32)
        end = 128 + min(struct.unpack_from("<Q", body, 16)[0], len(body))
        body[40:72] = sha256(bytes(body[:end])).digest()
    return disk_cache.pack(key, description, bytes(body))


def names_what_left(key, content, store):
    """Whether this is an alias of a missing entry, which is valid because the entry may have been evicted."""
    try:
        named = disk_cache.unpack(key, content, reader_digests=True)[0].get("same_as")
    except disk_cache.BadEntry:
        return False
    return disk_cache.is_key(named) and store.read(named) is None


@pytest.mark.parametrize("kind", ["entry", "alias"])
def test_a_minute_of_damaged_entries(entry, kind):
    graph, key, content, store = entry
    assert compiled_graphs.load(key, graph) is None  # the cache is empty
    if kind == "alias":
        other = "ab" * 32
        description, artifact = disk_cache.unpack(key, content)
        store.write(other, disk_cache.pack(other, description, artifact))
        content = disk_cache.pack(key, {**description, "same_as": other}, b"")
    store.write(key, content)
    assert compiled_graphs.load(key, graph) is not None
    draw, outcomes, end = random.Random(SEED), {"hit": 0, "miss": 0}, time.monotonic() + SECONDS / 2
    while time.monotonic() < end:
        bad = damaged(draw, key, content)
        assert store.write(key, bad) == ""
        tally = counters["frit"]
        before = tally["cache_hits"], tally["cache_bad_entries"]
        try:
            found = compiled_graphs.load(key, graph)
        except BaseException as error:
            raise AssertionError(f"seed {SEED}: {bad[:4000]!r}") from error
        bad_entries = int(not found and not names_what_left(key, bad, store))
        assert (tally["cache_hits"], tally["cache_bad_entries"]) == (before[0] + bool(found), before[1] + bad_entries), SEED
        assert not found or (type(found[0].nodes) is int and is_summary(found[3]))
        outcomes["hit" if found else "miss"] += 1
    assert min(outcomes.values()) > 10, outcomes
