"""In which order a shape's calls are made: secret, so that no call knows what it is for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

STRESS = 0.25
"""Share of calls with other inputs than ordinary ones."""

NEAR = 0.05
"""Share of single calls whose inputs are those of an earlier one but for a single element."""

BATCHED = 0.4
"""Share of calls that are made in batches, at least: the last batch is whole."""


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that the worker is asked to do: a single call, or a batch of several."""

    cases: tuple[str, ...]
    """The distribution of each call's inputs."""
    near: bool = False
    """Whether the inputs are to be nearly those of the call before."""
    stopped: bool = False
    """Whether the worker is stopped meanwhile, and the time does not count."""

    @property
    def batch(self) -> bool:
        """Whether there are several calls in it."""
        return len(self.cases) > 1


def schedule(
    calls: int, cases: Sequence[str], longest: int, drawn: random.Random, stopped: int = 0
) -> list[Move]:
    """The moves of a round on a shape, `calls` calls or a few more; no batch is over `longest`.

    Batches are as long as may be: what is uncertain about when one ends is shared by its calls.
    Batches that are `stopped` come on top of that, and look like any other.
    """
    batched = int(calls * BATCHED)
    long = max(2, min(longest, batched))
    moves = [
        Move(_cases(drawn.randint(max(2, long - 1), long), cases, drawn))
        for _ in range(ceil(batched / long))
    ]
    made = sum(len(move.cases) for move in moves)
    moves += [
        Move(_cases(drawn.randint(max(2, long - 1), long), cases, drawn), stopped=True)
        for _ in range(stopped)
    ]
    single = max(2, calls - made)
    moves += [
        Move(_cases(1, cases, drawn), near=drawn.random() < NEAR and number > 0)
        for number in range(single)
    ]
    drawn.shuffle(moves)
    return _started(moves)


def _cases(count: int, cases: Sequence[str], drawn: random.Random) -> tuple[str, ...]:
    ordinary, others = cases[0], cases[1:]
    return tuple(
        drawn.choice(others) if others and drawn.random() < STRESS else ordinary
        for _ in range(count)
    )


def _started(moves: list[Move]) -> list[Move]:
    """The same with a call first that nothing has to be known for of those before it."""
    first = next(number for number, move in enumerate(moves) if not (move.near or move.stopped))
    return [moves[first], *moves[:first], *moves[first + 1 :]]
