"""The cells of a sweep, their keys, and the order in which they are tried."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import zip_longest
from random import Random

from bench.sweeps.sheet import Contender, Sweep


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run that a sweep wants."""

    key: str
    """A hash of all that decides what the run is."""
    contender: Contender
    problem: str
    problem_hash: str
    attempt: int
    """From 1."""

    @property
    def label(self) -> str:
        """As a person reads it."""
        return f"{self.contender.label}, {self.problem}, attempt {self.attempt}"


def cells(sweep: Sweep, hashes: Mapping[str, str]) -> tuple[Cell, ...]:
    """All cells of a sweep in the order in which they are tried; `hashes` are the problems'.

    In rounds: in each, every contender works once on one problem. Rounds are shuffled, first
    attempts before second ones, and so is each round; neighbours have different models where
    that can be. So whatever drifts with time meets all contenders alike.
    """
    chance = Random(sweep.seed)  # noqa: S311 - an order, no secret
    found = []
    for attempt in range(1, sweep.attempts + 1):
        for problem in _shuffled(sweep.problems, chance):
            for contender in _dealt(sweep.contenders, chance):
                key = _key(sweep, contender, problem, hashes[problem], attempt)
                found.append(
                    Cell(
                        key=key, contender=contender, problem=problem,
                        problem_hash=hashes[problem], attempt=attempt,
                    )
                )  # fmt: skip
    return tuple(found)


def _key(sweep: Sweep, contender: Contender, problem: str, told: str, attempt: int) -> str:
    decides = [
        sweep.board, sweep.hardware, sweep.budget_seconds, problem, told, *astuple(contender),
        attempt,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:20]


def _shuffled(names: Sequence[str], chance: Random) -> list[str]:
    return chance.sample(names, len(names))


def _dealt(contenders: Sequence[Contender], chance: Random) -> list[Contender]:
    """All contenders by chance, one of each model in turn."""
    by_model: dict[str, list[Contender]] = {}
    for one in chance.sample(contenders, len(contenders)):
        by_model.setdefault(one.model, []).append(one)
    # The models that have most come first, so that none of them is left over to stand in a row.
    piles = sorted(by_model.values(), key=len, reverse=True)
    return [one for turn in zip_longest(*piles) for one in turn if one is not None]
