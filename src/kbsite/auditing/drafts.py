"""Drafts of audits: what an auditor has not finished, and nobody may take for a verdict.

A draft lies beside the folder of its run, `<run-id>.draft.yaml`: a run's folder holds nothing that
its manifest does not list, and nothing but an audit.yaml in it is read as an audit. A draft takes
the place of audit.yaml when nothing is wrong with it, and only if that is what it was when the
draft was begun. Lines of a draft that start with `#:` are told to the auditor, and not kept.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import structs

from kbsite.check.audits import audit_findings
from kbsite.check.known import Known
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.model.audit import Audit
from kbsite.model.finding import Finding, Severity
from kbsite.store.alone import alone_in
from kbsite.store.folders import sync
from kbsite.store.parsing import LIMIT_YAML_BYTES, InvalidFileError, read_text, yaml_data
from kbsite.store.records import record, yaml_record
from kbsite.store.run_folders import AUDIT
from kbsite.store.runs import StoredRun, as_findings
from kbsite.store.writing import write_once, write_text
from kbsite.store.yaml_edits import pair, root, without_key

SUFFIX = ".draft.yaml"
TOLD = "#:"
"""What a line starts with that is not kept."""

_BASE = re.compile(rf"^{TOLD} Replaces the audit.yaml with SHA-256 ([0-9a-f]{{64}})\.$", re.M)
_TOLD_LINE = re.compile(rf"^{TOLD}.*\n?", re.M)


@dataclass(frozen=True, slots=True)
class Checked:
    """A draft, as far as it goes."""

    audit: Audit | None
    """None where it cannot be read."""
    findings: tuple[Finding, ...]

    @property
    def finished(self) -> bool:
        """Whether it may take its place."""
        errors = any(finding.severity is Severity.ERROR for finding in self.findings)
        return self.audit is not None and not errors


def draft_path(folder: Path) -> Path:
    """Where the draft of the audit of a run lies."""
    whole = folder.absolute()
    return whole.with_name(f"{whole.name}{SUFFIX}")


def begin(folder: Path, text: str) -> Path:
    """Write a new draft; UsageError if there is one already."""
    path = draft_path(folder)
    with writing(path):
        try:
            # Half a draft would be gone on with, and nobody would miss what it lacks.
            write_once(str(path), text.encode())
        except FileExistsError as error:
            raise UsageError(f"{path}: there is a draft already; go on with it") from error
    return path


def base_line(text: str) -> str:
    """The line of a draft that says which audit.yaml, as a text, it replaces."""
    found = hashlib.sha256(text.encode()).hexdigest()
    return f"{TOLD} Replaces the audit.yaml with SHA-256 {found}.\n"


def check(stored: StoredRun, draft: Path, there: Known) -> Checked:
    """What is wrong with a draft, by the rules for audits and by what its quotes cite."""
    try:
        audit = yaml_record(draft, Audit)
        text = read_text(draft, LIMIT_YAML_BYTES)
    except InvalidFileError as error:
        return Checked(None, tuple(as_findings(error)))
    # The rules are those of an audit.yaml, so they are held against one that nobody else sees.
    with TemporaryDirectory() as folder:
        write_text(Path(folder) / AUDIT, text)
        found = audit_findings(structs.replace(stored, folder=Path(folder), audit=audit), there)
    return Checked(audit, tuple(replace(finding, path=str(draft)) for finding in found))


def publish(folder: Path, draft: Path) -> Path:
    """Let a finished draft take its place, whole or not at all; the audit.yaml that it became.

    InputError where that is not what it was when the draft was begun: the draft stays then.
    """
    text = read_text(draft, LIMIT_YAML_BYTES)
    base = _BASE.search(text)
    path = folder / AUDIT
    with writing(path), alone_in(folder):
        if base is None:
            _put_new(path, _kept(draft, text))
        elif _digest(path) != base[1]:
            raise _changed(path, draft)
        else:
            write_text(path, _kept(draft, text))
        sync(folder)
        draft.unlink()
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tells of a file that cannot be written in one message, a MachineError."""
    try:
        yield
    except OSError as error:
        raise MachineError(f"{path}: cannot be written: {error.strerror}") from error


def _kept(draft: Path, text: str) -> str:
    """A draft without the lines that are not kept; as it stands if it said anything else then."""
    kept = _TOLD_LINE.sub("", text).lstrip("\n")
    place = pair(root(kept), "implication")
    if place and not place[1].value:
        kept = without_key(kept, place)
    same = _said(draft, kept) == _said(draft, text)
    return kept if same else text


def _said(path: Path, text: str) -> Audit:
    return record(yaml_data(path, text), Audit, path, text)


def _put_new(path: Path, text: str) -> None:
    """Write a file that must not be there yet."""
    # Beside the run's folder: what is left of a write that was broken off is no file of the run.
    whole = path.parent.absolute()
    beside = whole.with_name(f".{whole.name}.audit")
    write_text(beside, text)
    try:
        os.link(beside, path)
    except FileExistsError as error:
        raise _changed(path, draft_path(path.parent)) from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        _put_without_links(path, text)
    finally:
        beside.unlink()


def _put_without_links(path: Path, text: str) -> None:
    """The same on a file system without links."""
    if path.exists() or path.is_symlink():
        raise _changed(path, draft_path(path.parent))
    write_text(path, text)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def _changed(path: Path, draft: Path) -> InputError:
    message = (
        "somebody else wrote it in the meantime, so it stays as it is; what you wrote is in"
        f" {draft}: take over what you need by hand, then delete that"
    )
    return InputError(message, path=path)
