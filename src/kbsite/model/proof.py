"""Whether what an auditor quotes stands where the audit says that it does."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from kbsite.model.audit import Quote


class ProofState(Enum):
    """What comparing a quote with the lines that it cites says."""

    PROVEN = "proven"
    ELSEWHERE = "elsewhere"
    DIFFERS = "differs"
    NO_FILE = "no_file"
    NO_LINE = "no_line"

    @property
    def sentence(self) -> str:
        """What it means, in one plain sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    ProofState.PROVEN: "The passage stands, verbatim, in the lines that the audit cites.",
    ProofState.ELSEWHERE: "The passage stands in the file, but not in the lines that are cited.",
    ProofState.DIFFERS: "The passage does not stand in the file.",
    ProofState.NO_FILE: "The run has no such file, so nobody can check the passage here.",
    ProofState.NO_LINE: "The file has no such line, or the transcript no such event.",
}


class Proof(Struct, frozen=True, kw_only=True):
    """A quote, and what became of comparing it."""

    quote: Quote
    """As it may be shown: a proven one that lacks indentation before its first line has it."""
    state: ProofState
    found: str = ""
    """What the cited lines say instead; empty where they are proven or not there."""
    lines: tuple[int, ...] = ()
    """First and last line where the passage really stands, if it stands in the file at all."""
    event: str = ""
    """The anchor of the event where it really stands, for a quote that cites another event."""

    @property
    def proven(self) -> bool:
        """Whether the quote may be shown as what the run says."""
        return self.state is ProofState.PROVEN
