"""Lines of code as they stand coloured in the site: those of a file that is what it was stay.

Of one page more the first file costs most: what tells the words of a language apart has to be put
together first, which takes longer than all else of a short session's page.

What a run holds must not be able to say where its lines lie. So they are looked for when the page
is made, by those that it shows, and what lies there is held against a digest before it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from markupsafe import Markup
from msgspec import Struct, field

from kbsite.text import CodeLine

Stood = Callable[[str], bytes | None]
"""Gives what a page holds that stands in the site; None where there is none to read."""


class Coloured(Struct, frozen=True):
    """Where a page has all lines of a file."""

    behind: int
    """Bytes of the page behind them: those before them change where it leads to other runs."""
    size: int
    """Bytes of them."""
    digest: str
    """Of what the file held, and of what lies there."""


class Made(Struct, frozen=True, omit_defaults=True):
    """What a file of a page was made of the last time."""

    digest: str = ""
    """Of a file that can stay as it is while others of its page change, all that it is made of."""
    items: int = 0
    """How many items of the transcript it holds."""
    others: tuple[str, ...] = ()
    """The files that were made with it."""
    coloured: Mapping[str, Coloured] = field(default_factory=dict)
    """Where it has lines of code, by the name of their file."""


class Colours(Struct, frozen=True):
    """The lines that stand in the site."""

    held: Sequence[tuple[str, Made | None]] = ()
    """Pages that can have some, with what is known of them."""
    stood: Stood = lambda _: None

    def lines(self, name: str, made_of: bytes) -> tuple[CodeLine, ...] | None:
        """All lines of a file, by a digest of it; None where they have to be coloured."""
        for path, made in self.held:
            lies = made.coloured.get(name) if made else None
            page = self.stood(path) if lies else None
            if lies and page:
                end = len(page) - lies.behind
                rows = page[max(0, end - lies.size) : max(0, end)]
                if _digest(made_of, rows) == lies.digest:
                    return _lines(rows.decode("utf-8"))
        return None


def coloured(html: str, prefix: str, lines: Sequence[CodeLine], made_of: bytes) -> Coloured | None:
    """Where a page has all lines of a file, by a digest of it; None if it has not."""
    start = html.find(f'<tr id="{prefix}-L1"')
    end = html.find("</table>", start)
    rows = html[start:end] if 0 <= start < end else ""
    if not rows or _lines(rows) != tuple(lines):
        return None
    held = rows.encode("utf-8")
    return Coloured(len(html[end:].encode("utf-8")), len(held), _digest(made_of, held))


def _lines(rows: str) -> tuple[CodeLine, ...]:
    held = rows.removesuffix("\n").split("\n")
    shown = (row.partition("<code>")[2].rpartition("</code>")[0] for row in held)
    # An empty line breaks a line all the same: who copies the file copies its empty lines.
    shown = ("" if html == "<br>" else html for html in shown)
    return tuple(CodeLine(number, Markup(html)) for number, html in enumerate(shown, start=1))  # noqa: S704 - it stood in a page


def _digest(made_of: bytes, rows: bytes) -> str:
    return sha256(made_of + rows).hexdigest()
