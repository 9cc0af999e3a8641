"""Reports: bytes and memory of a plan, hints, and the HTML page, which must be a single file in which all names are escaped."""

import html.parser
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import fresh
import pytest
import torch
import torch.utils._pytree as pytree
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import frit
from frit.inspect.reader import read
from frit.inspect.traffic import Traffic
from frit.pages.layout import layers_of, place

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    """Checks that tags are balanced; collects ids, links within the page, and external references."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.loads, self.tags, self.words = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name == "href":
                (self.links if value.startswith("#") else self.loads).append(value)
            if name == "src" or value and "://" in value:
                self.loads.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


def page_of(explanation, path):
    explanation.to_html(path)
    text = path.read_text()
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids) and {link[1:] for link in page.links} <= set(page.ids)
    assert not page.loads and not re.search(r"(https?:)?//\w+\.\w+", re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL))
    return page, text


def rows(x, y):
    return (x * y).softmax(-1)


def test_bytes_of_a_kernel_are_those_of_its_operands():
    explanation = frit.explain(rows, dynamic=False)(torch.randn(8, 16), torch.randn(8, 16))
    (graph,) = explanation.graphs
    assert graph["bytes_moved"] == graph["bytes_mandatory"] == 3 * 8 * 16 * 4
    assert explanation.kernels[0]["bytes"] == graph["bytes_moved"]
    assert "; a call moves 1.5 KiB, 1 times the 1.5 KiB of arguments and results" in str(explanation)
    assert json.loads(explanation.to_json())["hints"] == explanation.hints == []


def test_an_operand_that_is_broadcast_counts_once():
    explanation = frit.explain(rows, dynamic=False)(torch.randn(8, 16), torch.randn(16))
    assert explanation.graphs[0]["bytes_moved"] == (2 * 8 * 16 + 16) * 4


def test_kernels_come_by_cost():
    def function(x, y):
        return x.sum(0), (y.softmax(-1) @ y).sum()

    kernels = frit.explain(function, dynamic=False)(torch.randn(4, 4), torch.randn(64, 64)).kernels
    assert len(kernels) > 1 and [one["bytes"] for one in kernels] == sorted((one["bytes"] for one in kernels), reverse=True)


def test_the_peak_of_the_plan_is_the_peak_of_the_run():
    def function(x):
        y = x.softmax(-1)
        return (y + y.softmax(0)).sum(1), y.sum(0)

    (graph,) = frit.explain(function, dynamic=False)(torch.randn(64, 96)).graphs
    assert graph["peak_of_plan"] == graph["peak_bytes"] > 0 and not graph["aten_calls"]


def test_sizes_of_a_report_can_be_chosen(graphs):
    torch.compile(lambda x: x.softmax(-1) + 1, backend="frit", dynamic=True)(torch.randn(5, 7))
    artifact = read(graphs[0].artifact)
    names = [one["name"] for one in artifact["plans"][0]["symbols"]]
    moved = [Traffic(artifact, artifact["plans"][0], dict(zip(names, sizes))).moved for sizes in ((5, 7), (50, 70))]
    assert moved == [2 * 5 * 7 * 4, 2 * 50 * 70 * 4]


def test_a_copy_that_a_call_wants_is_a_hint():
    def function(x, w):
        return x.transpose(1, 2).reshape(8, -1) @ w

    (hint,) = frit.explain(function, dynamic=False)(torch.randn(8, 16, 4), torch.randn(64, 8)).hints
    assert hint.startswith("1 copy moves 4 KiB a call because aten.mm.default needs another layout") and "reshape(8, -1) @ w" in hint


def test_breaks_calls_and_recompilations_are_hints():
    def function(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.sort().values + 1

    hints = frit.explain(function, dynamic=False).over([(torch.randn(4),), (torch.randn(5),)]).hints
    assert any(hint.startswith("the graph breaks at test_reports.py:") for hint in hints)
    assert any("was compiled again: " in hint and "mark_dynamic" in hint for hint in hints)
    assert any("aten.sort.default runs in ATen" in hint for hint in hints)


def test_recompilations_with_one_remedy_are_one_hint():
    hints = frit.explain(lambda x: x.sin() + 1, dynamic=False).over([(torch.randn(n),) for n in (4, 5, 6)]).hints
    (hint,) = [hint for hint in hints if "compiled again" in hint]
    assert "was compiled again 2 times: x[0] was 4" in hint and hint.endswith("dynamic=True") and "mark_dynamic(x, 0)" in hint


def test_a_page_holds_the_kernels_with_their_code(tmp_path):
    explanation = frit.explain(lambda x, w: (x.softmax(-1) @ w).relu(), dynamic=False)(torch.randn(8, 16), torch.randn(16, 4))
    page, text = page_of(explanation, tmp_path / "inner" / "r.html")
    assert page.tags.count("svg") == 3 and "peak " in text and "prefers-color-scheme: dark" in text
    words = "".join(page.words)
    for kernel in explanation.kernels:
        assert f"define dso_local i32 @{kernel['name']}(" in words and f"frit.kernel @{kernel['name']}(" in words
        assert kernel["schedule"] in words and all(source in words for source in kernel["sources"])
    assert "a matrix product: a library has the kernel" in words and "plan of graph" in words


def test_a_page_of_training_has_both_graphs_and_what_is_saved(tmp_path):
    def function(x, w):
        return (x @ w).sin().square().sum()

    explanation = frit.explain(function, dynamic=False)(torch.randn(8, 16), torch.randn(16, 4, requires_grad=True))
    page, text = page_of(explanation, tmp_path / "r.html")
    assert text.count("<section>") == 2 and "is saved for the backward" in text and any("saved for the backward pass" in hint for hint in explanation.hints)


def test_a_page_shows_buckets_guards_and_recompilations(tmp_path):
    explanation = frit.explain(rows, dynamic=True, options={"bucket_policy": "ramp"}).over([(torch.randn(n, 16), torch.randn(16)) for n in (37, 100, 1)])
    page, _ = page_of(explanation, tmp_path / "r.html")
    words = "".join(page.words)
    assert "Sizes that vary" in words and "guards" in words and "remedy" in words and "mark_unbacked" in words


def test_what_users_name_is_escaped(tmp_path):
    space = {"torch": torch}
    exec(compile("def bad(x):\n    return x.sin().sum()\n", "<img src=x onerror=alert(1)>\"'&.py", "exec"), space)
    space["bad"].__qualname__ = "<script>alert(1)</script>"
    page, text = page_of(frit.explain(space["bad"])(torch.ones(3)), tmp_path / "r.html")
    assert page.tags.count("script") == 1 and "img" not in page.tags and "&lt;script&gt;alert(1)" in text


def test_a_graph_that_runs_as_it_was_traced_has_a_page(tmp_path):
    explanation = frit.explain(lambda x: x.sin(), options={"strict": False, "fail_at": "always"})(torch.ones(3))
    page, _ = page_of(explanation, tmp_path / "r.html")
    assert "operator by operator" in "".join(page.words)


def test_layers_follow_the_edges_and_boxes_do_not_overlap():
    edges = [(0, 2), (1, 2), (2, 3), (2, 4), (0, 4), (3, 5), (4, 5)]
    layers = layers_of(6, edges)
    assert all(layers[source] < layers[target] for source, target in edges)
    positions, paths = place(6, edges)
    assert len({edge[:2] for edge in paths}) == len(edges)
    for one in range(6):
        for other in range(one):
            assert abs(positions[one][0] - positions[other][0]) >= 232 or abs(positions[one][1] - positions[other][1]) >= 50


PROGRAM = """
import torch
import torch.utils._pytree as pytree
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
def broken(x, w):
    y = x.sin()
    torch._dynamo.graph_break()
    return (y @ w).relu()
