"""What a page is, and everything that pages are made from."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol
from urllib.parse import quote

from msgspec import Struct

from kbsite.feeds import Extras, installed
from kbsite.model.alarm import Alarm, Level
from kbsite.model.board import Attempt, Board
from kbsite.model.config import Config
from kbsite.model.finding import Finding
from kbsite.model.hardware import Hardware
from kbsite.model.price import Cost, PriceTable, cost
from kbsite.model.proof import Proof
from kbsite.model.redacted import Redactions
from kbsite.model.run import Run
from kbsite.model.transcript import Transcript
from kbsite.pages.coloured import Made
from kbsite.pages.contests import Contest, contests
from kbsite.pages.file_names import folder_name
from kbsite.pages.kept_rows import KeptRows
from kbsite.pages.nearest import Nearest
from kbsite.pages.neighbours import Neighbours, neighbours
from kbsite.pages.stretches import Cut, Stretch
from kbsite.standing import digest, plain
from kbsite.store.inputs import Input
from kbsite.store.problems import StoredProblem
from kbsite.store.runs import StoredRun

INDEX = "index.html"


@dataclass(frozen=True)
class Site:
    """All that was read: runs without their transcripts, problems, boards."""

    config: Config
    runs: tuple[StoredRun, ...]
    """Those of contenders: whatever counts runs counts these."""
    problems: Mapping[str, StoredProblem]
    boards: tuple[Board, ...]
    findings: tuple[Finding, ...]
    """What was wrong with the input, and did not stop the build."""
    prices: PriceTable = field(default_factory=PriceTable)
    alarms: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    """What detectors noticed about a run, by the run's id; only of runs with any."""
    proofs: Mapping[str, tuple[Proof, ...]] = field(default_factory=dict)
    """What became of the quotes of a run's audit, in their order, by the run's id."""
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    """What hardware can do, by id."""
    floor_runs: tuple[StoredRun, ...] = ()
    """Runs that no agent made: they have pages, and boards show them as floors."""
    redactions: Redactions = field(default_factory=lambda: Redactions(format=1, files=()))
    """What is covered of the runs."""
    extras: Extras = field(default_factory=installed)
    kept: KeptRows = field(default_factory=KeptRows, compare=False, repr=False)
    """Rows about runs that need not be made anew."""

    @cached_property
    def every_run(self) -> tuple[StoredRun, ...]:
        """The runs of contenders, then those of floors: each has a page."""
        return (*self.runs, *self.floor_runs)

    @cached_property
    def by_id(self) -> Mapping[str, StoredRun]:
        """Every run, by id."""
        return {stored.run.id: stored for stored in self.every_run}

    @cached_property
    def ordered(self) -> Sequence[StoredRun]:
        """Runs by the board that shows them as the site orders these, others last; then by id."""
        places = {board.config.id: number for number, board in enumerate(self.boards)}

        def place(stored: StoredRun) -> tuple[int, str, str]:
            on = self.board_of.get(stored.run.id)
            board = on.config.id if on else stored.run.board
            return places.get(board, len(places)), board, stored.run.id

        return sorted(self.runs, key=place)

    @cached_property
    def by_problem(self) -> Mapping[str, Sequence[StoredRun]]:
        """Every run, by its problem."""
        found: dict[str, list[StoredRun]] = {}
        for stored in self.every_run:
            found.setdefault(stored.run.problem, []).append(stored)
        return found

    @cached_property
    def by_graded_hardware(self) -> Mapping[str, Sequence[StoredRun]]:
        """Every run that has a grade of some hardware, by that."""
        found: dict[str, list[StoredRun]] = {}
        for stored in self.every_run:
            if stored.metrics.hardware is not None:
                found.setdefault(stored.metrics.hardware, []).append(stored)
        return found

    @cached_property
    def attempts(self) -> Mapping[str, Sequence[StoredRun]]:
        """All runs of the cell that a run belongs to, in order, by the run's id."""
        cells: dict[tuple[object, ...], list[StoredRun]] = {}
        for stored in sorted(self.every_run, key=lambda stored: stored.run.order):
            run = stored.run
            key = (run.board, run.contender, run.problem, run.hardware)
            cells.setdefault(key, []).append(stored)
        return {stored.run.id: held for held in cells.values() for stored in held}

    @cached_property
    def board_of(self) -> Mapping[str, Board]:
        """The board that shows a run, by the run's id."""
        return {attempt.run.id: board for board in self.boards for attempt in board.attempts}

    @cached_property
    def neighbours(self) -> Mapping[str, Neighbours]:
        """The runs beside a run on the board that shows it, by the run's id."""
        return {run_id: held for board in self.boards for run_id, held in neighbours(board)}

    @cached_property
    def refusals(self) -> Mapping[str, str]:
        """Why the first board that refuses a run does so, by the run's id."""
        refused = [refusal for board in self.boards for refusal in board.refused]
        return {refusal.run_id: refusal.reason for refusal in reversed(refused)}

    @cached_property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Which attempt of its cell a run is, from 1, and how many there are, by the run's id."""
        return {
            stored.run.id: (number, len(held))
            for held in {id(held): held for held in self.attempts.values()}.values()
            for number, stored in enumerate(held, start=1)
        }

    @cached_property
    def near(self) -> Mapping[str, Sequence[str]]:
        """The attempts around a run and itself, in order, by id, by the run's id.

        A cell of thousands is listed elsewhere.
        """
        return Nearest(self.attempts, self.places)

    @cached_property
    def known(self) -> Container[str | None]:
        """The ids of all runs that have a page."""
        return self.by_id.keys()

    @cached_property
    def contests(self) -> Sequence[Contest]:
        """The problems with several runs on a board, in the order of boards and decks."""
        return contests(self.boards)

    @cached_property
    def rivals(self) -> Mapping[str, Sequence[Attempt]]:
        """All runs of a run's problem on its board, the best first; only where there are others."""
        return {a.run.id: held.attempts for held in self.contests for a in held.attempts}

    @cached_property
    def rows_depend(self) -> Mapping[str, str]:
        """What a row about a run hangs on, wherever it stands, in short, by the run's id.

        Nothing of it is in a transcript. Empty for a run of which that is not known.
        """
        found: dict[str, str] = {}
        for stored in self.every_run:
            run, board = stored.run, self.board_of.get(stored.run.id)
            on = board.config.id if board else None
            level = heaviest(self.alarms.get(run.id, ()))
            number, count = self.places[run.id]
            # What can hold anything comes last.
            told = f"{stored.untold} {number} {count} {level and level.value} {on!r}"
            found[run.id] = told if stored.untold else ""
        return found

    @cached_property
    def untold(self) -> Mapping[str, str]:
        """A digest of what boards show of a run, by the run's id; empty where that is not known.

        Nothing of it is in a transcript, but for what alarms and proofs say of it.
        """
        found = {run_id: one.untold for run_id, one in self.by_id.items()}
        for run_id in self.alarms.keys() | self.proofs.keys():
            if found.get(run_id):
                noticed = plain((self.alarms.get(run_id), self.proofs.get(run_id)))
                found[run_id] = digest(found[run_id], noticed)
        return found

    def ready(self) -> None:
        """Work out what pages of runs ask of all runs: before the process is copied, so once."""
        _ = self.by_id, self.by_problem, self.board_of, self.neighbours, self.refusals
        _ = self.places, self.rivals

    def cost(self, run: Run, shown: Transcript | None = None) -> Cost:
        """What a run cost: as its CLI says, and by the site's table of prices."""
        return cost(run, self.prices, shown)

    @property
    def frame(self) -> tuple[object, ...]:
        """What the frame of every page shows of the site beside its settings."""
        return [board.config for board in self.boards], bool(self.contests)

    def problem_title(self, problem: str) -> str:
        """The title of a problem; its id if it is not in the repository."""
        stored = self.problems.get(problem)
        return stored.problem.title if stored else problem


