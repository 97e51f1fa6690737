"""How a grading ends before its end."""

from __future__ import annotations

from itertools import dropwhile, takewhile

from kbsite.model.grade import Outcome

FRAME = '  File "'
"""Begins a frame where Python prints an error."""

MOST_CHARACTERS = 600
"""Of what was found; part of it may be a solution's own words."""


class Failure(Exception):  # noqa: N818 - it is a finding, not an error of the grader
    """The grade is decided: an outcome other than PASS, and what was found, in one sentence.

    Whatever it quotes can be shown on a terminal.
    """

    def __init__(self, outcome: Outcome, detail: str) -> None:
        self.outcome = outcome
        self.detail = printable(detail)[:MOST_CHARACTERS]
        super().__init__(f"{outcome.value}: {self.detail}")


def printable(text: str) -> str:
    """The text with a sign for each character that moves a cursor, turns text round, or hides."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


def error_of(text: str) -> str:
    """What an error said, of the text that Python prints of it; of any other text the last line.

    That is what stands behind the last frame, up to an empty line: many say what went wrong first,
    and then at length what else could be tried. Empty where there is nothing.
    """
    lines = text.splitlines()
    frames = [number for number, line in enumerate(lines) if line.startswith(FRAME)]
    said = dropwhile(_of_frame, lines[frames[-1] :]) if frames else iter(())
    message = " ".join(line.strip() for line in takewhile(str.strip, said))
    return message or next((line.strip() for line in reversed(lines) if line.strip()), "")


def _of_frame(line: str) -> bool:
    return not line.strip() or line[0].isspace()
