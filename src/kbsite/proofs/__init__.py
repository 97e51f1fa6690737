"""Proof of quotes: what an auditor quotes, held against what the run's files say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeGuard

from kbsite.model.audit import Quote
from kbsite.model.proof import Proof, ProofState
from kbsite.proofs.events import event_proofs
from kbsite.proofs.files import Held
from kbsite.store.files import Stored
from kbsite.store.run_folders import AUDIT, LOGS, SNAPSHOTS, TRANSCRIPT
from kbsite.store.runs import StoredRun
from kbsite.store.snapshot_diffs import DIFF, snapshot_diff

MOST = 200
"""Quotes of an audit that are held against files: nobody reads more."""

_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")

LARGEST = 256_000_000
"""Bytes of a file in which nobody looks for a passage."""


def proofs(stored: StoredRun) -> tuple[Proof, ...]:
    """What became of each quote of a run's audit, in their order.

    A quote that cites nothing that there could be, such as the third line to the first, has no
    line; of more than `MOST` quotes, the rest counts as not standing in the file.
    """
    quotes = stored.audit.quotes if stored.audit else ()
    found: dict[int, Proof] = {}
    by_file: dict[str, list[int]] = {}
    for number, quote in enumerate(quotes):
        if number >= MOST:
            found[number] = Proof(quote=quote, state=ProofState.DIFFERS)
        elif cites_lines(quote) or _cites_event(quote):
            by_file.setdefault(quote.file, []).append(number)
        else:
            found[number] = Proof(quote=quote, state=ProofState.NO_LINE)
    for name, numbers in by_file.items():
        held = _in_file(stored, name, [quotes[number] for number in numbers])
        found |= zip(numbers, held, strict=True)
    return tuple(found[number] for number in range(len(quotes)))


def proof(stored: StoredRun, quote: Quote) -> Proof:
    """What becomes of one quote of a run, which may not stand in its audit yet."""
    if not cites_lines(quote) and not _cites_event(quote):
        return Proof(quote=quote, state=ProofState.NO_LINE)
    return next(_in_file(stored, quote.file, [quote]))


def cites_lines(quote: Quote) -> bool:
    """Whether a quote cites one line, or a first and a last one, and no event beside."""
    lines = quote.lines
    return not quote.event and len(lines) in (1, 2) and 0 < lines[0] <= lines[-1]


def _cites_event(quote: Quote) -> bool:
    return bool(quote.event) and not quote.lines


def quotable(stored: StoredRun, name: str) -> bytes | None:
    """What quotes of this name are held against, whole; None where the run has nothing of it.

    The colours of a log do not count: who copies from it never sees them. OSError where it cannot
    be read.
    """
    file = stored.file(name)
    if file is None and name.startswith(SNAPSHOTS) and name.endswith(DIFF):
        text = snapshot_diff(stored, name)
        return None if text is None else text.encode("utf-8", "surrogateescape")
    if not _is_evidence(file):
        return None
    data = file.read()
    return _COLOUR.sub(b"", data) if name in LOGS else data


def _is_evidence(file: Stored | None) -> TypeGuard[Stored]:
    # What an audit says is no proof of it.
    return file is not None and file.name != AUDIT and file.size <= LARGEST


def _in_file(stored: StoredRun, name: str, quotes: list[Quote]) -> Iterator[Proof]:
    """What becomes of quotes from one file, which is read once for all of them."""
    try:
        data = quotable(stored, name)
    except OSError:
        data = None
    if data is None:
        yield from (Proof(quote=quote, state=ProofState.NO_FILE) for quote in quotes)
        return
    by_line = [quote for quote in quotes if cites_lines(quote)]
    held = Held(data, name.startswith(TRANSCRIPT), {n for quote in by_line for n in quote.lines})
    rest = [quote for quote in quotes if not cites_lines(quote)]
    told = iter(event_proofs(stored, name, data, rest))
    for quote in quotes:
        yield held.proof(quote) if cites_lines(quote) else next(told)
