"""The processes that tests fork (support/fresh): each is what a plain process is."""

import json
import os
import subprocess
import sys
import textwrap

import fresh
import fresh.server
import pytest

STATE = textwrap.dedent("""
    import sys
    modules = set(sys.modules)
    def text(value):
        return str(sorted(map(str, value)) if isinstance(value, (set, frozenset)) else value).partition(" at 0x")[0]
    main = sys.modules["__main__"]
    state = {
        "argv": sys.argv, "orig": sys.orig_argv, "path": sys.path, "flags": str(sys.flags), "warnings": sys.warnoptions, "x": str(sys._xoptions),
        "main": sorted(name for name in vars(main) if name.startswith("__")), "file": vars(main).get("__file__"), "spec": str(main.__spec__),
        "loader": str(main.__loader__).partition(" at ")[0], "name": __name__, "limit": sys.getrecursionlimit(), "exe": sys.executable,
    }
    import os, signal, threading, tempfile, random, gc
    state["cwd"], state["environ"] = os.getcwd(), {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    state["signals"] = [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())]
    state["streams"] = [str((s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.isatty())) for s in (sys.stdin, sys.stdout, sys.stderr)]
    state["descriptors"] = sorted(int(name) for name in os.listdir("/proc/self/fd"))[:4]
    state["group"], state["threads"] = os.getpgrp(), threading.active_count()
    import importlib, numpy, torch, warnings, logging
    for name in MODULES:
        importlib.import_module(name)
    state["temporary"], state["filters"] = tempfile.gettempdir(), sorted(map(str, warnings.filters))
    state["numbers"] = torch.get_num_threads(), torch.get_num_interop_threads(), gc.get_threshold(), gc.isenabled(), torch.is_grad_enabled()
    state["dtype"] = str(torch.get_default_dtype())
    state["log"] = sorted((name, str(one).partition(" at 0x")[0]) for name, one in logging.root.manager.loggerDict.items())
    for config in (torch._dynamo.config, torch._functorch.config, torch._inductor.config):
        state[config.__name__] = {name: text(value) for name, value in config.get_config_copy().items()}
    state["later"], state["dynamo's"] = dict(os.environ), torch._dynamo.package.DynamoCache.path_prefix()
    frit = sorted(name for name in modules if name.partition(".")[0] == "frit")
    drawn = random.random(), float(numpy.random.rand()), torch.rand(1).item()
    import json
    print(json.dumps({"state": state, "frit": frit, "drawn": drawn}))
""").replace("MODULES", repr(fresh.server.MODULES))


def plain(arguments, **how):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **how)


def forked(arguments, **how):
    """Asks for the environment before, because its first request starts a plain process."""
    fresh.start(["-c", "pass"], **how).communicate()
    child = fresh.start(arguments, **how)
    assert isinstance(child, fresh.Child)
    out, err = child.communicate()
    return subprocess.CompletedProcess(child.args, child.returncode, out, err)


@pytest.mark.parametrize("kind", ["text", "file"])
def test_a_child_has_the_state_of_a_plain_process(kind, tmp_path):
    (tmp_path / "link").mkdir()
    (tmp_path / "program.py").write_text(STATE)
    (tmp_path / "link" / "link.py").symlink_to(tmp_path / "program.py")
    arguments = ["-c", STATE, "one", "-two"] if kind == "text" else ["link/link.py", "one"]
    named = os.pathsep.join([os.environ.get("PYTHONPATH", ""), "relative", str(tmp_path), "relative", ""])
    given = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    followed = {"TORCHINDUCTOR_CACHE_DIR": "kernels", "TORCH_CACHING_PRECOMPILE": "1"} if kind == "text" else {"TMPDIR": str(tmp_path / "link")}
    how = {"cwd": tmp_path, "env": {**given, **followed, "TORCHINDUCTOR_AUTOGRAD_CACHE": "01"[kind == "text"], "PYTHONPATH": named, "FRIT_X": "ä\udc80"}}
    one, two = (json.loads(runner(arguments, **how).stdout) for runner in (plain, forked))
    assert two["state"] == one["state"]
    assert two["frit"] == []


def test_children_draw_different_random_numbers():
    program = "import random, numpy, torch; print(random.random(), float(numpy.random.rand()), torch.rand(1).item())"
    one, two = (forked(["-c", program]).stdout.split() for _ in range(2))
    assert len(set(one + two)) == 6


