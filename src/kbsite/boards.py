"""Runs to boards: which runs belong together, which attempt a cell shows, what a row adds up to.

The only module that knows pandas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from kbsite.model.board import (
    Attempt,
    Board,
    Cell,
    Column,
    Due,
    FloorRow,
    Refusal,
    Row,
    Scores,
    Tally,
)
from kbsite.model.config import BoardConfig, Represents
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.run import Contender, Run
from kbsite.model.status import Status

T = TypeVar("T", str | None, float | None)


def board(
    config: BoardConfig,
    attempts: Sequence[Attempt],
    floors: Iterable[Floor] = (),
    problem_hashes: Mapping[str, str] | None = None,
    known: KnownScores | None = None,
) -> Board:
    """The board that `attempts` make. `problem_hashes` holds the problems as they are today.

    What is `known` is not compared again; what the board needs of it is last in it afterwards.

    Runs whose problem hash, hardware or budget is not the board's are refused and named.
    """
    present = problem_hashes or {}
    common = _common(config, attempts, present)
    kept, refused = _sorted_out(config, attempts, common)
    named = config.deck or sorted({attempt.run.problem for attempt in kept})
    deck = tuple(dict.fromkeys(named))
    table = _table(kept, config.represents, {} if known is None else known)
    columns = _columns(table, deck)
    held = [floor for floor in floors if floor.problem in deck and _floor_fits(floor, common)]
    return Board(
        config=config,
        hardware=common.hardware,
        budget_seconds=common.budget_seconds,
        problem_hashes=tuple(common.problem_hashes.get(problem) for problem in deck),
        columns=columns,
        rows=_rows(table, columns, held, config),
        floors=_floor_rows(held, deck),
        refused=tuple(refused),
    )


KnownScores = dict[str, Scores]
"""What comparing cells said, by the digest of the cells."""


@dataclass(frozen=True, slots=True)
class _Common:
    """What all runs of a board have in common."""

    hardware: str | None
    budget_seconds: float | None
    problem_hashes: Mapping[str, str | None]


def _common(
    config: BoardConfig, attempts: Sequence[Attempt], present: Mapping[str, str]
) -> _Common:
    runs = [attempt.run for attempt in attempts]
    problems = sorted({run.problem for run in runs}.union(config.deck))
    hashes = {problem: present.get(problem) or _most_had(runs, problem) for problem in problems}
    # What is not in the deck has no say in what the deck's runs have in common.
    voters = [run for run in runs if not config.deck or run.problem in config.deck]
    hardware, budget = config.hardware, config.budget_seconds
    if hardware is None:
        hardware = _most([run.hardware for run in voters])
    if budget is None:
        budget = _most([run.budget_seconds for run in voters])
    return _Common(hardware, budget, hashes)


def _most_had(runs: Sequence[Run], problem: str) -> str | None:
    return _most([run.problem_hash for run in runs if run.problem == problem])


def _most(values: Sequence[T]) -> T | None:
    """The value that most runs have; of equally frequent ones the first in order, None last."""
    if not values:
        return None
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value is None, str(value)))


def _sorted_out(
    config: BoardConfig, attempts: Sequence[Attempt], common: _Common
) -> tuple[list[Attempt], list[Refusal]]:
    kept: list[Attempt] = []
    refused: list[Refusal] = []
    for attempt in attempts:
        reasons = _differences(attempt, common)
        if config.deck and attempt.run.problem not in config.deck:
            reasons.append(f"its problem {attempt.run.problem} is not in the deck")
        if reasons:
            refused.append(Refusal(attempt.run.id, "; ".join(reasons)))
        else:
            kept.append(attempt)
    return kept, refused


def _differences(attempt: Attempt, common: _Common) -> list[str]:
    run = attempt.run
    pairs = [
        ("problem hash", run.problem_hash, common.problem_hashes[run.problem]),
        ("hardware", run.hardware, common.hardware),
        ("budget in seconds", run.budget_seconds, common.budget_seconds),
    ]
    return [
        f"its {name} is {_told(got)}, the board's is {_told(expected)}"
        for name, got, expected in pairs
        if got != expected
    ]


def _told(value: str | float | None) -> str:
    if value is None:
        return "not recorded"
    return f"{value:.15g}" if isinstance(value, int | float) else value


@dataclass(frozen=True, slots=True)
class _Table:
    """The cells, and what comparing their scores says."""

    tried: Mapping[tuple[Contender, str], tuple[Attempt, ...]]
    shown: Mapping[tuple[Contender, str], Attempt]
    contenders: tuple[Contender, ...]
    """In order of their first runs."""
    scores: Scores


def _table(attempts: Sequence[Attempt], rule: Represents, known: KnownScores) -> _Table:
    held: dict[tuple[Contender, str], list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: attempt.run.order):
        held.setdefault((attempt.run.contender, attempt.run.problem), []).append(attempt)
    tried = {key: tuple(own) for key, own in held.items()}
    shown = {key: _shown(own, rule) for key, own in tried.items()}
    # By number: two contenders may have the same label.
    numbers = {who: n for n, who in enumerate(dict.fromkeys(who for who, _ in shown))}
    return _Table(tried, shown, tuple(numbers), _scores(shown, numbers, known))


def _scores(
    shown: Mapping[tuple[Contender, str], Attempt],
    numbers: Mapping[Contender, int],
    known: KnownScores,
) -> Scores:
    held = [attempt.counted_score for attempt in shown.values()]
    if all(score is None for score in held):
        return Scores()
    cells = [(numbers[who], problem, shown[who, problem].counted_score) for who, problem in shown]
    made_of = sha256(repr(cells).encode("utf-8", "surrogateescape")).hexdigest()
    known[made_of] = found = known.pop(made_of, None) or _compared(cells)
    return found


def _compared(cells: Sequence[tuple[int, str, float | None]]) -> Scores:
    # It takes longer to import than many a site takes to build.
    import pandas as pd

    figures = pd.DataFrame(
        {
            "contender": [contender for contender, _, _ in cells],
            "problem": [problem for _, problem, _ in cells],
            "score": pd.Series([score for _, _, score in cells], dtype=float),
        }
    )
    scored = figures.dropna(subset=["score"])
    best = scored.groupby("problem")["score"].idxmax()
    sums = figures.groupby("contender")["score"].sum()
    return Scores(
        best={str(problem): int(cell) for problem, cell in best.items()},
        sums={int(str(number)): float(total) for number, total in sums.items()},
    )


def _shown(tried: tuple[Attempt, ...], rule: Represents) -> Attempt:
    graded = [attempt for attempt in tried if attempt.metrics.status.attempted]
    valid = graded or list(tried)
    match rule:
        case Represents.FIRST:
            return valid[0]
        case Represents.LATEST:
            return valid[-1]
        case Represents.BEST:
            return max(valid, key=_goodness)


def _goodness(attempt: Attempt) -> tuple[bool, bool, float]:
    """What counts is better than what a verdict takes out, however high that is."""
    return attempt.counts, attempt.metrics.status is Status.PASSED, attempt.score or 0


def _tally(cells: Sequence[Attempt], size: int) -> Tally:
    attempted = sum(attempt.metrics.status.attempted for attempt in cells)
    counting = [attempt.metrics.status for attempt in cells if attempt.counts]
    return Tally(
        attempted=attempted,
        passed=counting.count(Status.PASSED),
        missing=size - attempted,
        taken_out=len(cells) - len(counting),
    )


def _columns(table: _Table, deck: Sequence[str]) -> tuple[Column, ...]:
    cells = list(table.shown.values())
    columns = []
    for problem in deck:
        own = [attempt for attempt in cells if attempt.run.problem == problem]
        best = cells[table.scores.best[problem]] if problem in table.scores.best else None
        columns.append(Column(problem=problem, tally=_tally(own, len(table.contenders)), best=best))
    return tuple(columns)


def _rows(
    table: _Table, columns: Sequence[Column], floors: Sequence[Floor], config: BoardConfig
) -> tuple[Row, ...]:
    eager = {f.problem: f.peak_fraction for f in floors if f.kind is FloorKind.EAGER}
    sums: dict[Contender, float] = {}
    shown: dict[Contender, list[Attempt]] = {contender: [] for contender in table.contenders}
    for (contender, _), attempt in table.shown.items():
        shown[contender].append(attempt)
    rows = []
    for number, (contender, own) in enumerate(shown.items()):
        sums[contender] = table.scores.sums.get(number, 0.0)
        cells = [
            _cell(
                table, (contender, column.problem), eager.get(column.problem), column.best, config
            )
            for column in columns
        ]
        rows.append(Row(contender=contender, cells=tuple(cells), tally=_tally(own, len(columns))))
    rows.sort(key=lambda row: (-row.tally.passed, -sums[row.contender], row.contender.label))
    return tuple(rows)


def _cell(
    table: _Table,
    key: tuple[Contender, str],
    eager: float | None,
    best: Attempt | None,
    config: BoardConfig,
) -> Cell | None:
    shown = table.shown.get(key)
    if shown is None:
        return None
    score = shown.counted_score
    return Cell(
        attempts=table.tried[key],
        shown=shown,
        below_floor=score is not None and eager is not None and score < eager,
        due=tuple(_due(shown, best, config.audit_threshold)),
    )


def _due(shown: Attempt, best: Attempt | None, threshold: float) -> Iterator[Due]:
    """Why an attempt has to be audited. One that was audited stays due, whatever came of it."""
    if shown.score is not None and shown.score >= threshold:
        yield Due.HIGH
    if shown is best:
        yield Due.BEST
    if shown.flagged:
        yield Due.FLAGGED


def _floor_fits(floor: Floor, common: _Common) -> bool:
    if floor.hardware not in (None, common.hardware):
        return False
    return floor.problem_hash in (None, common.problem_hashes.get(floor.problem))


def _floor_rows(floors: Sequence[Floor], deck: Sequence[str]) -> tuple[FloorRow, ...]:
    rows = []
    for kind in FloorKind:
        by_problem = {floor.problem: floor for floor in floors if floor.kind is kind}
        if by_problem:
            rows.append(FloorRow(kind=kind, floors=tuple(by_problem.get(p) for p in deck)))
    return tuple(rows)
