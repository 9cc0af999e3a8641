"""Options, modes and log names: what exists is accepted, what does not names its nearest neighbour."""

import logging
import os
import subprocess
import sys

import pytest
import torch

from frit import logs, options
from frit.errors import OptionError


def double(x):
    return x * 2


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_the_four_modes_are_accepted(mode, interpreted):
    assert torch.compile(double, backend="frit", mode=mode)(torch.ones(3)).tolist() == [2, 2, 2]
    torch.compiler.reset()
    assert torch.compile(double, backend="frit", options={"mode": mode})(torch.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"options": {"numeric": "eager"}}, "unknown option 'numeric'; did you mean 'numerics'"),
        ({"options": {"zzzz": 1}}, "unknown option 'zzzz'; known: autotune"),
        ({"mode": "max-autotun"}, "unknown mode 'max-autotun'; did you mean 'max-autotune'"),
        ({"options": {"fusion": 1}}, "option 'fusion' takes a value of type bool, not int 1"),
        ({"options": {"numerics": "eagre"}}, "option 'numerics' cannot be 'eagre'; did you mean 'eager'"),
    ],
)
def test_wrong_settings_are_errors(settings, message, interpreted):
    with pytest.raises(Exception, match=message):
        torch.compile(double, backend="frit", **settings)(torch.ones(3))


def test_every_option_has_a_document_and_a_default_of_its_type():
    for option in options.REGISTRY.values():
        assert option.doc and type(option.default) is option.type
        assert not option.choices or option.default in option.choices


def test_modes_only_set_known_options():
    for values in options.MODES.values():
        assert set(values) <= set(options.REGISTRY)


def test_log_names_follow_the_grammar_of_torch_logs():
    try:
        logs.apply("+frit,fallbacks,-kernels")
        assert logs.log.level == logging.DEBUG
        assert logs.artifact("fallbacks").isEnabledFor(logging.DEBUG)
        assert not logs.artifact("kernels").isEnabledFor(logging.DEBUG)
        with pytest.raises(OptionError, match="did you mean 'fallbacks'"):
            logs.apply("falbacks")
    finally:
        logs.silence()
        logs.log.handlers.clear()


def test_importing_frit_loads_neither_torch_nor_a_library():
    code = "import frit, sys; print('torch' in sys.modules, any(m.startswith('frit._C') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"] * 2


def test_the_backend_is_found_by_entry_point():
    code = "import torch._dynamo, sys; print('frit' in torch._dynamo.list_backends(), 'frit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["True", "False"]


def test_looking_the_backend_up_loads_no_native_library():
    code = (
        "import torch, sys; from torch._dynamo.backends.registry import lookup_backend;"
        "print(lookup_backend('frit').__name__, 'frit._C' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["frit", "False"]


def test_frit_logs_is_read_from_the_environment():
    code = "import torch; torch.compile(lambda x: x.cumsum(0) * 2, backend='frit')(torch.ones(3))"
    child = {**os.environ, "FRIT_LOGS": "frit,fallbacks,timing"}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=child)
    assert said.returncode == 0, said.stderr
    assert "I frit: graph0_inference: 2 nodes, 1 kernels, 1 ATen calls (aten.cumsum.default)" in said.stderr
    assert 'D frit.artifact.fallbacks: graph0_inference: {"op": "aten.cumsum.default", "reason": ' in said.stderr
    assert "D frit.artifact.timing: graph0_inference: 2 nodes, captured in " in said.stderr and not said.stdout
    child["FRIT_LOGS"] = "fallback"
    said = subprocess.run([sys.executable, "-c", "import frit.logs"], capture_output=True, text=True, env=child)
    assert said.returncode != 0 and "FRIT_LOGS: unknown name 'fallback'; did you mean 'fallbacks'?" in said.stderr
