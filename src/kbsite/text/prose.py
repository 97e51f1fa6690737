"""Markdown that models and auditors wrote, as HTML that shows every word of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import unquote

from markupsafe import Markup, escape

from kbsite.text.blocks import bare, blocks, is_simple, marked, simple_html, table_name
from kbsite.text.safe import escaped, inner, visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


@cache
def _markdown() -> MarkdownIt:
    # Most of what is rendered has none that needs it, and it takes longer to load than a page.
    from kbsite.text.markdown_parser import parser

    return parser(_DEEPEST, inner, _fenced, _read, table_name)


def _read(text: str) -> tuple[str, str] | None:
    """The words and the HTML of what stands within a block; None where it needs the parser."""
    return (bare(text), marked(text)) if is_simple(text) else None


_DEEPEST = 40
"""How deep Markdown is nested before the parser drops what is deeper."""


def load() -> None:
    """Load the parser, else loaded where a text needs it."""
    _markdown()


def markdown(text: str) -> Markup:
    """Markdown as HTML: no raw HTML, links to http, https and mailto only, no image fetched.

    What would not show every word as HTML is shown as it is.
    """
    shown = visible(text)
    try:
        rendered = "".join(_block(kind, lines) for kind, lines in blocks(shown))
    except (RecursionError, IndexError):
        # Deep nesting is hostile or broken: such text is shown as it is.
        return _as_it_is(shown)
    return Markup(rendered)  # noqa: S704 - all text is escaped, HTML is off


def unmarked(text: str) -> str:
    """The words of Markdown on one line, without its marks: for a row of a table, or a title.

    What would not show every word, such as a link without its address, is shown as it is.
    """
    shown = visible(text)
    whole = " ".join(shown.split())
    if not _MARKED.search(shown) and all(kind == "p" for kind, _ in blocks(shown)):
        return whole
    try:
        told = [_said(token) for token in _markdown().parse(shown)]
    except (RecursionError, IndexError):
        return whole
    words = " ".join(visible(" ".join(told)).split())
    return words if _letters(words) == _letters(whole) else whole


def _said(block: Token) -> str:
    """What a block of Markdown says in text and code."""
    inner = block.children if block.type == "inline" else [block]
    return "".join(" " if part.type in _BREAKS else part.content for part in inner or ())


_BREAKS = ("softbreak", "hardbreak")

_MARKED = re.compile("[*`]")
"""What stands in a plain paragraph and is no word of it."""


def _letters(text: str) -> str:
    return "".join(_WORD.findall(_spelt(text)))


def _block(kind: str, lines: list[str]) -> str:
    if kind == "```":
        return _fenced(lines[0].removeprefix("```"), "".join(f"{line}\n" for line in lines[1:-1]))
    if kind:
        return simple_html(kind, lines)
    from kbsite.text.markdown_parser import is_flood

    source = "\n".join(lines)
    if is_flood(source):
        return str(_as_it_is(source))
    parser, env = _markdown(), dict[str, object]()
    tokens = parser.parse(source, env)
    if max((token.level for token in tokens), default=0) >= _DEEPEST - 1:
        raise RecursionError
    rendered = str(parser.renderer.render(tokens, parser.options, env))
    if _loses_words(source, rendered, tokens):
        return str(_as_it_is(source))
    # Once more, for what the text spells as entities in addresses and titles.
    return visible(rendered)


def _as_it_is(text: str) -> Markup:
    # The line end after the tag is HTML's own: it keeps one that the text starts with.
    return Markup('<pre class="text">\n{}</pre>').format(text)


_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<[^>]*>")
_EMPTY_LINK = re.compile(r"<a [^>]*>\s*</a>")
_ADDRESS = re.compile(r'<a href="([^"]*)"(?: title="([^"]*)")?[^>]*>')
_LOSSY = ("<table", "<a ", '<span class="image">')
"""What words can get lost in: cells beyond the head, links without a text or within a picture's."""


def _loses_words(source: str, rendered: str, tokens: Sequence[Token]) -> bool:
    if not any(tag in rendered for tag in _LOSSY):
        return False
    named = _ADDRESS.sub(r" \1 \2 ", _EMPTY_LINK.sub(" ", rendered))
    numbers = Counter(token.info for token in tokens if token.type == "list_item_open")
    return bool(_words(source) - _words(_TAG.sub(" ", named)) - numbers)


def _words(text: str) -> Counter[str]:
    """The words of a text; entities and addresses are spelt out, however often they are escaped."""
    return Counter(_WORD.findall(_spelt(text)))


def _spelt(text: str) -> str:
    return unquote(unescape(unescape(unescape(text))))


def _fenced(info: str, code: str) -> str:
    named = f"<i>{escape(info)}</i>\n" if info else "\n"
    return f"<pre>{named}{escaped(code)}</pre>\n"
