"""Boards to standings: who is ahead of whom, and where that cannot be told.

A contender's figure is its mean score over the deck. By the board's rule a cell without a score
counts 0, whether the run failed, passed without a figure, was taken out by its verdict or never
was: it holds every contender to the same problems. Ranks and groups go by these means. The rows of
a board do not: they stand by how many problems were passed, and by the sum of the scores where
these are as many, so that one with a higher mean may stand below. How many cells were attempted,
and how many passed without a figure, stands beside the mean. On a board without any score, as of
figures that others published, a problem that was passed counts 1: the mean is the share of problems
passed.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from math import fsum, isfinite, sqrt
from operator import le
from random import Random

from kbsite.model.board import Board, Cell, Row
from kbsite.model.standing import Proportion, Standing

RESAMPLES = 4000
"""Decks drawn by the bootstrap; the share that decides is then known to a quarter of a percent."""

SEED = 2026
"""Where the drawing starts: the same runs make the same page."""

CONFIDENCE = 0.95
"""Of each comparison of two contenders, and of each interval."""

FEWEST_DIFFERENCES = 6
"""Problems that two contenders must differ on before anything can tell them apart at 95 %.

If both were equally good, one of them would be ahead on all five of five with a chance of
2 / 2**5 = 6 %: no paired test of five problems can be surer than that. The bootstrap by itself
would be, since drawing from five like signs always gives that sign.
"""

Z = 1.959963984540054
"""The 97.5 % point of the normal distribution."""

_PARTS = 10**9
_LARGEST = 10**6
"""No share of a ceiling is larger; a figure beyond it is damage and must not break a page."""


Ahead = frozenset[tuple[int, int]]
"""Pairs of places, (better, worse), that scores tell apart."""

Scored = tuple[tuple[int, ...], ...]
"""The scores of contenders in billionths, the best first."""


def standings(board: Board, apart: Callable[[Scored], Ahead] | None = None) -> tuple[Standing, ...]:
    """The standing of each row, in the order of the rows; `apart` may know `told_apart`."""
    parts = _parts if board.scored else _passed
    scores = [[parts(cell) for cell in row.cells] for row in board.rows]
    order = sorted(range(len(scores)), key=lambda row: (-sum(scores[row]), row))
    ahead = (apart or told_apart_once)(tuple(tuple(scores[row]) for row in order))
    groups = letter_groups(len(order), ahead)
    made = {}
    for place, number in enumerate(order):
        above = sum(lower == place for _, lower in ahead)
        below = sum(upper == place for upper, _ in ahead)
        made[number] = _standing(
            board.rows[number],
            scores[number],
            (1 + above, len(order) - below),
            tuple(group for group, members in enumerate(groups) if place in members),
        )
    return tuple(made[number] for number in range(len(order)))


def _standing(
    row: Row, parts: Sequence[int], ranks: tuple[int, int], groups: tuple[int, ...]
) -> Standing:
    passed, attempted = row.tally.passed, row.tally.attempted
    figures = [part / _PARTS for part in parts]
    return Standing(
        contender=row.contender,
        attempted=attempted,
        unscored=sum(cell is not None and _unscored(cell) for cell in row.cells),
        mean=fsum(figures) / len(figures) if figures else None,
        error=standard_error(figures),
        ranks=ranks,
        groups=groups,
        passed=Proportion(count=passed, of=attempted, interval=wilson(passed, attempted)),
    )


def _unscored(cell: Cell) -> bool:
    return cell.shown.passes and cell.shown.score is None


def _parts(cell: Cell | None) -> int:
    """The score in billionths: sums of whole numbers are the same in every order."""
    score = cell.shown.counted_score if cell else None
    if score is None or not isfinite(score):
        return 0
    return round(max(-_LARGEST, min(_LARGEST, score)) * _PARTS)


def _passed(cell: Cell | None) -> int:
    """One for a problem that was passed, in billionths."""
    return _PARTS if cell is not None and cell.shown.passes else 0


def standard_error(figures: Sequence[float]) -> float | None:
    """The standard deviation over the root of the number; None of fewer than two figures."""
    size = len(figures)
    if size < 2:
        return None
    if min(figures) == max(figures):
        # The mean of equals is rounded, and would leave something of no difference at all.
        return 0.0
    mean = fsum(figures) / size
    variance = fsum((figure - mean) ** 2 for figure in figures) / (size - 1)
    return sqrt(variance / size)


def wilson(count: int, of: int) -> tuple[float, float] | None:
    """The 95 % interval of a share, by Wilson's score method; None of nothing.

    With p = count / of and z = 1.96 its ends are
    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n): the shares that a test at 5 % would not
    reject. Unlike p ± z·SE it stays within 0 and 1 and does not shrink to nothing at 0 of n or
    n of n. Source: E. B. Wilson, Probable inference, the law of succession, and statistical
    inference, Journal of the American Statistical Association 22 (1927), 209-212; method 3 of
    R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872. It takes the problems for draws from
    many alike, which a deck is at best roughly.
    """
    if of == 0:
        return None
    middle = count + Z * Z / 2
    reach = Z * sqrt(count * (of - count) / of + Z * Z / 4)
    low, high = (middle - reach) / (of + Z * Z), (middle + reach) / (of + Z * Z)
    # Exact at the ends, where the formula is but for rounding.
    return (0.0 if count == 0 else low, 1.0 if count == of else high)


@lru_cache(maxsize=64)
def told_apart_once(rows: Scored) -> Ahead:
    """What `told_apart` says, once for the page of a board and its data."""
    return told_apart(rows)


def told_apart(rows: Sequence[Sequence[int]]) -> Ahead:
    """Pairs of places (better, worse) that the scores tell apart; `rows` holds the best first.

    A paired bootstrap over problems: a deck of the same size is drawn with replacement from the
    deck, `RESAMPLES` times, the same draw for all contenders, so that what makes a problem hard for
    everybody cancels out. Two are told apart where the middle 95 % of the differences between
    their means leave out zero, and they differ on `FEWEST_DIFFERENCES` problems or more. Source:
    B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapters 8 and 13.

    Each pair is judged at 95 % by itself. Of many pairs of equals a few will be told apart by
    chance, and with few problems the bootstrap's intervals are somewhat short: a difference between
    groups is a reason to look, not a proof.
    """
    pairs = [
        (upper, lower)
        for upper, lower in combinations(range(len(rows)), 2)
        if sum(map(int.__ne__, rows[upper], rows[lower])) >= FEWEST_DIFFERENCES
    ]
    sums = _drawn_sums(rows) if pairs else []
    return frozenset(pair for pair in pairs if _is_ahead(*(sums[place] for place in pair)))


def _drawn_sums(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """What each row adds up to in each draw, less what is the same for all rows."""
    problems = len(rows[0])
    # All rows stand side by side in one long number a problem, so that a draw is added up for all
    # of them at once. No row may run over into the next: only damage is larger than that.
    lowest, most = min(map(min, rows)), (1 << _WIDTH) // problems - 1
    side_by_side = [
        sum(min(part - lowest, most) << _WIDTH * place for place, part in enumerate(column))
        for column in zip(*rows, strict=True)
    ]
    size = _WIDTH // 8 * len(rows)
    drawn = (sum(map(side_by_side.__getitem__, draw)) for draw in _draws(problems))
    sums = array("Q", b"".join(held.to_bytes(size, sys.byteorder) for held in drawn)).tolist()
    own = [sums[place :: len(rows)] for place in range(len(rows))]
    return own if sys.byteorder == "little" else own[::-1]


_WIDTH = 64
"""Bits of a row's sum."""


