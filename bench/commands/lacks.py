"""What contenders of a sweep lack, looked at before anything of them is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING

from bench.commands.command import Front, require
from kbsite.errors import MachineError

if TYPE_CHECKING:
    from bench.preflight import Row, Tools, Wanted
    from bench.sweeps.sheet import Contender
    from bench.sweeps.works import Work

HEADING = "lacks"

_LACKING = {"installed": "CLI"}
"""What is lacking, where the check that tells is not called so."""
_OF_THIS_HOST = ("installed", "version", "key")
"""Checks that say nothing of other hosts, where the harness is known at all."""


@dataclass(frozen=True, kw_only=True)
class Lacks:
    """What was found; contenders that nobody looked at are in none of it."""

    sentences: Mapping[Contender, tuple[str, ...]]
    """What each contender lacks, and what to do about it."""
    names: Mapping[Contender, tuple[str, ...]]
    """The same in a word each."""
    stopped: frozenset[Contender]
    """Those that cannot start."""
    elsewhere: str
    """The engine whose nodes were not looked at; empty where all work is done on this host."""

    def told(self) -> list[str]:
        """A line for each thing that is lacking."""
        return [
            f"{one.label}: {sentence}{'' if one in self.stopped else ' (on this host)'}"
            for one, sentences in self.sentences.items()
            for sentence in sentences
        ]

    def cell(self, one: Contender) -> str:
        """What stands in a table."""
        if one not in self.names:
            return "–"
        return ", ".join(self.names[one]) or "nothing"


def wanted(one: Contender) -> Wanted:
    """What a contender of a sweep is to preflight, which knows no variants."""
    from bench.preflight import Wanted

    return Wanted(harness=one.harness, model=one.model, effort=one.effort, provider=one.provider)


def lacks(work: Work, contenders: Sequence[Contender], front: Front) -> Lacks:
    """Look at contenders, without a session: some seconds, for each CLI is asked for its version.

    MachineError where this host can hold no session, and all work is done here.
    """
    from bench.sweeps.sheet import Engine

    kind = work.sweep.executor.kind
    elsewhere = "" if kind is Engine.LOCAL else kind.value
    asked = {one: wanted(one) for one in contenders}
    if not asked:
        return Lacks(sentences={}, names={}, stopped=frozenset(), elsewhere="")
    try:
        require(sessions=True)
        from bench.preflight import Trial, preflight, tools_here

        tools = tools_here(work.places.clis, work.providers_file, work.sweep.sandbox)
    except MachineError as error:
        if not elsewhere:
            raise
        front.say(f"contenders were not looked at: this host holds no session: {error}")
        return Lacks(sentences={}, names={}, stopped=frozenset(), elsewhere=elsewhere)
    with front.progress("contenders") as told:
        different = list(dict.fromkeys(asked.values()))
        found = preflight(different, tools, Trial(script=None), told, Event())
    rows = dict(zip(different, found, strict=True))
    return _of_rows({one: rows[key] for one, key in asked.items()}, tools, elsewhere)


def _of_rows(rows: Mapping[Contender, Row], tools: Tools, elsewhere: str) -> Lacks:
    return Lacks(
        sentences={
            one: tuple(f"{each.name}: {each.sentence}" for each in row.problems)
            for one, row in rows.items()
        },
        names={
            one: tuple(_LACKING.get(each.name, each.name) for each in row.problems)
            for one, row in rows.items()
        },
        stopped=frozenset(
            one for one, row in rows.items() if _stops(row, tools, elsewhere=bool(elsewhere))
        ),
        elsewhere=elsewhere,
    )


def _stops(row: Row, tools: Tools, *, elsewhere: bool) -> bool:
    """Whether a contender cannot start: what this host lacks, nodes of an engine may have."""
    spared = _OF_THIS_HOST if elsewhere and row.wanted.harness in tools.adapters else ()
    return any(each.name not in spared for each in row.problems)
