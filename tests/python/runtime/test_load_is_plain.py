"""Loading and running a file starts no process, writes nothing, opens no other file, uses no network and unpickles nothing.

This is tested twice: a child process forbids itself the system calls (seccomp kills it if it makes one), and the sources and libraries of the
runtime are searched for such calls.
"""

import os
import platform
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build"))

#: Forbids system calls permanently: by number, openat if it may write, and clone unless it makes a thread.
SANDBOX = textwrap.dedent(
    """
    import ctypes, os, socket, struct, sys, torch, frit

    def forbid(numbers, writing_too):
        # Classic BPF over seccomp_data {nr, arch, ip, args[6]}.
        load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06
        allow, kill, not_there = 0x7FFF0000, 0x80000000, 0x00050000 | 38
        # clone3, whose flags lie in memory, is not there: clone is what comes then, with CLONE_THREAD or for a process.
        code = [(load, 0, 0, 0), (equal, 0, 1, 435), (give, 0, 0, not_there)]
        code += [(equal, 0, 4, 56), (load, 0, 0, 16), (any_bit, 1, 0, 0x10000), (give, 0, 0, kill), (load, 0, 0, 0)]
        for number in numbers:
            code += [(equal, 0, 1, number), (give, 0, 0, kill)]
        if writing_too:
            # openat(dir, path, flags): O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND.
            code += [(equal, 0, 3, 257), (load, 0, 0, 32), (any_bit, 0, 1, 0o3 | 0o100 | 0o1000 | 0o2000), (give, 0, 0, kill)]
        code += [(give, 0, 0, allow)]
        filters = b"".join(struct.pack("HBBI", *one) for one in code)
        memory = ctypes.create_string_buffer(filters)
        program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
        if libc.prctl(22, 2, program) != 0:
            print("no seccomp here", ctypes.get_errno())
            sys.exit(77)

    # fork, vfork, execve, execveat; socket, connect; rename, unlink, mkdir, link, symlink and their like.
    STARTING = [57, 58, 59, 322, 41, 42, 82, 264, 316, 87, 263, 83, 258, 86, 265, 88, 266]
    OPENING = [2, 257, 437, 85]

    def audit(event, arguments):
        if event.startswith(("pickle", "subprocess", "os.system", "os.exec", "os.fork", "os.posix_spawn", "socket", "marshal.load")):
            raise RuntimeError("audited: " + event)
        if event == "exec":
            raise RuntimeError("code is run")

    path, x = sys.argv[1], torch.ones(3, 4)
    expected = frit.load(path)(x)
    """
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return torch.softmax(self.linear(x), -1)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    torch.export.save(torch.export.export(Net(), (torch.ones(3, 4),)), folder / "m.pt2")
    subprocess.run([BUILD / "bin/frit-compile", folder / "m.pt2", "-o", folder / "m.frit"], check=True, capture_output=True)
    (folder / "m.frit").chmod(0o600)
    return folder / "m.frit"


def in_the_sandbox(body, path):
    done = subprocess.run([sys.executable, "-c", SANDBOX + textwrap.dedent(body), path], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("needs seccomp: " + done.stdout)
    return done


needs_linux = pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86-64: the numbers of system calls are its own")


@needs_linux
def test_a_file_is_loaded_and_run_without_a_process_and_without_writing(path):
    body = """
    sys.addaudithook(audit)
    forbid(STARTING, writing_too=True)
    assert torch.equal(frit.load(path, check_weights=True)(x), expected)
    print("loaded")
    """
    done = in_the_sandbox(body, path)
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr


@needs_linux
def test_calls_open_nothing(path):
    """After loading, a call opens no file at all."""
    body = """
    model = frit.load(path)
    sys.addaudithook(audit)
    forbid(STARTING + OPENING, writing_too=False)
    for _ in range(3):
        assert torch.equal(model(x), expected)
    print("ran")
    """
    done = in_the_sandbox(body, path)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


@needs_linux
@pytest.mark.parametrize(
    "act", ["open(path + '.new', 'w')", "os.system('true')", "os.fork()", "socket.socket()", "os.unlink(path + '.no')"]
)
def test_the_sandbox_itself_works(act, path):
    done = in_the_sandbox(f"forbid(STARTING, writing_too=True)\n{act}\nprint('alive')", path)
    assert (done.returncode, done.stdout) == (-31, ""), done.stderr


#: The sources that may open files, and identifiers that only look like a call that opens one.
OPENERS = {
    "runtime/artifact/Artifact.cpp": {"open"},
    # For graphs of torch.compile, which keep cubins in the disk cache; what loads a file asks for none.
    "runtime/cuda/CubinStore.cpp": {"open"},
    "runtime/standalone/Npy.cpp": {"std::ifstream", "std::ofstream"},
}
FILES = r"(?<!\w)(?:::open|::openat|fopen|std::[io]?fstream)\b"
NEVER = r"(?<!\w)(?:popen|execve?|execvp|execl|posix_spawnp?|v?fork|std::system|::system)\s*\(|\bpickle\b|Unpickler|torch::load|jit::load"


def code_of(path):
    """Returns the source without comments and strings."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", path.read_text(), flags=re.DOTALL)


def test_the_runtime_has_no_word_for_a_process_a_pickle_or_another_file():
    sources = [*(ROOT / "runtime").rglob("*.cpp"), *(ROOT / "runtime").rglob("*.h")]
    assert len(sources) > 60
    for source in sources:
        text, name = code_of(source), source.relative_to(ROOT).as_posix()
        assert not re.search(NEVER, text), f"{name}: {re.search(NEVER, text).group()}"
        found = {word.removeprefix("::") for word in re.findall(FILES, text)}
        assert found <= OPENERS.get(name, set()), f"{name} opens files: {found}"
    loading = (ROOT / "python/frit/loading.py").read_text()
    asking = [path for path in (ROOT / "runtime").rglob("*.cpp") if re.search(r"keepCubins|CubinStore\b", code_of(path))]
    assert {path.parent.name for path in asking} == {"cuda", "torch"} and "keep_cubins" not in loading
    assert not re.search(r"^\s*(?:import|from)\s+(?:pickle|subprocess|marshal|shelve)|(?<![.\w])open\(|torch\.load|\beval\(|\bexec\(", loading, re.MULTILINE)


def test_the_runtime_is_linked_to_nothing_that_starts_a_process():
    library = BUILD / "lib/libfrit_runtime.so"
    symbols = subprocess.run(["nm", "--dynamic", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in symbols.splitlines() if line.strip()}
    assert "mmap" in names, "the symbols were read"
    never = {"system", "popen", "fork", "vfork", "execve", "execv", "execvp", "execl", "execlp", "posix_spawn", "posix_spawnp", "socket", "connect"}
    assert not names & never, names & never
