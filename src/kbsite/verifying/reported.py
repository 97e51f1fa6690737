"""What data/redaction.json tells of a file, held against the file as it is published.

What is covered is as long as it was and reads `(redacted)`, crosses, zeros or blanks: a line that
something was covered in shows that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kbsite.hiding.told import MOST_LINES
from kbsite.late import late
from kbsite.model.redacted import RedactedFile
from kbsite.redaction.titles import ARCHIVE, KNOWN

_COVER: Final = late(rb"x|00|\((?:r|$)|\A[ ]*\r?\Z")
"""What stands in place of something, or how it begins where a line ends."""
_ZIP: Final = b"PK"
"""How an archive begins of which members are covered, whose lines nobody counts."""

Fault = tuple[str, str]
"""A key of an entry, and what is wrong with it."""


def faults(one: RedactedFile, path: Path) -> Iterator[Fault]:
    """What cannot be true of an entry, by the file that it tells of."""
    if one.before == one.after:
        yield "after", "is the SHA-256 before, too: nothing of the file is covered"
    if not one.hits:
        yield "hits", "tells of nothing that is covered"
    for rule in one.lines.keys() - one.hits.keys():
        yield f"lines.{rule}", "tells lines of a rule of which hits knows nothing"
    for rule, times in one.hits.items():
        if rule not in KNOWN:
            yield f"hits.{rule}", "is no rule of redaction"
        elif times < 1:
            yield f"hits.{rule}", f"expected at least one passage, got {times}"
    if path.is_file():
        yield from _of_lines(one, path)


def _of_lines(one: RedactedFile, path: Path) -> Iterator[Fault]:
    wanted = {line for told in one.lines.values() for line in told}
    shown, is_zip = _lines(path, wanted)
    for rule, times in one.hits.items():
        told, expected = one.lines.get(rule, ()), min(times, MOST_LINES)
        if len(told) != expected and (told or not (is_zip or rule == ARCHIVE)):
            yield f"lines.{rule}", f"{len(told)} lines of {times} passages; expected {expected}"
        for line in dict.fromkeys(told):
            if line not in shown:
                yield f"lines.{rule}", f"the file has no line {line}"
            elif not _COVER.search(shown[line]):
                yield f"lines.{rule}", f"nothing in line {line} of the file is covered"


def _lines(path: Path, wanted: set[int]) -> tuple[Mapping[int, bytes], bool]:
    """Some lines of a file, by their numbers, and whether it is an archive."""
    found: dict[int, bytes] = {}
    with path.open("rb") as stream:
        first = stream.read(2)
        stream.seek(0)
        for number, line in enumerate(stream if wanted else (), start=1):
            if number in wanted:
                found[number] = line.removesuffix(b"\n")
    return found, first == _ZIP
