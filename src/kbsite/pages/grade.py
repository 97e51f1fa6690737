"""The grade of a run, as its page shows it: shapes, floors, clocks, samples, how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from markupsafe import Markup
from msgspec import Struct

from kbsite.charts import Chart, grade_plot, samples_chart
from kbsite.model.floor import Floor
from kbsite.model.grade import Clocks, Metrics, OutputError, ShapeMetrics
from kbsite.model.grader_alarms import SENTENCE, gathered
from kbsite.model.problem import Regime
from kbsite.pages.page import Site
from kbsite.store.grades import EarlierGrade, earlier_grades
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun
from kbsite.store.samples import SAMPLES, ReadSamples, read_samples

ROWS = 60
"""Shapes in the table."""

MOST = 100
"""Alarms, proofs, facts and the like that are shown; a grade has a tenth of it."""


class Clock(Struct, frozen=True):
    """One of the clocks, as the table of clocks names and explains it."""

    key: str
    """Name of the field of Clocks that holds its milliseconds."""
    label: str
    sentence: str


CLOCKS = (
    Clock("event_ms", "inside, single", "The clock in the solution's process around single calls; "
          "it can lie, and can only make a time longer or be caught."),
    Clock("wall_ms", "outside, single", "The grader's own clock around the same calls, less what "
          "an empty call takes."),
    Clock("event_slope_ms", "inside, batch", "How much longer a batch takes for each call more in "
          "it, by the solution's process."),
    Clock("slope_ms", "outside, batch", "The same by the grader's own clock."),
)  # fmt: skip
"""In the order of the table: the clock inside beside the one outside of the same calls."""


class Grade(Struct, frozen=True):
    """What the sections of a run's grade show."""

    shapes: tuple[ShapeMetrics, ...]
    more: int
    """Shapes that only metrics.json has."""
    floors: tuple[Floor, ...]
    """Those of the problem, on the board of the run."""
    plot: Markup | None
    samples: ReadSamples
    strips: Chart | None
    earlier: tuple[EarlierGrade, ...]
    told: str
    """What was found, in one sentence."""
    alarms: list[str]
    """What the grader has an auditor look at, told once of shapes that are alike."""
    in_ms: bool
    """Whether the problem is one of latency, whose score is its time."""
    most: int = MOST
    metrics_file: str = METRICS
    samples_file: str = SAMPLES

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """The clocks of the table."""
        return CLOCKS

    @property
    def clocked(self) -> list[tuple[ShapeMetrics, Clocks]]:
        """The shapes that say what each clock showed."""
        return [(shape, shape.clocks) for shape in self.shapes if shape.clocks is not None]

    def first(self, held: Mapping[str, object]) -> list[tuple[str, object]]:
        """As many entries of a mapping as are shown."""
        return list(islice(held.items(), self.most))

    @property
    def errors(self) -> list[tuple[str, OutputError]]:
        """How far each output was off on each shape."""
        return [(shape.shape, error) for shape in self.shapes for error in shape.errors]


def sentence(metrics: Metrics) -> str:
    """What was found, in one plain sentence."""
    return metrics.outcome.sentence if metrics.outcome else metrics.status.sentence


def floors_of(site: Site, stored: StoredRun) -> tuple[Floor, ...]:
    """The floors of a run's problem on its board; of a floor's own run none."""
    board = site.board_of.get(stored.run.id)
    return tuple(
        floor
        for row in (board.floors if board else ())
        for floor in row.floors
        if floor is not None and floor.problem == stored.run.problem
    )


def grade(site: Site, stored: StoredRun) -> Grade:
    """The grade of a run; the raw samples and the earlier grades are read here."""
    floors = floors_of(site, stored)
    file = stored.file(SAMPLES)
    samples = read_samples(file) if file else ReadSamples((), ())
    shapes = stored.metrics.shapes
    in_shares = stored.run.board not in site.config.own_metrics
    return Grade(
        shapes=shapes[:ROWS],
        more=max(0, len(shapes) - ROWS),
        floors=floors,
        plot=grade_plot(stored.metrics, floors) if in_shares else None,
        samples=samples,
        strips=samples_chart(samples.spreads),
        earlier=earlier_grades(stored),
        told=sentence(stored.metrics),
        alarms=gathered(stored.metrics.alarms[:MOST], SENTENCE),
        in_ms=in_ms(site, stored.run.problem),
    )


def in_ms(site: Site, problem: str) -> bool:
    """Whether a problem is one of latency, whose score is its time against a frozen floor."""
    stored = site.problems.get(problem)
    return stored is not None and stored.problem.regime is Regime.LATENCY
