"""Text that somebody else wrote, made safe and visible for a page.

The only module that knows Pygments and pyfiglet, and that `markdown_parser` works for. Everything
here returns Markup that can stand in a page as it is: no tag, attribute or address in it comes from
the text itself.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Sequence
from functools import cache
from html import unescape
from itertools import groupby
from json import dumps
from operator import itemgetter
from textwrap import wrap
from typing import TYPE_CHECKING
from unicodedata import east_asian_width
from urllib.parse import unquote

import msgspec
from markupsafe import Markup, escape
from msgspec import Struct

from kbsite.blocks import bare, blocks, is_simple, marked, simple_html
from kbsite.changed_words import ENDS, STARTS, with_marks
from kbsite.model.transcript import DiffLine

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from pyfiglet import Figlet
    from pygments.formatters import HtmlFormatter
    from pygments.lexer import Lexer

_NONCHARACTERS = "".join(chr(p * 0x10000 + low) for p in range(17) for low in (0xFFFE, 0xFFFF))
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    # These reorder or hide the text around them; the tags can spell whole sentences unseen.
    f"\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f{_NONCHARACTERS}]"
)

_ORDINARY = bytes(range(0x20, 0x7F)) + b"\t\n"
"""ASCII that a page holds and shows as it is."""

_FEW = 30
"""Signs that are faster put in one by one than all at once."""


def visible(text: str) -> str:
    r"""`text` with every character that a page cannot hold or show turned into a visible sign.

    Control characters become their control pictures (NUL is ␀, a carriage return that ends no line
    is ␍), bytes that were no UTF-8 become `\xff`, lone surrogates `\ud800`, and characters that
    turn the direction of the text around or are never seen `\u202e`.
    """
    signs = {one: _sign(one) for one in set(_odd(text)) if _HIDDEN.match(one)}
    if sign := signs.pop("\r", ""):
        text = "\r\n".join([piece.replace("\r", sign) for piece in text.split("\r\n")])
    if len(signs) > _FEW:
        return text.translate({ord(one): sign for one, sign in signs.items()})
    for one, sign in signs.items():
        text = text.replace(one, sign)
    return text


def _odd(text: str) -> str:
    """All that may be hidden in a text, among other things; empty for most."""
    # Most text is ASCII with nothing to hide, and this way of asking is ten times as fast.
    if text.isascii():
        return text.encode("ascii").translate(None, _ORDINARY).decode("ascii")
    # Nothing that is hidden is printable: only lines with something else have to be looked at.
    odd = not _is_plain(text.replace("\n", ""))
    return "".join([line for line in text.split("\n") if not _is_plain(line)]) if odd else ""


def _is_plain(line: str) -> bool:
    return line.isprintable() or line.replace("\t", "").isprintable()


def _sign(hidden: str) -> str:
    code = ord(hidden)
    if code < 0x20 or code == 0x7F:
        return "␡" if code == 0x7F else chr(0x2400 + code)
    if code < 0xA0:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(text: str) -> Markup:
    """`text` escaped and visible."""
    return escape(visible(text))


def content(text: str) -> Markup:
    """`text` for the content of an element, never for an attribute: its quotes stay as they are."""
    return Markup(inner(text))  # noqa: S704 - it is escaped here


def inner(text: str) -> str:
    """The same for who writes HTML by hand: to mark it as such takes longer than to make it."""
    return escaped(visible(text))


def escaped(text: str) -> str:
    """`text` for `content`, once it is visible: only "&" and "<" start anything there."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


_QUOTED = re.compile("`([^`]+)`")


