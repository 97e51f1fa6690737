"""The published KernelBench v3 boards as run directories: an evaluation is a run, a GPU a board.

What the table does not tell is null. It has times and no ceilings to hold them against, so that no
run has a score; what it gives as speedup is told on the run's page, and ranks nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbsite.errors import InputError, UsageError
from kbsite.importers.placing import Placing
from kbsite.importers.report import Oddity, printable
from kbsite.importers.run_ids import board_name
from kbsite.importers.v3_boards import V3Board, board_oddities, boards_of, settings_text, track_of
from kbsite.importers.v3_table import Row, Table, read_table
from kbsite.model.counts import figure, number_of
from kbsite.model.grade import Metrics
from kbsite.model.run import ESTIMATE, FORMAT, Host, Run
from kbsite.model.slugs import is_slug, slug
from kbsite.model.status import EndReason, Status
from kbsite.store.folders import make_folder

HARNESS = "kernelbench-v3"
"""The loop around the model that its authors wrote: none of the CLIs."""

ORIGIN = "the published KernelBench v3 table"
NO_TRANSCRIPT = "The published table comes without transcripts and solutions."
WRONG = "The published table says that it compiled and was not correct, not how."
NOT_COMPILED = "The published table says that it did not compile, not why."
NOTHING_LEFT = (
    "The published table counts no token of this session and names no solution; it does not say"
    " whether the model ever answered."
)
NO_TIME = "It passed; the published table has no time for it."
COST_SOURCE = f"{ESTIMATE} of the published table, by a list of prices"

_SAME = 0.001
"""By how much of itself a published speedup may miss ref_ms / sol_ms."""


@dataclass(frozen=True, slots=True)
class ImportedBoard:
    """What an import did with the rows of one GPU."""

    board: V3Board
    cells: Mapping[Status, int]
    """Runs on disk after the import, by status."""
    written: int
    already_there: int
    """Runs that were there before, changed or not; they were kept."""

    @property
    def lines(self) -> Iterator[str]:
        """Its part of the report."""
        counted = ", ".join(f"{count} {status.value}" for status, count in self.cells.items())
        yield (
            f"{self.board.id}: {number_of(sum(self.cells.values()), 'run')}"
            f" ({self.written} written, {self.already_there} already there)"
        )
        yield f"  cells    {counted or 'none'}; none with a score"
        deck = ", ".join(f"{group.title} {len(group.problems)}" for group in self.board.groups)
        yield f"  deck     {sum(len(one.problems) for one in self.board.groups)}: {deck}"
        yield f"  floors   {len(self.board.floors)}, none of them with a peak_fraction"


@dataclass(frozen=True, slots=True)
class V3Report:
    """What an import brought in, what is odd about it, and the rows that are wrong."""

    boards: tuple[ImportedBoard, ...]
    oddities: tuple[Oddity, ...]
    errors: tuple[InputError, ...]

    def text(self) -> str:
        """The report for a terminal."""
        lines = [line for board in self.boards for line in board.lines]
        lines.append(f"oddities {len(self.oddities)}; {len(self.errors)} rows left out")
        return "\n".join([*map(printable, lines), *(f"  {odd.text}" for odd in self.oddities)])

    def settings(self) -> str:
        """The `boards` of a kbsite.yaml that show what was imported."""
        return settings_text([imported.board for imported in self.boards])


def import_table(path: Path, out: Path, hardware: Mapping[str, str] | None = None) -> V3Report:
    """What came of turning the published table into boards below `out`, the folder of all runs.

    `hardware` says what GPUs of the table are, by the id of their hardware.
    """
    table = read_table(path)
    boards = boards_of(table.rows, path.name, hardware)
    _refuse(hardware or {}, boards)
    ids = run_ids(table.rows)
    oddities = [*_oddities(table, path.name)]
    done = []
    for board in boards:
        folder = out / board.id
        board_name(folder)
        make_folder(folder)
        placing = Placing(folder)
        counted: Counter[Status] = Counter()
        for row in board.rows:
            metrics = _metrics(row, path.name)
            if placing.run(_run(row, board, ids[row.line], path.name), metrics):
                counted[metrics.status] += 1
        placing.floors(board.floors)
        cells = {status: counted[status] for status in Status if counted[status]}
        done.append(ImportedBoard(board, cells, placing.written, placing.there))
        oddities += [*board_oddities(board, path.name), *placing.oddities]
    return V3Report(tuple(done), tuple(oddities), table.errors)


def _refuse(hardware: Mapping[str, str], boards: Sequence[V3Board]) -> None:
    gpus = [board.gpu for board in boards]
    for gpu, device in hardware.items():
        if gpu not in gpus:
            raise UsageError(f"the table has no GPU {gpu!r}; it has {', '.join(gpus) or 'none'}")
        if not is_slug(device):
            raise UsageError(f"{device!r} is no id of hardware, as h100-sxm is one")


def run_ids(rows: Sequence[Row]) -> dict[int, str]:
    """The id of each row's run, by its line: the same for the same table, whatever is there."""
    seen: Counter[str] = Counter()
    found: dict[int, str] = {}
    taken: set[str] = set()
    for row in rows:
        base = f"{row.stamp}_{HARNESS}_{slug(row.model)}_{row.problem}"
        seen[base] += 1
        name = base if seen[base] == 1 else f"{base}-{seen[base]}"
        while name in taken:  # another problem is called like the second run of this one
            seen[base] += 1
            name = f"{base}-{seen[base]}"
        taken.add(name)
        found[row.line] = name
    return found


