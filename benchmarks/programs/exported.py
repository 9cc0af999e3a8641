"""Models for export with dynamic batch and length, as users write them: not decomposed, with in-place operators, buffers, tied weights
and masks. Weights are random; `eval()` disables dropout."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from . import models

VOCABULARY = 211


@dataclass(frozen=True)
class Exported:
    """A model: `make(scale)` returns the module, `inputs(*sizes)` its arguments and `shapes()` the dynamic shapes for an export with the first
    of the sizes. The tests use `sizes`, the benchmark `demo_sizes`."""

    make: Callable
    inputs: Callable
    shapes: Callable
    sizes: tuple
    demo_sizes: tuple

    def module(self, scale="test"):
        torch.manual_seed(0)
        return self.make(scale).eval().requires_grad_(False)

    def export(self, module, sizes=None, shapes=None):
        torch.manual_seed(1)
        inputs = self.inputs(*(sizes or self.sizes[0]))
        return torch.export.export(module, inputs, dynamic_shapes=shapes or self.shapes())


class Residual(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels != width:
            self.downsample = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += shortcut
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, width=8, blocks=(1, 1), classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        layers, channels = [], width
        for number, count in enumerate(blocks):
            for block in range(count):
                layers.append(Residual(channels, width << number, 2 if number and not block else 1))
                channels = width << number
        self.layers, self.avgpool, self.fc = nn.Sequential(*layers), nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(channels, classes)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):  # statistics like those of a trained network
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = self.layers(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CausalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))


class Decoder(nn.Module):
    """A GPT-2 in plain torch: the head is tied to the embedding, and positions are a buffer that is not saved."""

    def __init__(self, width=32, heads=4, layers=2, positions=128, vocabulary=VOCABULARY):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.LayerNorm(width),
                    "attention": CausalAttention(width, heads),
                    "norm2": nn.LayerNorm(width),
                    "mlp": nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)),
                }
            )
            for _ in range(layers)
        )
        self.drop, self.norm, self.head = nn.Dropout(0.1), nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight
        self.register_buffer("positions", torch.arange(positions)[None], persistent=False)

    def forward(self, tokens):
        x = self.drop(self.wte(tokens) + self.wpe(self.positions[:, : tokens.shape[1]]))
        for block in self.blocks:
            x = x + block["attention"](block["norm1"](x))
            x = x + block["mlp"](block["norm2"](x))
        return self.head(self.norm(x))


class Encoder(nn.Module):
    """torch's encoder layers with a padding mask."""

    def __init__(self, width=32, heads=4, layers=2):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x, kept):
        return self.layers(x, src_key_padding_mask=~kept)


class Wrapped(nn.Module):
    """A transformers model that takes and returns only tensors."""

    def __init__(self, model, *names, results=1, **settings):
        super().__init__()
        self.model, self.names, self.results, self.settings = model, names, results, settings

    def forward(self, *inputs):
        results = self.model(**dict(zip(self.names, inputs)), **self.settings, return_dict=False)
        return results[: self.results] if self.results > 1 else results[0]


def bert(layers=2, width=32, heads=4, positions=128):
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=positions,
    )
    return Wrapped(BertModel(config), "input_ids", "attention_mask", "token_type_ids", results=2)


def llama(layers=2, width=32, heads=4, positions=128):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        intermediate_size=2 * width,
        max_position_embeddings=positions,
    )
    return Wrapped(LlamaForCausalLM(config), "input_ids", use_cache=False)


def _gpt2(**settings):
    return Wrapped(models.gpt2(vocabulary=VOCABULARY, **settings), "input_ids", use_cache=False)


def _tokens(batch, length):
    return (torch.randint(0, VOCABULARY, (batch, length)),)


def kept(batch, length):
    """Returns a mask that keeps all of the first row and three elements less of each further row."""
    lengths = torch.tensor([max(1, length - 3 * row) for row in range(batch)])
    return torch.arange(length)[None] < lengths[:, None]


def _sentences(batch, length):
    return (*_tokens(batch, length), kept(batch, length).long(), torch.randint(0, 2, (batch, length)))


def _sequences(batch, length, width=32):
    return torch.randn(batch, length, width), kept(batch, length)


def _images(batch, height, width):
    return (torch.randn(batch, 3, height, width),)


def batch_and_length(count=1, positions=128):
    """Dynamic shapes with the same batch and length for each of `count` inputs."""
    batch, length = Dim("batch", min=1, max=128), Dim("length", min=2, max=positions)
    return lambda: tuple({0: batch, 1: length} for _ in range(count))


def _wrapped(shapes):
    """Dynamic shapes of a module that takes `*inputs`."""
    return lambda: (shapes(),)


_TEXT = ((3, 17), (1, 2), (2, 15), (1, 16), (5, 31), (2, 32), (1, 33), (17, 7), (2, 63), (3, 64))
_DEMO_TEXT = ((4, 64), (1, 16), (1, 100), (3, 77), (8, 128))
_ANY_IMAGE = lambda: ({0: Dim("batch", min=1, max=64), 2: Dim("height", min=33, max=256), 3: Dim("width", min=33, max=256)},)  # noqa: E731

EXPORTED = {
    "resnet": Exported(
        lambda scale: ResNet(32, (2, 2, 2, 2)) if scale == "demo" else ResNet(),
        _images,
        _ANY_IMAGE,
        ((4, 40, 48), (1, 33, 34), (2, 33, 47), (3, 63, 64), (17, 34, 33), (1, 64, 65)),
        ((4, 64, 64), (1, 64, 64), (3, 96, 80), (8, 128, 128)),
    ),
    "gpt2": Exported(
        lambda scale: _gpt2(layers=4, width=256, positions=128) if scale == "demo" else _gpt2(width=32, positions=128),
        _tokens,
        _wrapped(batch_and_length(positions=128)),
        _TEXT,
        _DEMO_TEXT,
    ),
    "gpt2, plain torch": Exported(
        lambda scale: Decoder(256, 4, 4, 128) if scale == "demo" else Decoder(),
        _tokens,
        batch_and_length(),
        _TEXT,
        _DEMO_TEXT,
    ),
    "vit": Exported(
        lambda scale: Wrapped(models.vit(layers=4, width=192, image=96, patch=16) if scale == "demo" else models.vit(width=32), "pixel_values"),
        lambda batch, size=32: _images(batch, size, size),
        _wrapped(lambda: ({0: Dim("batch", min=1, max=128)},)),
        tuple((batch,) for batch in (3, 1, 2, 15, 16, 17, 33)),
        tuple((batch, 96) for batch in (4, 1, 7, 16)),
    ),
    "bert": Exported(
        lambda scale: bert(4, 256, 4, 128) if scale == "demo" else bert(),
        _sentences,
        _wrapped(batch_and_length(3)),
        _TEXT,
        _DEMO_TEXT,
    ),
    "encoder": Exported(lambda scale: Encoder(), _sequences, batch_and_length(2), _TEXT, _TEXT),
    "llama": Exported(lambda scale: llama(), _tokens, _wrapped(batch_and_length()), _TEXT, _TEXT),
}
