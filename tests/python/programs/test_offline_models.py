"""Models as users export and save them, compiled by `frit-compile` in a process without Python or torch, and run from the file over sizes.

The operators left to ATen are listed exactly: matrix products, convolutions, attention and the pooling between convolutions are library calls by
design; any other is a regression. If none is left, `frit-run` must give the same results without torch.
"""

import collections
import copy
import os
import subprocess

import checker
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from exported import ATTENTION, TOOLS
from torch import nn
from torch.export import Dim

import frit
from benchmarks.programs.exported import EXPORTED, Decoder, Exported, ResNet


def compiled_file(folder, program, name="m", *options):
    """Compiles a program and returns the path of the artifact."""
    torch.export.save(program, folder / f"{name}.pt2")
    target = folder / f"{name}.frit"
    done = subprocess.run(
        [TOOLS / "frit-compile", folder / f"{name}.pt2", "-o", target, *options], capture_output=True, text=True, env={}, check=False
    )
    assert done.returncode == 0, done.stderr
    os.chmod(target, 0o600)
    return target


def left_to_aten(model):
    calls = collections.Counter()
    for call in model.report()["aten_calls"]:
        calls[call["op"].removeprefix("aten.").rsplit(".", 1)[0]] += 1
    return dict(calls)


def check_over(model, module, program, sizes):
    for one in sizes:
        torch.manual_seed(2)
        checker.check(module, *program.inputs(*one), compiled=model, module=module)


def check_in_a_process(folder, tool, path, fresh, given):
    """Runs the artifact by a tool without Python, with arrays as files, and compares it with the saved module."""
    for number, tensor in enumerate(given):
        np.save(folder / f"x{number}.npy", tensor.numpy())
    results = len(torch.utils._pytree.tree_leaves(copy.deepcopy(fresh())(*given)))
    command = [TOOLS / tool, path, *(f"--input=@{folder}/x{number}.npy" for number in range(len(given)))]
    command += [f"--output=@{folder}/y{number}.npy" for number in range(results)]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 0, done.stderr

    def run(*_):
        return tuple(torch.from_numpy(np.load(folder / f"y{number}.npy")) for number in range(results))

    module = fresh()
    checker.check(lambda *x: copy.deepcopy(module)(*x), *given, compiled=run, module=module)


LEFT = {
    "resnet": {"convolution": 6, "max_pool2d": 1, "addmm": 1},
    "gpt2": {"addmm": 8, ATTENTION: 2, "mm": 1, "cumsum": 1},
    "gpt2, plain torch": {"mm": 1, "addmm": 8, ATTENTION: 2},
    "vit": {"convolution": 1, "addmm": 13, ATTENTION: 2},
    "bert": {"addmm": 13, ATTENTION: 2},
    "encoder": {"addmm": 8, ATTENTION: 2},
    "llama": {"mm": 15, ATTENTION: 2, "cumsum": 1},
}

LIBTORCH = ("resnet", "gpt2", "vit", "bert")


@pytest.mark.parametrize("name", EXPORTED)
def test_model(tmp_path, name):
    program = EXPORTED[name]
    module = program.module()
    model = frit.load(path := compiled_file(tmp_path, program.export(module)), check_weights=True)
    assert left_to_aten(model) == LEFT[name]
    check_over(model, module, program, program.sizes)
    assert model.stats()["calls"] == len(program.sizes)
    if name in LIBTORCH:
        for sizes in program.sizes:
            check_in_a_process(tmp_path, "frit-run-torch", path, lambda: module, program.inputs(*sizes))


AUTO = {
    "resnet": (((0, 2, 3),), ((4, 40, 48), (2, 33, 47), (16, 32, 31))),
    "gpt2": (((0, 1),), ((3, 17), (2, 2), (5, 32), (2, 33))),
    "gpt2, plain torch": (((0, 1),), ((3, 17), (2, 2), (5, 32), (2, 33))),
    "bert": (((0, 1),) * 3, ((3, 17), (2, 2), (5, 32), (2, 33))),
}


@pytest.mark.parametrize("name", AUTO)
def test_sizes_that_export_finds_by_itself(tmp_path, name):
    program = EXPORTED[name]
    module = program.module()
    dims, sizes = AUTO[name]
    shapes = tuple({dim: Dim.AUTO for dim in each} for each in dims)
    exported = program.export(module, shapes=shapes if isinstance(module, (ResNet, Decoder)) else (shapes,))
    model = frit.load(compiled_file(tmp_path, exported))
    assert left_to_aten(model) == LEFT[name]
    check_over(model, module, program, sizes)
    with pytest.raises(RuntimeError, match="between 2 and"):
        model(*program.inputs(1, *sizes[0][1:]))


