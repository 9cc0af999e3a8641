"""The graph of a repro.py as a program that is compiled and called again, with verification."""

import importlib.util
import os
import re

import torch

from .. import backend, options
from ..errors import VerifyError
from ..verify.repro import DATA, SCRIPT
from . import words

#: The options of every script, which override the program's.
AGAIN = {"verify": 1, "verify_action": "raise", "repro_dir": "off", "cache": False}


class Program:
    """The contents of a repro.py: the FX graph with its symbols, the options and the arguments."""

    def __init__(self, module):
        self.module = module
        self.settings = _settings(module.OPTIONS)
        self.stage = module.STAGE
        self.expected = module.FAILURE
        self.folder = os.path.dirname(os.path.abspath(module.__file__))

    def graph(self):
        """(GraphModule with fake values, the fake arguments, options in terms of the present names of sizes)."""
        gm, fakes, names = words.traced(self.module)
        requests = re.sub(r"(?<=%)\w+", lambda name: names.get(name[0], name[0]), self.settings.get("symbol_buckets", ""))
        return gm, fakes, {**self.settings, "symbol_buckets": requests, "symbol_names": {}, "argument_names": [], **AGAIN}

    def arguments(self):
        """The arguments of the failed call, or arguments like those the graph was traced with."""
        data = os.path.join(self.folder, DATA)
        if os.path.exists(data):
            return torch.load(data)
        return words.made(self.module)

    def run(self, **changed):
        """Compiles the graph and calls it, verified; raises the failure."""
        gm, fakes, settings = self.graph()
        run = backend.compile_graph(gm, fakes, settings={**settings, **changed}, stage=self.stage)
        torch.manual_seed(self.module.SEED)
        try:
            return run(self.arguments())
        except VerifyError as error:
            # If frit refuses a call that ATen runs, that is a difference too; the failure to repeat is the refusal.
            if type(error.__cause__).__name__ == self.expected:
                raise error.__cause__ from None
            raise


def _settings(written):
    """The recorded options, with today's defaults for options that did not exist then."""
    known = {name: value for name, value in written.items() if name in options.REGISTRY}
    inner = {name: value for name, value in written.items() if name not in options.REGISTRY}
    return {**options.resolve(None, {}), **known, **inner}


def load(path):
    """The Program of a repro folder or of its script."""
    path = os.path.join(path, SCRIPT) if os.path.isdir(path) else path
    spec = importlib.util.spec_from_file_location("frit_repro_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Program(module)
