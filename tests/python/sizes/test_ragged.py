"""Ragged samples: `frit.collate` pads them to buckets, jagged tensors are passed as concatenated rows and offsets, and either compiles once."""

import collections
import json
import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, default_collate

import frit
from benchmarks.programs import giou
from frit import backend
from frit.sizes.buckets import smallest_bucket


@pytest.fixture
def compiled_stages():
    """Collects the stages of the graphs that are compiled in the test, in order."""
    seen = []

    def observe(name, stage, *rest):
        seen.append(stage)

    backend._OBSERVERS.append(observe)
    yield seen
    backend._OBSERVERS.remove(observe)


# -- frit.collate ----------------------------------------------------------------------------------


def rows(n, start=0.0):
    return torch.arange(start + 1, start + 1 + n)


def test_a_batch_is_padded_to_the_next_bucket():
    for lengths, expected in (([2, 3], 4), ([4, 1], 4), ([5, 1], 8), ([0, 0], 4), ([8], 8)):
        batch, mask = frit.collate(buckets=(4, 8), value=-1)([rows(n) for n in lengths])
        assert batch.shape == mask.shape == (len(lengths), expected) and mask.dtype == torch.bool
        for n, row, real in zip(lengths, batch, mask, strict=True):
            assert torch.equal(row[real], rows(n)) and (row[~real] == -1).all() and real.tolist() == [True] * n + [False] * (expected - n)


@pytest.mark.parametrize("dim", [1, -1])
def test_another_dimension_is_padded(dim):
    samples = [torch.randn(3, n, dtype=torch.float64) for n in (2, 5)]
    batch, mask = frit.collate(buckets=[6], dim=dim)(samples)
    assert batch.shape == (2, 3, 6) and batch.dtype == torch.float64 and mask.sum(1).tolist() == [2, 5]
    assert torch.equal(batch[0], F.pad(samples[0], (0, 4))) and torch.equal(batch[1], F.pad(samples[1], (0, 1)))


def test_the_longest_sample_decides_without_buckets():
    assert frit.collate(buckets="off")([rows(3), rows(7)])[0].shape == (2, 7)


def test_the_ramp_is_that_of_the_compiler():
    """The buckets are exactly the sizes of the compiler's ramp."""
    x = torch.randn(5, 7)
    torch._dynamo.mark_dynamic(x, 0, min=2, max=300)
    listed = []

    def observe(name, stage, captured, report, executable):
        listed.extend(entry["sizes"] for entry in report["buckets"])

    backend._OBSERVERS.append(observe)
    try:
        torch.compile(lambda x: x * 2, backend="frit", options={"buckets": {"x[0]": "ramp"}})(x)
    finally:
        backend._OBSERVERS.remove(observe)
    (sizes,) = listed
    assert sizes[-1] == 300 and sizes[:-1] == sorted({smallest_bucket("ramp", size) for size in range(2, 300)} - {smallest_bucket("ramp", 299)})
    assert smallest_bucket("ramp", 299) == 320


Pair = collections.namedtuple("Pair", "ids label")


def test_samples_may_be_nested():
    """Without ragged tensors the batch equals default_collate's, also in container types; default_collate handles everything but tensors with the dimension."""
    samples = [
        {"pair": Pair(torch.full((4,), k), k), "more": [torch.ones(4, 2), (np.full(4, k, dtype=np.int32), 0.5)], "name": f"sample {k}", "label": torch.tensor(k)}
        for k in range(3)
    ]
    batch, mask = frit.collate(buckets=[4])(samples)
    expected = default_collate(samples)
    assert type(batch["pair"]) is Pair and type(batch["more"]) is type(expected["more"]) and batch.keys() == expected.keys() and mask.all()
    flat, wanted = torch.utils._pytree.tree_flatten(batch), torch.utils._pytree.tree_flatten(expected)
    assert flat[1] == wanted[1]
    for ours, theirs in zip(flat[0], wanted[0], strict=True):
        assert (ours.dtype == theirs.dtype and torch.equal(ours, theirs)) if isinstance(theirs, torch.Tensor) else ours == theirs


