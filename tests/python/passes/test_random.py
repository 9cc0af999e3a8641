"""The option `random`: compares random numbers that kernels generate with Philox4x32-10 in numpy, on the CPU and under GPU emulation."""

import json
import os
import subprocess
from pathlib import Path

import checker
import numpy as np
import pytest
import torch
import torch.nn.functional as F

import frit
from frit import backend, options
from frit.cache import graph_key

ROOT = Path(__file__).resolve().parents[3]
TOOL = Path(os.environ.get("FRIT_BUILD_DIR", ROOT / "build")) / "bin" / "frit-compile"
PRECISION = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
FLOATS = list(PRECISION)


def philox(counter, key):
    """Returns the four words of each block; counters are four arrays of 32-bit numbers, the key is two numbers."""
    low = np.uint64(0xFFFFFFFF)
    c, k = [np.asarray(word, np.uint64) for word in counter], [np.uint64(word) for word in key]
    for round in range(10):
        if round:
            k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
        first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        shift = np.uint64(32)
        c = [(second >> shift) ^ c[1] ^ k[0], second & low, (first >> shift) ^ c[3] ^ k[1], first & low]
    return np.stack(np.broadcast_arrays(*c), -1)


def bits(seed, stream, count, wide=False):
    """Returns 32 or 64 bits for each element, as specified by `frit.random`."""
    blocks = np.arange((count + 1) // 2 if wide else (count + 3) // 4, dtype=np.uint64)
    seed &= (1 << 64) - 1
    words = philox([blocks & np.uint64(0xFFFFFFFF), blocks >> np.uint64(32), stream, 0], [seed & 0xFFFFFFFF, seed >> 32]).reshape(-1)
    if wide:
        words = words[0::2] | words[1::2] << np.uint64(32)
    return words[:count]


def uniforms(seed, stream, shape, dtype=torch.float32):
    wide, precision = dtype == torch.float64, PRECISION[dtype]
    upper = bits(seed, stream, int(np.prod(shape)), wide) >> np.uint64((64 if wide else 32) - precision)
    return torch.from_numpy(upper.astype(np.float64) * 2.0**-precision).to(dtype).reshape(shape)


def seed_of(seed, device="cpu"):
    """Returns the seed that a graph draws after `torch.manual_seed(seed)`."""
    torch.manual_seed(seed)
    return int(torch.randint(-(2**63), 2**63 - 1, (), device=device))


def run(compiled, *inputs, seed=5):
    torch.manual_seed(seed)
    return compiled(*inputs)


@pytest.fixture(params=["auto", "simt"])
def philoxed(request):
    def compiling(function, dynamic=None, **more):
        return torch.compile(function, backend="frit", fullgraph=True, dynamic=dynamic, options={"random": "philox", "target": request.param, **more})

    torch._dynamo.reset()
    return compiling


@pytest.fixture
def reports(monkeypatch):
    seen = []
    monkeypatch.setattr(backend, "_OBSERVERS", [lambda name, stage, captured, report, executable: seen.append(report)])
    return seen


def test_the_reference_gives_the_published_answers():
    ones = 0xFFFFFFFF
    for counter, key, words in (
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ones] * 4, [ones] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ):
        assert philox(counter, key).tolist() == words


