"""The pipeline: read everything, then write every page that is not what it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from kbsite import __version__, assets, search, text
from kbsite.beside import beside
from kbsite.hiding import Hiding, hiding_of
from kbsite.hiding.told import counts, redactions, unwanted
from kbsite.lookout import Lookout, Tick
from kbsite.model.config import Redact
from kbsite.model.finding import Finding, Severity
from kbsite.model.transcript import Transcript
from kbsite.output import Copy, Output, Work
from kbsite.pages import every, facts, social, step_html, steps
from kbsite.pages.data import REDACTION
from kbsite.pages.made_once import made_once
from kbsite.pages.page import (
    LARGE,
    File,
    Made,
    Page,
    Site,
    address,
    attempt_of,
    board_path,
    comparison,
    gzip_path,
    hardware_path,
    markdown_path,
    problem_path,
    raw_path,
    run_path,
    trajectory_path,
)
from kbsite.reading import MARKER, read_noticing
from kbsite.record import Memory, PageRecord, Raw, Record
from kbsite.standing import Standing, digest, marker_of
from kbsite.store.inputs import Input, changes
from kbsite.store.runs import StoredRun
from kbsite.store.schema import SCHEMAS, schema
from kbsite.store.settings import Settings
from kbsite.store.writing import json_text, write_text
from kbsite.terminal import terminal
from kbsite.transcripts import transcript
from kbsite.unmet import unmet


def make(
    settings: Settings,
    before: Standing,
    now: Standing,
    tick: Tick | None = None,
    memory: Memory | None = None,
) -> tuple[Work, Standing]:
    """Make the site that is `now` to be made; `before` tells what stands. What stands then."""
    out = settings.out
    if settings.config.search:
        search.executable()  # told before the work is done, not after it
    memory = memory or Memory()
    code = now.code
    memory.recall(out, before, code)
    known, runs = memory.record, memory.runs
    hiding = hiding_of(settings, now.inputs, memory.hidden, changes(before.inputs, now.inputs))
    held = hiding.shown()
    ahead: Ahead = {}
    lookout = _lookout(held, known if before.code == code else Record(), ahead)
    site, seen = read_noticing(settings, lookout, tick, hiding, runs)
    told = redactions(hiding.found, {stored.folder for stored in site.every_run})
    published = _published(site.findings, settings, hiding)
    shown = replace(site, findings=published, redactions=told, kept=memory.rows)
    # What a leak is stands on few pages, and those that are kept say that they depend on it; so
    # does what is hidden of a run.
    framed = replace(settings.config, leaks=(), redact=Redact())
    frame = digest(code, framed, shown.prices, *shown.frame)
    memory.rows.begin(frame)
    output = Output(out, Work())
    making = _Making(shown, before, now, known, held, frame, output, ahead, now.templates)
    findings = [*site.findings, *making.make(tick)]
    output.write_bytes(REDACTION, json_text(told).encode())
    _publish(shown, output)
    standing = replace(
        now,
        marker=marker_of(out) or 0,
        inputs=held,
        pages=len(making.pages),
        findings=tuple(findings),
        unmet=(*unmet(site, settings.path), *unwanted(hiding.found)),
        hidden=counts(told),
    )
    runs.keep(stored.folder for stored in site.every_run)
    record = Record(
        standing.marker, frame, making.pages, dict(seen.noticed), seen.across, making.raw
    )
    memory.remember(out, standing, record, hiding.looked(settings))
    output.tidy()
    return output.work, standing


def _lookout(inputs: Mapping[str, Input], known: Record, ahead: Ahead) -> Lookout:
    return Lookout(inputs, known.noticed, known.across, partial(_read_ahead, ahead))


def _publish(site: Site, output: Output) -> None:
    """Let what was made take the place of the site, with an index of its texts if it has one."""
    output.drop()
    if site.config.search:
        output.empty(search.FOLDER)
        search.index(site, output.folder)
        output.filled(search.FOLDER)
    write_text(output.folder / MARKER, f"{__version__}\n")
    output.filled(MARKER)
    output.replace()


Ahead = dict[str, Transcript | Exception | None]
"""Transcripts that were read before their page is made, by id of run, or why one cannot be read."""


def _read_ahead(ahead: Ahead, stored: StoredRun) -> None:
    try:
        ahead[stored.run.id] = transcript(stored.run.harness, stored.transcripts)
    except Exception as error:  # noqa: BLE001 - raised where the page is made, and told there
        ahead[stored.run.id] = error


@dataclass
class _Making:
    """A build at work: what it knows of the last one, and what it has made so far."""

    site: Site
    earlier: Standing
    now: Standing
    before: Record
    inputs: Mapping[str, Input]
    frame: str
    """Digest of what stands on every page."""
    output: Output
    ahead: Ahead
    templates: Mapping[str, str]
    """The digest of each template, by its name."""
    pages: dict[str, PageRecord] = field(default_factory=dict)
    raw: dict[str, Raw] = field(default_factory=dict)

    def make(self, tick: Tick | None) -> Iterator[Finding]:
        """Put every file of the site in its place; what could not be made is found."""
        self._copy_static()
        templates = Templates(environment(self.site), self._earlier(), self.output, self.ahead)
        pages = list(every(self.site))
        copies = list(self._raw())
        large = sum(held.file.size for held in copies if not held.same) > LARGE
        copying = partial(self.output.copy, copies)
        copied = beside(copying) if large else copying
        for done, page in enumerate(pages, start=1):
            yield from self._page(page, templates)
            if tick:
                tick(page.path, done, len(pages))
        self.output.count(copied())

    def _earlier(self) -> Record:
        """What the last build made that can be what this one makes."""
        if self.before.frame != self.frame:
            return Record()
        pages = {path: page for path, page in self.before.pages.items() if self._is_current(page)}
        return replace(self.before, pages=pages)

    @cached_property
    def _whole(self) -> str:
        """Digest of all that pages without dependencies of their own are made of.

        That is everything but what transcripts say: of them such a page shows what alarms and
        proofs do. Empty where that is not known.
        """
        site = self.site
        runs = [(stored.run.id, stored.untold) for stored in site.every_run]
        if not all(untold for _, untold in runs):
            return ""
        return digest(
            self.frame, self.now.settings, runs, site.problems, site.hardware, site.findings,
            site.redactions, site.alarms, site.proofs, [board.floors for board in site.boards],
        )  # fmt: skip

    def _is_current(self, page: PageRecord) -> bool:
        """Whether a page was made of templates as they are."""
        return all(self.templates.get(name) == held for name, held in page.templates.items())

    def _page(self, page: Page, templates: Templates) -> Iterator[Finding]:
        key = digest(self.frame, page.depends(self.inputs)) if page.depends else self._whole
        old = templates.earlier.pages.get(page.path)
        if key and old and old.key == key and self.output.keep(old.files):
            self.pages[page.path] = old
            return
        files: dict[str, Made | None] = {}
        templates.env.used.clear()
        try:
            for file in page.files(templates):
                self.output.write(file)
                files[file.path] = file.made
            self.output.settle()
        except Exception as error:  # noqa: BLE001 - one bad run never stops a build of a thousand
            message = f"the page cannot be made: {type(error).__name__}: {error}"
            values = {"title": page.path, "message": message}
            html = templates.page("pages/broken.html", page.path, values)
            self.output.write(File(page.path, html))
            yield Finding(Severity.ERROR, page.path, message)
            key = ""
        used = {name: self.templates[name] for name in sorted(templates.env.used)}
        if old is not None and not files.keys().isdisjoint(old.files):
            # What stays of it was made with those that made it.
            used = {**old.templates, **used}
        self.pages[page.path] = PageRecord(key, files, used)

    def _copy_static(self) -> None:
        static = assets.folder("static")
        for path in sorted(static.rglob("*")):
            if path.is_file():
                name = f"static/{path.relative_to(static).as_posix()}"
                if not self._is_same(path, self.earlier.program, self.now.program, name):
                    self.output.write_bytes(name, path.read_bytes())
        schemas = [f"data/schema/{name}.schema.json" for name in sorted(SCHEMAS)]
        if self.earlier.code == self.now.code and self.output.keep(schemas):
            return
        for name in sorted(SCHEMAS):
            text = json_text(schema(name))
            self.output.write_bytes(f"data/schema/{name}.schema.json", text.encode())

    def _is_same(
        self, path: Path, before: Mapping[str, Input], now: Mapping[str, Input], name: str
    ) -> bool:
        """Whether a file of the site is what it was, and kept so."""
        old, new = before.get(str(path.absolute())), now.get(str(path.absolute()))
        same = old is not None and new is not None and old.digest == new.digest
        return same and self.output.keep([name])

    def _raw(self) -> Iterator[Copy]:
        """The runs' own files, as they stand in the site, of runs that are not what they were."""
        for stored in self.site.every_run:
            held = self.before.raw.get(stored.run.id)
            if held and held.says == stored.says and self.output.keep(held.paths):
                self.raw[stored.run.id] = held
                continue
            copies = list(self._copies(stored))
            if stored.says:
                paths = tuple(copy.path for copy in copies)
                self.raw[stored.run.id] = Raw(stored.says, paths)
            yield from copies

    def _copies(self, stored: StoredRun) -> Iterator[Copy]:
        for file in stored.files:
            name = str(file.path.absolute())
            old, new = self.earlier.inputs.get(name), self.inputs.get(name)
            same = old is not None and new is not None and old.says == new.says
            yield Copy(file, raw_path(stored.run.id, file.name), same)
            packed = gzip_path(stored.run.id, file)
            if packed:
                yield Copy(file, packed, same, compressed=True)


