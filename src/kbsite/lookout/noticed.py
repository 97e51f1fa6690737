"""What was found in runs, as it is told and kept for the next time."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from kbsite.alarms import Fingerprint
from kbsite.model.alarm import Alarm
from kbsite.model.finding import Finding
from kbsite.model.proof import Proof


class Scan(Struct, frozen=True):
    """What detectors found in a run."""

    made_of: str
    """Digest of all that they looked at; empty where that is not known."""
    alarms: tuple[Alarm, ...] = ()
    fingerprints: tuple[Fingerprint, ...] = ()
    failures: tuple[str, ...] = ()
    prints: str = ""
    """Digest of the fingerprints; empty where that is not known."""
    sources: str = ""
    """Digest of what detectors of sources looked at; empty where that is not known."""
    of_sources: tuple[int, ...] = ()
    """Which of the alarms are theirs."""


class Reading(Struct, frozen=True):
    """What became of the quotes of a run's audit."""

    made_of: str
    """Digest of the audit and all that it may quote; empty where that is not known."""
    proofs: tuple[Proof, ...] = ()
    failures: tuple[str, ...] = ()


class Noticed(Struct, frozen=True):
    """All that was found in a run."""

    scan: Scan
    reading: Reading


class Across(Struct, frozen=True):
    """What comparing the runs of a problem found."""

    made_of: str = ""
    """Digest of all that was compared; empty where that is not known."""
    alarms: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    """By id of run."""


class Sighting(Struct, frozen=True):
    """What was found in all runs."""

    alarms: Mapping[str, tuple[Alarm, ...]] = field(default_factory=dict)
    """By id of run, what weighs most first; only of runs with any."""
    proofs: Mapping[str, tuple[Proof, ...]] = field(default_factory=dict)
    """By id of run, in the order of the quotes; only of runs with any."""
    findings: tuple[Finding, ...] = ()
    """What could not be looked at."""
    noticed: Mapping[str, Noticed] = field(default_factory=dict)
    """By id of run, for the next time."""
    across: Mapping[str, Across] = field(default_factory=dict)
    """By problem, likewise."""


def found_across(across: Mapping[str, Across]) -> dict[str, tuple[Alarm, ...]]:
    """What comparing found, by id of run."""
    return {run_id: held for one in across.values() for run_id, held in one.alarms.items()}


UNKNOWN = Noticed(Scan(""), Reading(""))
"""What is known of a run that nobody has looked over."""
