"""Balanced sampling of K = N/10 items: the naive form, whose shapes depend on data, and the static one."""

import torch

from . import register


def sample_naive(items, labels):
    k = items.shape[0] // 10
    positive = labels.nonzero().squeeze(1)
    negative = (labels == 0).nonzero().squeeze(1)
    wanted_positive = min(max(k // 2, k - len(negative)), len(positive))
    wanted_negative = k - wanted_positive
    chosen = torch.cat(
        [
            positive[torch.randperm(len(positive), device=labels.device)[:wanted_positive]],
            negative[torch.randperm(len(negative), device=labels.device)[:wanted_negative]],
        ]
    )
    chosen = chosen[torch.randperm(len(chosen), device=labels.device)]
    return items[chosen], labels[chosen]


def sample_static(items, labels):
    """The same draw with fixed shapes: a random key per item, topk per label, topk to shuffle."""
    n = labels.shape[-1]
    k = n // 10
    positives = torch.count_nonzero(labels, dim=-1).unsqueeze(-1)
    negatives = n - positives
    half = torch.full_like(positives, k // 2)
    from_positive = torch.minimum(positives, half)
    from_negative = torch.minimum(negatives, k - half)
    from_positive = torch.where(from_negative < k - half, k - from_negative, from_positive)
    from_negative = k - from_positive
    key = torch.rand_like(labels, dtype=torch.float32)
    is_positive = labels == 1
    key_positive, at_positive = torch.where(is_positive, key, -1.0).topk(k)
    key_negative, at_negative = torch.where(is_positive, -1.0, key).topk(k)
    rank = torch.arange(k, device=labels.device)
    key_positive = torch.where(rank >= from_positive, -1.0, key_positive)
    key_negative = torch.where(rank >= from_negative, -1.0, key_negative)
    order = torch.cat([key_positive, key_negative], -1).topk(k).indices
    chosen = torch.cat([at_positive, at_negative], -1).gather(-1, order)
    index = chosen.unsqueeze(-1).expand(*chosen.shape, items.shape[-1])
    return items.gather(-2, index), labels.gather(-1, chosen)


def _inputs(*shape):
    torch.manual_seed(0)
    return torch.randn(*shape, 16), torch.randint(0, 2, shape)


@register("sampling, naive", "1", compare="exact", fullgraph=False, random=True)
def _naive(scale):
    return sample_naive, _inputs(10_000 if scale == "demo" else 200)


@register("sampling, static", "1", compare="exact", random=True)
def _static(scale):
    return sample_static, _inputs(10_000 if scale == "demo" else 200)


@register("sampling, static, 32 batches", "1", compare="exact", random=True)
def _batched(scale):
    return sample_static, _inputs(*((32, 10_000) if scale == "demo" else (4, 130)))
