"""The process that has imported torch, and forks one child for each request.

Run as `python server.py DESCRIPTOR`, where the descriptor is a socket of the client in __init__.py. A request is a byte with four descriptors: a socket
of its own, and the child's standard input, output and error. The child reads what to run from its socket; the server writes to it the child's number and,
after the child's end, its exit status. The child leaves the loop and ends as the interpreter does: it waits for threads, calls what `atexit` registered
and destroys what is global.
"""

import sys

# What an interpreter without PYTHONPATH looks through after the first entry, which is the folder of the program.
INSTALLED = sys.path[1:]

import gc  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import select  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import struct  # noqa: E402
import types  # noqa: E402

# A process that is started in the background ignores interrupts, and so do the processes that it starts.
INTERRUPTS = signal.getsignal(signal.SIGINT)

# Nothing of frit: it reads its variables when it is imported. What a first compilation imports of torch, and numpy; an older torch lacks some.
MODULES = (
    "torch",
    "torch._dynamo",
    "torch._dynamo.backends.cudagraphs",
    "torch._dynamo.backends.distributed",
    "torch._dynamo.backends.inductor",
    "torch._dynamo.backends.onnxrt",
    "torch._dynamo.backends.tensorrt",
    "torch._dynamo.backends.torchxla",
    "torch._dynamo.backends.tvm",
    "torch._dynamo.repro.after_dynamo",
    "torch._functorch.aot_autograd",
    "torch._functorch._aot_autograd.subclass_codegen",
    "torch._inductor.compile_fx",
    "torch._inductor.compiler_bisector",
    "torch._subclasses.schema_check_mode",
    "torch.export._trace",
    "torch.fx.experimental.validator",
)


def receive(channel):
    """A message: its length in four bytes, then JSON."""
    (length,) = struct.unpack("!I", _exactly(channel, 4))
    return json.loads(_exactly(channel, length))


def send(channel, message):
    data = json.dumps(message).encode()
    channel.sendall(struct.pack("!I", len(data)) + data)


def _exactly(channel, count):
    data = b""
    while len(data) < count:
        part = channel.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def warmed():
    """Imports what a child finds imported."""
    given = dict(os.environ)
    for name in MODULES:
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)
    gc.collect()
    # Children share these objects' pages as long as no collection writes to them.
    gc.freeze()
    # BLAS ends its threads at a fork and starts them again when it needs them. Nobody else may have any: a fork copies none, but what they hold locked.
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert len(os.listdir("/proc/self/task")) == 1, "an import started a thread"
    # `prepare` sees to this variable.
    given["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TORCHINDUCTOR_CACHE_DIR"]
    assert given == dict(os.environ), "an import changed the environment"


def serve(connection):
    """Returns in each child, with the socket of its request; the server ends here."""
    running = {}  # the descriptor of a child -> (its number, the socket of its request)
    while True:
        ready, _, _ = select.select([connection, *running], [], [])
        for done in ready:
            if done is connection:
                continue
            child, channel = running.pop(done)
            _, status = os.waitpid(child, 0)
            os.close(done)
            try:
                send(channel, os.waitstatus_to_exitcode(status))
            except BrokenPipeError:
                pass
            channel.close()
        if connection not in ready:
            continue
        said, descriptors, _, _ = socket.recv_fds(connection, 1, 4)
        if not said:
            for child, _ in running.values():
                os.kill(child, signal.SIGKILL)
            sys.exit()
        channel = socket.socket(fileno=descriptors[0])
        child = os.fork()
        if child == 0:
            connection.close()
            for done, (_, other) in running.items():
                os.close(done)
                other.close()
            for number, descriptor in enumerate(descriptors[1:]):
                os.dup2(descriptor, number)
                os.close(descriptor)
            return channel
        send(channel, child)
        running[os.pidfd_open(child)] = child, channel
        for descriptor in descriptors[1:]:
            os.close(descriptor)


def prepare(request):
    """Makes the child what `python` with these words would be, and returns its code and its `__main__`."""
    signal.signal(signal.SIGINT, INTERRUPTS)
    os.environ.clear()
    os.environ.update(request["env"])
    was = os.getcwd()
    os.chdir(request["cwd"])
    # Some settings of torch are folders in the one where it was imported, here this file's, in which nothing else lies.
    for config in (sys.modules["torch._dynamo.config"], sys.modules["torch._inductor.config"]):
        for entry in config._config.values():
            if isinstance(entry.default, str) and (entry.default + "/").startswith(was + "/"):
                entry.default = os.getcwd() + entry.default[len(was) :]
    # Torch writes the folder of its cache to the environment when it is imported, and it may be a temporary one.
    sys.modules["tempfile"].tempdir = None
    folder = sys.modules["torch._inductor.runtime.cache_dir_utils"].cache_dir()
    sys.modules["torch._dynamo.package"].DynamoCache._path_prefix = os.path.join(folder, "dynamo")
    # The switches of `fresh._SWITCHES`, as torch's configuration reads them.
    if (value := os.environ.get("TORCHINDUCTOR_AUTOGRAD_CACHE")) is not None:
        sys.modules["torch._functorch.config"]._config["enable_autograd_cache"].env_value_force = value == "1"
    sys.modules["torch._dynamo.config"]._config["caching_precompile"].default = os.environ.get("TORCH_CACHING_PRECOMPILE") == "1"
    # New processes draw different numbers. `random` sees to that itself after a fork.
    sys.modules["numpy"].random.seed()
    sys.modules["torch"].default_generator.seed()
    first, *more = request["arguments"]
    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    module.__annotations__ = {}
    if first == "-c":
        folder, file, source = "", "<string>", more.pop(0)
        module.__loader__ = importlib.machinery.BuiltinImporter
    else:
        file = os.path.abspath(first)
        folder = os.path.dirname(os.path.realpath(file))
        with open(file, "rb") as opened:
            source = opened.read()
        module.__file__, module.__cached__ = file, None
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", file)
    sys.argv = [first, *more]
    sys.orig_argv = [sys.executable, *request["arguments"]]
    named = [os.path.abspath(entry) for entry in os.environ["PYTHONPATH"].split(os.pathsep)] if os.environ.get("PYTHONPATH") else []
    sys.path[:] = [folder, *dict.fromkeys(named + INSTALLED)]
    importlib.invalidate_caches()
    sys.modules["__main__"] = module
    return source, file, module


def without_frames_of_this_file(hook):
    def print_exception(kind, error, traceback):
        while traceback and traceback.tb_frame.f_code.co_filename == __file__:
            traceback = traceback.tb_next
        error.__traceback__ = traceback
        hook(kind, error, traceback)

    return print_exception


if __name__ == "__main__":
    # An interrupt of the terminal is for the tests, whose end is this process's.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _connection = socket.socket(fileno=int(sys.argv[1]))
    warmed()
    send(_connection, sorted({name.partition(".")[0] for name in sys.modules}))
    _channel = serve(_connection)
    _source, _file, _module = prepare(receive(_channel))
    _channel.close()
    try:
        exec(compile(_source, _file, "exec", dont_inherit=True), _module.__dict__)
    except BaseException:
        sys.excepthook = without_frames_of_this_file(sys.excepthook)
        raise
