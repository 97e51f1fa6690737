"""What is covered of the runs, as the page of data tells it: which rule, where, how often."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kbsite.model.redacted import Redactions
from kbsite.redaction.titles import title

FILES = 20
"""Files that are named for a rule; the rest is counted, and stands in data/redaction.json."""


class CoveredFile(Struct, frozen=True):
    """A file of a run, and what one rule covered of it."""

    run: str
    file: str
    count: int
    lines: tuple[int, ...]
    """The lines of the first of it."""


class CoveredRule(Struct, frozen=True):
    """What one rule covered of all runs."""

    id: str
    title: str
    count: int
    files: tuple[CoveredFile, ...]
    more: int
    """Files that are not named."""


def covered_rules(told: Redactions) -> Sequence[CoveredRule]:
    """The rules that covered something, what they covered most often first."""
    found: dict[str, list[CoveredFile]] = {}
    for file in told.files:
        for rule, count in file.hits.items():
            lines = tuple(file.lines.get(rule, ()))
            found.setdefault(rule, []).append(CoveredFile(file.run, file.file, count, lines))
    rows = [
        CoveredRule(
            rule, title(rule), sum(file.count for file in files), tuple(files[:FILES]),
            max(0, len(files) - FILES),
        )
        for rule, files in found.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row.count, row.id))