def heaviest(alarms: Sequence[Alarm]) -> Level | None:
    """The level of the heaviest of some alarms; None if there is none."""
    # Of most runs there are none.
    return max((one.level for one in alarms), key=lambda level: level.weight) if alarms else None


class Renderer(Protocol):
    """Turns templates into text; the build has the one that there is."""

    @property
    def in_one_file(self) -> bool:
        """Whether all pages of a run become one file."""
        ...

    def page(self, template: str, path: str, values: Mapping[str, object]) -> str:
        """A whole page that stands at `path`."""
        ...

    def piece(self, template: str, path: str, values: Mapping[str, object]) -> str:
        """A piece of the page that stands at `path`."""
        ...

    def transcript(self, stored: StoredRun) -> Transcript | None:
        """The transcript of a run, read anew; None if it has none to show."""
        ...

    def made(self, path: str, page: str) -> Made | None:
        """What a file of a page was made of the last time; None if it cannot stay as it is."""
        ...

    def stood(self, path: str) -> bytes | None:
        """What a file of the site that stands holds; None where there is none to read."""
        ...


class File(Struct, frozen=True):
    """A file of the site, ready to be written."""

    path: str
    """Within the site, with forward slashes, not yet quoted."""
    text: str = ""
    data: Callable[[], bytes] | None = None
    """Makes what it holds where that is no text; called when it is written."""
    pieces: Iterable[str] | None = None
    """The text where it is too long to be held at once; to be gone through once."""
    large: bool = False
    """Whether the pieces take a while."""
    made: Made | None = None
    stays: bool = False
    """Whether it is what it was the last time; it has no text then."""
    cut: Cut | None = None
    """Where the stretch of the page lies, in its own file."""


