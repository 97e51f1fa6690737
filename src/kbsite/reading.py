"""Reading everything that a site is made from, but the transcripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from kbsite.alarms.evidence import Evidence
from kbsite.boards import KnownScores, board
from kbsite.errors import InputError
from kbsite.feeds.sitemap import FURTHER as FURTHER_SITEMAP
from kbsite.hiding import Hiding
from kbsite.lookout import Lookout
from kbsite.lookout.noticed import Sighting
from kbsite.model.board import Attempt, Board
from kbsite.model.config import BoardConfig, Config
from kbsite.model.finding import Finding, Severity
from kbsite.model.floor import Floor, FloorKind
from kbsite.model.redaction import Hidden
from kbsite.model.run import Run
from kbsite.model.status import Status
from kbsite.model.work import Tick
from kbsite.pages.page import INDEX, Site, attempt_of
from kbsite.record import Memory
from kbsite.redaction.titles import title
from kbsite.standing import program, read_standing
from kbsite.store import spares
from kbsite.store.files import Refused, Stored, contents, within
from kbsite.store.inputs import inputs
from kbsite.store.known_runs import KnownRuns
from kbsite.store.manifests import unsealed
from kbsite.store.problems import StoredProblem, folders_and_links, read_problem
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import (
    is_partial,
    linked_runs,
    run_folders,
    spelled,
    told_twice,
    unfinished,
)
from kbsite.store.runs import StoredRun, as_findings, read_floors, read_run
from kbsite.store.settings import CONFIG, Settings, wrong

MARKER = spares.MARKER
"""File that says that a folder was made by a build, so that the next one may replace it."""

RESERVED = {
    INDEX, "404.html", "audits", "compare", "data", "explore", "hardware", "harnesses",
    "methodology", "models", "pagefind", "problems", "robots.txt", "runs", "search",
    "sitemap.xml", "static",
}  # fmt: skip
"""What no board can be called: the site's own folders and pages."""
_LONGEST = 200
"""Signs of a board's id, in kbsite.yaml as in run.json: a folder's name has 255 bytes at most."""


def is_reserved(name: str) -> bool:
    """Whether the site has a place for itself that a board of this name would take.

    Some file systems take a name in large letters for the same.
    """
    own = name.lower()
    return own in RESERVED or FURTHER_SITEMAP.fullmatch(own) is not None


def read(
    settings: Settings,
    lookout: Lookout | None = None,
    tick: Tick | None = None,
    hiding: Hiding | None = None,
) -> Site:
    """Everything but the transcripts; what cannot be read is left out, and in the findings.

    Without a lookout nobody looks for alarms, and no quote is proven; each run that it looks over
    is told. Without `hiding` nothing is hidden: that is for those who read runs where they lie.
    """
    return read_noticing(settings, lookout, tick, hiding)[0]


def looked_over(site: Site, stored: StoredRun) -> Site:
    """A site with what there is to find in one run by itself."""
    seen = Lookout().look([evidence(site, stored)])
    return replace(site, alarms=seen.alarms, proofs=seen.proofs)


def evidence(site: Site, stored: StoredRun) -> Evidence:
    """A run, which the site need not hold, as detectors see it there."""
    rows = [row.floors for board in site.boards for row in board.floors]
    told = [floor for floors in rows for floor in floors if floor]
    # A run that its board refuses may have floors of its own hardware, which no board shows.
    eager = _eager([*told, *graded_floors(site.floor_runs)])
    return _evidence(stored, site.problems, eager, site.config)


def lookout_of(settings: Settings) -> Lookout:
    """One that knows what the last build of the site found, where the code is still the same."""
    before = read_standing(settings.out)
    places = [settings.runs, settings.problems]
    held = inputs(places, before.inputs, most=settings.most_bytes)
    if before.code != program(before.program).code:
        return Lookout(held)
    memory = Memory()
    memory.recall(settings.out, before, before.code)
    return Lookout(held, memory.record.noticed)


