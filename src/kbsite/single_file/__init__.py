"""A run's page as one file that needs no other: the whole transcript, styles and scripts within it.

What the page links on the site, and the file does not hold, is no link here. Scripts and styles are
allowed by their hashes alone, and the other pages of the run stand in blocks that nothing executes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from urllib.parse import quote

import jinja2

from kbsite import assets
from kbsite.errors import UsageError
from kbsite.hiding import Hiding, denied_of
from kbsite.model.finding import Finding
from kbsite.pages.page import INDEX, Site, run_path
from kbsite.pages.policy_source import source_of
from kbsite.pages.run import pages
from kbsite.reading import looked_over, read
from kbsite.regular import is_place
from kbsite.rendering import Templates, environment
from kbsite.single_file.packed import Packed, pack
from kbsite.store.folders import refuse_blocked, run_around
from kbsite.store.run_folders import is_run
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.settings import Settings
from kbsite.store.writing import write_text

_LINK = re.compile(r"<a ([^>]*)>(.*?)</a>", re.DOTALL)
_HREF = re.compile(r'(?<![\w-])href="([^"]*)"')
_STYLE = re.compile(r'<link rel="stylesheet" href="[^"]*static/([\w.-]+)">\n?')
_SCRIPT = re.compile(r'<script src="[^"]*static/([\w.-]+)" (?:defer|async)[^>]*></script>\n?')
_ICON = re.compile(r'(?<=<link rel="icon" href=")[^"]*static/([\w.-]+)')
_PART = re.compile(r'<section class="part" id="([^"]*)" data-page="([^"]*)"')
_EXPORTS = re.compile(r'<p class="exports">.*?</p>\n?', re.DOTALL)
_SAYS_NOTHING = re.compile(r'class="(step-link|packed)"')
"""What is no text of its own where it is no link: a step to a neighbour, a compressed file."""
_STEPS = re.compile(r'<ol class="steps"[^>]*>(.*)</ol>', re.DOTALL)
_MAIN = re.compile(r'<main id="main"[^>]*>(.*)</main>', re.DOTALL)
_CRUMBS = re.compile(r'<nav class="crumbs".*?</nav>\n?', re.DOTALL)

_NO_SCRIPT = (
    '<p class="note tone-warn" id="unscripted">Without its scripts, which a server may forbid too,'
    " this file shows the first steps of the transcript only: the others stand in it compressed."
    "</p>\n"
)
"""No <noscript>: where a server's policy forbids scripts, browsers do not show what is in that."""


_BEGIN = b"<!doctype html>"
_OWN_POLICY = b"""content="default-src 'none'; style-src 'sha256-"""
"""Begins the policy of such a file, which loads no style of its own host."""
_HEAD = 1 << 20
"""Bytes within which the policy stands: before it are the names of the run's parts alone."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that holds a run."""

    path: Path
    findings: tuple[Finding, ...]
    """What is wrong with the run's files."""


def write(settings: Settings, named: str, out: Path | None = None) -> Written:
    """Write the file of the run with this id, or in this folder; UsageError if there is none.

    It is called after the run and stands in the working directory, or in `out`, or is `out`.
    """
    site, stored = _run(settings, named)
    own = f"{stored.run.id}.html"
    path = Path(own) if out is None else out / own if out.is_dir() else out
    _check_place(path)
    write_text(path, text(site, stored))
    return Written(path, stored.findings)


def _check_place(path: Path) -> None:
    """Raise UsageError where a file would take the place of something else than such a file."""
    refuse_blocked(path.parent)
    if not is_place(path):
        raise UsageError(f"{path}: no place for a file; name one, as run.html")
    run = run_around(path.parent)
    if run is not None:
        message = f"{run} is a run, which is whole as it is; name another place with --out"
        raise UsageError(f"{path}: {message}")
    if path.is_file() and not _is_such(path):
        message = "there already, and no such file; name another, or take this one away"
        raise UsageError(f"{path}: {message}")


def _is_such(path: Path) -> bool:
    """Whether a file is one that this module wrote, or empty: no page of a site has its policy."""
    with path.open("rb") as stream:
        begin = stream.read(_HEAD)
    return not begin or (begin.startswith(_BEGIN) and _OWN_POLICY in begin)


def _run(settings: Settings, named: str) -> tuple[Site, StoredRun]:
    folder = Path(named)
    config = settings.config
    hiding = Hiding(config.redact, denied_of(settings), most=config.most_file_bytes)
    site = read(settings, hiding=hiding)
    for stored in site.every_run:
        if stored.run.id == named or (folder.is_dir() and stored.folder.samefile(folder)):
            return looked_over(site, stored), stored
    if not is_run(folder):
        raise UsageError(f"{named}: neither the id of a run in {settings.runs} nor a run directory")
    stored = hiding.told(read_run(folder, hiding.of(folder), hiding.contents(folder)))
    alone = replace(site, runs=(stored,), floor_runs=(), boards=(), findings=())
    return looked_over(alone, stored), stored


