"""Ctrl-C ends a call whose loop has no end."""

import signal
import subprocess
import sys

import pytest

# A thread says "ready" once the main thread has stayed at one instruction of Python for a while: it is in the loop.
PROGRAM = """
import signal, sys, threading, time
import torch
from torch._higher_order_ops.while_loop import while_loop

# A process that was started in the background ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

def forever(n, x):
    return while_loop(lambda n, x: n >= 0, lambda n, x: (n * 0 + 1, x.cos()), (n, x))

def within(n, x):
    return while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, torch.cond(x.sum() > 9, lambda x: forever(n * 0, x)[1], lambda x: x * 1, (x,))), (n, x))

compiled = torch.compile(KIND, backend="frit", fullgraph=True)
if KIND is forever:
    compiled(torch.tensor(-1), torch.ones(2))
else:
    compiled(torch.tensor(0), torch.ones(2))

def watch(main=threading.main_thread().ident):
    still, before = 0, None
    while still < 20:
        frame = sys._current_frames()[main]
        now = id(frame), frame.f_lasti
        still = still + 1 if now == before else 0
        before = now
        del frame
        time.sleep(0.02)
    print("ready", flush=True)

threading.Thread(target=watch, daemon=True).start()
compiled(torch.tensor(0), torch.full((2,), 9.0))
print("ended", flush=True)
"""


@pytest.mark.parametrize("kind", ["forever", "within"])
def test_a_loop_without_an_end(kind):
    child = subprocess.Popen([sys.executable, "-c", PROGRAM.replace("KIND", kind)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = child.stdout.readline()
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate()
    finally:
        child.kill()
    assert line == "ready\n", errors
    assert output == "" and errors.rstrip().endswith("KeyboardInterrupt") and child.returncode == -signal.SIGINT
