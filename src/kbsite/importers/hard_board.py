"""leaderboard.json of the published KernelBench Hard board, as typed records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from kbsite.errors import InputError
from kbsite.model.slugs import slug
from kbsite.store.records import InvalidFileError, json_record, line_of, record

LEADERBOARD = "leaderboard.json"

T = TypeVar("T")

_LARGEST = 2**53
_MARK = re.compile(r" \[([^\[\]]*)\]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The one machine of the board."""

    name: str
    vram_gb: float | None = None
    peak_bandwidth_gb_s: float | None = None

    @property
    def id(self) -> str:
        """Its name as a slug, without the word for the case that the card is built for."""
        return slug(self.name).removesuffix("-workstation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The one run of a row on a problem."""

    run_id: str
    correct: bool
    has_solution: bool
    peak_fraction: float | None
    elapsed_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A contender, as published."""

    label: str
    harness: str
    model: str
    effort: str
    cells: Mapping[str, Cell]
    pass_count: int | None = None
    total_runs: int | None = None

    @property
    def marks(self) -> list[str]:
        """What stands in brackets at the end of the label, last one first."""
        found, rest = [], self.label
        while match := _MARK.search(rest):
            found.append(match[1])
            rest = rest[: match.start()]
        return found

    @property
    def name(self) -> str:
        """The label without what stands in brackets at its end."""
        rest = self.label
        while match := _MARK.search(rest):
            rest = rest[: match.start()]
        return rest

    @property
    def variant(self) -> str | None:
        """What the brackets tell beside the effort."""
        others = [mark for mark in reversed(self.marks) if mark and mark != self.effort]
        return " ".join(others) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One place in a problem's published ranking."""

    model: str
    peak_fraction: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the published board counts of a problem."""

    n_attempted: int | None = None
    n_passed: int | None = None
    best_peak_fraction: float | None = None
    best_model: str | None = None
    ranked_passes: tuple[Rank, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The published board. `text` is the file itself, to find lines in."""

    hardware: Hardware
    problems: tuple[str, ...]
    rows: tuple[Row, ...]
    tallies: Mapping[str, Tally]
    text: str

    def line(self, name: str, value: str) -> int | None:
        """The first line in which a key has this text as its value."""
        for form in (json.dumps(value, ensure_ascii=False), json.dumps(value)):
            found = re.search(rf'"{re.escape(name)}"\s*:\s*{re.escape(form)}', self.text)
            if found:
                return self.text.count("\n", 0, found.start()) + 1
        return None

    def place(self, row: Row, problem: str | None = None) -> dict[str, Any]:
        """Line and key of a row, or of its cell on a problem, as keywords of an Oddity."""
        key = f"models[{self.rows.index(row)}]"
        if problem is None:
            return {"line": self.line("label", row.label), "key": key}
        line = self.line("run_id", row.cells[problem].run_id)
        return {"line": line, "key": f"{key}.results.{problem}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema_version: Literal[1]
    hardware: Hardware
    problems: tuple[str, ...]
    models: tuple[Mapping[str, object], ...]
    per_problem: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    label: str
    harness: str
    model: str
    effort: str | None
    results: Mapping[str, Mapping[str, object]]
    pass_count: int | None = None
    total_runs: int | None = None


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    text: str

    def record(self, data: Mapping[str, object], kind: type[T], place: str) -> T:
        """The record at a place of the file; InvalidFileError names the whole way to the key."""
        try:
            found = record(data, kind, self.path, self.text)
        except InvalidFileError as error:
            raise InvalidFileError(
                [self.error(f"{place}.{one.key}", one.message) for one in error.errors]
            ) from error
        self.sound(found, f"{place}.")
        return found

    def sound(self, held: object, prefix: str) -> None:
        """InvalidFileError where a record has numbers or text that nobody could have meant."""
        for name, value in _values(held):
            if reason := _unsound(value):
                raise InvalidFileError([self.error(f"{prefix}{name}", reason)])

    def error(self, key: str, message: str) -> InputError:
        """What is wrong with the value of a key."""
        return InputError(message, path=self.path, line=line_of(self.text, f".{key}"), key=key)


def read_leaderboard(path: Path) -> Leaderboard:
    """The board in a file; InvalidFileError names what is wrong, with line and key."""
    document = json_record(path, _Document)
    file = _File(path, path.read_text("utf-8-sig"))
    file.sound(document, "")
    file.sound(document.hardware, "hardware.")
    tallies = {
        problem: file.record(data, Tally, f"per_problem.{problem}")
        for problem, data in document.per_problem.items()
    }
    return Leaderboard(
        hardware=document.hardware,
        problems=document.problems,
        rows=tuple(_row(data, file, f"models[{n}]") for n, data in enumerate(document.models)),
        tallies=tallies,
        text=file.text,
    )


def _row(data: Mapping[str, object], file: _File, place: str) -> Row:
    row = file.record(data, _Row, place)
    cells = {
        problem: file.record(cell, Cell, f"{place}.results.{problem}")
        for problem, cell in row.results.items()
    }
    for name in ("label", "harness", "model"):
        if not getattr(row, name):
            message = "expected text, got an empty one"
            raise InvalidFileError([file.error(f"{place}.{name}", message)])
    return Row(
        label=row.label, harness=row.harness, model=row.model, effort=row.effort or "",
        cells=cells, pass_count=row.pass_count, total_runs=row.total_runs,
    )  # fmt: skip


def _values(held: object) -> Iterator[tuple[str, object]]:
    for item in fields(held):  # type: ignore[arg-type]
        value = getattr(held, item.name)
        for one in value if isinstance(value, tuple | dict) else (value,):
            yield item.name, one


def _unsound(value: object) -> str | None:
    if isinstance(value, int | float) and not 0 <= value < _LARGEST:
        return f"expected a finite number from 0 up, got {value}"
    return None
