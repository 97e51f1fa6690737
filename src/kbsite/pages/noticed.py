"""The alarms of a run beside its verdict: what was seen, and where a reader finds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kbsite.alarms.kinds import BY_ID
from kbsite.model.alarm import Alarm, Level
from kbsite.model.event import Source
from kbsite.pages.file_names import raw_path
from kbsite.pages.page import Site, address, run_path
from kbsite.pages.parts import Part
from kbsite.pages.source import Sources, line_place
from kbsite.standing import plain
from kbsite.store.run_folders import TRANSCRIPT
from kbsite.store.runs import StoredRun

MOST = 60
"""Alarms, and notes, that the page shows; more are counted."""
FIRST = 5
"""Alarms that are not folded: the transcript is what readers come for, and it stands below."""


class ShownAlarm(Struct, frozen=True):
    """An alarm, and where what it is about is shown."""

    alarm: Alarm
    title: str
    """What its kind is called."""
    place: str
    """The address of the lines that it is about, or of the file; empty where there is none."""
    other: bool
    """Whether the site has a page of the other run."""


class ShownAlarms(Struct, frozen=True):
    """The alarms of a run as its page shows them."""

    alarms: tuple[ShownAlarm, ...]
    """The first from a warning up, what weighs most first."""
    folded: tuple[ShownAlarm, ...]
    """The others, unfolded on demand."""
    notes: tuple[ShownAlarm, ...]
    more: int
    """How many of both are not shown."""


def depends(site: Site, stored: StoredRun) -> object:
    """What the alarms of a run's page are made of."""
    held = site.alarms.get(stored.run.id, ())
    return plain([(alarm, alarm.other in site.known) for alarm in held])


def noticed(
    site: Site,
    stored: StoredRun,
    found: Sources,
    parts: Sequence[Part],
    addresses: Mapping[str, str],
) -> ShownAlarms:
    """The alarms of a run; `addresses` are those of its transcript's anchors."""
    held = site.alarms.get(stored.run.id, ())
    heavy = [alarm for alarm in held if alarm.level is not Level.NOTE]
    notes = [alarm for alarm in held if alarm.level is Level.NOTE]
    shown = [*heavy[:MOST], *notes[:MOST]]
    steps = _steps(shown, parts, addresses)
    placed = [
        ShownAlarm(
            alarm=alarm,
            title=BY_ID[alarm.kind].title if alarm.kind in BY_ID else alarm.kind,
            place=line_place(found, alarm.file, alarm.lines)
            or steps.get((alarm.file, alarm.lines))
            or _file(stored, alarm.file),
            other=alarm.other in site.known,
        )
        for alarm in shown
    ]
    many = len(heavy[:MOST])
    # One that stands alone takes no more room than what unfolds it.
    first = FIRST if many > FIRST + 1 else many
    return ShownAlarms(
        alarms=tuple(placed[:first]),
        folded=tuple(placed[first:many]),
        notes=tuple(placed[many:]),
        more=len(held) - len(shown),
    )


def _steps(
    alarms: Sequence[Alarm], parts: Sequence[Part], addresses: Mapping[str, str]
) -> dict[tuple[str, tuple[int, ...]], str]:
    """The address of the first step that stands for lines of a transcript's file, by both."""
    wanted: dict[str, set[tuple[int, ...]]] = {}
    for alarm in alarms:
        if alarm.lines and alarm.file.startswith(TRANSCRIPT):
            wanted.setdefault(alarm.file.removeprefix(TRANSCRIPT), set()).add(alarm.lines)
    found: dict[tuple[str, tuple[int, ...]], str] = {}
    for anchor, source in _sources(parts) if wanted else ():
        for lines in wanted.get(source.file, ()):
            if lines[0] <= source.line <= lines[-1]:
                found.setdefault((f"{TRANSCRIPT}{source.file}", lines), addresses[anchor])
    return found


def _sources(parts: Sequence[Part]) -> Iterator[tuple[str, Source]]:
    """The anchor and the place of everything that the steps of a transcript stand for."""
    for part in parts:
        for item in part.items:
            for source in item.sources:
                yield item.anchor, source


def _file(stored: StoredRun, name: str) -> str:
    if stored.file(name) is None:
        return ""
    return address(raw_path(stored.run.id, name), seen_from=run_path(stored.run.id))
