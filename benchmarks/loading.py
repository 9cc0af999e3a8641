"""Measures `frit.load` of GPT-2 small (12 layers, 124 million parameters) and of its configuration with 2 layers.

    python -m benchmarks.loading [--output benchmarks/results/loading.json] [--rounds 20]

Each model is exported and compiled once, with its weights in the file. A load is measured in this process, from file to model and from file to
first result, with a warm page cache. The goal is 20 ms (docs/Deploy.md). Weights are mapped, so reading their bytes is not part of it.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch

from . import measure

COMPILER = measure.TOOLS / "frit-compile"
GOAL_MS = 20.0


def _saved(layers, folder):
    """Exports and saves GPT-2 small with this number of layers and a dynamic sequence length."""
    from transformers import GPT2Config, GPT2LMHeadModel

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = GPT2LMHeadModel(GPT2Config(n_layer=layers, use_cache=False)).eval()

        def forward(self, ids):
            return self.model(ids).logits

    torch.manual_seed(0)
    ids = torch.randint(0, 50257, (1, 16))
    with torch.no_grad():
        program = torch.export.export(Logits(), (ids,), dynamic_shapes={"ids": {1: torch.export.Dim("tokens", min=2, max=1024)}})
    path = folder / f"gpt2-{layers}.pt2"
    torch.export.save(program, path)
    return path, ids


def _samples(rounds, function):
    milliseconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        milliseconds.append(1e3 * (time.perf_counter() - began))
    return {"median": statistics.median(milliseconds), "least": min(milliseconds), "most": max(milliseconds)}


def of_layers(layers, folder, rounds):
    """Returns the figures of one file."""
    import frit

    saved, ids = _saved(layers, folder)
    artifact = saved.with_suffix(".frit")
    subprocess.run([COMPILER, saved, "-o", artifact], check=True, capture_output=True)
    artifact.chmod(0o600)
    saved.unlink()
    with torch.no_grad():
        row = {"layers": layers, "bytes": artifact.stat().st_size, "load_ms": _samples(rounds, lambda: frit.load(artifact))}
        row["first_result_ms"] = _samples(max(rounds // 4, 1), lambda: frit.load(artifact)(ids))
    artifact.unlink()
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    result = {"machine": measure.machine(), "load_before": os.getloadavg()[0], "goal_ms": GOAL_MS, "models": []}
    for layers in (2, 12):
        with tempfile.TemporaryDirectory() as folder:
            row = of_layers(layers, Path(folder), options.rounds)
        result["models"].append(row)
        print(f"GPT-2, {layers} layers, {row['bytes'] / 1e6:.0f} MB: loaded in {row['load_ms']['median']:.1f} ms (goal {GOAL_MS:.0f}), "
              f"first result after {row['first_result_ms']['median']:.1f} ms", flush=True)
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
