"""Sites whose runs have alarms, without a detector having to raise them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from kbsite.alarms.kinds import alarm
from kbsite.boards import board
from kbsite.model.alarm import Alarm, Level
from kbsite.model.board import Attempt
from kbsite.model.floor import Floor
from kbsite.pages.page import Site, attempt_of
from kbsite.store.settings import Settings

WARNED = alarm("fallback", Level.WARNING, "It falls back to the reference.", "solution.py", (2,))
ALARMED = alarm("output-cache", Level.ALARM, "It keeps its output.", "solution.py", (1, 2))
NOTED = alarm("shape-branch", Level.NOTE, "It takes another path for n > 10.", "solution.py", (1,))


def noticing(
    settings: Settings, alarms: Mapping[str, tuple[Alarm, ...]], floors: tuple[Floor, ...] = ()
) -> Site:
    """The site of some settings, as if detectors had found these alarms, by id of run."""
    from kbsite.reading import read

    site = read(settings)
    attempts: list[Attempt] = [
        structs.replace(attempt_of(stored), alarms=alarms.get(stored.run.id, ()))
        for stored in site.runs
    ]
    boards = [
        board(config, [a for a in attempts if a.run.board == config.id], floors)
        for config in (one.config for one in site.boards)
    ]
    return replace(site, boards=tuple(boards), alarms=alarms)
