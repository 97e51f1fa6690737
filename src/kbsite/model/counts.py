"""How many of something there are, in words; small figures as pages and exports write them."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, isfinite, log10

SMALLEST = 1e-9
"""From what on a small figure is written without an exponent: a smaller one is damage."""


LARGEST = 1e9
"""Up to what a large figure is: a larger one is damage, and would fill a page with its digits."""


def finite(value: float | None) -> float | None:
    """A figure that JSON can hold; None for others, which files of a damaged run may hold."""
    return value if value is not None and isfinite(value) else None


def small(value: float, digits: int = 2) -> str:
    """What is small but not nothing, in so many digits that count: "0.00014", "0.0000012"."""
    if not SMALLEST <= abs(value) < 1:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{digits - 1 - floor(log10(abs(value)))}f}"


def figure(value: float, digits: int = 4) -> str:
    """A figure in so many digits at most: "0.534", "12", and what is small as `small` has it.

    Of what is larger no digit before the point is lost: "12346".
    """
    text = f"{value:.{digits}g}"
    if "e+" in text and abs(value) < LARGEST:
        return f"{value:.0f}"
    return small(value, digits).rstrip("0") if "e-" in text and abs(value) >= SMALLEST else text


def between(ends: tuple[float, float], told: Callable[[float], str]) -> str:
    """Both ends of an interval as `told` writes each: "0.38 to 0.42".

    With as many digits as tell them apart where it would write two that differ alike: "0.0832 to
    0.0834", not "0.083 to 0.083".
    """
    low, high = map(told, ends)
    if low == high and ends[0] != ends[1] and "e" not in low:
        places = range(len(low.partition(".")[2]) + 1, _MOST_PLACES)
        told_so = ([f"{end:.{count}f}" for end in ends] for count in places)
        longer = next((both for both in told_so if both[0] != both[1]), [low, high])
        low, high = (end.removeprefix("0") if low.startswith(".") else end for end in longer)
    return f"{low} to {high}"


_MOST_PLACES = 18
"""Of what differs by less than has a place here, both ends are written alike: they are."""


def number_of(count: int, what: str, several: str | None = None) -> str:
    """How many of something: "1 run", "1,203 runs"; `several` is what it is called where s is not.

    All that counts for a person is to say it so, on pages and on command lines.
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {several or what + 's'}"
