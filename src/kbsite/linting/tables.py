"""The files under data/ that other programs read say what their published schemas let them say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from kbsite.linting.site import MOST_BYTES, BuiltSite
from kbsite.model.finding import Finding, Severity
from kbsite.model.leaderboard import Leaderboard
from kbsite.model.listing import Listing
from kbsite.model.published import Published
from kbsite.model.redacted import Redactions
from kbsite.pages.data import LEADERBOARD, REDACTION, SITE
from kbsite.pages.listing import LISTING
from kbsite.store.parsing import InvalidFileError, json_data
from kbsite.store.records import record

KINDS = {LEADERBOARD: Leaderboard, LISTING: Listing, SITE: Published, REDACTION: Redactions}
"""The records that stand there, by path."""
BOARD = re.compile(r"data/boards/[^/]+/leaderboard\.json")
"""Where the table of one board stands."""


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Where such a file is no JSON, or a key of it is missing or has another kind of value."""
    for path, file in site.files.items():
        kind = Leaderboard if BOARD.fullmatch(path) else KINDS.get(path)
        if kind is None:
            continue
        if file.size > MOST_BYTES:
            yield Finding(Severity.ERROR, path, f"larger than {MOST_BYTES} bytes; expected a table")
        elif not _fits(site.text(path), kind):
            yield from _wrong(path, site.text(path), kind)


def _fits(text: str, kind: type) -> bool:
    try:
        msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _wrong(path: str, text: str, kind: type) -> Iterator[Finding]:
    """Every key that is wrong, with its line: that takes as long as a hundred files that fit."""
    where = Path(path)
    try:
        # Runs are called what their folders are, in bytes that may be no UTF-8.
        record(json_data(where, text, any_text=True), kind, where, text)
    except InvalidFileError as error:
        for one in error.errors:
            yield Finding(Severity.ERROR, path, one.message, one.line, one.key)