def _run(row: Row, board: V3Board, run_id: str, file: str) -> Run:
    return Run(
        format=FORMAT,
        id=run_id,
        board=board.id,
        problem=row.problem,
        problem_hash=None,
        prompt_hash=None,
        harness=HARNESS,
        harness_version=None,
        model=row.model,
        effort=None,
        hardware=board.hardware,
        host=Host(gpu=row.gpu),
        budget_seconds=None,
        started=None,
        ended=None,
        end_reason=EndReason.UNKNOWN,
        cost_usd=row.cost_usd or None,
        cost_source=COST_SOURCE if row.cost_usd else None,
        origin=f"imported from line {row.line} of {file}, {ORIGIN}",
        notes=(NO_TRANSCRIPT, _told(row)),
    )


def _told(row: Row) -> str:
    """What the table tells of an evaluation that has no place of its own in a run."""
    return f"It tells of this one: {'; '.join(_parts(row))}."


def _parts(row: Row) -> Iterator[str]:
    yield f"problem {row.file}{f' ({row.kind})' if row.kind else ''}"
    yield f"{'filed as ' if track_of(row.problem) else ''}level {row.level}"
    yield f"batch of {row.stamp}"
    if row.turns is not None:
        yield f"{row.turns} turn{'s' if row.turns != 1 else ''}"
    if row.tokens:
        yield f"{row.tokens:,} tokens, sent and generated together"
    if row.precision:
        yield f"precision {row.precision}"
    if row.speedup is not None:
        took = f", which took {figure(row.ref_ms)} ms" if row.ref_ms is not None else ""
        over = f"{row.baseline or 'a reference without a name'}{took}"
        yield f"a speedup of {figure(row.speedup)} over {over} (it ranks nothing here)"
    if row.solution:
        yield f"the solution as {row.solution}"


def _metrics(row: Row, file: str) -> Metrics:
    status, detail = status_of(row)
    return Metrics(
        format=FORMAT,
        status=status,
        detail=detail,
        ms=row.sol_ms if row.correct else None,
        origin=f"line {row.line} of {file}, {ORIGIN}",
    )


def status_of(row: Row) -> tuple[Status, str | None]:
    """What became of an evaluation, and what there is to say of it."""
    if row.correct:
        return Status.PASSED, None if row.sol_ms is not None else NO_TIME
    if row.compiled:
        return Status.WRONG, WRONG
    if not row.tokens and not row.solution:
        return Status.NO_SOLUTION, NOTHING_LEFT
    return Status.BUILD_FAILED, NOT_COMPILED


def _oddities(table: Table, file: str) -> Iterator[Oddity]:
    """What is odd about the table as a whole."""
    rows = table.rows
    for key, found, done, is_odd in _COUNTED:
        if count := sum(map(is_odd, rows)):
            told = f"{found} in {count} of {len(rows)} rows"
            yield Oddity(file=file, key=key, found=told, done=done)
    names = sorted({row.file for row in rows if row.problem != row.file})
    if names:
        told = f"{len(names)} problems are named by files, as {names[0]!r}"
        done = "ids in small letters, without .py and outer underscores"
        yield Oddity(file=file, key="problem", found=told, done=done)
    for row in rows:
        if told := _other_speedup(row):
            yield Oddity(file=file, line=row.line, key="speedup", found=told, done="told as it is")


_COUNTED: Sequence[tuple[str, str, str, Callable[[Row], bool]]] = (
    ("op_type", "empty", "not told", lambda row: not row.kind),
    ("baseline_type", "empty", "not told", lambda row: not row.baseline),
    ("precision_used", "empty", "not told", lambda row: not row.precision),
    ("total_tokens", "0", "not told", lambda row: row.tokens == 0),
    ("estimated_cost_usd", "0 or empty", "null", lambda row: not row.cost_usd),
    (
        "total_tokens",
        "no token, and no solution",
        f"{Status.NO_SOLUTION.value}, whatever the reason was",
        lambda row: status_of(row)[0] is Status.NO_SOLUTION,
    ),
)
"""Columns, what is odd in rows, and what is made of it."""


def _other_speedup(row: Row) -> str:
    """How a speedup is not that of the row's own times; empty where it is, or nobody says."""
    if not (row.speedup and row.ref_ms and row.sol_ms):
        return ""
    made = row.ref_ms / row.sol_ms
    if abs(row.speedup - made) <= _SAME * made:
        return ""
    return f"{figure(row.speedup)}, but ref_ms / sol_ms is {figure(made)}"
