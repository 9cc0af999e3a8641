"""Options, modes and log names: known ones are accepted; the error for an unknown one suggests the most similar one."""

import json
import logging
import os
import re
import subprocess
import sys

import fresh
import pytest
import torch

from frit import environment, logs, options


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


def test_log_names_follow_the_grammar_of_torch_logs(monkeypatch):
    said = []
    monkeypatch.setattr(logs.environment, "warn", said.append)
    try:
        logs.apply("+frit,fallbacks,-kernels")
        assert logs.log.level == logging.DEBUG
        assert logs.artifact("fallbacks").isEnabledFor(logging.DEBUG)
        assert not logs.artifact("kernels").isEnabledFor(logging.DEBUG)
        logs.apply("falbacks,guards")
        assert len(said) == 1 and "did you mean 'fallbacks'" in said[0] and logs.artifact("guards").isEnabledFor(logging.DEBUG)
    finally:
        logs.silence()
        logs.log.handlers.clear()


def test_importing_frit_loads_neither_torch_nor_a_library():
    code = "import frit, sys; print('torch' in sys.modules, any(m.startswith('frit._C') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"] * 2


def test_the_backend_is_found_by_entry_point():
    code = "import torch._dynamo, sys; print('frit' in torch._dynamo.list_backends(), 'frit' in sys.modules)"
    assert fresh.run(["-c", code]).stdout.split() == ["True", "False"]


def test_looking_the_backend_up_loads_no_native_library():
    code = (
        "import torch, sys; from torch._dynamo.backends.registry import lookup_backend;"
        "print(lookup_backend('frit').__name__, 'frit._C' in sys.modules)"
    )
    assert fresh.run(["-c", code]).stdout.split() == ["frit", "False"]


def test_frit_logs_is_read_from_the_environment():
    code = "import torch; torch.compile(lambda x: x.cumsum(0) * 2, backend='frit')(torch.ones(3))"
    child = {**os.environ, "FRIT_LOGS": "frit,fallbacks,timing"}
    said = fresh.run(["-c", code], env=child)
    assert said.returncode == 0, said.stderr
    assert "I frit: graph0_inference: 2 nodes, 1 kernel, 1 ATen call (aten.cumsum.default)" in said.stderr
    assert "D frit.artifact.fallbacks: graph0_inference: aten.cumsum.default runs in ATen: " in said.stderr
    assert "D frit.artifact.timing: graph0_inference: 2 nodes, captured in " in said.stderr and not said.stdout
    child["FRIT_LOGS"] = "fallback"
    said = subprocess.run([sys.executable, "-c", "import frit.logs"], capture_output=True, text=True, env=child)
    assert said.returncode == 0 and "FRIT_LOGS: unknown name 'fallback' is ignored; did you mean 'fallbacks'?" in said.stderr


def said_with(**variables):
    code = "import torch; torch.compile(lambda x: x.cumsum(0) * 2, backend='frit', dynamic=True)(torch.ones(3, 4))"
    done = fresh.run(["-c", code], env={**os.environ, **variables})
    assert done.returncode == 0 and not done.stdout, done.stderr
    return done.stderr.splitlines()


def test_lines_are_sentences_that_a_person_reads():
    lines = said_with(FRIT_LOGS="kernels,guards,fallbacks")
    assert all(line.startswith("D frit.artifact.") and "{" not in line for line in lines), lines
    (kernel,) = [line for line in lines if line.startswith("D frit.artifact.kernels: ")]
    assert re.search(r": graph0_inference: kernel frit_mul_\w+: arith.mulf; pointwise: vectors along d0, ", kernel), kernel


def test_lines_are_json_on_request():
    lines = [json.loads(line) for line in said_with(FRIT_LOGS="all", FRIT_LOGS_FORMAT="json")]
    (call,) = [line for line in lines if line["logger"] == "frit.artifact.fallbacks"]
    assert call["level"] == "debug" and call["graph"] == "graph0_inference" and call["entry"]["op"] == "aten.cumsum.default"
    assert "aten.cumsum.default runs in ATen" in call["text"] and call["entry"]["reason"]
    (kernel,) = [line for line in lines if line["logger"] == "frit.artifact.kernels"]
    assert kernel["entry"]["schedule"] and any("1 kernel," in line["text"] for line in lines if line["logger"] == "frit")


def test_an_unknown_format_of_lines_is_a_warning():
    lines = said_with(FRIT_LOGS="frit", FRIT_LOGS_FORMAT="jsn")
    assert sum("FRIT_LOGS_FORMAT='jsn' is ignored; did you mean 'json'?" in line for line in lines) == 1, lines
    assert any("I frit: graph0_inference: " in line for line in lines)


