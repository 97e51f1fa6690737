"""Text that somebody else wrote, made safe and visible for a page.

The only module that knows markdown-it, Pygments and pyfiglet. Everything here returns Markup that
can stand in a page as it is: no tag, attribute or address in it comes from the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from json import dumps

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_LINK = re.compile(r"^(https?|mailto):", re.IGNORECASE)
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "bold", 2: "faint", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}


def visible(text: str) -> str:
    r"""`text` with every character that a page cannot hold or show turned into a visible sign.

    Control characters become their control pictures (NUL is ␀), bytes that were no UTF-8 become
    `\xff`, lone surrogates `\ud800`.
    """
    return _HIDDEN.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code < 0xA0:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}"


def plain(text: str) -> Markup:
    """`text` escaped and visible."""
    return escape(visible(text))


def terminal(text: str) -> Markup:
    """Terminal output: colours and weights of ANSI sequences as spans, all else as plain text."""
    if "\x1b[" not in text:
        return plain(text)
    pieces: list[str] = []
    style: set[str] = set()
    end = 0
    for match in _SGR.finditer(text):
        pieces.append(_styled(text[end : match.start()], style))
        _restyle(style, match[1])
        end = match.end()
    pieces.append(_styled(text[end:], style))
    return Markup("").join(map(Markup, pieces))


def _styled(text: str, style: set[str]) -> str:
    if not text or not style:
        return str(plain(text))
    names = " ".join(f"ansi-{name}" for name in sorted(style))
    return f'<span class="{names}">{plain(text)}</span>'


def _restyle(style: set[str], codes: str) -> None:
    numbers = [int(code[:4] or 0) for code in codes.split(";")]
    while numbers:
        number = numbers.pop(0)
        if number == 0:
            style.clear()
        elif number in _STYLES:
            style.add(_STYLES[number])
        elif number == 22:
            style.difference_update({"bold", "faint"})
        elif number - 20 in _STYLES:
            style.discard(_STYLES[number - 20])
        elif number in (38, 48):
            _indexed(style, number, numbers)
        elif 30 <= number <= 49 or 90 <= number <= 107:
            _colour(style, number)


def _indexed(style: set[str], number: int, numbers: list[int]) -> None:
    """The colours that take arguments; only the 16 that have a name are shown."""
    kind = numbers.pop(0) if numbers else 0
    if kind == 2:
        del numbers[:3]
    elif kind == 5 and numbers:
        index = numbers.pop(0)
        if index < 16:
            base = number - 8 if index < 8 else number + 52
            _colour(style, base + index % 8)


def _colour(style: set[str], number: int) -> None:
    ground = "bg" if 40 <= number <= 49 or number >= 100 else "fg"
    style.difference_update({name for name in style if name.startswith(f"{ground}-")})
    if number not in (39, 49):
        style.add(f"{ground}-{_COLOURS[number % 10]}")


class _Renderer(RendererHTML):
    """Markdown's own HTML, but for images, which are never fetched, and links, which are marked."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        source = str(token.attrs.get("src", ""))
        alt = self.renderInlineAsText(token.children, options, env) if token.children else ""
        return f'<span class="image">[image: {escape(alt)} {escape(source)}]</span>'

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

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        tokens[idx].attrs["rel"] = "noopener nofollow"
        return self.renderToken(tokens, idx, options, env)


def _lower(heading: Token) -> None:
    """Put a heading of a text below the headings of the page that it stands on."""
    heading.tag = f"h{min(6, int(heading.tag[1]) + 3)}"


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    # The parser's own check allows relative addresses and data: images; neither has a use here.
    parser.validateLink = _is_link  # type: ignore[assignment,method-assign]
    return parser


def _is_link(address: str) -> bool:
    return _LINK.match(address.strip()) is not None


def markdown(text: str) -> Markup:
    """Markdown as HTML: no raw HTML, links to http, https and mailto only, no image fetched."""
    try:
        rendered: str = _markdown().render(visible(text))
    except (RecursionError, IndexError):
        # Deep nesting is hostile or broken: such text is shown as it is.
        return Markup('<pre class="text">{}</pre>').format(visible(text))
    return Markup(rendered)  # noqa: S704 - markdown-it escapes all text, HTML is off


_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


def picture(media_type: str, data: str, url: str) -> Markup:
    """An image of a transcript, held in the page itself; what is no such image is named, not shown.

    SVG is not shown: it is a document, not a picture.
    """
    if media_type in _PICTURES and _BASE64.fullmatch(data):
        address = f"data:{media_type};base64,{''.join(data.split())}"
        return Markup('<img class="picture" alt="image in the transcript" src="{}">').format(
            address
        )
    told = f"[image: {media_type} {url} {data}]"
    return Markup('<pre class="text">{}</pre>').format(visible(told))


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of highlighted source."""

    number: int
    html: Markup


def code_lines(source: str, language: str = "python") -> list[CodeLine]:
    """Source, highlighted, line by line; the classes are Pygments' short names."""
    text = visible(source.replace("\r\n", "\n"))
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    html = highlight(text, lexer, HtmlFormatter(nowrap=True, classprefix="hl-"))
    lines = html.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [CodeLine(number, Markup(line)) for number, line in enumerate(lines, start=1)]  # noqa: S704 - Pygments escapes all text


@dataclass(frozen=True, slots=True)
class Banner:
    """A title in big letters made of characters."""

    title: str
    lines: tuple[str, ...]

    @property
    def width(self) -> int:
        """Columns that it takes, rounded up to ten: the theme has a size of letters for each."""
        columns = max(map(len, self.lines), default=1)
        return min(-(-columns // 10) * 10, 200)


@cache
def banner(title: str) -> Banner:
    """`title` as pyfiglet draws it, on one line of big letters."""
    from pyfiglet import Figlet

    drawn = Figlet(font="standard", width=400).renderText(visible(title)).rstrip().split("\n")
    lines = [line.rstrip() for line in drawn if line.strip()]
    left = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return Banner(title, tuple(line[left:] for line in lines) or (title,))


def json(value: object) -> str:
    """A value from a transcript as indented JSON, all characters as they are."""
    return dumps(value, ensure_ascii=False, indent=2)
