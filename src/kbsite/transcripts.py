"""The transcript of a run: which files are shown, read and folded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from random import randrange
from typing import TypeVar

from msgspec.structs import replace

from kbsite.fold.aside import aside
from kbsite.fold.ends import still_ended
from kbsite.fold.steps import Fold
from kbsite.fold.steps_aside import Told
from kbsite.fold.tokens import Ledger
from kbsite.harnesses import harness as named
from kbsite.harnesses import module_of
from kbsite.harnesses.form import Format, Held, matches
from kbsite.harnesses.lines import Line
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Message,
    Session,
    Thought,
    ToolCall,
    ToolResult,
)
from kbsite.model.transcript import Transcript
from kbsite.model.usage import Usage
from kbsite.store.files import Stored

T = TypeVar("T")


def shown(harness: str, files: Sequence[Stored]) -> tuple[Format, list[Stored]] | None:
    """The richest format of a harness that `files` hold, with its files; None if they hold none.

    Empty files count only where no format has others: a CLI that was killed early may leave some.
    """
    return next(_held(harness, files), None)


def _held(harness: str, files: Sequence[Stored]) -> Iterator[tuple[Format, list[Stored]]]:
    """The formats of a harness that `files` hold, with their files, the best to show first."""
    module = module_of(harness)
    if module is None:
        return
    for least in (1, 0):
        for form in module.FORMATS:
            found = [f for f in files if f.size >= least and _is_of(form, f.name)]
            if found:
                yield form, [*found, *(f for f in files if f.size and _stands(form, f.name))]


def _stands(form: Format, name: str) -> bool:
    """Whether a file tells more of a transcript of a format, and is none."""
    return any(matches(name, glob) for glob in form.beside)


def _is_of(form: Format, name: str) -> bool:
    return any(matches(name, glob) for glob in form.globs) and not _stands(form, name)


def events(form: Format, held: Sequence[Stored]) -> Iterator[Event]:
    """What files of one format say, file by file, one event in memory at a time.

    A sub-agent's own file that stands alone is all that there is of a session: what it says is the
    main agent's.
    """
    told = as_told(form, held)
    if len(held) > _ALONE:
        return told
    begun = list(_until_one_acts(told))
    if begun and begun[-1].agent and (lead := _lead(as_told(form, held))):
        return _led(as_told(form, held), lead)
    return chain(begun, told)


def as_told(form: Format, held: Sequence[Stored]) -> Iterator[Event]:
    """What files say, each read once: a sub-agent's own file tells of a sub-agent."""
    if form.together is not None:
        yield from form.together([Held(file.name, partial(_lines, form, file)) for file in held])
        return
    for file in held:
        with file.open() as stream:
            yield from form.parse(form.read(stream), file.name)


_ACTS = (Session, Message, Thought, ToolCall, ToolResult, Finish)
"""Events that tell whose file it is; others may stand before it is told."""
_ALONE = 2
"""Files that an agent's own log may be: there are CLIs that write a note beside it."""
_FIRST = 1000
"""Events of which one of these is the first that tells it."""


def _until_one_acts(told: Iterable[Event]) -> Iterator[Event]:
    for event in islice(told, _FIRST):
        yield event
        if isinstance(event, _ACTS):
            return


def _lead(told: Iterable[Event]) -> str:
    """The sub-agent that no other one of a file started; empty where the main agent is there."""
    seen: dict[str, None] = {}
    starts: list[AgentStart] = []
    for event in told:
        if isinstance(event, AgentStart):
            starts.append(event)
        elif isinstance(event, _ACTS):
            if not event.agent:
                return ""
            seen.setdefault(event.agent)
    below = {start.child for start in starts if start.agent in seen and start.agent != start.child}
    first = [agent for agent in seen if agent not in below]
    return first[0] if len(first) == 1 else ""


def _led(told: Iterable[Event], lead: str) -> Iterator[Event]:
    """What a file says with a sub-agent as the main agent, which nothing started."""
    for event in told:
        if not isinstance(event, AgentStart) or event.child != lead:
            yield replace(event, agent="") if event.agent == lead else event


