"""In-place operators of exported programs, also through views: compares all readers with eager, at other sizes too."""

import copy
import os
import subprocess

import checker
import pytest
import torch
import torch.nn.functional as F
import torch.utils._pytree as pytree
from exported import TOOLS, Function, compile_file, compiled
from torch import nn
from torch.export import Dim

import frit


def pieces(x):
    y, z = x.clone(), x * 2
    a, b = y.chunk(2, 1)
    a.mul_(b)
    first, middle, last = z.split([1, 2, x.shape[0] - 3], 0)
    middle.add_(first)
    last.zero_()
    return y, z


def one_of_many(x):
    y, z = x + 0, x - 1
    rows = y.unbind(1)
    rows[1].neg_()
    rows[0].add_(rows[1])
    parts = z.tensor_split(3, 1)
    parts[1].exp_()
    return y, z


def narrowed(x):
    y = x.clone()
    y.narrow(1, 2, 3).fill_(1)
    y.narrow(0, -2, 1).mul_(3)
    return y


def diagonals(x):
    y = x.clone()
    y.diagonal().add_(1)
    y.diagonal(1).zero_()
    return y


def masks_and_indices(x):
    y = x.clone()
    y[x > 1] = 0
    y[:, 1][x[:, 0] > 0] = 2
    y[torch.tensor([0, 2])] = 1
    y[:, torch.tensor([1, 3])] += 2
    y.index_copy_(0, torch.tensor([1, 2]), x[2:4])
    y.index_fill_(1, torch.tensor([2]), 3.0)
    y.masked_scatter_(x > 1, x)
    return y


def strided(x):
    y = x.clone()
    y[..., ::2] += 1
    y[1:3, 2:] = 7
    y[-1] = y[0]
    y[1:3, 1:4][:, 0] -= 5
    y[..., None][1] = 3
    return y


def turned(x):
    y = x.clone()
    y.swapaxes(0, 1).mul_(torch.arange(x.shape[0]))
    y.mT[0] = 3
    y.T[1].fill_(2)
    y.unflatten(1, (2, 3))[:, 1].zero_()
    y.view_as(x).sub_(1)
    return y


def changed_looks(x):
    y, z, w = x.clone(), x.clone(), x[:1].clone()
    y.unsqueeze_(0)
    y.add_(1)
    turned = z.transpose_(0, 1)
    turned.add_(1)
    w.squeeze_(0)
    return y, turned * 2, w + 1


def certain_views(x):
    y = x.clone()
    flat, same, wide = y.flatten(), y.to(torch.float32), y.to(torch.float64)
    y.relu_()
    kept = y.type_as(x)
    y += 1
    return flat * 1, same * 1, wide, kept * 1


def dropout_in_eval(x):
    y = x * 3
    z = F.dropout(y, 0.5, False)
    z += 1
    return y * 1, z * 1


def an_argument_behind_dropout(x):
    z = F.dropout(x, 0.5, False)
    z += 1
    return x * 2


def rows_one_by_one(x):
    out = torch.zeros(4, 6)
    for i in range(3):
        out[i] = x[i] * i
    joined = x.new_empty(8, 6)
    joined[:3] = x[:3]
    joined[3:] = out[:1]
    return out, joined


def activations(x):
    y = x.clone()
    for function in (
        F.leaky_relu, F.silu, F.elu, F.hardtanh, F.hardswish, F.mish, F.hardsigmoid, F.selu, F.celu, F.relu6, F.rrelu, F.relu, F.dropout
    ):
        y = function(y, training=False, inplace=True) if function is F.dropout else function(y, inplace=True)
    return y


def conditions(x):
    m = x > 0
    m &= x < 1
    m |= x < -1
    m ^= x == 0
    return m, m.logical_not_().sum()


def integers(x):
    i = (x * 10).long()
    i += 2
    i //= 3
    i %= 5
    i <<= 1
    i >>= 1
    i //= (x.abs() + 1).long()
    i |= 8
    return i * -1


def triangles(x):
    y = x.clone()
    y.triu_(1)
    y.tril_(3)
    y.cumsum_(1)
    return y


EXACT = {integers, conditions}


