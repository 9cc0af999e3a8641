"""The callable of a compiled graph, run on artifacts written by hand: registers, steps, ATen calls, aliasing and errors."""
import gc
import importlib
import json
import threading
import weakref

import pytest
import torch
from artifacts import Plan, frame, tensor_value

_C = importlib.import_module("frit._C")
# The asm hides the 1 from the compiler, which would put a float constant into a separate section.
ADD_ONE = """
  const float *x = c->pointers[0]; float *y = c->pointers[1]; int one = 1; __asm__("" : "+r"(one));
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + one;
  return 0;"""


def add_one(grain=1 << 20):
    """y = x + 1 over one symbolic size."""
    plan = Plan("add_one")
    s0, four, size_bytes = plan.int(), plan.int(4), plan.int()
    plan.plan["size_program"] = plan.program(("Mul", size_bytes, s0, four))
    x, y = plan.tensor([str(s0)], [1]), plan.tensor([str(s0)], [1])
    plan.input("Tensor", x)
    plan.plan["symbols"].append({"name": "s0", "reg": s0, "input": 0, "dim": 0, "min": 0, "max": 1 << 30})
    plan.step("Alloc", tensor=y, bytes=size_bytes, storage="Output")
    plan.launch(plan.kernel(ADD_ONE, grain), [x, y], s0)
    plan.step("Free", tensor=x)
    plan.output("Tensor", y)
    return plan


@pytest.mark.parametrize("n", [0, 1, 2, 17, 100_000])
@pytest.mark.parametrize("grain", [1, 7, 1 << 20])
def test_kernel_over_a_symbolic_size(n, grain):
    run = _C.load(add_one(grain).bytes(), [])
    x = torch.randn(n)
    (y,) = run([x])
    assert torch.equal(y, x + 1) and y.stride() == (1,) and not y.requires_grad


def test_boxed_convention():
    run = _C.load(add_one().bytes(), [])
    assert run._boxed_call is True
    arguments = [torch.zeros(3)]
    alive = weakref.ref(arguments[0])
    run(arguments)
    gc.collect()
    assert arguments == [] and alive() is None
    with pytest.raises(TypeError, match="one list"):
        run(torch.zeros(3))
    with pytest.raises(TypeError, match="one list"):
        run([torch.zeros(3)], [])
    run.note = "attributes can be set"
    assert weakref.ref(run)() is run and "add_one" in repr(run)


def test_sizes_are_evaluated_once_for_the_same_sizes():
    run = _C.load(add_one().bytes(), [])
    for n in (5, 5, 5, 6, 6, 5):
        run([torch.zeros(n)])
    stats = json.loads(run.stats())
    assert stats["calls"] == 6 and stats["size_evaluations"] == 3 and stats["kernel_launches"] == 6
    assert stats["peak_bytes"] == 24


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "takes 1 inputs, got 0"),
        ([torch.zeros(3), torch.zeros(3)], "takes 1 inputs, got 2"),
        ([3], r"input 0 \('a0'\): a tensor is needed"),
        ([torch.zeros(3, dtype=torch.float64)], "dtype is float64, compiled for float32"),
        ([torch.zeros(3, 3)], "2 dimensions, compiled for 1"),
        ([torch.zeros(6)[::2]], "stride along dimension 0 is 2, compiled for 1"),
        ([torch.zeros(3).to_sparse()], "layout is not strided"),
        ([torch.zeros(3, dtype=torch.complex64).conj()], "dtype is complex64"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    run = _C.load(add_one().bytes(), [])
    with pytest.raises(RuntimeError, match=message):
        run(list(arguments))
    assert run([torch.zeros(2)])[0].tolist() == [1, 1]


def test_subclasses_are_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3)
    with pytest.raises(RuntimeError, match="subclass"):
        _C.load(add_one().bytes(), [])([fake])


def test_symbol_outside_of_its_range():
    plan = add_one()
    plan.plan["symbols"][0].update(min=2, max=8)
    run = _C.load(plan.bytes(), [])
    with pytest.raises(RuntimeError, match="dimension 0 is 9, compiled for s0 between 2 and 8"):
        run([torch.zeros(9)])


