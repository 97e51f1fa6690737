"""results.csv of the published KernelBench v3 boards, as typed rows.

A row that is not as it has to be is an error with file, line and column; the others stand.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import TypeVar

from kbsite.errors import InputError
from kbsite.importers.run_ids import is_safe
from kbsite.model.finding import one_line, short
from kbsite.model.slugs import SLUG_RULE, is_slug, slug
from kbsite.store.parsing import invalid, read_text

LIMIT = 64_000_000
"""The published table has half a megabyte."""

T = TypeVar("T", int, float)

COLUMNS = (
    "model", "gpu", "level", "problem", "compiled", "correct", "speedup", "ref_ms", "sol_ms",
    "turns", "total_tokens", "estimated_cost_usd", "op_type", "baseline_type", "precision_used",
    "run_dir", "solution_link", "baseline_link",
)  # fmt: skip

_LONGEST = 300
_LARGEST = 2**53
_BATCH = re.compile(r"run_([0-9]{8}_[0-9]{6})")
_WHOLE = re.compile(r"[0-9]{1,15}")
_REAL = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One evaluation. None where the table's field is empty."""

    line: int
    model: str
    gpu: str
    level: int
    file: str
    """The problem, as the table names it: a file."""
    problem: str
    """The same as the id of a problem."""
    compiled: bool
    correct: bool
    speedup: float | None
    ref_ms: float | None
    sol_ms: float | None
    turns: int | None
    tokens: int | None
    cost_usd: float | None
    kind: str
    """`op_type`; empty where nobody says."""
    baseline: str
    precision: str
    stamp: str
    """When the batch began that the evaluation belongs to, as ids of runs have it."""
    solution: str
    """Where the solution was published."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table, and what is wrong with the others."""

    rows: tuple[Row, ...]
    errors: tuple[InputError, ...]


def read_table(path: Path) -> Table:
    """The table in a file; InvalidFileError where it is none, or lacks a column."""
    text = read_text(path, LIMIT).removeprefix("\ufeff")
    rows: list[Row] = []
    errors: list[InputError] = []
    for record in _records(path, text):
        if isinstance(record, InputError):
            errors.append(record)
            continue
        try:
            rows.append(_row(record))
        except _WrongFieldError as error:
            errors.append(record.error(error))
    named = list(_same_name(path, rows))
    errors += [one for one in named if isinstance(one, InputError)]
    return Table(
        rows=tuple(one for one in named if isinstance(one, Row)),
        errors=tuple(sorted(errors, key=lambda error: error.line or 0)),
    )


def problem_id(file: str) -> str:
    """The id of a problem: its file's name without `.py` and outer underscores, in small letters.

    Ids stand in addresses, which some file systems know in one case only.
    """
    return file.removesuffix(".py").strip("_").lower()


class _WrongFieldError(Exception):
    def __init__(self, column: str | None, message: str) -> None:
        self.column, self.message = column, message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Record:
    """A line of the table, column by column."""

    path: Path
    line: int
    fields: Mapping[str, str]
    count: int
    """How many fields it has."""
    expected: int

    def error(self, wrong: _WrongFieldError) -> InputError:
        message = f"{wrong.message}; the row is left out"
        return InputError(one_line(message), path=self.path, line=self.line, key=wrong.column)

    def text(self, column: str) -> str:
        """What a column says; empty where it says nothing."""
        value = self.fields[column].strip()
        if len(value) > _LONGEST:
            raise _WrongFieldError(column, f"expected at most {_LONGEST} characters")
        if not value.isprintable():
            raise self._wrong(column, "printable text on one line")
        return value

    def named(self, column: str) -> str:
        """What a column says, which has to say something."""
        value = self.text(column)
        if not value:
            raise _WrongFieldError(column, "empty; expected a name")
        return value

    def flag(self, column: str) -> bool:
        """A column that says True or False."""
        value = self.text(column)
        if value not in ("True", "False"):
            raise self._wrong(column, "True or False")
        return value == "True"

    def whole(self, column: str) -> int | None:
        """A whole number from 0 up."""
        return self._number(column, _WHOLE, int, "a whole number from 0 up, or nothing")

    def real(self, column: str) -> float | None:
        """A number from 0 up."""
        return self._number(column, _REAL, float, "a finite number from 0 up, or nothing")

    def time(self, column: str) -> float | None:
        """A number above 0."""
        value = self.real(column)
        if value == 0:
            raise self._wrong(column, "a number above 0, or nothing")
        return value

    def _number(
        self, column: str, form: re.Pattern[str], read: Callable[[str], T], expected: str
    ) -> T | None:
        text = self.text(column)
        if not text:
            return None
        value = read(text) if form.fullmatch(text) else None
        if value is None or not isfinite(value) or value >= _LARGEST:
            raise self._wrong(column, expected)
        return value

    def _wrong(self, column: str, expected: str) -> _WrongFieldError:
        return _WrongFieldError(column, f"expected {expected}, got {short(self.fields[column])!r}")


