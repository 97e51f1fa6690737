"""The attempts around each run of a cell, worked out where somebody asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbsite.store.runs import StoredRun

NEAR = 10
"""Attempts before a run, and after it, that its page links."""


class Nearest(dict[str, Sequence[str]]):
    """The attempts around a run and itself, in order, by id, by the run's id."""

    def __init__(
        self,
        attempts: Mapping[str, Sequence[StoredRun]],
        places: Mapping[str, tuple[int, int]],
    ) -> None:
        super().__init__()
        self._attempts, self._places = attempts, places

    def __missing__(self, run_id: str) -> Sequence[str]:
        number, _ = self._places[run_id]
        near = self._attempts[run_id][max(0, number - 1 - NEAR) : number + NEAR]
        held = self[run_id] = tuple(stored.run.id for stored in near)
        return held
