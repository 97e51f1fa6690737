"""Whether contenders can start: looked at, and tried, before a night is spent on them.

tools = tools_here(clis, providers_file, sandbox)
rows = preflight(wanted, tools, Trial(), told, stop)
can_start = all(row.can_start for row in rows)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

from bench.preflight.form import MODEL, Check, Row, State, Told, Wanted, not_tried
from bench.preflight.looking import LOOKS
from bench.preflight.tools import Tools, tools_here
from bench.preflight.trying import LIVE, SESSION, Stage, live, scripted
from bench.scripted import load_scripts, serve
from kbsite.errors import UsageError

__all__ = [
    "CHECKS", "MODEL", "Check", "Row", "State", "Tools", "Trial", "Wanted", "preflight",
    "tools_here",
]  # fmt: skip

CHECKS = (*LOOKS, SESSION, LIVE)
"""The names of all checks, in order; each row has each of them once."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is tried of each contender, beside looking at what it needs."""

    script: str | None = "quick"
    """The script that it plays; None for no session."""
    live: bool = False
    """Whether its real model is asked for one answer, which costs some thousand tokens."""


def preflight(
    wanted: Sequence[Wanted], tools: Tools, trial: Trial, told: Told, stop: Event
) -> list[Row]:
    """A row for each contender, with all that is wrong with it.

    Sessions are played one after the other, by contenders that lack nothing for them. Once `stop`
    is set, nothing more is tried. UsageError for a script that there is not.
    """
    rows = []
    with _stage(trial.script, stop) as stage:
        for number, one in enumerate(wanted):
            told(f"looking at {one.label}", number / len(wanted))
            found = {name: look(one, tools) for name, look in LOOKS.items()}
            if trial.script or trial.live:
                told(f"trying {one.label}", number / len(wanted))
            found[SESSION] = _session(one, tools, stage, found)
            found[LIVE] = _live(one, tools, (trial, stop), found)
            rows.append(Row(wanted=one, checks=tuple(found.values())))
    return rows


_Found = dict[str, Check]


def _session(one: Wanted, tools: Tools, stage: Stage | None, found: _Found) -> Check:
    if stage is None:
        return not_tried(SESSION, "nobody asked for it")
    why = _keeps(found, stage.stop, "installed", "model")
    return not_tried(SESSION, why) if why else scripted(one, tools, stage)


def _live(one: Wanted, tools: Tools, trial: tuple[Trial, Event], found: _Found) -> Check:
    asked, stop = trial
    if not asked.live:
        return not_tried(LIVE, "nobody asked for it")
    needed = [*LOOKS]
    if found[SESSION].state is State.WRONG:
        needed.append(SESSION)
    why = _keeps(found, stop, *needed)
    return not_tried(LIVE, why) if why else live(one, tools, stop)


def _keeps(found: _Found, stop: Event, *needed: str) -> str:
    """What keeps a contender from being tried; empty if nothing does."""
    if stop.is_set():
        return "it was stopped before"
    lacking = [name for name in needed if found[name].state is not State.FINE]
    return f"first: {', '.join(lacking)}" if lacking else ""


@contextmanager
def _stage(script: str | None, stop: Event) -> Iterator[Stage | None]:
    """What sessions are played with; None without a script."""
    if script is None:
        yield None
        return
    scripts = {one.name: one for one in load_scripts()}
    if script not in scripts:
        raise UsageError(f"{script!r} is no script; expected one of: {', '.join(scripts)}")
    with serve(tuple(scripts.values())) as server:
        yield Stage(server=server, script=scripts[script], stop=stop)
