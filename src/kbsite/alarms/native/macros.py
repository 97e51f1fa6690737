"""Macros of a source, and what becomes of the tokens when they are put in.

No whole preprocessor: conditions are all taken to be true and headers are not read. It is enough
to see through names that are aliased or pasted together, and bounded in depth and length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from kbsite.alarms.native.tokens import Kind, Token, parts, qualified, value

DEEPEST: Final = 12
"""Macros within macros that are put in."""

LONGEST: Final = 200_000
"""Tokens of a source that are looked at to put its macros in, each as often as it is."""

WIDEST: Final = 5_000
"""Tokens of the arguments of one macro."""

_DEFINE: Final = re.compile(r"#\s*define\s+([^\W\d]\w*)(\(([^)]*)\))?(.*)", re.S)
_INCLUDE: Final = re.compile(r'#\s*(?:include|import)\s*[<"]([^>"\n]+)')

LONGEST_NAME: Final = 200
"""Characters of a name that is pasted together."""

Word = tuple[int, str]
"""A kind and a text."""


class Macro(Struct, frozen=True):
    """A name that stands for other tokens."""

    name: str
    parameters: tuple[str, ...] | None
    """None where it is used without brackets."""
    body: tuple[Word, ...]
    offset: int = 0


class Expanded(Struct):
    """The tokens of a source with its macros put in."""

    tokens: list[Token] = field(default_factory=list)
    pasted: set[str] = field(default_factory=set)
    """Names that were put together with ##."""


def macro(directive: str, offset: int = 0) -> Macro | None:
    """The macro that a line of the preprocessor defines; None if it defines none."""
    found = _DEFINE.match(directive)
    if found is None:
        return None
    name, brackets, given, body = found.groups()
    names = None if brackets is None else tuple(part.strip() for part in given.split(","))
    return Macro(
        name, None if names is None else tuple(filter(None, names)), tuple(parts(body)), offset
    )


def included(directive: str) -> str:
    """The header that a line of the preprocessor names; empty if it names none."""
    found = _INCLUDE.match(directive)
    return found[1] if found else ""


def expanded(tokens: Sequence[Token], macros: Mapping[str, Macro]) -> Expanded:
    """All tokens with the macros put in; what comes of a macro stands where it is used."""
    result = Expanded()
    work = _Expansion(macros, result)
    at, out, name = 0, result.tokens, int(Kind.NAME)
    while at < len(tokens):
        kind, text, offset = token = tokens[at]
        at += 1
        if kind != name or (text not in macros and ":" not in text):
            out.append(token)
            continue
        words = parts(text) if ":" in text else [(kind, text)]
        if work.is_spent or not any(word in macros for _, word in words):
            out.append((kind, qualified(text), offset) if ":" in text else token)
            continue
        given, at = _following(tokens, at) if work.wants(words[-1][1]) else ([], at)
        made = _joined(work.put_in([*words, *given], 0, frozenset()))
        out += ((made_kind, made_text, offset) for made_kind, made_text in made)
    result.tokens = _rejoined(out, macros)
    return result


def _rejoined(tokens: list[Token], macros: Mapping[str, Macro]) -> list[Token]:
    """The tokens with names put together whose `::` came of a macro."""
    if not any(held.body and held.body[-1][1] == "::" for held in macros.values()):
        return tokens
    out: list[Token] = []
    for token in tokens:
        kinds = [kind for kind, _, _ in (*out[-2:], token)]
        if kinds == [Kind.NAME, Kind.SIGN, Kind.NAME] and out[-1][1] == "::":
            _, first, offset = out[-2]
            out[-2:] = [(Kind.NAME, f"{first}::{token[1]}", offset)]
        else:
            out.append(token)
    return out


def _following(tokens: Sequence[Token], at: int) -> tuple[list[Word], int]:
    """The bracketed arguments that follow a macro's name, and what is next."""
    if at >= len(tokens) or tokens[at][1] != "(":
        return [], at
    depth, end = 0, at
    while end < len(tokens) and end - at < WIDEST:
        text = tokens[end][1]
        depth += (text == "(") - (text == ")")
        end += 1
        if depth == 0:
            break
    words: list[Word] = []
    for kind, text, _ in tokens[at:end]:
        words += parts(text) if kind == Kind.NAME and ":" in text else [(kind, text)]
    return words, end


