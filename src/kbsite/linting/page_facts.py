"""What a page says of itself: ids, addresses, what it loads, its policy. Made by one parse.

The parser is lexbor, a browser's: where it and a reader's browser disagreed about what is text and
what is markup, a page could show this one what it is not. It tells no lines; `Lines` finds them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from html import unescape
from sys import intern
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kbsite.linting.css import addresses as css_addresses
from kbsite.pages.policy_source import source_of


class Kind(Enum):
    """What a page loads something as; the value is the directive of a policy that allows it."""

    SCRIPT = "script-src"
    STYLE = "style-src"
    IMAGE = "img-src"
    FRAME = "frame-src"
    MEDIA = "media-src"
    FONT = "font-src"
    OBJECT = "object-src"
    MANIFEST = "manifest-src"
    HINT = "connect-src"
    """What is fetched before anybody asks for it."""


@dataclass(frozen=True, slots=True)
class Load:
    """Something that a page loads by itself."""

    kind: Kind
    raw: str
    """The address, as it stands there."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a transcript that scripts bring into a run's page."""

    page: str
    """The address of the page that it stands on, as it stands there."""
    lines: tuple[tuple[str, int, int], ...]
    """Prefix of a file, first and last line: the steps from there are on that page."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A page, as far as checks ask for it."""

    size: int
    elements: int
    ids: frozenset[str]
    doubled: tuple[str, ...]
    """Ids that stand there more than once."""
    named: tuple[str, ...]
    """Ids that other elements of the page name: labels, what controls what."""
    links: tuple[str, ...]
    bare: tuple[str, ...]
    """Links that open with access to the page that they stand on: `target` without `noopener`."""
    sent: tuple[str, ...]
    """Addresses that are sent what a reader types, or told what he follows."""
    loads: tuple[Load, ...]
    asked: tuple[str, ...]
    """Addresses that scripts of the page load when they are needed."""
    parts: tuple[Part, ...]
    told: tuple[str, ...]
    """Addresses that are told to other programs: Open Graph, canonical."""
    policies: tuple[str, ...]
    early: bool
    """Whether something is loaded or stands in a script before the policy does."""
    inline: tuple[tuple[Kind, str], ...]
    """Scripts and styles that stand in the page itself, as a policy allows them."""
    handlers: tuple[str, ...]
    """Attributes that are code."""
    unread: bool
    """Whether it has a template, whose inside the parser keeps to itself and a browser may show."""
    styled: int
    """Elements with a style of their own."""
    based: bool
    """Whether something moves all addresses of the page, or leaves it by itself."""

    @property
    def later(self) -> tuple[Load, ...]:
        """The scripts among what scripts of the page load when they are needed."""
        return tuple(Load(Kind.SCRIPT, raw) for raw in self.asked if raw.endswith(".js"))


_RELS = {
    "stylesheet": Kind.STYLE, "icon": Kind.IMAGE, "apple-touch-icon": Kind.IMAGE,
    "manifest": Kind.MANIFEST, "modulepreload": Kind.SCRIPT, "preload": Kind.HINT,
    "prefetch": Kind.HINT, "prerender": Kind.HINT, "preconnect": Kind.HINT,
    "dns-prefetch": Kind.HINT,
}  # fmt: skip
_SOURCES = {
    "script": Kind.SCRIPT, "img": Kind.IMAGE, "iframe": Kind.FRAME, "frame": Kind.FRAME,
    "audio": Kind.MEDIA, "video": Kind.MEDIA, "source": Kind.MEDIA, "track": Kind.MEDIA,
    "embed": Kind.OBJECT, "input": Kind.IMAGE,
}  # fmt: skip
_LEADING = frozenset({"a", "area", "link", "base"})
"""Elements whose `href` loads nothing by itself, or is told elsewhere; that of drawings loads."""
_PAINTED = frozenset({
    "fill", "stroke", "filter", "mask", "clip-path", "cursor", "marker", "marker-start",
    "marker-mid", "marker-end",
})  # fmt: skip
"""Attributes of drawings that are read as a style sheet is."""
_SHOWN = {"poster": Kind.IMAGE, "background": Kind.IMAGE, "data": Kind.OBJECT}
_NAMING = frozenset({
    "for", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns", "aria-details",
    "aria-errormessage", "aria-activedescendant", "aria-flowto", "headers", "list", "form",
    "popovertarget", "commandfor", "interestfor",
})  # fmt: skip
_SENDING = frozenset({"action", "formaction", "ping", "attributionsrc"})
_TOLD = ("og:url", "og:image", "og:audio", "og:video")
_ASKED = ("data-page", "data-runs", "data-index", "data-src")
_PLAIN = frozenset({"class", "scope", "role", "datetime", "data-label", "tabindex", "aria-hidden"})
"""Attributes that name and load nothing."""
_SPEAKING = frozenset({"style", "script", "base", "meta", "link", "template"})
"""Elements that say something without any attribute."""
_RANGE = re.compile(r"(.*?)(\d+)-(\d+)", re.DOTALL)
_NOT_CODE = re.compile(r"(application|text)/(.*\+)?json", re.IGNORECASE)
_CHANGING = frozenset({"animate", "set"})
"""Elements of drawings that give attributes of others another value."""


