"""Worker of test_training_sizes: trains on different lengths under DDP, eager and compiled, and writes its results as JSON.

Usage: distributed_sizes.py RANK WORLD RENDEZVOUS RESULT [cuda]       a GPU for each rank, or the CPU
"""

import functools
import json
import sys

import torch
import torch.distributed as dist

LENGTHS = ((5, 8, 13, 24), (7, 4, 9, 16))
OPTIONS = {"padding": "force", "poison": True}


class Counting:
    """A backend that counts the graphs that it gets."""

    def __init__(self, backend, options=None):
        call = torch._dynamo.lookup_backend(backend)
        self.call = functools.partial(call, options=options) if options else call
        self.graphs = 0

    def __call__(self, gm, inputs):
        self.graphs += 1
        return self.call(gm, inputs)


class Network(torch.nn.Module):
    """A separate class, because Dynamo does not start at frames of torch.nn, in which DDP would call a Sequential."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(6, 10)
        self.norm = torch.nn.LayerNorm(10)
        self.outer = torch.nn.Linear(10, 3)

    def forward(self, x):
        return self.outer(torch.nn.functional.gelu(self.norm(self.inner(x))))


def train(lengths, backend=None, options=None, parallel=False, device="cpu"):
    """Returns the loss of every step, the parameters at the end, and the number of graphs."""
    torch.compiler.reset()
    torch.manual_seed(0)
    model = Network().to(device)
    model = torch.nn.parallel.DistributedDataParallel(model) if parallel else model
    counting = Counting(backend, options) if backend else None
    run = torch.compile(model, backend=counting, dynamic=True) if backend else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for n in lengths:
        generator = torch.Generator().manual_seed(n)
        loss = run(torch.randn(n, 6, generator=generator).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    parameters = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    return losses, parameters.tolist(), counting.graphs if counting else 0


def main():
    rank, world, rendezvous, result = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    device = f"cuda:{rank}" if sys.argv[5:] == ["cuda"] else "cpu"
    torch.set_num_threads(1)
    if device != "cpu":
        torch.cuda.set_device(device)
    lengths = LENGTHS[rank]
    alone = train(lengths, "frit", OPTIONS, device=device)
    dist.init_process_group("gloo" if device == "cpu" else "nccl", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
    eager = train(lengths, parallel=True, device=device)
    compiled = train(lengths, "frit", OPTIONS, parallel=True, device=device)
    dist.destroy_process_group()
    seen = {"alone": alone[2], "eager": eager[:2], "compiled": compiled[:2], "graphs": compiled[2]}
    with open(result, "w", encoding="utf-8") as file:
        json.dump(seen, file)


if __name__ == "__main__":
    main()
