"""The summary of frit.explain: its first lines, and the merged entries below them."""

import json
import re

import torch
from exported import compiled

import frit


def broken(x, w):
    y = x.sin()
    torch._dynamo.graph_break()
    return (y @ w @ w).relu() @ w


def test_the_first_lines_sum_up_all_graphs():
    x, w = torch.randn(6, 5), torch.randn(5, 5)
    explanation = frit.explain(broken)(x, w)
    head, left, where, compiled, memory = explanation.summary().splitlines()
    assert head == "5 operators in 2 graphs, 1 graph break: 2 kernels (2 launches), 3 ATen calls, 0 Python steps"
    ran = sum(graph["own_products"] for graph in explanation.graphs)
    assert left == "left to ATen: aten.mm.default x3" + (f" (frit's own kernels ran {ran} products of them in 1 call)" if ran else "") and ran in (0, 3)
    line = broken.__code__.co_firstlineno + 2
    assert where.startswith(f"graph break at test_explain.py:{line} in broken: torch._dynamo.graph_break() (Call to `torch._dynamo.graph_break()`")
    assert compiled.startswith("compiled in ") and "codegen " in compiled and "cache" not in compiled
    assert memory.startswith("memory of the largest graph: ") and memory.endswith(" of arguments and results") and "a call moves " in memory
    assert re.search(r"B at the peak with results \(\d+ B predicted, with what ATen allocates\)", memory), memory
    assert str(explanation).startswith(explanation.summary() + "\n\n")
    assert json.loads(explanation.to_json())["breaks"] == explanation.breaks and len(explanation.breaks) == 1


def test_the_summary_has_five_lines_at_most():
    def function(x, w):
        x = (x @ w).sin()
        torch._dynamo.graph_break()
        x = (x @ w).sin()
        torch._dynamo.graph_break()
        x = (x @ w).sin()
        torch._dynamo.graph_break()
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))

    explanation = frit.explain(function)(torch.randn(6, 5), torch.randn(5, 5))
    lines = str(explanation).splitlines()
    places = [f"graph break at test_explain.py:{function.__code__.co_firstlineno + line} in function" for line in (2, 4, 6)]
    assert lines[:5] == explanation.summary().splitlines() and lines[6] == ""
    assert places[0] in lines[2] and places[1] in lines[2] and lines[2].endswith("; 1 more, listed below")
    assert lines[5].startswith(places[2])


class Written(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm = torch.nn.Embedding(9, 6), torch.nn.LayerNorm(6)

    def forward(self, ids):
        return self.norm(self.table(ids))


def test_the_lines_are_the_users_and_not_those_of_torchs_modules():
    model, ids = Written().eval(), torch.tensor([1, 2])
    with torch.no_grad():
        text = str(frit.explain(model)(ids))
    assert "test_explain.py:" in text and "in forward: return self.norm(self.table(ids))" in text
    assert "sparse.py" not in text and "normalization.py" not in text
    report = json.dumps(compiled(model, (ids,))[1])
    assert "test_explain.py:" in report and "sparse.py" not in report and "normalization.py" not in report


def test_what_frit_ran_instead_of_aten_is_counted():
    x, w = torch.randn(4, 256), torch.randn(256, 512)
    explanation = frit.explain(lambda x, w: (x @ w).relu())(x, w)
    ran = sum(graph.get("own_products") or 0 for graph in explanation.graphs)
    assert ("(frit's own kernels ran 1 product of them in 1 call)" in explanation.summary()) == (ran == 1)


def test_graphs_of_the_cache_are_compiled_anew_to_show_their_code(folder):
    x, w = torch.randn(6, 5), torch.randn(5, 5)
    torch.compile(broken, backend="frit")(x, w)
    for _ in range(2):
        explanation = frit.explain(broken)(x, w)
        assert "codegen " in explanation.summary()
        assert all(dict(anatomy.texts_of(kernel)) for _, anatomy in explanation.each() for kernel in anatomy.plan["kernels"])


def test_equal_calls_are_one_entry_with_their_lines():
    text = str(frit.explain(broken)(torch.randn(6, 5), torch.randn(5, 5)))
    assert text.count("aten aten.mm.default") == 1
    lines = text.splitlines()
    entry = next(number for number, line in enumerate(lines) if "aten aten.mm.default x3: a matrix product" in line)
    assert lines[entry + 1].endswith("return (y @ w @ w).relu() @ w x3")


def test_a_kernel_that_runs_several_times_says_so():
    def function(x):
        for _ in range(3):
            x = torch.nn.functional.softmax(x @ x, -1)
        return x

    explanation = frit.explain(function)(torch.randn(8, 8))
    assert "1 kernel (3 launches)" in explanation.summary()
    assert any(line.startswith("  kernel ") and " x3: " in line for line in str(explanation).splitlines())