def test_expressions_of_arguments_are_checked():
    """Input 1 has 2 * s0 elements; input 2 is s0 + 1 itself."""
    plan = add_one()
    double, plus = plan.int(), plan.int()
    code = plan.plan["programs"][0]["code"]
    code.append(dict(op="Mul", dst=double, a=0, b=plan.int(2), c=0))
    code.append(dict(op="Add", dst=plus, a=0, b=plan.int(1), c=0))
    plan.input("Tensor", plan.tensor([str(double)], [1]))
    given = plan.int()
    plan.input("Int", given, expected=plus)
    plan.output("Int", plus)
    run = _C.load(plan.bytes(), [])
    assert run([torch.zeros(3), torch.zeros(6), 4])[1] == 4
    with pytest.raises(RuntimeError, match=r"input 1 \('a1'\): its size along dimension 0 is 5, compiled for 6"):
        run([torch.zeros(3), torch.zeros(5), 4])
    with pytest.raises(RuntimeError, match="input 2.*it is 5, the sizes of this call require 4"):
        run([torch.zeros(3), torch.zeros(6), 5])


@pytest.mark.parametrize(
    "code, kind, message",
    [
        (1, IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        (2, RuntimeError, "ZeroDivisionError"),
        (4, IndexError, "index out of range in self"),
        (5, RuntimeError, "index 5 is out of bounds for dimension 0 with size 3"),
        (6, IndexError, "Target 5 is out of bounds."),
    ],
)
def test_kernel_errors_read_as_eager(code, kind, message):
    plan = Plan()
    y = plan.tensor([3], [1])
    plan.alloc(y, 3)
    kernel = plan.kernel(f"c->error->code = {code}; c->error->index = 5; c->error->size = 3; return {code};")
    plan.launch(kernel, [y], plan.int(3))
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    for _ in range(2):
        with pytest.raises(kind) as caught:
            run([])
        assert str(caught.value).split("\n")[0] == message


def test_none_integer_and_untouched_results():
    plan = Plan()
    x, n = plan.tensor([3], [1]), plan.int()
    plan.input("Tensor", x)
    plan.input("Int", n)
    plan.input("None")
    f = plan.float()
    plan.input("Float", f)
    plan.step("Free", tensor=x)
    plan.output("None")
    plan.output("Input", 0)
    plan.output("Int", n)
    plan.output("Float", f)
    plan.output("Input", 1)
    plan.output("FloatTensor", f, dtype="F32")
    plan.output("IntTensor", n, dtype="I64")
    x = torch.arange(3.0)
    results = _C.load(plan.bytes(), [])([x, 7, None, 2.5])
    assert results[0] is None and results[1] is x and results[2:5] == [7, 2.5, 7]
    assert torch.equal(results[5], torch.tensor(2.5)) and torch.equal(results[6], torch.tensor(7))


def test_host_scalar_from_a_rank_zero_tensor():
    plan = Plan()
    x, value, twice = plan.tensor([], []), plan.float(), plan.float()
    plan.input("ScalarTensor", x, scalar=value)
    program = plan.program(("FAdd", twice, value, value))
    plan.step("Eval", program=program)
    plan.output("Float", twice)
    run = _C.load(plan.bytes(), [])
    assert run([torch.tensor(1.25)]) == [2.5]


def test_aten_call_with_defaults_lists_and_keywords():
    plan = Plan()
    x = plan.tensor([2, 3], [3, 1])
    y = plan.tensor([2, 6], [6, 1])
    z = plan.tensor([2], [1], dtype="F64")
    plan.input("Tensor", x)
    plan.aten("aten::cat", "", [{"kind": "List", "items": [tensor_value(x), tensor_value(x)]}, {"kind": "Int", "integer": 1}],
              [tensor_value(y)])
    plan.aten("aten::sum", "dim_IntList",
              [tensor_value(y), {"kind": "List", "items": [{"kind": "Int", "integer": 1}]},
               {"kind": "Dtype", "integer": 12, "name": "dtype"}], [tensor_value(z)])
    plan.step("Free", tensor=x)
    plan.output("Tensor", y)
    plan.output("Tensor", z)
    run = _C.load(plan.bytes(), [])
    x = torch.randn(2, 3)
    y, z = run([x])
    assert torch.equal(y, torch.cat([x, x], 1)) and torch.equal(z, y.sum(1, dtype=torch.float64))
    assert json.loads(run.stats())["aten"] == {"aten.cat.default": 1, "aten.sum.dim_IntList": 1}


def test_numbers_where_tensors_are_wanted():
    plan = Plan()
    x, y = plan.tensor([2], [1], dtype="F16"), plan.tensor([2], [1], dtype="F16")
    plan.input("Tensor", x)
    plan.aten("aten::mul", "Tensor", [tensor_value(x), {"kind": "Double", "real": 2.5}], [tensor_value(y)])
    plan.output("Tensor", y)
    x = torch.ones(2, dtype=torch.float16)
    (y,) = _C.load(plan.bytes(), [])([x])
    assert y.dtype == torch.float16 and y.tolist() == [2.5, 2.5]


def test_results_have_the_promised_strides():
    plan = Plan()
    x, y = plan.tensor([2, 3], [3, 1]), plan.tensor([2, 3], [1, 2])
    plan.input("Tensor", x)
    plan.aten("aten::relu", "", [tensor_value(x)], [tensor_value(y)])
    plan.output("Tensor", y)
    x = torch.randn(2, 3)
    (y,) = _C.load(plan.bytes(), [])([x])
    assert y.stride() == (1, 2) and torch.equal(y, x.relu())


def test_errors_of_operators_pass_through():
    plan = Plan()
    x, y = plan.tensor([2, 3], [3, 1]), plan.tensor()
    plan.input("Tensor", x)
    plan.aten("aten::mm", "", [tensor_value(x), tensor_value(x)], [tensor_value(y)])
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        run([torch.randn(2, 3)])


def test_lists_of_strings_hold_strings():
    library = torch.library.Library("frit_test_strings", "DEF")
    library.define("count(Tensor x, str[] names) -> Tensor")
    library.impl("count", lambda x, names: x + len("".join(names)), "CompositeExplicitAutograd")

    def load(item):
        plan = Plan()
        x, y = plan.tensor([2], [1]), plan.tensor()
        plan.input("Tensor", x)
        plan.aten("frit_test_strings::count", "", [tensor_value(x), {"kind": "List", "items": [item]}], [tensor_value(y)])
        plan.output("Tensor", y)
        return _C.load(plan.bytes(), [])

    assert load({"kind": "String", "string": "abc"})([torch.zeros(2)])[0].tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="a list of strings holds something else"):
        load({"kind": "Int", "integer": 1})


