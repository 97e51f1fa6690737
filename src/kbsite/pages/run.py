"""A run's page: verdict, grade, facts, the whole transcript, solution, logs, raw files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from kbsite.charts import Chart, context_chart, score_chart, work_chart
from kbsite.charts.score import SoFar
from kbsite.exports import atif, markdown
from kbsite.fold.lookup import by_name
from kbsite.model.config import Leak
from kbsite.model.proof import Proof
from kbsite.model.snapshot import Snapshots
from kbsite.model.trajectory import PointKind, Trajectory
from kbsite.model.transcript import Transcript
from kbsite.pages import part_lists
from kbsite.pages.compared import compared
from kbsite.pages.costs import spent
from kbsite.pages.file_names import LARGE, raw_path
from kbsite.pages.filters import chips, filters
from kbsite.pages.grade import floors_of, grade, in_ms
from kbsite.pages.logs import log_places, logs
from kbsite.pages.long_text import Overflow
from kbsite.pages.minimap import minimap
from kbsite.pages.neighbours import Neighbours
from kbsite.pages.noticed import depends as alarms_depend_on
from kbsite.pages.noticed import noticed
from kbsite.pages.page import (
    INDEX,
    File,
    Page,
    Renderer,
    Site,
    address,
    attempt_of,
    markdown_path,
    run_path,
    trajectory_path,
)
from kbsite.pages.parts import Part, Reading, cut
from kbsite.pages.provenance import near, provenance
from kbsite.pages.quoted_copies import copy_places, quoted_copies
from kbsite.pages.quotes import proofs_of, proven, shown_quotes
from kbsite.pages.raw_files import raw_file_pages, raw_files
from kbsite.pages.snapshots import snapshot_files, snapshots_of, state_address
from kbsite.pages.source import colours, made_with, source_files, source_places, sources
from kbsite.pages.steps import counts
from kbsite.pages.stretches import Stretch, with_stretch
from kbsite.standing import digest, plain
from kbsite.store.inputs import Input
from kbsite.store.runs import StoredRun
from kbsite.trajectories import trajectory


class Attempts(Struct, frozen=True):
    """Where a run stands among the attempts of its cell."""

    number: int
    """Which one it is, from 1."""
    count: int
    near: Sequence[str]
    """Those around it and itself, in order, by id."""


def pages(site: Site) -> Iterator[Page]:
    """One page a run. Its transcript is read when the page is written."""
    for stored in site.every_run:
        yield page(site, stored)


def page(site: Site, stored: StoredRun) -> Page:
    """The page of a run."""
    files, depends = partial(_files, site, stored), partial(_depends, site, stored)
    return Page(run_path(stored.run.id), files, depends, stored, WAYS)


def _depends(site: Site, stored: StoredRun, inputs: Mapping[str, Input]) -> object:
    """What the files of a run are made of: its own files, and what they show of other runs."""
    run = stored.run
    board = site.board_of.get(run.id)
    return (
        stored.says or _own(stored, inputs),
        [(one.severity, one.message, one.line, one.key) for one in stored.findings],
        attempts_of(site, run.id),
        run.id in site.rivals,
        # Every page depends on what it is called, and the like.
        board.config.id if board else None,
        floors_of(site, stored),
        alarms_depend_on(site, stored),
        site.refusals.get(run.id, ""),
        site.problem_title(run.problem),
        run.problem in site.problems,
        run.hardware in site.hardware,
        (stored.metrics.hardware or "") in site.hardware,
        in_ms(site, run.problem),
        site.proofs.get(run.id, ()),
        _leak(site, stored),
    )


def _leads_to(site: Site, stored: StoredRun) -> object:
    """The runs that a run's page leads to from its head."""
    return site.neighbours.get(stored.run.id), best_other(site, stored.run.id)


def _ways(site: Site, stored: StoredRun, renderer: Renderer) -> str:
    run = stored.run
    held = site.neighbours.get(run.id, Neighbours())
    values = {"run": run, "neighbours": held, "rival": best_other(site, run.id)}
    return renderer.piece("parts/ways.html", run_path(run.id), values)


WAYS = Stretch(_ways, _leads_to)
"""Where a run's page leads from its head."""


