"""The folder of stored artifacts: any problem with an entry or with the disk is a miss, and the program continues."""

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from frit.__main__ import main
from frit.cache import disk_cache
from frit.cache.disk_cache import BadEntry, DiskCache, pack, pack_source, unpack, unpack_source

KEY = "ab" + "0" * 62
OTHER = "cd" + "1" * 62
DESCRIPTION = {"constants": [], "devices": ["cpu"], "nodes": 3}


@pytest.fixture
def cache(tmp_path):
    return DiskCache(str(tmp_path / "frit"), limit=1 << 20)


def entry(key=KEY, artifact=b"artifact bytes"):
    return pack(key, DESCRIPTION, artifact, pack_source("graph", "{}", "a build"))


def test_what_is_written_is_read(cache):
    assert cache.read(KEY) is None
    assert cache.write(KEY, entry()) == ""
    description, artifact = unpack(KEY, cache.read(KEY))
    assert artifact == b"artifact bytes" and description["nodes"] == 3
    assert unpack_source(KEY, cache.read(KEY)) == ("graph", "{}", "a build")
    assert cache.read(OTHER) is None
    assert os.stat(cache.path(KEY)).st_mode & 0o777 == 0o600


def test_equal_graphs_give_equal_bytes():
    assert pack(KEY, {"a": 1, "b": 2}, b"x") == pack(KEY, {"b": 2, "a": 1}, b"x")


def test_every_flipped_byte_and_every_cut_is_refused():
    whole = entry()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        with pytest.raises((BadEntry, ValueError)):
            unpack(KEY, bytes(damaged))
        if place >= whole.index(b"artifact bytes") + len(b"artifact bytes"):
            unpack(KEY, bytes(damaged), reader_digests=True)  # not checked if the artifact is only run
            with pytest.raises(BadEntry, match="its source is damaged"):
                unpack_source(KEY, bytes(damaged))
    for length in range(len(whole)):
        with pytest.raises((BadEntry, ValueError)):
            unpack(KEY, whole[:length])
    with pytest.raises(BadEntry, match="damaged"):
        unpack(KEY, whole + b"more")


def test_an_entry_under_another_name_is_refused():
    with pytest.raises(BadEntry, match="another key"):
        unpack(OTHER, entry(KEY))


def test_files_that_others_may_write_are_not_believed(cache):
    cache.write(KEY, entry())
    os.chmod(cache.path(KEY), 0o622)
    with pytest.raises(BadEntry, match="others may write it"):
        cache.read(KEY)
    os.chmod(cache.path(KEY), 0o600)
    assert cache.read(KEY)
    os.chmod(os.path.dirname(cache.path(KEY)), 0o777)
    with pytest.raises(BadEntry, match="others may write it"):
        cache.read(KEY)


@pytest.mark.parametrize("mask", [0o002, 0o022, 0o077, 0o000])
def test_the_umask_does_not_open_what_is_made(cache, mask):
    before = os.umask(mask)
    try:
        assert cache.write(KEY, entry()) == ""
    finally:
        os.umask(before)
    assert cache.read(KEY) == entry()
    assert [os.stat(folder).st_mode & 0o777 for folder in (cache.root, os.path.dirname(cache.path(KEY)))] == [0o700, 0o700]


def test_a_write_that_no_read_would_believe_says_so(cache):
    os.makedirs(cache.root)
    os.chmod(cache.root, 0o775)
    assert "chmod go-w" in cache.write(KEY, entry())
    assert [name for _, _, names in os.walk(cache.root) for name in names] == []


def test_a_link_is_no_entry(cache, tmp_path):
    cache.write(KEY, entry())
    moved = tmp_path / "elsewhere"
    os.rename(cache.path(KEY), moved)
    os.symlink(moved, cache.path(KEY))
    assert cache.read(KEY) is None


