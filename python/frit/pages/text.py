"""Functions that write HTML. Text that is not Markup is escaped, because names, paths and code come from users."""

import html
import os
from string import Template


class Markup(str):
    """Text that is HTML already."""


BREAK = Markup("<br>")


def escape(value):
    """The value as Markup, escaped unless it is Markup already."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value), quote=True))


def element(name, *content, **attributes):
    """<name attributes>content</name>; an attribute `class_` is written as class, `data_x` as data-x. None leaves an attribute out."""
    text = "".join(f' {key.strip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value is not None)
    return Markup(f"<{name}{text}>{''.join(map(escape, content))}</{name}>")


def join(parts, between=""):
    """The parts, escaped, with `between` between them."""
    return Markup(escape(between).join(escape(part) for part in parts))


def table(head, rows, **attributes):
    """A table. A cell that is a tuple, as (12, "12 KiB"), is sorted by the number and shows the text."""
    cells = [element("tr", *(element("th", title) for title in head))]
    for row in rows:
        cells.append(element("tr", *(_cell(value) for value in row)))
    return element("div", element("table", element("thead", cells[0]), element("tbody", *cells[1:]), **attributes), class_="scroll")


def _cell(value):
    if isinstance(value, tuple):
        return element("td", value[1], data_sort=value[0], class_="number")
    return element("td", value)


def code(text):
    """A block of code."""
    return element("pre", element("code", text))


def folded(title, *content, **attributes):
    """Content that is shown after a click on the title."""
    return element("details", element("summary", title), *content, **attributes)


def page(title, body):
    """A complete document, with style and script inline."""
    parts = {}
    for name in ("page.html", "style.css", "script.js"):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
            parts[name] = file.read()
    return Template(parts["page.html"]).substitute(title=escape(title), body=escape(body), style=parts["style.css"], script=parts["script.js"])
