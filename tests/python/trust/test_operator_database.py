"""A part of `scripts/operator-sweep`, which depends on the commit: FRIT_OPERATOR_SEED repeats a draw, and FRIT_OPERATOR_TASKS is the number of graphs.
"""

import os
import subprocess

import checker
import operator_comparison
import operator_database
import operator_sweep
import pytest
import torch

from frit import backend

SHARES = 3


@pytest.fixture(scope="module")
def worker():
    worker = _Worker()
    yield worker
    worker.close()


class _Worker(operator_sweep.Worker):
    """A worker in which `dying` cases kill the process, together with others and by themselves."""

    dying, survives = (), ("aot_eager",)

    def _ask(self, task):
        if self.dying and not set(self.dying) <= set(task["without"]) and task.get("backend") not in self.survives:
            return None, [*self.dying, *([] if task["single"] else ["another"])], "status -11"
        return super()._ask(task)


def commit():
    """Returns the commit of the tree, or nothing outside of git."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=os.path.dirname(__file__), capture_output=True, text=True)
    return found.stdout.strip()


@pytest.mark.parametrize("share", range(SHARES))
def test_operators_drawn_by_the_commit(share, worker):
    """Runs the samples of the ledger for each operator."""
    seed = os.environ.get("FRIT_OPERATOR_SEED") or commit()
    drawn = operator_database.drawn(seed, int(os.environ.get("FRIT_OPERATOR_TASKS", 60)))
    failures, judged = [], 0
    for name, types, phase in drawn[share::SHARES]:
        verdicts = worker.run({"name": name, "types": types, "phase": phase, "seed": 0, "count": 1})
        judged += len(verdicts)
        failures += [f"{phase}: {name} {label}: {reason}" for label, outcome, reason in verdicts if outcome == "failed"]
    assert judged
    assert not failures, f"FRIT_OPERATOR_SEED={seed}\n" + "\n".join(failures)


def test_a_process_that_dies_is_one_failure(worker):
    worker.dying = ["float32 0: plain, as it is"]
    verdicts = worker.run({"name": "sin", "types": ["float32"], "phase": "inference", "seed": 0, "count": 1})
    worker.dying = ()
    assert verdicts[0] == ["float32 0: plain, as it is", "failed", "crash: status -11"]
    assert len(verdicts) > 1 and all(outcome == "passed" for _, outcome, _ in verdicts[1:])


def test_a_process_that_dies_under_aot_eager_too_is_an_exception(worker):
    worker.dying, worker.survives = ["float32 0: plain, as it is"], ()
    verdicts = worker.run({"name": "sin", "types": ["float32"], "phase": "inference", "seed": 0, "count": 1})
    worker.dying, worker.survives = (), ("aot_eager",)
    assert verdicts[0] == ["float32 0: plain, as it is", "exception", "aot_eager: crash: status -11"]


@pytest.mark.parametrize("what", ["value", "type", "stride", "offset", "alias", "write", "error", "gradient"])
def test_what_is_wrong_is_a_failure(what):
    """A backend with one mistake in each property that is compared."""

    def wrong(results, arguments):
        first = results[0].detach()
        if what == "value":
            return first + 1e-3
        if what == "type":
            return first.double()
        if what == "stride":
            return first.t().contiguous().t()
        if what == "offset":
            return operator_database.LAYOUTS["offset"](first, 0)
        if what == "alias":
            return arguments[0]
        if what == "write":
            arguments[0].add_(1)
        if what == "error":
            raise IndexError("not eager's")
        return first

    def compiler(gm, inputs):
        from torch._dynamo.backends.common import aot_autograd

        def compile_graph(graph, _):
            def run(arguments):
                given = list(arguments)
                results = list(graph(*given))
                backward = what == "gradient" and len(given) > 1 and not any(x.requires_grad for x in given)
                results[0] = results[0] * 1.01 if backward else wrong(results, given)
                return results

            run._boxed_call = True
            return run

        return aot_autograd(fw_compiler=compile_graph, keep_inference_input_mutations=True)(gm, inputs)

    training = what == "gradient"
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    leaves = [x.requires_grad_(training), y]
    case = operator_database.Case("0", lambda x, y: x * y.exp(), leaves)
    assert [v.outcome for v in operator_comparison.judge([case], training, False)] == ["passed"]
    assert [v.outcome for v in operator_comparison.judge([case], training, False, compiler)] == ["failed"]


def test_a_graph_that_is_compiled_again_is_a_failure():
    def compiler(gm, inputs):
        return backend.frit(gm, inputs, options={"fail_at": "kernel:exp", "strict": False})

    case = operator_database.Case("0", lambda x: x.exp(), [torch.randn(3)])
    (verdict,) = operator_comparison.judge([case], False, False, compiler)
    assert verdict.outcome == "failed" and "compiled again" in verdict.reason


@pytest.mark.parametrize("function, outcome", [(lambda x: 1 / (x - x), "failed"), (lambda x: 1 / (((x * 3 + 1) - 1) / 3 - x), "exception")])
def test_signs_of_infinities(function, outcome):
    """Those of rounding errors may differ, those of exact zeros may not."""

    def compiler(graph, _):
        def run(*arguments):
            first, *others = graph(*arguments)
            return [torch.where(first.isinf(), -first, first), *others]

        return run

    case = operator_database.Case("0", function, [torch.tensor([3.0, 5.0, 0.1, 0.7, 1.3, 2.5])])
    assert case.function(*case.leaves).isinf().any()
    (verdict,) = operator_comparison.judge([case], False, False, compiler)
    assert verdict.outcome == outcome and "inf" in verdict.reason


def test_copies_keep_lazy_bits():
    x = torch.randn(3, dtype=torch.complex64)
    conjugated, imaginary = checker.copied([x.conj(), x.conj().imag])
    assert conjugated.is_conj() and imaginary.is_neg()
    assert torch.equal(conjugated, x.conj()) and torch.equal(imaginary, x.conj().imag)
