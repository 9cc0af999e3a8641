"""A collate function for `torch.utils.data.DataLoader` that pads ragged samples to buckets.

A batch then has one of a few lengths, so that kernels specialised for a bucket, CUDA graphs and library calls recur. Which tensors are ragged is
declared and not inferred from the data: in a batch of one sample, or of samples that are equally long by chance, nothing varies.
"""

import copy
from collections.abc import Mapping, Sequence

import torch
from torch.utils.data import default_collate

from .errors import CollateError, OptionError
from .options import check_buckets
from .sizes.buckets import smallest_bucket


def collate(buckets="ramp", dim=0, value=0, fields=None):
    """Returns a function of a list of samples that returns `(batch, mask)`: torch's `default_collate` of the samples padded along `dim`, and a
    bool tensor (samples, padded length) that is True where a row is a sample's own.

    `buckets`: ascending lengths, "ramp" or "off" (the longest sample's length), as in the option `buckets`. `value`: the padding value, or one
    for each field: `{"ids": 0, "labels": -100}`. `fields`: the ragged tensors of a sample, each by its key or index, or by a tuple of them if it is
    nested; by default all tensors that have the dimension. They must be equally long in each sample, unless `fields` has buckets for each,
    `{"source": [32, 64], "target": "ramp"}`: then the mask is a dictionary by field. OptionError for invalid arguments; the returned function raises
    CollateError for samples that cannot be padded together.
    """
    return _Padding(buckets, dim, value, fields)


class _Padding:
    """A class, so that the worker processes of a DataLoader can get it by pickle."""

    def __init__(self, buckets, dim, value, fields):
        if type(dim) is not int:
            raise OptionError(f"frit: collate pads one dimension, dim={dim!r} is not an integer")
        if fields is not None and not isinstance(fields, (list, tuple, set, Mapping)):
            raise OptionError(f"frit: collate takes fields as a list or as a dictionary with buckets, not {fields!r}")
        self.dim = dim
        self.is_grouped = isinstance(fields, Mapping)
        given = {_path(field): asked for field, asked in fields.items()} if self.is_grouped else {None: buckets}
        for path, asked in given.items():
            check_buckets({f"{'.'.join(map(str, path or ('sample',)))}[{dim}]": asked})
        self.buckets = given
        self.fields = None if fields is None else [_path(field) for field in fields]
        self.values = {_path(field): one for field, one in value.items()} if isinstance(value, Mapping) else {None: value}
        for one in self.values.values():
            if not isinstance(one, (int, float, complex)):
                raise OptionError(f"frit: collate pads with a number, not with {type(one).__name__} {one!r}")

    def __call__(self, samples):
        if not samples:
            raise CollateError("frit: a batch of no samples cannot be collated")
        tensors = [self._ragged(number, sample) for number, sample in enumerate(samples)]
        self._check_alike(tensors)
        for path in self.values:
            if path is not None and path not in tensors[0]:
                known = ", ".join(map(_shown, tensors[0]))
                raise CollateError(f"frit: collate has a value for {_shown(path)}, which is not a tensor to pad: {known}")
        masks, padded = {}, {}
        for group, asked in self.buckets.items():
            paths = [group] if group is not None else list(tensors[0])
            lengths = [_length(number, {path: own[path] for path in paths}, self.dim) for number, own in enumerate(tensors)]
            longest = max(lengths)
            size = smallest_bucket(asked, longest)
            if size is None:
                raise CollateError(
                    f"frit: sample {lengths.index(longest)} has {longest} rows in {_shown(paths[0])}, more than the largest bucket, {asked[-1]}; "
                    "give collate a larger bucket, or cut the sample"
                )
            device = tensors[0][paths[0]].device
            masks[group] = torch.arange(size, device=device) < torch.tensor(lengths, device=device)[:, None]
            padded.update(dict.fromkeys(paths, size))
        filled = [_map(lambda path, leaf: self._pad(path, leaf, padded), sample) for sample in samples]
        named = {path[0] if len(path) == 1 else path: mask for path, mask in masks.items()} if self.is_grouped else masks[None]
        return default_collate(filled), named

    def _ragged(self, number, sample):
        """Path -> tensor for the ragged tensors of a sample."""
        found = {}

        def look(path, leaf):
            tensor = _tensor(leaf)
            if tensor is not None and (path in self.fields if self.fields is not None else self._has_dim(tensor)):
                found[path] = tensor
            return leaf

        _map(look, sample)
        for path in self.fields if self.fields is not None else ():
            if path not in found:
                raise CollateError(f"frit: sample {number} has no tensor {_shown(path)} to pad")
            if not self._has_dim(found[path]):
                raise CollateError(f"frit: {_shown(path)} of sample {number} has {found[path].dim()} dimensions, and no dimension {self.dim} to pad")
        if not found:
            raise CollateError(f"frit: sample {number} has no tensor with a dimension {self.dim} to pad")
        return found

    def _has_dim(self, tensor):
        return -tensor.dim() <= self.dim < tensor.dim()

    def _check_alike(self, tensors):
        """Raises if a field differs between two samples in more than its length."""
        first = tensors[0]
        for number, own in enumerate(tensors):
            if own.keys() != first.keys():
                path = next(path for path in (*first, *own) if path not in first or path not in own)
                raise CollateError(f"frit: {_shown(path)} is a tensor to pad in sample {0 if path in first else number} and not in {number if path in first else 0}")
            for path, tensor in own.items():
                for what, of in (("type", lambda x: x.dtype), ("number of dimensions", torch.Tensor.dim), ("size beside the rows", self._beside)):
                    if of(tensor) != of(first[path]):
                        raise CollateError(f"frit: {_shown(path)} has {what} {of(first[path])} in sample 0 and {of(tensor)} in sample {number}")

    def _beside(self, tensor):
        sizes = list(tensor.shape)
        del sizes[self.dim]
        return tuple(sizes)

    def _pad(self, path, leaf, padded):
        if path not in padded:
            return leaf
        tensor, value = _tensor(leaf), self.values.get(path, self.values.get(None, 0))
        if not _can_hold(tensor.dtype, value):
            raise CollateError(f"frit: {_shown(path)} has type {tensor.dtype}, which cannot hold the value {value!r} to pad with")
        sizes = list(tensor.shape)
        sizes[self.dim] = padded[path] - tensor.shape[self.dim]
        return torch.cat([tensor, tensor.new_full(sizes, value)], self.dim)


