"""Each page has a Content-Security-Policy that is as narrow as can be, and allows what it uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from kbsite.linting.addresses import Inside, Outside, resolved
from kbsite.linting.page_facts import Kind, PageFacts
from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding, Severity

_CLOSED = ("default-src", "base-uri", "form-action")
"""Directives that have to be 'none': everything else is allowed one by one."""
_NARROW = re.compile(r"'none'|'self'|'sha(256|384|512)-[A-Za-z0-9+/_-]+={0,2}'", re.IGNORECASE)
_FALLBACK = "default-src"
_FETCHES = re.compile(r"\bfetch\s*\(|\bXMLHttpRequest\b|\bEventSource\s*\(|\bsendBeacon\s*\(")
_IMPORTS = re.compile(r"\bimport\s*\(|createElement\(\s*[\"'`]script|\bimportScripts\s*\(")
_FRAMES = re.compile(r"createElement\(\s*[\"'`]iframe")
USES = {Kind.HINT: _FETCHES, Kind.SCRIPT: _IMPORTS, Kind.FRAME: _FRAMES}
"""How a script shows what it loads from the site, and what that is loaded as."""

Policy = Mapping[str, tuple[str, ...]]


def parsed(text: str) -> dict[str, tuple[str, ...]]:
    """The sources of each directive; of one that stands there twice the first counts."""
    held: dict[str, tuple[str, ...]] = {}
    for directive in text.split(";"):
        name, *sources = directive.split() or [""]
        if name:
            held.setdefault(name.lower(), tuple(sources))
    return held


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Pages without a policy, with one that is too wide, or with one that stops what they use."""
    used: dict[str, frozenset[Kind]] = {}
    for page, facts in site.pages.items():
        error = partial(Finding, Severity.ERROR, page)
        if not facts.policies:
            yield error("no Content-Security-Policy in its head; expected one in a meta element")
            continue
        if facts.early:
            yield error("loads something before its Content-Security-Policy; expected that first")
        for text in facts.policies:
            policy = parsed(text)
            for message in [*_wide(policy), *_stopped(site, page, facts, policy, used)]:
                yield site.on(page, text, message, key="Content-Security-Policy")
        for handler in facts.handlers:
            yield error("code in an attribute; expected none", key=handler)
        if facts.styled:
            yield error(f"{facts.styled} style attributes, which the policy stops; expected none")


def _wide(policy: Policy) -> Iterator[str]:
    for name in _CLOSED:
        if policy.get(name) != ("'none'",):
            yield f"{name} is {' '.join(policy.get(name, ())) or 'missing'}; expected 'none'"
    for name, sources in policy.items():
        for source in sources:
            if not _NARROW.fullmatch(source) and (name, source) != ("img-src", "data:"):
                yield f"{name} allows {source}; expected 'self', 'none' or a hash"


def _stopped(
    site: BuiltSite,
    page: str,
    facts: PageFacts,
    policy: Policy,
    used: dict[str, frozenset[Kind]],
) -> Iterator[str]:
    for kind, source in facts.inline:
        if source not in _sources(policy, kind):
            yield f"stops what stands in the page: {kind.value} lacks {source}"
    for (kind, source), what in _wanted(site, page, facts, used).items():
        if source not in _sources(policy, kind):
            yield f"stops what {what} needs: {kind.value} lacks {source}"
    hashes = {source for _, source in facts.inline}
    for name in ("script-src", "style-src"):
        for source in policy.get(name, ()):
            if source.startswith("'sha") and source not in hashes:
                yield f"{name} allows {source}, which nothing on the page has; take it out"


def _wanted(
    site: BuiltSite, page: str, facts: PageFacts, used: dict[str, frozenset[Kind]]
) -> dict[tuple[Kind, str], str]:
    """The sources that a page needs for each kind of thing, and an address that needs it."""
    wanted: dict[tuple[Kind, str], str] = {}
    for load in (*facts.loads, *facts.later):
        held = resolved(load.raw, page)
        if held == Outside("data"):
            wanted.setdefault((load.kind, "data:"), load.raw[:60])
        if not isinstance(held, Inside):
            continue
        wanted.setdefault((load.kind, "'self'"), load.raw)
        for kind in _used_by(site, held.path, used) if load.kind is Kind.SCRIPT else ():
            wanted.setdefault((kind, "'self'"), held.path)
    return wanted


def _sources(policy: Policy, kind: Kind) -> tuple[str, ...]:
    return policy.get(kind.value, policy.get(_FALLBACK, ()))


def _used_by(site: BuiltSite, path: str, used: dict[str, frozenset[Kind]]) -> frozenset[Kind]:
    """What a script of ours loads. Those that carry data only load nothing: `foreign` proves it."""
    if path not in used:
        ours = path.startswith("static/") and not path.startswith("static/vendor/")
        text = site.text(path) if ours else ""
        used[path] = frozenset(kind for kind, how in USES.items() if how.search(text))
    return used[path]