def test_variables_that_nobody_reads_and_values_that_are_none_are_warnings():
    code = "import torch; torch.compile(lambda x: x * 2, backend='frit')(torch.ones(3)); import frit.options as o; print(o.resolve()['verify'])"
    wrong = {"FRIT_VERFIY": "1", "FRIT_VERIFY": "many", "FRIT_POISON": "perhaps", "FRIT_PADDING": "of", "FRIT_CACHE_LIMIT": "much", "FRIT_CACHE": "1", "FRIT_PLANT": "6x"}
    said = fresh.run(["-c", code], env={**os.environ, **wrong})
    assert said.returncode == 0 and said.stdout == "0\n", said.stderr
    lines = said.stderr.splitlines()
    assert [sum(text in line for line in lines) for text in (
        "nothing reads FRIT_VERFIY; did you mean FRIT_VERIFY?",
        "FRIT_VERIFY='many' is not a number and is ignored",
        "FRIT_POISON='perhaps' is ignored; give 1 or 0",
        "FRIT_PADDING='of' is ignored: option 'padding' cannot be 'of'; did you mean 'off'?",
        "FRIT_CACHE_LIMIT='much' is not a size and is ignored",
        "FRIT_PLANT='6x' is not a number and is ignored",
    )] == [1] * 6 and "on purpose" not in said.stderr, said.stderr


@pytest.mark.parametrize("text, size", [("1048576", 1 << 20), ("1G", 1 << 30), ("1GB", 1 << 30), ("1.5 GiB", 3 << 29), ("64k", 1 << 16), ("", 7)])
def test_sizes_are_numbers_with_units(monkeypatch, text, size):
    monkeypatch.setenv("FRIT_CACHE_LIMIT", text)
    assert environment.number_of_bytes("FRIT_CACHE_LIMIT", 7) == size


def test_no_value_of_a_variable_stops_a_program(tmp_path):
    wrong = {
        "FRIT_CACHE": "ja", "FRIT_CACHE_LIMIT": "1XB", "FRIT_CUDA_SYNC": "maybe", "FRIT_LOGS": "fallback", "FRIT_PADDING": "sometimes", "FRIT_PLANT": "x",
        "FRIT_POISON": "maybe", "FRIT_STRICT": "2", "FRIT_VERIFY": "lots", "FRIT_VERIFY_ACTION": "shout", "FRIT_VERFIY": "1",
        "FRIT_DUMP": str(tmp_path / "file" / "dump"), "FRIT_CACHE_DIR": str(tmp_path / "cache"),
    }
    (tmp_path / "file").write_text("")
    program = "import torch\nf = torch.compile(lambda x: x.sin() + 1, backend='frit')\nfor n in (2, 3): print(f(torch.zeros(n)).sum().item())"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FRIT_")}
    done = fresh.run(["-c", program], env={**clean, **wrong})
    assert done.returncode == 0 and done.stdout.split() == ["2.0", "3.0"] and "Traceback" not in done.stderr, done.stderr
    for name in wrong.keys() - {"FRIT_CACHE_DIR"}:
        assert done.stderr.count(f"{name}=") + done.stderr.count(f"{name}:") + done.stderr.count(f"reads {name};") == 1, (name, done.stderr)
    understood = fresh.run(["-c", program], env={**clean, "FRIT_CACHE_LIMIT": "1GB", "FRIT_CACHE_DIR": str(tmp_path / "c")})
    assert understood.returncode == 0 and understood.stderr == ""


def test_warnings_name_frit_once_where_no_log_is_set_up():
    code = "import {}\nfrom frit import environment, logs\nenvironment.warn('a warning')\nenvironment.warn('frit has none')\nlogs.log.info('quiet')"
    for extra, expected in (("sys", ["frit: a warning", "frit has none"]), ("logging; logging.basicConfig(format='>%(message)s')", [">a warning", ">frit has none"])):
        done = subprocess.run([sys.executable, "-c", code.format(extra)], capture_output=True, text=True, env={**os.environ, "FRIT_LOGS": ""})
        assert done.stderr.splitlines() == expected
    done = subprocess.run([sys.executable, "-c", code.format("sys")], capture_output=True, text=True, env={**os.environ, "FRIT_LOGS": "frit"})
    assert done.stderr.splitlines() == ["W frit: a warning", "W frit: frit has none", "I frit: quiet"]