# A graph of one operation, whose seed and stream are arguments.
BITS = """
frit.graph @main(%seed: tensor<i64> {{frit.device = "cpu", frit.dtype = #frit.dtype<i64>, frit.kind = "user_input", frit.layout = #frit.layout<[]>, frit.name = "seed"}})
    -> (tensor<{n}x{type}> {{frit.device = "cpu", frit.dtype = #frit.dtype<{type}>, frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 1>}})
    attributes {{device = "cpu", symbols = []}} {{
  %stream = arith.constant {stream} : i64
  %bits = frit.random %seed, %stream : tensor<i64> -> tensor<{n}x{type}>
  frit.return %bits : tensor<{n}x{type}>
}}
"""


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3", "simt"])
@pytest.mark.parametrize("n, type, stream", [(4, "i32", 0), (1003, "i32", 7), (66, "i64", 2**32 - 1), (1, "i64", 3)])
def test_bits_of_any_seed_and_stream(target, n, type, stream, tmp_path):
    family = f"target={'gpu' if target == 'simt' else 'cpu'}"
    passes = ("fuse-regions", "assign-layouts", f"choose-schedules={family}", f"insert-shape-guards={family}", "simplify-shape-guards", "plan-buffers", "outline-regions")
    graph = BITS.format(n=n, type=type, stream=stream)
    subprocess.run([TOOL.with_name("frit-opt"), "-", *(f"--frit-{one}" for one in passes), "-o", tmp_path / "bits.mlir"], input=graph, text=True, check=True)
    subprocess.run([TOOL, tmp_path / "bits.mlir", "-o", tmp_path / "bits.frit", f"--target={target}"], check=True)
    model = frit.load(tmp_path / "bits.frit")
    for seed in (0, -1, 1 << 32, 0x299F31D0A4093822):
        found = model(torch.tensor(seed))
        found = (found[0] if isinstance(found, (list, tuple)) else found).numpy()
        expected = bits(seed, stream, n, type == "i64").astype(np.uint64 if type == "i64" else np.uint32)
        assert found.tobytes() == expected.tobytes()
        if (n, seed) == (4, 0):
            assert [f"{word & 0xFFFFFFFF:08x}" for word in found.tolist()] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_of_any_size(philoxed, dtype):
    compiled = philoxed(lambda x: (torch.rand_like(x), torch.rand(x.shape, dtype=torch.float32) + 1), dynamic=True)
    for shape in [(0,), (1,), (2,), (3,), (4,), (5,), (31,), (64,), (1000,), (4099,)]:
        first, second = run(compiled, torch.ones(shape, dtype=dtype))
        assert torch.equal(first, uniforms(seed_of(5), 0, shape, dtype)) and torch.equal(second, uniforms(seed_of(5), 1, shape) + 1)
        assert (first < 1).all()


def test_numbers_of_rows(philoxed):
    def function(x):
        return torch.rand_like(x), torch.rand_like(x)[:, 1:] * 2, torch.rand_like(x).sum(-1), torch.rand_like(x).t().contiguous()

    for dynamic, shapes in ((True, [(3, 7), (4, 8), (5, 64), (2, 131), (33, 65), (0, 4), (6, 1)]), (False, [(5, 64), (33, 65), (4, 6)])):
        torch._dynamo.reset()
        compiled = philoxed(function, dynamic=dynamic)
        for shape in shapes:
            whole, part, sums, turned = run(compiled, torch.ones(shape))
            expected = [uniforms(seed_of(5), stream, shape) for stream in range(4)]
            assert torch.equal(whole, expected[0]) and torch.equal(part, expected[1][:, 1:] * 2) and torch.equal(turned, expected[3].t())
            torch.testing.assert_close(sums, expected[2].sum(-1))


def test_numbers_do_not_depend_on_the_layout(philoxed):
    compiled = philoxed(lambda x: F.dropout(x, 0.25))
    x = torch.rand(3, 8, 5, 4) + 1
    expected = x.mul(uniforms(seed_of(5), 0, x.shape) < 0.75).mul(1 / 0.75)
    for y in (x, x.contiguous(memory_format=torch.channels_last), x.mT.contiguous().mT, x[:, :, :, :2], x.expand(2, 3, 8, 5, 4)[1]):
        found = run(compiled, y)
        limit = expected if y.shape == x.shape else y.mul(uniforms(seed_of(5), 0, y.shape) < 0.75).mul(1 / 0.75)
        assert torch.equal(found, limit)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 1 - 2.0**-24, 1.0])
@pytest.mark.parametrize("numerics", ["default", "eager"])
def test_dropout_is_eagers_under_its_mask(philoxed, dtype, p, numerics):
    compiled = philoxed(lambda x: torch.ops.aten.native_dropout(x, p, True), numerics=numerics)
    x = torch.randn(333).to(dtype)
    x[:6] = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-40])
    y, mask = run(compiled, x)
    assert torch.equal(mask, uniforms(seed_of(5), 0, x.shape).double() < 1 - p) and mask.dtype == torch.bool
    expected = x.mul(mask).mul(0.0 if p == 1 else 1 / (1 - p))
    assert y.dtype == dtype and torch.equal(y.nan_to_num(7), expected.nan_to_num(7)) and torch.equal(y.nan_to_num(7).signbit(), expected.nan_to_num(7).signbit())


