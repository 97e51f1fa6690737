"""Charts as inline SVG with a table each: no script, no inline style, no other host."""

from kbsite.charts.context import context_chart
from kbsite.charts.drawing import Chart
from kbsite.charts.grade import grade_plot, samples_chart
from kbsite.charts.score import score_chart
from kbsite.charts.work import work_chart

__all__ = [
    "Chart", "context_chart", "grade_plot", "samples_chart", "score_chart", "work_chart",
]  # fmt: skip