def _lines(form: Format, file: Stored) -> Iterator[Line]:
    with file.open() as stream:
        yield from form.read(stream)


def transcript(
    harness: str, files: Sequence[Stored], told: Iterable[Event] | None = None
) -> Transcript | None:
    """The transcript that the files under transcript/ hold; None if there is none to show.

    `told` is what the files that are shown say, where somebody has read them already.
    """
    chosen = shown(harness, files)
    if chosen is None:
        return None
    form, held = chosen
    fold = Fold(named(harness).keeps_folder, aside(Told, large=is_large(held)))
    for event in events(form, held) if told is None else told:
        fold.add(event)
    whole = fold.transcript(form.id, form.title, tuple(file.name for file in held))
    if whole.finish and (whole.finish.ok is not False or whole.finish.text):
        return whole
    # Of a failure the CLI's stdout tells more than its log, where that tells of it at all.
    return _ended(whole, *_told_beside(harness, files))


def tokens(harness: str, files: Sequence[Stored], most: int) -> Usage | None:
    """The tokens of a transcript, counted without holding it in memory.

    None where there is none, or one that tells of more than `most` events.
    """
    chosen = shown(harness, files)
    if chosen is None:
        return None
    ledger = Ledger()
    for number, event in enumerate(events(*chosen)):
        if number >= most:
            return None
        ledger.take(event)
    return ledger.total


LARGE = 64_000_000
"""Bytes of files from which what they tell is laid aside: in memory it takes up to three times as
much, and from a file a build takes twice as long."""

ROWS = 100_000
"""Rows from which on the same holds: a step takes a kilobyte or two, however little it tells."""

_SAMPLES, _SAMPLE = 32, 2_000
"""How many pieces of a file are looked at for how many rows it has, and how long each is."""


def is_large(held: Sequence[Stored]) -> bool:
    """Whether files tell so much that it is laid aside."""
    size = sum(file.size for file in held)
    if size < LARGE and size >= len(b"{}\n") * ROWS:
        return sum(map(_rows, held)) >= ROWS
    return size >= LARGE


def _rows(file: Stored) -> int:
    """About how many rows a file has; 0 where they are no events, or where it cannot be read."""
    if not file.name.endswith(".jsonl") or file.size < _SAMPLES * _SAMPLE:
        return 0
    ends = 0
    with suppress(OSError), file.stream() as stream:
        for _ in range(_SAMPLES):
            # Whoever made the file is not to know where.
            at = randrange(file.size - _SAMPLE)  # noqa: S311 - nothing that is told hangs on it
            ends += os.pread(stream.fileno(), _SAMPLE, at).count(b"\n")
    return ends * file.size // (_SAMPLES * _SAMPLE)


def _told_beside(harness: str, files: Sequence[Stored]) -> tuple[Finish | None, Ledger]:
    """How the session ended, as a format that is not shown tells it, and what it counts."""
    kept = list(_held(harness, files))
    for form, held in kept:
        if form is kept[0][0]:
            continue
        end: Finish | None = None
        ledger = Ledger()
        for event in events(form, held):
            end = still_ended(end, event)
            ledger.take(event)
        if end is not None:
            return end, ledger
    return None, Ledger()


def _ended(whole: Transcript, end: Finish | None, beside: Ledger) -> Transcript:
    """A transcript with an end that only another format tells.

    Where its provider refused the last request, and the CLI's own total is what was counted, the
    request that no row answers is that one, which cost nothing.
    """
    whole = replace(whole, finish=end or whole.finish)
    told = beside.told
    same = (told.sent, told.output) == (whole.usage.sent or 0, whole.usage.output or 0)
    if end is None or not end.refused or not same or beside.lower_bound:
        return whole
    usage = whole.usage if whole.usage.known else told
    return replace(whole, usage=usage, lower_bound=False)