def test_nested_samples_of_varying_length():
    samples = [{"ids": rows(n), "boxes": [(torch.ones(n, 4), n)]} for n in (2, 3)]
    batch, mask = frit.collate(buckets=[4])(samples)
    assert batch["ids"].shape == (2, 4) and batch["boxes"][0][0].shape == (2, 4, 4) and batch["boxes"][0][1].tolist() == [2, 3]
    assert samples[0]["ids"].shape == (2,), "the samples are the data set's"


def test_only_named_fields_are_padded_each_with_its_value():
    samples = [{"image": torch.ones(3, 2), "ids": rows(n), "labels": rows(n)} for n in (2, 5)]
    batch, mask = frit.collate(buckets=[6], fields=["ids", "labels"], value={"labels": -100})(samples)
    assert batch["image"].shape == (2, 3, 2) and mask.sum(1).tolist() == [2, 5]
    assert (batch["ids"][~mask] == 0).all() and (batch["labels"][~mask] == -100).all()
    nested, _ = frit.collate(buckets=[6], fields=[(1, "ids")])([(torch.ones(3), {"ids": rows(n)}) for n in (2, 5)])
    assert nested[0].shape == (2, 3) and nested[1]["ids"].shape == (2, 6)


def test_fields_with_buckets_of_their_own_have_masks_of_their_own():
    samples = [{"source": rows(a), "target": rows(b)} for a, b in ((2, 9), (3, 1))]
    batch, mask = frit.collate(fields={"source": [4, 8], "target": "ramp"})(samples)
    assert batch["source"].shape == (2, 4) and batch["target"].shape == (2, 16)
    assert mask["source"].sum(1).tolist() == [2, 3] and mask["target"].sum(1).tolist() == [9, 1]


WRONG = [
    ({}, [], "a batch of no samples"),
    ({}, [torch.ones(2), torch.ones(3, dtype=torch.int64)], r"the tensor has type torch.float32 in sample 0 and torch.int64 in sample 1"),
    ({}, [[torch.ones(2)], [torch.ones(3, 1)]], "0 has number of dimensions 1 in sample 0 and 2 in sample 1"),
    ({}, [{"x": torch.ones(2, 2)}, {"x": torch.ones(3, 1)}], r"'x' has size beside the rows \(2,\) in sample 0 and \(1,\) in sample 1"),
    ({}, [{"x": torch.ones(2)}, {"x": torch.ones(9)}], "sample 1 has 9 rows in 'x', more than the largest bucket, 8"),
    ({}, [{"x": torch.ones(2)}, {"y": torch.ones(2)}], "'x' is a tensor to pad in sample 0 and not in 1"),
    ({}, [{"x": torch.ones(2), "y": torch.ones(2)}, {"x": torch.ones(2), "y": [torch.ones(3), 2]}], "'y' is a tensor to pad in sample 0 and not in 1"),
    ({}, [{"x": torch.ones(2), "y": torch.ones(3)}], r"sample 0 has 2 rows in 'x' and 3 in 'y'; name the ragged tensors, collate\(fields=\['x'\]\)"),
    ({}, [3, 4], "sample 0 has no tensor with a dimension 0 to pad"),
    ({"dim": 1}, [torch.ones(3)], "sample 0 has no tensor with a dimension 1 to pad"),
    ({"fields": ["x"]}, [{"y": torch.ones(2)}], "sample 0 has no tensor 'x' to pad"),
    ({"fields": ["x"]}, [{"x": torch.ones(())}], "'x' of sample 0 has 0 dimensions, and no dimension 0 to pad"),
    ({"value": {"z": 1}}, [{"x": torch.ones(2)}], "a value for 'z', which is not a tensor to pad: 'x'"),
    ({"value": -100}, [{"x": torch.ones(2, dtype=torch.uint8)}], "'x' has type torch.uint8, which cannot hold the value -100"),
    ({"value": 0.5}, [{"x": torch.ones(2, dtype=torch.int64)}], "'x' has type torch.int64, which cannot hold the value 0.5"),
    ({"fields": {"x": [4]}}, [{"x": torch.ones(5)}], "5 rows in 'x', more than the largest bucket, 4"),
]


