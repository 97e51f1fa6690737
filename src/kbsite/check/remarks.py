"""Remarks on one record, each with the line that it is about."""

from __future__ import annotations

from pathlib import Path

from kbsite.model.finding import Finding, Severity
from kbsite.store.records import InvalidFileError, lines_of, read_text


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
        lines = lines_of(text, [f".{key}" for _, key, _ in self._said])
        return [
            Finding(severity, str(self._path), message, line, key)
            for (severity, key, message), line in zip(self._said, lines, strict=True)
        ]
