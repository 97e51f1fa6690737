"""Tables of runs: what a spreadsheet and a program read of them."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import pytest
from arro3.io import read_parquet
from msgspec.structs import replace

from kbsite.feeds import parquet, table
from kbsite.model.listing import ListedRun
from kbsite.model.status import EndReason, Status
from kbsite.model.usage import Usage

RUN = ListedRun(
    id="r1", page="runs/r1/index.html", board="demo", on_board=True, problem="softmax",
    harness="claude", model="opus-x", effort=None, variant=None, hardware="gpu-a",
    status=Status.PASSED, peak_fraction=0.42, interval=(0.4, 0.44), ms=1.5, verdict=None,
    counts=True, end_reason=EndReason.FINISHED, cut=False,
    started=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), seconds=90, cost_usd=None, estimate_usd=0.5,
    cost_is_estimate=False, estimate_is_least=True,
    usage=Usage(input=10, output=20), attempt=1, attempts=2,
)  # fmt: skip

FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
"""What a formula of some spreadsheet starts with."""


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def line(run: ListedRun) -> str:
    return table.csv_text([table.csv_line(table.row(run))])


def parquet_rows(data: bytes) -> list[dict[str, object]]:
    held = read_parquet(io.BytesIO(data)).read_all()
    columns = [held[name].to_pylist() for name in held.column_names]
    return [dict(zip(held.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def test_each_run_is_a_row_and_what_nobody_knows_is_empty() -> None:
    (row,) = read(line(RUN))

    assert list(row) == list(table.COLUMNS)
    assert row["id"] == "r1"
    assert row["status"] == "passed"
    assert (row["interval_low"], row["interval_high"]) == ("0.4", "0.44")
    assert (row["on_board"], row["cut"], row["counts"], row["ms"]) == (
        "true",
        "false",
        "true",
        "1.5",
    )
    assert row["started"] == "2026-01-02T03:04:05.000000Z"
    assert (row["input_tokens"], row["reasoning_tokens"]) == ("10", "")
    assert (row["effort"], row["verdict"], row["cost_usd"]) == ("", "", "")


@pytest.mark.parametrize("start", FORMULA)
def test_no_spreadsheet_runs_what_a_run_is_called(start: str) -> None:
    (row,) = read(line(replace(RUN, model=f'{start}HYPERLINK("x")')))

    assert not row["model"].startswith(tuple(FORMULA))


def test_quotes_commas_and_line_ends_stay_within_a_cell() -> None:
    hostile = 'a",b\nc\x00\u202e\udcff'
    (row,) = read(line(replace(RUN, variant=hostile)))

    assert row["variant"].startswith('a",b\nc')
    assert not {"\x00", "\u202e", "\udcff"} & set(row["variant"])
    assert row["hardware"] == "gpu-a"


@pytest.mark.parametrize(("moment", "hours"), [(datetime.min, 14), (datetime.max, -14)])
def test_a_time_that_utc_has_no_date_for_is_told(moment: datetime, hours: int) -> None:
    """One such run took all tables, the feed and site.json from the site."""
    started = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    (row,) = read(line(replace(RUN, started=started)))

    assert row["started"] == moment.isoformat(timespec="microseconds") + "Z"


def test_moments_have_one_form_as_pandas_needs_it() -> None:
    """One run that began within a second left the column text, and to_datetime failed."""
    moments = [RUN.started, datetime(2026, 1, 2, 3, 4, 5, 500_000, tzinfo=UTC)]
    text = table.csv_text([table.csv_line(table.row(replace(RUN, started=m))) for m in moments])
    column = pd.read_csv(io.StringIO(text), parse_dates=["started"])["started"]

    assert column.tolist() == moments


def test_a_file_of_parquet_holds_the_same_and_comes_out_the_same() -> None:
    held = [table.row(RUN), table.row(replace(RUN, id="=r2", effort="max", seconds=1.5))]
    rows = [[*one.values()] for one in held]
    data = parquet.parquet(rows)

    assert data == parquet.parquet(rows)
    assert parquet_rows(data) == [{**one, "started": RUN.started} for one in held]


def test_moments_in_parquet_are_moments_which_put_themselves_in_order() -> None:
    """As text, half a second later stood before the second."""
    later = datetime(2026, 1, 2, 3, 4, 5, 500_000, tzinfo=UTC)
    held = [later, None, RUN.started, datetime.max.replace(tzinfo=UTC)]
    rows = [[*table.row(replace(RUN, started=one)).values()] for one in held]

    assert [row["started"] for row in parquet_rows(parquet.parquet(rows))] == held


def test_a_site_without_runs_has_tables_with_columns_alone() -> None:
    assert table.csv_text([]).strip() == ",".join(table.COLUMNS)
    assert parquet_rows(parquet.parquet([])) == []