class _Expansion:
    """Puts macros into one source, until the bound on tokens is reached."""

    def __init__(self, macros: Mapping[str, Macro], result: Expanded) -> None:
        self._macros = macros
        self._result = result
        self._left = LONGEST

    @property
    def is_spent(self) -> bool:
        """Whether the bound is reached."""
        return self._left <= 0

    def wants(self, name: str) -> bool:
        """Whether a name is a macro's that takes arguments, or may turn out as one's."""
        held, seen = self._macros.get(name), 0
        while held is not None and held.parameters is None and seen < DEEPEST:
            held = self._macros.get(held.body[-1][1]) if held.body else None
            seen += 1
        return held is not None and held.parameters is not None

    def put_in(self, words: Sequence[Word], depth: int, hidden: frozenset[str]) -> list[Word]:
        """The words with all macros put in, save those that are being put in already."""
        self._left -= len(words) + 4
        if depth >= DEEPEST or self._left <= 0:
            return list(words)
        out: list[Word] = []
        at = 0
        while at < len(words):
            kind, text = words[at]
            held = self._usable(words, at, hidden)
            at += 1
            if held is None:
                out.append((kind, text))
                continue
            given: list[list[Word]] = []
            if held.parameters is not None:
                given, at = _arguments(words, at)
            body = self._filled(held, given, depth, hidden)
            if body and self.wants(body[-1][1]):
                body += words[at:]
                at = len(words)
            out += self.put_in(body, depth + 1, hidden | {text})
        return out

    def _usable(self, words: Sequence[Word], at: int, hidden: frozenset[str]) -> Macro | None:
        """The macro that a word is, where its arguments follow if it takes any."""
        held = self._macros.get(words[at][1])
        if held is None or held.name in hidden:
            return None
        called = at + 1 < len(words) and words[at + 1][1] == "("
        return held if called or held.parameters is None else None

    def _filled(
        self, held: Macro, given: list[list[Word]], depth: int, hidden: frozenset[str]
    ) -> list[Word]:
        """The body of a macro with its arguments in place, and names pasted."""
        values = _values(held, given)
        out: list[Word] = []
        body, at = held.body, 0
        while at < len(body) and len(out) <= self._left:
            text = body[at][1]
            after = body[at + 1][1] if at + 1 < len(body) else ""
            if text == "##" and out and after:
                self._paste(out, values.get(after, [body[at + 1]]))
                at += 1
            elif text == "#" and after in values:
                out.append((Kind.STRING, f'"{" ".join(word for _, word in values[after])}"'))
                at += 1
            elif text not in values:
                out.append(body[at])
            elif after == "##":
                out += values[text]
            else:
                out += self.put_in(values[text], depth + 1, hidden)
            at += 1
        return out

    def _paste(self, out: list[Word], follow: Sequence[Word]) -> None:
        if not follow:
            return
        kind, text = out.pop()
        made = (text + follow[0][1])[:LONGEST_NAME]
        self._result.pasted.add(made)
        out += [(kind, made), *follow[1:]]


_COMMA: Final = (int(Kind.SIGN), ",")


def _values(held: Macro, given: list[list[Word]]) -> dict[str, list[Word]]:
    """The arguments of a macro by the names of its parameters."""
    names = held.parameters or ()
    values: dict[str, list[Word]] = dict(zip(names, given, strict=False))
    if names and names[-1] == "...":
        rest = given[len(names) - 1 :]
        values["__VA_ARGS__"] = [word for one in rest for word in (*one, _COMMA)][:-1]
    return values


def _arguments(words: Sequence[Word], at: int) -> tuple[list[list[Word]], int]:
    """The arguments in the brackets that open at a place, and what is behind them."""
    depth, given = 0, list[list[Word]]([[]])
    while at < len(words):
        kind, text = words[at]
        at += 1
        if text in "([{" and kind == Kind.SIGN:
            depth += 1
            if depth == 1:
                continue
        elif text in ")]}" and kind == Kind.SIGN:
            depth -= 1
            if depth == 0:
                break
        if text == "," and depth == 1:
            given.append([])
        else:
            given[-1].append((kind, text))
    return given, at


def _joined(words: Sequence[Word]) -> list[Word]:
    """Names put together with their namespaces again, and texts that follow each other."""
    out: list[Word] = []
    for kind, text in words:
        before = out[-1] if out else (0, "")
        if kind == Kind.NAME and before[1] == "::":
            out.pop()
            if out and out[-1][0] == Kind.NAME:
                out[-1] = (Kind.NAME, f"{out[-1][1]}::{text}")
                continue
        elif kind == Kind.NAME and before[0] == Kind.NAME and before[1].endswith("::"):
            out[-1] = (Kind.NAME, before[1] + text)
            continue
        elif kind == Kind.STRING and before[0] == Kind.STRING:
            out[-1] = (Kind.STRING, f'"{value(before[1])}{value(text)}"')
            continue
        out.append((kind, text))
    return out
