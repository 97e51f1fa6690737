"""What lies on disk: which runs count, which cells they make, what was broken off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import time
from typing import Any

import pytest

from bench.sealed import json_bytes, seal, write_whole
from bench.sweeps.cells import Cell, cells
from bench.sweeps.shelf import Matched, Shelf, grade_told, match, set_aside, spoilt
from bench.sweeps.works import Work
from kbsite.model.run import Run
from kbsite.model.status import EndReason
from kbsite.model.usage import Usage
from tests.bench.sweeps.sweeps import contender, put_run, works

NOTHING = {"usage": Usage(input=50)}


@pytest.fixture(name="made")
def _made(tmp_path: Path) -> Work:
    models = [contender(model="a"), contender(model="b", provider="there")]
    return works(tmp_path, contenders=models, attempts=2)


def wanted(made: Work) -> tuple[Cell, ...]:
    return cells(made.sweep, made.hashes())


def of(made: Work, model: str, attempt: int = 1) -> Cell:
    return next(
        one for one in wanted(made) if (one.contender.model, one.attempt) == (model, attempt)
    )


def matched(made: Work) -> Matched:
    return match(made.sweep, wanted(made), Shelf(made.board).look())


@pytest.mark.parametrize(
    ("told", "solution", "counts"),
    [
        ({}, True, True),
        ({"end_reason": EndReason.BUDGET}, True, True),
        ({"end_reason": EndReason.TRUNCATED}, False, True),
        ({"end_reason": EndReason.PROVIDER}, True, False),
        ({"end_reason": EndReason.SIGNAL}, True, False),
        ({"end_reason": EndReason.HARNESS}, False, True),
        ({"end_reason": EndReason.HARNESS, **NOTHING}, True, False),
        ({"end_reason": EndReason.HARNESS, **NOTHING, "answers": 0}, True, False),
        ({"end_reason": EndReason.HARNESS, **NOTHING, "answers": 3}, True, True),
        ({"end_reason": EndReason.STALLED}, True, True),
        ({"end_reason": EndReason.STALLED}, False, False),
        ({"harness": "floor"}, True, False),
    ],
)
def test_a_run_counts_unless_machine_or_provider_spoilt_it(
    made: Work, told: dict[str, Any], *, solution: bool, counts: bool
) -> None:
    put_run(made, of(made, "a"), told=told, solution=solution)
    (one,) = Shelf(made.board).look()

    assert one.counts is counts


def test_who_takes_his_solution_back_and_waits_gets_no_other_session(made: Work) -> None:
    folder = put_run(made, of(made, "a"), told={"end_reason": EndReason.STALLED}, solution=False)
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / "20260102T030405Z.py").write_text("pass")
    (one,) = Shelf(made.board).look()

    assert one.counts


def test_why_a_run_is_spoilt_is_said_from_the_disk_alone(made: Work) -> None:
    folder = put_run(made, of(made, "a"))
    (one,) = Shelf(made.board).look()
    run = replace(one.run, end_reason=EndReason.PROVIDER)

    assert spoilt(one.run, folder) is None
    assert spoilt(run, folder) == "the provider failed"


def test_a_cells_own_run_comes_before_its_equals(made: Work) -> None:
    first, second = of(made, "a", 1), of(made, "a", 2)
    put_run(made, first, ordered=False)
    own = put_run(made, first)
    found = matched(made)

    assert found.runs[first.key].folder == own
    assert found.runs[second.key].cell is None
    assert found.surplus == ()


def test_runs_of_another_identity_make_no_cell(made: Work) -> None:
    cell = of(made, "a")
    others: list[dict[str, Any]] = [
        {"effort": "max"}, {"hardware": "h100-sxm"}, {"budget_seconds": 61.0},
        {"problem_hash": "0" * 64}, {"problem_hash": None}, {"provider": "there"},
        {"variant": "x"}, {"problem": "other"},
    ]  # fmt: skip
    for told in others:
        put_run(made, cell, told=told, ordered=False)

    assert matched(made).runs == {}
    assert len(Shelf(made.board).look()) == len(others)


def test_a_run_that_names_no_provider_is_the_contenders(made: Work) -> None:
    put_run(made, of(made, "b"), told={"provider": None}, ordered=False)
    assert set(matched(made).runs) == {of(made, "b").key}


def test_more_runs_than_attempts_are_told_as_such(made: Work) -> None:
    for _ in range(3):
        put_run(made, of(made, "a"), ordered=False)
    found = matched(made)

    assert len(found.runs) == 2
    assert len(found.surplus) == 1


def test_what_has_no_manifest_or_is_hidden_or_a_link_is_no_run(made: Work) -> None:
    whole = put_run(made, of(made, "a"))
    broken = put_run(made, of(made, "a"))
    (broken / "manifest.json").unlink()
    (made.board / "link").symlink_to(whole, target_is_directory=True)
    (made.board / ".hidden").mkdir()

    assert [one.folder for one in Shelf(made.board).look()] == [whole]


def test_a_run_that_cannot_be_read_is_told_and_stops_nothing(made: Work) -> None:
    bad, good = put_run(made, of(made, "a")), put_run(made, of(made, "b"))
    (bad / "run.json").write_text("{")
    shelf = Shelf(made.board)

    assert [one.folder for one in shelf.look()] == [good]
    assert list(shelf.unread) == [bad.name]


def test_runs_that_went_away_are_gone_and_new_ones_are_seen(made: Work) -> None:
    shelf = Shelf(made.board)
    assert shelf.look() == ()
    folder = put_run(made, of(made, "a"))
    assert len(shelf.look()) == 1
    set_aside(folder, made.aside)
    assert shelf.look() == ()


def grade(folder: Path, status: str) -> None:
    write_whole(folder / "metrics.json", json_bytes({"format": 1, "status": status}))


@pytest.mark.parametrize(
    ("status", "graded"), [("passed", True), ("wrong", True), ("infra", False), ("ungraded", False)]
)
def test_a_grade_counts_when_the_manifest_has_it(made: Work, status: str, *, graded: bool) -> None:
    folder = put_run(made, of(made, "a"))
    (one,) = Shelf(made.board).look()
    assert not one.graded
    grade(folder, status)
    assert not one.graded, "it was broken off before the manifest"
    assert grade_told(folder) is None
    seal(folder)
    assert grade_told(folder) == (status if graded else None)
    assert one.graded is graded


def test_what_is_being_written_is_known_by_its_order(made: Work) -> None:
    shelf, cell = Shelf(made.board), of(made, "a")
    partial = made.board / "20260102_1_codex_a_toy.partial"
    partial.mkdir(parents=True)
    assert shelf.partials(cell.key) == []
    write_whole(partial / "order.json", json_bytes({"cell": cell.key}))
    assert shelf.partials(cell.key) == [partial]
    assert shelf.partials(of(made, "b").key) == []


@pytest.mark.parametrize("order", ["", "[]", '{"cell": 5}', "{}", "[" * 5000])
def test_an_order_that_is_none_belongs_to_no_cell(made: Work, order: str) -> None:
    partial = made.board / "x.partial"
    partial.mkdir(parents=True)
    (partial / "order.json").write_text(order)
    shelf = Shelf(made.board)

    assert all(shelf.partials(cell.key) == [] for cell in wanted(made))


def test_what_gets_its_name_meanwhile_is_not_abandoned(
    made: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = made.board
    board.mkdir(parents=True, exist_ok=True)
    names = ("a.partial", "b.partial", ".c.begun", ".d.begun")
    for name in names:
        (board / name).mkdir()
    real = Path.glob

    def glob(self: Path, pattern: str) -> Iterator[Path]:
        found = list(real(self, pattern))
        for path in (board / "a.partial", board / ".c.begun"):
            path.rename(path.with_name(f"{path.name} renamed"))
        return iter(found)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", glob)
        assert Shelf(board).abandoned(time() + 60) == [board / "b.partial", board / ".d.begun"]

    real_folders = Shelf._folders

    def folders(self: Shelf) -> Iterator[Path]:
        for path in real_folders(self):
            path.rename(path.with_suffix(""))
            yield path

    monkeypatch.setattr(Shelf, "_folders", folders)
    assert Shelf(board).abandoned(time() + 60) == [board / ".d.begun"]


def test_what_is_set_aside_never_takes_the_place_of_another(made: Work, tmp_path: Path) -> None:
    kept = []
    for number in range(3):
        folder = tmp_path / "x.partial"
        folder.mkdir()
        (folder / "n").write_text(str(number))
        kept.append(set_aside(folder, made.aside))

    assert [(path / "n").read_text() for path in kept] == ["0", "1", "2"]


def test_runs_are_put_in_order_of_their_start(made: Work) -> None:
    runs = [put_run(made, of(made, "a"), ordered=False) for _ in range(2)]
    found = matched(made).runs

    assert [found[of(made, "a", attempt).key].folder for attempt in (1, 2)] == runs
    assert isinstance(found[of(made, "a").key].run, Run)
