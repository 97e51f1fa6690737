"""All pages of a site, made or kept, and the files that stand beside them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite import assets, text
from kbsite.build.pages_afar import errand
from kbsite.build.tasks import CopyFiles, Done, MakePage, Prepared, Task, broken_page, stretched
from kbsite.engines import Engine, Here, Lost
from kbsite.errors import MachineError
from kbsite.model.finding import Finding
from kbsite.model.work import Tick
from kbsite.output import Copy
from kbsite.pages.data import REDACTION
from kbsite.pages.file_names import gzip_path, raw_path
from kbsite.pages.kinds import every
from kbsite.pages.page import Page, Site
from kbsite.pages.run import beside
from kbsite.record import PageRecord, Raw, Record
from kbsite.standing import Standing, digest, plain
from kbsite.store.files import Stored
from kbsite.store.runs import StoredRun
from kbsite.store.schema import SCHEMAS, schema_text
from kbsite.store.writing import json_text


def still_right(
    before: Record, frame: str, templates: Mapping[str, str], earlier: Mapping[str, str]
) -> Record:
    """What the last build made, with the `earlier` templates, that can be what this one makes."""
    if before.frame != frame:
        return Record()
    if templates == earlier:
        return before
    same = {name for name, held in templates.items() if earlier.get(name) == held}
    pages = {path: page for path, page in before.pages.items() if same.issuperset(page.templates)}
    return replace(before, pages=pages)


def _hashes(site: Site) -> list[tuple[str, str]]:
    """What tells whether problems are what they were."""
    return [(name, stored.hash) for name, stored in site.problems.items()]


def load(*, anew: bool) -> None:
    """Load what makes pages; for a site that is made `anew`, make what has to wait for no run."""
    text.load(colours=anew)
    for name in SCHEMAS if anew else ():
        schema_text(name)


_MANY = 20
"""Pages of runs of which some hold Markdown that needs a parser."""


class PageMaking(Struct, dict=True):
    """A build at work: what it knows of the last one, and what it has made so far."""

    prepared: Prepared
    earlier: Standing
    now: Standing
    copied: Mapping[str, Raw]
    """The runs' own files as they stand in the site, by id of run."""
    engine: Engine
    found: Collection[str]
    """Ids of the runs in which was found what was found in them the last time."""
    stays: bool
    """Whether this process builds again: pages about several runs it makes itself, and knows more
    of them then."""
    pages: dict[str, PageRecord] = field(default_factory=dict)
    raw: dict[str, Raw] = field(default_factory=dict)
    read: set[Path] = field(default_factory=set)
    """The folders of the runs of which something was read to make pages, or copied."""
    astray: bool = False
    """Whether somebody was killed who wrote files that nobody has counted."""

    def make(self, tick: Tick | None) -> list[Finding]:
        """Put every file of the site in its place; what could not be made."""
        copy_static = cache(self._copy_static)
        pages = list(every(self.prepared.site))
        found: dict[str, tuple[Finding, ...]] = {}
        unread: dict[str, tuple[Finding, ...]] = {}

        def ready(path: str, page: PageRecord) -> None:
            self.pages[path] = page
            if tick:
                tick(path, len(self.pages), len(pages))

        def told(task: Task, done: Done) -> None:
            if isinstance(task, CopyFiles):
                unread[task.run.run.id] = done.findings
            elif done.record:
                found[task.page.path] = done.findings
                ready(task.page.path, done.record)

        tasks: list[Task] = [*self._anew(pages, ready), *self._copied()]
        spread = [task for task in tasks if task.run or not self.stays]
        self._ready(sum(task.run is not None for task in spread))
        if self.stays:
            self._do(Here(), [task for task in tasks if not task.run], told)
        # Copies that make pages have no need of it.
        self._do(self.engine, spread, told, lambda _: copy_static())
        copy_static()
        told_of = json_text(self.prepared.site.redactions)
        self.prepared.output.write_bytes(REDACTION, told_of.encode())
        # They came in any order: what is told of them stands in that of the pages.
        self.pages = {page.path: self.pages[page.path] for page in pages}
        of_pages = [found.get(page.path, ()) for page in pages]
        return [*chain.from_iterable((*of_pages, *(unread[run] for run in sorted(unread))))]

    def _ready(self, runs: int) -> None:
        """Make and load what pages of so many runs need, once for all copies of this process."""
        if runs:
            self.prepared.site.ready()
        if runs > _MANY:
            text.load()

    def _anew(
        self, pages: Sequence[Page], ready: Callable[[str, PageRecord], None]
    ) -> Iterator[MakePage]:
        """The pages that have to be made; the others stay, and are ready."""
        for page in pages:
            old = self.prepared.earlier.pages.get(page.path)
            key = old.key if old and old.key and self._shows_the_same(page) else self._key(page)
            if key and old and old.key == key and self.prepared.output.keep(old.files):
                ready(page.path, old)
            elif key and old and (put := stretched(self.prepared, page, old, key)):
                ready(page.path, put)
            else:
                yield MakePage(page, key)

    def _shows_the_same(self, page: Page) -> bool:
        """Whether it is known of a page, without asking it, that what it depends on is the same."""
        return self._as_a_whole if page.run is None else page.run.run.id in self._unchanged

    @cached_property
    def _as_a_whole(self) -> bool:
        return bool(self.whole) and self.whole == self.prepared.earlier.whole

    @cached_property
    def _unchanged(self) -> frozenset[str]:
        """Ids of the runs of whose pages nothing changed: not of the run, nor beside it."""
        earlier = self.prepared.earlier.beside
        same = {problem for problem, held in self.beside.items() if earlier.get(problem) == held}
        return frozenset(
            one.run.id
            for one in self.prepared.site.every_run
            if one.run.problem in same
            and one.says
            and one.run.id in self.found
            and (held := self.copied.get(one.run.id))
            and held.says == one.says
        )

    @cached_property
    def beside(self) -> Mapping[str, str]:
        """Digests of what pages of runs show of other runs and of the site, by problem."""
        earlier = self.prepared.earlier
        return earlier.beside if self._as_a_whole else beside(self.prepared.site)

    def _key(self, page: Page) -> str | None:
        """Digest of all that a page depends on; None where it is first told when it is made."""
        if page.depends is None:
            return self.whole
        return self.prepared.key(page) if page.path in self.prepared.earlier.pages else None

    def _do(
        self, engine: Engine, tasks: Sequence[Task], told: Callable[[Task, Done], None],
        meanwhile: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Let tasks be done; of one that is lost, tell what there is in its place."""

        def given(number: int, held: Done | Lost) -> None:
            task = tasks[number]
            done = self._without(task, held) if isinstance(held, Lost) else held
            output = self.prepared.output
            output.count(done.placed)
            output.work.parsed += done.parsed
            output.work.rendered += done.rendered
            told(task, done)

        self.read.update(task.run.folder for task in tasks if task.run)
        weights = [self.prepared.weight(task) for task in tasks]
        engine.each(errand(self.prepared), tasks, weights, given, meanwhile)

    def _without(self, task: Task, lost: Lost) -> Done:
        why = f"the process that did this was {lost.why}"
        if isinstance(task, CopyFiles):
            raise MachineError(f"{task.run.run.id}: its files cannot be copied: {why}")
        self.astray = True
        return broken_page(self.prepared, task, why)

    @cached_property
    def whole(self) -> str:
        """Digest of all that pages without dependencies of their own are made of.

        That is everything but what transcripts say: of them such a page shows what alarms and
        proofs do. Empty where that is not known.
        """
        site = self.prepared.site
        if not all(site.untold.values()):
            return ""
        return digest(
            self.prepared.frame, self.now.settings, plain(site.untold), _hashes(site),
            site.hardware, site.findings, site.redactions,
            [board.floors for board in site.boards],
        )  # fmt: skip

    def _copy_static(self) -> None:
        for file, parts in assets.static_files():
            name = f"static/{file}"
            if not self._is_same(parts, name):
                self.prepared.output.write_bytes(name, assets.static(file))
        schemas = [f"data/schema/{name}.schema.json" for name in sorted(SCHEMAS)]
        if self._same_code and self.prepared.output.keep(schemas):
            return
        for name in sorted(SCHEMAS):
            told = schema_text(name)
            self.prepared.output.write_bytes(f"data/schema/{name}.schema.json", told.encode())

    @property
    def _same_code(self) -> bool:
        """Whether the program is the one that made the site that stands."""
        return self.earlier.code == self.now.code

    def _is_same(self, parts: Iterable[Path], name: str) -> bool:
        """Whether the program and these files of it are as they were, and what it made is kept."""
        same = self._same_code and all(map(self._is_as_it_was, parts))
        return same and self.prepared.output.keep([name])

    def _is_as_it_was(self, path: Path) -> bool:
        held = str(path.absolute())
        old, new = self.earlier.program.get(held), self.now.program.get(held)
        return old is not None and new is not None and old.digest == new.digest

    def _copied(self) -> Iterator[CopyFiles]:
        """The runs' own files, as they stand in the site, of runs that are not what they were."""
        as_named = self._same_code
        for stored in self.prepared.site.every_run:
            held = self.copied.get(stored.run.id, Raw())
            if (
                as_named
                and held.says
                and held.says == stored.says
                and self.prepared.output.keep(held.paths)
            ):
                self.raw[stored.run.id] = held
                continue
            folder = str(stored.folder.absolute())
            placed = tuple(_raw_paths(stored))
            paths = tuple(path for path, _, _ in placed)
            # A run of another folder may have had the same id, and files of the same names; other
            # code may have given other files these names.
            own = held.folder == folder and (as_named or held.paths == paths)
            self.raw[stored.run.id] = Raw(stored.says, paths, folder)
            yield CopyFiles(stored, tuple(self._copies(placed, folder, own=own)))

    def _copies(
        self, placed: Iterable[tuple[str, Stored, bool]], folder: str, *, own: bool
    ) -> Iterator[Copy]:
        for path, file, compressed in placed:
            name = f"{folder}/{file.name}"
            old, new = self.earlier.inputs.get(name), self.prepared.inputs.get(name)
            same = own and old is not None and new is not None and old.says == new.says
            yield Copy(file, path, same, compressed=compressed)


def _raw_paths(stored: StoredRun) -> Iterator[tuple[str, Stored, bool]]:
    """Where a run's own files stand in the site, and whether compressed."""
    for file in stored.files:
        yield raw_path(stored.run.id, file.name), file, False
        packed = gzip_path(stored.run.id, file)
        if packed:
            yield packed, file, True
