"""Whole models from transformers configurations, random weights: GPT-2, ViT, and the captioning model."""

import functools

import torch

from . import register


# Dropout is off in both, so that two runs agree: eager and compiled would draw from one generator.
def gpt2_config(layers=2, width=64, heads=4, vocabulary=101, positions=128, **settings):
    from transformers import GPT2Config

    return GPT2Config(
        vocab_size=vocabulary,
        n_positions=positions,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        **settings,
    )


def vit_config(layers=2, width=64, heads=4, image=32, patch=8, **settings):
    from transformers import ViTConfig

    return ViTConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        image_size=image,
        patch_size=patch,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **settings,
    )


def gpt2(**settings):
    from transformers import GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(gpt2_config(bos_token_id=0, eos_token_id=0, **settings))
    model.loss_type = "ForCausalLM"  # avoids a warning of transformers at which Dynamo would break the graph
    return model


def vit(classes=10, **settings):
    from transformers import ViTForImageClassification

    torch.manual_seed(0)
    return ViTForImageClassification(vit_config(num_labels=classes, **settings))


def captioning(width=64, layers=2, heads=4, image=32, patch=8, vocabulary=64, longest=64):
    """VisionEncoderDecoderModel: a ViT encoder without pooler and a GPT-2 decoder."""
    from transformers import GPT2LMHeadModel, VisionEncoderDecoderModel, ViTModel

    torch.manual_seed(0)
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    decoder = gpt2_config(layers, width, heads, vocabulary, longest, add_cross_attention=True, is_decoder=True, **special)
    encoder = ViTModel(vit_config(layers, width, heads, image, patch), add_pooling_layer=False)
    model = VisionEncoderDecoderModel(encoder=encoder, decoder=GPT2LMHeadModel(decoder))
    model.config.decoder_start_token_id = 1
    model.config.pad_token_id = 0
    model.config.eos_token_id = 2
    return model


def captions(batch, length, vocabulary, generator):
    """Labels (batch, length); the ends of shorter rows are -100."""
    labels = torch.randint(3, vocabulary, (batch, length), generator=generator)
    for row in labels[1:]:
        kept = int(torch.randint(1, length + 1, (), generator=generator))
        row[kept:] = -100
    return labels


def _language_loss(model, tokens):
    return model(input_ids=tokens, labels=tokens, return_dict=False)[0]


def _language_logits(model, tokens):
    return model(input_ids=tokens, return_dict=False)[0]


def _image_loss(model, images, labels):
    return model(pixel_values=images, labels=labels, return_dict=False)[0]


def _image_logits(model, images):
    return model(pixel_values=images, return_dict=False)[0]


def _caption_loss(model, images, labels):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(pixel_values=images, labels=labels, return_dict=False)[0]


def _bound(function, model):
    run = functools.wraps(function)(lambda *inputs: function(model, *inputs))
    run.module = model
    return run


def _tokens(batch, length, vocabulary=101):
    torch.manual_seed(1)
    return torch.randint(0, vocabulary, (batch, length))


@register("gpt2, forward", "4")
def _gpt2_forward(scale):
    demo = scale == "demo"
    model = gpt2(layers=4, width=256) if demo else gpt2()
    return _bound(_language_logits, model.eval().requires_grad_(False)), (_tokens(4, 64 if demo else 17),)


@register("gpt2, eager attention", "4", demo=False)
def _gpt2_eager_attention(scale):
    model = gpt2(attn_implementation="eager").eval().requires_grad_(False)
    return _bound(_language_logits, model), (_tokens(2, 17),)


@register("gpt2, training", "4", training=True, compare="training")
def _gpt2_training(scale):
    demo = scale == "demo"
    model = gpt2(layers=4, width=256) if demo else gpt2()
    return _bound(_language_loss, model), (_tokens(4, 64 if demo else 17),)


@register("vit, forward", "4")
def _vit_forward(scale):
    demo = scale == "demo"
    model = vit(layers=4, width=192, image=96, patch=16) if demo else vit()
    torch.manual_seed(1)
    images = torch.randn(4, 3, 96, 96) if demo else torch.randn(2, 3, 32, 32)
    return _bound(_image_logits, model.eval().requires_grad_(False)), (images,)


@register("vit, training", "4", training=True, compare="training")
def _vit_training(scale):
    demo = scale == "demo"
    model = vit(layers=4, width=192, image=96, patch=16) if demo else vit()
    torch.manual_seed(1)
    images = torch.randn(4, 3, 96, 96) if demo else torch.randn(2, 3, 32, 32)
    return _bound(_image_loss, model), (images, torch.randint(0, 10, (images.shape[0],)))


@register("captioning, training", "4", training=True, compare="training")
def _captioning_training(scale):
    demo = scale == "demo"
    model = captioning(width=128, layers=3) if demo else captioning()
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(4 if demo else 2, 3, 32, 32, generator=generator)
    labels = captions(images.shape[0], 24 if demo else 9, 64, generator)
    return _bound(_caption_loss, model), (images, labels)
