"""Every run in one line: data/runs.json for other programs, data/runs.js for the site's own pages.

A script beside the data, because from disk a page can load nothing else.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from kbsite.model.audit import Verdict
from kbsite.model.listing import FORMAT, ListedRun, Listing
from kbsite.model.status import Status
from kbsite.pages import facts
from kbsite.pages.page import File, Site, address, attempt_of, run_key, run_path
from kbsite.store.runs import StoredRun
from kbsite.store.writing import json_text
from kbsite.text import visible

LISTING = "data/runs.json"
LISTING_SCRIPT = "data/runs.js"

UNAUDITED = "none"
"""What the verdict of a run that nobody audited is called in filters."""

FILTERS = ("board", "model", "harness", "problem", "verdict", "status", "cut")
"""What runs can be filtered by, in the order of the page."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that runs can be filtered by."""

    value: str
    label: str
    count: int
    """Runs that have it."""


def ordered(site: Site) -> list[StoredRun]:
    """All runs: by board as the site orders them, those on none last, then by id."""
    places = {board.config.id: number for number, board in enumerate(site.boards)}

    def place(stored: StoredRun) -> tuple[int, str, str]:
        board = board_id(site, stored)
        return places.get(board, len(places)), board, stored.run.id

    return sorted(site.runs, key=place)


def board_id(site: Site, stored: StoredRun) -> str:
    """The board that shows a run; the one that the run names, if none does."""
    board = site.board_of.get(stored.run.id)
    return board.config.id if board else stored.run.board


def filtered_by(site: Site, stored: StoredRun) -> dict[str, str]:
    """The value that a run has for each filter."""
    run = stored.run
    values = {
        "board": board_id(site, stored),
        "model": run.model,
        "harness": run.harness,
        "problem": run.problem,
        "verdict": stored.audit.verdict.value if stored.audit else UNAUDITED,
        "status": stored.metrics.status.value,
        "cut": "yes" if run.cut else "no",
    }
    return {name: visible(value) for name, value in values.items()}


def choices(site: Site) -> dict[str, list[Choice]]:
    """For each filter the values that runs have: closed sets in their order, others by label."""
    held = [filtered_by(site, stored) for stored in ordered(site)]
    words = _words(site)
    found = {}
    for name in FILTERS:
        counts = Counter(values[name] for values in held)
        known = [value for value in words[name] if value in counts]
        others = sorted(set(counts) - set(known))
        shown = [*known, *others]
        found[name] = [Choice(v, words[name].get(v, v), counts[v]) for v in shown]
    return found


def _words(site: Site) -> dict[str, dict[str, str]]:
    """What values are called where that is not what they are."""
    return {
        "board": {board.config.id: visible(board.config.title) for board in site.boards},
        "model": {},
        "harness": {},
        "problem": {},
        "verdict": {**{v.value: f"{v.glyph} {v.value}" for v in Verdict}, UNAUDITED: "not audited"},
        "status": {status.value: f"{status.glyph} {status.label}" for status in Status},
        "cut": {"yes": "cut by the budget", "no": "not cut"},
    }


def files(site: Site) -> Iterator[File]:
    """The two files that list all runs."""
    runs = ordered(site)
    listed = tuple(_listed(site, stored) for stored in runs)
    yield File(LISTING, json_text(Listing(format=FORMAT, runs=listed)))
    yield File(LISTING_SCRIPT, _script(site, runs))


def _listed(site: Site, stored: StoredRun) -> ListedRun:
    run, attempt = stored.run, attempt_of(stored)
    spent = site.cost(run)
    number, count = _attempt(site, stored)
    known = attempt.score is not None and isfinite(attempt.score)
    return ListedRun(
        id=run.id,
        page=address(run_path(run.id), seen_from="").removeprefix("./"),
        board=board_id(site, stored),
        on_board=run.id in site.board_of,
        problem=run.problem,
        harness=run.harness,
        model=run.model,
        effort=run.effort,
        variant=run.variant,
        hardware=run.hardware,
        status=stored.metrics.status,
        peak_fraction=attempt.score if known else None,
        interval=stored.metrics.interval if known else None,
        verdict=stored.audit.verdict if stored.audit else None,
        end_reason=run.end_reason,
        cut=run.cut,
        started=run.started,
        seconds=run.elapsed_seconds,
        cost_usd=run.cost_usd,
        estimate_usd=None if spent.estimate is None else float(spent.estimate.usd),
        usage=run.usage,
        attempt=number,
        attempts=count,
    )


def _attempt(site: Site, stored: StoredRun) -> tuple[int, int]:
    """Which attempt of its cell a run is, from 1, and how many there are."""
    attempts = site.attempts[stored.run.id]
    return attempts.index(stored) + 1, len(attempts)


def _script(site: Site, runs: Sequence[StoredRun]) -> str:
    """A script that hands the rows over, in ASCII and without a character that HTML knows."""
    problems = {visible(p): visible(site.problem_title(p)) for p in {r.run.problem for r in runs}}
    data = {
        "boards": _words(site)["board"],
        "problems": dict(sorted(problems.items())),
        "statuses": {s.value: [s.glyph, s.label, s.tone.value, s.sentence] for s in Status},
        "verdicts": {v.value: [v.glyph, v.value, v.tone.value, v.sentence] for v in Verdict},
        "runs": [_row(site, stored) for stored in runs],
    }
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f"kbsiteRuns({text});\n"


def _row(site: Site, stored: StoredRun) -> list[object]:
    """A run as static/runs.js takes it apart, field by field in the order that it names them."""
    run, attempt = stored.run, attempt_of(stored)
    values = filtered_by(site, stored)
    seconds = run.elapsed_seconds
    half = None
    if attempt.score is not None and stored.metrics.interval:
        half = (stored.metrics.interval[1] - stored.metrics.interval[0]) / 2
    return [
        run_key(run.id),
        visible(run.id),
        *(values[name] for name in FILTERS),
        visible(run.effort or ""),
        visible(run.variant or ""),
        _finite(attempt.score),
        facts.score(attempt.score),
        facts.score(half),
        _finite(seconds),
        facts.duration(seconds),
        *_attempt(site, stored),
        int(run.id in site.board_of),
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
