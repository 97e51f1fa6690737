"""The published KernelBench Hard board as run directories.

What the published files do not tell is null. What they tell twice and differently, or cannot mean,
is named in the report, with what was made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from kbsite.importers.hard_board import LEADERBOARD, Cell, Leaderboard, Row, read_leaderboard
from kbsite.importers.hard_checks import board_oddities, note_oddities
from kbsite.importers.hard_floors import read_floors
from kbsite.importers.hard_notes import Note, read_notes
from kbsite.importers.hard_proofs import checked
from kbsite.importers.placing import Placing
from kbsite.importers.report import Oddity, Report
from kbsite.importers.run_ids import board_name, is_safe
from kbsite.model.floor import Floor
from kbsite.model.grade import Metrics
from kbsite.model.run import FORMAT, Host, Run
from kbsite.model.status import EndReason, Status
from kbsite.store.audits import audit_text
from kbsite.store.folders import make_folder
from kbsite.store.run_folders import AUDIT

ORIGIN = f"imported from {LEADERBOARD} of the published KernelBench Hard board"
NO_TRANSCRIPT = "The published board had no transcript of this run for import."
NO_SCORE = "It passed; the published board has no score for it."
NO_REASON = "The published board says only that the check failed, not how."

_GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Import:
    """One cell of the board, ready to be written."""

    run: Run
    metrics: Metrics
    note: Note | None

    @property
    def beside(self) -> dict[str, str]:
        """The files of the run directory beside its records and its manifest."""
        return {} if self.note is None else {AUDIT: audit_text(self.note.audit)}


@dataclass(slots=True)
class _Tally:
    oddities: list[Oddity] = field(default_factory=list)
    imports: list[_Import] = field(default_factory=list)


def import_board(source: Path, out: Path, *, budget_seconds: float = 2700) -> Report:
    """What came of turning the published board in `source` into run directories below `out`.

    The board's files do not tell the budget. 2700 seconds is the 45 minutes of wall clock for each
    run that its authors published with it, and the time at which 55 of its 117 runs end.
    """
    name = board_name(out)
    board = read_leaderboard(source / LEADERBOARD)
    notes, lost = read_notes(source)
    found = read_floors(source / "problem_baselines.json", board)
    tally = _Tally()
    tally.oddities += [*board_oddities(board), *lost, *found.oddities]
    by_run = _by_run(notes, board, tally)
    for row, problem, cell in _cells(board, tally):
        note = by_run.get(cell.run_id)
        run = _run(board, row, problem, cell, name, budget_seconds)
        made = _Import(run=run, metrics=_metrics(cell, note), note=note)
        tally.imports.append(made)
        if note is not None:
            tally.oddities += [*note.oddities, *note_oddities(note, row, problem)]
    make_folder(out)
    placing = Placing(out, tally.oddities)
    tally.imports = [
        made for made in tally.imports if placing.run(made.run, made.metrics, made.beside)
    ]
    placing.floors(found.floors)
    return _report(name, placing, tally, found.floors)


def _by_run(notes: list[Note], board: Leaderboard, tally: _Tally) -> dict[str, Note]:
    on_board = {cell.run_id for row in board.rows for cell in row.cells.values()}
    found: dict[str, Note] = {}
    for note in notes:
        run_id = note.raw.run_id
        if note.file != f"annotations/{run_id}.yaml":
            message = f"is about the run {run_id!r}, which the file's name does not say"
            tally.oddities.append(_note_oddity(note, message, "the note's own word kept"))
        if run_id not in on_board:
            message = f"the run {run_id!r} is not on the board"
            tally.oddities.append(_note_oddity(note, message, "note left out"))
        elif run_id in found:
            message = f"the run {run_id!r} has a note already, {found[run_id].file}"
            tally.oddities.append(_note_oddity(note, message, "note left out"))
        else:
            found[run_id] = note
    return found


def _note_oddity(note: Note, found: str, done: str) -> Oddity:
    return Oddity(file=note.file, key="run_id", found=found, done=done)


def _cells(board: Leaderboard, tally: _Tally) -> Iterator[tuple[Row, str, Cell]]:
    seen: set[str] = set()
    for row in board.rows:
        for problem, cell in row.cells.items():
            reason = None
            if not is_safe(cell.run_id):
                reason = f"the run id {cell.run_id[:80]!r} cannot be the name of a folder"
            elif not is_safe(problem):
                reason = f"the problem {problem[:80]!r} cannot be the name of a folder"
            elif problem not in board.problems:
                reason = f"the problem {problem!r} is not in the board's deck"
            elif cell.run_id in seen:
                reason = f"the run id {cell.run_id!r} stands for another cell already"
            seen.add(cell.run_id)
            if reason is None:
                yield row, problem, cell
            else:
                place = board.place(row, problem)
                tally.oddities.append(
                    Oddity(file=LEADERBOARD, found=reason, done="run left out", **place)
                )


def _run(
    board: Leaderboard, row: Row, problem: str, cell: Cell, name: str, budget_seconds: float
) -> Run:
    vram = board.hardware.vram_gb
    over = cell.elapsed_seconds >= budget_seconds
    return Run(
        format=FORMAT,
        id=cell.run_id,
        board=name,
        problem=problem,
        problem_hash=None,
        prompt_hash=None,
        harness=row.harness,
        harness_version=None,
        model=row.model,
        effort=row.effort or None,
        variant=row.variant,
        provider=_provider(row),
        hardware=board.hardware.id,
        host=Host(
            gpu=board.hardware.name,
            gpu_memory_bytes=None if vram is None else round(vram * _GIB),
        ),
        budget_seconds=budget_seconds,
        started=None,
        ended=None,
        seconds=cell.elapsed_seconds,
        end_reason=EndReason.BUDGET if over else EndReason.UNKNOWN,
        origin=f"{ORIGIN}, row {row.label!r}",
        notes=(NO_TRANSCRIPT,),
    )


def _provider(row: Row) -> str | None:
    """The first part of opencode's model ids, which are `provider/model`; None for other CLIs."""
    route, slash, _ = row.model.partition("/")
    if row.harness != "opencode" or not slash:
        return None
    return "openrouter (pinned)" if route == "openrouter-pinned" else route


