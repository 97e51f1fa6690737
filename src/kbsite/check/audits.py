"""Checks of audit.yaml: the rules for a verdict, and quotes held against what they quote.

What an imported audit says is not ours to mend: what would be an error in one of our own is a
warning there. An effect that says what the verdict does anyway is no fault; one that says the
opposite of it is a warning, since there may be a reason, which the implication has to give.
"""

from __future__ import annotations

from difflib import get_close_matches

from kbsite.check.audit_keys import key_remarks
from kbsite.check.known import Known
from kbsite.check.remarks import Remarks
from kbsite.model.audit import SUMMARY_WORDS, Audit, Earlier, Quote, Validity, Verdict
from kbsite.model.finding import Finding
from kbsite.model.lines import line_words
from kbsite.model.proof import Proof, ProofState
from kbsite.proofs import MOST, cites_lines, proofs
from kbsite.proofs.unseen import unseen
from kbsite.store.run_folders import AUDIT, TRANSCRIPT
from kbsite.store.runs import StoredRun

SHOWN = 100
"""Characters of a passage that a finding shows, around where it differs."""

_NAMES = 2000
"""Files of a run among which a name is looked for that is almost the one that is not there."""


class AuditRemarks(Remarks):
    """What there is to say of an audit; of an imported one in a lower voice."""

    def __init__(self, stored: StoredRun, audit: Audit) -> None:
        super().__init__(stored.folder / AUDIT)
        self._imported = bool(audit.origin)

    def wrong(self, key: str, message: str) -> None:
        """Say that the audit is not what it has to be."""
        (self.warn if self._imported else self.error)(key, message)


def audit_findings(stored: StoredRun, there: Known) -> list[Finding]:
    """What is wrong with a run's audit; nothing if it has none."""
    audit = stored.audit
    if audit is None:
        return []
    remarks = AuditRemarks(stored, audit)
    key_remarks(stored.folder / AUDIT, remarks.wrong, remarks.warn)
    _verdict(remarks, audit)
    _history(remarks, audit)
    if audit.leak and there.leaks is not None and audit.leak not in there.leaks:
        known = ", ".join(sorted(there.leaks)) or "none"
        message = f"kbsite.yaml names no such leak under leaks; known are {known}"
        remarks.wrong("leak", f"{message}; got {audit.leak!r}")
    if len(audit.quotes) > MOST:
        remarks.wrong("quotes", f"expected at most {MOST}, got {len(audit.quotes)}")
    for number, proof in enumerate(proofs(stored)[:MOST]):
        _quote(remarks, f"quotes[{number}]", proof, stored)
    return remarks.findings()


def _verdict(remarks: AuditRemarks, audit: Audit) -> None:
    words = len(audit.summary.split())
    if not words:
        remarks.error("summary", "empty; expected what a reader of the board has to know")
    if words > SUMMARY_WORDS:
        remarks.wrong("summary", f"expected at most {SUMMARY_WORDS} words, got {words}")
    if not audit.auditor.strip():
        remarks.error("auditor", "empty; expected who judged")
    verdict = audit.verdict
    if verdict is not Verdict.CLEAN and not audit.implication.strip():
        message = f"missing; expected what follows from the verdict {verdict.value}"
        remarks.wrong("implication", message)
    effect = verdict.effect if audit.effect is None else audit.effect
    if effect is not verdict.effect and verdict in _ODD:
        message = f"{effect.value} is the opposite of what {verdict.value} does"
        remarks.warn("effect", f"{message}; the implication has to say why")
    if verdict is Verdict.CLEAN:
        _clean(remarks, audit)


def _clean(remarks: AuditRemarks, audit: Audit) -> None:
    if audit.validity is Validity.INVALID:
        remarks.warn("validity", "invalid, but the verdict is clean; one of both is not meant")
    if audit.leak:
        message = "names one, so the board shows the run as one that went through it"
        remarks.warn("leak", f"{message}, but the verdict is clean; one of both is not meant")


_ODD = (Verdict.CLEAN, Verdict.REWARD_HACK, Verdict.BUG)
"""Verdicts that seldom do anything else to the ranking than they do by themselves."""


def _history(remarks: AuditRemarks, audit: Audit) -> None:
    last = None
    for number, earlier in enumerate(audit.history):
        key = f"history[{number}]"
        _earlier(remarks, key, earlier)
        if last and earlier.replaced < last:
            message = f"the oldest comes first; expected {last} or later, got {earlier.replaced}"
            remarks.error(f"{key}.replaced", message)
        last = earlier.replaced
    if last and audit.date and audit.date < last:
        message = f"the verdict before this one was replaced on {last}; expected that day or later"
        remarks.error("date", f"{message}, got {audit.date}")
    if audit.history:
        _unchanged(remarks, audit)


