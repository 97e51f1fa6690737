"""Patterns of sed: those whose meaning is plain, and a matcher that takes linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct, field

MOST_ATOMS = 200
"""Atoms of a pattern from which it is not read."""

# What is done costs more than the comparisons that it consists of; a step is one of those.
_FROM = 10
"""Steps that it takes to begin a match at a place."""
_ATOM = 8
"""Steps that an atom takes from a place, beside its comparisons."""
_SWEPT = 100
"""Characters that are looked through for one in a step."""
_LOOK = 4
"""Steps that it takes to begin to look for a text."""

_CLASSES = {
    "[:space:]": " \t\n\r\f\v",
    "[:blank:]": " \t",
    "[:digit:]": "0123456789",
    "[:alpha:]": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
}
_CLASSES["[:alnum:]"] = _CLASSES["[:alpha:]"] + _CLASSES["[:digit:]"]
_ESCAPED = {
    "n": "\n", "t": "\t",
    "s": _CLASSES["[:space:]"], "w": _CLASSES["[:alnum:]"] + "_",
}  # fmt: skip
_BASIC = ".*[]^$/\\"
"""What stands for itself behind a backslash."""
_EXTENDED = _BASIC + "(){}+?|"
_MANY = 1 << 30

Spans = list[tuple[int, int]]
Runs = dict[int, int]
"""By place: how far an atom may reach from there."""
Take = Callable[[int], None]


class UnclearError(Exception):
    """What sed would do cannot be told."""


class _Atom(Struct):
    """One character of a kind, so many times."""

    letters: str
    but: bool = False
    """Whether it is any character but these."""
    least: int = 1
    most: int = 1

    def fits(self, letter: str) -> bool:
        return (letter in self.letters) is not self.but


class Pattern(Struct):
    """A pattern, as atoms in a row."""

    atoms: list[_Atom] = field(default_factory=list)
    starts: bool = False
    """Whether it only stands at the start of a line."""
    ends: bool = False
    marks: list[tuple[int, int]] = field(default_factory=list)
    """Groups: the first atom of each, and the one after the last."""
    needs: str = ""
    """A text without which nothing fits."""
    begins: re.Pattern[str] | None = None
    """The characters that a match can begin with; None where it can be none, or any."""

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.marks)

    @property
    def literal(self) -> bool:
        """Whether it is a text, which means the same in any encoding."""
        return all(not a.but and len(a.letters) == 1 == a.least == a.most for a in self.atoms)

    def search(self, text: str, start: int, take: Take) -> Spans | None:
        """The first match from `start`, the longest there: its span, and those of its groups.

        `take` is told how many steps that takes, and may raise.
        """
        if self.literal:
            return self._search_literal(text, start, take)
        for first in self._firsts(text, start, take):
            reached, runs = self._reached(text, first, take)
            fitting = [end for end in reached[-1] if not self.ends or end == len(text)]
            if fitting:
                return self._spans(reached, runs, first, max(fitting), take)
        return None

    def _firsts(self, text: str, start: int, take: Take) -> Iterable[int]:
        """Where a match may begin."""
        take(_LOOK + (len(text) - start) // _SWEPT)
        if self.needs and text.find(self.needs, start) < 0:
            return ()
        if self.starts:
            return range(start, 1)
        if self.begins is None:
            return range(start, len(text) + 1)
        return (found.start() for found in self.begins.finditer(text, start))

    def _search_literal(self, text: str, start: int, take: Take) -> Spans | None:
        wanted = "".join(atom.letters for atom in self.atoms)
        if self.ends:
            first = len(text) - len(wanted)
            fits = first >= start and text.endswith(wanted) and not (self.starts and first)
        else:
            first = text.find(wanted, start)
            if self.starts:
                first = 0 if start == 0 and text.startswith(wanted) else -1
            fits = first >= 0
        take(_LOOK + ((first if fits else len(text)) - start) // _SWEPT)
        if not fits:
            return None
        return [(first, first + len(wanted)), *((first + a, first + b) for a, b in self.marks)]

    def _reached(self, text: str, first: int, take: Take) -> tuple[list[set[int]], list[Runs]]:
        """Where a match from `first` may stand after each atom, and how far each may take it."""
        reached, runs = [{first}], list[Runs]()
        take(_FROM)
        for atom in self.atoms:
            after: set[int] = set()
            run: Runs = {}
            for at in reached[-1]:
                end, most = at, min(len(text), at + atom.most)
                while end < most and atom.fits(text[end]):
                    end += 1
                take(_ATOM + end - at)
                after.update(range(at + atom.least, end + 1))
                run[at] = end
            reached.append(after)
            runs.append(run)
            if not after:
                return [set()], []
        return reached, runs

    def _spans(
        self, reached: list[set[int]], runs: list[Runs], first: int, end: int, take: Take
    ) -> Spans:
        """The spans of a match that ends at `end`: what comes first takes as much as it can."""
        # From the end: the places after each atom from which the rest still gets there.
        alive = [{end}]
        for atom, run, before in zip(self.atoms[::-1], runs[::-1], reached[-2::-1], strict=True):
            after = alive[-1]
            take(_ATOM + len(before) * len(after))
            alive.append({at for at in before if _ways(atom, at, run[at], after)})
        alive.reverse()
        places = [first]
        for number, atom in enumerate(self.atoms):
            at = places[-1]
            take(_ATOM + len(alive[number + 1]))
            places.append(max(_ways(atom, at, runs[number][at], alive[number + 1])))
        return [(first, end), *((places[a], places[b]) for a, b in self.marks)]


def _ways(atom: _Atom, at: int, end: int, after: set[int]) -> list[int]:
    """Where an atom may lead from a place, among the places that the rest may start from."""
    return [to for to in after if at + atom.least <= to <= end]


def pattern(source: str, mark: str, *, extended: bool) -> Pattern:
    """A pattern that stands between two `mark`; UnclearError where its meaning is not plain."""
    return _Reader(source, mark, extended).pattern()


class _Reader(Struct):
    source: str
    mark: str
    extended: bool
    at: int = 0
    made: Pattern = field(default_factory=Pattern)
    opened: list[int] = field(default_factory=list)
    """Groups that are open, by their number."""
    countable: bool = False
    """Whether the last thing read was an atom that a count may follow."""

    def pattern(self) -> Pattern:
        if not self.source:
            raise UnclearError  # the last pattern once more
        while self.at < len(self.source):
            self._next()
            if len(self.made.atoms) > MOST_ATOMS:
                raise UnclearError
        if self.opened:
            raise UnclearError
        anchored = self.made.starts or self.made.ends
        if not anchored and all(atom.least == 0 for atom in self.made.atoms):
            raise UnclearError  # it matches nothing, everywhere
        self.made.needs = _needs(self.made.atoms)
        self.made.begins = _begins(self.made.atoms)
        return self.made

    def _next(self) -> None:
        letter = self.source[self.at]
        self.at += 1
        if letter == "\\":
            self._escaped()
        elif letter == "[":
            self._bracket()
        elif letter == ".":
            self._add(_Atom("", but=True))
        elif letter == "^" or letter == "$":
            self._anchor(letter)
        elif letter == "*" and self.countable:
            self._count(0, _MANY)
        elif self.extended and letter in "*+?(){}|":
            self._sign(letter)
        elif letter == "*":
            raise UnclearError
        else:
            self._add(_Atom(letter))

    def _sign(self, letter: str) -> None:
        """A sign of extended patterns, or one with a backslash of basic ones."""
        if letter == "(":
            self.opened.append(len(self.made.marks))
            self.made.marks.append((len(self.made.atoms), 0))
            self.countable = False
        elif letter == ")" and self.opened:
            number = self.opened.pop()
            self.made.marks[number] = self.made.marks[number][0], len(self.made.atoms)
            self.countable = False
        elif letter in "+?" and self.countable:
            self._count(int(letter == "+"), _MANY if letter == "+" else 1)
        else:
            raise UnclearError

    def _escaped(self) -> None:
        letter = self.source[self.at : self.at + 1]
        self.at += 1
        if not letter:
            raise UnclearError
        if letter == self.mark:
            if letter in "()+?|{}*.^$[]&" or letter.isalnum():
                raise UnclearError
            self._add(_Atom(letter))
        elif not self.extended and letter in "()+?":
            self._sign(letter)
        elif letter in _ESCAPED:
            self._add(_Atom(_ESCAPED[letter]))
        elif letter in (_EXTENDED if self.extended else _BASIC):
            self._add(_Atom(letter))
        else:
            raise UnclearError

    def _anchor(self, letter: str) -> None:
        if letter == "^" and self.at == 1:
            self.made.starts = True
        elif letter == "$" and self.at == len(self.source):
            self.made.ends = True
        else:
            raise UnclearError
        self.countable = False

    def _bracket(self) -> None:
        but = self.source[self.at : self.at + 1] == "^"
        first = self.at + but
        letters, at = "", first
        if self.source[first : first + 1] in (":", ".", "="):
            raise UnclearError  # sed takes some of these for a class without its brackets
        while at < len(self.source) and (at == first or self.source[at] != "]"):
            meant, length = self._member(at)
            letters, at = letters + meant, at + length
        if at >= len(self.source):
            raise UnclearError
        self.at = at + 1
        self._add(_Atom(letters, but=but))

    def _member(self, at: int) -> tuple[str, int]:
        """What a class, a range or a letter in a bracket means, and the characters it takes."""
        name = next((n for n in _CLASSES if self.source.startswith(n, at)), "")
        if name:
            return _CLASSES[name], len(name)
        piece = self.source[at : at + 3]
        if len(piece) == 3 and piece[1] == "-" and piece[2] != "]":
            return _range(piece[0], piece[2]), 3
        if piece[0] in "\\[":
            raise UnclearError
        return piece[0], 1

    def _add(self, atom: _Atom) -> None:
        self.made.atoms.append(atom)
        self.countable = True

    def _count(self, least: int, most: int) -> None:
        self.made.atoms[-1].least, self.made.atoms[-1].most = least, most
        self.countable = False


def _needs(atoms: list[_Atom]) -> str:
    """The longest text that stands in whatever the atoms fit."""
    held = "".join(
        a.letters if len(a.letters) == 1 == a.least == a.most and not a.but else "\n" for a in atoms
    )
    # No line that is edited holds the end of one.
    return max(held.split("\n"), key=len)


def _begins(atoms: list[_Atom]) -> re.Pattern[str] | None:
    """What a match of the atoms begins with; None where that can be nothing, or anything."""
    kinds: list[str] = []
    for atom in atoms:
        if atom.but and not atom.letters:
            return None
        kinds.append(f"[{'^' if atom.but else ''}{re.escape(atom.letters)}]")
        if atom.least:
            return re.compile("|".join(kinds))
    return None


def _range(first: str, last: str) -> str:
    for letters in ("0123456789", _CLASSES["[:alpha:]"][:26], _CLASSES["[:alpha:]"][26:]):
        if first in letters and last in letters and first <= last:
            return letters[letters.index(first) : letters.index(last) + 1]
    raise UnclearError
