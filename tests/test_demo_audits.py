"""The audits of the runs in the repository: read by somebody, and every quote of them proven."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kbsite.check import check
from kbsite.model.audit import Audit, Quote
from kbsite.model.finding import Finding
from kbsite.proofs import proofs
from kbsite.store.run_folders import AUDIT, run_folders
from kbsite.store.runs import StoredRun, read_run
from kbsite.store.settings import CONFIG, read_settings

ROOT = Path(__file__).parents[1]
BOARDS = [ROOT / "runs" / board for board in ("demo", "kernels")]
FOLDERS = [folder for board in BOARDS for folder in run_folders(board) if (folder / AUDIT).exists()]
QUOTES = [
    pytest.param(folder, number, id=f"{folder.name}-{number}")
    for folder in FOLDERS
    for number, _ in enumerate(yaml.safe_load((folder / AUDIT).read_text("utf-8"))["quotes"])
]
ENOUGH = 3
"""Quotes of an audit here."""


def audit_of(stored: StoredRun) -> Audit:
    assert stored.audit is not None
    return stored.audit


def test_nothing_is_wrong_with_the_runs_of_the_repository() -> None:
    settings = read_settings(ROOT / CONFIG)

    assert [finding.text for finding in check(BOARDS, settings)] == []


def test_two_runs_are_audited_with_quotes_of_every_kind() -> None:
    quotes: list[Quote] = []
    for folder in FOLDERS:
        own = audit_of(read_run(folder)).quotes
        assert len(own) >= ENOUGH
        assert len({quote.file for quote in own}) >= ENOUGH
        quotes += own

    assert len(FOLDERS) >= 2
    assert any(quote.file == "solution.py" and quote.lines for quote in quotes)
    assert any(quote.file.startswith("transcript/") and quote.lines for quote in quotes)
    assert any(quote.file.startswith("transcript/") and quote.event for quote in quotes)


@pytest.mark.parametrize(("folder", "number"), QUOTES)
def test_every_quote_is_proven(folder: Path, number: int) -> None:
    assert proofs(read_run(folder))[number].proven


def test_audits_say_by_whom_when_and_that_the_sessions_are_scripted() -> None:
    for folder in FOLDERS:
        audit = audit_of(read_run(folder))
        assert audit.auditor
        assert audit.date is not None
        assert "script" in audit.summary, folder.name
        assert audit.history == ()


def _character(quote: dict[str, Any]) -> None:
    text = quote["text"]
    at = next(at for at in range(len(text) // 2, len(text)) if text[at].isalnum())
    quote["text"] = f"{text[:at]}{'x' if text[at] != 'x' else 'y'}{text[at + 1 :]}"


def _place(quote: dict[str, Any]) -> None:
    if "event" in quote:
        quote["event"] = f"L{int(quote['event'][1:]) + 1}"
    else:
        quote["lines"] = [line + 1 for line in quote["lines"]]


def _file(quote: dict[str, Any]) -> None:
    quote["file"] = f"{quote['file'][:-1]}_"


def broken(
    folder: Path, number: int, scratch: Path, change: Callable[[dict[str, Any]], None]
) -> list[Finding]:
    """What is found in a copy of a run, one of whose quotes was changed."""
    copy = scratch / folder.parent.name / folder.name
    shutil.copytree(folder, copy)
    held = yaml.safe_load((copy / AUDIT).read_text("utf-8"))
    change(held["quotes"][number])
    (copy / AUDIT).write_text(yaml.safe_dump(held, allow_unicode=True), "utf-8")
    return list(check([copy]))


@pytest.mark.parametrize("change", [_character, _place, _file])
@pytest.mark.parametrize(("folder", "number"), QUOTES)
def test_a_quote_with_one_thing_wrong_is_named(
    tmp_path: Path, folder: Path, number: int, change: Callable[[dict[str, Any]], None]
) -> None:
    (finding,) = broken(folder, number, tmp_path, change)

    assert finding.severity.value == "error"
    assert Path(finding.path).name == AUDIT
    assert str(finding.key).startswith(f"quotes[{number}].")
    assert finding.line is not None
