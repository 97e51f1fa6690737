"""What happened to a run, as a machine can tell."""

from __future__ import annotations

from enum import Enum


class Tone(Enum):
    """How a status or a verdict is coloured; the theme has a colour for each."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    INFO = "info"
    DIM = "dim"


class Status(Enum):
    """Closed set; nothing else names the statuses: legends, filters and styles read this."""

    PASSED = "passed"
    WRONG = "wrong"
    BUILD_FAILED = "build_failed"
    FORBIDDEN = "forbidden"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    NO_SOLUTION = "no_solution"
    TAMPERED = "tampered"
    INFRA = "infra"
    UNGRADED = "ungraded"

    @property
    def label(self) -> str:
        """The word in a cell."""
        return _FACE[self][0]

    @property
    def words(self) -> str:
        """What it is called where no cell, no sign and no legend stands beside it."""
        return self.value.replace("_", " ")

    @property
    def glyph(self) -> str:
        """The sign beside the word."""
        return _FACE[self][1]

    @property
    def tone(self) -> Tone:
        """Its colour."""
        return _FACE[self][2]

    @property
    def sentence(self) -> str:
        """What it means, in one plain sentence."""
        return _FACE[self][3]

    @property
    def attempted(self) -> bool:
        """Whether the contender had its chance and was graded: infra and ungraded are not that."""
        return self not in (Status.INFRA, Status.UNGRADED)


_FACE: dict[Status, tuple[str, str, Tone, str]] = {
    Status.PASSED: ("passed", "✓", Tone.GOOD, "The solution is correct."),
    Status.WRONG: ("wrong", "✗", Tone.BAD, "The check failed: the output is not as it has to be."),
    Status.BUILD_FAILED: (
        "build", "⚒", Tone.BAD, "The solution does not import or does not compile."),
    Status.FORBIDDEN: (
        "forbidden", "⊘", Tone.BAD, "The solution uses an operation that the problem forbids."),
    Status.TIMED_OUT: ("slow", "◷", Tone.BAD, "The grading of the solution ran out of time."),
    Status.OUT_OF_MEMORY: ("oom", "▤", Tone.BAD, "The solution ran out of memory."),
    Status.CRASHED: ("crash", "☠", Tone.BAD, "The solution ended the process that graded it."),
    Status.NO_SOLUTION: ("none", "∅", Tone.BAD, "The session left no solution.py."),
    Status.TAMPERED: (
        "tampered", "⚠", Tone.BAD, "The session changed files that it must not change."),
    Status.INFRA: (
        "infra", "⚡", Tone.WARN,
        "The provider, the harness or the machine failed; the run may be repeated."),
    Status.UNGRADED: ("ungraded", "·", Tone.DIM, "No grade of the solution is known."),
}  # fmt: skip


class EndReason(Enum):
    """Why the agent's session ended."""

    FINISHED = "finished"
    BUDGET = "budget"
    PROVIDER = "provider_error"
    HARNESS = "harness_error"
    TRUNCATED = "truncated"
    STALLED = "stalled"
    SIGNAL = "signal"
    ERROR = "error"
    UNKNOWN = "unknown"

    @property
    def sentence(self) -> str:
        """What it means, in one plain sentence."""
        return _ENDS[self]


_ENDS = {
    EndReason.FINISHED: "The CLI ended by itself.",
    EndReason.BUDGET: "The wall-clock budget stopped the agent.",
    EndReason.PROVIDER: "The model's provider failed, and the CLI gave up.",
    EndReason.HARNESS: "The CLI itself failed.",
    EndReason.TRUNCATED: "The model's last answer was cut by its limit of tokens.",
    EndReason.STALLED: "Nothing happened any more, and the runner stopped the CLI.",
    EndReason.SIGNAL: "Somebody, or a signal, stopped the CLI.",
    EndReason.ERROR: "The CLI gave up with an error.",
    EndReason.UNKNOWN: "Nothing tells why the session ended.",
}
