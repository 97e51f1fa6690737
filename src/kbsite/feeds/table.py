"""Every run as a row of a table: data/runs.csv, and the columns of data/runs.parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum

from kbsite.model.listing import ListedRun
from kbsite.model.usage import Usage
from kbsite.text import visible

Value = str | int | float | bool | None

Row = Mapping[str, Value]

TEXT, WHOLE, NUMBER, TRUTH, MOMENT = "text", "whole", "number", "truth", "moment"

COLUMNS: Mapping[str, str] = {
    "id": TEXT, "page": TEXT, "board": TEXT, "on_board": TRUTH, "problem": TEXT, "harness": TEXT,
    "model": TEXT, "effort": TEXT, "variant": TEXT, "hardware": TEXT, "status": TEXT,
    "peak_fraction": NUMBER, "interval_low": NUMBER, "interval_high": NUMBER, "ms": NUMBER,
    "verdict": TEXT, "counts": TRUTH, "end_reason": TEXT, "cut": TRUTH, "started": MOMENT,
    "seconds": NUMBER, "cost_usd": NUMBER, "cost_is_estimate": TRUTH, "estimate_usd": NUMBER,
    "estimate_is_least": TRUTH,
    "input_tokens": WHOLE, "cache_read_tokens": WHOLE, "cache_write_tokens": WHOLE,
    "cache_write_1h_tokens": WHOLE,
    "output_tokens": WHOLE, "reasoning_tokens": WHOLE, "attempt": WHOLE, "attempts": WHOLE,
}  # fmt: skip
"""The columns in order, with the kind of value that each holds; what is not known is empty.

A row tells a moment as text, in UTC.
"""

_KINDS = tuple(kind.name for kind in fields(Usage))

_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""What a text starts with that a spreadsheet would run; the wide signs of East Asian ones too."""


def row(run: ListedRun) -> Row:
    """The value of each of COLUMNS for a run, texts with what is invisible made plain."""
    low, high = run.interval or (None, None)
    held: dict[str, object] = {
        "interval_low": low,
        "interval_high": high,
        **{f"{kind}_tokens": getattr(run.usage, kind) for kind in _KINDS},
    }
    return {name: _value(held.get(name, getattr(run, name, None))) for name in COLUMNS}


def _value(value: object) -> Value:
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return str(value.value)
        case datetime():
            return moment(value)
        case _:
            return visible(str(value))


def moment(when: datetime) -> str:
    """A time as every table and list of runs tells it; of several forms pandas reads none."""
    return in_utc(when).isoformat(timespec="microseconds").replace("+00:00", "Z")


def in_utc(when: datetime) -> datetime:
    """A time in UTC, in which a row or an entry tells it.

    The first and the last day that there is have hours in other zones that UTC has no date for:
    those are told as if they were of UTC.
    """
    if when.tzinfo is UTC:
        return when
    try:
        return when.astimezone(UTC)
    except OverflowError:
        return when.replace(tzinfo=UTC)


def csv_text(lines: Iterable[str]) -> str:
    """Lines of CSV (RFC 4180) as a file, with a first line that names the columns."""
    return "".join([_line(COLUMNS), *lines])


def csv_line(row: Row) -> str:
    """A row as a line of CSV.

    A text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    return _line(_written(row[name]) for name in COLUMNS)


def csv_rows(text: str) -> list[list[str]]:
    """The lines of a table of CSV, the names of its columns first; no text is ever no CSV."""
    # A text of a run may be longer than what the library takes for the most.
    csv.field_size_limit(max(len(text), csv.field_size_limit()))
    return list(csv.reader(io.StringIO(text, newline="")))


def _line(values: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(values)
    return out.getvalue()


def _written(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else value
        case _:
            return repr(value)
