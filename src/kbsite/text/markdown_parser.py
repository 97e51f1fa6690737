"""The parser of Markdown, for what `blocks` does not read: loaded where a text has some.

The only module that knows markdown-it; what comes of it is made safe in `text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, takewhile
from unicodedata import bidirectional

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import escape

_LINK = re.compile(r"(https?://|mailto:)[^/]", re.IGNORECASE)


def parser(
    deepest: int,
    shown: Callable[[str], str],
    fenced: Callable[[str, str], str],
    read: Callable[[str], tuple[str, str] | None],
    named: Callable[[Iterable[str]], str],
) -> MarkdownIt:
    """A parser that drops what is nested deeper than `deepest`.

    A text stands on a page as it is `shown`, a block of code of a language as it is `fenced`. What
    stands within a block and can be `read` without the parser is told as its words and its HTML.
    A table is `named` by what heads its columns.
    """
    options = {"html": False, "linkify": False, "maxNesting": deepest}
    made = MarkdownIt("commonmark", options, renderer_cls=_Renderer)
    made.enable(["table", "strikethrough"])
    # The definition of a reference is not rendered: whole sentences could hide in one.
    made.disable("reference")
    made.core.ruler.at("inline", partial(_inline, read))
    # The parser's own check allows relative addresses and data: images; neither has a use here.
    made.validateLink = _is_link  # type: ignore[assignment,method-assign]
    assert isinstance(made.renderer, _Renderer)
    made.renderer.shown, made.renderer.fenced, made.renderer.named = shown, fenced, named
    return made


_LINE_END = re.compile(r"\r\n?|\n")
# |(?!) is of no meaning to a Python without a bug: CONTRIBUTING.md, patterns.
_QUOTING = re.compile(r"(?:[> \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|(?!))*+")
_RULING = re.compile(r"[> \t]*[|:-][|:\s-]+")
_DEEP = 10_000
_MISSING = 1_000


def is_flood(text: str) -> bool:
    """Whether a text is short to write and long to read: a flood of quotes, or of empty cells.

    Each line below a quote is looked at once for each level of it, and a row of a table is made as
    wide as the table's head: of a kilobyte come tens of thousands of cells.
    """
    lines = _LINE_END.split(text)
    deepest = max((_quoted(line) for line in lines), default=0)
    return deepest * len(lines) > _DEEP or _missing_cells(lines) > _MISSING


def _quoted(line: str) -> int:
    match = _QUOTING.match(line) if ">" in line else None
    return match[0].count(">") if match else 0


def _missing_cells(lines: Sequence[str]) -> int:
    """How many cells at most are added to rows that are shorter than what heads their table."""
    width = missing = 0
    for line in lines:
        bars = line.count("|")
        if not line.strip(" \t>"):
            width = 0
        elif bars > width and _RULING.fullmatch(line):
            width = bars
        else:
            missing += max(0, width - bars)
    return missing


def _is_link(address: str) -> bool:
    return _LINK.match(address) is not None


def _inline(read: Callable[[str], tuple[str, str] | None], state: StateCore) -> None:
    """Parse what stands within blocks, but for what can be read without that."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        if told := read(token.content):
            token.children = [Token(_READ, "", 0, content=told[0], markup=told[1])]
        else:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


_READ = "read"
"""The type of a token of what was read so: its content are the words, its markup is the HTML."""


class _Renderer(RendererHTML):
    """Markdown's own HTML, but for images, which are never fetched, and links, which are marked."""

    shown: Callable[[str], str]
    """A text as it stands on a page."""
    fenced: Callable[[str, str], str]
    """A block of code, of a language, on a page."""
    named: Callable[[Iterable[str]], str]
    """The name of a table, by what heads its columns."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        source = str(token.attrs.get("src", ""))
        alt = self.renderInlineAsText(token.children, options, env) if token.children else ""
        told = " ".join(filter(None, ["image:", alt, source, str(token.attrs.get("title", ""))]))
        return f'<span class="image">[{escape(told)}]</span>'

    def fence(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return self.fenced(tokens[idx].info.strip(), tokens[idx].content)

    def table_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        # A wide one scrolls, for those without a pointer too.
        tokens[idx].attrs["tabindex"] = "0"
        tokens[idx].attrs["aria-label"] = self.named(_heads(tokens, idx))
        _turn(tokens, idx)
        return self.renderToken(tokens, idx, options, env)

    def bullet_list_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        _turn(tokens, idx)
        return self.renderToken(tokens, idx, options, env)

    ordered_list_open = blockquote_open = bullet_list_open

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        _align(tokens[idx])
        return self.renderToken(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        _align(tokens[idx])
        return self.renderToken(tokens, idx, options, env)

    def heading_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        _lower(tokens[idx])
        return self.renderToken(tokens, idx, options, env)

    def heading_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        _lower(tokens[idx])
        return self.renderToken(tokens, idx, options, env)

    def read(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        return tokens[idx].markup

    def text(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        # Again visible: the text may spell a character as an entity.
        return self.shown(tokens[idx].content)

    def renderToken(  # noqa: N802 - the parser's own name
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        token = tokens[idx]
        if token.nesting == -1 and token.tag in _IMPLIED:
            # HTML ends these by what follows; the words of two cells must stay apart.
            return "" if token.hidden else _IMPLIED[token.tag]
        return super().renderToken(tokens, idx, options, env)

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        token = tokens[idx]
        token.attrs["rel"] = "noopener nofollow"
        if not token.attrs["href"]:
            # It would lead to the page that it stands on: only what is said stays.
            end = next(at for at in range(idx, len(tokens)) if tokens[at].type == "link_close")
            token.hidden = tokens[end].hidden = True
        return self.renderToken(tokens, idx, options, env)


_IMPLIED = {"p": "\n", "li": "\n", "td": "\n", "th": "\n", "tr": "", "thead": "", "tbody": ""}
"""In place of end tags that HTML does not need: a tenth of what a transcript's Markdown weighs."""


def _lower(heading: Token) -> None:
    """Put a heading of a text below the headings of the page that it stands on."""
    heading.tag = f"h{min(6, int(heading.tag[1]) + 3)}"


def _turn(tokens: Sequence[Token], idx: int) -> None:
    """Let a list, a table or a quote go from right to left with its words: marks, columns, bar."""
    for at in range(idx + 1, len(tokens)):
        if tokens[at].level <= tokens[idx].level:
            return
        strong = next(filter(_STRONG.__contains__, map(bidirectional, tokens[at].content)), "")
        if strong:
            if strong != "L":
                tokens[idx].attrs["dir"] = "rtl"
            return


def _heads(tokens: Sequence[Token], idx: int) -> Iterator[str]:
    """The words of what heads the columns of a table that starts at a place."""
    head = takewhile(lambda token: token.type != "thead_close", map(tokens.__getitem__, count(idx)))
    for token in head:
        if token.type == "inline":
            yield "".join(part.content for part in token.children or () if part.type in _WORDS)


_WORDS = frozenset(("text", "code_inline", _READ))
"""The types of tokens whose content is words."""

_STRONG = frozenset(("L", "R", "AL"))
"""What Unicode calls letters that have a direction: to the right, or from right to left."""


def _align(cell: Token) -> None:
    """Align a table's cell by a class of the theme: the site's policy forbids inline styles."""
    style = str(cell.attrs.pop("style", ""))
    if style:
        cell.attrs["class"] = style.replace("text-align:", "align-")
