"""Bytes looked at once, in one automaton; what stands near a match of it is looked at closely."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from msgspec import Struct, field

from kbsite.model.redaction import Form, Span
from kbsite.redaction import clients, dumps, library, names, owners, packed, personal, pieces, said
from kbsite.redaction.at_once import OVERLAP, READ
from kbsite.redaction.crowded import AGAIN, Effort, Look, Past, bounded, stretch
from kbsite.redaction.encoded import AROUND as READ_AT_ONCE
from kbsite.redaction.encoded import GROUP, View, decoded, escape, is_code, unescaped
from kbsite.redaction.gates import ALL_TOKENS, RULES, fragment, gate, needed
from kbsite.redaction.joined import joined
from kbsite.redaction.known import Known
from kbsite.redaction.over import LEAST, over_lines
from kbsite.redaction.rules import Rule
from kbsite.redaction.spans import merged, whole
from kbsite.redaction.titles import ARCHIVE, CROWDED
from kbsite.redaction.values import is_drawn, is_word
from kbsite.redaction.wrapped import Wrapped

BEFORE: Final = 120
"""Bytes before a match of the automaton that are looked at."""

ROOM: Final = 300
"""Bytes behind it in which something may begin."""

LONGEST: Final = 12_500
"""Bytes that one secret can be long."""

MARGIN: Final = 16_384
"""Bytes around a part of a file that have to be at hand for it to be looked at."""

DEEPEST: Final = 2
"""How often encodings are undone within each other."""

WIDEST: Final = 8192
"""Bytes behind a match in which something may begin, where matches follow each other."""

PASSED: Final = 0.05
"""Units that a match of the automaton costs that is passed over at once."""

_RULES_OF: Final = {
    begins: tuple(rule for rule in ALL_TOKENS if rule.begins == begins)
    for begins in dict.fromkeys(rule.begins for rule in ALL_TOKENS)
}
"""Rules of tokens, by what a match of the automaton begins with that they are asked for."""

_SHAPED: Final = frozenset({"email", "ip", "home", "host", "address-password", "private-key"})
_LEARNT: Final = frozenset(
    rule.id for rule in RULES if rule.must_not_happen and rule.id != "private-key"
)


Written = View | dumps.Dump | Wrapped | pieces.Pieces
"""A stretch that says something else than what stands there, and where it does."""


class Found(Struct):
    """What was found in some bytes."""

    spans: list[Span] = field(default_factory=list)
    told: list[Span] = field(default_factory=list)
    """Those of them that rules and values told; the rest is what is hidden unseen."""
    secrets: set[bytes] = field(default_factory=set)
    """Values to be looked for in the other files of a run."""
    people: set[bytes] = field(default_factory=set)
    """Names of homes."""
    crowded: list[tuple[int, int]] = field(default_factory=list)
    """Where so much was found that the rest is hidden unseen."""
    over_lines: bool = False
    """Whether something goes over several lines and says something else than what stands there."""


class Looker(Struct, frozen=True):
    """Looks for all that rules describe, and for values that are known."""

    known: Known = field(default_factory=lambda: Known(()))
    private: bool = False
    """Whether addresses of networks inside are hidden too."""
    again: tuple[Look, ...] = ()
    """What finds in a file what other files told."""
    again_over_lines: tuple[Look, ...] = ()
    """What of it is looked for in what goes over several lines, too."""

    def look_again(self, data: bytes, start: int, end: int) -> Found:
        """What other files told, in `data` between `start` and `end`."""
        room, found = min(len(data), end + MARGIN // 8), Found()
        for look in self.again:
            found.spans += bounded(look, data, start, room, found.crowded)
        if self.again_over_lines:
            found.spans += self._over_lines(data, start, end, found.crowded)
        _finish(found, data, start, end)
        return found

    def _over_lines(
        self, data: bytes, start: int, end: int, crowded: list[tuple[int, int]]
    ) -> Iterator[Span]:
        """What other files told, in what is written over several lines."""
        for view, effort in over_lines(data, start, end, crowded, pieced=True):
            for look in self.again_over_lines:
                for span in look(view.data, 0, len(view.data), Past()):
                    effort.spent += PASSED
                    places = view.places(span.start, span.end) if span.end > span.start else ()
                    form = view.form or span.form
                    yield from (Span(at, until, span.rule, form) for at, until in places)

    def look(self, data: bytes, start: int = 0, end: int | None = None) -> Found:
        """What is to be hidden of `data`, as far as it begins between `start` and `end`.

        What stands before and behind, up to MARGIN bytes, is read where it tells what that is.
        """
        last, found = len(data) if end is None else end, Found()
        own = _Pass(data, self, 0, Effort(start), found.crowded)
        for span, value in own.hits(start, last):
            if span.rule in _LEARNT and len(value) >= 8 and not is_word(value):
                found.secrets.add(value)
            elif span.rule == "home":
                found.people.add(value)
            found.spans.append(span)
        found.over_lines = own.over_lines
        room = min(len(data), last + 2048)
        found.spans += bounded(self.known.looked, data, start, room, found.crowded)
        _finish(found, data, start, last)
        return found


def _finish(found: Found, data: bytes, start: int, end: int) -> None:
    """Leave what begins between two places, in order."""
    own = [whole(data, span) for span in found.spans if span.start < span.end]
    found.told = merged(span for span in own if start <= span.start < end)
    crowded = ((max(first, start), min(last, end)) for first, last in found.crowded)
    found.crowded = [(first, last) for first, last in crowded if first < last]
    unseen = [Span(first, last, CROWDED) for first, last in found.crowded]
    found.spans = merged([*found.told, *unseen]) if unseen else found.told


Hit = tuple[Span, bytes]
"""Something to be hidden, and what it says."""


class _Pass(Struct):
    """Some bytes that are being looked at."""

    data: bytes
    looker: Looker
    depth: int
    effort: Effort
    crowded: list[tuple[int, int]] = field(default_factory=list)
    """What is hidden unseen."""
    over_lines: bool = False
    """Whether something went over several lines."""
    _near_until: dict[bytes, int] = field(default_factory=dict)
    """Up to where rules were asked, by what the match begins with that they are asked for."""
    _room: int = ROOM
    _at: int = 0
    """Where the automaton is."""
    _deep: int = 0
    """Where what is hidden goes on for a while."""
    _owners_seen: set[bytes] = field(default_factory=set)
    _views_until: dict[tuple[Form, int], int] = field(default_factory=dict)
    """Up to where a form was read, by its place in a group."""

    def hits(self, start: int, end: int) -> Iterator[Hit]:
        first, last = max(0, start - 256), min(len(self.data), end + 256)
        homes = bounded(personal.homes, self.data, first, last, self.crowded)
        for span in personal.homes(self.data, first, last, Past()) if self.depth else homes:
            yield span, self.data[span.start : span.end]
        if self.depth < DEEPEST and last - first > LEAST:
            yield from self._over_lines(start, end)
        walk = gate().walk(self.data, first, last)
        found, past = walk.next(first), -1
        while found:
            at, text = found
            if not self.depth and at >= past and self.effort.is_spent(at):
                self.crowded.append(stretch(self.data, at, end))
                # What is told by what stands before it may begin where that ends.
                past = self.crowded[-1][1]
                found = walk.next(past - AGAIN) if past < end else None
                continue
            self._at = at
            self.effort.spent += _told_by(text)[1]
            yield from self._around(at, text)
            # Deep within what is hidden nothing has to be found once more. What a word, or a
            # colour within one, begins behind is left to be seen; so is a name that words end in.
            begun = len(text) - 1 if said.tells(text) else text.endswith((b":", b"-", b"_"))
            behind = at + len(text) - begun
            found = walk.next(max(behind, min(self._deep, last)))

    def _around(self, at: int, text: bytes) -> Iterator[Hit]:
        """What a match of the automaton tells."""
        return _told_by(text)[0](self, at, text)

    def _owners(self, at: int, text: bytes) -> Iterator[Hit]:
        if not owners.is_row(text):
            self.effort.read(owners.READ)
        for start, end in owners.found(self.data, at, text):
            # Whoever owns a thousand files is known by the first.
            name = self.data[start:end]
            if name not in self._owners_seen:
                if owners.is_row(text):
                    self._owners_seen.add(name)
                yield self._hit(start, end, "home")

    def _client(self, at: int, text: bytes) -> Iterator[Hit]:
        self.effort.read(clients.READ)
        for start, end, rule_id in clients.found(self.data, at, text):
            yield self._hit(start, end, rule_id)

    def _said(self, at: int, text: bytes) -> Iterator[Hit]:
        for start, end, rule_id in said.found(self.data, at, text):
            yield self._hit(start, end, rule_id)

    def _near(self, start: int, text: bytes) -> Iterator[Hit]:
        """All that begins around a match, unless it was looked for there already."""
        first, end = max(0, start - BEFORE), start + len(text)
        for begins, rules in _RULES_OF.items():
            until = self._near_until.get(begins, -1)
            if start < until or not text.startswith(begins):
                continue
            # Where one match follows another, less is looked at twice.
            self._room = min(2 * self._room, WIDEST) if start < until + BEFORE else ROOM
            room = end + self._room
            self._near_until[begins] = max(until, room - BEFORE)
            last = min(len(self.data), room + LONGEST)
            yield from self._tokens(rules, first, room, last)
            if not begins:
                yield from self._named(first, min(last, room + 600))
        broken = joined(self.data, first, end) if self.depth < DEEPEST else None
        if broken:
            yield from self._within(broken)

    def _tokens(self, rules: Sequence[Rule], first: int, room: int, last: int) -> Iterator[Hit]:
        self.effort.read(room - first)
        window = self.data[first : room + 64]
        for rule in rules if needed().stands_in(window) else ():
            if any(need in window for need in rule.needs):
                yield from self._token(rule, first, room, last)

    def _named(self, first: int, near: int) -> Iterator[Hit]:
        self.effort.read(near - first)
        for at, until, rule_id in names.found(self.data, first, near):
            yield self._hit(at, until, rule_id)
        for at, until, rule_id in personal.found(self.data, first, near):
            yield self._hit(at, until, rule_id)

    def _addresses(self, at: int, text: bytes) -> Iterator[Hit]:
        start = personal.begins(self.data, at, text)
        if start < 0:
            return
        self.effort.spent += 1 - PASSED
        # A number of version 6 goes on for a while; nothing else is looked at twice.
        end = min(len(self.data), at + len(text) + (40 if b":" in text else 4))
        for at, until, rule_id in personal.addresses(
            self.data, start, end, private=self.looker.private
        ):
            yield self._hit(at, until, rule_id)

    def _token(self, rule: Rule, first: int, room: int, last: int) -> Iterator[Hit]:
        near = min(last, room + rule.told)
        self.effort.read(near - first)
        patterns = (rule.pattern, *(library.patterns(rule.library) if rule.library else ()))
        for pattern in patterns:
            for one in pattern.finditer(self.data, first, near):
                if one.start() >= room:
                    break
                goes_on = near < last and one.end() == near
                whole = pattern.match(self.data, one.start(), last) if goes_on else one
                if whole:
                    group = 1 if pattern is rule.pattern and pattern.groups else 0
                    yield from self._drawn(rule, whole[group], *whole.span(group))

    def _drawn(self, rule: Rule, value: bytes, start: int, end: int) -> Iterator[Hit]:
        """A token, unless it is as little varied as words are."""
        if len(set(value)) >= 8 and (not rule.varied or is_drawn(value)):
            if start <= self._at + 1:
                self._deep = max(self._deep, end - BEFORE)
            yield self._hit(start, end, rule.id)

    def _hit(self, start: int, end: int, rule: str) -> Hit:
        self.effort.spent += 1
        form = Form.SHAPE if rule in _SHAPED else Form.PLAIN
        return Span(start, end, rule, form), self.data[start:end]

    def _unescaped(self, at: int, text: bytes) -> Iterator[Hit]:
        if self.depth >= DEEPEST or not (form := escape(text)):
            return
        until = self._views_until.get((form, 0), -1)
        if at < until:
            return
        # Where one escape follows another, less is read twice.
        size = 8 * READ_AT_ONCE if at < until + READ_AT_ONCE else 2 * READ_AT_ONCE
        end = min(len(self.data), at + size)
        self._views_until[form, 0] = at + size - READ_AT_ONCE
        yield from self._within(unescaped(self.data, max(0, at - BEFORE), end, form))

    def _decoded(self, at: int, text: bytes) -> Iterator[Hit]:
        form, shift = fragment(text) or (Form.BASE64, 0)
        place = (form, (at - GROUP[shift]) % 4 if form is Form.BASE64 else at % 2)
        until = self._views_until.get(place, -1)
        if at < until or self.depth >= DEEPEST:
            return
        follows = at < until + READ_AT_ONCE
        size = (8 if follows else 1) * READ_AT_ONCE
        first = max(at - READ_AT_ONCE, until - BEFORE) if follows else at - READ_AT_ONCE
        view = decoded(self.data, at, form, shift, (first, at + size))
        self._views_until[place] = min(at + size - READ_AT_ONCE // 2, max(view.end, at + 1))
        yield from self._within(view)

    def _dumped(self, at: int, _text: bytes) -> Iterator[Hit]:
        until = self._views_until.get((Form.SHAPE, 0), -1)
        if at < until or self.depth >= DEEPEST:
            return
        view = dumps.dump(self.data, at, goes_on=at < until + BEFORE)
        if view:
            whole = view.end - view.start < READ
            self._views_until[Form.SHAPE, 0] = view.end - (0 if whole else OVERLAP)
            yield from self._within(view)

    def _packed(self, at: int, text: bytes) -> Iterator[Hit]:
        """Something packed, where anything is in it that has to be hidden."""
        if self.depth >= DEEPEST:
            return
        if text == packed.IN_BASE64:
            yield from self._within(decoded(self.data, at, Form.BASE64, 0, (at, at + packed.READ)))
            return
        held, end = packed.unpacked(self.data, at)
        self.effort.read(len(held))
        if held and (self.effort.spent > packed.MOST or self._holds(held)):
            yield Span(at, end, ARCHIVE), b""

    def _holds(self, data: bytes) -> bool:
        """Whether some bytes hold something that is to be hidden."""
        inner = _Pass(data, self.looker, self.depth + 1, self.effort)
        told = (span for span, _ in inner.hits(0, len(data)))
        known = self.looker.known.found(data, 0, len(data))
        return any(span.start < span.end for span in chain(told, known))

    def _pieces(self, at: int, _text: bytes) -> Iterator[Hit]:
        """What is found in a text that is printed in pieces."""
        until = self._views_until.get((Form.PLAIN, 0), -1)
        if at < until or self.depth >= DEEPEST:
            return
        self.effort.spent += 1 - PASSED
        for view in pieces.pieces(self.data, at, goes_on=at < until + BEFORE):
            self._views_until[Form.PLAIN, 0] = max(view.end, at + 1)
            if len(view.starts) > 1:
                self.over_lines = True
                yield from self._within(view)

    def _over_lines(self, start: int, end: int) -> Iterator[Hit]:
        """What is found in what is written over several lines."""
        inner = self.effort if self.depth else None
        for view, effort in over_lines(self.data, start, end, self.crowded, inner):
            self.over_lines = True
            yield from self._within(view, effort)

    def _within(self, view: Written, effort: Effort | None = None) -> Iterator[Hit]:
        """What is found in what a stretch says, where it is written."""
        effort = effort or self.effort
        own = view.weight if isinstance(view, pieces.Pieces) else view.end - view.start
        effort.read(own)
        inner = _Pass(view.data, self.looker, self.depth + 1, effort)
        for span, value in inner.hits(0, len(view.data)):
            for start, end in view.places(span.start, span.end):
                yield Span(start, end, span.rule, view.form or span.form), value
        for span in self.looker.known.found(view.data, 0, len(view.data)):
            for start, end in view.places(span.start, span.end):
                yield Span(start, end, span.rule, view.form or span.form), b""


Way = Callable[[_Pass, int, bytes], Iterator[Hit]]
"""How what a match of the automaton tells at a place is looked at."""

_WAYS: Final[tuple[tuple[Callable[[bytes], object], Way], ...]] = (
    (fragment, _Pass._decoded), (escape, _Pass._unescaped), (personal.is_address, _Pass._addresses),
    (dumps.tells, _Pass._dumped), (pieces.tells, _Pass._pieces), (packed.tells, _Pass._packed),
    (owners.tells, _Pass._owners), (clients.names, _Pass._client), (said.tells, _Pass._said),
)  # fmt: skip
_PASSED_OVER: Final = (personal.is_address, dumps.tells, owners.is_row, pieces.tells, is_code)


@lru_cache(maxsize=8192)
def _told_by(text: bytes) -> tuple[Way, float]:
    """How a match of the automaton is looked at, and its cost: many are passed over at once."""
    way = next((way for tells, way in _WAYS if tells(text)), _Pass._near)
    return way, PASSED if any(tells(text) for tells in _PASSED_OVER) else 1
