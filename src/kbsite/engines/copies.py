"""Tasks done by copies of this process, as many as there are cores.

The copies know all that this process knows: what goes to them are numbers of tasks, what comes back
is what the work gave. Each takes the next number from a pipe whenever it is done with one, the
longest tasks first, so that all end at about the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from kbsite.engines.engine import Here, Lost

Task = TypeVar("Task")
Given = TypeVar("Given")

LEAST = 500_000
"""Weight of all tasks from which on copies are worth their start."""


class Copies(Struct, frozen=True):
    """So many copies of this process, made where the tasks take long enough."""

    jobs: int

    def each(
        self,
        work: Callable[[Task], Given],
        tasks: Sequence[Task],
        weights: Sequence[int],
        told: Callable[[int, Given | Lost], None],
        meanwhile: Callable[[int], None] | None = None,
    ) -> None:
        """Do the tasks; one whose process was killed is begun a second time, and then lost."""
        if sum(weights) < LEAST:
            Here().each(work, tasks, weights, told)
            return
        # Who has little to do loads nothing that tells copies of it.
        from kbsite.engines.crew import Crew

        waiting = sorted(range(len(tasks)), key=lambda number: -weights[number])
        strikes: Counter[int] = Counter()
        while waiting:
            long = _alone([weights[number] for number in waiting], self.jobs)
            crew = Crew(work, tasks, waiting, frozenset(waiting[place] for place in long), told)
            crew.go_through(self.jobs, meanwhile)
            meanwhile = None
            if not crew.done and not crew.fallen:
                # No copy can be made, or none comes to anything.
                for number in waiting:
                    told(number, work(tasks[number]))
                return
            strikes.update(crew.fallen.keys())
            gone = crew.done | crew.without(strikes)
            waiting = [number for number in waiting if number not in gone]


def _alone(weights: Sequence[int], jobs: int) -> Iterator[int]:
    """Which tasks take so long that cores would wait for them: of these, halves go beside.

    When one is begun, those before it that are still under way are taken to be half done, but for
    the first ones, which are begun together.
    """
    left = sum(weights)
    for place, weight in enumerate(weights):
        under_way = sum(weights[max(0, place - jobs + 1) : place])
        if weight * jobs > left + under_way / (1 if place < jobs else 2):
            yield place
        left -= weight