@pytest.mark.parametrize(
    "function",
    [pieces, one_of_many, narrowed, diagonals, masks_and_indices, strided, turned, changed_looks, certain_views, dropout_in_eval,
     an_argument_behind_dropout, rows_one_by_one, activations, conditions, integers, triangles],
    ids=lambda f: f.__name__,
)
def test_writes(function):
    torch.manual_seed(0)
    call, _ = compiled(Function(function), [torch.randn(5, 6)], dynamic_shapes=(({0: Dim.AUTO},),))
    for rows in (4, 5, 17):
        checker.check(function, torch.randn(rows, 6), compiled=call, compare="exact" if function in EXACT else "float")


class Statistics(nn.Module):
    """The statistics that batch normalisation updates are read before it, after it, and by the next call."""

    def __init__(self, kind, **settings):
        super().__init__()
        self.norm = kind(4, **settings)

    def forward(self, x):
        before = self.norm.running_mean * 1
        y = self.norm(x)
        return y, before, self.norm.running_mean * 1, self.norm.running_var + 0, self.norm.num_batches_tracked * 1


@pytest.mark.parametrize(
    "kind, shape, settings",
    [(nn.BatchNorm2d, (3, 4, 5, 6), {}), (nn.BatchNorm1d, (6, 4), {"momentum": 0.3, "affine": False}), (nn.BatchNorm1d, (3, 4, 7), {})],
    ids=["images", "rows", "sequences"],
)
def test_batch_normalisation_in_training_updates_its_statistics(kind, shape, settings):
    torch.manual_seed(0)
    module = Statistics(kind, **settings).train().requires_grad_(False)
    call, report = compiled(copy.deepcopy(module), [torch.randn(shape)], dynamic_shapes=({0: Dim.AUTO},))
    assert not report["aten_calls"]
    for rows in (3, 2, 8):
        x = torch.randn(rows, *shape[1:])
        for ours, eager in zip(call(x), module(x), strict=True):
            torch.testing.assert_close(ours, eager)


def test_instance_normalisation_that_keeps_statistics_names_the_way():
    module = nn.InstanceNorm2d(4, track_running_stats=True).train()
    with pytest.raises(Exception, match=r"updates running statistics.*run_decompositions"):
        compiled(module, [torch.randn(3, 4, 5, 5)])


class Held(nn.Module):
    """A module with a vector `b` and a count `n`; `looks` computes results from the module and an argument."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks
        self.register_buffer("b", torch.arange(6.0))
        self.register_buffer("n", torch.tensor(0))

    def forward(self, x):
        return self.looks(self, x)


VIEWS = [
    lambda b: b[1:],
    lambda b: b.detach(),
    lambda b: b.view(2, 3).t(),
    lambda b: b[None],
    lambda b: b[::2][1:],
    lambda b: b.view(3, 2)[:, 1],
]


def changed_twice(m, x, view):
    m.b.add_(x)
    m.n.add_(1)
    given = view(m.b)
    given.mul_(2)
    m.b[2:].sub_(1)
    return given, x + m.n, m.b


def changed_argument(m, x, view):
    x.add_(m.b)
    return view(x), x * 2


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("function", [changed_twice, changed_argument])
def test_a_returned_view_of_what_is_written_shares_its_memory(function, view):
    module = Held(lambda m, x: function(m, x, view))
    theirs = copy.deepcopy(module)
    call, _ = compiled(module, [torch.ones(6)])
    held = dict(module.named_buffers())
    for _ in range(2):
        x = torch.arange(6.0) / 4
        mine, other = x.clone(), x.clone()
        expected, results = theirs(other), call(mine)
        for result, wanted in zip(results, expected):
            assert torch.equal(result, wanted) and result.stride() == wanted.stride() and result.storage_offset() == wanted.storage_offset()
        assert torch.equal(mine, other) and all(torch.equal(held[name], value) for name, value in theirs.named_buffers())
        base = mine if function is changed_argument else held["b"]
        assert results[0].untyped_storage().data_ptr() == base.untyped_storage().data_ptr()


def copied(m, x):
    """Writes values of other dtypes and fewer elements than the buffers have, and returns one of the buffers."""
    m.short.copy_(x * 1.7)
    m.whole.copy_(x * -1.7)
    m.octet.copy_((x * 90).to(torch.int8))
    m.n.copy_(x.sum())
    m.b.copy_(x[0])
    m.flags.fill_(x[1])
    return x * m.n, m.short


def copied_to_the_argument(m, x):
    m.rows[:] = 2
    m.b.copy_(x[:1])
    x.copy_(m.n)
    return m.rows * 1


@pytest.mark.parametrize("function", [copied, copied_to_the_argument])
def test_a_decomposed_write_converts_and_expands_its_value(function):
    """torch leaves that out of the program: `ep.module()` writes each value by a `copy_`."""
    module = Held(function)
    for name, value in {"short": torch.zeros(6).half(), "whole": torch.zeros(6).int(), "octet": torch.zeros(6).byte(),
                        "flags": torch.zeros(2, 6).bool(), "rows": torch.ones(6, 2).T}.items():  # fmt: skip
        module.register_buffer(name, value)
    theirs = copy.deepcopy(module)
    call, _ = compiled(module, [torch.ones(6)], decompose=True)
    held = dict(module.named_buffers())
    for step in (0.4, 1.0):
        x = torch.arange(6.0) * step
        mine, other = x.clone(), x.clone()
        results, expected = call(mine), theirs(other)
        for result, wanted in zip(results, pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(result, wanted, rtol=0, atol=0)
        assert torch.equal(mine, other) and all(torch.equal(held[name], value) for name, value in theirs.named_buffers())


class Returns(nn.Module):
    """Returns two arguments and two buffers that it writes, one of them from an argument that it writes too, and a value that it keeps."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(3))
        self.register_buffer("c", torch.zeros(3))

    def forward(self, x, y, w):
        x.add_(1)
        self.b.add_(x)
        y.copy_(x)
        self.c.copy_(w)
        z = w * 2
        w.copy_(z)
        return x, self.b, y, z, w, self.c


