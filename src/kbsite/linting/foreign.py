"""Nothing is loaded from another host, and scripts that carry data of runs are data alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from kbsite.linting import css
from kbsite.linting.addresses import Inside, Outside, resolved
from kbsite.linting.page_facts import Kind
from kbsite.linting.raw_files import is_raw
from kbsite.linting.reading import MOST_BYTES
from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding, Severity
from kbsite.search import FOLDER as SEARCH

_OURS = ("static/", f"{SEARCH}/pagefind")
"""Where scripts with code stand: kbsite's own, and Pagefind's."""
_CALLS = re.compile(
    r"""(?:\b(?:fetch|import|importScripts|Worker|SharedWorker|EventSource|WebSocket|sendBeacon)\s*"""
    r"""\(|\.open\(\s*["'`][A-Z]+["'`]\s*,|\.(?:src|srcset|poster)\s*=|\bfrom|\bimport)\s*"""
    r"""["'`]\s*((?:[a-z][a-z0-9+.-]*:)?//[^"'`\s]+)""",
    re.IGNORECASE,
)
_DATA = re.compile(r"\s*(?:window\.)?[A-Za-z_$][\w$]*\s*(?:(\()|=)", re.ASCII)


def findings(site: BuiltSite) -> Iterator[Finding]:
    """What pages, style sheets and scripts load from elsewhere; data of runs that is code."""
    yield from _pages(site)
    for path, file in site.files.items():
        if path.endswith(".css"):
            yield from _sheet(site, path)
        elif path.endswith((".js", ".mjs")) and not is_raw(path):
            if path.startswith(_OURS):
                yield from _script(site, path)
            elif file.size > MOST_BYTES or not _is_data(site.text(path)):
                message = "holds more than one call or value of JSON; expected data alone here"
                yield Finding(Severity.ERROR, path, message)


def _pages(site: BuiltSite) -> Iterator[Finding]:
    for page, facts in site.pages.items():
        for load in facts.loads:
            held = resolved(load.raw, page)
            if isinstance(held, Outside) and (held.scheme, load.kind) != ("data", Kind.IMAGE):
                message = "is loaded from elsewhere; expected files of the site alone"
                yield site.on(page, load.raw, message, key=load.raw[:200])
        for raw in facts.sent:
            message = "is sent what a reader does; expected no address that is"
            yield site.on(page, raw, message, key=raw[:200])
        for raw in facts.asked:
            if isinstance(resolved(raw, page), Outside):
                message = "would be loaded from elsewhere by a script; expected a file of the site"
                yield site.on(page, raw, message, key=raw[:200])
        if facts.based:
            message = "has a base or a refresh, which leads a reader elsewhere; expected neither"
            yield Finding(Severity.ERROR, page, message)
        if facts.unread:
            message = "has a template, whose inside no check looks at; expected none"
            yield Finding(Severity.ERROR, page, message)
        for raw in facts.told:
            yield from _told(site, page, raw)


def _told(site: BuiltSite, page: str, raw: str) -> Iterator[Finding]:
    """What is told to other programs is an address of this site, with a file behind it."""
    held = resolved(raw, page)
    if isinstance(held, Outside) and site.base and raw.startswith(site.base):
        held = resolved(raw.removeprefix(site.base), "index.html")
    if not isinstance(held, Inside) or held.path not in site.files:
        message = "is told to other programs and is no file of the site; build it anew"
        yield site.on(page, raw, message, key=raw[:200])


def _sheet(site: BuiltSite, path: str) -> Iterator[Finding]:
    for one in css.addresses(site.text(path)):
        held = resolved(one.raw, path)
        if held == Outside("data") or (one.raw.startswith("#") and not one.sheet):
            continue
        if not isinstance(held, Inside):
            message = "is loaded from elsewhere; expected files of the site alone"
            yield Finding(Severity.ERROR, path, message, key=one.raw[:200])
        elif held.path not in site.files:
            message = f"leads to {held.path}, which is no file of the site"
            yield Finding(Severity.ERROR, path, message, key=one.raw[:200])


def _script(site: BuiltSite, path: str) -> Iterator[Finding]:
    """Addresses that stand in the code; of those that it works out only the policy knows."""
    text = site.text(path)
    for found in _CALLS.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        message = "is loaded from elsewhere; expected files of the site alone"
        yield Finding(Severity.ERROR, path, message, line=line, key=found[1][:200])


def _is_data(text: str) -> bool:
    """Whether a script is one call with JSON, or gives JSON to one name."""
    head = _DATA.match(text)
    if not head:
        return False
    rest = text[head.end() :].rstrip().removesuffix(";").rstrip()
    if head[1]:
        if not rest.endswith(")"):
            return False
        rest = rest[:-1]
    try:
        json.loads(rest)
    except (ValueError, RecursionError):
        return False
    return True