@pytest.mark.parametrize("call", ["open", "replace", "makedirs", "mkdir"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_refuses_leaves_nothing_and_raises_nothing(cache, monkeypatch, call, code):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(disk_cache.os, call, refuse)
        assert os.strerror(code) in cache.write(KEY, entry())
    assert cache.read(KEY) is None
    assert [name for _, _, names in os.walk(cache.root) for name in names] == []


@pytest.mark.parametrize("size", [100, 200_000])
def test_a_disk_that_is_full_in_the_middle_of_a_write(cache, size):
    """A limit on file sizes simulates it: the write fails as on a full disk, immediately or when buffered bytes are flushed."""
    cache.write(OTHER, entry(OTHER))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
        assert "File too large" in cache.write(KEY, entry(KEY, bytes(size)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert cache.read(KEY) is None and cache.read(OTHER)
    assert [name for _, _, names in os.walk(cache.root) for name in names] == [OTHER]


@pytest.mark.parametrize("call", ["write", "close"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_write_or_a_close_that_fails_leaves_nothing(cache, monkeypatch, call, code):
    real = os.fdopen

    class Full:
        def __init__(self, *how):
            self._file = real(*how)

        def __enter__(self):
            return self

        def write(self, content):
            if call == "write":
                raise OSError(code, os.strerror(code))
            self._file.write(content)

        def __exit__(self, *_):
            self._file.close()
            if call == "close":
                raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(disk_cache.os, "fdopen", Full)
        assert os.strerror(code) in cache.write(KEY, entry())
    assert cache.read(KEY) is None
    assert [name for _, _, names in os.walk(cache.root) for name in names] == []


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "taken").write_text("x")
    cache = DiskCache(str(tmp_path / "taken"))
    assert cache.read(KEY) is None
    assert "Not a directory" in cache.write(KEY, entry())


def test_least_recently_used_entries_leave(cache):
    keys = [f"{i:02x}" + "0" * 62 for i in range(16)]
    now, limit = time.time(), cache.limit
    cache.limit = 1 << 30  # no sweep before the one below
    for age, key in enumerate(keys):
        cache.write(key, entry(key, bytes(100_000)))
        os.utime(cache.path(key), (now - 1000 * (20 - age),) * 2)
    wait_for_sweep()  # of the first write
    cache.limit = limit
    cache.read(keys[0])  # used just now
    cache.sweep()
    kept = [key for key in keys if cache.read(key) is not None]
    assert kept == [keys[0], *keys[-7:]]
    assert sum(size for _, size, _ in cache.entries()) <= cache.limit * 4 // 5
    assert "over the limit" in cache.write(KEY, entry(KEY, bytes(2 << 20)))


def wait_for_sweep():
    for thread in threading.enumerate():
        if thread.name == "frit-cache-sweep":
            thread.join(30)


def test_a_write_sweeps_in_a_thread_of_its_own(cache, monkeypatch):
    seen = []
    monkeypatch.setattr(DiskCache, "sweep", lambda self: seen.append(threading.current_thread().name))
    cache.write(KEY, entry())
    wait_for_sweep()
    assert seen == ["frit-cache-sweep"]
    cache.write(OTHER, entry(OTHER))
    wait_for_sweep()
    assert len(seen) == 1, "not for every small entry"


def test_a_burst_of_entries_stays_near_the_limit(cache):
    """Bytes written since the last sweep count, so a burst triggers a sweep before the minute is over."""
    for number in range(64):
        key = f"{number:02x}" + "0" * 62
        assert cache.write(key, entry(key, bytes(100_000))) == ""
        wait_for_sweep()
        assert sum(size for _, size, _ in cache.entries()) <= cache.limit * 5 // 4
    assert cache.read(key) is not None


def test_cut_off_writes_are_removed_when_old(cache):
    cache.write(KEY, entry())
    young, old = (os.path.join(os.path.dirname(cache.path(KEY)), name) for name in (".young", ".old"))
    for path in (young, old):
        with open(path, "wb") as file:
            file.write(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    assert len(cache.entries()) == 1
    assert os.path.exists(young) and not os.path.exists(old)


def test_the_command(cache, capsys):
    folder = os.path.dirname(cache.root)
    cache.write(KEY, entry())
    cache.write(OTHER, entry(OTHER))
    assert main(["cache", "status", "--dir", folder]) == 0
    assert "2 entries and 0 aliases" in capsys.readouterr().out
    assert main(["cache", "verify", "--dir", folder]) == 0
    with open(cache.path(KEY), "r+b") as file:
        file.truncate(20)
    assert main(["cache", "verify", "--dir", folder]) == 1
    out = capsys.readouterr().out
    assert "0 good entries, 1 bad, 1 skipped" in out and "skipped: 1 compiled by another build" in out
    assert main(["cache", "clear", "--dir", folder]) == 0
    assert "2 entries removed" in capsys.readouterr().out
    assert cache.entries() == []


def test_folders_by_environment(monkeypatch):
    for name in ("FRIT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/house")
    assert disk_cache.default_folder() == "/house/.cache/frit"
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert disk_cache.default_folder() == "/cache/frit"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/torch")
    assert disk_cache.default_folder() == "/torch/frit"
    # Not if torch itself has set the variable, which it does at some point.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), "torchinductor_somebody"))
    assert disk_cache.default_folder() == "/cache/frit"
    monkeypatch.setenv("FRIT_CACHE_DIR", "/mine")
    assert disk_cache.default_folder() == "/mine"
    for name in ("FRIT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(disk_cache.os.path, "expanduser", lambda path: path)  # nobody this user id belongs to
    assert disk_cache.default_folder() is None


_WORKER = """
import os, random, sys
from frit.cache.disk_cache import DiskCache, pack, unpack
seed = int(sys.argv[2])
children = []
for number in range(64):
    pid = os.fork()
    if pid:
        children.append(pid)
        continue
    try:
        chance = random.Random(seed * 64 + number)
        cache = DiskCache(sys.argv[1], limit=3 << 20)
        while True:
            key = f"{chance.randrange(24):02x}" + "0" * 62
            artifact = key.encode() * chance.randrange(1, 4000)
            content = cache.read(key)
            if content is not None:
                assert unpack(key, content)[1][:64] == key.encode()
            wrong = cache.write(key, pack(key, {"n": number}, artifact))
            assert not wrong or "No such file" in wrong, wrong
            if chance.random() < 0.02:
                cache.sweep()
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
print(*children, flush=True)
failed = 0
for pid in children:
    failed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
sys.exit(failed != 0)
"""


def test_64_processes_killed_at_random(tmp_path):
    """Partial writes are never visible: every remaining entry is complete, and no process had an error."""
    chance = random.Random(5)
    folder = str(tmp_path / "frit")
    started = subprocess.Popen(
        [sys.executable, "-c", _WORKER, folder, "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    children = [int(pid) for pid in started.stdout.readline().split()]
    assert len(children) == 64
    for pid in chance.sample(children, 64):
        time.sleep(chance.random() * 0.06)
        os.kill(pid, 9)
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    good, bad = DiskCache(folder).verify()
    assert not bad and good > 0