def _is_ahead(upper: Sequence[int], lower: Sequence[int]) -> bool:
    most, not_ahead = RESAMPLES * (1 - CONFIDENCE) / 2, 0
    for at in range(0, RESAMPLES, _AT_ONCE):
        # Of most pairs the first draws tell already that it is not.
        not_ahead += sum(map(le, upper[at : at + _AT_ONCE], lower[at : at + _AT_ONCE]))
        if not_ahead >= most:
            return False
    return True


_AT_ONCE = 500


def _draws(problems: int) -> list[list[int]]:
    # Of all the generator's methods only random() is promised to stay as it is.
    draw = Random(SEED).random  # noqa: S311 - nobody's secret: a page must come out the same
    return [[int(draw() * problems) for _ in range(problems)] for _ in range(RESAMPLES)]


def letter_groups(size: int, ahead: frozenset[tuple[int, int]]) -> list[frozenset[int]]:
    """Groups of places such that two share one just where neither is ahead of the other.

    Not being told apart does not carry over (a from b no, b from c no, a from c yes), so one letter
    a contender cannot say it; with several, two share a letter just where they are tied. Each group
    starts with a tied pair that no group holds yet, best first, and takes in whoever is tied with
    all that it has. Source: H.-P. Piepho, An algorithm for a letter-based representation of
    all-pairwise comparisons, Journal of Computational and Graphical Statistics 13 (2004), 456-466;
    as covering a graph by cliques: J. Gramm et al., Computational Statistics and Data Analysis 52
    (2007), 725-736.
    """
    tied = [
        {other for other in range(size) if not {(place, other), (other, place)} & ahead}
        for place in range(size)
    ]
    groups: list[frozenset[int]] = []
    held: set[tuple[int, int]] = set()
    for first in range(size):
        for second in sorted(other for other in tied[first] if other >= first):
            if (first, second) not in held:
                group = _grown([first, second], tied)
                groups.append(group)
                held |= {(one, other) for one in group for other in group}
    return groups


def _grown(pair: Sequence[int], tied: Sequence[set[int]]) -> frozenset[int]:
    group, open_to = set(pair), tied[pair[0]] & tied[pair[1]]
    for place in sorted(open_to):
        if place in open_to:
            group.add(place)
            open_to &= tied[place]
    return frozenset(group)
