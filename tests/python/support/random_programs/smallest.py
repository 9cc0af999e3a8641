"""Shrinks a program that differs: fewer or simpler steps, results, calls and inputs, as long as it differs in the same way."""

import dataclasses
import re

from .program import NAME, Input


def candidates(program):
    """Yields simpler programs, the largest reductions first."""
    change = dataclasses.replace
    count = len(program.steps)
    if len(program.calls) > 1:
        for i in range(len(program.calls)):
            yield change(program, calls=program.calls[i : i + 1])
        yield change(program, calls=program.calls[:-1])
        yield change(program, calls=program.calls[1:])
    for run in (4, 2, 1):
        for i in range(count - 1, -1, -run):
            yield without(program, range(max(0, i - run + 1), i + 1))
    for i in range(len(program.after)):
        yield change(program, after=program.after[:i] + program.after[i + 1 :])
    for i in range(len(program.results)):
        if len(program.results) > 1:
            yield without_result(program, i)
    for plain in (
        {"graph_break": -1},
        {"autocast": ""},
        {"training": False, "inputs": tuple(Input(x.name, x.text.removesuffix(".requires_grad_()")) for x in program.inputs)},
        {"dynamic": False},
        {"dynamic": True},
        {"options": ()},
    ):
        if any(getattr(program, name) != value for name, value in plain.items()):
            if not (plain.get("dynamic") is True and program.dynamic is False):
                yield change(program, **plain)
    used = set(NAME.findall(program.source()))
    for i, given in enumerate(program.inputs):
        rest = program.inputs[:i] + program.inputs[i + 1 :]
        words = " ".join([*(step.line for step in program.steps), *program.results, *program.after, *(x.text for x in rest)])
        if given.name not in NAME.findall(words) and len(rest) and given.name in used:
            yield change(program, inputs=rest)
        for text in simpler_input(given.text):
            yield change(program, inputs=program.inputs[:i] + (Input(given.name, text),) + program.inputs[i + 1 :])
    for i, text in enumerate(program.results):
        for name in NAME.findall(text):
            if name != text:
                yield change(program, results=program.results[:i] + (name,) + program.results[i + 1 :])
    for i, n in enumerate(program.calls):
        for less in (2, 3, 5):
            if less < n:
                yield change(program, calls=program.calls[:i] + (less,) + program.calls[i + 1 :])


def without_result(program, i):
    """Removes a result, and the actions on it."""
    rest = [line for line in program.after if f"r{i}" not in re.findall(r"\br\d+", line)]
    after = tuple(re.sub(r"\br(\d+)", lambda m: f"r{int(m[1]) - (int(m[1]) > i)}", line) for line in rest)
    return dataclasses.replace(program, results=program.results[:i] + program.results[i + 1 :], after=after)


def without(program, places):
    """Removes some steps from the program; readers of their results read the first operand instead."""
    other, steps = {}, []

    def renamed(text):
        for name in other:
            text = re.sub(rf"(?<![\w.]){name}\b", lambda _: other[name], text)
        return text

    for i, step in enumerate(program.steps):
        line = renamed(step.line)
        if i in places:
            operands = NAME.findall(line.partition(" = ")[2]) if step.targets else []
            for target in step.targets:
                other[target] = operands[0] if operands else program.inputs[0].name
            continue
        step = dataclasses.replace(step, line=line, reads=tuple(map(renamed, step.reads)), writes=tuple(map(renamed, step.writes)))
        steps.append(step)
    results = tuple(renamed(text) for text in program.results)
    results = results if program.after else tuple(dict.fromkeys(results))
    broken = program.graph_break - sum(i < program.graph_break for i in places) if program.graph_break >= 0 else -1
    return dataclasses.replace(program, steps=tuple(steps), results=results, graph_break=broken)


def simpler_input(text):
    """Yields simpler texts of an input: dense, with constant sizes, of f32."""
    grad = ".requires_grad_()" if text.endswith(".requires_grad_()") else ""
    body = text.removesuffix(".requires_grad_()")
    if grad:
        yield body
    if body.startswith("data("):
        dense = body[: matching(body) + 1]
        if dense != body:
            yield dense + grad
        if ", True)" in dense:
            yield body.replace(", True)", ")", 1) + grad
        for dtype in re.findall(r"torch\.\w+", dense):
            if dtype not in ("torch.float32", "torch.complex64"):
                yield body.replace(dtype, "torch.float32") + grad
        sizes, rest = dense[6:].split(")", 1)[0], dense[6:].partition(")")[2]
        dims = [d.strip() for d in sizes.split(",") if d.strip()]
        for i, d in enumerate(dims):
            if dense == body and "n" in d:
                for simple in ("n", "3") if d != "n" else ("3",):
                    changed = dims[:i] + [simple] + dims[i + 1 :]
                    yield f"data(({', '.join(changed)}{',' if len(dims) == 1 else ''}){rest}{grad}"
            if dense == body and len(dims) > 1:
                changed = dims[:i] + dims[i + 1 :]
                yield f"data(({', '.join(changed)}{',' if len(changed) == 1 else ''}){rest}{grad}"


def matching(text):
    """Returns the position at which the first parenthesis closes."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter == ")":
            return at
    return len(text) - 1


def smallest(program, differs, tries=150):
    """Returns the smallest program found for which `differs(program)` still holds, by greedy descent."""
    again = True
    while again and tries > 0:
        again = False
        for simpler in candidates(program):
            if tries <= 0:
                break
            tries -= 1
            try:
                compile(simpler.source(), "<simpler>", "exec")
                if differs(simpler):
                    program, again = simpler, True
                    break
            except SyntaxError:
                continue
    return program