@pytest.mark.parametrize("name, kind", [("resnet", "decomposed"), ("bert", "decomposed"), ("gpt2, plain torch", "strict")])
def test_other_ways_to_export(tmp_path, name, kind):
    program = EXPORTED[name]
    module = program.module()
    if kind == "decomposed":
        exported = program.export(module).run_decompositions()
    else:
        exported = torch.export.export(module, program.inputs(*program.sizes[0]), dynamic_shapes=program.shapes(), strict=True)
    check_over(frit.load(compiled_file(tmp_path, exported)), module, program, program.sizes[1:4])


def test_arguments_by_name_and_a_result_of_a_class(tmp_path):
    """A transformers model, exported unchanged."""
    program = EXPORTED["bert"]
    module = program.module().model
    batch, length = Dim("batch", min=1, max=128), Dim("length", min=2, max=128)
    tokens, mask, _ = program.inputs(3, 17)
    shapes = {"input_ids": {0: batch, 1: length}, "attention_mask": {0: batch, 1: length}}
    exported = torch.export.export(module, (), {"input_ids": tokens, "attention_mask": mask}, dynamic_shapes=shapes)
    model = frit.load(compiled_file(tmp_path, exported))
    assert [value.name for value in model.inputs] == ["input_ids", "attention_mask"]
    for sizes in ((1, 2), (2, 33)):
        tokens, mask, _ = program.inputs(*sizes)
        call = lambda ids, kept: module(input_ids=ids, attention_mask=kept).to_tuple()  # noqa: E731
        checker.check(call, tokens, mask, compiled=model, module=module)


@pytest.mark.parametrize("name", ["resnet", "gpt2, plain torch", "llama"])
def test_bfloat16(tmp_path, name):
    program = EXPORTED[name]
    module = program.module().to(torch.bfloat16)
    halved = Exported(
        program.make,
        lambda *sizes: tuple(x.bfloat16() if x.is_floating_point() else x for x in program.inputs(*sizes)),
        program.shapes,
        program.sizes,
        program.demo_sizes,
    )
    model = frit.load(compiled_file(tmp_path, halved.export(module)))
    assert left_to_aten(model) == LEFT[name]
    check_over(model, module, halved, program.sizes[::3])


def test_weights_that_are_tied_are_stored_once(tmp_path):
    module = Decoder(vocabulary=4001).eval().requires_grad_(False)
    program = EXPORTED["gpt2, plain torch"].export(module)
    path = compiled_file(tmp_path, program)
    alone = {weight.untyped_storage().data_ptr(): weight.untyped_storage().nbytes() for weight in module.state_dict().values()}
    tied = module.head.weight.untyped_storage().nbytes()
    assert sum(alone.values()) < path.stat().st_size < sum(alone.values()) + tied // 2


