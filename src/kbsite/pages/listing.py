"""Every run in one line: data/runs.json for other programs, data/runs.js for the site's own pages.

A script beside the data, because from disk a page can load nothing else.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs, to_builtins

from kbsite.feeds.table import moment
from kbsite.model.alarm import Level
from kbsite.model.audit import Verdict
from kbsite.model.counts import finite
from kbsite.model.listing import FORMAT, ListedRun, Listing
from kbsite.model.status import Status
from kbsite.pages import facts
from kbsite.pages.kept_rows import Row
from kbsite.pages.page import File, Site, attempt_of, from_home, heaviest, run_key, run_path
from kbsite.standing import digest, plain
from kbsite.store.runs import StoredRun
from kbsite.store.writing import json_text
from kbsite.text import visible

LISTING = "data/runs.json"
LISTING_SCRIPT = "data/runs.js"

UNAUDITED = "none"
"""What the verdict of a run that nobody audited is called in filters."""

NO_ALARM = "none"
"""What the heaviest alarm of a run without one is called in filters."""


class Choice(Struct, frozen=True):
    """A value that runs can be filtered by."""

    value: str
    label: str
    count: int
    """Runs that have it."""


def board_id(site: Site, stored: StoredRun) -> str:
    """The board that shows a run; the one that the run names, if none does."""
    board = site.board_of.get(stored.run.id)
    return board.config.id if board else stored.run.board


def _alarm(site: Site, stored: StoredRun) -> str:
    """The level of a run's heaviest alarm."""
    alarms = site.alarms.get(stored.run.id)
    level = heaviest(alarms) if alarms else None
    return level.value if level else NO_ALARM


VALUES: Mapping[str, Callable[[Site, StoredRun], str]] = {
    "board": board_id,
    "model": lambda _, stored: stored.run.model,
    "harness": lambda _, stored: stored.run.harness,
    "problem": lambda _, stored: stored.run.problem,
    "verdict": lambda _, stored: stored.audit.verdict.value if stored.audit else UNAUDITED,
    "status": lambda _, stored: stored.metrics.status.value,
    "cut": lambda _, stored: "yes" if stored.run.cut else "no",
    "alarm": _alarm,
}
"""The value that a run has for each filter, as it came; in the order of the page."""

FILTERS = tuple(VALUES)
"""What runs can be filtered by."""

FIELDS = (
    "key", "run", *FILTERS, "effort", "variant", "score", "told", "half", "seconds", "time",
    "attempt", "attempts", "shown", "counts",
)  # fmt: skip
"""What data/runs.js holds of each run, in the order of its lists: static/runs/ reads them so."""


def filtered_by(site: Site, stored: StoredRun) -> dict[str, str]:
    """The value that a run has for each filter."""
    return {name: visible(value(site, stored)) for name, value in VALUES.items()}


def counts(stored: StoredRun) -> str:
    """Either "yes" or, where its verdict takes a run out of the ranking, "no"."""
    return "yes" if attempt_of(stored).counts else "no"


def choices(site: Site) -> dict[str, list[Choice]]:
    """For each filter of runs the values that they have."""
    held = {name: [of(site, one) for one in site.runs] for name, of in VALUES.items()}
    return counted(held, words(site))


def counted(
    held: Mapping[str, Sequence[str]], words: Mapping[str, Mapping[str, str]]
) -> dict[str, list[Choice]]:
    """For each name its values, with their number: closed sets in their order, others by name.

    `words` says what values are called where that is not what they are.
    """
    found = {}
    for name, values in held.items():
        counts: Counter[str] = Counter()
        # Of thousands few differ: only these are made visible.
        for value, number in Counter(values).items():
            counts[visible(value)] += number
        called = words.get(name, {})
        known = [value for value in called if value in counts]
        shown = [*known, *sorted(set(counts) - set(known))]
        found[name] = [Choice(value, called.get(value, value), counts[value]) for value in shown]
    return found


def words(site: Site) -> dict[str, dict[str, str]]:
    """What values of filters are called where that is not what they are."""
    return {
        "board": {board.config.id: visible(board.config.title) for board in site.boards},
        "verdict": {**{v.value: f"{v.glyph} {v.value}" for v in Verdict}, UNAUDITED: "not audited"},
        "status": {status.value: f"{status.glyph} {status.label}" for status in Status},
        "cut": {"yes": "cut by the budget", "no": "not cut"},
        "alarm": {**{level.value: level.value for level in reversed(Level)}, NO_ALARM: "none"},
    }


def files(site: Site) -> Iterator[File]:
    """The two files that list all runs."""
    runs = joined(site, "json", site.ordered, _listed_text, NEXT)
    empty = json_text(Listing(format=FORMAT, runs=()))
    yield File(LISTING, data=partial(filled, empty, [runs] if runs else []))
    rows = joined(site, "script", site.ordered, _script_row, ",")
    yield File(LISTING_SCRIPT, data=partial(script, site, site.ordered, FIELDS, rows))


def filled(whole: str, items: Sequence[bytes]) -> bytes:
    """Indented JSON of an object with an empty list, with items in it, each by `inner_json`.

    An item may be several, with NEXT between them.
    """
    if not items:
        return whole.encode("utf-8")
    head, _, tail = whole.encode("utf-8").partition(b"[]")
    return b"".join([head, b"[\n    ", NEXT.encode().join(items), b"\n  ]", tail])


