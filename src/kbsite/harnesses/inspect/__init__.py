"""Inspect's logs: `.eval` archives, and plain `.json` documents that say the same."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.inspect import log
from kbsite.harnesses.inspect.archive import members
from kbsite.harnesses.lines import spread
from kbsite.model.harness import Harness

HARNESS = Harness("inspect", "Inspect", maker="UK AI Security Institute")

FORMATS: list[Format] = [
    Format(
        id="inspect-eval",
        title="log (.eval)",
        globs=("logs/**/*.eval", "eval/**/*"),
        parse=log.parse,
        recognises=log.recognises_archive,
        stored_as="eval",
        read=members,
    ),
    Format(
        id="inspect-json",
        title="log (.json)",
        globs=("logs/**/*.json", "log/**/*"),
        parse=log.parse,
        recognises=log.recognises,
        stored_as="log",
        read=spread,
    ),
]
