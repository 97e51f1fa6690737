"""A plan: what is there, what is missing, and what it takes; unknown where nobody knows."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from bench.sealed import json_bytes, seal, write_whole
from bench.sweeps.cells import cells
from bench.sweeps.plan import HEADINGS, as_data, duration, lines, plan, rows
from bench.sweeps.works import Work
from kbsite.model.price import Price, PriceTable
from tests.bench.sweeps.sweeps import contender, put_run, works
from tests.shut import shut

TABLE = PriceTable(
    prices=(
        Price(
            models=("a",), input=Decimal(2), output=Decimal(10), source="https://example.org",
            looked_up=date(2026, 1, 1), since=date(2025, 1, 1),
        ),
    )
)  # fmt: skip
"""A run of `put_run` costs 3 dollars: a million tokens in, a tenth of that out."""


@pytest.fixture(name="made")
def _made(tmp_path: Path) -> Work:
    models = [contender(model="a"), contender(model="b", provider="there")]
    return works(tmp_path, contenders=models, attempts=5)


def test_without_any_earlier_run_the_cost_is_unknown(made: Work) -> None:
    told = plan(made, TABLE)

    assert (told.missing, told.surplus, told.usd, told.usual_seconds) == (10, 0, None, None)
    assert [one.usd for one in told.due] == [None, None]
    text = "\n".join([*lines(told), *(cell for row in rows(told) for cell in row)])
    assert "cost in all: unknown" in text
    assert "$0" not in text
    assert as_data(told)["usd"] is None


def test_nothing_is_started_or_written_by_a_plan(made: Work) -> None:
    plan(made, TABLE)
    assert not made.places.runs.exists()


def test_what_is_there_is_counted_and_grades_too(made: Work) -> None:
    wanted = cells(made.sweep, made.hashes())
    for cell in wanted[:4]:
        folder = put_run(made, cell)
    write_whole(folder / "metrics.json", json_bytes({"format": 1, "status": "wrong"}))
    seal(folder)
    told = plan(made, TABLE)

    assert sum(one.there for one in told.due) == 4
    assert sum(one.graded for one in told.due) == 1
    assert told.missing == 6


def test_cost_follows_from_the_median_of_earlier_runs_and_prices(made: Work) -> None:
    first = next(cell for cell in cells(made.sweep, made.hashes()) if cell.contender.model == "a")
    for usd in (None, 1.0, 100.0):
        put_run(made, first, told={"cost_usd": usd})
    a, b = plan(made, TABLE).due

    assert (a.known, a.usual_usd, a.there, a.missing) == (3, 3.0, 3, 2)
    assert a.usd == 6.0
    assert b.usd is None
    told = plan(made, TABLE)
    assert any("unknown; at least $6.00" in line for line in lines(told))
    assert [row[-1] for row in rows(told)] == [
        "$6.00 (median $3.00 of 3 earlier runs)", "unknown",
    ]  # fmt: skip


def test_earlier_runs_of_any_board_count_for_cost_and_time_but_not_as_done(
    tmp_path: Path, made: Work
) -> None:
    other = works(tmp_path, board="day", contenders=[contender(model="a")])
    put_run(other, cells(other.sweep, other.hashes())[0])
    put_run(other, cells(other.sweep, other.hashes())[0], told={"harness": "floor"})
    a, _ = plan(made, TABLE).due

    assert (a.there, a.known, a.usual_usd, a.usual_seconds) == (0, 1, 3.0, 30.0)


def test_a_sweep_that_is_done_costs_nothing_more(made: Work) -> None:
    for cell in cells(made.sweep, made.hashes()):
        put_run(made, cell)
    told = plan(made, PriceTable())

    assert (told.missing, told.usd, told.most_seconds) == (0, 0.0, 0.0)


def test_a_model_without_a_price_and_without_a_told_cost_is_unknown(made: Work) -> None:
    put_run(made, cells(made.sweep, made.hashes())[0])
    assert plan(made, PriceTable()).usd is None


def test_time_is_what_the_busiest_provider_and_all_slots_allow(tmp_path: Path, made: Work) -> None:
    # Five cells of 60 s at four slots, five at two.
    assert plan(made, TABLE).most_seconds == 150.0
    narrow = works(tmp_path, contenders=[contender()], attempts=5, max_parallel=1)
    assert plan(narrow, TABLE).most_seconds == 300.0
    assert plan(narrow, TABLE).parallel == 1
    wide = works(tmp_path, contenders=[contender()], attempts=2, slots={"here": 9})
    assert plan(wide, TABLE).most_seconds == 60.0, "no session takes less than its own time"
    gpus = {"kind": "local", "gpus": ["GPU-a"]}
    on_one = works(tmp_path, contenders=[contender()], attempts=2, executor=gpus, hardware="h")
    assert plan(on_one, TABLE).most_seconds == 120.0


def test_usual_time_needs_earlier_runs_of_all_that_is_missing(made: Work) -> None:
    wanted = cells(made.sweep, made.hashes())
    put_run(made, next(cell for cell in wanted if cell.contender.model == "a"))
    assert plan(made, TABLE).usual_seconds is None
    put_run(made, next(cell for cell in wanted if cell.contender.model == "b"))
    assert plan(made, TABLE).usual_seconds == 60.0


def test_surplus_and_what_cannot_be_read_are_told(made: Work) -> None:
    cell = cells(made.sweep, made.hashes())[0]
    for _ in range(6):
        put_run(made, cell)
    bad = put_run(made, cell)
    (bad / "run.json").write_text("{")
    text = "\n".join(lines(plan(made, TABLE)))

    assert "there beyond the attempts that are asked for: 1 run" in text
    assert f"not counted: {bad / 'run.json'}" in text


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111])
def test_a_board_that_cannot_be_read_ends_no_plan_of_another(made: Work, mode: int) -> None:
    for cell in cells(made.sweep, made.hashes())[:2]:
        put_run(made, cell)
    other = made.places.runs / "other"
    (other / "20260102_030405_x_y_z").mkdir(parents=True)
    (other / "20260102_030405_x_y_z" / "run.json").write_text("{}")
    with shut(other, mode=mode):
        assert sum(one.there for one in plan(made, TABLE).due) == 2


def test_a_plan_is_plain_data_for_scripts(made: Work) -> None:
    data = json.loads(json.dumps(as_data(plan(made, TABLE))))
    assert [one["missing"] for one in data["contenders"]] == [5, 5]
    assert data["contenders"][1]["provider"] == "there"


def test_the_table_of_a_plan_has_a_row_for_each_contender(made: Work) -> None:
    put_run(made, cells(made.sweep, made.hashes())[0])
    told = rows(plan(made, TABLE))

    assert all(len(row) == len(HEADINGS) for row in told)
    assert sorted(row[3] for row in told) == ["0", "1"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7500, "2 h 05 min")]
)
def test_times_are_told_in_hours_and_minutes(seconds: float, words: str) -> None:
    assert duration(seconds) == words
