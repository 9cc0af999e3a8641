"""Array programs: they broadcast instead of looping, and the compiler removes the large intermediate."""

import torch

from . import register


def pairwise_sum_prod(x):
    return (x[:, None] * x[None, :]) / (x[:, None] + x[None, :])


def pairwise_distance(a, b):
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(2)


def pairwise_distance_root(a, b):
    return pairwise_distance(a, b).sqrt()


def nearest_rows(a, b, labels):
    """Distances, then advanced indexing with the indices of the nearest rows."""
    distance = pairwise_distance(a, b)
    nearest = distance.argmin(1)
    return labels[nearest], b[nearest] - a, distance.gather(1, nearest[:, None])


def masked_mean(x, mask):
    kept = torch.where(mask, x, torch.zeros_like(x))
    return kept.sum(-1) / mask.sum(-1).clamp(min=1)


def _register_operator():
    """Registers a custom operator, which is opaque to every compiler."""

    @torch.library.custom_op("frit_programs::scaled_rotation", mutates_args=())
    def scaled_rotation(x: torch.Tensor, angle: float) -> torch.Tensor:
        cosine, sine = torch.cos(torch.tensor(angle)), torch.sin(torch.tensor(angle))
        return torch.stack([x[..., 0] * cosine - x[..., 1] * sine, x[..., 0] * sine + x[..., 1] * cosine], -1)

    @scaled_rotation.register_fake
    def _(x, angle):
        return x.new_empty(x.shape)

    return scaled_rotation


_scaled_rotation = _register_operator()


def around_a_custom_operator(x):
    return (_scaled_rotation((x * 2 + 1).transpose(0, 1), 0.5).transpose(0, 1) - x).abs().sum(-1)


@register("pairwise sum prod", "5")
def _pairwise_sum_prod(scale):
    torch.manual_seed(0)
    return pairwise_sum_prod, (torch.rand(2048 if scale == "demo" else 37) + 0.1,)


@register("pairwise distance", "5", kernels=1)
def _pairwise_distance(scale):
    n, d = (600, 64) if scale == "demo" else (19, 7)
    torch.manual_seed(0)
    return pairwise_distance, (torch.randn(n, d), torch.randn(n, d))


@register("pairwise distance root", "5", demo=False)
def _pairwise_distance_root(scale):
    n, d = (600, 64) if scale == "demo" else (19, 7)
    torch.manual_seed(0)
    return pairwise_distance_root, (torch.randn(n, d), torch.randn(n, d))


@register("nearest rows", "5")
def _nearest_rows(scale):
    n, m, d = (1000, 300, 32) if scale == "demo" else (31, 17, 5)
    torch.manual_seed(0)
    return nearest_rows, (torch.randn(n, d), torch.randn(m, d), torch.randint(0, 9, (m,)))


@register("masked mean", "5")
def _masked_mean(scale):
    n, d = (4096, 512) if scale == "demo" else (13, 33)
    torch.manual_seed(0)
    return masked_mean, (torch.randn(n, d), torch.rand(n, d) > 0.7)


@register("custom operator", "5", demo=False)
def _custom_operator(scale):
    torch.manual_seed(0)
    return around_a_custom_operator, (torch.randn(9, 5, 2),)
