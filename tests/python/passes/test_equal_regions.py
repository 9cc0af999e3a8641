"""Equal regions share a kernel: within a graph, between graphs of a process, and for the layers of a model. Compilations for a GPU are checked
by the compiler's counters, since there may be no GPU."""

import json
import threading

import emulation
import pytest
import torch
from torch._dynamo.utils import counters

import frit
from benchmarks import ptx


def scaled(x, y):
    return (x * y + 1).relu().sum(-1)


def rounded(x, y):
    return (x * y + 1).relu().sum(-1).round()


def kernels_of(layers):
    """Returns the number of distinct kernels of a model of equal layers, and the launches of one call."""
    from transformers import GPT2Config, GPT2LMHeadModel

    from frit import backend

    config = GPT2Config(n_layer=layers, n_head=2, n_embd=32, vocab_size=64, n_positions=32, attn_implementation="eager")
    model = GPT2LMHeadModel(config).eval()
    names = []
    observe = lambda name, stage, captured, report, executable: names.extend(kernel["name"] for kernel in report["kernels"])  # noqa: E731
    backend._OBSERVERS.append(observe)
    try:
        torch.compiler.reset()
        with torch.no_grad():
            torch.compile(model, backend="frit")(torch.arange(16)[None], use_cache=False)
    finally:
        backend._OBSERVERS.remove(observe)
    return set(names), frit.counts()["kernel_launches"]


def test_twelve_layers_have_the_kernels_of_two():
    two, few = kernels_of(2)
    twelve, many = kernels_of(12)
    assert len(twelve) <= 1.3 * len(two)
    assert many > 4 * few


def test_a_kernel_of_another_graph_is_not_compiled_again():
    torch.compiler.reset()
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    first = torch.compile(scaled, backend="frit")
    torch.testing.assert_close(first(x, y), scaled(x, y))
    assert counters["frit"]["kernels_reused"] == 0
    again = torch.compile(lambda a, b: scaled(a, b), backend="frit")
    assert torch.equal(again(x, y), first(x, y))
    assert counters["frit"]["kernels_reused"] == 1
    other = torch.compile(rounded, backend="frit")
    assert torch.equal(other(x, y), first(x, y).round())
    assert counters["frit"]["kernels_reused"] == 1, "a kernel with a different end is another kernel"


def test_reset_forgets_them():
    torch.compiler.reset()
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    torch.compile(scaled, backend="frit")(x, y)
    torch.compiler.reset()
    torch.compile(scaled, backend="frit")(x, y)
    assert counters["frit"]["kernels_reused"] == 0


@pytest.mark.parametrize("layers", [2, 12])
def test_a_region_that_the_user_names_is_compiled_once(layers):
    @torch.compiler.nested_compile_region
    def layer(x, weight):
        return ((x @ weight).sin() * 2 + x.cos()).softmax(-1)

    def model(x, weight):
        for _ in range(layers):
            x = layer(x, weight)
        return x

    torch.compiler.reset()
    x, weight = torch.randn(4, 8), torch.randn(8, 8)
    compiled = torch.compile(model, backend="frit", fullgraph=True)
    torch.testing.assert_close(compiled(x, weight), model(x, weight))
    assert counters["frit"]["kernels"] == 1


class Layer(torch.nn.Module):
    """A transformer layer; its formula may be a region that the user marks."""

    def __init__(self, width, region):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.region = region

    def forward(self, x):
        return named(self, x) if self.region else formula(self, x)


def formula(layer, x):
    q, k, v = layer.qkv(layer.norm1(x)).chunk(3, -1)
    weights = torch.softmax(q @ k.transpose(1, 2) * 0.25, -1)
    x = x + layer.out(weights @ v)
    return x + layer.down(torch.nn.functional.gelu(layer.up(layer.norm2(x))))


named = torch.compiler.nested_compile_region(lambda layer, x: formula(layer, x))


def trained(count, region):
    """Returns the kernels compiled for each stage, and the launches of a training step, of a model of equal layers."""
    from frit import backend

    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Layer(16, region) for _ in range(count)))
    x = torch.randn(2, 8, 16)
    model(x).square().mean().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    kernels = {}
    observe = lambda name, stage, captured, report, executable: kernels.update({stage: len(report["kernels"])})  # noqa: E731
    backend._OBSERVERS.append(observe)
    try:
        torch.compiler.reset()
        torch.compile(model, backend="frit", fullgraph=True)(x).square().mean().backward()
    finally:
        backend._OBSERVERS.remove(observe)
    torch.testing.assert_close([parameter.grad for parameter in model.parameters()], expected, rtol=2e-4, atol=1e-6)
    return kernels, frit.counts()["kernel_launches"]


@pytest.mark.parametrize("region", [False, True], ids=["found", "named"])
def test_training_twelve_layers_compiles_the_kernels_of_three(region):
    """The number of compiled kernels, forward and backward, is that of three layers: the first and the last layer have other neighbours."""
    three, few = trained(3, region)
    twelve, many = trained(12, region)
    assert set(three) == set(twelve) == {"forward", "backward"}
    assert twelve == three
    assert many > 3 * few


GPU = ["sm_90", "simt"]


def text_of(function, *inputs):
    """Returns the captured graph of a function as text for the compiler."""
    from frit import backend

    gm = torch.fx.experimental.proxy_tensor.make_fx(function, tracing_mode="symbolic")(*inputs)
    return backend.capture(gm).json


def compiled_for(targets, text, **options):
    from frit.native import compiler

    return compiler().compile(text, json.dumps({"name": "m", "targets": [targets] if isinstance(targets, str) else targets, **options}))


@pytest.fixture
def forgotten():
    from frit.native import compiler

    compiler().release_memory()