class _Reading:
    """A page, while it is read."""

    def __init__(self) -> None:
        self.elements = 0
        self.ids: Counter[str] = Counter()
        self.named: set[str] = set()
        self.links: dict[str, None] = {}
        self.sent: dict[str, None] = {}
        self.bare: dict[str, None] = {}
        self.loads: dict[Load, None] = {}
        self.asked: dict[str, None] = {}
        self.parts: list[Part] = []
        self.told: list[str] = []
        self.policies: list[str] = []
        self.early = False
        self.inline: list[tuple[Kind, str]] = []
        self.handlers: dict[str, None] = {}
        self.unread = False
        self.styled = 0
        self.based = False

    def element(self, node: LexborNode, tag: str) -> None:
        """Take up one element."""
        self.elements += 1
        found = node.attributes
        if found.keys() <= _PLAIN and tag not in _SPEAKING:
            return  # as nearly all are
        held = {name: value or "" for name, value in found.items()}
        for name, value in held.items():
            self._attribute(tag, name, value)
        if "data-parts" in held:
            self.parts += _parts(held["data-parts"])
        self._loaded(tag, held)
        self._by_tag(node, tag, held)

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name == "id":
            self.ids[intern(value)] += 1
        elif name.startswith("on") or name == "srcdoc":
            self.handlers[f"{tag} {name}"] = None
        elif name in _NAMING:
            self.named.update(map(intern, value.split()))
        elif name in _SENDING and value:
            self.sent.update((intern(one), None) for one in value.split())
        elif name in _ASKED and value:
            self.asked[intern(value)] = None
        elif name == "style":
            self.styled += 1
            self._of_css(value)
        elif name in _PAINTED:
            self._of_css(value)

    def _by_tag(self, node: LexborNode, tag: str, held: dict[str, str]) -> None:
        match tag:
            case "a" | "area" | "form":
                self._link(held)
            case "link":
                self._linked(held)
            case "meta":
                self._meta(node, held)
            case "base":
                self.based = True
            case "template":
                self.unread = True
            case "style":
                self.inline.append((Kind.STYLE, source_of(node.text())))
                self._of_css(node.text())
            case "script" if "src" not in held and not _NOT_CODE.fullmatch(held.get("type", "")):
                self.inline.append((Kind.SCRIPT, source_of(node.text())))

    def _link(self, held: dict[str, str]) -> None:
        for name in ("href", "xlink:href"):
            if name in held:
                self.links[intern(held[name])] = None
        if "target" in held and "noopener" not in held.get("rel", "").split():
            self.bare[held.get("href", "")] = None

    def _linked(self, held: dict[str, str]) -> None:
        rels = held.get("rel", "").lower().split()
        kinds = [_RELS[rel] for rel in rels if rel in _RELS]
        for kind in kinds:
            self._load(kind, held.get("href", ""))
        if not kinds and "href" in held:
            self.told.append(held["href"])

    def _meta(self, node: LexborNode, held: dict[str, str]) -> None:
        equivalent = held.get("http-equiv", "").lower()
        if equivalent == "content-security-policy":
            self.early = self.early or bool(self.loads or self.inline)
            parent = node.parent
            # Elsewhere a browser ignores it.
            if parent is not None and parent.tag == "head":
                self.policies.append(held.get("content", ""))
        elif equivalent == "refresh":
            self.based = True
        elif held.get("property") in _TOLD and "://" in held.get("content", ""):
            self.told.append(held["content"])

    def _loaded(self, tag: str, held: dict[str, str]) -> None:
        if "src" in held:
            self._load(_SOURCES.get(tag, Kind.OBJECT), held["src"])
        for name in () if tag in _LEADING else ("href", "xlink:href"):
            if held.get(name):
                self._drawn(Kind.SCRIPT if tag == "script" else Kind.IMAGE, held[name])
        self._loads_images(held)
        for name, kind in _SHOWN.items():
            if held.get(name) and (name != "data" or tag == "object"):
                self._load(kind, held[name])
        changed = held.get("attributename", held.get("attributeName", "")).lower()
        if tag in _CHANGING and changed.rpartition(":")[2] in ("href", "style"):
            self.handlers[f"{tag} {changed}"] = None

    def _loads_images(self, held: dict[str, str]) -> None:
        sets = f"{held.get('srcset', '')},{held.get('imagesrcset', '')}"
        for one in filter(str.strip, sets.split(",")):
            self._load(Kind.IMAGE, one.split()[0])

    def _of_css(self, text: str) -> None:
        for one in css_addresses(text):
            if one.sheet:
                self._load(Kind.STYLE, one.raw)
            else:
                self._drawn(Kind.IMAGE, one.raw)

    def _drawn(self, kind: Kind, raw: str) -> None:
        """Take up what a drawing takes from elsewhere, or from its own page."""
        if raw.startswith("#"):
            self.named.add(intern(unquote(raw[1:])))
        else:
            self._load(kind, raw)

    def _load(self, kind: Kind, raw: str) -> None:
        self.loads[Load(kind, intern(raw))] = None

    def facts(self, size: int) -> PageFacts:
        """What was taken up."""
        doubled = tuple(name for name, times in self.ids.items() if times > 1)
        return PageFacts(
            size, self.elements, frozenset(self.ids), doubled, tuple(sorted(self.named)),
            tuple(self.links), tuple(self.bare), tuple(self.sent), tuple(self.loads),
            tuple(self.asked), tuple(self.parts), tuple(self.told), tuple(self.policies),
            self.early, tuple(self.inline), tuple(self.handlers), self.unread, self.styled,
            self.based,
        )  # fmt: skip


