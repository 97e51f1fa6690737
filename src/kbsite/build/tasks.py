"""The tasks of a build once all runs are read and looked over: pages, and copies of runs' files.

Each is plain data, and is done by a function of it and of the build that is prepared, which puts
files in their places and changes nothing else. So tasks can be spread over processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.ahead import Ahead
from kbsite.errors import FULL, READABLE
from kbsite.model.finding import Finding, Severity, failure_of
from kbsite.output import Copy, Destination, Output, Placed
from kbsite.pages.coloured import Made
from kbsite.pages.page import File, Page, Site
from kbsite.pages.stretches import Cut, with_other
from kbsite.record import PageRecord, Record
from kbsite.rendering import Templates, environment
from kbsite.standing import digest
from kbsite.store.inputs import Input
from kbsite.store.runs import StoredRun


class MakePage(Struct, frozen=True):
    """A page that has to be made."""

    page: Page
    key: str | None
    """Digest of all that it depends on; None where that is still to be told."""

    @property
    def run(self) -> StoredRun | None:
        """The run whose files it reads; None where it is about several, and reads none."""
        return self.page.run


class CopyFiles(Struct, frozen=True):
    """Files of a run that have to be copied."""

    run: StoredRun
    copies: tuple[Copy, ...]


Task = MakePage | CopyFiles


class Done(Struct, frozen=True):
    """What a task came to."""

    placed: Placed
    parsed: int = 0
    rendered: int = 0
    record: PageRecord | None = None
    """Of a page."""
    findings: tuple[Finding, ...] = ()


class Prepared(Struct, frozen=True, dict=True):
    """A build that is ready to make its pages."""

    site: Site
    inputs: Mapping[str, Input]
    frame: str
    """Digest of what stands on every page."""
    earlier: Record
    """What the last build made that can be what this one makes."""
    output: Output
    ahead: Ahead

    @cached_property
    def templates(self) -> Templates:
        """The templates, which tell `output` of what they do."""
        return Templates(environment(self.site), self.earlier, self.output, self.ahead)

    def key(self, page: Page) -> str:
        """Digest of all that a page depends on that tells what that is."""
        rest = self.rest(page)
        if not page.stretch or not page.run:
            return rest
        return digest(rest, page.stretch.depends(self.site, page.run))

    def rest(self, page: Page) -> str:
        """The same of all but its stretch."""
        assert page.depends
        return digest(self.frame, page.depends(self.inputs))

    def weight(self, task: Task) -> int:
        """How long a task takes, in bytes of transcript that take as long."""
        if isinstance(task, CopyFiles):
            packed = sum(one.file.size for one in task.copies if one.compressed)
            return _A_COPY * len(task.copies) + packed // 20
        if task.run is None:
            return task.page.weight * (_A_PAGE + _A_ROW * len(self.site.runs))
        return _A_PAGE + task.run.transcript_size


_A_PAGE, _A_ROW, _A_COPY = 40_000, 200, 500
"""Bytes of transcript that take as long as a page of nothing, as a run on a page that lists all,
and as the copy of a file."""


def do(prepared: Prepared, task: Task) -> Done:
    """Do a task."""
    if isinstance(task, MakePage):
        return make_page(prepared, task)
    output = prepared.output.apart()
    unread = output.copy(task.copies)
    return Done(output.placed, findings=tuple(_not_copied(error) for error in unread))


def _not_copied(error: OSError) -> Finding:
    cure = (
        READABLE if isinstance(error, PermissionError)
        else "it was there when its run was read, build once more"
    )  # fmt: skip
    message = f"not in the site: {error.strerror}; {cure}"
    return Finding(Severity.ERROR, str(error.filename), message)


def make_page(prepared: Prepared, task: MakePage) -> Done:
    """Put all files of a page in their places; one that cannot be made says so in its place."""
    output = prepared.output.apart()
    made = page_made(task.page, replace(prepared.templates, output=output), output)
    if not made.wrong:
        prepared.site.kept.write()
    return done(prepared, task, made, output.placed)


def broken_page(prepared: Prepared, task: MakePage, why: str) -> Done:
    """Put a page in its place that says why there is no other."""
    output = prepared.output.apart()
    templates = replace(prepared.templates, output=output)
    templates.env.used.clear()
    made = _OnePage(task.page.path, templates, output).broken(why)
    return done(prepared, task, made, output.placed)


class PageMade(Struct, frozen=True):
    """What making a page came to, wherever that was; its files are with whoever took them."""

    files: Mapping[str, Made | None]
    """By path, with what those that can stay alone were made of."""
    used: tuple[str, ...]
    """The templates that it was made with, by name."""
    parsed: int
    rendered: int
    wrong: str = ""
    """Why there is another page in its place."""
    cut: Cut | None = None
    """Where its stretch lies."""


def page_made(page: Page, templates: Templates, output: Destination) -> PageMade:
    """Give all files of a page to an output; one that cannot be made says so in its place."""
    templates.env.used.clear()
    making = _OnePage(page.path, templates, output)
    try:
        for file in page.files(templates):
            output.write(file)
            making.files[file.path] = file.made
            if file.cut:
                making.cuts.append(file.cut)
        output.settle()
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            # No page is to blame, and a site of such pages is to replace none.
            raise
        # One bad run never stops a build of a thousand.
        with suppress(Exception):
            output.settle()
        return making.broken(failure_of(error))
    return making.done()


class _OnePage(Struct, frozen=True):
    """A page that is being made."""

    path: str
    templates: Templates
    output: Destination
    files: dict[str, Made | None] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    """Where its stretch lies, once that is known."""

    def broken(self, why: str) -> PageMade:
        path, message = self.path, f"the page cannot be made: {why}"
        html = self.templates.page("pages/broken.html", path, {"title": path, "message": message})
        self.output.write(File(path, html))
        return self.done(message)

    def done(self, wrong: str = "") -> PageMade:
        used, work = tuple(sorted(self.templates.env.used)), self.output.work
        cut = None if wrong else next(iter(self.cuts), None)
        return PageMade(self.files, used, work.parsed, work.rendered, wrong, cut)


def done(prepared: Prepared, task: MakePage, made: PageMade, placed: Placed) -> Done:
    """What a task came to whose page was made, and whose files were put in their places."""
    page, used = task.page, set(made.used)
    old = prepared.earlier.pages.get(page.path)
    if old is not None and not made.files.keys().isdisjoint(old.files):
        # What stays of it was made with those that made it.
        used.update(old.templates)
    findings = [Finding(Severity.ERROR, page.path, made.wrong)] if made.wrong else []
    key = "" if made.wrong else prepared.key(page) if task.key is None else task.key
    rest = prepared.rest(page) if made.cut else ""
    record = PageRecord(key, dict(made.files), tuple(sorted(used)), rest, made.cut)
    return Done(placed, made.parsed, made.rendered, record, tuple(findings))


def stretched(prepared: Prepared, page: Page, old: PageRecord, key: str) -> PageRecord | None:
    """Put the stretch of a page into the file that stands, where nothing else of it changed.

    All its other files stay. None, and nothing was done, where all of it has to be made.
    """
    output, path = prepared.output, page.path
    if not page.stretch or not page.run or not old.cut:
        return None
    if old.rest != prepared.rest(page):
        return None
    if not output.stand(old.files):
        return None
    html = page.stretch.html(prepared.site, page.run, prepared.templates)
    put = with_other((output.out / path).read_bytes(), old.cut, html)
    if put is None:
        return None
    output.keep([other for other in old.files if other != path])
    output.write_bytes(path, put[0])
    return replace(old, key=key, cut=put[1])
