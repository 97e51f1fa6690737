"""How much is done, at most, to tell what files held that no call spells out.

A call of some bytes can double a file, or ask for a diff of all of it: forty of them would fill
any machine.
"""

from __future__ import annotations

from msgspec import Struct

MOST = 1_500_000_000
"""Characters of files that are gone through for one transcript: half a minute, at worst."""

LARGEST = 4_000_000
"""Characters from which a file is no longer known, unless one call holds all of it."""

STEP = 30
"""Characters that are gone through in the time of one comparison."""

LINE = 20
"""Characters that are as dear to show as one line's end."""

SHOWN = 25
"""Characters that are gone through at the price of showing one that its call does not hold."""


class Work(Struct):
    """What may still be done; once that is nothing, no file is known any more."""

    left: int = MOST

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left < 0

    def take(self, characters: int) -> bool:
        """Whether there was enough left to go through so many characters."""
        self.left -= characters
        return self.left >= 0