def beside(site: Site) -> dict[str, str]:
    """Digests of all that pages of runs show beside the files, alarms and proofs of their run.

    By problem of the run: what a page shows of other runs is of those of its problem, or stands
    next to it on its board. Of one whose run says what it did, and found what it did, nothing can
    have changed while this is the same: `_depends` and `_leads_to` tell of nothing else.
    """
    shared = digest(
        [board.floors for board in site.boards],
        [(name, stored.hash) for name, stored in site.problems.items()], sorted(site.hardware),
        site.config.leaks,
    )  # fmt: skip
    best: dict[str, list[list[str]]] = {}
    for held in site.contests:
        best.setdefault(held.problem, []).append([one.run.id for one in held.attempts[:2]])
    return {
        problem: digest(shared, plain((best.get(problem), _among(site, runs))))
        for problem, runs in site.by_problem.items()
    }


def _among(site: Site, runs: Sequence[StoredRun]) -> object:
    """What pages of the runs of a problem show of each other, and of what stands next to them."""
    ids = [stored.run.id for stored in runs]
    cells = {id(cell): cell for cell in map(site.attempts.__getitem__, ids)}.values()
    boards = map(site.board_of.get, ids)
    return (
        [[stored.run.id for stored in cell] for cell in cells],
        [board.config.id if board else None for board in boards],
        [site.neighbours.get(run_id) for run_id in ids],
        [site.refusals.get(run_id) for run_id in ids],
    )


def _own(stored: StoredRun, inputs: Mapping[str, Input]) -> object:
    held = [(file.name, inputs.get(str(file.path.absolute()))) for file in stored.files]
    return [(name, one.says if one else None) for name, one in held]


def attempts_of(site: Site, run_id: str) -> Attempts:
    """Where a run stands among the attempts of its cell, and those that its page links."""
    number, count = site.places[run_id]
    return Attempts(number, count, site.near[run_id])


def best_other(site: Site, run_id: str) -> str | None:
    """The run that a run's page offers to be compared with: the best other one of its problem."""
    others = (attempt.run.id for attempt in site.rivals.get(run_id, ()))
    return next((other for other in others if other != run_id), None)


def _files(site: Site, stored: StoredRun, renderer: Renderer) -> Iterator[File]:
    """The exports, the transcript's pages, then the run's own page, which links them all."""
    shown = renderer.transcript(stored)
    held = proofs_of(site, stored)
    yield from _exports(stored, shown, held, site.config.canary)
    # Before the parts: a copy of this process makes half of those, and is not to be waited for.
    told = trajectory(shown, stored.run, stored.metrics) if shown else None
    parts: list[Part] = []
    reading = _reading(stored, held, in_one_file=renderer.in_one_file)
    if shown is not None:
        yield from cut(shown, parts, reading, renderer)
    path = run_path(stored.run.id)
    values = {**_values(site, stored), "transcript": shown, "parts": parts}
    addresses = _Addresses(parts, large=shown is not None and shown.aside)
    yield from compared(site, stored, shown, told)
    stood = snapshots_of(stored, told, shown)
    href = partial(_href, addresses)
    copies = quoted_copies(stored, held) if stood.held else ()
    yield from snapshot_files(stored.run, stood, href, renderer, copies)
    values |= {"told": told, "snapshots": stood, "href": href, "seen": _seen(told)}
    values["charts"] = (
        _charts(told, stood, href, spent(site, stored.run, shown, told)) if told else {}
    )
    found = sources(stored, held, colours(stored, renderer))
    yield from source_files(stored, found, renderer)
    cited = reading.cited.addresses(addresses)
    values["noticed"] = noticed(site, stored, found, parts, addresses)
    places = source_places(found, held) | log_places(stored, held) | copy_places(copies, held)
    values |= {"sources": found, "quotes": shown_quotes(stored, held, places | cited)}
    yield from raw_file_pages(stored, renderer)
    values |= {
        "minimap": minimap(
            parts, reading.cited.first, told.signs.usage if told else stored.run.usage
        ),
        "logs": list(logs(stored, held)),
        "raw": raw_files(stored),
        "provenance": provenance(site, stored.run, shown),
        "chips": chips(counts(item for part in parts for item in part.items)),
    }
    narrowed = filters(parts)
    here, lists = part_lists.told(parts, in_one_file=renderer.in_one_file)
    values |= {"filters": narrowed, "here": here, "lists": lists, "places": [*here, *lists]}
    yield from part_lists.pages(stored.run.id, lists, narrowed, renderer)

    def whole(ways: str) -> str:
        return renderer.page("pages/run.html", path, values | {"ways": ways})

    html, lies = with_stretch(_ways(site, stored, renderer), whole)
    yield File(path, html, cut=lies, made=made_with(html, found))


