"""Numbers and times as the site writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite

from kbsite.charts.drawing import brief, digits
from kbsite.model.board import Attempt
from kbsite.model.config import BoardConfig
from kbsite.model.counts import between, small
from kbsite.text import unmarked


def score(value: float | None) -> str:
    """A peak_fraction with three digits, without the leading zero: ".534"; "" for None.

    More of them where three would say that it is nothing, or all that there is: ".00014", ".9996".
    From a thousand on, as of a metric of a board's own, it is whole as other figures: "123457".
    """
    if value is None:
        return ""
    share = abs(value)
    text = f"{share:.3f}" if share < _LARGE else f"{share:.3g}"
    if _WHOLE <= share < _LARGE:
        text = f"{share:.0f}"
    if share > 0 and text == "0.000":
        text = small(share)
    elif share < 1 and text == "1.000":
        text = _short_of_one(share)
    return ("-" if value < 0 else "") + (text.removeprefix("0") if text.startswith("0.") else text)


def margin(value: float, of: float | None) -> str:
    """By how much a peak_fraction is uncertain, in as many digits as it has: ".003" beside ".534".

    "<.001" of less: more digits than the figure beside it has would say nothing of that. Beside
    ".0000012", with more digits than three, it has these too.
    """
    told = score(of)
    if of is not None and _WHOLE <= abs(of) < _LARGE:
        return "<1" if 0 < value < 0.5 else f"{value:.0f}" if value < _LARGE else score(value)
    places = max(3, len(told.partition(".")[2]))
    if "e" in told or not 0 <= value < _LARGE:
        return score(value)
    text = f"{value:.{places}f}".removeprefix("0")
    least = f".{1:0{places}}"
    return f"<{least}" if value > 0 and float(text) == 0 else text


def interval(ends: tuple[float, float]) -> str:
    """What a peak_fraction lies within: ".400 to .440"."""
    return between(ends, score)


def interval_ms(ends: tuple[float, float]) -> str:
    """What a time lies within, in milliseconds without the unit: "0.1972 to 0.2000"."""
    return between(ends, digits)


_WHOLE = 999.9995
"""From what on a score has no digits behind the point: three of them would make it a thousand."""
_LARGE = 1e9
"""From what on a score is damage, and would fill a page with its digits."""


def _short_of_one(value: float) -> str:
    """What is less than one, with as many digits as show it: "0.9996"; at most six."""
    told = (f"{value:.{count}f}" for count in range(4, 7))
    return next((text for text in told if text < "1"), "0.999999")


def came_to(attempt: Attempt) -> str:
    """What came of a run, where no legend stands beside it: "passed, .534", "build failed".

    One that passed without a score is told with its time.
    """
    words, ms = attempt.metrics.status.words, attempt.unscored_ms
    figure = score(attempt.score) if ms is None else f"{digits(ms, 3)} ms"
    return f"{words}, {figure}" if figure else words


LONGEST = 800
"""Characters of a summary that are shown in a row: sixty words take half of that."""


@lru_cache(maxsize=10_000)
def in_short(text: str) -> str:
    """A text of an audit as a row or a title shows it: plain, on one line, its beginning only."""
    told = unmarked(text[: 2 * LONGEST])
    return told if len(text) <= 2 * LONGEST and len(told) <= LONGEST else f"{told[:LONGEST]}…"


_SHORT = 44
"""Letters of a place that fit on one line of a phone."""

_NAMED = re.compile(r"([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What a CLI calls a session of its own."""


def short_place(where: str) -> str:
    """A file of a run and its lines on one line: of a long path its start, its name and the lines.

    "transcript/home/.claude/projects/-w/<id of a session>.jsonl line 54" is one such.
    """
    folders, slash, name = where.rpartition("/")
    if len(where) <= _SHORT or not slash:
        return where
    named = _NAMED.sub(r"\1…", name)
    return f"{folders.partition('/')[0]}/…/{named}"


def percent(value: float) -> str:
    """A share as "10 %"."""
    return f"{value * 100:g} %"


def threshold(config: BoardConfig) -> str:
    """The score from which on cells have to be audited: "10 %", in a metric of its own "4"."""
    held = config.audit_threshold
    return percent(held) if config.in_shares else f"{held:g}"


def count(value: int | None) -> str:
    """A number with thin groups of three: "1,203"; "unknown" for None."""
    return "unknown" if value is None else f"{value:,}"


def duration(seconds: float | None) -> str:
    """Seconds as "44:58" or "1:02:03"; fractions only below ten seconds; "unknown" for None.

    What is short but not nothing has one digit that counts: "4 ms", "5 µs".
    """
    if seconds is None or not isfinite(seconds):
        return "unknown"
    if 0 < abs(seconds) < 0.0095:
        return brief(seconds) if seconds > 0 else f"-{brief(-seconds)}"
    if round(abs(seconds), 2) < 10:
        return f"{seconds:.2f} s"
    return elapsed(round(seconds))


def elapsed(seconds: float) -> str:
    """How far into a session something is: "00:03", "1:02:03", with a sign if before its start."""
    if not isfinite(seconds):
        return "unknown"
    whole = int(abs(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    sign = "-" if seconds <= -1 else ""
    return f"{sign}{hours}:{minutes:02}:{rest:02}" if hours else f"{sign}{minutes:02}:{rest:02}"


def moment(value: datetime | None) -> str:
    """A time in UTC, to the second; "unknown" for None."""
    if value is None:
        return "unknown"
    try:
        return f"{value.astimezone(UTC).isoformat(' ')[:19]} UTC"
    except OverflowError:
        # A time of the first or last day that there is, in another zone.
        return value.isoformat(" ", "seconds")


def money(value: float | None) -> str:
    """US dollars, parts of a cent below one dollar: "$0.0042"; "unknown" for None.

    What is less than a tenth of a cent has two digits that count, "$0.000042": it is not nothing.
    """
    if value is None or not isfinite(value):
        return "unknown"
    amount, sign = abs(value), "-" if value < 0 else ""
    if 0 < amount < 0.00095:
        return f"{sign}${small(amount)}"
    return f"{sign}${amount:.4f}" if 0 < amount < 0.99995 else f"{sign}${amount:,.2f}"


def size(value: int) -> str:
    """A number of bytes as "1.2 MB"."""
    amount, unit = float(value), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.3g} {unit}" if amount < 999.5 else f"{amount:,.0f} {unit}"
