"""Cells: what decides them, and an order that favours nobody."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.sweeps.cells import cells
from bench.sweeps.sheet import Contender, Sweep
from tests.bench.sweeps.sweeps import contender, sheet

HASHES = {"a": "1" * 64, "b": "2" * 64, "c": "3" * 64}


def sweep(tmp_path: Path, names: int, attempts: int = 1, seed: int = 0) -> Sweep:
    models = [contender(model=f"m{number}") for number in range(names)]
    return sheet(tmp_path, problems=list(HASHES), contenders=models, attempts=attempts, seed=seed)


@given(seed=st.integers(0, 10_000), names=st.integers(1, 6), attempts=st.integers(1, 4))
def test_no_beginning_of_the_order_favours_a_contender(
    tmp_path_factory: pytest.TempPathFactory, seed: int, names: int, attempts: int
) -> None:
    made = sweep(tmp_path_factory.mktemp("sweep"), names, attempts, seed)
    order = cells(made, HASHES)

    assert len(set(order)) == names * 3 * attempts
    for end in range(1, len(order) + 1):
        done = Counter(cell.contender for cell in order[:end])
        counts = [done[one] for one in made.contenders]
        assert max(counts) - min(counts) <= 1
        per_problem = Counter((cell.contender, cell.problem) for cell in order[:end])
        for problem in HASHES:
            each = [per_problem[one, problem] for one in made.contenders]
            assert max(each) - min(each) <= 1


def test_first_attempts_come_before_second_ones(tmp_path: Path) -> None:
    order = [cell.attempt for cell in cells(sweep(tmp_path, 2, attempts=3), HASHES)]
    assert order == sorted(order)


def test_the_seed_decides_the_order_and_not_the_cells(tmp_path: Path) -> None:
    one = cells(sweep(tmp_path, 4, seed=1), HASHES)
    again = cells(sweep(tmp_path, 4, seed=1), HASHES)
    other = cells(sweep(tmp_path, 4, seed=2), HASHES)

    assert one == again
    assert one != other
    assert {cell.key for cell in one} == {cell.key for cell in other}


def test_contenders_of_one_model_do_not_stand_in_a_row(tmp_path: Path) -> None:
    efforts = [contender(model=m, effort=e) for m in ("x", "y") for e in ("low", "mid", "high")]
    made = sheet(tmp_path, problems=["a"], contenders=efforts)
    models = [cell.contender.model for cell in cells(made, HASHES)]

    assert all(before != after for before, after in pairwise(models))


def test_all_that_decides_what_a_run_is_decides_its_key(tmp_path: Path) -> None:
    base = sheet(tmp_path, problems=["a"])
    other = Contender(harness="claude", model="works", provider="here")
    who = base.contenders[0]
    variants = [
        base,
        replace(base, board="day"),
        replace(base, hardware="h100-sxm"),
        replace(base, budget_seconds=61.0),
        replace(base, contenders=(other,)),
        replace(base, contenders=(replace(who, effort="max"),)),
        replace(base, contenders=(replace(who, provider="there"),)),
        replace(base, contenders=(replace(who, variant="b"),)),
    ]
    keys = {cells(one, HASHES)[0].key for one in variants}
    keys |= {cells(base, {"a": "f" * 64})[0].key}
    keys |= {cell.key for cell in cells(replace(base, attempts=2), HASHES)}

    assert len(keys) == len(variants) + 2


def test_what_decides_nothing_changes_no_key(tmp_path: Path) -> None:
    base = sheet(tmp_path, problems=["a"])
    same = replace(base, seed=5, grade=False, max_parallel=1, slots={"here": 1}, attempts=2)

    assert cells(base, HASHES)[0].key in {cell.key for cell in cells(same, HASHES)}
