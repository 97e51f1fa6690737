"""How a grading ends before its end."""

from __future__ import annotations

from kbsite.model.grade import Outcome

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