def _records(path: Path, text: str) -> Iterator[_Record | InputError]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    # A field of anybody's table is at most as long as the table.
    csv.field_size_limit(LIMIT)
    last, head = 0, None
    while True:
        line = last + 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            message = f"not valid CSV: {error}; the row is left out"
            yield InputError(one_line(message), path=path, line=line)
            values = []
        last = reader.line_num
        if values is None:
            break
        if head is None:
            head = _head(path, values)
        elif values:
            fields = dict(zip(head, values, strict=False))
            yield _Record(path, line, fields, len(values), len(head))
    if head is None:
        raise invalid(f"empty; expected a table with the columns {', '.join(COLUMNS)}", path)


def _head(path: Path, values: Sequence[str]) -> list[str]:
    names = [value.strip() for value in values]
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        message = f"lacks the columns {', '.join(missing)}; expected the table of KernelBench v3"
        raise invalid(message, path, line=1)
    twice = [name for name in COLUMNS if names.count(name) > 1]
    if twice:
        raise invalid(f"has the columns {', '.join(twice)} twice", path, line=1)
    return names


def _row(record: _Record) -> Row:
    if record.count != record.expected:
        message = f"has {record.count} fields; expected {record.expected}, as the head has"
        raise _WrongFieldError(None, message)
    compiled, correct = record.flag("compiled"), record.flag("correct")
    if correct and not compiled:
        raise _WrongFieldError("correct", "True, but it did not compile; expected False")
    return Row(
        line=record.line,
        model=record.named("model"),
        gpu=_gpu(record),
        level=_level(record),
        file=record.named("problem"),
        problem=_problem(record),
        compiled=compiled,
        correct=correct,
        speedup=record.time("speedup"),
        ref_ms=record.time("ref_ms"),
        sol_ms=record.time("sol_ms"),
        turns=record.whole("turns"),
        tokens=record.whole("total_tokens"),
        cost_usd=record.real("estimated_cost_usd"),
        kind=record.text("op_type"),
        baseline=record.text("baseline_type"),
        precision=record.text("precision_used"),
        stamp=_stamp(record),
        solution=record.text("solution_link"),
    )


def _gpu(record: _Record) -> str:
    value = record.named("gpu")
    if slug(value) != value.lower():
        raise _WrongFieldError("gpu", f"expected a name as H100, got {value!r}")
    return value


def _level(record: _Record) -> int:
    level = record.whole("level")
    if not level or level > 99:
        raise _WrongFieldError("level", f"expected 1 to 99, got {record.text('level')!r}")
    return level


def _problem(record: _Record) -> str:
    problem = problem_id(record.named("problem"))
    if not (is_slug(problem) and is_safe(problem)):
        raise _WrongFieldError("problem", f"{SLUG_RULE}, got {record.text('problem')!r}")
    return problem


def _stamp(record: _Record) -> str:
    value = record.text("run_dir")
    if found := _BATCH.fullmatch(value):
        try:
            datetime.strptime(found[1], "%Y%m%d_%H%M%S")
        except ValueError:
            found = None
    if found is None:
        expected = "run_ and a moment, as run_20260102_030405"
        raise _WrongFieldError("run_dir", f"expected {expected}, got {value!r}")
    return found[1]


def _same_name(path: Path, rows: Sequence[Row]) -> Iterator[InputError | Row]:
    """The rows, with an error for each whose problem is called like another file's."""
    first: dict[str, Row] = {}
    for row in rows:
        known = first.setdefault(row.problem, row)
        if known.file == row.file:
            yield row
        else:
            message = (
                f"{row.file!r} would be the problem {row.problem!r}, as {known.file!r} in line"
                f" {known.line} is; the row is left out"
            )
            yield InputError(one_line(message), path=path, line=row.line, key="problem")