def inner_json(item: object) -> str:
    r"""A record as it stands in a list of an object in indented JSON.

    A byte of a name that is no UTF-8 is `\xff`: many readers refuse half of a character.
    """
    text = json_text(item)
    if "\\ud" in text:
        from kbsite.exports import plain as whole  # what few sites need is not loaded for all

        text = json_text(whole.plain(to_builtins(item)))
    return text.rstrip().replace("\n", "\n    ")


NEXT = ",\n    "
"""What stands between two of them."""


def _listed_text(site: Site, stored: StoredRun) -> str:
    one = one_listed(site, stored)
    # In one form, whatever part of a second or zone a run tells: readers of columns refuse two.
    when = None if one.started is None else moment(one.started)
    return inner_json({**structs.asdict(one), "started": when})


def kept(site: Site, kind: str, stored: StoredRun, make: Callable[[], Row]) -> Row:
    """A row about a run, made only where something that it hangs on changed."""
    run_id = stored.run.id
    return site.kept.row(kind, run_id, site.rows_depend.get(run_id, ""), make)


def joined(
    site: Site,
    kind: str,
    runs: Sequence[StoredRun],
    make: Callable[[Site, StoredRun], str],
    between: str = "",
) -> bytes:
    """The same of rows that are text, one behind the other, of a kind that one page alone has."""
    made_of = {stored.run.id: site.rows_depend.get(stored.run.id, "") for stored in runs}
    return site.kept.joined(kind, made_of, lambda run_id: make(site, site.by_id[run_id]), between)


def listed(site: Site) -> tuple[ListedRun, ...]:
    """Every run as data/runs.json lists it."""
    return tuple(one_listed(site, stored) for stored in site.ordered)


def one_listed(site: Site, stored: StoredRun) -> ListedRun:
    """A run as data/runs.json lists it."""
    return kept(site, "listed", stored, partial(_listed, site, stored))


def _listed(site: Site, stored: StoredRun) -> ListedRun:
    run, attempt = stored.run, attempt_of(stored)
    spent = site.cost(run)
    number, count = site.places[run.id]
    known = finite(attempt.score) is not None
    return ListedRun(
        id=run.id,
        page=from_home(run_path(run.id)),
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
        ms=finite(stored.metrics.ms),
        verdict=stored.audit.verdict if stored.audit else None,
        counts=attempt.counts,
        end_reason=run.end_reason,
        cut=run.cut,
        started=run.started,
        seconds=run.elapsed_seconds,
        cost_usd=run.cost_usd,
        cost_is_estimate=run.cost_is_estimate,
        estimate_usd=None if spent.estimate is None else float(spent.estimate.usd),
        estimate_is_least=spent.estimate is not None and spent.estimate.lower_bound,
        usage=run.usage,
        attempt=number,
        attempts=count,
    )


def rows_depend(site: Site, runs: Collection[StoredRun]) -> object:
    """What rows about runs are made of, wherever they stand: nothing of it is in a transcript."""
    ids = [stored.run.id for stored in runs]
    known = [site.rows_depend.get(run_id) for run_id in ids]
    if all(known):
        return digest(plain((ids, known)))
    return [_row_depends(site, stored) for stored in runs]


def _row_depends(site: Site, stored: StoredRun) -> object:
    run = stored.run
    own = stored.untold or (run, stored.metrics, stored.audit)
    return run.id, own, board_id(site, stored), run.id in site.board_of, site.places[run.id]


def script(site: Site, runs: Sequence[StoredRun], fields: Sequence[str], rows: bytes) -> bytes:
    """A script that hands rows over, in ASCII and without a character that HTML knows.

    Each row is a list with the value of each field, `packed`, with a comma between two of them;
    static/runs/runs.js makes a table of them.
    """
    problems = {visible(p): visible(site.problem_title(p)) for p in {r.run.problem for r in runs}}
    data = {
        "fields": list(fields),
        "boards": words(site)["board"],
        "problems": dict(sorted(problems.items())),
        "statuses": {s.value: [s.glyph, s.label, s.tone.value, s.sentence] for s in Status},
        "verdicts": {v.value: [v.glyph, v.value, v.tone.value, v.sentence] for v in Verdict},
    }
    head = f'kbsiteRuns({packed(data)[:-1]},"runs":['.encode()
    return b"".join([head, rows, b"]});\n"])


def packed(value: object) -> str:
    """Plain data as JSON in ASCII, without spaces, and without a character that HTML knows."""
    text = _ENCODER.encode(value)
    for sign, told in _SIGNS:
        text = text.replace(sign, told)
    return text


# Made once, and not for each of many rows.
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
_SIGNS = [(sign, f"\\u{ord(sign):04x}") for sign in "<>&"]


def _script_row(site: Site, stored: StoredRun) -> str:
    return packed(_row(site, stored))


def _row(site: Site, stored: StoredRun) -> list[object]:
    """The value of each of FIELDS."""
    run = stored.run
    values = filtered_by(site, stored)
    seconds = run.elapsed_seconds
    return [
        run_key(run.id),
        visible(run.id),
        *(values[name] for name in FILTERS),
        visible(run.effort or ""),
        visible(run.variant or ""),
        *scored(stored),
        finite(seconds),
        facts.duration(seconds),
        *site.places[run.id],
        int(run.id in site.board_of),
        counts(stored),
    ]


def scored(stored: StoredRun) -> tuple[float | None, str, str]:
    """A run's score, how it is written, and half its interval; None and nothing without one."""
    score, interval = attempt_of(stored).score, stored.metrics.interval
    half = (interval[1] - interval[0]) / 2 if score is not None and interval else None
    return finite(score), facts.score(score), "" if half is None else facts.margin(half, score)
