"""The hooks of mkdocs.yml: paths of pages become links, the changelog becomes a page, and a path of a page that does not exist stops the build.

In the tree a page refers to others by their path (`docs/Sizes.md`), which is readable in an editor.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
#: A path of a page in backquotes, with the backquotes.
_NAMED = re.compile(r"`docs/([\w./-]+\.md)`")


def with_links(text, page, known):
    """The text with paths of pages as links, outside of code blocks. `page`: the page of the text, `known`: the paths of all pages. ValueError for a
    path that is not known."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(parts), 2):
        parts[at] = _NAMED.sub(lambda found: _link(found[1], page, known), parts[at])
    return "".join(parts)


def _link(target, page, known):
    if target not in known:
        raise ValueError(f"{page} names docs/{target}, which is not a page")
    return f"[{posixpath.basename(target).removesuffix('.md')}]({posixpath.relpath(target, posixpath.dirname(page) or '.')})"


def on_files(files, config):
    """Called by mkdocs: adds the changelog."""
    files.append(File.generated(config, "Changelog.md", content=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Called by mkdocs for each page."""
    return with_links(markdown, page.file.src_uri, {file.src_uri for file in files.documentation_pages()})