def test_unknown_operator_is_refused_at_load():
    plan = Plan()
    y = plan.tensor()
    plan.aten("aten::no_such_operator", "", [], [tensor_value(y)])
    with pytest.raises(RuntimeError, match="no operator aten::no_such_operator"):
        _C.load(plan.bytes(), [])


def test_unbacked_size_from_a_call():
    plan = Plan()
    x, where = plan.tensor([4], [1]), plan.tensor(dtype="I64")
    u0, bytes_, y = plan.int(), plan.int(), None
    y = plan.tensor([str(u0)], [1], dtype="F32")
    plan.input("Tensor", x)
    plan.aten("aten::nonzero", "", [tensor_value(x)], [tensor_value(where)])
    plan.step("Dim", tensor=where, dim=0, dst=u0)
    plan.step("Eval", program=plan.program(("Mul", bytes_, u0, plan.int(4))))
    plan.step("Alloc", tensor=y, bytes=bytes_, storage="Output")
    plan.launch(plan.kernel("float *y = c->pointers[0]; for (int64_t i = begin; i < end; ++i) y[i] = i; return 0;"), [y], u0)
    plan.output("Tensor", y)
    plan.output("Int", u0)
    run = _C.load(plan.bytes(), [])
    assert run([torch.tensor([0.0, 1, 0, 2])])[0].tolist() == [0, 1]
    assert run([torch.zeros(4)])[1] == 0


