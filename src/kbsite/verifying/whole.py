"""A site held against itself: raw files against manifests and rules, all others against those."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from msgspec import structs

from kbsite import __version__, assets
from kbsite.check.known import Known
from kbsite.check.runs import run_findings
from kbsite.check.solutions import HASH
from kbsite.errors import InputError, MachineError
from kbsite.feeds import cards, parquet
from kbsite.model.config import Config
from kbsite.model.finding import Finding, Severity
from kbsite.model.price import PriceTable
from kbsite.model.published import Published
from kbsite.model.redacted import Redactions
from kbsite.model.solution import solution_names
from kbsite.model.work import Tick
from kbsite.pages.data import PARQUET, SITE
from kbsite.pages.kinds import every
from kbsite.pages.page import File, Page, Site
from kbsite.reading import MARKER, board_configs
from kbsite.rendering import Templates, environment
from kbsite.store.files import NOT_READ, Refused, contents
from kbsite.store.manifests import unsealed
from kbsite.store.parsing import InvalidFileError, json_data
from kbsite.store.records import record
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun, as_findings, read_run
from kbsite.store.schema import SCHEMAS, schema_text
from kbsite.store.scratch import scratch_folder
from kbsite.store.swapping import FOR_HOSTS, VERSIONS
from kbsite.verifying.anew import known_of, others, site_anew
from kbsite.verifying.differences import differences
from kbsite.verifying.drawn import Drawn
from kbsite.verifying.extras import made_with
from kbsite.verifying.mirror import REDACTION, Mirror, is_copy, published_runs
from kbsite.verifying.places import Place
from kbsite.verifying.search_scripts import search_scripts

_DRAWN = (".png",)
"""Files whose bytes depend on the fonts of a machine; what they are drawn from is compared, too."""

_PNG = b"\x89PNG\r\n\x1a\n"
"""What each of them begins with."""

MOST_BYTES = 64_000_000
"""Bytes of a record of the site: whoever publishes it may be nobody's friend."""

_OF_SEARCH = re.compile(r"search/([\w.-]+/)?[\w.-]+\.(js|json|pagefind|pf_\w+)")
"""Where files of an index stand: none of them is a page."""

_OF_VERSIONS = (*(f"{name}/" for name in VERSIONS), ".github/workflows/")
"""Where a clone of a site whose versions somebody keeps has what is no part of it."""

NOWHERE = "data/what-no-site-has.json"

T = TypeVar("T")


def verify(place: Place, tick: Tick | None = None) -> Iterator[Finding]:
    """Everything that the site says and that does not follow from the raw data it publishes.

    InputError where there is no site, MachineError where it cannot be fetched, or another one took
    its place meanwhile, as builds do: then nothing is said of either. Paths of findings are those
    of the site.
    """
    before = place.state()
    wrong: InputError | None = None
    told: set[str] = set()
    try:
        for finding in _findings(place, tick):
            if finding.severity is Severity.ERROR:
                told.add(finding.path)
            yield finding
    except InputError as error:
        wrong = error
    if place.state() != before or place.is_other(told):
        message = "another site took the place of this one while it was verified; verify it again"
        raise MachineError(f"{message}: what was found is about neither") from wrong
    if wrong:
        raise wrong


def _findings(place: Place, tick: Tick | None) -> Iterator[Finding]:
    held, wrong = _read(place, SITE, Published)
    if held is None and not wrong:
        message = "missing; expected a site that kbsite made, with everything that is under data/"
        raise InputError(message, path=SITE)
    yield from wrong
    _refuse_any_answer(place)
    with scratch_folder("verify") as folder:
        if held is not None:
            yield from _Verifying(place, held, folder).findings(tick)
            return
        alone = Published(
            format=1, kbsite=__version__, config=Config(title=""), boards=(), floor_runs=(),
            runs=published_runs(place), problems=(), hardware={}, prices=PriceTable(), findings=(),
        )  # fmt: skip
        yield from _Verifying(place, alone, folder).raw(Known(None), {}, tick)
        message = "pages and tables were held against nothing for want of it, raw files alone were"
        yield Finding(Severity.ERROR, SITE, message)


