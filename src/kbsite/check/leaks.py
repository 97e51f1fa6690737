"""Checks of the leaks that kbsite.yaml describes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kbsite.check.known import Known
from kbsite.check.remarks import Remarks
from kbsite.model.audit import Audit
from kbsite.model.config import Leak
from kbsite.model.finding import Finding
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.store.records import InvalidFileError, yaml_record
from kbsite.store.run_folders import AUDIT, finished_folders
from kbsite.store.settings import Settings


def leak_remarks(settings: Settings, there: Known) -> Iterator[Finding]:
    """What is wrong with the leaks of a site; that audits name no other is checked with them."""
    leaks = settings.config.leaks
    named = set(_named(settings.runs)) if leaks else set()
    remarks = Remarks(settings.path)
    first: dict[str, int] = {}
    for number, leak in enumerate(leaks):
        key = f"leaks[{number}]"
        if first.setdefault(leak.id, number) != number:
            remarks.error(f"{key}.id", f"leaks[{first[leak.id]}] has the same id, {leak.id!r}")
        _leak(remarks, key, leak, there)
        if leak.id not in named:
            remarks.warn(f"{key}.id", f"no audit names {leak.id!r}, so no board shows it")
    yield from remarks.findings()


def _leak(remarks: Remarks, key: str, leak: Leak, there: Known) -> None:
    if not is_slug(leak.id):
        remarks.error(f"{key}.id", f"{SLUG_RULE}, got {leak.id!r}")
    for name in ("title", "meant", "happened"):
        if not getattr(leak, name).strip():
            remarks.error(f"{key}.{name}", "empty; expected what a reader of the board has to know")
    if leak.problem and leak.problem not in (there.problems or {}):
        remarks.error(f"{key}.problem", f"no problem is called {leak.problem!r}")


def _named(runs: Path) -> Iterator[str]:
    """The leaks that audits name; an audit that cannot be read names none."""
    for folder in finished_folders(runs):
        try:
            yield yaml_record(folder / AUDIT, Audit).leak
        except InvalidFileError:
            continue  # there is none, or it is told when the run itself is checked
