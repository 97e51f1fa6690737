"""Proof of quotes: each passage of an audit held against the lines of the run that it cites."""

from __future__ import annotations

from kbsite.model.proof import Proof
from kbsite.store.runs import StoredRun


def proofs(stored: StoredRun) -> tuple[Proof, ...]:  # noqa: ARG001 - P's, and not written yet
    """What becomes of the quotes of a run's audit, in their order."""
    return ()