def stack(layers):
    """Returns the graph of transformer layers: norms and activations between matrix products of a library."""

    def model(x, w):
        for _ in range(layers):
            x = x + torch.softmax(torch.nn.functional.layer_norm(x, (x.shape[-1],)) @ w, -1)
            x = x + torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (x.shape[-1],)) @ w)
        return x

    return text_of(model, torch.randn(8, 16), torch.randn(16, 16))


@pytest.mark.parametrize("target", GPU)
def test_two_graphs_for_a_gpu_compile_what_they_share_once(forgotten, target):
    x, y = torch.randn(8, 16), torch.randn(8, 16)
    first = compiled_for(target, text_of(scaled, x, y))
    assert (first.kernels_compiled, first.kernels_reused, first.kernels_forgotten) == (1, 0, 0)
    second = compiled_for(target, text_of(lambda x, y: (scaled(x, y).logcumsumexp(0), x.cos().amax(0)), x, y))
    assert (second.kernels_compiled, second.kernels_reused) == (1, 1)
    other = compiled_for(target, text_of(rounded, x, y))
    assert (other.kernels_compiled, other.kernels_reused) == (1, 0), "a kernel with a different end is another kernel"


@pytest.mark.parametrize("target", GPU)
def test_twelve_layers_for_a_gpu_compile_the_kernels_of_two(forgotten, target):
    two, twelve = stack(2), stack(12)
    few = compiled_for(target, two)
    more = compiled_for(target, twelve)
    assert few.kernels_compiled > 2 and few.kernels_reused == 0
    assert more.kernels_compiled + more.kernels_reused <= 1.3 * few.kernels_compiled, "equal layers of a graph are the same kernels"
    assert more.kernels_reused == few.kernels_compiled, "and those of another graph too"
    again = compiled_for(target, twelve)
    assert (again.kernels_compiled, again.artifact) == (0, more.artifact)


def test_code_for_other_devices_and_by_other_options_is_compiled_anew(forgotten):
    text = stack(2)
    count = compiled_for("sm_90", text).kernels_compiled
    for targets, options in (("sm_80", {}), ("simt", {}), ("cpu", {}), ("sm_90", {"numerics": "eager"})):
        result = compiled_for(targets, text, **options)
        assert result.kernels_compiled >= count - 1 and result.kernels_reused == 0, (targets, options)
    both = compiled_for(["sm_80", "sm_90"], text)
    # Schedules are those of the oldest device, so kernels for sm_90 above may differ, but those for sm_80 do not.
    assert both.kernels_reused >= count and both.kernels_compiled + both.kernels_reused == 2 * count


def test_a_gpu_kernel_is_the_same_text_whatever_its_graph_has_beside_it(forgotten):
    """A function is inlined even if it has two users, or if another graph has the kernel."""
    from frit.native import compiler

    def entries(text):
        starts = [text.index(line) for line in text.splitlines() if line.startswith(".visible .entry")]
        return {text[start : text.index("\n}\n", start)] for start in starts}

    x, y = torch.randn(64, 100, dtype=torch.float64), torch.randn(32, dtype=torch.float64)
    alone = ptx.texts_of(compiled_for("sm_90", text_of(lambda x: x.cos().sum(-1), x)).artifact)
    compiler().release_memory()
    beside = ptx.texts_of(compiled_for("sm_90", text_of(lambda x, y: (x.cos().sum(-1), y.cos() + 1), x, y)).artifact)
    assert len(alone) == len(beside) == 2
    for one, more in zip(alone, beside):
        assert entries(one) and entries(one) < entries(more)


def test_calls_of_functions_do_not_tell_what_was_compiled_before(forgotten):
    """LLVM numbers calls over all compilations of a target machine."""
    from frit.native import compiler

    text, made = text_of(lambda x: x.cos().sum(-1), torch.randn(64, 100, dtype=torch.float64)), []
    for _ in range(3):
        compiler().release_memory()
        made.append(compiled_for("sm_90", text).artifact)
    assert made[0] == made[1] == made[2]
    assert any("call.uni" in text for text in ptx.texts_of(made[0]))


@pytest.mark.skipif(emulation.PTXAS is None, reason="needs ptxas")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_functions_tables_and_shared_memory_of_several_kernels_assemble_as_one_module(forgotten, target):
    def several(x, y, z):
        return x.sin().softmax(-1), y.cos().sum(-1), torch.pow(x, 1.7).sum(), z.sin(), z.sum()

    inputs = torch.randn(64, 700), torch.randn(64, 300, dtype=torch.float64), torch.randn(5000, dtype=torch.float64)
    result = compiled_for(target, text_of(several, *inputs))
    (text,) = ptx.usual_texts_of(result.artifact, json.loads(result.report))
    assert text.count(".version") == text.count(".address_size") == 1
    assert text.count("__cudart_sin_cos_coeffs[") > 1, "each kernel has a table of its own"
    assert text.count(".extern .shared") == 1
    assert len({row[0] for row in emulation.assemble(text)}) >= 5


@pytest.mark.parametrize("target", GPU)
def test_threads_that_compile_the_same_get_the_same_bytes(forgotten, target):
    from frit.native import compiler

    texts = [stack(1), text_of(lambda x: (x.sin().sum(-1), x.cos() * 2), torch.randn(8, 16)), stack(2)]
    alone = [compiled_for(target, text) for text in texts]
    compiler().release_memory()
    together, results = threading.Barrier(6), {}

    def compile_some(number):
        together.wait()
        for text in range(3):
            results[number, text] = compiled_for(target, texts[(text + number) % 3])

    threads = [threading.Thread(target=compile_some, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 18
    for (number, text), result in results.items():
        assert result.artifact == alone[(text + number) % 3].artifact
    assert sum(result.kernels_reused for result in results.values()) > 0
