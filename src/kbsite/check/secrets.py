"""Secrets, and what tells of a person or a machine, in all that is published.

Of runs it is covered: told is what should not be in a run at all. Problems, floors and the ids of
runs are published as they are: told is everything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from kbsite.check.remarks import Remarks
from kbsite.check.targets import Kind, Target
from kbsite.errors import InputError
from kbsite.hiding import Hiding, denied_of
from kbsite.hiding.texts import told_by
from kbsite.hiding.told import unwanted
from kbsite.model.audit import Audit, Quote
from kbsite.model.config import Config, Redact
from kbsite.model.finding import Finding, Severity
from kbsite.model.redaction import Span
from kbsite.redaction.titles import CROWDED, title
from kbsite.store.at_once import itself
from kbsite.store.files import contents
from kbsite.store.problems import is_problem, problem_folders
from kbsite.store.records import InvalidFileError, yaml_record
from kbsite.store.run_folders import AUDIT, FLOORS, finished_folders, is_partial
from kbsite.store.settings import Settings

MOST = 8 << 20
"""Bytes of a published text that are looked at."""

SHORTEST = 4
"""Bytes of a value from which on it is no part of any word."""


def secret_findings(targets: Sequence[Target], settings: Settings | None) -> Iterator[Finding]:
    """What there is of that in some runs and problems; without any, in all of a site."""
    rules = settings.config.redact if settings else Redact()
    if not rules.on:
        return
    try:
        denied = denied_of(settings) if settings else ()
    except InputError as error:
        yield Finding(Severity.ERROR, str(error.path), error.message, error.line, error.key)
        return
    most = (settings.config if settings else Config()).most_file_bytes
    look = _Look(Hiding(rules, denied, most=most))
    if settings and not targets:
        yield from look.runs(settings.runs)
        yield from look.problems(settings.problems)
    for one in targets:
        yield from look.target(one)


class _Look:
    """Looks by the rules of one site."""

    def __init__(self, hiding: Hiding) -> None:
        self._hiding = hiding

    def target(self, one: Target) -> Iterator[Finding]:
        """What there is in a run, a problem, or a folder of some."""
        match one.kind:
            case Kind.RUN:
                yield from self.run(one.path)
            case Kind.RUNS:
                yield from self.runs(one.path)
            case Kind.PROBLEM:
                yield from self.problem(one.path)
            case Kind.PROBLEMS:
                yield from self.problems(one.path)
            case _:
                pass

    def runs(self, folder: Path) -> Iterator[Finding]:
        """What there is in runs, and in the floors beside them."""
        held = [*finished_folders(folder)]
        for board in dict.fromkeys([folder, *(one.parent for one in held)]):
            yield from self._text(board / FLOORS, f"{board.name}/{FLOORS}")
        for one in held:
            yield from self.run(one)

    def run(self, folder: Path) -> Iterator[Finding]:
        """What there is in a run, in its id, and in quotes of its audit."""
        if is_partial(folder):
            return
        hidden = self._hiding.of(folder)
        yield from unwanted({str(folder): hidden})
        place = f"{folder.absolute().parent.name}/{folder.name}"
        for rule, _ in _by_rule(self._told(os.fsencode(folder.name), place)):
            message = f"the id of the run tells what the site covers elsewhere: {title(rule)}"
            cure = "it is part of addresses and is never covered; import or name the run anew"
            yield Finding(Severity.WARNING, str(folder), f"{message}; {cure}", None, rule)
        yield from _quotes(folder, hidden.files)

    def problems(self, folder: Path) -> Iterator[Finding]:
        """What there is in problems."""
        for one in problem_folders(folder):
            yield from self.problem(one)

    def problem(self, folder: Path) -> Iterator[Finding]:
        """What there is in a problem."""
        for file in contents(folder)[0] if is_problem(folder) else ():
            if "__pycache__" not in file.name:
                yield from self._text(file.path, f"problems/{folder.name}/{file.name}")

    def _text(self, path: Path, place: str) -> Iterator[Finding]:
        try:
            if path.is_symlink() or not path.is_file():
                return
            with path.open("rb") as stream:
                data = stream.read(MOST)
        except OSError:
            return  # told where the file itself is checked
        for rule, spans in _by_rule(self._told(data, place)):
            line = data.count(b"\n", 0, spans[0].start) + 1
            message = f"{len(spans)} passages that the site does not cover here: {title(rule)}"
            cure = "take them out, or tell kbsite.yaml under redact.allow that they may be told"
            yield Finding(Severity.WARNING, str(path), f"{message}; {cure}", line, rule)

    def _told(self, data: bytes, place: str) -> list[Span]:
        return list(told_by(data, place, self._hiding.rules, self._hiding.denied))


def _by_rule(spans: Sequence[Span]) -> Iterator[tuple[str, list[Span]]]:
    for rule, held in groupby(sorted(spans, key=attrgetter("rule")), attrgetter("rule")):
        yield rule, list(held)


def _quotes(folder: Path, hidden: Mapping[str, Sequence[Span]]) -> Iterator[Finding]:
    """Which quotes of a run's audit cite what the site covers."""
    path = folder / AUDIT
    try:
        if not hidden or path.is_symlink() or not path.is_file():
            return
        audit = yaml_record(path, Audit)
    except InvalidFileError:
        return  # told where the audit itself is checked
    remarks = Remarks(path)
    for number, quote in enumerate(audit.quotes):
        rules = _covered(folder, quote, hidden.get(quote.file, ()))
        if rules:
            what = ", ".join(map(title, rules))
            message = f"quotes what the site covers in {quote.place}: {what}"
            cure = "readers see the cover and cannot hold the quote against it; quote around it"
            remarks.warn(f"quotes[{number}].text", f"{message}; {cure}")
    yield from remarks.findings()


def _covered(folder: Path, quote: Quote, spans: Sequence[Span]) -> list[str]:
    """The rules that cover a part of what a quote says, by the file that it cites."""
    text = quote.text.encode("utf-8", "surrogateescape")
    forms = {text, json.dumps(quote.text)[1:-1].encode()}
    held = [span for span in spans if span.member < 0 and _may_cite(quote, span)]
    rules = set()
    if held and len(text) >= SHORTEST:
        # What is gone by now is told where the run is checked.
        with suppress(OSError), open(folder / quote.file, "rb", opener=itself) as stream:
            for span in held:
                stream.seek(span.start)
                value = stream.read(min(span.end - span.start, MOST))
                if len(value) >= SHORTEST and any(value in f or f in value for f in forms):
                    rules.add(span.rule)
    return sorted(rules)


def _may_cite(quote: Quote, span: Span) -> bool:
    """Whether a span may lie in what a quote cites; the lines of an event are not known."""
    cited = not quote.lines or quote.lines[0] <= span.line <= quote.lines[-1]
    return cited or (span.rule == CROWDED and span.line <= quote.lines[-1])
