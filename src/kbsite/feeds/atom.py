"""data/feed.xml: new runs, new verdicts and corrections, as an Atom feed (RFC 4287).

Dates come from runs and audits, never from a clock, and ids from the runs' ids: a site that is
moved, renamed or made anew tells nobody the same news twice.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time
from html import escape
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct

from kbsite.feeds.table import in_utc
from kbsite.text import visible

MOST = 100
"""Entries of the feed: the latest ones."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
END = datetime(2100, 1, 1, tzinfo=UTC)
"""No news is of this time: what is dated so would head the feed for as long as it is read."""


class Entry(Struct, frozen=True):
    """A piece of news."""

    key: str
    """What it is told by, for ever, such as "run:<id>"."""
    when: datetime | date | None
    """None where nobody says: it is no news then."""
    told: Callable[[], Told]
    """What is told of it; asked only where it is among the latest."""


class Told(Struct, frozen=True, kw_only=True):
    """What an entry of the feed says."""

    title: str
    href: str
    """Address of the page that tells it."""
    summary: str
    author: str
    kind: str
    """One word: run, verdict or correction."""


def feed(title: str, key: str, home: str, own: str, entries: Iterable[Entry]) -> str:
    """The feed of a site with this title, the latest news first.

    `key` tells the feed from others for ever, `home` and `own` are addresses: of the first page,
    and of the feed itself.
    """
    dated = [(_moment(entry.when), entry) for entry in entries if entry.when is not None]
    told = (held for held in dated if held[0] < END)
    latest = heapq.nlargest(MOST, told, key=_order)
    updated = latest[0][0] if latest else _NEVER
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{_urn(f'site:{key}')}</id>",
        f"<title>{_text(title)}</title>",
        f"<updated>{_written(updated)}</updated>",
        f'<link rel="self" type="application/atom+xml" href={_attribute(own)}/>',
        f'<link rel="alternate" type="text/html" href={_attribute(home)}/>',
        f"<author><name>{_text(title)}</name></author>",
        *(line for when, entry in latest for line in _entry(when, entry)),
        "</feed>",
    ]
    return "\n".join(lines) + "\n"


def _order(held: tuple[datetime, Entry]) -> tuple[datetime, bool, str]:
    """What news are put in order by: what is said of a run comes after it."""
    when, entry = held
    return when, not entry.key.startswith("run:"), entry.key


def _entry(when: datetime, entry: Entry) -> Sequence[str]:
    told = entry.told()
    return [
        "<entry>",
        f"<id>{_urn(entry.key)}</id>",
        f"<title>{_text(told.title)}</title>",
        f"<updated>{_written(when)}</updated>",
        f'<link rel="alternate" href={_attribute(told.href)}/>',
        f"<author><name>{_text(told.author)}</name></author>",
        f"<category term={_attribute(told.kind)}/>",
        f"<summary>{_text(told.summary)}</summary>",
        "</entry>",
    ]


def _urn(key: str) -> str:
    # A half of a character, which a file name may hold, is nothing that can be hashed.
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'kbsite:{visible(key)}')}"


def _moment(when: datetime | date) -> datetime:
    if not isinstance(when, datetime):
        return datetime.combine(when, time(), UTC)
    return in_utc(when)


def _written(when: datetime) -> str:
    return when.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _text(text: str) -> str:
    return escape(visible(" ".join(text.split())), quote=False)


def _attribute(text: str) -> str:
    return f'"{escape(visible(" ".join(text.split())))}"'
