"""Whole models on the CPU: eager, frit and Inductor, interleaved in one run.

    python -m benchmarks.whole_models [--training] [--threads N] [--seconds S] [--contenders frit,inductor] [--output FILE.json] [MODEL ...]

The models have random weights and the sizes of common small ones. OpenVINO and ONNX Runtime take part if they can be
imported (`--contenders frit,openvino,onnxruntime`); frit depends on neither. `stream` reads as many bytes as the model's weights
have, once, which bounds the time of one token. With --training a call is a forward and a backward, with transformers' own
rates of dropout, and one model of each family takes part.
"""

import argparse
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch
from torch import nn

from . import measure

VOCABULARY = 8192


def _tokens(batch, length, vocabulary=VOCABULARY):
    return {"input_ids": torch.randint(0, vocabulary, (batch, length))}


def bert(batch, length):
    import transformers

    config = transformers.BertConfig(
        hidden_size=384, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=6, vocab_size=VOCABULARY, max_position_embeddings=512
    )
    return transformers.BertModel(config), _tokens(batch, length)


def gpt2(batch, length):
    import transformers

    config = transformers.GPT2Config(n_embd=384, n_layer=4, n_head=6, vocab_size=VOCABULARY, n_positions=512, use_cache=False)
    return transformers.GPT2LMHeadModel(config), _tokens(batch, length)


def llama(batch, length):
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=4,
        num_attention_heads=8,
        vocab_size=VOCABULARY // 2,
        max_position_embeddings=512,
        use_cache=False,
    )
    return transformers.LlamaForCausalLM(config), _tokens(batch, length, config.vocab_size)


def t5_encoder(batch, length):
    import transformers

    config = transformers.T5Config(d_model=384, d_kv=64, d_ff=1536, num_layers=4, num_heads=6, vocab_size=VOCABULARY, use_cache=False)
    return transformers.T5EncoderModel(config), _tokens(batch, length)


def vit(batch, side):
    import transformers

    config = transformers.ViTConfig(hidden_size=384, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=6, image_size=side, patch_size=8)
    return transformers.ViTModel(config), {"pixel_values": torch.randn(batch, 3, side, side)}


