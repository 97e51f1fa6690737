"""Detectors that find what a test wants them to find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kbsite.alarms import Fingerprint
from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm
from kbsite.model.alarm import Alarm, Level


@dataclass(frozen=True, slots=True)
class Words:
    """Raises an alarm at each line of solution.py that holds a word."""

    kinds: Mapping[str, tuple[str, Level]]
    """Kind and level by word."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        for source in evidence.sources:
            for number, line in enumerate(source.text.splitlines(), start=1):
                for word, (kind, level) in self.kinds.items():
                    if word in line:
                        yield alarm(kind, level, f"Says {line.strip()}.", source.name, (number,))


class Failing:
    """Cannot look at a run whose solution says so."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        if any("explode" in source.text for source in evidence.sources):
            raise RuntimeError("exploded\x1b[2J")
        yield from ()


class Twins:
    """Compares whole sources."""

    def fingerprint(self, evidence: Evidence) -> Fingerprint:
        return {"text": tuple(source.text for source in evidence.sources)}

    def alarms(self, runs: Mapping[str, Fingerprint]) -> Iterator[tuple[str, Alarm]]:
        for run_id, own in runs.items():
            for other, held in runs.items():
                if other != run_id and own == held:
                    told = f"The source is that of {other}."
                    kind, level = "near-identical-source", Level.WARNING
                    yield run_id, alarm(kind, level, told, other=other)


WORDS = Words({"cache": ("output-cache", Level.ALARM), "if n >": ("shape-branch", Level.NOTE)})
