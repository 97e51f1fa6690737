"""Inspect's plain `.json` logs. Its `.eval` archives are not read: they are no text."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.inspect import log
from kbsite.model.harness import Harness

HARNESS = Harness("inspect", "Inspect", maker="UK AI Security Institute")

FORMATS: list[Format] = [
    Format(
        id="inspect-json",
        title="log (.json)",
        globs=("logs/**/*.json", "log/**/*"),
        parse=log.parse,
        recognises=log.recognises,
        stored_as="log",
    ),
]