ENDS = {
    "an exception": "import sys\nprint('out')\ndef f():\n    1 / 0\nf()",
    "an exception in a chain": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('b') from e",
    "no syntax": "def f(:\n    pass",
    "a status": "import sys\nprint('out')\nsys.exit(7)",
    "a status that is text": "import sys\nsys.exit('said')",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "at once": "import os\nprint('lost')\nos._exit(5)",
    "a hook": "import sys\nsys.excepthook = lambda kind, error, traceback: print(kind, traceback.tb_lineno)\n1 / 0",
    "the last things": """
import atexit, threading, time
class Last:
    def __del__(self):
        print("deleted")
last = Last()
atexit.register(print, "at exit")
threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
print("first")
""",
    "a class of the program": """
import inspect, pickle
class Local:
    pass
assert type(pickle.loads(pickle.dumps(Local()))) is Local
print(__name__, inspect.getsource(Local))
""",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_child_ends_as_a_plain_process(name, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(ENDS[name])
    one, two = (runner([file]) for runner in (plain, forked))
    assert (two.returncode, two.stdout, two.stderr) == (one.returncode, one.stdout, one.stderr)
    if "\nf()" in ENDS[name] or name == "no syntax":
        one, two = (runner(["-c", ENDS[name]]) for runner in (plain, forked))
        assert (two.returncode, two.stdout, two.stderr) == (one.returncode, one.stdout, one.stderr)


def test_what_a_child_would_not_read_itself_starts_a_plain_process(tmp_path):
    program = ["-c", "pass"]
    forked(program)

    def is_forked(arguments, env=None, cwd=None):
        child = fresh.start(arguments, env={**os.environ, **(env or {})}, cwd=cwd)
        child.communicate()
        return isinstance(child, fresh.Child)

    assert is_forked(program) and is_forked(program, {"FRIT_LOGS": "all", "HOME": "/", "PATH": "/"})
    for name in ("PYTHONHASHSEED", "OMP_NUM_THREADS", "TORCH_LOGS", "TORCHINDUCTOR_AUTOGRAD_CACHE", "LD_PRELOAD"):
        assert not is_forked(program, {name: ""})
    for switches in (["-W", "ignore"], ["-S"], ["-Xutf8"]):
        assert not is_forked([*switches, *program])
    assert not is_forked(["-m", "this"]) and not is_forked([tmp_path])
    file = tmp_path / "program.py"
    file.touch()
    for name in ("torch.py", "json.cpython-311-x86_64-linux-gnu.so", "sitecustomize.py"):
        (tmp_path / name).touch()
        assert not is_forked(program, {"PYTHONPATH": str(tmp_path)}) and not is_forked(program, cwd=tmp_path) and not is_forked([file])
        (tmp_path / name).unlink()
    assert is_forked(program, {"PYTHONPATH": str(tmp_path)}) and is_forked(program, cwd=tmp_path) and is_forked([file])


def test_an_environment_that_is_asked_for_again_has_a_server(monkeypatch):
    class Server:
        def __init__(self, environment):
            self.environment, self.ended = environment, False

        def end(self):
            self.ended = True

    monkeypatch.setattr(fresh, "_Server", Server)
    monkeypatch.setattr(fresh, "_SERVERS", type(fresh._SERVERS)())
    monkeypatch.setattr(fresh, "_ASKED", type(fresh._ASKED)())
    found = []
    for name in "abcd":
        assert fresh._server({"FRIT_LOGS": name, "TORCH_LOGS": name}, 0) is None
        found.append(fresh._server({"TORCH_LOGS": name, "HOME": name}, 0))
        assert found[-1].environment == {"TORCH_LOGS": name}
        assert fresh._server({"TORCH_LOGS": "a"}, 0) is found[0], "used again and again, so it stays"
    assert [server.ended for server in found] == [False, True, False, False]
    assert fresh._server({"TORCH_LOGS": "a"}, 1) is None and fresh._server({"TORCH_LOGS": "a"}, 1) is not found[0]


def test_a_child_that_takes_too_long_is_killed():
    fresh.run(["-c", "pass"])
    child = fresh.start(["-c", "import time; time.sleep(600)"])
    with pytest.raises(subprocess.TimeoutExpired):
        child.communicate(timeout=0.1)
    assert child.poll() is None
    child.kill()
    assert child.wait() == -9
    with pytest.raises(subprocess.TimeoutExpired):
        fresh.run(["-c", "import time; time.sleep(600)"], timeout=0.1)


def test_children_run_beside_each_other(tmp_path):
    """Each waits for the file of the next."""
    program = "import os, sys, time\nopen(sys.argv[1], 'w').close()\nwhile not os.path.exists(sys.argv[2]):\n    time.sleep(0.01)\nprint(sys.argv[1])"
    children = [fresh.start(["-c", program, tmp_path / str(i), tmp_path / str((i + 1) % 4)]) for i in range(4)]
    assert [child.communicate()[0].strip() for child in children] == [str(tmp_path / str(i)) for i in range(4)]


def test_no_variable_that_may_differ_is_read_by_an_import():
    """What the interpreter reads before is in its manual; of these variables only PATH, to find itself if it was started by a name without folder."""
    program = """
import os, sys
sys.path.insert(0, sys.argv[1])
read, kind = set(), type(os.environ)
get = kind.__getitem__
def noted(self, name):
    caller = sys._getframe(1)
    while caller.f_code.co_filename.startswith("<frozen"):
        caller = caller.f_back
    # Two libraries look through all names for their own, and sysconfig asks for the folder of a user's packages, which a virtual environment has not.
    if not caller.f_code.co_filename.endswith(("tqdm/utils.py", "networkx/utils/backends.py", "sysconfig.py", "server.py")):
        read.add(name)
    return get(self, name)
kind.__getitem__ = noted
import server
server.warmed()
print(*read)
"""
    folder = os.path.dirname(fresh.__file__)
    later = {name: "/nowhere" for name in fresh._READ_LATER - {"PATH"}}
    done = plain(["-c", program, folder], env={**os.environ, **later, "FRIT_LOGS": "all"})
    assert done.returncode == 0, done.stderr
    read = set(done.stdout.split())
    assert "TORCHINDUCTOR_CACHE_DIR" in read and "TORCH_LOGS" in read
    assert not [name for name in read if name in fresh._READ_LATER or name.startswith(fresh._READ_LATER_TOO)]
