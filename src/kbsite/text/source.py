"""Source code in colours."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup
from msgspec import Struct

from kbsite.text.safe import visible

if TYPE_CHECKING:
    from pygments.formatters import HtmlFormatter
    from pygments.lexer import Lexer


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


def load() -> None:
    """Load what colours Python, else loaded where there is source."""
    _lexer("python")
    _formatter()
