"""Runs to boards: which runs belong together, which attempt a cell shows, what a row adds up to.

The only module that knows pandas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import inf, isnan
from typing import TypeVar

from msgspec import Struct

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

    What is `known` is not compared again.

    Runs whose problem hash, hardware or budget is not the board's are refused and named.
    """
    present = problem_hashes or {}
    common = _common(config, attempts, present)
    kept, refused = _sorted_out(config, attempts, common)
    named = config.problems or sorted({attempt.run.problem for attempt in kept})
    deck = tuple(dict.fromkeys(named))
    table = _table(kept, config.represents, known or KnownScores())
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


class KnownScores:
    """What the scores of rows and columns say, by their digest, so that none is compared twice."""

    def __init__(self, told: Mapping[str, int] | None = None) -> None:
        self.asked: dict[str, int] = {}
        """What boards asked for: all that the next build needs."""
        self._told = told or {}

    def of(self, what: str, lines: Sequence[Line], compare: Compare) -> list[int]:
        """What each line says; those of which that is not known are compared."""
        told = (repr((what, line)).encode() for line in lines)
        digests = [sha256(line).hexdigest() for line in told]
        new = [at for at, made_of in enumerate(digests) if made_of not in self._told]
        made = dict(zip(new, compare([lines[at] for at in new]), strict=True)) if new else {}
        said = [
            made[at] if at in made else self._told[made_of] for at, made_of in enumerate(digests)
        ]
        self.asked.update(zip(digests, said, strict=True))
        return said


Line = Sequence[float | None]
"""The scores that count of a row or a column; None for a cell without one."""

Compare = Callable[[Sequence[Line]], list[int]]


class _Common(Struct, frozen=True):
    """What all runs of a board have in common."""

    hardware: str | None
    budget_seconds: float | None
    problem_hashes: Mapping[str, str | None]


def _common(
    config: BoardConfig, attempts: Sequence[Attempt], present: Mapping[str, str]
) -> _Common:
    runs = [attempt.run for attempt in attempts]
    problems = sorted({run.problem for run in runs}.union(config.problems))
    hashes = {problem: present.get(problem) or _most_had(runs, problem) for problem in problems}
    # What is not in the deck has no say in what the deck's runs have in common.
    voters = [run for run in runs if not config.problems or run.problem in config.problems]
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
        if config.problems and attempt.run.problem not in config.problems:
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
    differ = [
        f"its {name} is {_told(got)}, the board's is {_told(expected)}"
        for name, got, expected in pairs
        if got != expected
    ]
    graded, present = attempt.metrics.problem_hash, common.problem_hashes[run.problem]
    if not differ and None not in (graded, present) and graded != present:
        differ.append("its grade is of another version of its problem; grade it again")
    return differ


def _told(value: str | float | None) -> str:
    if value is None:
        return "not recorded"
    return f"{value:.15g}" if isinstance(value, int | float) else value


class _Table(Struct, frozen=True):
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
    rows: dict[int, list[float | None]] = {}
    columns: dict[str, list[float | None]] = {}
    cells: dict[str, list[int]] = {}
    for cell, ((who, problem), attempt) in enumerate(shown.items()):
        score = attempt.counted_score
        rows.setdefault(numbers[who], []).append(score)
        columns.setdefault(problem, []).append(score)
        cells.setdefault(problem, []).append(cell)
    sums = known.of("sum", [*rows.values()], sums_of)
    best = known.of("best", [*columns.values()], best_of)
    return Scores(
        best={p: cells[p][place] for p, place in zip(columns, best, strict=True) if place >= 0},
        sums=dict(zip(rows, sums, strict=True)),
    )


FEW = 300
"""Cells up to which pandas would take longer to import than the whole build takes."""


