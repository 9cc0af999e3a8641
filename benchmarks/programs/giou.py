"""A loss over ragged boxes: the generalised IoU in three common forms, and a model that uses it."""

import torch
import torch.nn.functional as F

from . import register

EPSILON = 1e-5


def giou(predicted, target):
    """Generalised IoU of boxes (..., 4), given as (x1, y1, x2, y2) along the last dimension."""
    px1, py1, px2, py2 = predicted.unbind(-1)
    tx1, ty1, tx2, ty2 = target.unbind(-1)
    predicted_area = (px2 - px1) * (py2 - py1)
    target_area = (tx2 - tx1) * (ty2 - ty1)
    width = (torch.minimum(px2, tx2) - torch.maximum(px1, tx1)).clamp(min=0)
    height = (torch.minimum(py2, ty2) - torch.maximum(py1, ty1)).clamp(min=0)
    intersection = width * height
    union = predicted_area + target_area - intersection
    enclosing = (torch.maximum(px2, tx2) - torch.minimum(px1, tx1)) * (torch.maximum(py2, ty2) - torch.minimum(py1, ty1))
    iou = intersection / union.clamp(min=EPSILON)
    return iou - (enclosing - union) / enclosing.clamp(min=EPSILON)


def loss_loop(predicted, targets):
    """One sample at a time; `targets` is a list of (boxes, 4)."""
    total = predicted.new_zeros(())
    count = 0
    for row, target in zip(predicted, targets):
        n = target.shape[0]
        total = total + (1 - giou(row[:n], target)).sum()
        count += n
    return total / count


def loss_concatenated(predicted, target):
    """Valid boxes of all samples, concatenated: the number of rows varies from batch to batch."""
    return (1 - giou(predicted, target)).mean()


def loss_padded(predicted, target):
    """Targets padded with zeros; a box is valid where its y2 is positive."""
    mask = target[..., 3] > 0
    loss = torch.where(mask, 1 - giou(predicted, target), 0.0)
    return loss.sum() / mask.sum()


def boxes(*shape):
    corner = torch.rand(*shape, 2) * 100
    return torch.cat([corner, corner + torch.rand(*shape, 2) * 50 + 1], -1)


def ragged(batch, limit):
    """Predictions for every slot, and per sample a few targets."""
    torch.manual_seed(0)
    counts = torch.randint(1, min(10, limit) + 1, (batch,)).tolist()
    return boxes(batch, limit), [boxes(n) for n in counts]


def padded(targets, limit):
    result = torch.zeros(len(targets), limit, 4)
    for row, target in zip(result, targets):
        row[: len(target)] = target
    return result


def with_gradient(loss):
    """Forward and backward of a loss with respect to the predictions."""

    def run(predicted, target):
        value = loss(predicted, target)
        (gradient,) = torch.autograd.grad(value, predicted)
        return value, gradient

    return run


class BoxModel(torch.nn.Module):
    """Four convolution blocks and two linear layers on uint8 images; returns `boxes_per_image` boxes for each."""

    def __init__(self, size, boxes_per_image, channels=8):
        super().__init__()
        widths = [3, channels, channels * 2, channels * 2, channels * 2]
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv2d(a, b, 3, padding="same") for a, b in zip(widths, widths[1:])
        )
        self.hidden = torch.nn.Linear(widths[-1] * (size // 16) ** 2, 64)
        self.out = torch.nn.Linear(64, boxes_per_image * 4)

    def forward(self, images):
        x = images.to(self.out.weight.dtype) / 255
        for convolution in self.convolutions:
            x = F.relu(F.max_pool2d(convolution(x), 2))
        return self.out(F.relu(self.hidden(x.flatten(1)))).view(len(x), -1, 4)


def training_loss(model, images, target):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        predicted = model(images)
    return loss_padded(predicted.to(target.dtype), target)


@register("giou, padded", "3")
def _padded(scale):
    batch, limit = (1024, 64) if scale == "demo" else (7, 12)
    predicted, targets = ragged(batch, limit)
    return loss_padded, (predicted, padded(targets, limit))


@register("giou, padded, backward", "3", training=True)
def _padded_backward(scale):
    batch, limit = (1024, 64) if scale == "demo" else (7, 12)
    predicted, targets = ragged(batch, limit)
    return loss_padded, (predicted.requires_grad_(), padded(targets, limit))


@register("giou, concatenated", "3")
def _concatenated(scale):
    predicted, targets = ragged(1024 if scale == "demo" else 7, 64)
    rows = torch.cat([row[: len(t)] for row, t in zip(predicted, targets)])
    return loss_concatenated, (rows, torch.cat(targets))


@register("giou, loop", "3", demo=False)
def _loop(scale):
    predicted, targets = ragged(4, 12)
    return loss_loop, (predicted, targets)


@register("box model, training", "3", training=True, compare="training")
def _box_model(scale):
    size, batch = (64, 8) if scale == "demo" else (32, 2)
    torch.manual_seed(0)
    model = BoxModel(size, 12)
    _, targets = ragged(batch, 12)
    images = torch.randint(0, 256, (batch, 3, size, size), dtype=torch.uint8)
    target = padded(targets, 12)

    def run(images, target):
        return training_loss(model, images, target)

    run.module = model
    return run, (images, target)
