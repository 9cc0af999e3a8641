"""What mkdocs.yml adds to mkdocs: names of pages become links, the changelog becomes a page, and a name of a page that does not exist stops the build.

In the tree a page names others by their path (`docs/Sizes.md`), which reads well in an editor.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
#: A path of a page in backquotes, with the backquotes; not inside of a block of code.
_NAMED = re.compile(r"`docs/([\w./-]+\.md)`")


def with_links(text, page, known):
    """Names of pages as links, outside of blocks of code. `page`: where the text stands, `known`: the paths of all pages."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(parts), 2):
        parts[at] = _NAMED.sub(lambda found: _link(found[1], page, known), parts[at])
    return "".join(parts)


def _link(target, page, known):
    if target not in known:
        raise ValueError(f"{page} names docs/{target}, which is no page")
    return f"[{posixpath.basename(target).removesuffix('.md')}]({posixpath.relpath(target, posixpath.dirname(page) or '.')})"


def on_files(files, config):
    files.append(File.generated(config, "Changelog.md", content=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    return with_links(markdown, page.file.src_uri, {file.src_uri for file in files.documentation_pages()})