def _exports(
    stored: StoredRun, shown: Transcript | None, held: tuple[Proof, ...], canary: str
) -> Iterator[File]:
    """The run for other programs: Markdown, and a trajectory if there is a transcript."""
    attempt = attempt_of(stored)
    large = stored.transcript_size >= LARGE
    pieces = markdown.page(shown, attempt, held, canary)
    yield File(markdown_path(stored.run.id), pieces=pieces, large=large)
    if shown is not None:
        pieces = atif.trajectory(shown, attempt, canary)
        yield File(trajectory_path(stored.run.id), pieces=pieces, large=large)


def _reading(stored: StoredRun, held: tuple[Proof, ...], *, in_one_file: bool) -> Reading:
    names = tuple(file.name for file in stored.files)
    side = partial(side_file, stored)
    return Reading(stored.run.id, side, Overflow(in_one_file), names, tuple(proven(held)))


class _Addresses(Mapping[str, str]):
    """The address of each anchor, seen from the run's page, whose script keeps the reader on it."""

    def __init__(self, parts: Sequence[Part], *, large: bool) -> None:
        self._parts = parts
        self._places = by_name(int, large=large)
        for place, part in enumerate(parts):
            for item in part.items:
                for anchor in item.anchors:
                    self._places["", anchor] = place

    def __getitem__(self, anchor: str) -> str:
        part = self._parts[self._places["", anchor]]
        return f"{'' if part.page == INDEX else part.page}#{anchor}"

    def __iter__(self) -> Iterator[str]:
        return (anchor for _, anchor in self._places)

    def __len__(self) -> int:
        return len(self._places)


def _href(addresses: Mapping[str, str], anchor: str) -> str:
    return addresses.get(anchor, f"#{anchor}")


def _seen(told: Trajectory | None) -> bool:
    """Whether the agent checked or timed its solution, as far as the transcript tells."""
    kinds = (PointKind.CHECK, PointKind.BENCHMARK)
    return told is not None and any(point.kind in kinds for point in told.points)


def _charts(
    told: Trajectory,
    stood: Snapshots,
    href: Callable[[str], str],
    costs: tuple[str, SoFar | None],
) -> dict[str, Chart | None]:
    """The charts of how the run came to its solution."""
    return {
        "score": score_chart(told, href, partial(state_address, stood), *costs),
        "work": work_chart(told.signs),
        "context": context_chart(told.signs, href),
    }


def _values(site: Site, stored: StoredRun) -> dict[str, object]:
    run = stored.run
    board = site.board_of.get(run.id)
    attempts = attempts_of(site, run.id)
    return {
        "title": f"{run.problem} / {run.contender.label}",
        "stored": stored,
        "run": run,
        "attempt": attempt_of(stored),
        "grade": grade(site, stored),
        "attempts": attempts,
        "near": near(run.id, attempts.near) if attempts.count > 1 else "",
        "board": board,
        "refusal": site.refusals.get(run.id, ""),
        "leak": _leak(site, stored),
    }


def side_file(stored: StoredRun, named: str) -> str | None:
    """The address of a file that a CLI names by the path that it had where the CLI ran."""
    tail = "/".join(named.replace("\\", "/").split("/")[-2:])
    own = next((file.name for file in stored.files if file.name.endswith(f"/{tail}")), None)
    if own is None:
        return None
    return address(raw_path(stored.run.id, own), seen_from=run_path(stored.run.id))


def _leak(site: Site, stored: StoredRun) -> Leak | None:
    """What kbsite.yaml says of the leak that a run's audit names."""
    named = stored.audit.leak if stored.audit else ""
    return next((leak for leak in site.config.leaks if named and leak.id == named), None)
