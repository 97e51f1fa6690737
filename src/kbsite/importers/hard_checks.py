"""Where the published KernelBench Hard board contradicts itself, or leaves its reader to guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kbsite.importers.hard_board import LEADERBOARD, Cell, Leaderboard, Row, Tally
from kbsite.importers.hard_notes import Note
from kbsite.importers.report import Oddity
from kbsite.model.counts import number_of
from kbsite.model.slugs import slug

SHORT_SECONDS = 60
"""A session that is over sooner never got to work."""

_KEPT = "imported as published"


def board_oddities(board: Leaderboard) -> Iterator[Oddity]:
    """Everything odd in leaderboard.json, row by row, then problem by problem."""
    seen: dict[tuple[str, str, str], Row] = {}
    for row in board.rows:
        yield from _label(board, row)
        before = seen.setdefault((row.harness, row.model, row.effort), row)
        if before is not row:
            found = f"the contender of row {before.label!r} once more, as {row.label!r}"
            same = before.variant == row.variant
            done = "its runs are further attempts" if same else f"kept apart as {row.variant!r}"
            yield Oddity(file=LEADERBOARD, found=found, done=done, **board.place(row))
        yield from _counts(board, row)
        for problem, cell in row.cells.items():
            for found, done in _cell(row, problem, cell):
                told = f"{row.label} on {problem}: {found}"
                yield Oddity(file=LEADERBOARD, found=told, done=done, **board.place(row, problem))
    for problem, tally in board.tallies.items():
        for key, found in _tally(board, problem, tally):
            yield Oddity(
                file=LEADERBOARD, key=f"per_problem.{problem}.{key}", found=found,
                done="counted anew",
            )  # fmt: skip


def _label(board: Leaderboard, row: Row) -> Iterator[Oddity]:
    expected = f"{row.harness}/{row.model}"
    if row.name != expected:
        found = f"the label {row.label!r} is not of {expected!r}"
        yield Oddity(
            file=LEADERBOARD, found=found, done="harness and model imported", **board.place(row)
        )
    if row.effort and row.effort not in row.marks:
        found = f"the label {row.label!r} does not tell the effort {row.effort!r}"
        yield Oddity(file=LEADERBOARD, found=found, done="effort imported", **board.place(row))


def _counts(board: Leaderboard, row: Row) -> Iterator[Oddity]:
    counted = {
        "pass_count": (row.pass_count, sum(cell.correct for cell in row.cells.values())),
        "total_runs": (row.total_runs, len(row.cells)),
    }
    for key, (told, count) in counted.items():
        if told is not None and told != count:
            place = board.place(row)
            place["key"] += f".{key}"
            found = f"{row.label}: says {told}, its cells make {count}"
            yield Oddity(file=LEADERBOARD, found=found, done="counted anew", **place)
    for problem in board.problems:
        if problem not in row.cells:
            found = f"{row.label} has no run on {problem}"
            yield Oddity(file=LEADERBOARD, found=found, done="no run", **board.place(row))


def _cell(row: Row, problem: str, cell: Cell) -> Iterator[tuple[str, str]]:
    if cell.correct and cell.peak_fraction is None:
        yield "passed without a score", "passed, score null"
    if cell.correct and not cell.has_solution:
        yield "passed without a solution", "imported as passed"
    if not cell.correct and cell.peak_fraction is not None:
        yield f"a score of {cell.peak_fraction} that did not pass", "score left out"
    if cell.peak_fraction is not None and cell.peak_fraction > 1:
        yield f"a score of {cell.peak_fraction}, above the ceiling", _KEPT
    if cell.elapsed_seconds < SHORT_SECONDS:
        yield (
            f"over after {cell.elapsed_seconds:g} s, shown as an error of the contender",
            "imported as published; it may be a failure of provider or login",
        )
    _, _, rest = cell.run_id.partition("_")
    rest = rest.partition("_")[2]
    if not rest.startswith(f"{row.harness}_") or not rest.endswith(f"_{problem}"):
        yield f"the run id {cell.run_id!r} names another harness or problem", _KEPT


def _tally(board: Leaderboard, problem: str, tally: Tally) -> Iterator[tuple[str, str]]:
    cells = [(row, row.cells[problem]) for row in board.rows if problem in row.cells]
    passed = [(row, cell) for row, cell in cells if cell.correct]
    scores = _scores(passed)
    best = scores[0] if scores else (None, None)
    pairs: list[tuple[str, object, object]] = [
        ("n_attempted", tally.n_attempted, len(cells)),
        ("n_passed", tally.n_passed, len(passed)),
        ("best_peak_fraction", tally.best_peak_fraction, best[0]),
        ("best_model", tally.best_model, best[1]),
    ]
    for key, told, counted in pairs:
        if told is not None and told != counted:
            yield key, f"says {told}, the cells make {counted}"
    yield from _ranking(tally, scores, len(passed))


def _scores(passed: Sequence[tuple[Row, Cell]]) -> list[tuple[float, str]]:
    """The scores of cells with the labels of their rows, the highest first."""
    scored = [(cell.peak_fraction, row.label) for row, cell in passed]
    known = [(score, label) for score, label in scored if score is not None]
    return sorted(known, key=lambda pair: -pair[0])


def _ranking(
    tally: Tally, scores: Sequence[tuple[float, str]], passed: int
) -> Iterator[tuple[str, str]]:
    ranked = Counter((rank.peak_fraction, rank.model) for rank in tally.ranked_passes)
    if ranked != Counter(scores):
        yield "ranked_passes", f"ranks {ranked.total()} runs other than the {len(scores)} scored"
    elif passed > len(scores):
        ranked_runs = number_of(len(scores), "run")
        found = f"ranks {ranked_runs} of {passed} that passed: the others have no score"
        yield "ranked_passes", found


def note_oddities(note: Note, row: Row, problem: str) -> Iterator[Oddity]:
    """Where a note says something else than the board of the same run."""
    cell, raw = row.cells[problem], note.raw
    if raw.peak_fraction != cell.peak_fraction:
        found = f"says {_number(raw.peak_fraction)}, the board {_number(cell.peak_fraction)}"
        yield _in_note(note, "peak_fraction", found, "the board's number imported")
    for key, told, published in [
        ("harness", raw.harness, row.harness),
        ("effort", raw.effort, row.effort),
        ("problem", raw.problem, problem),
    ]:
        if told is not None and told != published:
            yield _in_note(note, key, f"says {told!r}, the board {published!r}", "the board's kept")
    if raw.model is not None and not _same_model(raw.model, row.model):
        found = f"says {raw.model!r}, the board {row.model!r}"
        yield _in_note(note, "model", found, "the board's kept")


def _same_model(told: str, published: str) -> bool:
    """Whether two names differ by no more than the route that the model was reached by."""
    return slug(told) == slug(published) or published.endswith(f"/{told}")


def _number(value: float | None) -> str:
    return "null" if value is None else str(value)


def _in_note(note: Note, key: str, found: str, done: str) -> Oddity:
    line = next(
        (n for n, text in enumerate(note.text.splitlines(), 1) if text.startswith(f"{key}:")), None
    )
    return Oddity(file=note.file, line=line, key=key, found=found, done=done)