def test_item_check_and_wrap():
    plan = Plan()
    x, value, positive = plan.tensor([], [], dtype="I64"), plan.int(), plan.int()
    wrapped = plan.tensor([], [], dtype="I64")
    plan.input("Tensor", x)
    plan.step("Item", tensor=x, dst=value)
    plan.step("Eval", program=plan.program(("Gt", positive, value, plan.int(0))))
    plan.step("Check", reg=positive, message="u0 must be positive")
    plan.step("Wrap", tensor=wrapped, reg=value)
    plan.output("Tensor", wrapped)
    run = _C.load(plan.bytes(), [])
    assert run([torch.tensor(3)])[0].item() == 3
    with pytest.raises(RuntimeError, match="u0 must be positive"):
        run([torch.tensor(-3)])


def test_views_alias_and_outlive_their_source():
    plan = Plan()
    x, y = plan.tensor([2, 3], [3, 1]), plan.tensor([3], [1])
    plan.input("Tensor", x)
    plan.step("View", tensor=y, source=x, offset=plan.int(3))
    plan.step("Free", tensor=x)
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    x = torch.arange(12.0).reshape(4, 3)[1:3]
    (y,) = run([x])
    assert y.storage_offset() == 6 and y.data_ptr() == x[1].data_ptr() and torch.equal(y, x[1])
    y += 1
    assert x[1, 0] == 7


@pytest.mark.parametrize("offset", [10, -7, 1 << 61])
def test_views_outside_of_their_storage_are_refused(offset):
    plan = Plan()
    x, y = plan.tensor([2, 3], [3, 1]), plan.tensor([3], [1])
    plan.input("Tensor", x)
    plan.step("View", tensor=y, source=x, offset=plan.int(offset))
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    x = torch.arange(12.0).reshape(4, 3)[2:]
    with pytest.raises(RuntimeError, match="a view lies outside of its storage of 48 bytes"):
        run([x])


def test_temporaries_are_reused_and_views_of_them_read():
    """t = x + 1; u reuses t's storage; v is a view of u; y = v + 1."""
    plan = Plan()
    x, t, u, v, y = (plan.tensor([4], [1]) for _ in range(5))
    kernel = plan.kernel(ADD_ONE)
    plan.input("Tensor", x)
    plan.alloc(t, 4, storage="Temporary")
    plan.launch(kernel, [x, t], plan.int(4))
    plan.step("Reuse", tensor=u, **{"from": t})
    plan.step("View", tensor=v, source=u)
    plan.alloc(y, 4)
    plan.launch(kernel, [v, y], plan.int(4))
    plan.step("Free", tensor=u)
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    assert run([torch.zeros(4)])[0].tolist() == [2] * 4
    assert json.loads(run.stats())["peak_bytes"] == 32


def test_arena():
    plan = Plan()
    x, t, y = (plan.tensor([4], [1]) for _ in range(3))
    kernel = plan.kernel(ADD_ONE)
    plan.plan["arena_bytes"] = plan.int(64)
    plan.input("Tensor", x)
    plan.step("Alloc", tensor=t, bytes=plan.int(16), storage="Temporary", arena_offset=plan.int(48))
    plan.launch(kernel, [x, t], plan.int(4))
    plan.alloc(y, 4)
    plan.launch(kernel, [t, y], plan.int(4))
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    for _ in range(3):
        assert run([torch.zeros(4)])[0].tolist() == [2] * 4
    plan.plan["arena_bytes"] = plan.int(60)
    with pytest.raises(RuntimeError, match="outside of the arena"):
        _C.load(plan.bytes(), [])([torch.zeros(4)])


def test_results_that_begin_inside_of_their_storage():
    plan = Plan()
    x, y = plan.tensor([4], [1]), plan.tensor([4], [1])
    plan.input("Tensor", x)
    plan.step("Alloc", tensor=y, bytes=plan.int(36), storage="Output", offset=plan.int(5))
    plan.launch(plan.kernel(ADD_ONE), [x, y], plan.int(4))
    plan.output("Tensor", y)
    (y,) = _C.load(plan.bytes(), [])([torch.zeros(4)])
    assert y.tolist() == [1] * 4 and y.storage_offset() == 5 and y.untyped_storage().nbytes() == 36
    plan.plan["steps"][0]["action"]["offset"] = plan.int(-1)
    with pytest.raises(RuntimeError, match="begins before its storage"):
        _C.load(plan.bytes(), [])([torch.zeros(4)])
    plan.plan["steps"][0]["action"].update(storage="Temporary")
    with pytest.raises(RuntimeError, match="begins inside of its storage"):
        _C.load(plan.bytes(), [])


