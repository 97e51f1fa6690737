"""Amendments: a verdict that takes the place of an earlier one, which is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from kbsite.auditing.drafts import TOLD, base_line, begin, writing
from kbsite.errors import InputError, UsageError
from kbsite.model.audit import Audit, Validity, Verdict
from kbsite.store import audits
from kbsite.store.parsing import LIMIT_YAML_BYTES, InvalidFileError, read_text
from kbsite.store.records import yaml_record
from kbsite.store.run_folders import AUDIT
from kbsite.store.writing import write_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What an auditor changes."""

    verdict: Verdict
    why: str
    by: str
    summary: str = ""
    """Empty: what it is, until the auditor edits it."""
    implication: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be written."""
        return bool(self.summary and (self.implication or self.verdict is Verdict.CLEAN))


def begin_amendment(folder: Path, given: Amendment, day: date) -> Path:
    """Write the draft of an amended audit; InvalidFileError where the present one cannot be read.

    An effect of its own that the earlier verdict had is dropped with that, and stands in the
    history with it; so are a leak and doubts about validity where the run is clean now.
    """
    if not given.by.strip():
        raise UsageError("nothing tells who changes it: --by NAME, or set KBSITE_AUDITOR")
    before = yaml_record(folder / AUDIT, Audit)
    text = read_text(folder / AUDIT, LIMIT_YAML_BYTES)
    draft = begin(folder, text)
    try:
        audits.amend(draft, _changes(before, given, day), replaced=day, by=given.by, why=given.why)
        with writing(draft):
            head = base_line(text) + _told(given)
            write_text(draft, head + read_text(draft, LIMIT_YAML_BYTES).removeprefix("\ufeff"))
    except InvalidFileError as error:
        draft.unlink()
        raise InvalidFileError(
            [
                InputError(one.message, path=folder / AUDIT, line=one.line, key=one.key)
                for one in error.errors
            ]
        ) from error
    return draft


def changes_nothing(before: Audit, after: Audit) -> bool:
    """Whether an amended audit says just what it said, but for when and why it was amended."""
    return replace(after, history=before.history, date=before.date) == before


def _changes(before: Audit, given: Amendment, day: date) -> dict[str, object]:
    changes: dict[str, object] = {"verdict": given.verdict, "auditor": given.by, "date": day}
    if before.effect and given.verdict is not before.verdict:
        changes["effect"] = None
    if given.verdict is Verdict.CLEAN:
        # The board would go on showing the run as one that went through the leak.
        changes["leak"] = ""
        if before.validity is not Validity.VALID:
            changes["validity"] = None
    if given.summary:
        changes["summary"] = given.summary
    if given.implication:
        changes["implication"] = given.implication
    elif given.verdict is Verdict.CLEAN and given.summary:
        changes["implication"] = ""
    return changes


def _told(given: Amendment) -> str:
    lines = (
        f"A draft of an amendment: {given.verdict.value}. The earlier verdict stands below.",
        "Mend summary and implication, then save and close it: it becomes audit.yaml if nothing is",
        f"wrong with it, and if that is what it was. Lines with {TOLD} are not kept.",
    )
    return "".join(f"{TOLD} {line}\n" for line in lines)
