"""What an agent did in its session that its auditor has to know of; only calls count.

Events are gone through one by one, and only calls are kept: nothing is folded. To search the files
for the words that matter first would take longer than to parse them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import alarm, shown
from kbsite.alarms.session.course import Course, Done, Sight
from kbsite.alarms.session.places import Surroundings, seen_in
from kbsite.fold.aside import Row, aside
from kbsite.fold.lookup import Name, by_name
from kbsite.fold.results import reset_to
from kbsite.model.alarm import Alarm, Level
from kbsite.model.event import Event, Message, Role, ToolCall, ToolResult
from kbsite.model.event import Session as Begun
from kbsite.model.run import Run
from kbsite.store.run_folders import TRANSCRIPT
from kbsite.transcripts import events, is_large
from kbsite.transcripts import shown as chosen_of

MOST = 6
"""Alarms of one kind and level that are told one by one; what is left is counted in the last."""

PROMPT = 100_000
"""Characters of a prompt that are looked at."""

BOX: Final = "/workspace"
"""Where agents begin in a box of `kbsite bench`."""

LEFT: Final = "left-running"

JOBS = 40
"""The same of work that was left running: some of it may be stopped later, and some not."""

REFUSED: Final = re.compile(
    r"(?i)could not resolve host|name or service not known|temporary failure in name resolution|"
    r"network is unreachable|connection (?:refused|timed out)|no matching distribution found|"
    r"failed to establish a new connection|externally-managed-environment|blocked by|not allowed"
)
"""What a program says whom the network, or the sandbox, refused."""

CAME: Final = re.compile(r"(?i)successfully installed|\b100%|\b200 OK|saved \[|receiving objects")
"""What it says when something came in all the same."""

OUTPUT = 4000
"""Characters of a result that are looked at."""


class Came(Struct, frozen=True):
    """What is kept of a result: the beginning of its output, and the folder that it ends in."""

    failed: bool
    output: str
    folder: str


class Session:
    """Looks at what the calls of a transcript did."""

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        """What it found, in the order of the transcript; repetitions are counted, not told."""
        run = evidence.stored.run
        chosen = chosen_of(run.harness, evidence.stored.transcripts)
        if chosen is None:
            return
        form, held = chosen
        told = Told()
        found: Iterable[Event] = events(form, held)
        large = is_large(held)
        if evidence.told is not None and not large:
            found = list(found)
            evidence.told.extend(found)
        begun, seen, calls = _calls(found, large=large)
        around = Surroundings(_workspace(run, begun), run.id, begun.session_id if begun else "")
        course = Course(around, run.harness, seen)
        for done in calls:
            for sight in course.sights(done):
                told.take(done, sight)
        yield from told.alarms()


def _workspace(run: Run, begun: Begun | None) -> str:
    """The folder that a session began in; empty where nobody tells."""
    if begun and begun.cwd:
        return begun.cwd
    # Gemini CLI and kimi-cli do not write it down; an agent in a box of our runner begins there.
    boxed = run.origin is None and run.kbsite_version and run.sandbox
    return BOX if boxed and not str(run.sandbox).startswith("none") else ""


def _calls(found: Iterable[Event], *, large: bool) -> tuple[Begun | None, set[str], Iterator[Done]]:
    """How the session began, what its prompts name, and its calls in order, with their outcomes."""
    begun: Begun | None = None
    seen: set[str] = set()
    calls, outcomes = Row(aside(ToolCall, large=large)), Row(aside(Came, large=large))
    results = by_name(list[int], large=large)
    for event in found:
        if isinstance(event, ToolCall):
            calls.append(event)
        elif isinstance(event, ToolResult):
            name = event.agent, event.call_id
            results[name] = [*results.get(name, ()), len(outcomes)]
            failed = bool(event.is_error or event.exit_code)
            outcomes.append(Came(failed, event.output[:OUTPUT], reset_to(event)))
        elif isinstance(event, Message) and event.role is Role.USER:
            seen.update(seen_in(event.text[:PROMPT]))
        elif isinstance(event, Begun) and not event.agent and (begun is None or not begun.cwd):
            begun = event
    return (
        begun,
        seen,
        (_done(call, results, outcomes) for call in _once(calls, by_name(str, large=large))),
    )


def _once(calls: Iterable[ToolCall], seen: MutableMapping[Name, str]) -> Iterator[ToolCall]:
    """Calls without those that another file tells again; `seen` is empty."""
    for call in calls:
        file = seen.setdefault((call.call_id, call.summary), call.source.file)
        if not call.call_id or file == call.source.file:
            yield call


def _done(call: ToolCall, results: MutableMapping[Name, list[int]], outcomes: Row[Came]) -> Done:
    name = call.agent, call.call_id
    came = results.get(name) if call.call_id else None
    if not came:
        return Done(call, None)
    outcome = outcomes[came[0]]
    results[name] = came[1:]
    return Done(call, not outcome.failed, outcome.output, outcome.folder)


def _of_failure(done: Done, sight: Sight) -> Level:
    """How much a call weighs that failed; one that the network refused brought nothing in."""
    level = sight.find.level
    if level is Level.ALARM:
        return Level.WARNING
    if sight.find.kind == "network-fetch" and REFUSED.search(done.output):
        return level if CAME.search(done.output) else Level.NOTE
    return level


class Told:
    """What was found, with repetitions counted."""

    def __init__(self) -> None:
        self._alarms: dict[tuple[str, Level], list[Alarm]] = {}
        self._seen: set[tuple[str, str, str, int]] = set()
        self._more: dict[tuple[str, Level], int] = {}
        self._jobs: list[tuple[str, Alarm]] = []
        """Work that was left running and is not seen to have been stopped, with its command."""
        self._stopped: set[Alarm] = set()

    def take(self, done: Done, sight: Sight) -> None:
        """Take in what was found in a call."""
        source, find = done.call.source, sight.find
        level = find.level
        if done.ok is False:
            level = _of_failure(done, sight)
        key = find.kind, find.what, source.file, source.line
        if key in self._seen:
            return
        self._seen.add(key)
        held = self._alarms.setdefault((find.kind, level), [])
        if len(held) >= (JOBS if find.kind == LEFT else MOST):
            self._more[find.kind, level] = self._more.get((find.kind, level), 0) + 1
            return
        held.append(_alarm(done, sight, level))
        if find.kind == LEFT and level is Level.WARNING:
            self._jobs.append((sight.quote, held[-1]))
        elif find.kind == "killed-processes" and level is Level.NOTE and done.ok is not False:
            self._stop(sight.quote.rpartition(" ")[2].rpartition("/")[2])

    def _stop(self, name: str) -> None:
        """Take work as stopped: what has that name in its command, else what was started last."""
        named = [job for job in self._jobs if len(name) > 2 and name in job[0]]
        for job in named or self._jobs[-1:]:
            self._jobs.remove(job)
            self._stopped.add(job[1])

    def _as_it_ended(self, told: Alarm) -> Alarm:
        if told not in self._stopped:
            return told
        return replace(told, level=Level.NOTE, saw=f"{told.saw} Later it stopped it.")

    def alarms(self) -> Iterator[Alarm]:
        """What is told, each kind and level at most so many times."""
        for key, held in self._alarms.items():
            *others, last = map(self._as_it_ended, held)
            yield from others
            more = self._more.get(key)
            if more:
                counted = f"{last.saw} {more} more like it are not told."
                last = alarm(last.kind, last.level, counted, last.file, last.lines)
            yield last


_OUTCOMES: Final = {
    True: "the call succeeded", False: "the call failed", None: "its result is not on record",
}  # fmt: skip
_VERBS: Final = {
    "read-grader": "read ", "read-other-runs": "read ", "edited-given-files": "changed ",
}  # fmt: skip


def _alarm(done: Done, sight: Sight, level: Level) -> Alarm:
    find, source = sight.find, done.call.source
    who = "A sub-agent" if done.call.agent else "The agent"
    verb = _VERBS.get(find.kind, "")
    if not verb and find.what.startswith(("what ", "the ")):
        verb = "changed " if find.kind == "machine-settings" else "read "
    what = shown(find.what)
    saw = f"{who} {verb}{what}, with “{shown(sight.quote)}”; {_OUTCOMES[done.ok]}."
    return alarm(find.kind, level, saw, f"{TRANSCRIPT}{source.file}", (source.line,))