def test_temporaries_are_told_from_results():
    plan = Plan()
    x, t, y = (plan.tensor([4], [1]) for _ in range(3))
    kernel = plan.kernel(ADD_ONE)
    plan.input("Tensor", x)
    plan.alloc(t, 4, storage="Temporary")
    plan.launch(kernel, [x, t], plan.int(4))
    plan.alloc(y, 4)
    plan.launch(kernel, [t, y], plan.int(4))
    plan.step("Free", tensor=t)
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    run([torch.zeros(4)])
    stats = json.loads(run.stats())
    assert stats["temporary_bytes"] == 16 and stats["peak_bytes"] == 32


def test_writes_to_inputs_bump_their_version():
    plan = Plan()
    x, y = plan.tensor([2], [1]), plan.tensor([2], [1])
    plan.input("Tensor", x, mutated=True)
    plan.input("Tensor", y)
    plan.step("CopyInto", tensor=x, source=y)
    plan.aten("aten::add_", "Tensor", [tensor_value(x), tensor_value(y)], [{"kind": "None"}])
    plan.step("Touch", tensor=x)
    run = _C.load(plan.bytes(), [])
    x = torch.zeros(2)
    version = x._version
    assert run([x, torch.ones(2)]) == []
    assert x.tolist() == [2, 2] and x._version == version + 3


def test_constants_are_bound_at_load():
    plan = Plan()
    w, x, y = (plan.tensor([2], [1]) for _ in range(3))
    plan.plan["constants"].append({"name": "w", "tensor": w, "index": 0})
    plan.input("Tensor", x)
    plan.aten("aten::add", "Tensor", [tensor_value(x), tensor_value(w)], [tensor_value(y)])
    plan.output("Tensor", y)
    constant = torch.tensor([1.0, 2.0])
    run = _C.load(plan.bytes(), [constant])
    for _ in range(3):
        assert run([torch.zeros(2)])[0].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="needs 1 constants"):
        _C.load(plan.bytes(), [])
    with pytest.raises(TypeError, match="constant 0 is a int"):
        _C.load(plan.bytes(), [3])
    with pytest.raises(RuntimeError, match="constant 0 .*its dtype is int64, compiled for float32"):
        _C.load(plan.bytes(), [torch.zeros(2, dtype=torch.int64)])


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda p: p["steps"].pop(0), "read before it is written"),
        (lambda p: p["steps"].append({"action_type": "Free", "action": {"tensor": 0}}), "after it was freed"),
        (lambda p: p["steps"].append({"action_type": "Free", "action": {"tensor": 9}}), "tensor register 9 is not one of the plan's 2"),
        (lambda p: p["outputs"].append({"kind": "Tensor", "reg": 0}), "not there any more"),
        (lambda p: p["outputs"].append({"kind": "Int", "reg": 99}), "int register 99"),
        (lambda p: p["symbols"][0].update(input=5), "an input that is not there"),
        (lambda p: p["symbols"][0].update(dim=1), "no such size"),
        (lambda p: p["programs"][0]["code"][0].update(a=77), "outside of its file"),
        (lambda p: p["steps"][1]["action"].update(kernel=3), "kernel 3 is not there"),
        (lambda p: p["steps"][1]["action"].update(variants=[]), "1 variants, its use 0"),
        (lambda p: p["kernels"][0]["variants"][0]["launches"][0].update(entry="gone"), "entry 'gone' is missing"),
        (lambda p: p["tensors"][0].update(rank=2), "do not fit each other"),
    ],
)
def test_malformed_plans_are_refused_at_load(damage, message):
    plan = add_one()
    damage(plan.plan)
    with pytest.raises(RuntimeError, match=message):
        _C.load(plan.bytes(), [])


def test_damaged_bytes_are_refused():
    data = add_one().bytes()
    for damaged in (b"", data[:100], data[:-1], data + b"x", frame(data[128:-3])):
        with pytest.raises(RuntimeError, match="not a usable .frit artifact"):
            _C.load(damaged, [])


