"""Checks of audit.yaml: the rules for a verdict, and quotes held against what they quote."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kbsite.check.remarks import Remarks
from kbsite.harnesses.lines import lines
from kbsite.model.audit import Audit, Quote, Verdict
from kbsite.model.finding import Finding
from kbsite.store.files import Stored
from kbsite.store.runs import AUDIT, StoredRun

SUMMARY_WORDS = 60


def audit_findings(stored: StoredRun) -> list[Finding]:
    """What is wrong with a run's audit; nothing if it has none."""
    audit = stored.audit
    if audit is None:
        return []
    remarks = Remarks(stored.folder / AUDIT)
    words = len(audit.summary.split())
    if not words:
        remarks.error("summary", "empty; expected what a reader of the board has to know")
    if words > SUMMARY_WORDS:
        # What others wrote is not ours to shorten.
        tell = remarks.warn if audit.origin else remarks.error
        tell("summary", f"expected at most {SUMMARY_WORDS} words, got {words}")
    if not audit.auditor.strip():
        remarks.error("auditor", "empty; expected who judged")
    if audit.verdict is not Verdict.CLEAN and not audit.implication.strip():
        message = f"missing; expected what follows from the verdict {audit.verdict.value}"
        remarks.error("implication", message)
    for number, quote in enumerate(audit.quotes):
        _quote(remarks, f"quotes[{number}]", quote, stored, audit)
    return remarks.findings()


def _quote(remarks: Remarks, key: str, quote: Quote, stored: StoredRun, audit: Audit) -> None:
    fits = len(quote.lines) in (1, 2) and min(quote.lines) >= 1
    if not fits or quote.lines[0] > quote.lines[-1]:
        got = list(quote.lines)
        remarks.error(f"{key}.lines", f"expected one line, or the first and the last, got {got}")
        return
    if not quote.text.strip():
        remarks.error(f"{key}.text", "empty; expected the passage")
    file = stored.file(quote.file)
    if file is None:
        remarks.warn(f"{key}.file", f"the run has no file {quote.file!r}")
        return
    try:
        cited = _cited(file, quote.lines[0], quote.lines[-1])
    except OSError as error:
        remarks.warn(f"{key}.file", f"cannot be read: {error.strerror}")
        return
    if len(cited) <= quote.lines[-1] - quote.lines[0]:
        remarks.error(f"{key}.lines", f"{quote.file} has no line {quote.lines[-1]}")
    elif not _says(cited, quote.text):
        # Who audited elsewhere may have quoted from another copy of the file.
        say = remarks.warn if audit.origin else remarks.error
        say(f"{key}.text", f"does not stand so in these lines of {quote.file}")


def _cited(file: Stored, first: int, last: int) -> list[str]:
    with file.path.open("rb") as stream:
        numbered = (line for line in lines(stream) if line.number >= first)
        found = []
        for line in numbered:
            found.append(line.text)
            if line.number >= last:
                break
    return found


def _says(cited: list[str], text: str) -> bool:
    """Whether cited lines, or the texts within lines of JSON, hold a passage, however wrapped."""
    wanted = _flat(text)
    if wanted in _flat("\n".join(cited)):
        return True
    return any(wanted in _flat(one) for line in cited for one in _texts(line))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _texts(line: str) -> Iterator[str]:
    try:
        waiting = [json.loads(line, strict=False)]
    except (ValueError, RecursionError):
        return
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case list(items):
                waiting += items
            case dict(pairs):
                waiting += pairs.values()
            case _:
                pass
