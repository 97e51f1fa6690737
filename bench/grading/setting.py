"""What a grading is given, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.anchors import Anchors
from bench.devices import Device
from bench.sandbox.box import Limits, Sandbox
from kbsite.model.grade import Metrics
from kbsite.model.hardware import Hardware
from kbsite.model.samples import Samples
from kbsite.model.solution import solution_hash

SOLUTION = "solution.py"

ROUNDS = 5
"""Fresh processes; more of them, and not more calls, is what narrows the interval."""

CALLS = 100
"""Calls of a round on one shape."""

HELD_OUT_CALLS = 2
"""Calls of a round on a shape that nobody was told."""

STOPPED = 60
"""Batches of a grading that are stopped, over all rounds and shapes."""

EMPTY_CALLS = 20
"""Calls of nothing that a round begins with."""

HELD_CALLS = 6
"""Calls after them that keep a GPU busy for a tenth of the longest batch, and as many for all of
it."""

HELD_TIMES = 10
"""How much longer these do."""


@dataclass(frozen=True)
class Solution:
    """What is graded."""

    files: Mapping[str, bytes]
    """By their paths beside solution.py."""

    @property
    def hash(self) -> str:
        """SHA-256 over names and contents of all files."""
        return solution_hash(self.files)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long steps may take, seconds."""

    build: float = 1800
    """The import, with everything that it compiles."""
    setup: float = 60
    """The preparation of a shape."""
    call: float = 30
    """A call, or a batch of them."""
    shape: float = 900
    """All calls of a round on a shape, with what the grader does between them."""
    whole: float = 14400
    """All of a grading: six builds that take as long as one may, and an hour besides."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How and on what is graded."""

    device: Device
    sandbox: Sandbox
    anchors: Anchors
    hardware: Hardware | None = None
    """Whose ceilings count; None for a CPU, whose ceilings are measured."""
    hardware_id: str | None = None
    rounds: int = ROUNDS
    calls: int = CALLS
    stopped: int = STOPPED
    """Batches that are stopped, where a problem forbids what can be met then."""
    shapes: tuple[str, ...] = ()
    """Ids of the shapes to grade on; all without any, which alone makes a grade to publish."""
    held_out: bool = True
    trace: bool = True
    """Whether a further process shows which operations are called."""
    seed: bytes | None = None
    """A secret to repeat a grading with; a fresh one without."""
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    library_fraction: float | None = None
    """peak_fraction of the library floor here, which shows what vendors reach."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """Where a grading stands."""

    stage: str
    round: int
    rounds: int
    shape: str = ""
    done: int = 0
    """Calls of the shape that were made."""
    of: int = 0


@dataclass(frozen=True, kw_only=True)
class Grade:
    """What comes out."""

    metrics: Metrics
    samples: tuple[Samples, ...]
    log: str
    """What the solution printed, and what went wrong; bounded."""