class Page(Struct, frozen=True):
    """A page of the site, still to be made, with the pages that are cut from it."""

    path: str
    """Within the site, with forward slashes, not yet quoted."""
    files: Callable[[Renderer], Iterator[File]]
    """Makes its files, one at a time; called when they are written, and dropped after."""
    depends: Callable[[Mapping[str, Input]], object] | None = None
    """All that its files depend on beside code, titles and settings, as plain data; given the files
    that the build reads. A page without this is made anew whenever anything but a transcript
    changed: it reads no file of a run."""
    run: StoredRun | None = None
    """The run whose files it reads, if it reads any."""
    stretch: Stretch | None = None
    """What stays out of `depends`: all else of the page can stay where it changes."""
    weight: int = 1
    """How many pages about several runs take as long as this one does, if it is one of these."""


def templated(
    path: str,
    template: str,
    values: Callable[[], Mapping[str, object]],
    depends: Callable[[], object] | None = None,
) -> Page:
    """A page of one file, made of a template and the values that it shows.

    `depends` gives all that they depend on; without it they may be of anything.
    """

    def files(renderer: Renderer) -> Iterator[File]:
        yield File(path, renderer.page(template, path, values()))

    return Page(path, files, (lambda _: depends()) if depends else None)


def attempt_of(stored: StoredRun, alarms: tuple[Alarm, ...] = ()) -> Attempt:
    """A run, as a board sees it."""
    return Attempt(stored.run, stored.metrics, stored.audit, alarms)


def board_path(board_id: str) -> str:
    """Where a board's page stands."""
    return f"{board_id}/{INDEX}"


def board_file(board_id: str) -> str:
    """Where a board's own leaderboard.json stands."""
    return f"data/boards/{board_id}/leaderboard.json"


def charts_path(board_id: str) -> str:
    """Where the charts of a board stand that has too many runs for one page."""
    return f"{board_id}/charts.html"


def run_path(run_id: str) -> str:
    """Where a run's page stands."""
    return f"runs/{run_id}/{INDEX}"


def trajectory_path(run_id: str) -> str:
    """Where a run's trajectory in ATIF stands, to download."""
    return f"runs/{run_id}/trajectory.json"


def markdown_path(run_id: str) -> str:
    """Where a run stands as Markdown, to download."""
    return f"runs/{run_id}/run.md"


COMPARE = f"compare/{INDEX}"
"""Where the page that compares runs stands."""


def compared_path(run_id: str) -> str:
    """Where what the page that compares runs needs of a run stands."""
    return f"runs/{run_id}/compare.js"


def run_key(run_id: str) -> str:
    """A run's id as it stands in addresses, of runs and of the page that compares them."""
    return _quoted(run_id)


def comparison(*run_ids: str) -> str:
    """What follows the address of the page that compares runs, for it to show some of them."""
    return "?runs=" + ",".join(map(run_key, run_ids))


def problem_path(problem: str) -> str:
    """Where a problem's page stands."""
    return f"problems/{problem}/{INDEX}"


def hardware_path(hardware: str) -> str:
    """Where the page of some hardware stands."""
    return f"hardware/{hardware}/{INDEX}"


def model_path(model: str) -> str:
    """Where the page of a model stands."""
    return f"models/{folder_name(model)}/{INDEX}"


def harness_path(harness: str) -> str:
    """Where the page of a harness stands."""
    return f"harnesses/{folder_name(harness)}/{INDEX}"


def address(path: str, fragment: str = "", *, seen_from: str) -> str:
    """The relative address of `path`, and a place in it, seen from another page of the site."""
    up = "../" * seen_from.count("/")
    # "./" keeps a first segment with a colon from being read as a scheme.
    return f"{up or './'}{_quoted(path)}" + (f"#{_quoted(fragment)}" if fragment else "")


def from_home(path: str, fragment: str = "") -> str:
    """The address of `path`, and a place in it, to put behind that of the site."""
    return address(path, fragment, seen_from="").removeprefix("./")


@lru_cache(maxsize=10_000)
def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="/")
