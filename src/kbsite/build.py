"""The pipeline: read everything, then write every page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import jinja2
from markupsafe import Markup

from kbsite import __version__, assets, search, text
from kbsite.boards import board
from kbsite.errors import InputError, UsageError
from kbsite.model.board import Board
from kbsite.model.config import BoardConfig, Config
from kbsite.model.finding import Finding, Severity
from kbsite.model.floor import Floor
from kbsite.pages import every, facts, step_html, steps
from kbsite.pages.page import (
    INDEX,
    Page,
    Site,
    address,
    attempt_of,
    board_path,
    comparison,
    markdown_path,
    problem_path,
    raw_path,
    run_path,
    trajectory_path,
)
from kbsite.store.problems import StoredProblem, problem_folders, read_problem
from kbsite.store.records import InvalidFileError
from kbsite.store.runs import StoredRun, as_findings, read_floors, read_run, run_folders
from kbsite.store.schema import SCHEMAS, schema
from kbsite.store.settings import Settings
from kbsite.store.writing import json_text, write_text

MARKER = ".kbsite"
"""File that says that a folder was made by a build, so that the next one may replace it."""

RESERVED = {INDEX, "404.html", "compare", "data", "explore", "problems", "runs", "search", "static"}
"""What no board can be called: the site's own folders and pages."""

Tick = Callable[[str, int, int], None]
"""Told the path of each page as it is written, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Built:
    """What a build made."""

    out: Path
    pages: int
    findings: tuple[Finding, ...]


def build(settings: Settings, tick: Tick | None = None) -> Built:
    """Make the site, whole or not at all: what stood at its place stays until all is written."""
    out = settings.out
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise UsageError(f"{out}: not made by kbsite, so not replaced; empty it or choose --out")
    if settings.config.search:
        search.executable()  # told before the work is done, not after it
    site = read(settings)
    partial_out = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial_out, ignore_errors=True)
    partial_out.mkdir(parents=True)
    _copy_files(site, partial_out)
    findings = list(site.findings)
    shown = replace(site, findings=_published(findings, settings))
    templates = Templates(environment(shown))
    pages = list(every(shown))
    for done, page in enumerate(pages, start=1):
        findings += _write_page(templates, page, partial_out)
        if tick:
            tick(page.path, done, len(pages))
    if settings.config.search:
        search.index(shown, partial_out)
    write_text(partial_out / MARKER, f"{__version__}\n")
    _replace(partial_out, out)
    return Built(out, len(pages), tuple(findings))


def read(settings: Settings) -> Site:
    """Everything but the transcripts; what cannot be read is left out, and in the findings."""
    findings: list[Finding] = []
    runs = tuple(_runs(settings.runs, findings))
    problems = {stored.id: stored for stored in _problems(settings.problems, findings)}
    hashes = {stored.id: stored.hash for stored in problems.values()}
    boards: list[Board] = []
    for config in board_configs(settings.config, runs):
        floors = _floors(settings.runs, config, findings)
        mine = [stored for stored in runs if _on(config, stored, settings.runs)]
        boards.append(board(config, [attempt_of(stored) for stored in mine], floors, hashes))
    found = tuple(findings)
    return Site(settings.config, runs, problems, tuple(boards), found, settings.prices)


def _published(findings: Sequence[Finding], settings: Settings) -> tuple[Finding, ...]:
    """Findings with paths from the folder of the runs on: where it lies is nobody's business."""
    homes = [settings.runs.parent, settings.problems.parent]
    published = []
    for finding in findings:
        path = Path(finding.path)
        inside = [path.relative_to(home) for home in homes if path.is_relative_to(home)]
        published.append(replace(finding, path=str(inside[0]) if inside else path.name))
    return tuple(published)


def _runs(folder: Path, findings: list[Finding]) -> Iterator[StoredRun]:
    if not folder.is_dir():
        message = "no such folder; kbsite.yaml names it under runs"
        findings.append(Finding(Severity.ERROR, str(folder), message))
        return
    seen: dict[str, Path] = {}
    for path in run_folders(folder):
        try:
            stored = read_run(path)
        except InvalidFileError as error:
            findings += as_findings(error)
            continue
        run_id = stored.run.id
        if run_id != path.name or run_id in seen or run_id == INDEX:
            message = f"left out: its id {run_id!r} is not its own"
            findings += [*stored.findings, Finding(Severity.ERROR, str(path), message)]
            continue
        seen[run_id] = path
        findings += stored.findings
        yield stored


def _problems(folder: Path, findings: list[Finding]) -> Iterator[StoredProblem]:
    for path in problem_folders(folder):
        try:
            yield read_problem(path)
        except InvalidFileError as error:
            findings += as_findings(error)


def board_configs(config: Config, runs: Sequence[StoredRun]) -> list[BoardConfig]:
    """The declared boards, then one for each board that runs name and nobody declared."""
    claimed = {folder for declared in config.boards for folder in declared.runs}
    known = {declared.id for declared in config.boards} | claimed | RESERVED
    named = sorted({stored.run.board for stored in runs} - known)
    boards = [*config.boards, *(BoardConfig(id=name, title=name) for name in named)]
    for declared in boards:
        if declared.id in RESERVED or "/" in declared.id or declared.id.startswith("."):
            message = f"{declared.id!r} cannot be a folder of the site; choose another id"
            raise InputError(message, path="kbsite.yaml", key="boards.id")
    return boards


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


def environment(site: Site) -> jinja2.Environment:
    """Templates, with everything that all of them may use. Autoescape is on, always."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(assets.folder("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        visible=text.visible,
        content=text.content,
        markdown=text.markdown,
        terminal=text.terminal,
        json=lambda value: text.visible(value if isinstance(value, str) else text.json(value)),
        diff=text.diff,
        rendered=Markup,
        picture=lambda image: text.picture(image.media_type, image.data, image.url),
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
        board_path=board_path,
        comparison=comparison,
        run_path=run_path,
        problem_path=problem_path,
        raw_path=raw_path,
        markdown_path=markdown_path,
        trajectory_path=trajectory_path,
    )
    return env


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates, as pages call them."""

    env: jinja2.Environment

    def page(self, template: str, path: str, values: Mapping[str, object]) -> str:
        """A whole page that stands at `path`; addresses in it are seen from there."""
        url = partial(address, seen_from=path)
        return self.env.get_template(template).render(url=url, **values)


def _write_page(templates: Templates, page: Page, out: Path) -> list[Finding]:
    try:
        for file in page.files(templates):
            write_text(out / file.path, file.text)
    except Exception as error:  # noqa: BLE001 - one bad run never stops a build of a thousand
        message = f"the page cannot be made: {type(error).__name__}: {error}"
        values = {"title": page.path, "message": message}
        write_text(out / page.path, templates.page("pages/broken.html", page.path, values))
        return [Finding(Severity.ERROR, page.path, message)]
    return []


def _copy_files(site: Site, out: Path) -> None:
    shutil.copytree(assets.folder("static"), out / "static")
    for name in sorted(SCHEMAS):
        write_text(out / f"data/schema/{name}.schema.json", json_text(schema(name)))
    for stored in site.runs:
        for file in stored.files:
            target = out / raw_path(stored.run.id, file.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, target, follow_symlinks=False)


def _replace(new: Path, out: Path) -> None:
    old = out.with_name(f"{out.name}.old.partial")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def override(
    settings: Settings, runs: Path | None, problems: Path | None, out: Path | None
) -> Settings:
    """The settings with the folders that a command line gives in place of its own."""
    return replace(
        settings,
        runs=runs or settings.runs,
        problems=problems or settings.problems,
        out=out or settings.out,
    )