@pytest.mark.parametrize("decompose", [False, True], ids=["as exported", "decomposed"])
def test_what_is_written_and_returned_is_the_argument_or_the_buffer(tmp_path, decompose):
    def inputs():
        return torch.ones(3), 2 * torch.ones(6)[::2], torch.arange(3.0)

    program = torch.export.export(Returns(), inputs())
    program = program.run_decompositions() if decompose else program
    torch.export.save(program, tmp_path / "m.pt2")
    subprocess.run([TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", tmp_path / "m.frit"], check=True, capture_output=True)
    os.chmod(tmp_path / "m.frit", 0o600)
    model, module = frit.load(tmp_path / "m.frit"), Returns()
    seen = []
    for call in (model, module):
        one, other = inputs(), inputs()
        first, second = call(*one), call(*other)
        everything = [*one, *other, *first, *second]
        shared = [[at for at, each in enumerate(everything) if each.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()] for result in second]
        seen.append((shared, [each.tolist() for each in everything], [each.stride() for each in everything]))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("part", [lambda b: b[0], lambda b: b[:1], lambda b: b.narrow(0, 0, 1), lambda b: b.split(2)[0], lambda b: b.unbind()[0]])
def test_parts_of_what_torch_does_not_expand(part):
    """After `fill_` of a scalar the decomposed program takes parts of the scalar, which is an error in torch too."""
    module = Held(lambda m, x: (m.b.fill_(x[1]), part(m.b) + 0)[1])
    with pytest.raises(Exception) as expected:
        torch.export.export(copy.deepcopy(module), (torch.ones(2),)).run_decompositions().module()(torch.ones(2))
    call, _ = compiled(module, [torch.ones(2)], decompose=True)
    with pytest.raises(type(expected.value)):
        call(torch.ones(2))


@pytest.mark.parametrize("of", [lambda b: b[1:], lambda b: b.view(2, 3), lambda b: b])
def test_buffers_that_share_memory_are_not_written(tmp_path, of):
    module = Held(lambda m, x: (m.b.add_(1), x + m.v.sum())[1])
    module.register_buffer("v", of(module.b))
    program = torch.export.export(module, (torch.ones(2),))
    torch.export.save(program, tmp_path / "m.pt2")
    done = subprocess.run([TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", tmp_path / "m.frit"], capture_output=True, text=True)
    if module.v is module.b:
        assert done.returncode == 0, done.stderr  # export merges them to one tensor
        os.chmod(tmp_path / "m.frit", 0o600)
        x, call = torch.ones(2), frit.load(tmp_path / "m.frit")
        assert all(torch.equal(call(x), module(x)) for _ in range(2))
        return
    assert done.returncode != 0
    assert "the program writes 'b', which shares memory with 'v'; register one of them and take the other as a view of it" in done.stderr


def test_buffers_that_share_memory_are_read(tmp_path):
    module = Held(lambda m, x: (m.n.add_(1), x + m.b.sum() + m.v.sum() * m.n)[1])
    module.register_buffer("v", module.b[1:])
    theirs, call = copy.deepcopy(module), frit.load(compile_file(tmp_path, module, [torch.ones(2)]))
    for _ in range(2):
        assert torch.equal(call(torch.ones(2)), theirs(torch.ones(2)))


def counted(m, x):
    m.n.add_(1)
    return x + m.n, m.n > 2, m.b


def moved(m, x):
    m.b.mul_(2).sub_(1)
    return (m.b > 3).any(), m.b.sum() + x


def branched(m, x):
    m.n.add_(1)
    return torch.cond(m.n > 1, lambda x: x + 1, lambda x: x - 1, (x,)) + m.n


def branched_by_the_argument(m, x):
    m.n.add_(1)
    return torch.cond(x.sum() > 0, lambda x: x + m.n, lambda x: x - m.n, (x,))


def returned_twice(m, x):
    m.n.add_(1)
    return m.n, x + m.n, m.n.reshape(1), m.n


@pytest.mark.parametrize("function", [counted, moved, branched, branched_by_the_argument, returned_twice])
def test_a_kernel_writes_a_weight_of_the_file(tmp_path, function):
    module = Held(function)
    torch.export.save(torch.export.export(module, (torch.ones(6),)), tmp_path / "m.pt2")
    file = tmp_path / "m.frit"
    command = [TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", file, "--require-standalone"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before = file.read_bytes()
    theirs, calls = copy.deepcopy(module), [frit.load(file), frit.load(file)]
    for _ in range(3):
        expected = theirs(torch.ones(6))
        for call in calls:
            assert all(map(torch.equal, pytree.tree_leaves(call(torch.ones(6))), pytree.tree_leaves(expected)))
    assert file.read_bytes() == before


@torch.library.custom_op("written::bump", mutates_args=("a",))
def bump(a: torch.Tensor) -> None:
    a.add_(1)


class Bumps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("big", torch.arange(4.0))
        self.register_buffer("piece", torch.zeros(2))

    def forward(self, x):
        y, z = self.big * 2 + x, x + 3
        for one in (self.piece, x, z):
            torch.ops.written.bump(one)
        return y.sin(), self.big.cos(), x.cos(), self.piece + 1, z


def test_an_operator_of_the_user_that_writes(tmp_path):
    """The compiler knows of the writes only from run_decompositions(); without it, the file is refused where torch knows them."""
    x = torch.zeros(4)
    program = torch.export.export(Bumps(), (x.clone(),))
    torch.export.save(program, tmp_path / "m.pt2")
    subprocess.run([TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", tmp_path / "m.frit"], check=True, capture_output=True)
    with pytest.raises(frit.ArtifactError, match=r"written::bump writes to its argument 'a', .* export the program with run_decompositions\(\)"):
        frit.load(tmp_path / "m.frit")
    torch.export.save(program.run_decompositions({}), tmp_path / "m.pt2")
    subprocess.run([TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", tmp_path / "m.frit"], check=True, capture_output=True)
    model, module = frit.load(tmp_path / "m.frit"), Bumps()
    for _ in range(3):
        one, other = x.clone(), x.clone()
        torch.testing.assert_close(tuple(model(one)), module(other))
        assert torch.equal(one, other)


class Adds(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("big", torch.arange(4.0))
        self.register_buffer("piece", self.big[:2])

    def forward(self, x):
        self.piece.add_(1)
        return self.big + x


@pytest.mark.parametrize("weights", ["embed", "none"])
def test_a_write_to_what_a_weight_shares(tmp_path, weights):
    torch.export.save(torch.export.export(Adds(), (torch.zeros(4),)), tmp_path / "m.pt2")
    words = [TOOLS / "frit-compile", tmp_path / "m.pt2", "-o", tmp_path / "m.frit", f"--weights={weights}"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1 and "the program writes 'piece', which shares memory with 'big'; register one of them" in done.stderr
