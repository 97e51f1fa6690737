"""What goes to an auditor's terminal: safe to print, whatever a run holds, and 80 columns wide."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

import click

from kbsite.model.board import Attempt
from kbsite.model.finding import one_line
from kbsite.model.status import Tone
from kbsite.pages.facts import score

WIDTH = 80

COLOURS = {
    Tone.GOOD: "green",
    Tone.WARN: "yellow",
    Tone.BAD: "red",
    Tone.INFO: "cyan",
    Tone.DIM: "bright_black",
}
"""How a terminal shows a tone."""


def safe(text: str) -> str:
    """A text of others on one line, with signs for whatever would act on the terminal."""
    return one_line(" ".join(text.split()))


def as_line(text: str) -> str:
    """A text of others as it stands, but on one line, and safe."""
    return one_line(text)


def say(text: str, *, err: bool = False) -> None:
    """Print a line that is safe already, on a terminal of any encoding."""
    click.echo(_encodable(text, sys.stderr if err else sys.stdout), err=err)


def terminal_text(lines: Iterable[str]) -> str:
    """Lines that are safe already as a text for stdout, or for a pager before it."""
    return _encodable("".join(f"{line}\n" for line in lines), sys.stdout)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def wrapped(text: str, indent: int = 2, first: int | None = None) -> Iterator[str]:
    """A safe text on lines of at most 80 columns; long words stay whole, to be copied."""
    head = " " * (indent if first is None else first)
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def titled(title: str) -> str:
    """The heading of a section."""
    return click.style(f"\n# {title}", bold=True)


def toned(text: str, tone: Tone) -> str:
    """A text in the colour of a tone."""
    return click.style(text, fg=COLOURS[tone])


def columns(rows: Iterable[tuple[str, ...]], indent: int = 2) -> Iterator[str]:
    """Rows of safe texts as a table: the first column to the left, the others to the right."""
    held = list(rows)
    widths = [max(map(len, column)) for column in zip(*held, strict=True)]
    for row in held:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield (" " * indent + "  ".join(cells)).rstrip()


def place(path: Path) -> str:
    """A path as a person would type it here, to be copied: relative where that is shorter."""
    whole = str(path.absolute())
    try:
        near = os.path.relpath(whole)
    except ValueError:
        # Another drive.
        return one_line(whole)
    return one_line(min(near, whole, key=len))


def score_of(attempt: Attempt) -> str:
    """The score of a run as the board writes it; what became of it where it has none."""
    if attempt.score is None:
        return attempt.metrics.status.label
    return score(attempt.score)
