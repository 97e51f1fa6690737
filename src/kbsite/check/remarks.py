"""Remarks on one record, each with the line that it is about."""

from __future__ import annotations

from pathlib import Path

from kbsite.model.finding import Finding, Severity, short
from kbsite.store.records import InvalidFileError, lines_of, read_text

MOST = 100
"""Remarks on one record that are made; the others are counted."""
LONGEST = 1000
"""Characters of a remark: it may repeat what the record says."""


class Remarks:
    """What there is to say of a record; its file is only read again if there is anything."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said: list[tuple[Severity, str, str]] = []

    def error(self, key: str, message: str) -> None:
        """Say that the record cannot be used so."""
        self._said.append((Severity.ERROR, key, message))

    def warn(self, key: str, message: str) -> None:
        """Say that somebody should look at it."""
        self._said.append((Severity.WARNING, key, message))

    def findings(self) -> list[Finding]:
        """All of it."""
        if not self._said:
            return []
        try:
            text = read_text(self._path)
        except InvalidFileError:
            # It was read a moment ago; without it there are no lines to name.
            text = ""
        named, rest = self._said[:MOST], self._said[MOST:]
        lines = lines_of(text, [f".{key}" for _, key, _ in named])
        found = [
            Finding(severity, str(self._path), short(message, LONGEST), line, short(key))
            for (severity, key, message), line in zip(named, lines, strict=True)
        ]
        if rest:
            bad = any(severity is Severity.ERROR for severity, _, _ in rest)
            message = f"{len(self._said)} remarks in all, {len(rest)} not made here"
            severity = Severity.ERROR if bad else Severity.WARNING
            found.append(Finding(severity, str(self._path), message))
        return found
