"""A native source made ready for rules: macros put in, names resolved, brackets matched."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct, field

from kbsite.alarms.kinds import alarm
from kbsite.alarms.native.macros import Macro, expanded, included, macro
from kbsite.alarms.native.source import NativeSource
from kbsite.alarms.native.tokens import Kind, Text, Token, spliced, tokens, value
from kbsite.model.alarm import Alarm, Level

Place = tuple[int, int]
"""A first and a last token."""

_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_OPENING: Final = frozenset("([{")
_KEYWORDS: Final = frozenset(
    ("if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "decltype", "defined")
)
_AFTER: Final = frozenset(("&", "&&", "->", "<", ">", "*", "::"))
_NO_FUNCTION: Final = frozenset(
    ("namespace", "struct", "class", "enum", "union", "extern", "else", "do", "try")
)
_BEFORE: Final = frozenset((";", "{", "}", ":"))


class Function(Struct, frozen=True):
    """A function that the source defines."""

    name: str
    """With what it is a member of."""
    head: Place
    """From its attributes and return type to the end of its parameters."""
    body: Place
    """Its braces."""
    is_kernel: bool


class Unit(Struct, frozen=True, dict=True):
    """One source, as rules see it."""

    source: NativeSource
    text: Text
    tokens: tuple[Token, ...]
    comments: tuple[Token, ...]
    headers: tuple[tuple[str, int], ...]
    """Names of headers, each with its offset."""
    macros: Mapping[str, Macro]
    pasted: frozenset[str]
    names: Mapping[str, list[int]]
    """Names, with the namespaces that they are of, and the tokens that spell them."""
    signs: Mapping[str, list[int]]
    numbers: tuple[int, ...]
    characters: tuple[int, ...]
    strings: tuple[tuple[int, str], ...]
    """Tokens that are texts, each with what it stands for."""
    partner: Mapping[int, int]
    """Of a bracket, the one that closes or opens it."""
    functions: tuple[Function, ...] = field(default=())

    @cached_property
    def launches(self) -> tuple[int, ...]:
        """Where kernels are launched, in order."""
        found = list(self.signs.get("<<<", ()))
        found += [at for name in _LAUNCHERS for at in self.calls(name)]
        return tuple(sorted(found))

    def launched_in(self, place: Place) -> tuple[int, ...]:
        """The launches within a place."""
        held = self.launches
        return held[bisect_left(held, place[0]) : bisect_right(held, place[1])]

    def names_in(self, place: Place) -> frozenset[str]:
        """The names that stand in a place, whatever they name."""
        written = self.tokens[place[0] : place[1] + 1]
        return frozenset(text for kind, text, _ in written if kind == Kind.NAME)

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The functions that are launched on the device."""
        return tuple(one for one in self.functions if one.is_kernel)

    def line(self, at: int) -> int:
        """The line of the file that a token stands in."""
        return self.source.line(self.text.line(self.tokens[at][2]))

    def alarm(
        self, kind: str, level: Level, saw: str, first: int, last: int | None = None
    ) -> Alarm:
        """An alarm about tokens."""
        begin = self.line(first)
        end = begin if last is None else self.line(last)
        lines = (begin,) if end <= begin else (begin, end)
        return alarm(kind, level, saw, self.source.file, lines)

    def before(self, at: int) -> str:
        """The text of the token before one; empty at the beginning."""
        return self.tokens[at - 1][1] if at > 0 else ""

    def after(self, at: int) -> str:
        """The text of the token behind one; empty at the end."""
        return self.tokens[at + 1][1] if at + 1 < len(self.tokens) else ""

    def calls(self, name: str) -> Iterator[int]:
        """Where a function of this name, that is no member of an object, is called."""
        for at in self.names.get(name, ()):
            if self.is_call(at):
                yield at

    def is_call(self, at: int) -> bool:
        """Whether a name is called there, and not declared or defined, nor a member's."""
        kind, before, _ = self.tokens[at - 1] if at else (0, "", 0)
        if self.after(at) != "(" or before in (".", "->", "~"):
            return False
        return kind != Kind.NAME or before in _LEADING

    def arguments(self, at: int) -> list[Place]:
        """The arguments of the call whose name stands there."""
        opening = at + 1
        closing = self.partner.get(opening)
        if closing is None:
            return []
        found, begin, here = [], opening + 1, opening + 1
        while here < closing:
            text = self.tokens[here][1]
            if text in _OPENING:
                here = self.partner.get(here, here)
            elif text == ",":
                found.append((begin, here - 1))
                begin = here + 1
            here += 1
        return [*found, (begin, closing - 1)] if closing > opening + 1 else []

    def written(self, place: Place) -> str:
        """Tokens as one text, a space between each two."""
        return " ".join(self.tokens[at][1] for at in range(place[0], place[1] + 1))

    def function(self, at: int) -> Function | None:
        """The function that a token stands in."""
        place = bisect_right(self._begins, at) - 1
        if place < 0 or at > self.functions[place].body[1]:
            return None
        return self.functions[place]

    @cached_property
    def _begins(self) -> tuple[int, ...]:
        return tuple(one.head[0] for one in self.functions)


_LAUNCHERS: Final = (
    "cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelExC", "cuLaunchKernel",
    "cudaLaunchCooperativeKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel",
    "hipLaunchKernelGGL", "hipLaunchKernel", "hipModuleLaunchKernel",
)  # fmt: skip
_LEADING: Final = frozenset(
    ("return", "else", "do", "case", "co_return", "throw", "not", "and", "or")
)