def _metrics(cell: Cell, note: Note | None) -> Metrics:
    graded = Metrics(format=FORMAT, status=Status.NO_SOLUTION, origin=ORIGIN)
    if cell.correct:
        return replace(
            graded,
            status=Status.PASSED,
            peak_fraction=cell.peak_fraction,
            detail=NO_SCORE if cell.peak_fraction is None else None,
        )
    if not cell.has_solution:
        return graded
    forbidden = note.forbidden if note else None
    status = Status.FORBIDDEN if forbidden else Status.WRONG
    return replace(graded, status=status, detail=forbidden or NO_REASON)


def _report(name: str, placing: Placing, tally: _Tally, floors: list[Floor]) -> Report:
    counted = Counter(made.metrics.status for made in tally.imports)
    notes = [made.note for made in tally.imports if made.note]
    return Report(
        board=name,
        cells={status: counted[status] for status in Status if counted[status]},
        scored=sum(made.metrics.peak_fraction is not None for made in tally.imports),
        written=placing.written,
        already_there=placing.there,
        audits=len(notes),
        quotes_kept=sum(len(note.audit.quotes) for note in notes),
        quotes_refused=sum(note.refused for note in notes),
        quotes=tuple(checked(placing.out, sorted(notes, key=lambda note: note.file))),
        floors=len(floors),
        floors_scored=sum(floor.peak_fraction is not None for floor in floors),
        oddities=tuple(sorted(tally.oddities, key=lambda odd: (odd.file, odd.line or 0))),
    )
