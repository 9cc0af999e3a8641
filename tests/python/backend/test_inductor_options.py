"""Inductor's options are translated, or refused by name."""

from pathlib import Path

import pytest
import torch

from frit import OptionError, inductor_options, options

PAGE = Path(__file__).resolve().parents[3] / "docs/Integrations.md"


@pytest.mark.parametrize("name", inductor_options.TRANSLATED)
@pytest.mark.parametrize("value", [True, False])
def test_an_option_is_that_of_frit(name, value):
    own, values = inductor_options.TRANSLATED[name]
    assert options.resolve(options={name: value}) == options.resolve(options={own: values[value]})


def test_what_frit_does_anyway_changes_nothing():
    assert options.resolve(options={"epilogue_fusion": True, "freezing": False, "trace.enabled": False, "cpp_wrapper": True}) == options.resolve()


@pytest.mark.parametrize(
    "given, message",
    [
        ({"freezing": True}, "'freezing' is an option of Inductor, and frit has none like it for True: parameters stay arguments"),
        ({"epilogue_fusion": False}, "'fusion': False makes each operator a kernel of its own"),
        ({"trace.enabled": True}, "'dump_dir': FOLDER"),
        ({"max_autotune_gemm": True}, "'max_autotune_gemm' is an option of Inductor, and frit has none like it; leave it out"),
        ({"triton.unique_kernel_names": True}, "'triton.unique_kernel_names' is an option of Inductor"),
        ({"max_autotuned": True}, "unknown option 'max_autotuned'; did you mean 'autotune'"),
        ({"max_autotune": 3}, "here it is 'autotune'; it takes True or False, not 3"),
        ({"max_autotune": True, "autotune": False}, "'max_autotune' and 'autotune' contradict each other; both set 'autotune'"),
    ],
)
def test_a_refusal_says_what_to_use(given, message):
    with pytest.raises(OptionError, match=message):
        options.resolve(options=given)


def test_two_names_for_one_value_are_accepted():
    assert options.resolve(options={"max_autotune": True, "max_autotune_pointwise": True})["autotune"]


def test_compiled_with_the_options_of_inductor():
    function = torch.compile(lambda x: x * 2, backend="frit", options={"shape_padding": True, "epilogue_fusion": True, "fallback_random": True})
    assert function(torch.ones(3)).tolist() == [2, 2, 2]


def test_the_page_names_each_option():
    text = PAGE.read_text(encoding="utf-8")
    assert not [name for name in (*inductor_options.TRANSLATED, *inductor_options._FIXED) if f"`{name}`" not in text]