def with_code(text: str) -> Markup:
    """A sentence of ours as content of an element: what it names between backticks is code."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", inner(text)))  # noqa: S704


@cache
def _markdown() -> MarkdownIt:
    # Most of what is rendered has none that needs it, and it takes longer to load than a page.
    from kbsite.markdown_parser import parser

    return parser(_DEEPEST, inner, _fenced, _read)


def _read(text: str) -> tuple[str, str] | None:
    """The words and the HTML of what stands within a block; None where it needs the parser."""
    return (bare(text), marked(text)) if is_simple(text) else None


_DEEPEST = 40
"""How deep Markdown is nested before the parser drops what is deeper."""


def load(*, colours: bool = False) -> None:
    """Load the parser of Markdown, else loaded where a text needs it; and what draws `colours`."""
    import pygments.lexers  # noqa: F401 - it takes as long as some pages

    _markdown()
    if colours:
        _figlet()
        _lexer("python")
        _formatter()


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
    from kbsite.markdown_parser import is_flood

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


_DIFF_TAGS = {"+": "ins", "-": "del", "@": "i"}


def diff(lines: Sequence[DiffLine]) -> Markup:
    """A diff: a tag for each run of lines added or removed, a mark for each changed word."""
    return Markup(inner_diff(lines))  # noqa: S704 - it is escaped there


def inner_diff(lines: Sequence[DiffLine]) -> str:
    """The same for who writes HTML by hand."""
    shown: list[tuple[str, str]] = []
    for sign, run in groupby(lines, key=itemgetter(0)):
        start = "" if sign == "@" else sign
        told = visible("".join([f"{start}{text}\n" for _, text in run]))
        if sign == "+" and shown and shown[-1][0] == "-":
            removed, told = with_marks(shown.pop()[1], told)
            shown.append(("-", removed))
        shown.append((sign, told))
    return "".join([_run(sign, told) for sign, told in shown])


def _run(sign: str, told: str) -> str:
    body = escaped(told).replace(STARTS, "<b>").replace(ENDS, "</b>")
    tag = _DIFF_TAGS.get(sign)
    return f"<{tag}>{body}</{tag}>" if tag else body


_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_SIGNATURES = re.compile(rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP", re.DOTALL)


def picture(media_type: str, data: str, url: str) -> Markup:
    """An image of a transcript, held in the page itself; what is no such image is named, not shown.

    SVG is not shown: it is a document, not a picture.
    """
    packed = "".join(data.split())
    if media_type in _PICTURES and _is_picture(packed):
        address = f"data:{media_type};base64,{packed}"
        return Markup('<img class="picture" alt="image in the transcript" src="{}">').format(
            address
        )
    told = f"[image: {media_type} {url} {data}]"
    return Markup('<pre class="text">{}</pre>').format(visible(told))


def _is_picture(packed: str) -> bool:
    try:
        data = b64decode(packed.rstrip("=") + "=" * (-len(packed.rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return _SIGNATURES.match(data) is not None


class CodeLine(Struct, frozen=True):
    """One line of highlighted source."""

    number: int
    html: Markup


def code_lines(source: str, language: str = "python") -> list[CodeLine]:
    """Source, highlighted, line by line; the classes are Pygments' short names."""
    # Where no code changed none is coloured, and nobody waits for this.
    from pygments import highlight

    # What is left of carriage returns ends no line; the lexer would take it for a line end.
    text = visible(source.replace("\r\n", "\n").replace("\r", "␍"))
    html = highlight(text, _lexer(language), _formatter())
    lines = html.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [CodeLine(number, Markup(line)) for number, line in enumerate(lines, start=1)]  # noqa: S704 - Pygments escapes all text


@cache
def _lexer(language: str) -> Lexer:
    from pygments.lexers import get_lexer_by_name

    # What it was given last it does not keep: one does for all sources.
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _formatter() -> HtmlFormatter[str]:
    from pygments.formatters import HtmlFormatter

    # It works out all of a style first, which takes as long as a small source.
    return HtmlFormatter(nowrap=True, classprefix="hl-")


class Banner(Struct, frozen=True):
    """A title in big letters made of characters."""

    title: str
    lines: tuple[str, ...]

    @property
    def width(self) -> int:
        """Columns that it takes, rounded up to ten: the theme has a size of letters for each."""
        widest = max(map(columns, self.lines), default=0)
        return max(10, -(-widest // 10) * 10)


_WIDEST = 200
"""Columns of the widest banner that the theme has a size for."""

_LONGEST = 100
"""Letters of the longest title that is drawn: three lines of big letters."""


def columns(line: str) -> int:
    """Columns that a line takes: the letters of East Asia and emoji take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in line)


@cache
def _figlet() -> Figlet:
    from pyfiglet import Figlet

    return Figlet(font="standard", width=_WIDEST)


@cache
def banner(title: str) -> Banner:
    """`title` as pyfiglet draws it; as it is where it is long or the font lacks a letter of it."""
    words, figlet = " ".join(visible(title).split()), _figlet()
    if len(words) > _LONGEST or not all(ord(letter) in figlet.Font.chars for letter in words):
        # Half of the width: a letter may be two columns wide.
        return Banner(title, tuple(wrap(words, _WIDEST // 2)))
    lines = [line.rstrip() for line in figlet.renderText(words).split("\n") if line.strip()]
    left = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return Banner(title, tuple(line[left:] for line in lines) or (words,))


def json(value: object) -> str:
    """A value from a transcript as indented JSON, all characters as they are."""
    try:
        told = dumps(value, ensure_ascii=False, separators=(",", ":"))
        # Python's own indenting takes twice as long.
        return msgspec.json.format(told, indent=2) if isinstance(value, dict | list) else told
    except (msgspec.DecodeError, UnicodeEncodeError):
        # Numbers without end, halves of characters: rare, and no JSON for others.
        return dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        return "(nested too deeply to be written out here; the raw files have it)"
