"""Fresh Python processes for tests, without the seconds in which each imports torch.

`run(["-c", program, *arguments])` and `run([file, *arguments])` mean what `subprocess.run([sys.executable, ...], capture_output=True, text=True)` means.
A server (server.py) has imported torch but not frit, and forks a child that runs the program. Whatever a child could inherit that it would not have read
itself makes the function start a plain process instead: other switches of the interpreter, another value of a variable that is not listed below, a file
beside the program that has the name of an imported module. So a caller need not know which of the two it gets.
"""

import atexit
import collections
import os
import select
import socket
import subprocess
import sys
import tempfile

from .server import receive, send

_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py")
# Variables that neither the interpreter nor torch nor what torch imports reads before the program runs: frit's (the server has no frit), pytest's, and
# those for other programs. HOME is looked up when it is used.
_READ_LATER = {"COLUMNS", "HOME", "LINES", "OLDPWD", "PATH", "PWD", "SHLVL", "XDG_CACHE_HOME", "_"}
# Variables that `server.prepare` follows; the switches if they are on or off.
_FOLLOWED = {"PYTHONPATH", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR"}
_SWITCHES = {"TORCHINDUCTOR_AUTOGRAD_CACHE", "TORCH_CACHING_PRECOMPILE"}
_READ_LATER_TOO = ("FRIT_", "PYTEST_")
#: A server has 350 MB. A file of tests uses one environment, seldom two, so the one used longest ago ends.
MOST_SERVERS = 3


class _Server:
    def __init__(self, environment):
        self.connection, theirs = socket.socketpair()
        command = [sys.executable, _SERVER, str(theirs.fileno())]
        how = {"env": environment, "cwd": os.path.dirname(_SERVER), "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], **how)
        theirs.close()
        self.imported = None

    def ready(self):
        if self.imported is None:
            self.imported = set(receive(self.connection))
        return self.imported

    def end(self):
        self.connection.close()
        self.process.wait()


_SERVERS = collections.OrderedDict()
_ASKED = collections.Counter()


@atexit.register
def end():
    """Ends the servers."""
    while _SERVERS:
        _SERVERS.popitem()[1].end()


def _read_first(environment):
    follows = {*_READ_LATER, *_FOLLOWED, *(name for name in _SWITCHES if environment.get(name) in ("0", "1"))}
    return {name: value for name, value in environment.items() if name not in follows and not name.startswith(_READ_LATER_TOO)}


def _server(environment, hashes):
    """The server for an environment; None at the first request, because a server pays only from the second."""
    environment = _read_first(environment)
    kind = hashes, *sorted(environment.items())
    _ASKED[kind] += 1
    if kind in _SERVERS:
        _SERVERS.move_to_end(kind)
    elif _ASKED[kind] > 1:
        while len(_SERVERS) >= MOST_SERVERS:
            _SERVERS.popitem(last=False)[1].end()
        _SERVERS[kind] = _Server(environment)
    return _SERVERS.get(kind)


def _hidden(folders, imported):
    """Whether a folder that is looked through before the installed packages has a module of the same name as one that is imported already."""
    for folder in folders:
        try:
            entries = list(os.scandir(folder or os.curdir))
        except OSError:
            continue
        for entry in entries:
            name, *suffixes = entry.name.split(".")
            is_module = suffixes[-1:] in (["py"], ["pyc"], ["so"]) or os.path.exists(os.path.join(entry.path, "__init__.py"))
            if is_module and name in imported | {"sitecustomize", "usercustomize"}:
                return True
    return False


def _installed(folder):
    return os.path.abspath(folder) in map(os.path.abspath, sys.path) and folder.startswith((sys.prefix, sys.base_prefix))


class Child:
    """A forked child, with the part of subprocess.Popen's interface that tests use."""

    def __init__(self, server, arguments, environment, cwd):
        self.args = [sys.executable, *arguments]
        self.returncode = None
        self._out, self._err = tempfile.TemporaryFile("w+b"), tempfile.TemporaryFile("w+b")
        self._channel, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(server.connection, [b"."], [theirs.fileno(), 0, self._out.fileno(), self._err.fileno()])
        send(self._channel, {"arguments": arguments, "env": environment, "cwd": cwd})
        self.pid = receive(self._channel)

    def wait(self, timeout=None):
        if self.returncode is None:
            ready, _, _ = select.select([self._channel], [], [], timeout)
            if not ready:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = receive(self._channel)
            self._channel.close()
        return self.returncode

    def poll(self):
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, timeout=None):
        self.wait(timeout)
        said = []
        for file in (self._out, self._err):
            file.seek(0)
            said.append(file.read().decode().replace("\r\n", "\n").replace("\r", "\n"))
        return tuple(said)

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(9)


def start(arguments, *, env=None, cwd=None, hashes=0):
    """As `subprocess.Popen([sys.executable, *arguments], stdout=PIPE, stderr=PIPE, text=True)`."""
    arguments = [os.fspath(word) for word in arguments]
    environment = dict(os.environ if env is None else env)
    where = os.path.abspath(cwd or os.curdir)
    is_text, first = arguments[0] == "-c", os.path.join(where, arguments[0])
    if is_text or (not arguments[0].startswith("-") and os.path.isfile(first)):
        server = _server(environment, hashes)
        if server is not None:
            named = environment.get("PYTHONPATH", "").split(os.pathsep) if environment.get("PYTHONPATH") else []
            folders = [where if is_text else os.path.dirname(os.path.realpath(first)), *(os.path.join(where, name) for name in named if not _installed(name))]
            if not _hidden(folders, server.ready()):
                return Child(server, arguments, environment, where)
    return subprocess.Popen([sys.executable, *arguments], env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(arguments, *, env=None, cwd=None, check=False, timeout=None, hashes=0):
    """As `subprocess.run([sys.executable, *arguments], capture_output=True, text=True)`. Strings hash alike in all children of a server. Where a test
    compares processes whose hashes must not matter, it gives `hashes` two values, for two servers."""
    child = start(arguments, env=env, cwd=cwd, hashes=hashes)
    try:
        out, err = child.communicate(timeout=timeout)
    except BaseException:
        child.kill()
        child.wait()
        raise
    done = subprocess.CompletedProcess(child.args, child.returncode, out, err)
    if check:
        done.check_returncode()
    return done