def _read(place: Place, path: str, kind: type[T]) -> tuple[T | None, list[Finding]]:
    """A record of the site, and why it is none; neither where it is not there."""
    data = place.read(path)
    if data is None:
        return None, []
    if len(data) > MOST_BYTES:
        message = f"larger than {MOST_BYTES} bytes, which no such file is"
        return None, [Finding(Severity.ERROR, path, message)]
    where = Path(path)
    text = data.decode("utf-8", "replace")
    try:
        # Runs and files are called what they are, in bytes that may be no UTF-8.
        return record(json_data(where, text, any_text=True), kind, where, text), []
    except InvalidFileError as error:
        return None, as_findings(error)


def _refuse_any_answer(place: Place) -> None:
    """Raise InputError where a server answers whatever it is asked for: nothing would be missing.

    Such a server sends a start page, say, for all that it does not have.
    """
    if place.names() is None and place.read(NOWHERE) is not None:
        message = "the server sends something for a file that no site has; have it answer 404"
        raise InputError(message, path=NOWHERE)


class _Verifying:
    """One site, while it is verified."""

    def __init__(self, place: Place, held: Published, folder: Path) -> None:
        self._place = place
        self._held = held
        self._folder = folder
        told, self._wrong = _read(place, REDACTION, Redactions)
        self._redactions = told or Redactions(format=1, files=())
        self._mirror = Mirror(place, folder / "runs", self._redactions)
        self._seen: set[str] = set()
        self._drawn = Drawn()
        self._lacking: dict[str, str] = {}
        """By extra that is not here, the first file that was not compared for want of it."""

    def findings(self, tick: Tick | None) -> Iterator[Finding]:
        """All that there is to say of the site."""
        runs: dict[str, StoredRun] = {}
        yield from self.raw(known_of(self._held, self._folder / "problems"), runs, tick)
        yield from self._kinds(runs)
        extras = made_with(self._place, self._held)
        site = replace(site_anew(self._held, runs), redactions=self._redactions, extras=extras)
        yield from self._pages(site, tick)

    def raw(self, there: Known, runs: dict[str, StoredRun], tick: Tick | None) -> Iterator[Finding]:
        """What is wrong with the raw files; the runs that can be read come into `runs`."""
        yield from self._wrong
        if self._wrong:
            message = "files that it would tell of count as changed for want of it"
            yield Finding(Severity.ERROR, REDACTION, message)
        ids = [*self._held.runs, *self._held.floor_runs]
        for done, run_id in enumerate(ids, start=1):
            if tick:
                tick(run_id, done, len(ids))
            own = self._mirror.take(run_id)
            if own is None:
                continue
            yield from self._mirror.told(own)
            unread = self._unread(run_id)
            for finding in run_findings(own, there):
                if not (self._of_hashes(finding) or self._of_covered(run_id, finding)):
                    yield replace(finding, path=self._mirror.published(finding.path))
            yield from self._mirror.hashes(own, unread)
            try:
                read = read_run(own)
                # What is not read is not published either: no raw data tell of it.
                kept, others = contents(own)
                others += [Refused(name, "") for name in unread]
                seal = unsealed(own, (kept, others))
                found = (*unread.values(), *read.findings, *seal)
                runs[run_id] = structs.replace(read, findings=found)
            except InvalidFileError as error:
                yield from (
                    replace(one, path=self._mirror.published(one.path))
                    for one in as_findings(error)
                )
        yield from self._mirror.findings
        yield from self._mirror.strange(ids)

    def _kinds(self, runs: Mapping[str, StoredRun]) -> Iterator[Finding]:
        """Where site.json lists something twice, or a run as what its own run.json says it is not.

        A run that is called a floor would stand on no board, and one that is listed twice count
        as two attempts, on pages that agree with that.
        """
        held = self._held
        lists = {
            "runs": [*held.runs, *held.floor_runs],
            "boards": [one.config.id for one in held.boards],
            "problems": [one.id for one in held.problems],
        }
        for name, ids in lists.items():
            for one, times in Counter(ids).items():
                if times > 1:
                    message = f"is listed {times} times; expected once"
                    yield Finding(Severity.ERROR, SITE, message, key=f"{name}[{one}]")
        for name, told, floor in (
            ("runs", held.runs, False),
            ("floor_runs", held.floor_runs, True),
        ):
            for one in told:
                if one in runs and runs[one].run.is_floor is not floor:
                    message = f"is {'no' if floor else 'a'} floor, as its run.json says"
                    yield Finding(Severity.ERROR, SITE, message, key=f"{name}[{one}]")

    def _unread(self, run_id: str) -> dict[str, Finding]:
        """What of a run the site says that it does not hold, by name within the run."""
        own = f"/{run_id}/"
        return {
            one.path.partition(own)[2]: one
            for one in self._held.findings
            if own in one.path and one.message.startswith(NOT_READ)
        }

    def _of_hashes(self, finding: Finding) -> bool:
        """Whether a check says what `Mirror.hashes` says, which knows of redaction."""
        told = finding.message.startswith(("changed after the run", "missing; the manifest"))
        return told and finding.path.startswith(str(self._folder))

    def _of_covered(self, run_id: str, finding: Finding) -> bool:
        """Whether a grade is held against a solution that is published with parts covered."""
        of_solution = finding.key == HASH and PurePosixPath(finding.path).name == METRICS
        return of_solution and bool(solution_names(self._mirror.covered(run_id)))

    def _pages(self, site: Site, tick: Tick | None) -> Iterator[Finding]:
        if self._held.kbsite != __version__:
            message = (
                f"made by kbsite {self._held.kbsite}, this is {__version__}: its pages were not"
                " compared, only its data; install that version to compare all"
            )
            yield Finding(Severity.ERROR, SITE, message, key="kbsite")
        yield from self._boards(site)
        templates = Templates(environment(site))
        pages = list(every(site))
        for done, page in enumerate(pages, start=1):
            if tick:
                tick(page.path, done, len(pages))
            yield from self._page(page, templates)
        for extra, path in self._lacking.items():
            message = f"not compared, like all of its kind: pip install '{extra}' to compare them"
            yield Finding(Severity.WARNING, path, message)
        yield from self._drawn.findings()
        yield from self._static()
        if self._place.read(REDACTION) is None:
            yield Finding(Severity.ERROR, REDACTION, "missing; it tells what is hidden of runs")
        self._seen.add(REDACTION)
        yield from self._more()

    def _page(self, page: Page, templates: Templates) -> Iterator[Finding]:
        try:
            for file in page.files(templates):
                yield from self._file(file)
        except MachineError:
            raise
        except InputError as error:
            yield Finding(Severity.ERROR, page.path, error.message)
        except Exception as error:  # noqa: BLE001 - one bad run never stops the others
            message = f"cannot be made anew: {type(error).__name__}: {error}"
            yield Finding(Severity.ERROR, page.path, message)

    def _file(self, file: File) -> Iterator[Finding]:
        if file.path.endswith(_DRAWN):
            yield from self._picture(file)
        elif file.path == PARQUET and not parquet.available():
            self._seen.add(file.path)
            self._lacking[parquet.EXTRA] = file.path
        elif file.data:
            yield from self._compared(file.path, file.data())
        else:
            text = "".join(file.pieces) if file.pieces is not None else file.text
            yield from self._compared(file.path, text.encode("utf-8"))

    def _picture(self, file: File) -> Iterator[Finding]:
        self._seen.add(file.path)
        got = self._place.read(file.path)
        if got is None:
            yield Finding(Severity.ERROR, file.path, "missing; pages name it as their picture")
        elif not got.startswith(_PNG):
            yield Finding(Severity.ERROR, file.path, "is no PNG")
        elif not cards.available():
            self._lacking.setdefault(cards.EXTRA, file.path)
        elif file.data and self._held.kbsite == __version__:
            self._drawn.take(file.path, file.data(), got)

    def _compared(self, path: str, wanted: bytes) -> Iterator[Finding]:
        self._seen.add(path)
        if self._held.kbsite != __version__ and not path.endswith((".json", ".csv", ".xml")):
            return
        got = self._place.read(path)
        if got is None:
            yield Finding(Severity.ERROR, path, "missing; it follows from the raw data")
        else:
            yield from differences(path, wanted, got)

    def _static(self) -> Iterator[Finding]:
        """The scripts and styles, which could show something else than pages say; the schemas."""
        for name, _ in assets.static_files():
            yield from self._compared(f"static/{name}", assets.static(name))
        for name in SCHEMAS:
            text = schema_text(name)
            yield from self._compared(f"data/schema/{name}.schema.json", text.encode("utf-8"))
        if self._held.config.search and self._held.kbsite == __version__:
            yield from search_scripts(self._place, self._folder / "search")

    def _added(self, name: str) -> Iterator[Finding]:
        if name.endswith(".html"):
            yield Finding(Severity.ERROR, name, "no page that follows from the raw data")
        elif self._held.kbsite == __version__:
            message = "no file that follows from the raw data, and a server may show it"
            yield Finding(Severity.ERROR, name, message)

    def _boards(self, site: Site) -> Iterator[Finding]:
        """Where the site's boards are not those that kbsite.yaml, by its account, and runs name."""
        made = [one.config for one in self._held.boards]
        wanted = board_configs(self._held.config, others(self._held, site.runs))
        declared = {one.id for one in self._held.config.boards}
        for one in wanted:
            if one.id in declared and one not in made:
                message = "is not what the board is made by, which boards says"
                yield Finding(Severity.ERROR, SITE, message, key=f"config.boards[{one.id}]")
            elif one not in made:
                message = "is not there as the runs make it that name this board"
                yield Finding(Severity.ERROR, SITE, message, key=f"boards[{one.id}]")
        for one in made:
            if one.id not in {other.id for other in wanted}:
                message = "is no board of config.boards, and none that runs name"
                yield Finding(Severity.ERROR, SITE, message, key=f"boards[{one.id}]")

    def _more(self) -> Iterator[Finding]:
        """Runs and pages that nothing of the published data leads to."""
        known = {*self._held.runs, *self._held.floor_runs}
        follows = {*self._seen, MARKER}
        hidden = set()
        ours = tuple(f"runs/{run_id}/raw/" for run_id in known)
        for name in sorted(self._place.names() or ()):
            head, _, rest = name.partition("/")
            run_id = rest.partition("/")[0]
            if name in self._seen or name.startswith(ours) or _elsewhere(name):
                continue
            if is_copy(self._place, name, follows):
                continue
            if head == "runs" and "/" in rest and run_id not in known:
                hidden.add(run_id)
            else:
                yield from self._added(name)
        for run_id in sorted(hidden):
            message = f"{SITE} does not list this run; it is hidden from boards and tables"
            yield Finding(Severity.ERROR, f"runs/{run_id}", message)
        yield from self._odd()

    def _odd(self) -> Iterator[Finding]:
        for odd in self._place.others():
            message = f"no file of kbsite's: {odd.reason}; a server may show what it leads to"
            yield Finding(Severity.ERROR, odd.name, message)


def _elsewhere(name: str) -> bool:
    """Whether nothing is compared with a file: the search's, a clone's, what hosts are told by."""
    if name.startswith(_OF_VERSIONS):
        return not name.endswith(".html")
    return bool(_OF_SEARCH.fullmatch(name)) or name in (MARKER, *FOR_HOSTS)
