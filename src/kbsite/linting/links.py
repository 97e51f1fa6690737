"""Every address within the site leads to a file of it; every other one is only a link."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.linting.addresses import Above, Inside, Outside, resolved
from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding
from kbsite.pages.page import COMPARE, compared_path

_FOLLOWED = ("http", "https", "mailto")
_MISSING = "404.html"


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Links, and addresses that scripts load, that lead nowhere or where no page may lead."""
    for page, facts in site.pages.items():
        loaded = [load.raw for load in facts.loads]
        held = frozenset(loaded)
        for raw in dict.fromkeys([*facts.links, *facts.asked, *loaded]):
            yield from _led(site, page, raw, held)
        for raw in facts.bare:
            if isinstance(resolved(raw, page), Outside):
                message = "opens another window; expected rel=noopener on it"
                yield site.on(page, raw, message, key=raw)


def _led(site: BuiltSite, page: str, raw: str, loads: frozenset[str]) -> Iterator[Finding]:
    held = resolved(raw, page)
    if isinstance(held, Outside):
        # Of what a page loads, `foreign` says what is wrong with that.
        loaded = held.scheme in ("", "data") and raw in loads
        if held.scheme not in _FOLLOWED and not loaded:
            message = f"expected a link to {', '.join(_FOLLOWED)} or within the site"
            yield site.on(page, raw, message, key=raw[:200])
    elif isinstance(held, Above):
        yield from _above(site, page, raw)
    elif held.path not in site.files:
        message = f"leads to {held.path}, which is no file of the site; build it anew"
        yield site.on(page, raw, message, key=raw[:200])
    elif held.path == COMPARE and held.query:
        yield from _compared(site, page, raw, held.query)


def _above(site: BuiltSite, page: str, raw: str) -> Iterator[Finding]:
    """The page for addresses that do not exist is shown at any depth, and has to know its place."""
    if page != _MISSING:
        message = (
            "leads out of the site, or starts with a slash; expected an address that"
            " is right under any sub-path"
        )
        yield site.on(page, raw, message, key=raw)
        return
    inside = raw.removeprefix(site.root) if raw.startswith(site.root) else None
    held = resolved(inside, "index.html") if inside is not None else None
    if not isinstance(held, Inside) or held.path not in site.files:
        message = (
            f"expected a file below {site.root}; say in kbsite.yaml under url where it will be"
        )
        yield site.on(page, raw, message, key=raw)


def _compared(site: BuiltSite, page: str, raw: str, query: str) -> Iterator[Finding]:
    """The runs that a link to the page that compares runs names are there to be compared."""
    asked = [one.removeprefix("runs=") for one in query.split("&") if one.startswith("runs=")]
    for key in ",".join(asked).split(","):
        held = resolved(key, "index.html") if key else None
        if isinstance(held, Inside) and compared_path(held.path) not in site.files:
            message = f"names {held.path}, of which there is nothing to compare; build it anew"
            yield site.on(page, raw, message, key=raw)