@pytest.mark.parametrize("how, samples, said", WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_samples_that_do_not_fit_are_one_clear_error(how, samples, said):
    with pytest.raises(frit.CollateError, match=said):
        frit.collate(**{"buckets": (4, 8), **how})(samples)


@pytest.mark.parametrize(
    "how, said",
    [
        ({"buckets": (8, 4)}, r"buckets of 'sample\[0\]' must ascend, found 4 after 8"),
        ({"buckets": ()}, "are empty"),
        ({"buckets": (4, 8.0)}, "must be integers"),
        ({"buckets": "power2"}, "cannot be 'power2'; give a list of sizes, 'ramp' or 'off'"),
        ({"fields": {"x": [0]}, "dim": 1}, r"buckets of 'x\[1\]' must be positive"),
        ({"dim": (0, 1)}, r"dim=\(0, 1\) is not an integer"),
        ({"fields": "ids"}, "fields as a list or as a dictionary with buckets, not 'ids'"),
        ({"value": "0"}, "pads with a number, not with str '0'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_at_once(how, said):
    with pytest.raises(frit.OptionError, match=said):
        frit.collate(**how)


def test_batches_of_a_data_loader_compile_once(compiled_stages):
    """The lengths of a batch are buckets of the list, and results are those of single samples."""
    torch.manual_seed(1)
    data = [(torch.randn(n, 3), n % 2) for n in torch.randint(1, 30, (24,)).tolist()]

    def means(x, mask):
        return torch.where(mask[..., None], x.sin(), 0.0).sum(1) / mask.sum(1)[:, None]

    run = torch.compile(means, backend="frit", dynamic=True, fullgraph=True, options={"buckets": {"x[1]": [8, 16, 32]}})
    seen, at = set(), 0
    for (x, labels), mask in DataLoader(data, batch_size=3, collate_fn=frit.collate(buckets=(8, 16, 32))):
        seen.add(x.shape[1])
        expected = torch.stack([sample.sin().mean(0) for sample, _ in data[at : at + 3]])
        torch.testing.assert_close(run(x, mask), expected)
        assert labels.tolist() == [label for _, label in data[at : at + 3]]
        at += 3
    assert at == 24 and seen <= {8, 16, 32} and len(seen) > 1 and compiled_stages == ["inference"]
    assert frit.counts()["buckets"]["mask[1] = x[1]"]["waste_percent"] == 0


def test_workers_get_it_by_pickle():
    made = pickle.loads(pickle.dumps(frit.collate(buckets=[4], fields=["x"], value={"x": 7})))
    batch, mask = made([{"x": rows(2)}])
    assert batch["x"].tolist() == [[1, 2, 7, 7]] and mask.tolist() == [[True, True, False, False]]


# -- jagged tensors --------------------------------------------------------------------------------

BATCHES = [[2, 4, 3], [3, 5, 2], [7, 8, 2], [6, 6, 4, 9], [2, 12, 1, 4], [5, 6], [5, 0, 7, 3, 9, 3]]


def jagged(lengths, width=5, **bounds):
    """Returns a jagged tensor and its concatenated rows, which require gradients."""
    values = torch.randn(sum(lengths), width, requires_grad=True)
    offsets = torch.tensor([0, *torch.tensor(lengths).cumsum(0)])
    return torch.nested.nested_tensor_from_jagged(values, offsets, **bounds), values


torch.manual_seed(0)
WEIGHT, BIAS = torch.randn(7, 5), torch.randn(7)
#: name -> (function, operators left to ATen forward and backward)
JAGGED = {
    "elementwise": (lambda x: (x * 2).sin() + x, [0, 0]),
    "a scalar beside": (lambda x: torch.where(x > 0, x.cos(), 0.0), [0, 0]),
    "clamped": (lambda x: x.clamp(min=0) * 3, [0, 0]),
    "linear": (lambda x: F.gelu(F.linear(x, WEIGHT, BIAS)), [1, 1]),
    "layer norm": (lambda x: F.layer_norm(x, (5,)), [0, 0]),
    "softmax of a row": (lambda x: torch.softmax(x, -1), [0, 0]),
    "a dense operand": (lambda x: x * WEIGHT[0], [0, 0]),
    "all rows": (lambda x: x.values().exp().mean(), [0, 0]),
    "jagged again": (lambda x: torch.nested.nested_tensor_from_jagged(x.values().exp(), x.offsets()), [0, 0]),
    "lengths": (lambda x: x.values().sum() / x.offsets().diff(), [0, 0]),
    "padded": (lambda x: torch.nested.to_padded_tensor(x, 0.0).sin(), [1, 1]),
}


def result_and_gradient(function, x, values):
    result = function(x)
    dense = result.values() if result.is_nested else result
    weights = torch.arange(1.0, dense.numel() + 1).cos().reshape(dense.shape)
    (gradient,) = torch.autograd.grad((dense * weights).sum(), values)
    return result, dense.detach(), gradient


@pytest.mark.parametrize("name", JAGGED)
def test_jagged_batches_compile_once(name, compiled_stages):
    """One forward and one backward graph for all numbers of samples and of rows, without Python steps, with eager's results."""
    function, left = JAGGED[name]
    run = torch.compile(function, backend="frit", dynamic=True, fullgraph=True)
    for lengths in BATCHES:
        x, values = jagged(lengths)
        result, dense, gradient = result_and_gradient(run, x, values)
        expected, expected_dense, expected_gradient = result_and_gradient(function, x, values)
        assert result.is_nested == expected.is_nested and result.shape == expected.shape
        if result.is_nested:
            assert torch.equal(result.offsets(), expected.offsets())
        torch.testing.assert_close(dense, expected_dense)
        torch.testing.assert_close(gradient, expected_gradient)
    assert compiled_stages == ["forward", "backward"]
    assert counters["frit"]["aten_calls"] == sum(left) and not [key for key in counters["frit"] if "frit_callback" in key]


def test_the_second_batch_is_the_last_that_compiles(compiled_stages):
    """With automatic dynamic shapes, the first graph is for one number of samples, the next for all."""
    run = torch.compile(lambda x: x.sin(), backend="frit")
    for lengths in [[2, 4, 3], [3, 5], *BATCHES]:
        x, values = jagged(lengths)
        torch.testing.assert_close(run(x.detach()).values(), values.detach().sin())
    assert compiled_stages == ["inference"] * 2


def test_known_lengths_of_one_are_a_graph_of_their_own(compiled_stages):
    """`nested_tensor` also stores the shortest and longest length as sizes: torch recompiles if the shortest is one, and frit names this cause.
    `nested_tensor_from_jagged` stores none, and accepts bounds for all batches."""

    def function(x):
        return torch.softmax(x, 1)

    def batch(lengths):
        return torch.nested.nested_tensor([torch.ones(n, 5) for n in lengths], layout=torch.jagged)

    shown = str(frit.explain(function, dynamic=True).over([(batch([2, 4, 3]),), (batch([3, 1, 2]),)]))
    assert "x._min_seqlen_tensor[0] is 0 or 1" in shown
    torch.compiler.reset()
    compiled_stages.clear()
    run = torch.compile(function, backend="frit", dynamic=True, fullgraph=True)
    for lengths in BATCHES:
        x = jagged(lengths, min_seqlen=0, max_seqlen=12)[0].detach()
        torch.testing.assert_close(run(x).values(), function(x).values())
    assert compiled_stages == ["inference"]


def test_sizes_that_are_equal_by_chance_are_named():
    """Three samples have four offsets, and rows have four elements: torch treats both as one size, whatever the backend."""
    shown = frit.explain(lambda x: x.sin(), dynamic=True).over([(jagged(lengths, 4)[0].detach(),) for lengths in ([2, 4, 3], [3, 5])])
    (found,) = shown.recompiles
    assert found.kind == "duck" and "x._values.size()[1] == 1 + x.size()[0] held by chance" in str(found)


def test_sizes_of_jagged_tensors_have_names():
    """The number of samples and the number of all rows have names; a ragged dimension has no size that could have buckets."""

    def function(x):
        return (x * 2).sin()

    def sweep(buckets):
        run = torch.compile(function, backend="frit", dynamic=True, options={"buckets": buckets})
        for lengths in BATCHES:
            run(jagged(lengths)[0].detach())

    sweep({"x.values()[0]": [16, 64]})
    counted = frit.counts()["buckets"]["x.values()[0]"]
    assert (counted["hits"], counted["misses"], counted["logical"]) == (7, 0, sum(map(sum, BATCHES)))
    assert counted["padded"] == sum(16 if sum(lengths) <= 16 else 64 for lengths in BATCHES)
    torch.compiler.reset()
    with pytest.raises(frit.OptionError, match=r"'x\[1\]' is ragged, with x.values\(\)\[0\] rows together, .*: x\[0\], x.values\(\)\[0\]"):
        try:
            sweep({"x[1]": [16]})
        except torch._dynamo.exc.BackendCompilerFailed as error:
            raise error.inner_exception from None


def test_sizes_of_jagged_calls_are_recorded(tmp_path):
    path = tmp_path / "seen.json"
    with frit.record_sizes(path):
        run = torch.compile(lambda x: x.sin(), backend="frit", dynamic=True)
        for lengths in ([2, 4, 3], [3, 5, 2], [6, 4]):
            run(jagged(lengths)[0].detach())
    assert json.loads(path.read_text()) == {"x[0]": {"2": 1, "3": 2}, "x[2]": {"5": 3}, "x.values()[0]": {"9": 1, "10": 2}}


def test_a_ragged_dimension_may_be_another():
    def function(x):
        return x.sin() * 2

    with frit.record_sizes() as record:
        run = torch.compile(function, backend="frit", dynamic=True)
        for lengths in BATCHES[:3]:
            x = jagged(lengths)[0].detach().transpose(1, 2)
            assert torch.allclose(run(x).values(), function(x).values())
    assert record.counts["x.values()[1]"] == {9: 1, 10: 1, 17: 1}


# -- the loss over ragged boxes --------------------------------------------------------------------


def loss_of_list(predicted, targets):
    total, count = predicted[0].new_zeros(()), 0
    for one, target in zip(predicted, targets):
        total = total + (1 - giou.giou(one, target)).sum()
        count += one.shape[0]
    return total / count


def loss_of_batch(predicted, targets, mask):
    return torch.where(mask, 1 - giou.giou(predicted, targets), 0.0).sum() / mask.sum()


def loss_of_jagged(predicted, targets):
    losses = torch.nested.nested_tensor_from_jagged(1 - giou.giou(predicted.values(), targets.values()), predicted.offsets())
    return losses.sum() / losses.values().shape[0]


def as_list(predicted, targets, lengths):
    parts = predicted.split(lengths), targets.split(lengths)
    for part in (*parts[0], *parts[1]):
        torch._dynamo.decorators.mark_unbacked(part, 0)
    return tuple(list(part) for part in parts)


PAD = frit.collate(buckets=(4, 8, 16))


def as_batch(predicted, targets, lengths):
    (predicted, targets), mask = PAD(list(zip(predicted.split(lengths), targets.split(lengths))))
    return predicted, targets, mask


def as_jagged(predicted, targets, lengths):
    offsets = torch.tensor([0, *torch.tensor(lengths).cumsum(0)])
    return tuple(torch.nested.nested_tensor_from_jagged(values, offsets) for values in (predicted, targets))


FORMS = {
    "loop": (loss_of_list, as_list),
    "concatenated": (giou.loss_concatenated, lambda predicted, targets, lengths: (predicted, targets)),
    "padded": (loss_of_batch, as_batch),
    "jagged": (loss_of_jagged, as_jagged),
}
# The loop is unrolled, so the number of samples is a constant of the program.
SAMPLES = [[2, 5, 3, 4, 2], [4, 4, 4, 4, 4], [7, 2, 2, 1, 1], [1, 3, 5, 16, 9], [9, 8, 12, 1, 6]]


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_the_box_loss_agree_and_compile_once(form, compiled_stages):
    """Each compiled form gives the loss and gradient of the eager loop."""
    function, make = FORMS[form]
    run = torch.compile(function, backend="frit", dynamic=True, fullgraph=True)
    for lengths in SAMPLES if form == "loop" else [*SAMPLES, [5, 6], [3] * 9]:
        predicted, targets = giou.boxes(sum(lengths)).requires_grad_(), giou.boxes(sum(lengths))
        expected = loss_of_list(predicted.split(lengths), targets.split(lengths))
        loss = run(*make(predicted, targets, lengths))
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(torch.autograd.grad(loss, predicted), torch.autograd.grad(expected, predicted))
    assert compiled_stages == ["forward", "backward"]
    assert form == "loop" or counters["frit"]["aten_calls"] == 0
