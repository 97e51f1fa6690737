"""Drawn pictures are shapes and text alone, and lists are lists.

Opened by themselves they are pages, and have no policy that helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from kbsite.linting import css
from kbsite.linting.listed import is_listed, xml_root
from kbsite.linting.raw_files import is_raw
from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding, Severity

_ACTIVE = frozenset({
    "script", "foreignobject", "handler", "listener", "set", "animate", "animatemotion",
    "animatetransform",
})  # fmt: skip
"""Elements that are code, hold pages, or change what others say."""
_INSTRUCTION = re.compile(r"<\?(?!xml\s)([^\s?>]*)")


def findings(site: BuiltSite) -> Iterator[Finding]:
    """What stands in pictures and lists and is code, or leads out of pictures."""
    for path in site.files:
        if is_raw(path):
            continue
        if path.lower().endswith(".svg"):
            yield from _picture(site, path)
        elif path.lower().endswith(".xml"):
            yield from _list(site, path)


def _picture(site: BuiltSite, path: str) -> Iterator[Finding]:
    root = xml_root(site, path)
    if isinstance(root, Finding):
        yield root
    if root is None or isinstance(root, Finding):
        return
    for told in _INSTRUCTION.findall(site.text(path)):
        yield _wrong(path, f"<?{told}", "is loaded or obeyed; expected shapes and text alone")
    for element in root.iter():
        yield from _element(path, element)


def _list(site: BuiltSite, path: str) -> Iterator[Finding]:
    """What of a feed, a sitemap or another list a browser would show as a page or obey."""
    root = xml_root(site, path)
    if root is None or isinstance(root, Finding):
        # Of the lists that kbsite writes `listed` says it.
        yield from () if root is None or is_listed(path) else [root]
        return
    for told in _INSTRUCTION.findall(site.text(path)):
        yield _wrong(path, f"<?{told}", "is loaded or obeyed; expected a list alone")
    for element in root.iter():
        if element.tag.startswith(_SHOWN):
            yield _wrong(path, _local(element.tag), "a part of a page; expected a list alone")


_SHOWN = ("{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}")
"""What elements of an XML file begin with that a browser shows, and whose code it runs."""


def _element(path: str, element: ElementTree.Element) -> Iterator[Finding]:
    tag = _local(element.tag)
    if tag in _ACTIVE:
        yield _wrong(path, tag, "an element that is or holds code; expected shapes and text alone")
    for name, value in element.attrib.items():
        own = _local(name)
        if own.startswith("on"):
            yield _wrong(path, f"{tag} {own}", "code in an attribute; expected none")
        leads = [value] if own in ("href", "src") else [one.raw for one in css.addresses(value)]
        yield from _outside(path, leads)
    if tag == "style":
        yield from _outside(path, [one.raw for one in css.addresses(element.text or "")])


def _outside(path: str, leads: list[str]) -> Iterator[Finding]:
    for raw in leads:
        if not raw.startswith("#"):
            yield _wrong(path, raw, "is loaded by a picture, or leads out of it; expected neither")


def _wrong(path: str, key: str, message: str) -> Finding:
    return Finding(Severity.ERROR, path, message, key=key[:200])


def _local(name: str) -> str:
    return name.rpartition("}")[2].lower()