def text(site: Site, stored: StoredRun) -> str:
    """The file of a run, as HTML."""
    path = run_path(stored.run.id)
    page = next(page for page in pages(site) if page.path == path)
    files = {file.path.rpartition("/")[2]: file.text for file in page.files(_templates(site))}
    main = files.pop(INDEX)
    parts = {name: anchor for anchor, name in _PART.findall(main)}
    others = {name: held for name, held in files.items() if name.endswith(".html")}
    styles = dict.fromkeys(style for held in [main, *others.values()] for style in _styles(held))
    inside = _Inside(frozenset(others), parts)
    bodies = {name: _steps(held) if name in parts else _over(held) for name, held in others.items()}
    packed = pack({name: inside.linked(held) for name, held in bodies.items()})
    return _framed(inside.linked(_EXPORTS.sub("", main)), list(styles), packed)


def _templates(site: Site) -> Templates:
    """The site's templates, with another frame around every page."""
    folder = assets.folder("templates")
    loader = jinja2.FileSystemLoader([folder / "single_file", folder, assets.folder("static")])
    return Templates(environment(site).overlay(loader=loader), in_one_file=True)


def _styles(page: str) -> list[str]:
    return _STYLE.findall(page)


def _steps(page: str) -> str:
    """What the run's page puts into its list, of the page of a part."""
    steps = _STEPS.search(page)
    return steps[1] if steps else page


def _over(page: str) -> str:
    """What the run's page lays over itself, of any other page."""
    main = _MAIN.search(page)
    return _CRUMBS.sub("", main[1]) if main else page


@dataclass(frozen=True, slots=True)
class _Inside:
    """Links of pages that are in one file now."""

    pages: frozenset[str]
    parts: Mapping[str, str]
    """The anchor of each part's place, by the name of its page."""

    def linked(self, html: str) -> str:
        """Pages of this file linked as places in it; what is not in it is text."""
        return _LINK.sub(self._link, html)

    def _link(self, found: re.Match[str]) -> str:
        attributes, content = found[1], found[2]
        if attributes.startswith("href=#"):
            return found[0]
        href = _HREF.search(attributes)
        target = self._target(unescape(href[1])) if href else None
        if target is not None:
            told = _HREF.sub(lambda _: f'href="{escape(target)}"', attributes, count=1)
            return f"<a {told}>{content}</a>"
        return "" if _SAYS_NOTHING.search(attributes) else content

    def _target(self, address: str) -> str | None:
        page, hash_sign, anchor = address.partition("#")
        if not page or re.match(r"(https?:|mailto:|data:)", page):
            return address
        if page == INDEX or page in self.parts:
            return f"#{anchor}" if hash_sign else f"#{self.parts.get(page, 'main')}"
        if page not in self.pages:
            return None
        return f"#{quote(page)}" + (f":{anchor}" if anchor else "")


def _framed(html: str, styles: Sequence[str], packed: Packed) -> str:
    """The page with its styles, scripts and packed pages, and the policy that allows them."""
    head, end, body = html.partition("</head>")
    head = _ICON.sub(lambda icon: _data("image/svg+xml", icon[1]), head)
    style = "".join(map(_static, styles))
    scripts = [_static(name) for name in _SCRIPT.findall(head)]
    head = _SCRIPT.sub("", _STYLE.sub("", head)).replace(
        '<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{_policy(style, scripts)}', 1
    )
    if packed.blocks:
        body = body.replace('<ol class="steps"', f'{_NO_SCRIPT}<ol class="steps"', 1)
    inner, closing, rest = body.rpartition("</body>")
    told = "".join(f"<script>{script}</script>\n" for script in scripts)
    return "".join(
        [head, f"<style>{style}</style>\n", end, inner, told, *_blocks(packed), closing, rest]
    )


def _policy(style: str, scripts: Sequence[str]) -> str:
    allowed = {
        "default-src": "'none'",
        "style-src": source_of(style),
        "script-src": " ".join(map(source_of, scripts)),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    told = "; ".join(f"{name} {sources}" for name, sources in allowed.items())
    return f'<meta http-equiv="Content-Security-Policy" content="{told}">\n'


def _static(name: str) -> str:
    return assets.static(name).decode("utf-8")


def _data(media_type: str, name: str) -> str:
    data = b64encode(_static(name).encode("utf-8")).decode("ascii")
    return f"data:{media_type};base64,{data}"


def _blocks(packed: Packed) -> Iterator[str]:
    opened = '<script type="application/octet-stream"'
    if packed.blocks:
        yield f'{opened} id="words">{packed.words}</script>\n'
    for block in packed.blocks:
        names = escape(json.dumps(block.names, ensure_ascii=False))
        yield f'{opened} data-pages="{names}">{block.data}</script>\n'