def test_code_for_another_machine_is_refused():
    plan = add_one()
    for image in plan.images:
        image["level"] = "x86-64-v9"
    with pytest.raises(RuntimeError, match=r"cannot run the artifact's code \(x86-64-v9: it lacks x86-64-v9; x86-64-v9: it lacks"):
        _C.load(plan.bytes(), [])


def test_calls_from_many_threads():
    run = _C.load(add_one(grain=64).bytes(), [])
    wrong = []

    def work(seed):
        for n in range(seed, seed + 200):
            x = torch.full((n,), float(seed))
            if not torch.equal(run([x])[0], x + 1):
                wrong.append((seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and json.loads(run.stats())["calls"] == 1600


def test_a_graph_called_from_within_an_operator_of_itself():
    plan = add_one()
    run = _C.load(plan.bytes(), [])
    library = torch.library.Library("frit_test_executable", "DEF")
    library.define("again(Tensor x) -> Tensor")
    library.impl("again", lambda x: run([x])[0] if x.numel() < 3 else outer([x[:2]])[0], "CompositeExplicitAutograd")
    outer_plan = Plan()
    n = outer_plan.int()
    x, y = outer_plan.tensor([str(n)], [1]), outer_plan.tensor()
    outer_plan.input("Tensor", x)
    outer_plan.plan["symbols"].append({"name": "s0", "reg": n, "input": 0, "dim": 0})
    outer_plan.aten("frit_test_executable::again", "", [tensor_value(x)], [tensor_value(y)])
    outer_plan.output("Tensor", y)
    outer = _C.load(outer_plan.bytes(), [])
    assert outer([torch.zeros(5)])[0].tolist() == [1, 1]


def test_nothing_leaks():
    run = _C.load(add_one().bytes(), [])
    x = torch.zeros(4)
    before = x.untyped_storage()._use_count() if hasattr(x.untyped_storage(), "_use_count") else None
    import sys

    references = sys.getrefcount(x)
    for _ in range(100):
        run([x])
        with pytest.raises(RuntimeError):
            run([x, x])
    assert sys.getrefcount(x) == references
    assert before is None or x.untyped_storage()._use_count() == before


def test_large_kernels_use_torchs_threads():
    """Each unit records its thread: with two threads and a small grain there are two."""
    plan = Plan()
    y = plan.tensor([64], [1], dtype="I64")
    plan.alloc(y, 64, size=8)
    body = """
      int64_t *y = c->pointers[0], self; __asm__ volatile("mov %%fs:0, %0" : "=r"(self));
      for (int64_t i = begin; i < end; ++i) y[i] = self;
      return 0;"""
    plan.launch(plan.kernel(body, grain=1), [y], plan.int(64))
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            assert run([])[0].unique().numel() == threads
    finally:
        torch.set_num_threads(before)


def test_lazy_conjugates_and_negatives_are_carried_out():
    plan = Plan()
    x, y = plan.tensor([2], [1], dtype="C64"), plan.tensor([2], [1], dtype="C64")
    plan.input("Tensor", x)
    plan.aten("aten::clone", "", [tensor_value(x)], [tensor_value(y)])
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    x = torch.tensor([1 + 2j, 3 - 4j]).conj()
    assert run([x])[0].tolist() == x.tolist()


def test_python_errors_of_operators_pass_through():
    library = torch.library.Library("frit_test_errors", "DEF")
    library.define("fail(Tensor x) -> Tensor")

    def fail(x):
        raise KeyError("the operator's own")

    library.impl("fail", fail, "CompositeExplicitAutograd")
    plan = Plan()
    x, y = plan.tensor([2], [1]), plan.tensor()
    plan.input("Tensor", x)
    plan.aten("frit_test_errors::fail", "", [tensor_value(x)], [tensor_value(y)])
    plan.output("Tensor", y)
    run = _C.load(plan.bytes(), [])
    for _ in range(3):
        with pytest.raises(KeyError, match="the operator's own"):
            run([torch.zeros(2)])


def test_profilers_see_graphs_and_kernels():
    run = _C.load(add_one().bytes(), [])
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        run([torch.zeros(3)])
    names = {event.name for event in profile.events()}
    assert {"frit::add_one", "k0"} <= names
