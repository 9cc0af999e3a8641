"""Operators of libraries (LAPACK, FFT, pooling, sorting ...) take at most what the table says, of torch's own samples and of larger operands, with and
without gaps between their elements."""

import collections

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from workspace_calls import NAMES, taken_and_said, tensors

from frit.inspect import workspaces

aten = torch.ops.aten
LISTED = sorted(workspaces._NOTHING | workspaces._ELEMENTWISE | workspaces._CONTIGUOUS | set(workspaces._FACTORS))
#: Entries of the database that call listed operators of other names.
OTHERS = {"bilinear", "conj", "embedding_bag", "fft2", "histogramdd", "ihfft2", "irfft2", "logsigmoid", "max_pool3d", "pdist", "rfft2", "stft"}
SAMPLES, CALLS = 6, 10  # the most of each entry of the database, and of each operator


#: Listed operators that test_workspaces.py calls.
ELSEWHERE = {f"aten.{name}" for name in ("alias.default", "bernoulli.p", "index.Tensor", "rand.default")}


class Recorder(TorchDispatchMode):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name, kwargs = str(function), kwargs or {}
        if name in LISTED:
            if len(self.calls[name]) < CALLS and all(x.layout is torch.strided and x.dtype in NAMES for x in tensors((args, kwargs))):
                copied = pytree.tree_map(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, (args, kwargs))
                self.calls[name].append((function, *copied))
        return function(*args, **kwargs)


@pytest.fixture(scope="module")
def recorded():
    """The calls of each listed operator in torch's operator database: operator, arguments, named arguments."""
    calls = collections.defaultdict(list)
    plain = {name.split(".")[1].strip("_") for name in LISTED} | OTHERS
    for entry in op_db:
        if not {entry.aten_name, entry.name.split(".")[-1], entry.name.replace(".", "_")} & plain:
            continue
        dtype = next((dtype for dtype in (torch.float32, torch.int64) if dtype in entry.dtypes), None)
        if dtype is None:
            continue
        for sample, _ in zip(entry.sample_inputs("cpu", dtype), range(SAMPLES)):
            with torch.no_grad(), Recorder(calls):
                try:
                    entry(sample.input, *sample.args, **sample.kwargs)
                except RuntimeError:
                    pass  # a sample that this build of torch does not support
    return calls


def with_gaps(x):
    wide = torch.zeros(*x.shape, 2, dtype=x.dtype)
    wide[..., 1] = x
    return wide[..., 1]


def larger():
    """Calls with operands of some hundred KiB, by operator."""
    calls = collections.defaultdict(list)

    def add(function, *args, **kwargs):
        calls[str(function)].append((function, args, kwargs))

    for size, batch in ((100, ()), (50, (3,)), (3, (200,))):
        matrices(add, size, batch)
    x, index = torch.randn(300, 200), torch.randint(0, 300, (300,))
    for function in (aten.index_add_.default, aten.index_copy_.default):
        add(function, x.clone(), 0, torch.randperm(300), x)
    add(aten.index_fill_.int_Scalar, x.clone(), 0, index, 1.0)
    add(aten.index_fill_.int_Tensor, x.clone(), 0, index, torch.tensor(1.0))
    for accumulate in (False, True):
        add(aten.index_put_.default, x.clone(), [index], x, accumulate)
        add(aten.index_put_.default, x.clone(), [x > 0], torch.tensor(1.0), accumulate)
        add(aten.put_.default, x.clone(), index, x[:, 0], accumulate)
    add(aten.masked_scatter_.default, x.clone(), x > 0, x)
    add(aten.masked_scatter_.default, x.clone(), x[0] > 0, x)
    wide = index[:, None].expand(300, 200)
    add(aten.scatter_.src, x.clone(), 0, wide, x)
    add(aten.scatter_.reduce, x.clone(), 0, wide, x, reduce="add")
    add(aten.scatter_add_.default, x.clone(), 0, wide, x)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        add(aten.scatter_reduce_.two, x.clone(), 0, wide, x, reduce)
        if reduce != "sum":
            add(aten.index_reduce.default, x.clone(), 0, index, x, reduce)
    for dim in (0, 1):
        add(aten.sort.default, x, dim)
        add(aten.sort.stable, x, stable=True, dim=dim)
        for function in (aten.kthvalue.default, aten.topk.default):
            add(function, x, 5, dim)
        for function in (aten.median.dim, aten.nanmedian.dim, aten.mode.default):
            add(function, x, dim)
    image = torch.randn(2, 8, 40, 40)
    add(aten._conj_physical.default, torch.fft.rfft(x))
    add(aten._fft_c2c.default, torch.fft.rfft(x), [0], 0, True)
    add(aten._fft_r2c.default, x, [0, 1], 0, True)
    add(aten._fft_c2r.default, torch.fft.rfft2(x), [0, 1], 0, 200)
    add(aten.grid_sampler_2d.default, image, torch.rand(2, 30, 30, 2), 0, 0, False)
    add(aten._upsample_bilinear2d_aa.default, image, [17, 17], False)
    add(aten._adaptive_avg_pool2d.default, image, [7, 7])
    add(aten.adaptive_max_pool2d.default, image, [7, 7])
    add(aten._cdist_forward.default, x, x, 2.0, None)
    add(aten._cdist_forward.default, x, x, 1.0, None)
    return calls


