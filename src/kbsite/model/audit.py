"""An auditor's judgement of one run."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from enum import Enum

from kbsite.model.lines import line_words
from kbsite.model.status import Tone

SUMMARY_WORDS = 60
"""Words of a summary at most: it stands below a board's row."""


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

    @property
    def effect(self) -> Effect:
        """What it does to the ranking where the audit does not say otherwise."""
        out = self in (Verdict.REWARD_HACK, Verdict.BUG)
        return Effect.DOES_NOT_COUNT if out else Effect.COUNTS

    @property
    def confirms(self) -> bool:
        """Whether it says that something was wrong, as an alarm says."""
        return self in (Verdict.RUBRIC_LEAK, Verdict.REWARD_HACK, Verdict.BUG)


class Effect(Enum):
    """What a verdict does to the ranking."""

    COUNTS = "counts"
    DOES_NOT_COUNT = "does_not_count"


class Validity(Enum):
    """Whether the solution computes what the problem asks for, on all inputs that it allows."""

    VALID = "valid"
    INVALID = "invalid"
    DOUBTFUL = "doubtful"


class Measurement(Enum):
    """Whether the figure is what the solution takes."""

    SOUND = "sound"
    NOISY = "noisy"
    DISTORTED = "distorted"


class Provenance(Enum):
    """Where the solution comes from."""

    OWN = "own"
    THIRD_PARTY = "third_party"
    CONTAMINATED = "contaminated"


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
    """A file of the run: solution.py, check.log, one under files/, snapshots/ or transcript/; the
    name of a snapshot with .diff after it is what changed since the one before."""
    lines: tuple[int, ...] = ()
    """First and last line, from 1, both included; one number for one line."""
    event: str = ""
    """In place of lines, for a transcript: the anchor of an event on the run's page."""
    label: str = ""
    text: str
    """The passage, verbatim."""

    @property
    def where(self) -> str:
        """The file and the lines, or the event, in words."""
        return f"{self.file} {self.place}".rstrip()

    @property
    def place(self) -> str:
        """What it cites of its file, in words; empty where that is nothing."""
        return f"event {self.event}" if self.event else line_words(self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A verdict that was replaced: what was published is never taken back in silence."""

    verdict: Verdict
    effect: Effect | None = None
    summary: str
    auditor: str
    date: datetime.date | None = None
    """When it was judged."""
    replaced: datetime.date
    """When it was replaced."""
    by: str
    """Who replaced it."""
    why: str
    """What was wrong with it, or what is known now and was not then."""

    @property
    def counts(self) -> bool:
        """Whether the run's score counted in the ranking."""
        return _counts(self.verdict, self.effect)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """audit.yaml: written by a person, the only file of a run that changes afterwards.

    It repeats no figure and no name: score and contender come from the run.
    """

    verdict: Verdict
    summary: str
    """For a reader of the board, at most 60 words."""
    quotes: tuple[Quote, ...] = ()
    implication: str = ""
    """What follows from it; needed unless the verdict is clean."""
    auditor: str
    date: datetime.date | None = None
    """When it was judged; null for an imported audit that does not say."""
    leak: str = ""
    """The leak of kbsite.yaml that it is an instance of, by id."""
    effect: Effect | None = None
    """What it does to the ranking; null: what its verdict does."""
    validity: Validity | None = None
    """Null where it was not judged, as for the next two."""
    measurement: Measurement | None = None
    provenance: Provenance | None = None
    history: tuple[Earlier, ...] = ()
    """The verdicts before this one, the oldest first."""
    origin: str = ""
    """Where an imported audit comes from; empty for one of our own."""

    @property
    def counts(self) -> bool:
        """Whether the run's score counts in the ranking."""
        return _counts(self.verdict, self.effect)


def _counts(verdict: Verdict, effect: Effect | None) -> bool:
    return (effect or verdict.effect) is Effect.COUNTS
