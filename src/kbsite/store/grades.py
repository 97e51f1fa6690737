"""Earlier grades of a run: grades/<when>/ holds what a later grading took the place of."""

from __future__ import annotations

from dataclasses import replace

from msgspec import Struct, structs

from kbsite.model.finding import Finding
from kbsite.model.grade import Metrics
from kbsite.store.files import Stored
from kbsite.store.graded import GRADES
from kbsite.store.parsing import InvalidFileError
from kbsite.store.records import json_record
from kbsite.store.run_folders import METRICS
from kbsite.store.runs import StoredRun, as_findings

MOST = 50
"""Earlier grades that are read: the latest ones, where there are more."""


class EarlierGrade(Struct, frozen=True, kw_only=True):
    """A grade that another one took the place of."""

    name: str
    """Its folder: when it was made, else "undated"."""
    metrics: Metrics | None
    """None where metrics.json is missing or cannot be read."""
    files: tuple[Stored, ...]
    findings: tuple[Finding, ...] = ()

    def of(self, stored: StoredRun, metrics: Metrics) -> StoredRun:
        """The run as it was when this was its grade, as far as its grade goes."""
        folder = f"{GRADES}/{self.name}/"
        files = tuple(replace(file, name=file.name.removeprefix(folder)) for file in self.files)
        return structs.replace(stored, folder=stored.folder / folder, metrics=metrics, files=files)


def earlier_grades(stored: StoredRun) -> tuple[EarlierGrade, ...]:
    """The earlier grades of a run, the latest first; last those that do not say when they were."""
    held: dict[str, list[Stored]] = {}
    for file in stored.files:
        folder, _, inside = file.name.removeprefix(f"{GRADES}/").partition("/")
        if file.name.startswith(f"{GRADES}/") and inside:
            held.setdefault(folder, []).append(file)
    names = sorted(held, key=lambda name: (name[:1].isdigit(), name), reverse=True)[:MOST]
    return tuple(_read(name, tuple(held[name])) for name in names)


def _read(name: str, files: tuple[Stored, ...]) -> EarlierGrade:
    own = next((file for file in files if file.name == f"{GRADES}/{name}/{METRICS}"), None)
    if own is None:
        return EarlierGrade(name=name, metrics=None, files=files)
    try:
        return EarlierGrade(
            name=name, metrics=json_record(own.path, Metrics, hidden=own.hidden), files=files
        )
    except InvalidFileError as error:
        findings = tuple(as_findings(error))
        return EarlierGrade(name=name, metrics=None, files=files, findings=findings)