def test_masks_agree_between_forward_and_backward(philoxed):
    compiled = philoxed(lambda x: F.dropout(x.sin(), 0.5) * 3)
    x = torch.ones(257, requires_grad=True)
    y = run(compiled, x)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0) and 60 < (y != 0).sum() < 200
    assert torch.equal(y != 0, uniforms(seed_of(5), 0, (257,)) < 0.5)


def test_training_of_a_layer(philoxed):
    layer = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Dropout(0.3), torch.nn.Linear(32, 8))
    compiled = philoxed(layer)
    x = torch.randn(24, 16)
    y = run(compiled, x)
    y.square().sum().backward()
    found = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    mask = uniforms(seed_of(5), 0, (24, 32)) < 1 - 0.3
    expected = layer[3](layer[1](layer[0](x)) * mask * (1 / (1 - 0.3)))
    expected.square().sum().backward()
    torch.testing.assert_close(y, expected)
    for a, e in zip(found, (p.grad for p in layer.parameters())):
        torch.testing.assert_close(a, e)


def test_the_seed_follows_torchs_generator(philoxed):
    compiled = philoxed(lambda x: F.dropout(x, 0.5) + torch.rand_like(x))
    x = torch.ones(4096)
    first, second = run(compiled, x), compiled(x)
    assert not torch.equal(first, second) and torch.equal(run(compiled, x), first) and torch.equal(compiled(x), second)
    # One draw per call, however many operators there are.
    following = torch.rand(3)
    torch.manual_seed(5)
    for _ in range(2):
        torch.randint(-(2**63), 2**63 - 1, ())
    assert torch.equal(torch.rand(3), following)


def test_bernoulli_and_uniform(philoxed):
    def function(x):
        return torch.bernoulli(x), torch.bernoulli(torch.empty_like(x), 0.3), torch.empty_like(x).uniform_(-2, 3), torch.empty_like(x).bernoulli_(0.0)

    x = torch.rand(2000)
    chosen, fixed, between, none = run(philoxed(function), x)
    seed = seed_of(5)
    assert torch.equal(chosen, (uniforms(seed, 0, (2000,)) < x).float())
    assert torch.equal(fixed, (uniforms(seed, 1, (2000,)).double() < 0.3).float()) and not none.any()
    torch.testing.assert_close(between, uniforms(seed, 2, (2000,)) * 5 - 2)
    # Numbers that would round to the upper bound are replaced by the lower one.
    half = run(philoxed(lambda x: x.clone().uniform_(1, 1.0078125)), torch.ones(4096, dtype=torch.bfloat16))
    assert (half == 1).all()


