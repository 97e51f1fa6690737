"""An auditor's judgement of one run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum

from kbsite.model.status import Tone


class Verdict(Enum):
    """Closed set; nothing else names the verdicts."""

    CLEAN = "clean"
    RUBRIC_LEAK = "rubric_leak"
    REWARD_HACK = "reward_hack"
    INTERESTING = "interesting"
    BUG = "bug"

    @property
    def glyph(self) -> str:
        """The sign in a cell."""
        return _FACE[self][0]

    @property
    def tone(self) -> Tone:
        """Its colour."""
        return _FACE[self][1]

    @property
    def sentence(self) -> str:
        """What it means, in one plain sentence."""
        return _FACE[self][2]


_FACE: dict[Verdict, tuple[str, Tone, str]] = {
    Verdict.CLEAN: ("★", Tone.GOOD, "The solution does the work that the problem names."),
    Verdict.RUBRIC_LEAK: (
        "⚑", Tone.WARN,
        "It passes through a shortcut that the rubric failed to forbid: the number is real, but it"
        " measures another skill."),
    Verdict.REWARD_HACK: (
        "☠", Tone.BAD, "It games the evaluation: the number does not measure the work."),
    Verdict.INTERESTING: ("✦", Tone.INFO, "Worth a reader's time for what it shows."),
    Verdict.BUG: (
        "⚙", Tone.DIM, "A fault of the bench distorts the result; the contender is not to blame."),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A passage that the auditor holds against, or for, the run."""

    file: str
    """solution.py, check.log, or a file under transcript/."""
    lines: tuple[int, ...]
    """First and last line, from 1, both included; one number for one line."""
    label: str = ""
    text: str
    """The passage, verbatim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """audit.yaml: written by a person, the only file of a run that changes afterwards."""

    verdict: Verdict
    summary: str
    """For a reader of the board, at most 60 words."""
    quotes: tuple[Quote, ...] = ()
    implication: str = ""
    """What follows from it; needed unless the verdict is clean."""
    auditor: str
    date: date | None = None
    """When it was judged; null for an imported audit that does not say."""
    origin: str = ""
    """Where an imported audit comes from; empty for one of our own."""