def read_noticing(
    settings: Settings,
    lookout: Lookout | None,
    tick: Tick | None = None,
    hiding: Hiding | None = None,
    known: KnownRuns | None = None,
) -> tuple[Site, Sighting]:
    """What `read` gives, and what there is for the next lookout to know.

    Runs that are `known`, and are what they were, are not read; the others are known afterwards.
    """
    findings: list[Finding] = []
    runs, floor_runs = _apart(_runs(settings, findings, hiding, known))
    graded = graded_floors(floor_runs)
    problems = {
        stored.id: stored for stored in _problems(settings.problems, findings, hiding, known)
    }
    others = _others(settings, runs)
    configs = board_configs(settings.config, others, settings.path)
    floors = [[*_floors(settings.runs, config, findings), *graded] for config in configs]
    seen = Sighting()
    if lookout:
        eager = _eager([floor for held in floors for floor in held])
        every = [_evidence(stored, problems, eager, settings.config) for stored in runs]
        seen = lookout.look(every, tick)
    findings += seen.findings
    hashes = {stored.id: stored.hash for stored in problems.values()}
    boards: list[Board] = []
    scores = _scores_of(known)
    for config, held in zip(configs, floors, strict=True):
        mine = _attempts(_of_board(config, settings, runs, others), seen)
        boards.append(board(config, mine, held, hashes, scores))
    if known:
        known.scores = scores.asked
    site = Site(
        settings.config, runs, problems, tuple(boards), tuple(findings), settings.prices,
        alarms=seen.alarms, proofs=seen.proofs, hardware=settings.hardware,
        floor_runs=floor_runs,
    )  # fmt: skip
    return site, seen


def _scores_of(known: KnownRuns | None) -> KnownScores:
    return KnownScores(known.scores if known else None)


def _apart(every: Iterable[StoredRun]) -> tuple[tuple[StoredRun, ...], tuple[StoredRun, ...]]:
    """Runs of contenders, and floors that were graded as runs."""
    found = tuple(every)
    floors = tuple(stored for stored in found if stored.run.is_floor)
    return tuple(stored for stored in found if not stored.run.is_floor), floors


def _attempts(runs: Iterable[StoredRun], seen: Sighting) -> list[Attempt]:
    return [attempt_of(stored, seen.alarms.get(stored.run.id, ())) for stored in runs]


def _eager(floors: Iterable[Floor]) -> list[Floor]:
    return [floor for floor in floors if floor.kind is FloorKind.EAGER]


def _evidence(
    stored: StoredRun,
    problems: Mapping[str, StoredProblem],
    eager: Sequence[Floor],
    config: Config,
) -> Evidence:
    scores = [floor.peak_fraction for floor in eager if _floor_of(floor, stored.run)]
    best = scores[-1] if scores else None
    in_shares = stored.run.board not in config.own_metrics
    return Evidence(stored, problems.get(stored.run.problem), best, in_shares)


def _floor_of(floor: Floor, run: Run) -> bool:
    """Whether a floor was measured on what a run was made on."""
    return (
        floor.problem == run.problem
        and floor.hardware in (None, run.hardware)
        and floor.problem_hash in (None, run.problem_hash)
    )


def _runs(
    settings: Settings, findings: list[Finding], hiding: Hiding | None, known: KnownRuns | None
) -> Iterator[StoredRun]:
    folder, most = settings.runs, settings.config.most_file_bytes
    if not folder.is_dir():
        message = "no such folder; make it, or name another one under runs of kbsite.yaml"
        message = settings.no_runs if settings.runs_at else message
        findings.append(Finding(Severity.ERROR, str(folder), message))
        return
    seen: dict[str, Path] = {}
    held = hiding.folders if hiding else None
    folders = [*run_folders(folder)] if held is None else held
    findings += linked_runs(folder, folders)
    for path in folders:
        if is_partial(path):
            findings.append(unfinished(path))
            continue
        try:
            stored = _run(path, most, hiding, known)
        except InvalidFileError as error:
            findings += as_findings(error)
            continue
        run_id = spelled(stored.run.id)
        if run_id in seen or run_id == INDEX:
            taken = f"{INDEX} is a page of the site"
            why = told_twice(stored.run.id, seen[run_id]) if run_id in seen else taken
            findings += [*stored.findings, Finding(Severity.ERROR, str(path), f"left out: {why}")]
            continue
        seen[run_id] = path
        findings += stored.findings
        yield stored


def _run(path: Path, most: int, hiding: Hiding | None, known: KnownRuns | None) -> StoredRun:
    """The run in a folder, as it is known or as it is read."""
    if hiding is None:
        return _read(path, within(most, contents(path)))
    hidden = hiding.of(path)
    if hidden.called:
        what = ", ".join(map(title, hidden.called))
        message = f"left out: the id of the run tells what the site covers elsewhere: {what}"
        cure = "it is part of addresses and is never covered; name the run anew"
        raise InvalidFileError([InputError(f"{message}; {cure}", path=path)])
    held = known.get(path, hidden) if known else None
    if held is None:
        says, unaudited, untold = hiding.says(path)
        listed = hiding.listed.pop(str(path), None) or hiding.contents(path)
        read = hiding.told(_read(path, listed, hidden))
        held = structs.replace(read, says=says, unaudited=unaudited, untold=untold)
        if known:
            known.add(held, hidden)
    return held


