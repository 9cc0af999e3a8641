"""Small models of known families: name -> a function that returns (model, function of inputs for a batch, function that selects the result of a call)."""

import torch


def words(vocabulary, length):
    return lambda batch: torch.randint(0, vocabulary, (batch, length))


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=99, hidden_size=48, num_hidden_layers=2, num_attention_heads=3, intermediate_size=80, max_position_embeddings=64)
    return BertModel(config), words(99, 19), lambda out: out.last_hidden_state


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=99, n_embd=48, n_layer=2, n_head=3, n_positions=64, use_cache=False)
    return GPT2LMHeadModel(config), words(99, 21), lambda out: out.logits


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=99, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=80, max_position_embeddings=64,
        use_cache=False,
    )
    return LlamaForCausalLM(config), words(99, 17), lambda out: out.logits


def vit():
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=3, intermediate_size=80, image_size=24, patch_size=8)
    return ViTModel(config), lambda batch: torch.randn(batch, 3, 24, 24), lambda out: out.last_hidden_state


def t5():
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=99, d_model=48, d_kv=16, d_ff=80, num_layers=2, num_heads=3)
    return T5EncoderModel(config), words(99, 18), lambda out: out.last_hidden_state


MODELS = {"bert": bert, "gpt2": gpt2, "llama": llama, "vit": vit, "t5": t5}
