"""A board's page: the grid with floors, verdicts and everything that was refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kbsite.model.alarm import Level
from kbsite.model.audit import Verdict
from kbsite.model.board import Board, Cell, Due
from kbsite.model.floor import FloorKind
from kbsite.model.status import Status, Tone
from kbsite.pages import facts
from kbsite.pages.banners import kept_banner
from kbsite.pages.board_choices import choices, columns, passed_of
from kbsite.pages.board_figures import charts, figures
from kbsite.pages.board_rows import GridRows
from kbsite.pages.cited import cited, unproven
from kbsite.pages.grade import in_ms
from kbsite.pages.leaks import QUOTED, Card, leaks
from kbsite.pages.page import Page, Site, board_file, board_path, charts_path, templated
from kbsite.standing import digest, plain

DRAWN = 1_000
"""Runs whose charts stand on the page of their board: with more it would weigh too much."""


def pages(site: Site) -> Iterator[Page]:
    """One page a board, and one for its charts where there are very many runs."""
    for board in site.boards:
        values, depends = partial(_values, site, board), partial(board_depends, site, board)
        yield templated(board_path(board.config.id), "pages/board.html", values, depends)
        if are_apart(board):
            drawn = partial(_drawn, site, board)
            yield templated(charts_path(board.config.id), "pages/board_charts.html", drawn, depends)


def are_apart(board: Board) -> bool:
    """Whether the charts of a board have a page of their own."""
    return board.run_count > DRAWN


def board_depends(site: Site, board: Board) -> object:
    """What a board's page is made of, beside code, titles and settings.

    Nothing of it is in a transcript, but for what alarms and proofs say of it.
    """
    runs = runs_of(board)
    known = [site.untold[run] for run in runs]
    if all(known):
        return board_alone(site, board), digest(plain((runs, known)))
    return board_alone(site, board), [_told(site, run) for run in runs]


def runs_of(board: Board) -> list[str]:
    """The ids of all runs that a board shows or refuses."""
    runs = [attempt.run.id for attempt in board.attempts]
    return runs + [refusal.run_id for refusal in board.refused]


def board_alone(site: Site, board: Board) -> object:
    """What a board's page is made of beside its runs."""
    problems = [column.problem for column in board.columns]
    floors = [floor for row in board.floors for floor in row.floors if floor]
    return (
        [(name, site.problem_title(name), in_ms(site, name)) for name in problems],
        board.problem_hashes, board.hardware, board.hardware in site.hardware,
        board.budget_seconds, board.floors, [floor.run in site.by_id for floor in floors],
        board.refused, site.config.leaks,
    )  # fmt: skip


def _told(site: Site, run: str) -> object:
    return run, site.by_id[run], site.alarms.get(run), site.proofs.get(run)


def _values(site: Site, board: Board) -> dict[str, object]:
    shown = [cell.shown for _, _, cell in board.cells]
    statuses = {attempt.metrics.status for attempt in shown}
    verdicts = {attempt.audit.verdict for attempt in shown if attempt.audit}
    cards, in_time = leaks(site, board), latency(site, board)
    by_leak = _leak_of(cards)
    return {
        "title": board.config.title,
        "banner": kept_banner(site, f"board-{board.config.id}", board.config.title),
        "board": board,
        "own_file": board_file(board.config.id),
        "statuses": [status for status in Status if status in statuses],
        "verdicts": [verdict for verdict in Verdict if verdict in verdicts],
        "choices": choices(site, board),
        "sorts": columns(board),
        "groups": board.groups,
        # Before the problems of groups stands how many were passed, of all and of each.
        "counts": len(board.groups) + 1 if board.groups else 0,
        "begins": {group.first: group.title for group in board.groups},
        "passed_of": passed_of,
        "scored": board.scored or not board.rows,
        "timed": board.timed,
        "coverage": coverage(board),
        "reasons": partial(_reasons, board),
        "tone": _tone,
        "grid_row": GridRows(site, board, in_time, by_leak),
        "cited": partial(cited, site),
        "unproven": partial(unproven, site),
        "leaks": cards,
        "latency": in_time,
        "quoted_runs": QUOTED,
        "leak_of": by_leak,
        "charts": partial(charts, site, board),
        "apart": are_apart(board),
        **figures(site, board),
    }


def _drawn(site: Site, board: Board) -> dict[str, object]:
    return {
        "title": f"{board.config.title}: charts",
        "board": board,
        "charts": partial(charts, site, board),
    }


def latency(site: Site, board: Board) -> dict[str, float | None]:
    """The problems of a board whose cells show times, each with the library floor's time in ms."""
    floors = {
        floor.problem: floor.ms
        for row in board.floors
        for floor in row.floors
        if floor is not None and floor.kind is FloorKind.LIBRARY
    }
    problems = [column.problem for column in board.columns]
    return {problem: floors.get(problem) for problem in problems if in_ms(site, problem)}


def coverage(board: Board) -> str:
    """How much of what the board's rule wants audited is: "audited 3 of 9 due: 2 of 8 from ..."."""
    whole = board.coverage()
    if not whole.due:
        return "No run is due for an audit"
    words = {
        Due.HIGH: f"from {facts.threshold(board.config)} up",
        Due.BEST: "best of their problem",
        Due.FLAGGED: "flagged by an alarm",
    }
    held = [(board.coverage(due), words[due]) for due in Due]
    told = [f"{part.done} of {part.due} {word}" for part, word in held if part.due]
    return f"Audited {whole.done} of {whole.due} due: {', '.join(told)}"


def _reasons(board: Board, cell: Cell) -> str:
    """Why a cell is due for an audit, in a sentence."""
    words = {
        Due.HIGH: f"its score is from {facts.threshold(board.config)} up",
        Due.BEST: Due.BEST.sentence,
        Due.FLAGGED: f"{Due.FLAGGED.sentence}: {' '.join(_seen(cell)[:1])}",
    }
    return f"due for an audit, not audited yet: {'; '.join(words[due] for due in cell.due)}"


def _seen(cell: Cell) -> list[str]:
    """What the alarms that make an audit due saw, what weighs most first."""
    return [alarm.saw for alarm in cell.shown.alarms if alarm.level is not Level.NOTE]


def _tone(cell: Cell) -> str:
    """The colour of a cell's heaviest alarm."""
    levels = [alarm.level for alarm in cell.shown.alarms]
    return max(levels, key=lambda level: level.weight).tone.value if levels else Tone.DIM.value


def _leak_of(cards: Sequence[Card]) -> dict[str, Card]:
    """The card of each run that went through a leak that its audit names, by the run's id."""
    return {
        instance.attempt.run.id: card
        for card in cards
        for instance in card.instances
        if instance.audit.leak
    }