def _published(
    findings: Sequence[Finding], settings: Settings, hiding: Hiding
) -> tuple[Finding, ...]:
    """Findings with paths from the folder of the runs on: where it lies is nobody's business.

    What they tell of a run is covered as the run itself is.
    """
    homes = [settings.runs.parent, settings.problems.parent]
    published = []
    for finding in findings:
        path = Path(finding.path)
        inside = [path.relative_to(home) for home in homes if path.is_relative_to(home)]
        shown = hiding.text(str(inside[0]) if inside else path.name)
        key = hiding.text(finding.key) if finding.key else finding.key
        told = hiding.text(finding.message)
        published.append(replace(finding, path=shown, message=told, key=key))
    return tuple(published)


def _compiled() -> jinja2.BytecodeCache | None:
    """Where compiled templates are kept between builds: a folder that only this user can write."""
    try:
        return jinja2.FileSystemBytecodeCache()
    except (OSError, RuntimeError):
        # Templates are compiled anew then, which takes a tenth of building a short session.
        return None


class Environment(jinja2.Environment):
    """Templates, and which of them are used."""

    used: set[str]

    def get_template(
        self,
        name: str | jinja2.Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002 - jinja2 calls it so
    ) -> jinja2.Template:
        """A template; each one that another one includes, extends or imports comes by here."""
        found = super().get_template(name, parent, globals)
        if found.name:
            self.used.add(found.name)
        return found


