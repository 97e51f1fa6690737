"""Rows one behind the other, as a file of all runs holds them: what did not change is not cut up.

Of a list of thousands a build makes one row anew. The others are copied in stretches, as bytes: no
row of them is decoded, encoded or looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from msgspec import Struct, field

Make = Callable[[str], str]
"""Makes the row about something."""


class RowsTold(Struct, frozen=True):
    """What is known of joined rows, in their order."""

    frame: str = ""
    """Digest of what rows have in common."""
    abouts: list[str] = field(default_factory=list)
    """What each is about."""
    made_of: list[str] = field(default_factory=list)
    """A digest of what each was made of; empty where that cannot be told."""
    sizes: list[int] = field(default_factory=list)
    """The bytes of each."""


class Joined(Struct, frozen=True):
    """Rows as they were made, with what stands between them."""

    told: RowsTold
    body: bytes

    def again(self, made_of: Mapping[str, str], make: Make, between: bytes) -> Joined:
        """Rows about what `made_of` names, in its order; these very ones where none changed.

        `between` is of a kind of rows: the same each time.
        """
        told, abouts, known = self.told, list(made_of), list(made_of.values())
        if told.abouts == abouts and told.made_of == known and all(known):
            return self
        pieces, sizes = list[bytes | memoryview](), list[int]()
        for piece, held in self._pieces(made_of, make, len(between)):
            pieces.append(piece)
            sizes += held
        return Joined(RowsTold(told.frame, abouts, known, sizes), between.join(pieces))

    def _pieces(
        self, made_of: Mapping[str, str], make: Make, between: int
    ) -> Iterator[tuple[bytes | memoryview, list[int]]]:
        """Stretches of rows that stay, and rows that are made, each with the sizes of its rows."""
        held, whole = self.told, memoryview(self.body)
        places = {about: place for place, about in enumerate(held.abouts)}
        starts = list(accumulate((size + between for size in held.sizes), initial=0))

        def stretch() -> Iterator[tuple[memoryview, list[int]]]:
            if first < after:
                yield whole[starts[first] : starts[after] - between], held.sizes[first:after]

        first = after = 0
        for about, known in made_of.items():
            place = places.get(about)
            if place is None or not known or held.made_of[place] != known:
                yield from stretch()
                first = after
                row = make(about).encode("utf-8")
                yield row, [len(row)]
            elif place == after:
                after += 1
            else:
                yield from stretch()
                first, after = place, place + 1
        yield from stretch()
