"""The grade of a solution: what the grader found, and everything that the figure rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal

from kbsite.model.status import Status

IMPOSSIBLE = 0.98
"""The part of the floor that a time may be at the least: clocks are read with an error."""


class Outcome(Enum):
    """What the grader found, more finely than a status. Closed set."""

    PASS = "PASS"  # noqa: S105 - no password
    INCORRECT = "INCORRECT"
    PRECISION = "PRECISION"
    NONFINITE = "NONFINITE"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    INPUT_MUTATED = "INPUT_MUTATED"
    LATE_WRITE = "LATE_WRITE"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
    CLOCK_MISMATCH = "CLOCK_MISMATCH"
    IMPOSSIBLE_TIME = "IMPOSSIBLE_TIME"
    WORK_MISSING = "WORK_MISSING"
    FORBIDDEN_OP = "FORBIDDEN_OP"
    PROTOCOL = "PROTOCOL"
    NO_SOLUTION = "NO_SOLUTION"
    COMPILE_ERROR = "COMPILE_ERROR"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    TIMEOUT = "TIMEOUT"
    OOM = "OOM"
    UNSTABLE_CLOCKS = "UNSTABLE_CLOCKS"
    INFRA = "INFRA"

    @property
    def status(self) -> Status:
        """The status of a run with this outcome."""
        return _MEANS[self][0]

    @property
    def sentence(self) -> str:
        """What it means, in one plain sentence."""
        return _MEANS[self][1]


_MEANS = {
    Outcome.PASS: (Status.PASSED, "Every call was right, and all clocks agree."),
    Outcome.INCORRECT: (Status.WRONG, "An output differs from the reference."),
    Outcome.PRECISION: (
        Status.WRONG, "No element is far off, but the output as a whole is less precise than it "
        "has to be."),
    Outcome.NONFINITE: (Status.WRONG, "NaN or infinity where the reference has a number."),
    Outcome.NONDETERMINISTIC: (
        Status.WRONG, "Right in most calls and wrong in some, on inputs of the same kind."),
    Outcome.INPUT_MUTATED: (Status.WRONG, "An input was changed by the call."),
    Outcome.LATE_WRITE: (
        Status.TAMPERED, "An output was still changing after the call had been reported done."),
    Outcome.OUT_OF_BOUNDS: (Status.WRONG, "Memory beside an output was written to."),
    Outcome.CLOCK_MISMATCH: (
        Status.TAMPERED, "The clocks disagree: work was done where one of them does not count."),
    Outcome.IMPOSSIBLE_TIME: (
        Status.TAMPERED, "Faster than the hardware can do the work at its highest clocks."),
    Outcome.WORK_MISSING: (
        Status.TAMPERED, "The hardware's counters show less work than the problem takes."),
    Outcome.FORBIDDEN_OP: (Status.FORBIDDEN, "An operation that the problem forbids was called."),
    Outcome.PROTOCOL: (
        Status.TAMPERED, "The process did not answer as the harness in it does."),
    Outcome.NO_SOLUTION: (Status.NO_SOLUTION, "There is no solution.py."),
    Outcome.COMPILE_ERROR: (Status.BUILD_FAILED, "The solution cannot be imported or built."),
    Outcome.RUNTIME_ERROR: (Status.CRASHED, "A call raised an error, or ended its process."),
    Outcome.TIMEOUT: (
        Status.TIMED_OUT, "A step, or the grading as a whole, took longer than it may."),
    Outcome.OOM: (Status.OUT_OF_MEMORY, "The solution took more memory than there is for it."),
    Outcome.UNSTABLE_CLOCKS: (
        Status.INFRA, "The hardware did not keep its speed, or too little of it was measured."),
    Outcome.INFRA: (Status.INFRA, "The bench failed; that says nothing of the solution."),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The independent clocks of one shape, milliseconds; the slowest of them is the time.

    The parent's clock over single calls counts less what it may be late by (Samples.late_ms).
    """

    event_ms: float
    """Median in the solution's process: CUDA events, or its own wall clock on a CPU."""
    wall_ms: float
    """Median by the parent's clock around single calls, less what an empty call takes."""
    slope_ms: float
    """By the parent's clock: what each call of a batch beyond the first adds."""
    event_slope_ms: float | None = None
    """The slope by the clock in the solution's process."""
    overhead_ms: float
    """What an empty call takes by the parent's clock."""
    host_ms: float | None = None
    """Median time that solve() kept the host, as the solution's process says."""

    @property
    def disagreement(self) -> float:
        """By how much the two processes' clocks differ over the same calls, at worst.

        (slower - faster) / slower, over single calls and over batches. Single calls and batches
        are not held against each other here: back to back, hardware gets warmer and slower.
        """
        pairs = [(self.event_ms, self.wall_ms)]
        if self.event_slope_ms is not None:
            pairs.append((self.event_slope_ms, self.slope_ms))
        return max((max(pair) - min(pair)) / max(*pair, 1e-9) for pair in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputError:
    """How far an output was off, at worst over all calls of a shape."""

    output: str
    largest: float
    """As a share of its bound: more than 1 is wrong."""
    typical: float | None = None
    """RMS of the error over RMS of the reference."""
    quantiles: Mapping[str, float] = field(default_factory=dict)
    """Share of the bound that 50, 99 and 99.9 % of the elements stay within, by "0.5" and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeMetrics:
    """The grade on one shape of the problem."""

    shape: str
    ms: float | None = None
    """The time: the slowest clock, median over the rounds, milliseconds."""
    interval_ms: tuple[float, float] | None = None
    """95 % confidence interval of it."""
    ceiling_ms: float | None = None
    """Time that the hardware's ceiling would take, milliseconds."""
    bound_by: str | None = None
    """What the ceiling is the ceiling of: a format, or "dram"."""
    floor_ms: float | None = None
    """Time that no honest kernel beats, milliseconds."""
    peak_fraction: float | None = None
    achievable_ms: float | None = None
    """Time at the rates that this machine was measured at, milliseconds."""
    achievable_fraction: float | None = None
    clocks: Clocks | None = None
    spread: float | None = None
    """Coefficient of variation of the time between rounds."""
    rounds: int | None = None
    calls: int | None = None
    """Calls that were timed and checked, over all rounds."""
    dropped: int | None = None
    """Calls whose time was left out because the hardware had slowed down; they were checked."""
    errors: tuple[OutputError, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A proof of work, or why there is none."""

    name: str
    """Such as "kernel names", "DRAM bytes" or "dispatched operations"."""
    available: bool
    passed: bool | None = None
    detail: str = ""
    """What was seen, or why it could not be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """How the solution was kept from the grader."""

    sandbox: str
    level: str
    """L0 to L3; of what was proven by a test on this host just before."""
    proven: Mapping[str, str] = field(default_factory=dict)
    """Each claim and how it was tested."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """What could not be had here, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """The secret that all inputs were drawn from: its hash is made before, itself told after."""

    sha256: str
    seed: str
    """Hexadecimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """metrics.json: the grade."""

    format: Literal[1]
    status: Status
    detail: str | None = None
    """What exactly was found, in one sentence."""
    outcome: Outcome | None = None
    """Null where the grader was another one."""
    peak_fraction: float | None = None
    """Ceiling time / measured time, geometric mean over the shapes. On boards that name another
    `metric` it is that figure, of which more is better."""
    interval: tuple[float, float] | None = None
    """95 % confidence interval of peak_fraction, low and high."""
    achievable_fraction: float | None = None
    """The same against what this machine was measured at."""
    ms: float | None = None
    """Geometric mean of the times over the shapes, milliseconds."""
    shapes: tuple[ShapeMetrics, ...] = ()
    alarms: tuple[str, ...] = ()
    """What an auditor has to look at: sentences."""
    proofs: tuple[Proof, ...] = ()
    isolation: Isolation | None = None
    device: str | None = None
    """Backend that graded it: cuda or cpu."""
    hardware: str | None = None
    """Id of the hardware whose ceiling counts; null for a CPU, whose ceiling is measured."""
    anchors: Mapping[str, float] = field(default_factory=dict)
    """What this machine was measured at: GB/s of copy and triad, TFLOP/s by format."""
    host: Mapping[str, str] = field(default_factory=dict)
    """Facts of the machine."""
    problem_hash: str | None = None
    solution_hash: str | None = None
    commitment: Commitment | None = None
    rounds: int | None = None
    calls_per_round: int | None = None
    """Calls of a round on one shape."""
    bootstrap_seed: int | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds that each stage of the grading took."""
    grader: str | None = None
    """Name and version of what graded it; null where it was not recorded."""
    graded: datetime | None = None
    origin: str | None = None
    """Where an imported grade comes from."""


def passed_sentence(calls: int, rounds: int, fraction: float, interval: tuple[float, float]) -> str:
    """What our own grader says of a solution that was right everywhere, as `detail`."""
    return (
        f"{calls} calls in {rounds} fresh processes were all right; it reaches "
        f"{fraction:.3f} of the ceiling ({interval[0]:.3f} to {interval[1]:.3f})."
    )