def unit(source: NativeSource) -> Unit:
    """A source, read. It never fails: what cannot be read is left out."""
    text = spliced(source.text)
    code: list[Token] = []
    comments: list[Token] = []
    headers: list[tuple[str, int]] = []
    macros: dict[str, Macro] = {}
    comment = int(Kind.COMMENT)
    for token in tokens(text.joined):
        if token[0] < comment:
            code.append(token)
        elif token[0] == comment:
            comments.append(token)
        elif held := macro(token[1], token[2]):
            macros[held.name] = held
        elif header := included(token[1]):
            headers.append((header, token[2]))
    made = expanded(code, macros)
    index = _index(made.tokens)
    partner = _partners(made.tokens, index)
    return Unit(
        source=source,
        text=text,
        tokens=tuple(made.tokens),
        comments=tuple(comments),
        headers=tuple(headers),
        macros=macros,
        pasted=frozenset(made.pasted),
        names=_names(made.tokens, index.names),
        signs=index.signs,
        numbers=tuple(index.numbers),
        characters=tuple(index.characters),
        strings=tuple(_strings(made.tokens, index.strings)),
        partner=partner,
        functions=tuple(_functions(made.tokens, index, partner)),
    )


class _Index(Struct, frozen=True):
    """Where tokens stand, by what they are."""

    names: dict[str, list[int]]
    signs: dict[str, list[int]]
    strings: list[int]
    characters: list[int]
    numbers: list[int]


def _index(held: list[Token]) -> _Index:
    names: defaultdict[str, list[int]] = defaultdict(list)
    signs: defaultdict[str, list[int]] = defaultdict(list)
    found = _Index(names, signs, [], [], [])
    others = {
        Kind.STRING: found.strings, Kind.CHARACTER: found.characters, Kind.NUMBER: found.numbers,
    }  # fmt: skip
    name, sign = int(Kind.NAME), int(Kind.SIGN)
    for at, (kind, text, _) in enumerate(held):
        if kind == sign:
            signs[text].append(at)
        elif kind == name:
            names[text].append(at)
        else:
            others[Kind(kind)].append(at)
    names.default_factory = signs.default_factory = None
    return found


def _names(held: list[Token], found: dict[str, list[int]]) -> dict[str, list[int]]:
    """Names by their full spelling: `using` and names of namespaces are followed."""
    opened: list[str] = []
    short: dict[str, str] = {}
    for at in (*found.get("using", ()), *found.get("namespace", ())):
        _opened(held[at : at + 4], opened, short)
    for text in list(found) if short or opened else ():
        for full in _resolved(text, opened, short):
            found.setdefault(full, []).extend(found[text])
    return found


def _opened(held: list[Token], opened: list[str], short: dict[str, str]) -> None:
    """Note what `using` or `namespace`, and the three tokens behind it, let be left out."""
    words = [text for _, text, _ in held]
    match words:
        case ["using", "namespace", space, *_]:
            opened.append(space)
        case [_, name, "=", space] if held[3][0] == Kind.NAME:
            short[name] = space
        case ["using", name, *_] if "::" in name:
            short[name.rpartition("::")[2]] = name
        case _:
            return


def _resolved(text: str, opened: list[str], short: Mapping[str, str]) -> Iterator[str]:
    first, _, rest = text.partition("::")
    if first in short and short[first] != first:
        yield f"{short[first]}::{rest}" if rest else short[first]
    if text not in _KEYWORDS:
        for space in opened[:8]:
            yield f"{short.get(space, space)}::{text}"


def _strings(held: list[Token], places: list[int]) -> Iterator[tuple[int, str]]:
    """Texts; those that follow each other are one, as the language has it."""
    begin, last, parts = -1, -2, list[str]()
    for at in places:
        if at != last + 1:
            if parts:
                yield begin, "".join(parts)
            begin, parts = at, []
        parts.append(value(held[at][1]))
        last = at
    if parts:
        yield begin, "".join(parts)


def _partners(held: list[Token], index: _Index) -> dict[int, int]:
    found: dict[int, int] = {}
    waiting: list[tuple[str, int]] = []
    for at in sorted(at for sign in "()[]{}" for at in index.signs.get(sign, ())):
        text = held[at][1]
        if text in _OPENING:
            waiting.append((text, at))
            continue
        if text == "}":  # what was left open within is not looked for any more
            while waiting and waiting[-1][0] != "{":
                waiting.pop()
        if waiting and waiting[-1][0] == _PAIRS[text]:
            opening = waiting.pop()[1]
            found[opening], found[at] = at, opening
    return found


def _functions(held: list[Token], index: _Index, partner: Mapping[int, int]) -> Iterator[Function]:
    """The functions of a source, without those within functions."""
    behind = -1
    for at in index.signs.get("{", ()):
        if at <= behind or at not in partner:
            continue
        head = _head(held, at, partner)
        if head is not None:
            begin, name = head
            kernel = any(held[one][1] == "__global__" for one in range(begin, at))
            behind = partner[at]
            yield Function(held[name][1], (begin, at - 1), (at, behind), kernel)


def _head(held: list[Token], opening: int, partner: Mapping[int, int]) -> tuple[int, int] | None:
    """Where the function begins whose body opens there, and its name; None if it is none."""
    at = opening - 1
    while at >= 0 and held[at][1] != ")" and opening - at < 14:
        kind, text, _ = held[at]
        if text in _NO_FUNCTION or (kind != Kind.NAME and text not in _AFTER):
            return None
        at -= 1
    name = partner.get(at, 0) - 1
    if name < 0 or held[name][0] != Kind.NAME or held[name][1] in _KEYWORDS:
        return None
    return _begin(held, name, partner), name


def _begin(held: list[Token], name: int, partner: Mapping[int, int]) -> int:
    """Where the attributes and the type before a function's name begin."""
    at = name
    while at > 0 and held[at - 1][1] not in _BEFORE and name - at < 200:
        at -= 1
        if held[at][1] in (")", "]"):
            at = partner.get(at, at)
    return at
