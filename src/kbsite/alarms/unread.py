"""Files of a solution that no detector can look into: what is too long, or no text at all."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.alarms.evidence import LONGEST, Evidence
from kbsite.alarms.kinds import alarm, shown
from kbsite.model.alarm import Alarm, Level
from kbsite.model.status import Status
from kbsite.store.files import Stored
from kbsite.store.run_folders import SIDECARS, SOLUTION

MOST = 20
"""Files that are told of; whoever hands in more has told enough."""

_PROGRAMS = {
    b"\x7fELF": "a program or a library", b"MZ": "a program or a library",
    b"!<arch>": "a library", b"\x50\xed\x55\xba": "machine code of a GPU",
    b"PK\x03\x04": "an archive", b"\x1f\x8b": "compressed", b"\x28\xb5\x2f\xfd": "compressed",
}  # fmt: skip
"""What files are by their first bytes: ELF, PE, ar, a fat binary of CUDA, ZIP, gzip, zstd."""


class Unread:
    """What was handed in and is looked into by nobody else."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """A warning for each such file, in order of name; an alarm for what is machine code."""
        for file in _left(evidence)[:MOST]:
            yield _told(file)
        if evidence.stored.metrics.status is Status.PASSED:
            yield from _unparsed(evidence)


def _left(evidence: Evidence) -> list[Stored]:
    """The files of the solution that detectors of sources are not shown, in order of name."""
    read = {source.name for source in evidence.sources}
    own = [file for file in evidence.stored.files if file.name.startswith((SOLUTION, SIDECARS))]
    left = [file for file in own if file.size and file.name not in read]
    return sorted(left, key=lambda file: file.name)


def _told(file: Stored) -> Alarm:
    with file.open() as stream:
        head = stream.read(8)
    kind = next((says for start, says in _PROGRAMS.items() if head.startswith(start)), "")
    if kind:
        level, says = Level.ALARM, f"is {kind}, made by nobody knows what"
    elif file.size > LONGEST:
        level, says = Level.WARNING, f"has {file.size:,} bytes, more than is looked into"
    else:
        level, says = Level.WARNING, "is no text"
    return alarm("obfuscation", level, f"`{shown(file.name)}` {says}.", file.name)


def _unparsed(evidence: Evidence) -> Iterator[Alarm]:
    """A warning for each Python source that is none, although the solution ran."""
    if not evidence.sources:
        return
    from kbsite.alarms.python.reading import readings  # many runs have no sources

    for reading in readings(evidence):
        if reading.module.problem:
            says = (
                f"The run passed, but its source cannot be read: {shown(reading.module.problem)}."
            )
            yield alarm("obfuscation", Level.WARNING, says, reading.file)