def page_facts(data: bytes) -> PageFacts:
    """What a page says of itself."""
    reading = _Reading()
    for node in LexborHTMLParser(data).css("*"):
        if node.tag:
            reading.element(node, node.tag.lower())
    return reading.facts(len(data))


def _parts(text: str) -> Iterator[Part]:
    for one in text.split("|"):
        page, _, lines = one.partition(" ")
        yield Part(page, tuple(_ranges(lines)))


def _ranges(text: str) -> Iterator[tuple[str, int, int]]:
    for one in text.split():
        found = _RANGE.fullmatch(one)
        if found and len(found[2]) < 16 and len(found[3]) < 16:
            yield intern(found[1]), int(found[2]), int(found[3])


_VALUE = re.compile(r"""=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


MOST_GUESSES = 1_000
"""Values of a page that are looked for within others: each costs a look at all of them."""


class Lines:
    """Where the attributes of a page have their values."""

    def __init__(self, text: str) -> None:
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._values: list[tuple[str, int]] = []
        self._places: dict[str, list[int]] = {}
        self._guesses = 0
        for found in _VALUE.finditer(text):
            own = unescape(found[1] or found[2] or found[3] or "")
            self._values.append((own, found.start()))
            self._places.setdefault(own, []).append(found.start())

    def of(self, value: str, time: int = 1) -> int | None:
        """The line where an attribute has a value, for the `time`-th time; else where one holds it.

        None where none does, and where too many were looked for that none has.
        """
        places = self._places.get(value, [])
        if len(places) >= time:
            return self._line(places[time - 1])
        self._guesses += 1
        if self._guesses > MOST_GUESSES:
            return None
        holding = next((place for own, place in self._values if value in own), None)
        return None if holding is None else self._line(holding)

    def _line(self, place: int) -> int:
        return bisect_left(self._ends, place) + 1