def normals(seed, stream, shape, dtype=torch.float32):
    count = int(np.prod(shape))
    words = bits(seed, stream, count, True)
    if dtype == torch.float64:
        first = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-53
        second = (bits(seed, stream + 1, count, True) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    else:
        first = (words & np.uint64(0xFFFFFFFF)).astype(np.float64) * 2.0**-32 + 2.0**-33
        second = (words >> np.uint64(40)).astype(np.float64) * 2.0**-24
    return torch.from_numpy(np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)).reshape(shape).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers(philoxed, dtype):
    compiled = philoxed(lambda x: (torch.randn_like(x), torch.empty_like(x).normal_(3, 0.5), torch.randn(x.shape, dtype=x.dtype)), dynamic=True)
    each = 2 if dtype == torch.float64 else 1
    for shape in [(0,), (1,), (5,), (33, 65)]:
        found, seed = run(compiled, torch.ones(shape, dtype=dtype)), seed_of(5)
        for turn, (drawn, scale, mean) in enumerate(zip(found, (1, 0.5, 1), (0, 3, 0))):
            expected = (normals(seed, turn * each, shape, dtype).double() * scale + mean).to(dtype)
            limit = {torch.float64: 1e-12, torch.float32: 4e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
            torch.testing.assert_close(drawn, expected, atol=limit, rtol=limit)


def test_the_normal_distribution(philoxed):
    count = 1 << 14
    drawn = run(philoxed(lambda x: torch.randn_like(x)), torch.empty(count), seed=1).double().numpy()
    assert abs(drawn.mean()) < 6 / np.sqrt(count) and abs(drawn.var() - 1) < 6 * np.sqrt(2 / count)
    assert abs((drawn**3).mean()) < 6 * np.sqrt(15 / count) and abs((drawn**4).mean() - 3) < 6 * np.sqrt(96 / count)
    assert abs((drawn[1:] * drawn[:-1]).mean()) < 6 / np.sqrt(count)


@pytest.mark.parametrize("p", [-0.5, 1.5])
def test_what_eager_refuses_is_refused(philoxed, p):
    with pytest.raises(RuntimeError, match="p in|p to be"):
        philoxed(lambda x: torch.bernoulli(x, p))(torch.ones(4))


def test_padded_graphs_draw_the_same_numbers(philoxed):
    def function(x, w):
        return F.dropout(x, 0.5).relu() @ w, F.dropout(x, 0.25)

    w = torch.randn(6, 10)
    for more in ({"padding": "force"}, {"bucket_policy": "ramp"}, {"padding": "off", "bucket_policy": "off"}):
        compiled = philoxed(function, dynamic=True, **more)
        for n in (5, 9, 17):
            x = torch.rand(n, 6) + 1
            product, dropped = run(compiled, x, w)
            seed = seed_of(5)
            torch.testing.assert_close(product, (x * (uniforms(seed, 0, x.shape) < 0.5) * 2) @ w)
            assert torch.equal(dropped != 0, uniforms(seed, 1, x.shape) < 0.75)


def test_equal_formulas_share_a_kernel(philoxed, reports):
    def function(x, y):
        return F.dropout(F.dropout(x, 0.5) @ y, 0.5) @ y

    run(philoxed(function), torch.randn(8, 8), torch.randn(8, 8))
    assert len(reports[0]["kernels"]) == 1 and reports[0]["step_kinds"]["Launch"] == 2
    assert torch._dynamo.utils.counters["frit"]["philox:aten.native_dropout.default"] >= 2


@pytest.mark.parametrize("rows", [1 << 22, 1 << 25])
def test_counters_of_more_than_32_bits(philoxed, rows):
    """A small part of a huge tensor: the second word of the counter is 0, and 7."""
    function = lambda x: torch.rand_like(x.expand(rows, 4096), memory_format=torch.contiguous_format)[-3:, 5:105] * 1  # noqa: E731
    found = run(philoxed(function, dynamic=False), torch.ones(1, 4096))
    at = (np.arange(rows - 3, rows)[:, None] * 4096 + np.arange(5, 105)).astype(np.uint64)
    block, seed = at >> np.uint64(2), seed_of(5) & (1 << 64) - 1
    assert block.max() >> np.uint64(32) == (0 if rows == 1 << 22 else 7)
    words = philox([block & np.uint64(0xFFFFFFFF), block >> np.uint64(32), 0, 0], [seed & 0xFFFFFFFF, seed >> 32])
    word = np.take_along_axis(words, (at & np.uint64(3)).astype(np.int64)[..., None], -1)[..., 0]
    assert torch.equal(found, torch.from_numpy((word >> np.uint64(8)).astype(np.float64) * 2.0**-24).float())


def test_many_tensors_of_other_shapes(philoxed, reports):
    shapes = [(33, 65), (128,), (7,)] * 4
    arguments = [torch.ones(shape) for shape in shapes]
    found = run(philoxed(lambda *xs: [F.dropout(x, 0.5) for x in xs]), *arguments)
    for stream, (y, x) in enumerate(zip(found, arguments)):
        assert torch.equal(y, (uniforms(seed_of(5), stream, x.shape) < 0.5) * 2.0)
    assert len(reports[0]["kernels"]) == 1 and reports[0]["step_kinds"]["Launch"] == len(shapes)


def test_without_fusion_each_operator_is_a_kernel(philoxed, reports):
    x = torch.ones(100)
    a, b = run(philoxed(lambda x: (F.dropout(x, 0.5), torch.rand_like(x)), fusion=False), x)
    seed = seed_of(5)
    assert torch.equal(a != 0, uniforms(seed, 0, (100,)) < 0.5) and torch.equal(b, uniforms(seed, 1, (100,)))
    assert reports[0]["step_kinds"]["Launch"] == 2


def test_the_distribution(philoxed):
    count = 1 << 16 if philoxed.__closure__[0].cell_contents.param == "auto" else 1 << 14
    u = run(philoxed(lambda x: torch.rand_like(x)), torch.empty(count, dtype=torch.float64), seed=1).numpy()
    v = run(philoxed(lambda x: torch.rand_like(x)), torch.empty(count), seed=2).double().numpy()
    for drawn in (u, v):
        # Within six standard deviations.
        assert abs(drawn.mean() - 0.5) < 6 / np.sqrt(12 * count)
        assert abs(drawn.var() - 1 / 12) < 6 / np.sqrt(180 * count)
        expected = count / 16
        chi_square = ((np.histogram(drawn, 16, (0, 1))[0] - expected) ** 2 / expected).sum()
        assert 2 < chi_square < 45  # 15 degrees of freedom: 1e-4 on either side
        for distance in (1, 2, 3, 4, 8):
            correlation = 12 * ((drawn[distance:] - 0.5) * (drawn[:-distance] - 0.5)).mean()
            assert abs(correlation) < 6 / np.sqrt(count)
        assert len(np.unique(drawn)) > 0.98 * count


def dropped(x):
    return F.dropout(x, 0.5), torch.rand_like(x)


@pytest.mark.parametrize("more", [{}, {"random": "torch"}, {"target": "simt"}, {"random": "torch", "target": "simt"}])
def test_eagers_numbers_where_they_are_not_asked_for_otherwise(more):
    compiled = torch.compile(dropped, backend="frit", options=more)
    checker.check(dropped, torch.randn(333), compiled=compiled, compare="exact", seed=3)


def test_what_is_drawn_by_kernels_is_told():
    frit.reset()
    report = frit.explain(dropped, options={"random": "philox"})(torch.ones(64))
    (graph,) = report.graphs
    assert graph["random"] == {"aten.native_dropout.default": 1, "aten.rand_like.default": 1}
    assert [call["op"] for call in graph["aten_calls"]] == ["aten.randint.low"]
    assert "random numbers generated by kernels, not eager's: aten.native_dropout.default, aten.rand_like.default" in str(report)
    assert frit.explain(dropped)(torch.ones(64)).graphs[0]["random"] == {}


def test_the_option_is_part_of_the_key():
    gm = torch.fx.symbolic_trace(lambda x: x + 1)
    keys = {graph_key.canonical_key("digest", options.resolve(options={"random": value}), "identity") for value in ("auto", "torch", "philox")}
    assert len(keys) == 3 and gm


def test_only_gpus_draw_by_default(tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5) + 1

    program = torch.export.export(Model().train(), (torch.ones(8),))
    torch.export.save(program, tmp_path / "model.pt2")

    def calls(*flags):
        done = subprocess.run([TOOL, tmp_path / "model.pt2", "-o", tmp_path / "model.frit", "--report", *flags], check=True, capture_output=True, text=True)
        return {call["op"] for call in json.loads(done.stdout)["aten_calls"]}

    assert calls() == calls("--target=simt") == calls("--target=cpu", "--target=sm_90") == {"aten.dropout.default"}
    assert calls("--target=sm_90", "--target=sm_80") == calls("--random=philox") == {"aten.randint.low"}
    assert calls("--target=sm_90", "--random=torch") == {"aten.dropout.default"}
    done = subprocess.run([TOOL, tmp_path / "model.pt2", "-o", tmp_path / "model.frit", "--random=mersenne"], capture_output=True, text=True)
    assert done.returncode and "option 'random' cannot be 'mersenne'; known: auto, torch, philox" in done.stderr
