"""The tasks of a build once all runs are read and looked over: pages, and copies of runs' files.

Each is plain data, and is done by a function of it and of the build that is prepared, which puts
files in their places and changes nothing else. So tasks can be spread over processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from kbsite.model.finding import Finding, Severity
from kbsite.output import Copy, Output, Placed
from kbsite.pages.page import File, Made, Page, Site
from kbsite.record import PageRecord, Record
from kbsite.rendering import Ahead, Templates, environment
from kbsite.standing import digest
from kbsite.store.inputs import Input
from kbsite.store.runs import StoredRun


@dataclass(frozen=True, slots=True)
class MakePage:
    """A page that has to be made."""

    page: Page
    key: str | None
    """Digest of all that it depends on; None where that is still to be told."""

    @property
    def run(self) -> StoredRun | None:
        """The run whose files it reads; None where it is about several, and reads none."""
        return self.page.run


@dataclass(frozen=True, slots=True)
class CopyFiles:
    """Files of a run that have to be copied."""

    run: StoredRun
    copies: tuple[Copy, ...]


Task = MakePage | CopyFiles


@dataclass(frozen=True, slots=True)
class Done:
    """What a task came to."""

    placed: Placed
    parsed: int = 0
    rendered: int = 0
    record: PageRecord | None = None
    """Of a page."""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A build that is ready to make its pages."""

    site: Site
    inputs: Mapping[str, Input]
    frame: str
    """Digest of what stands on every page."""
    earlier: Record
    """What the last build made that can be what this one makes."""
    output: Output
    ahead: Ahead
    digests: Mapping[str, str]
    """The digest of each template, by its name."""

    @cached_property
    def templates(self) -> Templates:
        """The templates, which tell `output` of what they do."""
        return Templates(environment(self.site), self.earlier, self.output, self.ahead)

    def key(self, page: Page) -> str:
        """Digest of all that a page depends on that tells what that is."""
        assert page.depends
        return digest(self.frame, page.depends(self.inputs))

    def weight(self, task: Task) -> int:
        """How long a task takes, in bytes of transcript that take as long."""
        if isinstance(task, CopyFiles):
            packed = sum(one.file.size for one in task.copies if one.compressed)
            return _A_COPY * len(task.copies) + packed // 20
        if task.run is None:
            return _A_PAGE + _A_ROW * len(self.site.runs)
        return _A_PAGE + sum(file.size for file in task.run.transcripts)


_A_PAGE, _A_ROW, _A_COPY = 40_000, 200, 500
"""Bytes of transcript that take as long as a page of nothing, as a run on a page that lists all,
and as the copy of a file."""


def do(prepared: Prepared, task: Task) -> Done:
    """Do a task."""
    if isinstance(task, MakePage):
        return make_page(prepared, task)
    output = prepared.output.apart()
    output.copy(task.copies)
    return Done(output.placed)


def make_page(prepared: Prepared, task: MakePage) -> Done:
    """Put all files of a page in their places; one that cannot be made says so in its place."""
    making = _begun(prepared, task)
    output = making.output
    try:
        for file in task.page.files(making.templates):
            output.write(file)
            making.files[file.path] = file.made
        output.settle()
    except Exception as error:  # noqa: BLE001 - one bad run never stops a build of a thousand
        with suppress(Exception):
            output.settle()
        return making.broken(f"{type(error).__name__}: {error}")
    key = prepared.key(task.page) if task.key is None else task.key
    return making.done(key)


def broken_page(prepared: Prepared, task: MakePage, why: str) -> Done:
    """Put a page in its place that says why there is no other."""
    return _begun(prepared, task).broken(why)


@dataclass(frozen=True, slots=True)
class _OnePage:
    """A page that is being made."""

    prepared: Prepared
    task: MakePage
    templates: Templates
    output: Output
    files: dict[str, Made | None] = field(default_factory=dict)

    def broken(self, why: str) -> Done:
        path, message = self.task.page.path, f"the page cannot be made: {why}"
        html = self.templates.page("pages/broken.html", path, {"title": path, "message": message})
        self.output.write(File(path, html))
        return self.done("", Finding(Severity.ERROR, path, message))

    def done(self, key: str, *findings: Finding) -> Done:
        """What came of it."""
        prepared, page = self.prepared, self.task.page
        used = {name: prepared.digests[name] for name in sorted(self.templates.env.used)}
        old = prepared.earlier.pages.get(page.path)
        if old is not None and not self.files.keys().isdisjoint(old.files):
            # What stays of it was made with those that made it.
            used = {**old.templates, **used}
        record, work = PageRecord(key, self.files, used), self.output.work
        return Done(self.output.placed, work.parsed, work.rendered, record, findings)


def _begun(prepared: Prepared, task: MakePage) -> _OnePage:
    output, templates = prepared.output.apart(), prepared.templates
    templates.env.used.clear()
    return _OnePage(prepared, task, replace(templates, output=output), output)