def matrices(add, size, batch):
    square = torch.randn(*batch, size, size) + size * torch.eye(size)
    positive = square @ square.mT
    high, right = torch.randn(*batch, 2 * size, size), torch.randn(*batch, size, 5)
    low, (factors, pivots), (reflectors, scales) = torch.linalg.cholesky(positive), torch.linalg.lu_factor(square), torch.geqrf(high)
    for operator in (aten._linalg_det.default, aten._linalg_slogdet.default, aten.linalg_eig.default, aten.linalg_inv_ex.default):
        add(operator, square)
    for operator in (aten.cholesky.default, aten.linalg_cholesky_ex.default, aten._linalg_eigh.default, aten.linalg_ldl_factor_ex.default):
        add(operator, positive)
    add(aten._linalg_eigh.default, positive, "L", False)
    add(aten.cholesky_inverse.default, low)
    add(aten.cholesky_solve.default, right, low)
    for values in (right, square):
        add(aten._linalg_solve_ex.default, square, values)
        add(aten._linalg_solve_ex.default, square, values, left=values is right)
        add(aten.linalg_lu_solve.default, factors, pivots, values)
        add(aten.linalg_solve_triangular.default, low, values, upper=False)
        add(aten.triangular_solve.default, values, low)
    for matrix in (square, high, high.mT):
        for full, vectors in ((False, True), (True, True), (False, False)):
            add(aten._linalg_svd.default, matrix, full, vectors)
        for mode in ("reduced", "complete", "r"):
            add(aten.linalg_qr.default, matrix, mode)
        for operator in (aten.linalg_lu.default, aten.linalg_lu_factor_ex.default, aten.geqrf.default, aten.linalg_pinv.atol_rtol_tensor):
            add(operator, matrix)
    add(aten.linalg_householder_product.default, reflectors, scales)
    add(aten.ormqr.default, reflectors, scales, high)
    add(aten.linalg_ldl_solve.default, *torch.linalg.ldl_factor(positive), right)
    add(aten.lu_unpack.default, factors, pivots)
    for scale in (0.001, 1, 100):
        add(aten.linalg_matrix_exp.default, square * (scale / size))


@pytest.fixture(scope="module")
def large():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield larger()
    torch.set_num_threads(threads)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operator", LISTED)
def test_a_call_takes_at_most_what_the_table_says(operator, recorded, large):
    checked = 0
    for function, args, kwargs in recorded[operator] + large[operator]:
        for laid in (args, pytree.tree_map(lambda x: with_gaps(x) if isinstance(x, torch.Tensor) else x, args)):
            numbers = taken_and_said(function, laid, kwargs)
            if numbers is not None:
                taken, said = numbers
                assert taken <= said, [(x.shape, x.stride()) for x in tensors(laid)]
                checked += 1
    assert checked or operator in ELSEWHERE


def test_unused_results_count():
    call = workspaces.Call("aten.topk.default", [[30, 20]], ["F32"], [[30, 5], None], 1)
    assert not workspaces.is_fixed(call.operator, call.dtypes, [True], call.results) and workspaces.workspace(call) == 8 * 30 * 20
