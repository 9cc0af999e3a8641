"""Finds the innermost loops of every entry of a PTX text and fails on an integer division or remainder inside of one.

    ptx-loops.py FILE.ptx

A loop is a cycle of basic blocks; one with no cycle left when its entry is taken away is innermost. A division in front of a loop, or once a
turn of an outer one, is paid once for many elements; in an innermost loop it is paid for each of them, and costs more than the element.
"""

import re
import sys

DIVISION = re.compile(r"\b(?:div|rem)\.[usb]\d+\b")
BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\S+?);")
LABEL = re.compile(r"^(\$?\w+):")


def blocks_of(body):
    """[(instructions, successors)] of one entry; a block is known by its number."""
    blocks, labels, current = [], {}, []

    def end():
        nonlocal current
        blocks.append(current)
        current = []

    for line in (line.strip() for line in body.splitlines()):
        label = LABEL.match(line)
        if label:
            end()
            labels[label.group(1)] = len(blocks)
        elif re.search(r"\bbrx\b", line):
            raise ValueError(f"a branch to a place that is computed: {line}")
        elif line and not line.startswith(("//", ".", "{", "}", "(")):
            current.append(line)
            if BRANCH.search(line) or line.endswith(("ret;", "exit;", "trap;")):
                end()
    end()
    found = []
    for number, instructions in enumerate(blocks):
        last = instructions[-1] if instructions else ""
        target = BRANCH.search(last)
        next_blocks = [labels[target.group(1)]] if target else []
        if not (last.startswith(("bra", "ret", "exit", "trap"))) and number + 1 < len(blocks):
            next_blocks.append(number + 1)
        found.append((instructions, next_blocks))
    return found


def cycles(nodes, successors):
    """The sets of `nodes` that reach each other, in the order of their first block."""
    order, low, stack, done, found = {}, {}, [], set(), []

    def visit(root):
        work = [(root, iter(successors[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        while work:
            node, rest = work[-1]
            for next_one in rest:
                if next_one not in nodes or next_one in done:
                    continue
                if next_one not in order:
                    order[next_one] = low[next_one] = len(order)
                    stack.append(next_one)
                    work.append((next_one, iter(successors[next_one])))
                    break
                low[node] = min(low[node], order[next_one])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    group = set()
                    while node not in group:
                        group.add(stack.pop())
                    done.update(group)
                    if len(group) > 1 or node in successors[node]:
                        found.append(group)

    for node in sorted(nodes):
        if node not in order:
            visit(node)
    return sorted(found, key=min)


def innermost(nodes, successors):
    """Cycles with no cycle inside of them: what is left of one without the blocks it is entered by."""
    for group in cycles(nodes, successors):
        entered = {to for at, nexts in enumerate(successors) if at not in group for to in nexts if to in group} or {min(group)}
        inside = list(innermost(group - entered, successors))
        yield from inside or [group]


def loops(text):
    """{entry: [instructions of an innermost loop]}"""
    found = {}
    for name, body in re.findall(r"\.entry (\w+)\(.*?\)\s*(?:\.\w+[^{]*)?\{(.*?)^\}", text, re.S | re.M):
        blocks = blocks_of(body)
        successors = [nexts for _, nexts in blocks]
        found[name] = [[line for at in sorted(loop) for line in blocks[at][0]] for loop in innermost(set(range(len(blocks))), successors)]
    if len(found) != len(re.findall(r"\.entry \w+", text)) or not found:
        raise ValueError("not every entry was found")
    return found


def main():
    failed = False
    for name, bodies in loops(open(sys.argv[1]).read()).items():
        print(f"{name}: {len(bodies)} innermost loops")
        for number, body in enumerate(bodies):
            for line in filter(DIVISION.search, body):
                failed = True
                print(f"{name}: loop {number} divides: {line}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
