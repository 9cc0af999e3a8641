"""Measures the first call of a model in a process that finds everything on disk: Dynamo, AOTAutograd, the backend, and the call itself.

    python -m benchmarks.second_process [--output FILE.json] [--rounds N] [NAME ...]

Every sample is a new process. The contenders are interleaved: frit without a cache, with its graphs only, and with AOTAutograd's results; Inductor
with its caches; aot_eager, which has none. Figures are medians of the CPU time of the process, with wall time next to it, without imports.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch
from torch import nn

CONTENDERS = {
    "frit cold": ("frit", {"FRIT_CACHE": "0"}),
    "frit graphs": ("frit", {"TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}),
    "frit": ("frit", {}),
    "inductor": ("inductor", {}),
    "aot_eager": ("aot_eager", {}),
}


class _Scan(nn.Module):
    """A block of Mamba: a gated convolution and a selective scan, unrolled over the sequence."""

    def __init__(self, width=64, states=8):
        super().__init__()
        inner = 2 * width
        self.states = states
        self.norm, self.enter, self.leave = nn.LayerNorm(width), nn.Linear(width, 2 * inner), nn.Linear(inner, width)
        self.convolution = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.select = nn.Linear(inner, 2 * states + 1)
        self.decay, self.skip = nn.Parameter(-torch.rand(inner, states)), nn.Parameter(torch.ones(inner))

    def forward(self, given):
        x, gate = self.enter(self.norm(given)).chunk(2, -1)
        x = nn.functional.silu(self.convolution(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        step, entry, out = self.select(x).split([1, self.states, self.states], -1)
        step = nn.functional.softplus(step)
        kept, added = torch.exp(step[..., None] * self.decay), (step * x)[..., None] * entry[:, :, None, :]
        state, results = torch.zeros_like(added[:, 0]), []
        for t in range(x.shape[1]):
            state = kept[:, t] * state + added[:, t]
            results.append((state * out[:, t, None, :]).sum(-1))
        return given + self.leave((torch.stack(results, 1) + x * self.skip) * nn.functional.silu(gate))


def _gpt2():
    from benchmarks.programs.models import gpt2

    model, ids = gpt2(layers=4, width=256, vocabulary=1000), torch.randint(0, 1000, (2, 32))
    return model, lambda run: run(input_ids=ids, labels=ids).loss.backward()


def _bert():
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 6, "intermediate_size": 1536}
    ids = torch.randint(0, 1000, (1, 16))
    return BertModel(BertConfig(vocab_size=1000, **sizes)).eval(), torch.no_grad()(lambda run: run(input_ids=ids))


def _vit():
    from benchmarks.programs.models import vit

    images = torch.randn(4, 3, 96, 96)
    return vit(layers=4, width=384, heads=6, image=96, patch=16).eval(), torch.no_grad()(lambda run: run(pixel_values=images))


def _mamba():
    x = torch.randn(2, 16, 64)
    return nn.Sequential(_Scan(), _Scan()).eval(), torch.no_grad()(lambda run: run(x))


PROGRAMS = {"gpt2, training": _gpt2, "bert": _bert, "vit": _vit, "mamba": _mamba}

_PROCESS = """
import json, sys, time
import torch, torch._dynamo
from benchmarks import second_process
torch.manual_seed(0)
torch.set_num_threads(2)
model, call = second_process.PROGRAMS[sys.argv[1]]()
wall, processor = time.perf_counter(), time.process_time()
call(torch.compile(model, backend=sys.argv[2]))
taken = {"wall_s": time.perf_counter() - wall, "processor_s": time.process_time() - processor}
from torch._dynamo.utils import counters
print(json.dumps({**taken, "hits": counters["aot_autograd"]["autograd_cache_hit"]}))
"""


def sample(name, contender, folder):
    backend, more = CONTENDERS[contender]
    places = {"FRIT_CACHE": "1", "FRIT_CACHE_DIR": f"{folder}/frit", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/torch"}
    environment = {**os.environ, **places, **more}
    environment["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "0"
    done = subprocess.run([sys.executable, "-c", _PROCESS, name, backend], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"second_process: {name}, {contender}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(name, rounds, folder, chosen):
    samples = {contender: [] for contender in chosen}
    for contender in chosen:
        if contender in ("frit", "frit graphs", "inductor"):
            sample(name, contender, folder)  # fills its caches
    for _ in range(rounds):
        for contender, found in samples.items():
            found.append(sample(name, contender, folder))
    row = {}
    for contender, found in samples.items() if rounds else ():
        assert all(one["hits"] == (contender in ("frit", "inductor")) for one in found), f"{name}, {contender}: {found}"
        row[contender] = {what: statistics.median(one[what] for one in found) for what in ("processor_s", "wall_s")}
    return row


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", help="a folder for the caches, which is not deleted; a temporary one by default")
    parser.add_argument("--contenders", nargs="*", default=list(CONTENDERS), choices=list(CONTENDERS))
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    chosen = parser.parse_args(arguments)
    rows = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in chosen.names:
            rows[name] = row = measure(name, chosen.rounds, chosen.cache or temporary, chosen.contenders)
            for contender, times in row.items():
                ratio = times["processor_s"] / row[chosen.contenders[-1]]["processor_s"]
                print(f"{name:16} {contender:12} {times['processor_s']:7.2f} s of the processor  {times['wall_s']:7.2f} s  {ratio:5.2f}", flush=True)
    if chosen.output:
        from benchmarks.measure import write

        write(chosen.output, programs=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