def environment(site: Site) -> Environment:
    """Templates, with everything that all of them may use. Autoescape is on, always."""
    env = Environment(
        loader=jinja2.FileSystemLoader(assets.folder("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )
    env.used = set()
    env.filters.update(
        visible=text.visible,
        content=text.content,
        markdown=text.markdown,
        terminal=terminal,
        json=lambda value: text.visible(value if isinstance(value, str) else text.json(value)),
        diff=text.diff,
        rendered=Markup,
        picture=lambda image: text.picture(image.media_type, image.data, image.url),
        in_short=facts.in_short,
        score=facts.score,
        percent=facts.percent,
        count=facts.count,
        duration=facts.duration,
        elapsed=facts.elapsed,
        moment=facts.moment,
        money=facts.money,
        size=facts.size,
    )
    env.globals.update(
        site=site,
        version=__version__,
        schemas=sorted(SCHEMAS),
        attempt_of=attempt_of,
        counts_of=steps.counts,
        finish=step_html.finish,
        once=made_once(),
        social=social,
        board_path=board_path,
        comparison=comparison,
        run_path=run_path,
        problem_path=problem_path,
        hardware_path=hardware_path,
        raw_path=raw_path,
        gzip_path=gzip_path,
        markdown_path=markdown_path,
        trajectory_path=trajectory_path,
    )
    return env


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates, as pages call them, and what they need to know of the last build."""

    env: Environment
    earlier: Record = field(default_factory=Record)
    output: Output | None = None
    """Where the site is written; None where single pages are made."""
    ahead: Ahead = field(default_factory=dict)

    def page(self, template: str, path: str, values: Mapping[str, object]) -> str:
        """A whole page that stands at `path`; addresses in it are seen from there."""
        if self.output:
            self.output.work.rendered += 1
        url = partial(address, seen_from=path)
        return self.env.get_template(template).render(url=url, **values)

    def transcript(self, stored: StoredRun) -> Transcript | None:
        """The transcript of a run, read for this build; None if it has none to show."""
        if self.output:
            self.output.work.parsed += 1
        if stored.run.id not in self.ahead:
            _read_ahead(self.ahead, stored)
        held = self.ahead.pop(stored.run.id)
        if isinstance(held, Exception):
            raise held
        return held

    def made(self, path: str, page: str) -> Made | None:
        """What a file of a page was made of the last time; None if it cannot stay as it is."""
        held = self.earlier.file(path, page)
        if held is None or self.output is None or not self.output.stand([path, *held.others]):
            return None
        return held
