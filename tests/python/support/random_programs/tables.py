"""Helpers for the tables of operators: `@entry(TABLE, name, weight)` registers a function from a builder to steps."""

import collections

from .program import NAME, Step

Entry = collections.namedtuple("Entry", "make weight")


def reads_of(text):
    return tuple(dict.fromkeys(NAME.findall(text)))


def pure(b, text, grade, results=1):
    """Returns one step with fresh results."""
    names = [b.fresh() for _ in range(results)]
    return Step(f"{', '.join(names)} = {text}", tuple(names), reads_of(text), "pure", grade)


def view(b, text, results=1):
    names = [b.fresh() for _ in range(results)]
    return Step(f"{', '.join(names)} = {text}", tuple(names), reads_of(text), "view", "bits")


def write(text, written, grade):
    return Step(text, (), reads_of(text), "write", grade, tuple(written))


def adder(table):
    """Returns a decorator that adds a function to a table. The function returns one step, or a list."""

    def entry(name, weight=1):
        def add(make):
            def steps(b):
                made = make(b)
                return made if isinstance(made, list) else [made]

            assert name not in table, name
            table[name] = Entry(steps, weight)
            return make

        return add

    return entry


def templates(table, test, rows, grade, weight=1, steady=False):
    """Adds operators of one tensor `{a}` that passes a test; each is a line of text, which is also its name."""
    entry = adder(table)
    for text in rows:

        def make(b, text=text):
            return pure(b, text.format(a=(b.steady if steady else b.tensor)(test)), grade)

        entry(text if text not in table else f"{text} {grade}", weight)(make)
