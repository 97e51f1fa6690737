"""The grade of a run, as its page shows it: shapes, floors, raw samples."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from kbsite.charts import Chart, grade_plot, samples_chart
from kbsite.model.floor import Floor
from kbsite.model.grade import ShapeMetrics
from kbsite.pages.page import Site
from kbsite.store.runs import METRICS, StoredRun
from kbsite.store.samples import SAMPLES, ReadSamples, read_samples

ROWS = 60
"""Shapes in the table."""


@dataclass(frozen=True, slots=True)
class Grade:
    """What the section of a run's grade shows."""

    shapes: tuple[ShapeMetrics, ...]
    more: int
    """Shapes that only metrics.json has."""
    floors: tuple[Floor, ...]
    """Those of the problem, on the board of the run."""
    plot: Markup | None
    samples: ReadSamples
    strips: Chart | None
    metrics_file: str = METRICS
    samples_file: str = SAMPLES


def floors_of(site: Site, stored: StoredRun) -> tuple[Floor, ...]:
    """The floors of a run's problem on its board."""
    board = site.board_of.get(stored.run.id)
    return tuple(
        floor
        for row in (board.floors if board else ())
        for floor in row.floors
        if floor is not None and floor.problem == stored.run.problem
    )


def grade(site: Site, stored: StoredRun) -> Grade:
    """The grade of a run; the raw samples are read here."""
    floors = floors_of(site, stored)
    file = stored.file(SAMPLES)
    samples = read_samples(file) if file else ReadSamples((), ())
    shapes = stored.metrics.shapes
    return Grade(
        shapes=shapes[:ROWS],
        more=max(0, len(shapes) - ROWS),
        floors=floors,
        plot=grade_plot(stored.metrics, floors),
        samples=samples,
        strips=samples_chart(samples.spreads),
    )