def _can_hold(dtype, value):
    if dtype.is_floating_point or dtype.is_complex:
        return dtype.is_complex or not isinstance(value, complex)
    try:
        return torch.full((), value, dtype=dtype).item() == value
    except RuntimeError:  # larger than the type, NaN or complex
        return False


def _path(field):
    return field if isinstance(field, tuple) else (field,)


def _shown(path):
    return "the tensor" if path == () else "".join(f"[{key!r}]" if place else repr(key) for place, key in enumerate(path))


def _tensor(leaf):
    """A leaf of a sample as a tensor, as default_collate takes it; None if it is a number, a text or something else."""
    if isinstance(leaf, torch.Tensor):
        return leaf
    return torch.as_tensor(leaf) if type(leaf).__module__ == "numpy" and type(leaf).__name__ == "ndarray" and leaf.dtype.kind in "biufc" else None


def _length(number, tensors, dim):
    """The common length of a sample's ragged tensors; CollateError if they differ."""
    (first, length), *others = [(path, tensor.shape[dim]) for path, tensor in tensors.items()]
    for path, other in others:
        if other != length:
            raise CollateError(
                f"frit: sample {number} has {length} rows in {_shown(first)} and {other} in {_shown(path)}; name the ragged tensors, "
                f"collate(fields=[{first[0] if len(first) == 1 else first!r}]), or give each buckets of its own, fields={{...}}"
            )
    return length


def _map(function, value, path=()):
    """`value` with `function(path, leaf)` in place of each leaf of its dictionaries, lists and tuples."""
    if isinstance(value, Mapping):
        items = {key: _map(function, one, (*path, key)) for key, one in value.items()}
        if not hasattr(value, "update"):
            return items
        filled = copy.copy(value)
        filled.update(items)
        return filled
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(function, one, (*path, name)) for name, one in zip(value._fields, value)))
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_map(function, one, (*path, place)) for place, one in enumerate(value)]
    return function(path, value)
