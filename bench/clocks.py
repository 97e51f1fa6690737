"""Whether the independent clocks of a shape agree."""

from __future__ import annotations

from math import isfinite

from bench.devices.device import Agreement
from kbsite.model.grade import Clocks


def disagreeing(clocks: Clocks, agreement: Agreement, least: Clocks | None = None) -> str | None:
    """What is wrong between the clocks of a shape, in one sentence; None where they agree.

    What shows more than another is what `least` says, the usual time where there is none.

    They may be apart by the larger part of `agreement`; over single calls also by as much as the
    parent's clock may be late. Beyond it

    * the parent's clock may not show more than the event clock, for a single call and for one in
      a batch, unless solve() kept the host that long: an event clock that shows less was tampered
      with, or did not see all work;
    * the event clock may not show more than the parent's, but for what an empty call takes, which
      was taken off the parent's single calls: an answer came before the work was done;
    * a call in a batch may not take longer than a single call by more than hardware gets slower
      back to back (`agreement.warmer`), unless solve() keeps the host that long (the device waits
      for its host): work was moved out of the single calls.

    That a single call takes longer than one in a batch is no finding: it has cold caches and a
    launch of its own, and as the slower one it counts.

    What the host takes is the word of the solution's process. To lie about it buys silence, never
    time: the slowest clock counts whatever is said here.
    """
    event, wall, slope = clocks.event_ms, clocks.wall_ms, clocks.slope_ms
    inside = _inside(clocks)
    more_of = least or clocks
    overhead, host = max(clocks.overhead_ms, 0.0), max(clocks.host_ms or 0.0, 0.0)
    if not all(isfinite(time) for time in (event, wall, slope, inside, overhead, host)):
        return f"A clock shows no number: {clocks}."
    single = max(event, wall)
    slack = max(agreement.absolute_ms, agreement.relative * max(single, slope))
    late = max(slack, agreement.late_ms)
    told = "by the parent's clock", "by the clock in the solution's process"
    limits = [
        (more_of.wall_ms, max(event, host), "A single call takes", told, late),
        (more_of.event_ms, wall, "A single call takes", told[::-1], late + overhead),
        (more_of.slope_ms, max(inside, host), "A call in a batch takes", told, slack),
        (_inside(more_of), slope, "A call in a batch takes", told[::-1], slack),
        (more_of.slope_ms, max(single, host), "A call takes", ("in a batch", "alone"),
         slack + agreement.warmer * single),
    ]  # fmt: skip
    for more, less, what, (here, there), most in limits:
        if more > less + most:
            return (
                f"{what} {more:.4g} ms {here}, but only {less:.4g} ms {there}; "
                f"expected at most {most:.3g} ms between them."
            )
    return None


def _inside(clocks: Clocks) -> float:
    """A call in a batch by the clock in the solution's process; the parent's where it has none."""
    return clocks.slope_ms if clocks.event_slope_ms is None else clocks.event_slope_ms