def plain(x):
    return (x * 2).softmax(-1).sum()
f, g = torch.compile(broken, backend="frit"), torch.compile(plain, backend="frit")
f(torch.randn(4, 5), torch.randn(5, 5))
for n in (3, 4): g(torch.randn(n, 5).requires_grad_()).backward()
torch.compile(torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.GELU()), backend="frit")(torch.randn(3, 5))
"""


def test_a_whole_program_leaves_a_page_per_function(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = tmp_path / "pages"
    done = fresh.run([program], env={**os.environ, "FRIT_REPORT": str(folder)})
    assert done.returncode == 0 and f"the report on 4 compiled functions is in {folder}" in done.stderr, done.stderr
    index = Page((folder / "index.html").read_text())
    assert sorted(index.loads) == sorted(path.name for path in folder.iterdir() if path.name != "index.html")
    assert "Sequential.forward" in index.words and "container.py:" in "".join(index.words)
    plain = "".join(Page((folder / "002-plain.html").read_text()).words)
    assert "forward graph" in plain and "backward graph" in plain and "treated as constant" in plain


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    program = tmp_path / "program.py"
    program.write_text("import torch\nprint(torch.compile(lambda x: x.sin() + 1, backend='frit')(torch.zeros(2)).sum())")
    unwritable = str(tmp_path / "file" / "x")
    done = fresh.run([program], env={**os.environ, "FRIT_REPORT": unwritable, "FRIT_DUMP": unwritable})
    assert done.returncode == 0 and "tensor(2.)" in done.stdout
    assert "no report is written to" in done.stderr and "FRIT_DUMP" in done.stderr and "operator by operator" not in done.stderr


@pytest.mark.parametrize("training", [False, True])
def test_arguments_have_the_names_of_the_program(tmp_path, training):
    layer = torch.nn.Linear(16, 8)

    def masked(x, mask=None):
        return (layer(x) * mask[:, None]).sum()

    with torch.set_grad_enabled(training):
        _, text = page_of(frit.explain(masked, dynamic=True)(torch.randn(6, 16), mask=torch.rand(6)), tmp_path / "r.html")
    shown = re.sub(r"<(pre|code)>.*?</\1>", "", text, flags=re.DOTALL)
    assert "layer.weight" in shown and re.search(r"\bmask\b", shown) and re.search(r"\bx\[0\]", shown)
    assert not re.search(r"\b(arg\d+_1|primals_\d+)\b", shown)


@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_the_page(tmp_path, dark):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium")
    frit.explain(rows, dynamic=False)(torch.randn(8, 16), torch.randn(16)).to_html(tmp_path / "r.html")
    common = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1200,900"]
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else ["--blink-settings=preferredColorScheme=1"]
    shown = subprocess.run([*common, *scheme, f"--screenshot={tmp_path / 's.png'}", f"file://{tmp_path / 'r.html'}"], capture_output=True, text=True)
    assert (tmp_path / "s.png").stat().st_size > 20_000, shown.stderr
    ran = subprocess.run([*common, "--dump-dom", f"file://{tmp_path / 'r.html'}#k0-0"], capture_output=True, text=True)
    # The script opens the section that the address names, so it ran without an error.
    assert re.search(r'<details id="k0-0"[^>]* open=""', ran.stdout), ran.stderr


def test_the_page_on_reports_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).resolve().parents[3] / "docs" / "Reports.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(block, "Reports.md", "exec"), {})
    assert (tmp_path / "report.html").stat().st_size > 10_000


def branched(x):
    return torch.cond(x.sum() > 0, lambda x: (x.softmax(-1).softmax(0), x * 2), lambda x: (x + 1, x - 1), (x,))


def looped(x):
    return while_loop(lambda n, x: n < 4, lambda n, x: (n + 1, (x.softmax(0) + 1).softmax(-1)), (torch.tensor(0), x))[1] + 1


def scanned(x):
    return scan(lambda carried, part: (carried + part.softmax(-1), carried * part), x[0] * 0, x, dim=0)


@pytest.mark.parametrize("function", [branched, looped, scanned])
def test_the_peak_has_what_branches_and_loops_hold(function):
    x = torch.rand(64, 256)
    (graph,) = frit.explain(function, dynamic=False)(x).graphs
    results = sum(one.nbytes for one in pytree.tree_leaves(function(x)))
    assert results <= graph["peak_bytes"] <= graph["peak_of_plan"] <= results + 4 * x.nbytes
    assert graph["peak_bytes"] >= x.nbytes * {branched: 3, looped: 2, scanned: 1}[function]
