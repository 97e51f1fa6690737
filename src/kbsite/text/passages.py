"""Passages that an audit quotes, marked where they stand in HTML that was made of a text.

A quote cites a file, and its passage is as the file has it; a page shows that as Markdown, as what
changed, in colours, or as JSON. So white space does not count here; where the passage does not
stand there otherwise, neither do the signs of Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from itertools import pairwise

from msgspec import Struct, field

from kbsite.model.colours import without_colours
from kbsite.text.prose import unmarked
from kbsite.text.safe import plain, visible

LONGEST = 1_000_000
"""Characters of HTML in which nobody looks for a passage letter by letter."""

FEWEST = 3
"""Letters that a passage has at least where nothing but letters is compared."""

_HITS = 100
"""Places at which a passage may begin that are looked at."""

_PART = re.compile("<[^>]*>|[^<]+")
_LETTER = re.compile(r"&(?:#\d+|#x[\da-fA-F]+|\w+);|[^&]|&")
_NAME = re.compile(r"</?([a-z][a-z0-9]*)")
_UNSEEN = re.compile(r"(?m)(?<=\])\([^()\s]*\)|^ *\d+[.)](?= )")
"""Signs of Markdown that have letters: addresses of links, and numbers of what is listed."""
_RUNNING = {"a", "b", "code", "del", "em", "i", "ins", "mark", "s", "span", "strong", "u"}
"""Elements in which a word of what stands before may go on."""
_OURS = ("<summary", "<small", "<a href=#", '<p class="left-out"')
"""What holds words of ours, or when a step was."""


class Passage(Struct, frozen=True):
    """A passage that is looked for."""

    place: str
    """What the place of its beginning is called."""
    text: str
    href: str
    """Where the quote stands."""
    label: str
    """What the link to the quote is called."""


class _Letter(Struct):
    """A letter of the text that HTML shows."""

    sign: str
    part: int
    start: int
    end: int
    """Where it stands in its part."""
    apart: bool
    """Whether a block starts with it."""
    side: str
    """In what changed: the sign of its line, or "sign" for that itself; else empty."""


class _Stream(Struct):
    """Letters that follow each other for who reads one side of what changed."""

    letters: list[_Letter]
    seen: dict[bool, tuple[str, list[int]]]
    """By whether letters and digits alone count: what does, and where each is in `letters`."""

    def place(self, needle: str, *, words: bool) -> tuple[int, int] | None:
        """From where to where a needle stands; None where it does not, or only within a word."""
        if words not in self.seen:
            kept = [n for n, one in enumerate(self.letters) if _counts(one.sign, words=words)]
            self.seen[words] = "".join([self.letters[n].sign for n in kept]), kept
        told, kept = self.seen[words]
        at = told.find(needle)
        for _ in range(_HITS):
            if at < 0:
                return None
            start, end = kept[at], kept[at + len(needle) - 1] + 1
            if self._is_edge(start) and self._is_edge(end):
                return start, end
            at = told.find(needle, at + 1)
        return None

    def _is_edge(self, at: int) -> bool:
        if not 0 < at < len(self.letters) or self.letters[at].apart:
            return True
        around = [one.sign for one in self.letters[at - 1 : at + 1]]
        return not all(sign == "_" or sign.isalnum() for sign in around)


def mark(html: str, passages: Sequence[Passage], *, changes: bool = False) -> tuple[str, set[str]]:
    """HTML in which passages are marked, and the places of those that stand in it.

    What is folded over one is unfolded. `changes` says that every line is one of what changed.
    """
    if len(html) > LONGEST:
        return html, set()
    parts = _PART.findall(html)
    streams = _streams(_letters(parts, changes=changes))
    found: dict[str, list[_Letter]] = {}
    for passage in passages:
        letters = _found(passage.text, streams)
        if letters:
            found[passage.place] = letters
    if not found:
        return html, set()
    return _marked(parts, found, {one.place: one for one in passages}), set(found)


def mark_long(
    html: str, passages: Sequence[Passage], *, changes: bool = False
) -> tuple[str, set[str]]:
    """The same for a text of any length that has a page of its own."""
    found: set[str] = set()
    for passage in passages:
        longest = max(passage.text.split("\n"), key=len).strip()
        told = visible(longest).replace("&", "&amp;").replace("<", "&lt;")
        at = html.find(told) if told else -1
        for _ in range(_HITS):
            if at < 0:
                break
            start = html.rfind("\n", 0, max(0, at - 2 * len(passage.text))) + 1
            end = html.find("\n", at + len(told) + 2 * len(passage.text))
            end = len(html) if end < 0 else end
            shown, own = mark(html[start:end], [passage], changes=changes)
            if own:
                html, found = html[:start] + shown + html[end:], found | own
                break
            at = html.find(told, at + 1)
    return html, found


def _counts(sign: str, *, words: bool) -> bool:
    return sign.isalnum() if words else not sign.isspace()


class _Shown(Struct):
    """What HTML shows of what somebody else wrote, taken in piece by piece."""

    starts: bool
    """Whether a line of what changed starts here."""
    letters: list[_Letter] = field(default_factory=list)
    ours: str = ""
    """The element that holds words of ours, while it lasts."""
    in_figure: bool = False
    apart: bool = True
    side: str = ""

    def see(self, number: int, part: str) -> None:
        """Take the next piece in."""
        if part[0] == "<":
            self._tag(part)
        elif not self.ours:
            self._text(number, part)

    def _tag(self, tag: str) -> None:
        name = _NAME.match(tag)
        named = name[1] if name else ""
        self.apart = self.apart or named not in _RUNNING
        if self.ours:
            self.ours = "" if tag == f"</{self.ours}>" else self.ours
        elif tag.startswith(_OURS):
            self.ours = named
        if named == "figure":
            self.in_figure = tag[1] != "/"
        elif named == "pre" and self.in_figure:
            self.starts, self.side = tag[1] != "/", ""

    def _text(self, number: int, part: str) -> None:
        for found in _LETTER.finditer(part):
            sign, own = unescape(found[0]), self.side
            if self.starts:
                self.side = own = sign if sign in "+-@" else " "
                own = own if own == "@" or sign not in "+- " else "sign"
            self.letters.append(_Letter(sign, number, found.start(), found.end(), self.apart, own))
            self.starts, self.apart = bool(self.side) and sign == "\n", False


def _letters(parts: Sequence[str], *, changes: bool) -> list[_Letter]:
    """The letters that are shown of what somebody else wrote."""
    shown = _Shown(changes)
    for number, part in enumerate(parts):
        shown.see(number, part)
    return shown.letters


def _streams(letters: list[_Letter]) -> list[_Stream]:
    """The letters as they stand there, and of what changed as they were after and before."""
    streams = [_Stream(letters, {})]
    if any(one.side for one in letters):
        for gone in ("-", "+"):
            kept = [one for one in letters if one.side not in (gone, "@", "sign")]
            streams.append(_Stream(kept, {}))
    return streams


def _found(text: str, streams: Sequence[_Stream]) -> list[_Letter]:
    """The letters of a passage; none where it does not stand there."""
    told = visible(without_colours(text))
    bare, in_json = unmarked(told), json.dumps(told, ensure_ascii=False)[1:-1]
    needles = ["".join(one.split()) for one in (told, bare, in_json)]
    words = ["".join(filter(str.isalnum, one)) for one in (told, _UNSEEN.sub("", told))]
    tries = [(one, False) for one in needles if one]
    tries += [(one, True) for one in words if len(one) >= FEWEST]
    for needle, letters_alone in dict.fromkeys(tries):
        for stream in streams:
            place = stream.place(needle, words=letters_alone)
            if place:
                start, end = place
                return stream.letters[start : end + _after(told, stream.letters[end:])]
    return []


def _after(told: str, rest: Sequence[_Letter]) -> int:
    """How many of the signs that a passage ends with follow its last letter."""
    ends = re.search(r"[^\w\s]*\Z", told.rstrip())
    signs = ends[0] if ends else ""
    count = 0
    while signs and count < min(len(rest), len(signs)) and rest[count].sign in signs:
        count += 1
    return count


class _Places(Struct):
    """Where passages stand in pieces of HTML."""

    held: dict[int, dict[int, list[str]]] = field(default_factory=dict)
    """By piece and by letter in it, the places of the passages that it is one of."""
    starts: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    ends: dict[tuple[int, int], list[str]] = field(default_factory=dict)

    def put(self, place: str, letters: Sequence[_Letter]) -> None:
        """Take a passage in."""
        for one in letters:
            self.held.setdefault(one.part, {}).setdefault(one.start, []).append(place)
        first, last = letters[0], letters[-1]
        self.starts.setdefault((first.part, first.start), []).append(place)
        self.ends.setdefault((last.part, last.end), []).append(place)


def _marked(parts: list[str], found: dict[str, list[_Letter]], passages: dict[str, Passage]) -> str:
    places = _Places()
    for place, letters in found.items():
        places.put(place, letters)
    made = list(parts)
    folds: list[int] = []
    waiting: list[str] = []
    link = 0
    for number, part in enumerate(parts):
        if part.startswith("<details"):
            folds.append(number)
        elif part == "</details>":
            del folds[-1:]
        link += part.startswith("<a ") - (part == "</a>")
        if number in places.held:
            for fold in folds:
                made[fold] = _open(made[fold])
            made[number] = "".join([
                _written(piece, passages, waiting, within_link=bool(link))
                for piece in _pieces(part, number, places)
            ])  # fmt: skip
        elif part == "</a>":
            made[number] += "".join(waiting)
            waiting.clear()
    return "".join(made)


def _open(tag: str) -> str:
    return tag if " open" in tag else f"{tag[:-1]} open>"


class _Piece(Struct):
    """A piece of a text in which no passage starts or ends."""

    html: str
    marked: bool
    begun: list[str]
    """The places of the passages that start with it."""
    ended: list[str]
    """Those that end with it."""


def _pieces(part: str, number: int, places: _Places) -> Iterator[_Piece]:
    held = places.held[number]
    cuts = {0, len(part)} | {at for of, at in (*places.starts, *places.ends) if of == number}
    within: list[str] = []
    for found in _LETTER.finditer(part):
        own = held.get(found.start(), [])
        if own != within:
            cuts.add(found.start())
            within = own
    for start, end in pairwise(sorted(cuts)):
        begun = places.starts.get((number, start), [])
        yield _Piece(part[start:end], start in held, begun, places.ends.get((number, end), []))


def _written(
    piece: _Piece, passages: dict[str, Passage], waiting: list[str], *, within_link: bool
) -> str:
    # White space may stand where a table has no room for a mark.
    if not piece.marked or piece.html.isspace():
        return piece.html
    tags = [f"<mark class=quoted id={plain(place)}>" for place in piece.begun]
    tags = tags or ["<mark class=quoted>"]
    told = f"{''.join(tags)}{piece.html}{'</mark>' * len(tags)}"
    links = [back(passages[place]) for place in piece.ended]
    if within_link:
        waiting += links
        return told
    return told + "".join(links)


def back(passage: Passage) -> str:
    """A link to where a passage is quoted, without a word that would stand among those quoted."""
    href, label = plain(passage.href), plain(passage.label)
    return f'<a class=cite href="{href}" aria-label="{label}"></a>'


def backs(passages: Iterable[Passage]) -> str:
    """Links to where passages are quoted that stand nowhere in what cites them."""
    told = "".join(map(back, passages))
    return f"<p class=cites>{told}\n" if told else ""