def _earlier(remarks: AuditRemarks, key: str, earlier: Earlier) -> None:
    for name, wanted in _NEEDED.items():
        if not getattr(earlier, name).strip():
            remarks.error(f"{key}.{name}", f"empty; expected {wanted}")
    if earlier.date and earlier.date > earlier.replaced:
        message = f"expected {earlier.date} (date) or later, got {earlier.replaced}"
        remarks.error(f"{key}.replaced", message)


_NEEDED = {
    "summary": "what it said", "auditor": "who judged", "by": "who replaced it",
    "why": "why it was replaced",
}  # fmt: skip


def _unchanged(remarks: AuditRemarks, audit: Audit) -> None:
    before = audit.history[-1]
    now = (audit.verdict, audit.effect, audit.summary.split(), audit.auditor)
    if now == (before.verdict, before.effect, before.summary.split(), before.auditor):
        key = f"history[{len(audit.history) - 1}]"
        remarks.warn(key, "says just what the verdict says now; nothing was replaced")


def _quote(remarks: AuditRemarks, key: str, proof: Proof, stored: StoredRun) -> None:
    quote = proof.quote
    if not quote.text.strip():
        remarks.error(f"{key}.text", "empty; expected the passage")
        return
    if not _cites(remarks, key, quote):
        return
    match proof.state:
        case ProofState.PROVEN:
            pass
        case ProofState.NO_FILE:
            remarks.wrong(f"{key}.file", _no_file(quote, stored))
        case ProofState.NO_LINE:
            place = "event" if quote.event else "lines"
            named = f"event {quote.event!r}" if quote.event else f"line {quote.lines[-1]}"
            remarks.wrong(f"{key}.{place}", f"{quote.file} has no {named}; expected one it has")
        case ProofState.ELSEWHERE:
            _elsewhere(remarks, key, proof)
        case ProofState.DIFFERS:
            quoted, found = around(quote.text, proof.found)
            message = f"does not stand in {quote.file}: the audit quotes “{quoted}”"
            alike = unseen(quote.text, proof.found)
            why = f" (they look alike: {alike})" if alike else ""
            cure = f"in {quote.place} stands “{found}”{why}; copy it from there"
            remarks.wrong(f"{key}.text", f"{message}, {cure}")


def _cites(remarks: AuditRemarks, key: str, quote: Quote) -> bool:
    """Whether a quote cites lines or an event as it should; says so where it does not."""
    if quote.event and quote.lines:
        remarks.error(f"{key}.event", "expected either lines or an event, got both")
    elif quote.event and not quote.file.startswith(TRANSCRIPT):
        message = f"only files under {TRANSCRIPT} have events; cite lines of {quote.file}"
        remarks.error(f"{key}.event", message)
    elif not quote.event and not cites_lines(quote):
        wanted = "expected one line, or the first and the last"
        remarks.error(f"{key}.lines", f"{wanted}, got {list(quote.lines)}")
    else:
        return True
    return False


def _no_file(quote: Quote, stored: StoredRun) -> str:
    if stored.file(quote.file):
        return f"{quote.file!r} is the audit itself, cannot be read, or is too large to look into"
    names = [file.name for file in stored.files[:_NAMES]]
    near = get_close_matches(quote.file, names, 1) if len(quote.file) < 500 else []
    return f"the run has no file {quote.file!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _elsewhere(remarks: AuditRemarks, key: str, proof: Proof) -> None:
    quote = proof.quote
    quoted, found = around(quote.text, proof.found)
    there = f"in {quote.place} stands “{found}”" if found else f"not in {quote.place}"
    stands = f"the audit quotes “{quoted}”, {there}; it stands in"
    mend = "kbsite check --fix lets it cite that"
    if quote.event:
        remarks.wrong(f"{key}.event", f"{stands} event {proof.event}: {mend}")
    else:
        remarks.wrong(f"{key}.lines", f"{stands} {line_words(proof.lines)}: {mend}")


def around(quoted: str, found: str) -> tuple[str, str]:
    """Two texts, each on one line and cut to where they first differ."""
    one, other = (" ⏎ ".join(text.strip("\n").split("\n")) for text in (quoted, found))
    pairs = zip(one, other, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    start = max(0, same - SHOWN // 3)
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int) -> str:
    before = "…" if 0 < start < len(text) else ""
    after = "…" if len(text) > start + SHOWN else ""
    return f"{before}{text[start : start + SHOWN]}{after}"
