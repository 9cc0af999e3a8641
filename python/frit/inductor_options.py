"""Options of Inductor: each is translated to an option of frit, or refused with a message that says what to use instead.

Names and meanings are those of `torch._inductor.config` (torch 2.13).
"""

from .errors import OptionError

_UNCHANGED = {True: True, False: False}

#: {Inductor's name: (the option of frit, {Inductor's value: frit's})}.
TRANSLATED = {
    "max_autotune": ("autotune", _UNCHANGED),
    "max_autotune_pointwise": ("autotune", _UNCHANGED),
    "triton.cudagraphs": ("cuda_graphs", _UNCHANGED),
    "shape_padding": ("padding", {True: "auto", False: "off"}),
    "fallback_random": ("random", {True: "torch", False: "auto"}),
    "emulate_precision_casts": ("numerics", {True: "eager", False: "default"}),
    "fx_graph_cache": ("cache", _UNCHANGED),
    "force_disable_caches": ("cache", {True: False, False: True}),
}

#: {Inductor's name: (the values that describe what frit always does, what to use instead of others)}.
_FIXED = {
    "epilogue_fusion": ((True,), "'fusion': False makes each operator a kernel of its own"),
    "freezing": ((False,), "parameters stay arguments, so that writing them has an effect; frit-compile makes files with constant weights"),
    "coordinate_descent_tuning": ((False,), "'autotune': True measures the schedules of each region"),
    "trace.enabled": ((False,), "'dump_dir': FOLDER writes every stage of each graph"),
    "cpp_wrapper": ((True, False), ""),
    "split_reductions": ((True,), "'autotune': True measures reductions that are not split"),
}


def is_known(name):
    """Whether Inductor has an option of this name. Slow where Inductor is not loaded: for errors."""
    from torch._inductor import list_options

    return name in list_options()


def translate(given):
    """The options with Inductor's names replaced. OptionError for a value that has no counterpart in frit, and for two names that contradict
    each other."""
    translated, origin = {}, {}
    for name, value in given.items():
        if name in _FIXED:
            accepted, instead = _FIXED[name]
            if value not in accepted:
                raise OptionError(f"frit: {name!r} is an option of Inductor, and frit has none like it for {value!r}: {instead}")
            continue
        own, ours = name, value
        if name in TRANSLATED:
            own, values = TRANSLATED[name]
            if not isinstance(value, bool):
                raise OptionError(f"frit: {name!r} is an option of Inductor, here it is {own!r}; it takes True or False, not {value!r}")
            ours = values[value]
        if own in translated and translated[own] != ours:
            raise OptionError(f"frit: options {origin[own]!r} and {name!r} contradict each other; both set {own!r}")
        translated[own], origin[own] = ours, name
    return translated
