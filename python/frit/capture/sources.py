"""Where a node comes from: the user's source line, as short text, and the operator that was decomposed into it.

torch records a stack trace per node; error messages, reports and kernel listings show its innermost frame outside of torch's own modules, since a
user calls `nn.Embedding` but does not write its line. Many nodes have the same trace, so each is parsed once per process.
"""

import functools
import operator
import os
import re

import torch

from ..eager.by_operator import by_operator

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n?(?P<code>[^\n]*)')
#: import/ImportLocations.cpp has the same rule, for archives of other machines.
_OF_TORCH = re.compile(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]")
_OpOverload = torch._ops.OpOverload


@functools.lru_cache(maxsize=65536)
def innermost(stack_trace):
    """`file.py:12 in fn: code` for a stack trace as torch writes it, or an empty string."""
    frames = list(_FRAME.finditer(stack_trace))
    if not frames:
        return ""
    frame = next((one for one in reversed(frames) if not _OF_TORCH.search(one["file"])), frames[-1])
    place = f"{os.path.basename(frame['file'])}:{frame['line']} in {frame['function']}"
    code = frame["code"].strip()
    return f"{place}: {code}" if code else place


def of_node(node):
    """The source of an FX node; empty if torch recorded none for it or beside it."""
    trace = node.meta.get("stack_trace") or (_beside(node) if node.op == "call_function" else None)
    return innermost(trace) if trace else ""


def _beside(node):
    """The stack trace of an operand or a reader of this node, or of a reader's. Dynamo makes tensors of Python's floats in nodes that have no trace
    (`tensorify_python_scalars`): two conversions, then the operation."""
    near = [node]
    for _ in range(3):
        traces = (other.meta.get("stack_trace") for one in near for other in (*one.all_input_nodes, *one.users))
        if found := next(filter(None, traces), None):
            return found
        near = [reader for one in near for reader in one.users]
    return None


@by_operator
def _returns_views(op):
    return any(one.alias_info for one in op._schema.returns)


def parts_of_operators(graph):
    """Views on the way to the graph's results in which the decomposition of an operator ends whose own results are no views: node -> the operator's
    name. Such results are no views for autograd, and no other node needs to know."""
    parts, seen = {}, set()
    waiting = list(next(reversed(graph.nodes)).all_input_nodes)
    while waiting:
        node = waiting.pop()
        op = node.target
        if node in seen or not (op is operator.getitem or (isinstance(op, _OpOverload) and _returns_views(op))):
            continue
        seen.add(node)
        whole = node.meta.get("original_aten")
        if op is not operator.getitem and whole is not op and isinstance(whole, _OpOverload) and not _returns_views(whole):
            parts[node] = str(whole)
        else:
            waiting.extend(node.all_input_nodes)
    return parts
