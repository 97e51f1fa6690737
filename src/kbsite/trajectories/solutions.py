"""solution.py as it stood after each change, replayed from the calls of a transcript."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from kbsite.fold.clock import moved
from kbsite.fold.commands import changing_text, folder_of
from kbsite.fold.edits import Files
from kbsite.fold.patches import moved_to, patched
from kbsite.fold.paths import shell_path
from kbsite.fold.recorded_diffs import as_done
from kbsite.fold.results import has_run, original, read_whole, unfinished
from kbsite.model.event import Edit, Notice, ToolCall, ToolKind, ToolResult
from kbsite.model.trajectory import SolutionState
from kbsite.model.transcript import FileDiff, Step
from kbsite.trajectories.shell import Written, understood
from kbsite.trajectories.times import Moment

NAME = "solution.py"
MAYBE = "a command may have changed it"
UNSEEN = "it holds what no step before wrote"
PUT_BACK = "the CLI may have put it back to what it had been"

HELD = 20_000_000
"""Characters of solutions that are kept; later ones are told without their text."""


class _Change(Struct, frozen=True):
    """What one call did to one solution.py."""

    moment: Moment
    path: str
    text: str
    edits: tuple[Edit, ...] = ()
    append: str | None = None
    """Text that is put at the end of the file."""
    replay: FileDiff | None = None
    """What a command made of what the file held, by all that the rows of one agent tell."""
    before: str | None = None
    """What the file held until then, where the CLI recorded that."""
    read: str | None = None
    """What the file held then, where the call only read it."""


def solution_states(moments: Collection[Moment], cwd: str) -> tuple[SolutionState, ...]:
    """The states of the solution, in the order of `moments`.

    Where several files of that name were changed, it is the one in the session's folder, else the
    one that was changed most often.
    """
    cwd = shell_path(cwd)
    changes = _Changes(moments, cwd)
    path = _chosen((change.path for change in changes if change.read is None), cwd)
    ours = (replace(c, path=path) for c in changes if c.path in (path, NAME))
    return tuple(_replayed(ours, path))


class _Changes:
    """What all calls did, in their order; of a long transcript, told whenever it is asked."""

    def __init__(self, moments: Collection[Moment], cwd: str) -> None:
        self._moments = moments
        self._cwd = cwd
        self._held = [*self._told()] if isinstance(moments, list) else None

    def __iter__(self) -> Iterator[_Change]:
        return self._told() if self._held is None else iter(self._held)

    def _told(self) -> Iterator[_Change]:
        return chain.from_iterable(_changes(moment, self._cwd) for moment in self._moments)


def _chosen(paths: Iterable[str], cwd: str) -> str:
    home = posixpath.join(cwd, NAME)
    named = Counter(path for path in paths if path != NAME)
    if home in named or not named:
        return home
    return named.most_common(1)[0][0]


def _changes(moment: Moment, cwd: str) -> Iterator[_Change]:
    """What a call did to files named solution.py: all of its edits of one file are one change."""
    step = moment.step
    call, result = step.event, step.result
    if isinstance(call, Notice) and call.restores:
        yield _Change(moment, NAME, PUT_BACK)
    if not isinstance(call, ToolCall):
        return
    if call.edits:
        if result is not None and not result.is_error:
            yield from _edited(moment, call, result, cwd)
    elif call.tool_kind is ToolKind.RUN:
        yield from _commanded(moment, call, cwd)
    elif result is not None and (read := read_whole(call, result, is_solution)):
        yield _Change(moment, _path(read[0], cwd), f"{call.tool}: {UNSEEN}", read=read[1])


def _edited(moment: Moment, call: ToolCall, result: ToolResult, cwd: str) -> Iterator[_Change]:
    edits: dict[str, list[Edit]] = {}
    for edit in as_done(call.edits, moment.step.diffs):
        target = moved_to(edit.patch) if edit.action == "move" else ""
        for path in dict.fromkeys(filter(None, (edit.path, target))):
            if is_solution(path):
                edits.setdefault(_path(path, cwd), []).append(_as_seen(edit, path, cwd))
    before = original(result) if len({edit.path for edit in call.edits}) == 1 else None
    for path, held in edits.items():
        yield _Change(moment, path, _told(moment.step, call), tuple(held), before=before)


def _as_seen(edit: Edit, path: str, cwd: str) -> Edit:
    """An edit, from where one of its two paths stands."""
    if edit.action != "move":
        return replace(edit, path=_path(path, cwd))
    # What is moved away is gone; of what is moved here, the text is not known.
    return Edit(_path(path, cwd), None, "", action="delete")


def _told(step: Step, call: ToolCall) -> str:
    ours = [diff for diff in step.diffs if is_solution(diff.path)]
    if not ours:
        return call.tool
    if all(diff.untold for diff in ours):
        return f"{call.tool}: what it changed is not told"
    added, removed = sum(d.added for d in ours), sum(d.removed for d in ours)
    each = " in each place" if any(diff.everywhere for diff in ours) else ""
    return f"{call.tool}: +{added} \N{MINUS SIGN}{removed}{each}"


def _commanded(moment: Moment, call: ToolCall, cwd: str) -> Iterator[_Change]:
    replayed = [d for d in moment.step.diffs if d.replayed and is_solution(d.path)]
    for change in replayed:
        yield _of_replay(moment, change, cwd)
    if not replayed and NAME in changing_text(call):
        yield from _understood(moment, call, cwd)


def _understood(moment: Moment, call: ToolCall, cwd: str) -> Iterator[_Change]:
    """What a command did that could not be replayed, as far as its words tell."""
    result = moment.step.result
    succeeded = result is not None and not result.is_error and not result.exit_code
    # A call that has no result, or that was unfinished, may never have run.
    ran = result is not None and has_run(call, result)
    folder = _folder(folder_of(call.arguments), cwd)
    command = understood(changing_text(call), folder, succeeded=succeeded)
    for written in command.written:
        if is_solution(written.path):
            done = ran and not (result and unfinished(result.output))
            yield _of_written(moment, written, cwd, ran=done)
    if command.changes_solution:
        yield _Change(moment, NAME, MAYBE)


def _of_written(moment: Moment, written: Written, cwd: str, *, ran: bool) -> _Change:
    path = _path(written.path, cwd)
    if not (written.sure and ran):
        return _Change(moment, path, MAYBE)
    if written.append:
        return _Change(moment, path, "a command appended to it", append=written.text)
    return _Change(moment, path, "written by a command", (Edit(path, None, written.text),))


def _of_replay(moment: Moment, change: FileDiff, cwd: str) -> _Change:
    path = _path(change.path, cwd)
    if change.after is None:
        return _Change(moment, path, MAYBE)
    told = f"changed by a command: +{change.added} \N{MINUS SIGN}{change.removed}"
    told = "written by a command" if change.action == "write" else told
    return _Change(moment, path, told, (Edit(path, None, change.after),), replay=change)


def _folder(named: str, cwd: str) -> str:
    return posixpath.normpath(posixpath.join(cwd, shell_path(named))) if named else cwd


def is_solution(path: str) -> bool:
    """Whether a file is called as solutions are."""
    return posixpath.basename(path.replace("\\", "/")) == NAME


def _path(path: str, cwd: str) -> str:
    """The whole path of a file; the bare name where the folder is not known."""
    return posixpath.normpath(posixpath.join(cwd, shell_path(path).replace("\\", "/")))


def _replayed(changes: Iterator[_Change], path: str) -> Iterator[SolutionState]:
    last: SolutionState | None = None
    unknown, held = False, 0
    for change, content in _contents(changes, path):
        held += len(content or "")
        kept = content if held <= HELD else None
        if last is not None and unknown and change.read is not None:
            # What nobody knew then is what is read now, before anything else is done to it.
            last = replace(last, content=kept)
        else:
            if last is not None:
                yield last
            last = _state(change, kept)
        unknown = content is None and all(edit.action != "delete" for edit in change.edits)
    if last is not None:
        yield last


def _contents(changes: Iterator[_Change], path: str) -> Iterator[tuple[_Change, str | None]]:
    """What a file held after each change; what finds it as it was is none, nor what only reads."""
    files, begun = Files(), False
    for change in map(partial(_checked, files, path), changes):
        before = files.content(path)
        _apply(files, change, path)
        content = files.content(path)
        if begun and content is not None and _is_same(before, change, content):
            continue
        begun = begun or (change.read is None and change.text != PUT_BACK)
        if begun:
            yield change, content


def _is_same(before: str | None, change: _Change, content: str) -> bool:
    """Whether a file holds what it held; whoever reads it is shown plain ends of lines."""
    if before is not None and change.read is not None:
        before = before.removeprefix("\ufeff").replace("\r\n", "\n")
    return before == content


def _state(change: _Change, content: str | None) -> SolutionState:
    moment = change.moment
    return SolutionState(
        anchor=moment.step.anchor,
        at=moment.end,
        elapsed=moment.elapsed,
        content=content,
        text=change.text,
        begun=_begun(moment),
    )


def _begun(moment: Moment) -> datetime | None:
    """When the step of a moment began."""
    if moment.elapsed is None or moment.step.elapsed is None:
        return None
    return moved(moment.end, moment.step.elapsed - moment.elapsed)


def _checked(files: Files, path: str, change: _Change) -> _Change:
    """A change, unless it was told from another text than the one that there was: who knows."""
    before, diff = files.content(path), change.replay
    if before is None or diff is None or diff.action != "update":
        return change
    lines = (("" if line.sign == "@" else line.sign) + line.text for line in diff.lines)
    after = patched(before, "\n".join(lines))
    same = after is not None and after.rstrip("\n") == (diff.after or "").rstrip("\n")
    return change if same else replace(change, edits=(), text=MAYBE)


def _apply(files: Files, change: _Change, path: str) -> None:
    if change.read is not None:
        files.apply(Edit(path, None, change.read))
        return
    if change.before is not None:
        files.apply(Edit(path, None, change.before))
    before = files.content(path)
    edits = change.edits
    if change.append is not None and before is not None:
        edits = (Edit(path, None, before + change.append),)
    if not edits:
        # What cannot be told is forgotten.
        files.apply(Edit(path, None, "", action="delete"))
    for edit in edits:
        files.apply(replace(edit, path=path))