def _read(
    path: Path,
    listed: tuple[list[Stored], list[Refused]],
    hidden: Hidden = Hidden(),  # noqa: B008 - frozen
) -> StoredRun:
    read = read_run(path, hidden, listed)
    return structs.replace(read, findings=(*read.findings, *unsealed(path, listed)))


def _problems(
    folder: Path, findings: list[Finding], hiding: Hiding | None, known: KnownRuns | None
) -> Iterator[StoredProblem]:
    folders, links = folders_and_links(folder)
    findings += links
    if known:
        known.keep_problems(folders)
    for path in folders:
        made_of = hiding.holds(path) if hiding else ""
        try:
            held = known.problem(path, made_of) if known else None
            if held is None:
                held = read_problem(path)
                if known:
                    known.add_problem(path, made_of, held)
            findings += held.findings
            yield held
        except InvalidFileError as error:
            findings += as_findings(error)


def graded_floors(runs: Iterable[StoredRun]) -> list[Floor]:
    """The floors that runs of them prove, in the order in which they were graded.

    Where there are several of a kind the last one counts; one that failed proves nothing.
    """
    passed = [stored for stored in runs if stored.metrics.status is Status.PASSED]
    return [
        Floor(
            kind=stored.run.floor, problem=stored.run.problem,
            problem_hash=stored.run.problem_hash, hardware=stored.run.hardware,
            peak_fraction=stored.metrics.peak_fraction, interval=stored.metrics.interval,
            ms=stored.metrics.ms, source=_graded_by(stored), run=stored.run.id,
        )
        for stored in sorted(passed, key=lambda stored: stored.run.order)
        if stored.run.floor is not None
    ]  # fmt: skip


def _graded_by(stored: StoredRun) -> str:
    grader = stored.metrics.grader or "a grader that was not recorded"
    graded = stored.metrics.graded
    return f"graded by {grader}" + (f", {graded:%Y-%m-%d}" if graded else "")


def board_configs(
    config: Config, others: Iterable[StoredRun], path: Path | None = None
) -> list[BoardConfig]:
    """The declared boards, then one for each board that runs name which stand on none of these.

    InputError names one that cannot be, with its line in `path`, the file that declares it; None
    where that is not at hand.
    """
    first: dict[str, int] = {}
    for number, declared in enumerate(config.boards):
        if not _is_folder(declared.id):
            message = f"{declared.id[:300]!r} cannot be a folder of the site; choose another id"
        elif (other := first.setdefault(declared.id, number)) != number:
            # One page would be written over the other, and each run would stand on both.
            message = f"boards[{other}] has the same id, {declared.id!r}; choose another id"
        else:
            continue
        key = f"boards[{number}].id"
        if path is None:
            raise InputError(message, path=CONFIG, key=key)
        raise wrong(path, key, message).errors[0]
    named = sorted({stored.run.board for stored in others} - first.keys())
    # A run may say anything of its board: one that cannot be is none, and its runs are told.
    made = (BoardConfig(id=name, title=name) for name in named if _is_folder(name))
    return [*config.boards, *made]


def _is_folder(name: str) -> bool:
    """Whether a board of this id can have a folder of the site."""
    odd = name.startswith(".") or any(sign in name for sign in "/\0") or len(name) > _LONGEST
    return bool(name) and not odd and not is_reserved(name)


def _others(settings: Settings, runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs that stand on no declared board."""
    declared = settings.config.boards
    return [one for one in runs if not any(_on(held, one, settings.runs) for held in declared)]


def _of_board(
    config: BoardConfig,
    settings: Settings,
    runs: Sequence[StoredRun],
    others: Sequence[StoredRun],
) -> list[StoredRun]:
    """The runs of a board; one that nobody declared has those alone that no other one has."""
    among = runs if config in settings.config.boards else others
    return [stored for stored in among if _on(config, stored, settings.runs)]


def _on(config: BoardConfig, stored: StoredRun, runs: Path) -> bool:
    if not config.runs:
        return stored.run.board == config.id
    return any(stored.folder.is_relative_to(runs / folder) for folder in config.runs)


def _floors(runs: Path, config: BoardConfig, findings: list[Finding]) -> list[Floor]:
    floors: list[Floor] = []
    for folder in config.runs or (config.id,):
        try:
            floors += read_floors(runs / folder)
        except InvalidFileError as error:
            findings += as_findings(error)
    return floors