def sums_of(lines: Sequence[Line]) -> list[int]:
    """The sum of each line in billionths: whole numbers add up to the same in every order."""
    cells = _cells(lines)
    if len(cells) <= FEW:
        return [sum(map(_parts, line)) for line in lines]
    import pandas as pd

    parts = pd.Series([_parts(score) for _, _, score in cells], dtype="int64")
    return [int(total) for total in parts.groupby([at for at, _, _ in cells]).sum()]


def best_of(lines: Sequence[Line]) -> list[int]:
    """The place of the best score of each line, of equals the first; -1 where it has none."""
    cells = _cells(lines)
    if len(cells) <= FEW:
        return [_best(line) for line in lines]
    import pandas as pd

    scores = pd.Series([score for _, _, score in cells], dtype=float)
    scored = scores.dropna()
    best = scored.groupby([cells[number][0] for number in scored.index]).idxmax()
    places = {at: cells[number][1] for at, number in best.items()}
    return [places.get(at, -1) for at in range(len(lines))]


def _cells(lines: Sequence[Line]) -> list[tuple[int, int, float | None]]:
    """Each cell with the number of its line, and its place there."""
    return [(at, place, score) for at, line in enumerate(lines) for place, score in enumerate(line)]


def _best(line: Line) -> int:
    scored = [(s, -at) for at, s in enumerate(line) if s is not None and not isnan(s)]
    return -max(scored)[1] if scored else -1


def _parts(score: float | None) -> int:
    if score is None or isnan(score):
        return 0
    return round(max(-_LARGEST, min(_LARGEST, score)) * 10**9)


_LARGEST = 10**6
"""No share of a ceiling is larger; a figure beyond it is damage."""


def _shown(tried: tuple[Attempt, ...], rule: Represents) -> Attempt:
    graded = [attempt for attempt in tried if attempt.metrics.status.attempted]
    sound = [attempt for attempt in tried if attempt.metrics.status is not Status.INFRA]
    valid = graded or sound or list(tried)
    match rule:
        case Represents.FIRST:
            return valid[0]
        case Represents.LATEST:
            return valid[-1]
        case Represents.BEST:
            return max(valid, key=_goodness)


def _goodness(attempt: Attempt) -> tuple[bool, bool, float, float]:
    """What counts is better than what a verdict takes out, however high that is.

    Of those without a score the quickest is.
    """
    ms = attempt.unscored_ms
    passed = attempt.metrics.status is Status.PASSED
    return attempt.counts, passed, attempt.score or 0, -inf if ms is None else -ms


def _tally(cells: Sequence[Attempt], size: int) -> Tally:
    attempted = sum(attempt.metrics.status.attempted for attempt in cells)
    return Tally(
        attempted=attempted,
        passed=sum(attempt.passes for attempt in cells),
        missing=size - attempted,
        taken_out=sum(not attempt.counts for attempt in cells),
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
    eager = {floor.problem: floor for floor in floors if floor.kind is FloorKind.EAGER}
    sums: dict[Contender, int] = {}
    shown: dict[Contender, list[Attempt]] = {contender: [] for contender in table.contenders}
    for (contender, _), attempt in table.shown.items():
        shown[contender].append(attempt)
    rows = []
    for number, (contender, own) in enumerate(shown.items()):
        sums[contender] = table.scores.sums.get(number, 0)
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
    eager: Floor | None,
    best: Attempt | None,
    config: BoardConfig,
) -> Cell | None:
    shown = table.shown.get(key)
    if shown is None:
        return None
    return Cell(
        attempts=table.tried[key],
        shown=shown,
        below_floor=eager is not None and shown.counts and _is_below(shown, eager),
        due=tuple(_due(shown, best, config.audit_threshold)),
    )


def _is_below(shown: Attempt, floor: Floor) -> bool:
    """Whether an attempt is slower than a floor: by scores, and by times where neither has one."""
    if shown.score is not None and floor.peak_fraction is not None:
        return shown.score < floor.peak_fraction
    ms = shown.unscored_ms if floor.peak_fraction is None else None
    return ms is not None and floor.ms is not None and ms > floor.ms


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