class Cache(nn.Module):
    """Attention of new tokens over a cache of keys and values that is a buffer."""

    def __init__(self, how, batch=2, heads=2, longest=16, width=8):
        super().__init__()
        self.how, self.heads, self.qkv = how, heads, nn.Linear(width, 3 * width)
        self.register_buffer("k", torch.zeros(batch, heads, longest, width // heads))
        self.register_buffer("v", torch.zeros(batch, heads, longest, width // heads), persistent=False)

    def forward(self, x, positions):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        for cache, new in ((self.k, k), (self.v, v)):
            if self.how == "index":
                cache[:, :, positions] = new
            elif self.how == "index_copy":
                cache.index_copy_(2, positions, new)
            else:
                cache.copy_(torch.cat([cache[:, :, length:], new], 2))
        mask = torch.arange(self.k.shape[2]) <= positions[:, None] if self.how != "shift" else None
        y = F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask)
        return y.transpose(1, 2).reshape(batch, length, width)


@pytest.mark.parametrize("how, writes", [("index", {"index_put_": 2}), ("index_copy", {"index_copy_": 2}), ("shift", {})])
def test_a_cache_that_is_written_by_index(tmp_path, how, writes):
    torch.manual_seed(0)
    eager = Cache(how).eval().requires_grad_(False)
    length = Dim.AUTO if how == "shift" else Dim("length", min=1, max=16)
    shapes = ({1: length}, {0: length})
    program = torch.export.export(copy.deepcopy(eager), (torch.randn(2, 3, 8), torch.arange(3)), dynamic_shapes=shapes)
    model = frit.load(path := compiled_file(tmp_path, program))
    assert left_to_aten(model) == {"addmm": 1, ATTENTION: 1, **writes}
    at = 0
    for new in (5, 2, 3, 2) if how == "shift" else (5, 1, 1, 3, 1):
        x, positions = torch.randn(2, new, 8), torch.arange(at, at + new)
        torch.testing.assert_close(model(x, positions), eager(x, positions))
        at += new
    fresh = Cache(how).eval()
    fresh.load_state_dict(program.state_dict, strict=False)
    torch.testing.assert_close(frit.load(path)(x, positions), fresh(x, positions))


class Normalised(nn.Module):
    """A model without library calls: batch normalisation in training mode, a mask, and statistics that are read again."""

    def __init__(self):
        super().__init__()
        self.norm, self.scale = nn.BatchNorm1d(6), nn.Parameter(torch.randn(6))

    def forward(self, x, kept):
        y = F.silu(self.norm(x), inplace=True) * self.scale
        y.masked_fill_(~kept[:, None], -1e9)
        return torch.softmax(y, 0), self.norm.running_mean * 1, self.norm.num_batches_tracked + 0


class Detections(nn.Module):
    """The last part of a detector as array operations: boxes from offsets, overlaps of all pairs, labels."""

    def __init__(self, classes=5):
        super().__init__()
        self.register_buffer("anchors", torch.rand(1, 4) + 0.5)

    def forward(self, offsets, logits, truth):
        centres = offsets[:, :2] * self.anchors[:, 2:] + self.anchors[:, :2]
        sizes = offsets[:, 2:].clamp(max=4.0).exp_().mul_(self.anchors[:, 2:])
        boxes = torch.cat([centres - sizes / 2, centres + sizes / 2], 1)
        low = torch.maximum(boxes[:, None, :2], truth[None, :, :2])
        high = torch.minimum(boxes[:, None, 2:], truth[None, :, 2:])
        overlap = (high - low).clamp_(min=0).prod(2)
        area = lambda b: (b[:, 2:] - b[:, :2]).prod(1)  # noqa: E731
        union = area(boxes)[:, None] + area(truth)[None] - overlap
        best, which = (overlap / union).max(1)
        return boxes, best, which, logits.sigmoid().argmax(1), F.layer_norm(logits, logits.shape[1:])


def _detections(boxes, truths):
    corners = torch.rand(truths, 2)
    return torch.randn(boxes, 4), torch.randn(boxes, 5), torch.cat([corners, corners + torch.rand(truths, 2)], 1)


STANDALONE = {
    "normalised": (
        lambda: Normalised().train(),
        lambda rows: (torch.randn(rows, 6), torch.arange(rows) % 3 > 0),
        lambda: ({0: (rows := Dim("rows", min=2, max=100))}, {0: rows}),
        ((7,), (2,), (16,), (33,)),
    ),
    "detections": (
        lambda: Detections().eval(),
        _detections,
        lambda: ({0: (boxes := Dim("boxes", min=1, max=999))}, {0: boxes}, {0: Dim("truths", min=1, max=99)}),
        ((9, 4), (1, 2), (16, 1), (65, 3)),
    ),
}


@pytest.mark.parametrize("name", STANDALONE)
def test_without_torch(tmp_path, name):
    make, inputs, shapes, sizes = STANDALONE[name]
    torch.manual_seed(0)
    module = make().requires_grad_(False)
    original = copy.deepcopy(module)
    path = compiled_file(tmp_path, torch.export.export(module, inputs(*sizes[0]), dynamic_shapes=shapes()))
    assert left_to_aten(frit.load(path)) == {}
    for one in sizes:
        check_in_a_process(tmp_path, "frit-run", path, lambda: copy.deepcopy(original), inputs(*one))


def test_a_matrix_product_needs_libtorch(tmp_path):
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Linear(16, 3)).eval().requires_grad_(False)
    path = compiled_file(tmp_path, torch.export.export(module, (torch.randn(4, 8),), dynamic_shapes=({0: Dim("n", max=64)},)))
    assert left_to_aten(frit.load(path)) == {"addmm": 2}
    np.save(tmp_path / "x.npy", np.zeros((4, 8), "f4"))
    done = subprocess.run([TOOLS / "frit-run", path, f"--input=@{tmp_path}/x.npy"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "calls aten::addmm (a matrix product: a library has the kernel) 2 times, so it needs libtorch" in done.stderr


def test_the_tools_have_neither_torch_nor_python():
    for tool in ("frit-compile", "frit-run"):
        libraries = subprocess.run(["ldd", TOOLS / tool], capture_output=True, text=True, check=True).stdout
        assert "torch" not in libraries and "python" not in libraries