def resnet18(batch, side):
    import transformers

    config = transformers.ResNetConfig(embedding_size=32, hidden_sizes=[32, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic", hidden_act="relu")
    return transformers.ResNetModel(config), {"pixel_values": torch.randn(batch, 3, side, side)}


def convnext(batch, side):
    import transformers

    config = transformers.ConvNextConfig(hidden_sizes=[48, 96, 192, 384], depths=[2, 2, 4, 2], image_size=side)
    return transformers.ConvNextModel(config), {"pixel_values": torch.randn(batch, 3, side, side)}


def albert(batch, length):
    import transformers

    config = transformers.AlbertConfig(
        embedding_size=128, hidden_size=384, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=6, vocab_size=VOCABULARY
    )
    return transformers.AlbertModel(config), _tokens(batch, length)


def whisper_encoder(batch, frames):
    import transformers

    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, max_source_positions=frames // 2)
    return transformers.models.whisper.modeling_whisper.WhisperEncoder(config), {"input_features": torch.randn(batch, 80, frames)}


def mobilenet(batch, side):
    import transformers

    return transformers.MobileNetV2Model(transformers.MobileNetV2Config(image_size=side)), {"pixel_values": torch.randn(batch, 3, side, side)}


MODELS = {
    "bert 1x16": lambda: bert(1, 16),
    "bert 8x128": lambda: bert(8, 128),
    "gpt2 1x32": lambda: gpt2(1, 32),
    "llama 1x1": lambda: llama(1, 1),
    "llama 2x128": lambda: llama(2, 128),
    "t5 encoder 4x64": lambda: t5_encoder(4, 64),
    "vit 4x96": lambda: vit(4, 96),
    "resnet18 1x96": lambda: resnet18(1, 96),
    "resnet18 8x96": lambda: resnet18(8, 96),
    "convnext 4x96": lambda: convnext(4, 96),
    "albert 2x64": lambda: albert(2, 64),
    "whisper encoder 1x200": lambda: whisper_encoder(1, 200),
    "mobilenet v2 2x96": lambda: mobilenet(2, 96),
}


#: One model of each family for --training.
TRAINED = {
    "bert 4x64": lambda: bert(4, 64),
    "gpt2 4x64": lambda: gpt2(4, 64),
    "llama 2x128": lambda: llama(2, 128),
    "t5 encoder 4x64": lambda: t5_encoder(4, 64),
    "vit 4x96": lambda: vit(4, 96),
    "resnet18 8x96": lambda: resnet18(8, 96),
}


class Plain(nn.Module):
    """Wraps a model to take tensors by position and return the first result, for contenders that export it."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        return self.model(**dict(zip(self.names, values)))[0]


def _compiled(backend, **options):
    return lambda plain, values: torch.compile(plain, backend=backend, options=options)


def _onnx(plain, values):
    program = io.BytesIO()
    torch.onnx.export(plain, values, dynamo=True, verbose=False).save(program)
    return program.getvalue()


def _openvino(plain, values):
    import openvino

    core = openvino.Core()
    options = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(core.read_model(_onnx(plain, values)), "CPU", options).create_infer_request()
    arrays = [value.numpy() for value in values]
    return lambda *_: torch.from_numpy(request.infer(arrays, share_inputs=True, share_outputs=True)[0])


def _onnxruntime(plain, values):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(_onnx(plain, values), options, providers=["CPUExecutionProvider"])
    named = {given.name: value.numpy() for given, value in zip(session.get_inputs(), values)}
    return lambda *_: torch.from_numpy(session.run(None, named)[0])


def _file(plain, values):
    """frit's counterpart of what OpenVINO and ONNX Runtime do: the exported program with its weights, compiled to a file and loaded."""
    import frit

    folder = tempfile.mkdtemp()
    program, compiled = os.path.join(folder, "model.pt2"), os.path.join(folder, "model.frit")
    torch.export.save(torch.export.export(plain, values), program)
    subprocess.run([measure.TOOLS / "frit-compile", program, "-o", compiled], check=True, capture_output=True)
    model = frit.load(compiled)
    shutil.rmtree(folder)
    return model


def _stream(plain, values):
    """Sums a tensor of the size of the weights, without the tables of which a call reads a few rows."""
    owners = [module for module in plain.modules() if not isinstance(module, nn.Embedding)]
    read = {id(weight): weight.nbytes for module in owners for weight in module.parameters(recurse=False)}
    weights = torch.ones(sum(read.values()) // 4)
    result = plain(*values)
    return lambda *_: (weights.sum(), result)[1]


CONTENDERS = {
    "eager": lambda plain, values: plain,
    "frit": _compiled("frit"),
    "frit-file": _file,
    "batch-invariant": _compiled("frit", numerics="batch-invariant"),
    "inductor": _compiled("inductor"),
    "inductor-freezing": _compiled("inductor", freezing=True),
    "inductor-autotune": _compiled("inductor", freezing=True, max_autotune=True),
    "openvino": _openvino,
    "onnxruntime": _onnxruntime,
    "stream": _stream,
}


# A contender's threads wait actively after its last call, at the cost of the next one. So each has a pause before its turn, and a few calls
# in a turn.
PAUSE, TURN = 0.02, 4


def interleaved(calls, seconds):
    """Returns the median milliseconds by contender; each round has another order."""
    samples, order, began = {name: [] for name in calls}, list(calls), time.perf_counter()
    while time.perf_counter() - began < seconds * len(calls) or len(samples[order[0]]) < 5 * TURN:
        for name in order:
            time.sleep(PAUSE)
            for _ in range(2):
                calls[name]()  # untimed, since the others have evicted its data from the caches
            for _ in range(TURN):
                start = time.perf_counter()
                calls[name]()
                samples[name].append(1e3 * (time.perf_counter() - start))
        order.append(order.pop(0))
    return {name: statistics.median(times) for name, times in samples.items()}


def inference(make, contenders, seconds):
    """Returns the median milliseconds of a call without gradients, by contender."""
    torch.manual_seed(0)
    model, inputs = make()
    plain, values = Plain(model.eval(), list(inputs)), tuple(inputs.values())
    with torch.no_grad():
        expected = plain(*values)
        calls = {name: CONTENDERS[name](plain, values) for name in contenders}
        for name, call in calls.items():
            for _ in range(2):
                torch.testing.assert_close(call(*values), expected, rtol=1e-3, atol=1e-3, msg=lambda text, name=name: f"{name}: {text}")
        return interleaved({name: lambda call=call: call(*values) for name, call in calls.items()}, seconds)


def training(make, contenders, seconds):
    """Returns the median milliseconds of a forward and a backward, by contender. Gradients are compared where no dropout makes them random."""
    torch.manual_seed(0)
    model, inputs = make()
    plain, values = Plain(model.train(), list(inputs)), tuple(inputs.values())
    random = any(isinstance(module, nn.Dropout) and module.p for module in plain.modules())
    weights = [weight for weight in plain.parameters() if weight.requires_grad]

    def steps(call):
        def step():
            loss = call(*values).square().mean()
            return loss, *torch.autograd.grad(loss, weights, allow_unused=True)

        return step

    calls = {name: steps(CONTENDERS[name](plain, values)) for name in contenders}
    expected = calls["eager"]()
    for name, call in calls.items():
        for _ in range(2):
            found = call()
            assert all(x is None or x.isfinite().all() for x in found), name
            if not random:
                torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-3, msg=lambda text, name=name: f"{name}: {text}")
    return interleaved(calls, seconds)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--training", action="store_true", help="a forward and a backward instead of a call without gradients")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each contender of a model")
    parser.add_argument("--contenders", default="frit,inductor", help=f"some of {', '.join(CONTENDERS)}; eager always takes part")
    parser.add_argument("--output", help="path of the JSON; the table is always printed")
    parser.add_argument("models", nargs="*", help="parts of the models' names; all by default")
    chosen = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    contenders = list(dict.fromkeys(["eager", *chosen.contenders.split(",")]))
    rows = []
    with measure.threads(chosen.threads):
        for name, make in (TRAINED if chosen.training else MODELS).items():
            if not chosen.models or any(part in name for part in chosen.models):
                print(f"  {name} ...", file=sys.stderr, flush=True)
                torch.compiler.reset()
                rows.append({"model": name, "ms": (training if chosen.training else inference)(make, contenders, chosen.seconds)})
    print("model".ljust(18) + "".join(name.rjust(12) for name in contenders) + "   frit is faster than the others by")
    others = [name for name in contenders if name != "frit"]
    for row in rows:
        ratios = {name: row["ms"][name] / row["ms"]["frit"] for name in others} if "frit" in row["ms"] else {}
        shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        print(row["model"].ljust(18) + "".join(f"{row['ms'][name]:12.2f}" for name in contenders) + "   " + shown)
    means = {name: statistics.geometric_mean(row["ms"][name] / row["ms"]["frit"] for row in rows) for name in others if rows and "frit" in contenders}
    print("geometric means: " + ", ".join(f"{name} {mean:.2f}" for name, mean in means.items()))
    if chosen.output:
        measure.write(chosen.output, threads=chosen.threads, rows=rows, geometric_means=means)


if __name__ == "__main__":
    main()
