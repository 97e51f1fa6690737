"""Bytes looked at once, in one automaton; what stands near a match of it is looked at closely."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from kbsite.model.redaction import Form, Span
from kbsite.redaction import library, names, personal
from kbsite.redaction.automaton import Automaton
from kbsite.redaction.encoded import (
    AROUND,
    JSON_GATE,
    URL_GATE,
    View,
    decoded,
    fragments,
    unescaped,
)
from kbsite.redaction.known import Known
from kbsite.redaction.rules import TOKENS, Rule
from kbsite.redaction.values import is_drawn

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

_SHORT: Final = 4
"""Digits of base64 that may stand anywhere by chance, unless as many go on as a token has."""
_GOING_ON: Final = 20
_GOES_ON: Final = rb"[A-Za-z0-9+/_-]{16}"

RULES: Final[tuple[Rule, ...]] = (*TOKENS, *names.NAMES, *personal.PERSONAL)
ARCHIVE: Final = "archive"
"""The rule that withholds an archive in which something is to be hidden."""

DENIED: Final = "denied"
SEEN: Final = "seen-elsewhere"
_SHAPED: Final = frozenset({"email", "ip", "home", "host", "address-password", "private-key"})
_LEARNT: Final = frozenset(
    rule.id for rule in RULES if rule.must_not_happen and rule.id != "private-key"
)


def title(rule: str) -> str:
    """What a rule hides, in words."""
    own = {
        DENIED: "value of the list of the site",
        SEEN: "what a rule found elsewhere in the run",
        ARCHIVE: "archive that holds something to be hidden, or that nobody can look into",
    }
    return own.get(rule) or next((one.title for one in RULES if one.id == rule), rule)


def must_not_happen(rule: str) -> bool:
    """Whether a strict build fails on what a rule finds."""
    return rule in (DENIED, SEEN) or any(r.id == rule and r.must_not_happen for r in RULES)


@dataclass(slots=True)
class Found:
    """What was found in some bytes."""

    spans: list[Span] = field(default_factory=list)
    secrets: set[bytes] = field(default_factory=set)
    """Values to be looked for in the other files of a run."""
    people: set[bytes] = field(default_factory=set)
    """Names of homes."""


@dataclass(frozen=True, slots=True)
class Looker:
    """Looks for all that rules describe, and for values that are known."""

    known: Known = field(default_factory=lambda: Known(()))
    private: bool = False
    """Whether addresses of networks inside are hidden too."""
    again: tuple[Callable[[bytes, int, int], Iterable[Span]], ...] = ()
    """What finds in a file what other files told."""

    def look_again(self, data: bytes, start: int, end: int) -> list[Span]:
        """What other files told, in `data` between `start` and `end`."""
        room = min(len(data), end + MARGIN // 8)
        found = [span for look in self.again for span in look(data, start, room)]
        return [_whole(data, span) for span in found if start <= span.start < end]

    def look(self, data: bytes, start: int = 0, end: int | None = None) -> Found:
        """What is to be hidden of `data`, as far as it begins between `start` and `end`.

        What stands before and behind, up to MARGIN bytes, is read where it tells what that is.
        """
        last = len(data) if end is None else end
        found = Found()
        hits = list(_Pass(data, self, 0).hits(start, last))
        for span, value in hits:
            if span.rule in _LEARNT and len(value) >= 8:
                found.secrets.add(value)
            elif span.rule == "home":
                found.people.add(value)
        known = self.known.found(data, start, min(len(data), last + 2048))
        whole = [*(_whole(data, span) for span, _ in hits), *known]
        found.spans = merged(span for span in whole if start <= span.start < last)
        return found


Hit = tuple[Span, bytes]
"""Something to be hidden, and what it says."""


@dataclass(slots=True)
class _Pass:
    """Some bytes that are being looked at."""

    data: bytes
    looker: Looker
    depth: int
    _rules_until: int = -1
    _at: int = 0
    """Where the automaton is."""
    _deep: int = 0
    """Where what is hidden goes on for a while."""
    _views_until: dict[Form, int] = field(default_factory=dict)

    def hits(self, start: int, end: int) -> Iterator[Hit]:
        gate, data, written = _gate(), self.data, _fragments()
        last = min(len(data), end + 256)
        for first, until, rule in personal.homes(data, max(0, start - 256), last):
            yield self._hit(first, until, rule)
        found = gate.next(data, max(0, start - 256), last)
        while found:
            at, text = found
            self._at = at
            fragment = written.get(text) or (len(text) == _GOING_ON and written.get(text[:_SHORT]))
            if fragment:
                yield from self._decoded(at, *fragment)
            elif text[:1] == b"%":
                yield from self._unescaped(at, Form.URL)
            elif text[:2] == b"\\u" or b"\\/" in text:
                yield from self._unescaped(at, Form.JSON)
            elif _is_address(text):
                yield from self._addresses(at, at + len(text))
            else:
                yield from self._near(at, at + len(text), text)
            # Deep within what is hidden nothing has to be found once more.
            found = gate.next(data, max(at + len(text), min(self._deep, last)), last)

    def _near(self, start: int, end: int, text: bytes) -> Iterator[Hit]:
        """All that begins around a match, unless it was looked for there already."""
        if start < self._rules_until and text[:1] != b".":
            return
        first, room = max(0, start - BEFORE), end + ROOM
        self._rules_until = max(self._rules_until, room - BEFORE)
        last = min(len(self.data), room + LONGEST)
        window = self.data[first : room + 64]
        for rule in TOKENS if _needed().stands_in(window) else ():
            if any(need in window for need in rule.needs) and text.startswith(rule.begins):
                yield from self._token(rule, first, room, last)
        near = min(last, room + 600)
        for at, until, rule_id in names.found(self.data, first, near):
            yield self._hit(at, until, rule_id)
        for at, until, rule_id in personal.found(self.data, first, near):
            yield self._hit(at, until, rule_id)

    def _addresses(self, first: int, last: int) -> Iterator[Hit]:
        # A number of version 6 goes on for a while; nothing else is looked at twice.
        start, end = (
            max(0, first),
            min(len(self.data), last + (40 if b":" in self.data[first:last] else 4)),
        )
        for at, until, rule_id in personal.addresses(
            self.data, start, end, private=self.looker.private
        ):
            yield self._hit(at, until, rule_id)

    def _token(self, rule: Rule, first: int, room: int, last: int) -> Iterator[Hit]:
        patterns = (rule.pattern, *(library.patterns(rule.library) if rule.library else ()))
        for pattern in patterns:
            for one in pattern.finditer(self.data, first, last):
                if one.start() >= room:
                    break
                group = 1 if pattern is rule.pattern and pattern.groups else 0
                value = one[group]
                if len(set(value)) >= 8 and (not rule.varied or is_drawn(value)):
                    if one.start(group) <= self._at + 1:
                        self._deep = max(self._deep, one.end(group) - BEFORE)
                    yield self._hit(*one.span(group), rule.id)

    def _hit(self, start: int, end: int, rule: str) -> Hit:
        form = Form.SHAPE if rule in _SHAPED else Form.PLAIN
        return Span(start, end, rule, form), self.data[start:end]

    def _unescaped(self, at: int, form: Form) -> Iterator[Hit]:
        if at < self._views_until.get(form, -1) or self.depth >= DEEPEST:
            return
        end = min(len(self.data), at + 2 * AROUND)
        self._views_until[form] = at + AROUND
        yield from self._within(unescaped(self.data, max(0, at - BEFORE), end, form))

    def _decoded(self, at: int, form: Form, shift: int) -> Iterator[Hit]:
        if at < self._views_until.get(form, -1) or self.depth >= DEEPEST:
            return
        view = decoded(self.data, at, form, shift)
        self._views_until[form] = min(at + AROUND // 2, view.ends[-1] if view.data else at)
        yield from self._within(view)

    def _within(self, view: View) -> Iterator[Hit]:
        """What is found in what a stretch says, where it is written."""
        inner = _Pass(view.data, self.looker, self.depth + 1)
        for span, value in inner.hits(0, len(view.data)):
            start, end = view.place(span.start, span.end)
            yield Span(start, end, span.rule, view.form), value
        for span in self.looker.known.found(view.data, 0, len(view.data)):
            start, end = view.place(span.start, span.end)
            yield Span(start, end, span.rule, view.form), b""


def _is_address(text: bytes) -> bool:
    return text[:1].isdigit() and not text.strip(b"0123456789.abcdefABCDEF:")


@cache
def _fragments() -> dict[bytes, tuple[Form, int]]:
    found: dict[bytes, tuple[Form, int]] = {}
    for literal in dict.fromkeys(one for rule in RULES for one in rule.encoded):
        for piece, form, shift in fragments(literal):
            if len(piece) >= _SHORT:
                found.setdefault(piece, (form, shift))
    return found


@cache
def _needed() -> Automaton:
    """What stands near every token."""
    needs = dict.fromkeys(need for rule in TOKENS for need in rule.needs if len(need) > 1)
    return Automaton([rule.gate for rule in TOKENS if rule.begins], needs)


@cache
def _gate() -> Automaton:
    gates = dict.fromkeys(rule.gate for rule in RULES if rule.gate)
    long = [piece for piece in _fragments() if len(piece) > _SHORT]
    short = [piece + _GOES_ON for piece in _fragments() if len(piece) == _SHORT]
    return Automaton([*gates, JSON_GATE, URL_GATE, *short], long)


def _whole(data: bytes, span: Span) -> Span:
    """A span that begins in no escape: half of one would be another."""
    if span.form not in (Form.PLAIN, Form.SHAPE) or data[span.start - 1 : span.start] != b"\\":
        return span
    first = span.start
    while first and data[first - 1 : first] == b"\\":
        first -= 1
    if (span.start - first) % 2 == 0:
        return span
    skipped = 5 if data[span.start : span.start + 1] == b"u" else 1
    return Span(min(span.end, span.start + skipped), span.end, span.rule, span.form)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that overlap made one."""
    whole: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.member, one.start, -one.end)):
        if span.start >= span.end:
            continue
        if not whole or span.member != whole[-1].member or span.start >= whole[-1].end:
            whole.append(span)
        elif span.end > whole[-1].end:
            last = whole[-1]
            form = _safest((last.form, span.form))
            whole[-1] = replace(last, end=span.end, form=form)
    return whole


def _safest(forms: Sequence[Form]) -> Form:
    """The form of a stretch that is written in two."""
    order = (Form.HEX, Form.BASE64, Form.URL, Form.JSON, Form.PLAIN, Form.SHAPE)
    return min(forms, key=order.index)
