"""Where a contender stands on a board, and how sure that is."""

from __future__ import annotations

from string import ascii_lowercase

from msgspec import Struct

from kbsite.model.run import Contender

MOST_LETTERS = 8
"""Of a contender that are shown: among very many contenders each is in hundreds of groups."""


class Proportion(Struct, frozen=True, kw_only=True):
    """How many of how many, with what that tells of the share in the long run."""

    count: int
    of: int
    interval: tuple[float, float] | None
    """Wilson's 95 % interval of the share, low and high; None of nothing."""


class Standing(Struct, frozen=True, kw_only=True):
    """A row's mean score, and which other rows it can be told apart from."""

    contender: Contender
    attempted: int
    """Problems with a graded attempt."""
    unscored: int
    """Those of them that it passed without a figure: they count 0, and the reader is told."""
    mean: float | None
    """Of the scores over the whole deck, of problems passed where the board has no score at all;
    None where the deck is empty."""
    error: float | None
    """Standard error of the mean; None of fewer than two problems."""
    ranks: tuple[int, int]
    """The best and the worst rank that the runs leave open."""
    groups: tuple[int, ...]
    """Two contenders are in one group just where they cannot be told apart; 0 is the best one."""
    passed: Proportion
    """Of the problems attempted."""

    @property
    def letters(self) -> str:
        """The groups as letters: "ab"; after z come a1, b1 and so on."""
        return "".join(map(_letter, self.groups))

    @property
    def brief(self) -> str:
        """The letters as there is room for them: "abcefinu… 245 groups"."""
        few = "".join(map(_letter, self.groups[:MOST_LETTERS]))
        return few if few == self.letters else f"{few}… {len(self.groups)} groups"


def _letter(group: int) -> str:
    again, letter = divmod(group, len(ascii_lowercase))
    return f"{ascii_lowercase[letter]}{again or ''}"
