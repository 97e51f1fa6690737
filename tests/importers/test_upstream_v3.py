"""The real published v3 table, where it lies beside the checkout: read, not written."""

from __future__ import annotations

from collections import Counter

import pytest

from kbsite.importers.kernelbench_v3 import run_ids, status_of
from kbsite.importers.v3_boards import V3Board, boards_of
from kbsite.importers.v3_table import Table, read_table
from kbsite.model.floor import FloorKind
from kbsite.model.slugs import is_slug
from kbsite.model.status import Status
from tests.importers.v3_csv import PUBLISHED

pytestmark = pytest.mark.skipif(
    not PUBLISHED.is_file(), reason="the published table is not beside the checkout"
)


@pytest.fixture(scope="module", name="table")
def _table() -> Table:
    return read_table(PUBLISHED)


@pytest.fixture(scope="module", name="boards")
def _boards(table: Table) -> dict[str, V3Board]:
    return {board.id: board for board in boards_of(table.rows, PUBLISHED.name)}


def test_every_row_is_read_and_becomes_a_run_of_its_own(table: Table) -> None:
    assert table.errors == ()
    assert len(table.rows) == 2071
    ids = run_ids(table.rows)
    assert len(set(ids.values())) == 2071
    assert Counter(status_of(row)[0] for row in table.rows) == {
        Status.PASSED: 927, Status.WRONG: 260, Status.BUILD_FAILED: 737, Status.NO_SOLUTION: 147,
    }  # fmt: skip
    assert all(row.sol_ms for row in table.rows if row.correct)


def test_the_decks_are_those_that_its_authors_published(boards: dict[str, V3Board]) -> None:
    decks = {
        name: {group.title: len(group.problems) for group in board.groups}
        for name, board in boards.items()
    }
    assert decks == {
        "v3-rtx3090": {"Level 1": 15, "Level 2": 15, "Level 3": 3, "Level 4": 8, "Graphics": 2},
        "v3-h100": {
            "Level 1": 15, "Level 2": 15, "Level 3": 3, "Level 4": 8, "Tile-specialized": 13,
        },
        "v3-b200": {
            "Level 1": 15, "Level 2": 15, "Level 3": 3, "Level 4": 9, "Tile-specialized": 13,
            "CuTile": 3,
        },
    }  # fmt: skip
    assert all(is_slug(p) for b in boards.values() for group in b.groups for p in group.problems)
    assert {name: len(board.rows) for name, board in boards.items()} == {
        "v3-rtx3090": 571, "v3-h100": 702, "v3-b200": 798,
    }  # fmt: skip


def test_problems_solved_at_least_once_are_those_of_the_census(boards: dict[str, V3Board]) -> None:
    solved = {
        (name, model): len(
            {row.problem for row in board.rows if row.model == model and row.correct}
        )
        for name, board in boards.items()
        for model in ("GPT-5.4", "GLM-5", "Claude Opus 4.6", "DeepSeek V3.2")
        if any(row.model == model for row in board.rows)
    }
    assert solved == {
        ("v3-rtx3090", "GPT-5.4"): 33, ("v3-h100", "GPT-5.4"): 42, ("v3-b200", "GPT-5.4"): 50,
        ("v3-rtx3090", "GLM-5"): 27, ("v3-h100", "GLM-5"): 32, ("v3-b200", "GLM-5"): 31,
        ("v3-rtx3090", "Claude Opus 4.6"): 27, ("v3-h100", "Claude Opus 4.6"): 37,
        ("v3-b200", "Claude Opus 4.6"): 11, ("v3-rtx3090", "DeepSeek V3.2"): 0,
        ("v3-b200", "DeepSeek V3.2"): 2,
    }  # fmt: skip


def test_floors_have_times_and_no_scores(boards: dict[str, V3Board]) -> None:
    for board in boards.values():
        assert {floor.kind for floor in board.floors} == {FloorKind.EAGER, FloorKind.COMPILED}
        assert all(floor.ms and floor.peak_fraction is None for floor in board.floors)
        named = [(floor.kind, floor.problem) for floor in board.floors]
        assert len(set(named)) == len(named)
