"""Text that somebody else wrote, made safe and visible for a page.

The only package that knows Pygments and pyfiglet, and that `markdown_parser` works for. Everything
here returns Markup that can stand in a page as it is: no tag, attribute or address in it comes from
the text itself.
"""

from __future__ import annotations

from kbsite.text import banners, prose, source
from kbsite.text.banners import Banner, banner, columns
from kbsite.text.diffs import diff, inner_diff
from kbsite.text.pictures import picture, picture_apart, picture_file
from kbsite.text.prose import markdown, unmarked
from kbsite.text.safe import content, escaped, inner, json, plain, visible, with_code
from kbsite.text.source import CodeLine, code_lines

__all__ = [
    "Banner", "CodeLine", "banner", "code_lines", "columns", "content", "diff", "escaped", "inner",
    "inner_diff", "json", "load", "markdown", "picture", "picture_apart", "picture_file",
    "plain", "unmarked", "visible", "with_code",
]  # fmt: skip


def load(*, colours: bool = False) -> None:
    """Load the parser of Markdown, else loaded where a text needs it; and what draws `colours`."""
    import pygments.lexers  # noqa: F401 - it takes as long as some pages

    prose.load()
    if colours:
        banners.load()
        source.load()
