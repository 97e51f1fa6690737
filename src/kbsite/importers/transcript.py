"""Lone transcript files as a run directory."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from kbsite.errors import FULL, InputError, UsageError
from kbsite.harnesses.form import Format, matches
from kbsite.importers.recognition import Source, modules, one_harness, recognised_sources
from kbsite.importers.run_ids import begun_run, board_name
from kbsite.importers.told import (
    cost_source,
    told_end,
    told_model,
    told_seconds,
    told_version,
    usage_source,
)
from kbsite.model.event import Event, Session
from kbsite.model.finding import one_line
from kbsite.model.run import FORMAT, Run
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.model.transcript import Transcript
from kbsite.store.files import Stored
from kbsite.store.folders import filled
from kbsite.store.manifests import complete
from kbsite.store.run_folders import SOLUTION, TRANSCRIPT
from kbsite.transcripts import as_told, transcript
from kbsite.transcripts import shown as shown_files

ALONE = "Imported from a transcript alone: nothing else is known of this run, and nobody graded it."
WITH_SOLUTION = "Imported from a transcript and a solution.py: nothing else is known of this run."
OF_ANOTHER = (
    "The session was started by another one, as sub-agents are: what that one did is not in the"
    " transcript."
)

LATE = (
    "The first time that the transcript tells is from after the model had begun: the run started"
    " earlier than is said here, by how much is not told."
)

_NAMED = 3
"""Sessions that a note names; more are counted."""
_FIRST = 1000
"""Events of a file of which one tells its session."""
_ENDINGS = ("", ".jsonl", ".json", ".eval")


@dataclass(frozen=True, slots=True)
class Beside:
    """What no transcript tells, and whoever imports one may know."""

    solution: Path | None = None
    """The file that the session left."""
    problem_hash: str | None = None
    """The version of the problem that it worked on."""
    hardware: str | None = None
    """What it was made on."""
    budget_seconds: float | None = None
    """The time that it had."""


def import_transcripts(  # noqa: PLR0913 - what is told by whom is known apart
    files: Sequence[Path],
    out: Path,
    *,
    harness: str | None = None,
    model: str | None = None,
    problem: str = "unknown",
    board: str | None = None,
    beside: Beside = Beside(),
) -> Path:
    """The folder of a new run below `out`, made of the transcript files of one session.

    What fails, or is broken off, leaves nothing behind.
    """
    name = board_name(out, board)
    _refuse(beside)
    sources = recognised_sources(_whole(files), modules(harness))
    wrote = one_harness(sources)
    held = _laid_out(sources, wrote)
    shown = transcript(wrote, held)
    if shown is None:
        raise InputError("no transcript to show in it", path=files[0])
    model = model or told_model(shown)
    run = Run(
        format=FORMAT,
        id="",
        board=name,
        problem=problem,
        problem_hash=beside.problem_hash,
        prompt_hash=None,
        harness=wrote,
        harness_version=told_version(shown),
        model=model,
        effort=(shown.session.effort if shown.session else "") or None,
        hardware=beside.hardware,
        budget_seconds=beside.budget_seconds,
        started=shown.first,
        ended=shown.last,
        seconds=told_seconds(shown),
        end_reason=told_end(shown),
        usage=shown.usage,
        usage_source=usage_source(shown),
        cost_usd=shown.cost_usd,
        cost_source=cost_source(shown),
        origin="imported from " + ", ".join(one_line(path.name) for path in files),
        notes=_notes(shown, beside, _sessions(wrote, held)),
    )
    copies = {f"{TRANSCRIPT}{file.name}": Path(file.path) for file in held}
    if beside.solution:
        copies[SOLUTION] = beside.solution
    run_id, partial = begun_run(out, shown.first, wrote, model, problem)
    with filled(partial):
        for name, source in copies.items():
            copy(source, partial / name)
        return complete(partial, replace(run, id=run_id), None)


def _notes(shown: Transcript, beside: Beside, sessions: Sequence[str]) -> tuple[str, ...]:
    started = shown.session is not None and shown.session.parent_session
    several = [_several(sessions)] if len(sessions) > 1 else []
    return (
        WITH_SOLUTION if beside.solution else ALONE,
        *several,
        *([OF_ANOTHER] if started else []),
        *([LATE] if shown.late else []),
    )


def _several(sessions: Sequence[str]) -> str:
    """What a run says of itself that was made of the logs of several sessions."""
    named = ", ".join(one_line(name) for name in sessions[:_NAMED])
    more = f" and {len(sessions) - _NAMED} more" if len(sessions) > _NAMED else ""
    told = f"Imported from the logs of {len(sessions)} sessions, {named}{more}"
    return f"{told}: what they did is shown, and counted, as one run."


def _sessions(harness: str, files: Sequence[Stored]) -> list[str]:
    """The sessions that the logs to be shown tell of, but those of sub-agents, in their order."""
    found = shown_files(harness, files)
    if found is None or len(found[1]) == 1:
        return []
    firsts = (_session(as_told(found[0], [file])) for file in found[1])
    return [*dict.fromkeys(name for name in firsts if name)]


def _session(told: Iterable[Event]) -> str:
    """The session that a log is of; empty where it does not tell, and for that of a sub-agent."""
    for event in islice(told, _FIRST):
        if isinstance(event, Session) and event.session_id:
            return "" if event.agent or event.parent_session else event.session_id
    return ""


def _refuse(beside: Beside) -> None:
    """Raise UsageError or InputError where what stands beside a transcript cannot be taken."""
    if beside.hardware is not None and not is_slug(beside.hardware):
        raise UsageError(f"{beside.hardware!r} is no id of hardware: {SLUG_RULE}")
    if beside.solution is not None and not beside.solution.is_file():
        raise InputError("expected a regular file", path=beside.solution)


def copy(source: Path, to: Path) -> None:
    """Copy a file's bytes, and no more of it."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, to)
    except OSError as error:
        # It is the copy that cannot be written, though the system names the source first.
        if error.errno in FULL:
            raise OSError(error.errno, error.strerror, str(to)) from error
        raise


def _whole(files: Sequence[Path]) -> list[Path]:
    if not files:
        raise UsageError("no transcript given; name at least one file")
    for path in files:
        if not path.is_file():
            raise InputError("expected a regular file", path=path)
    found = [path.resolve() for path in files]
    if len(set(found)) < len(found):
        twice = Counter(found).most_common(1)[0][0]
        raise UsageError(f"{twice.name} is given twice; give every file once")
    return found


def _laid_out(sources: Sequence[Source], harness: str) -> list[Stored]:
    """The files under the names that they get within transcript/, in the order of the names."""
    alone, depth, names = len(sources) == 1, 0, [""] * (len(sources) + 1)
    while len(set(names)) < len(names):
        depth += 1
        names = [_ending(source, harness, depth, alone=alone) for source in sources]
    found = []
    for source, name in zip(sources, names, strict=True):
        form = source.candidates[harness]
        placed = next(_names(form, name), None)
        if placed is None:
            raise UsageError(f"{source.path.name}: no name for it that {form.id} is read under")
        found.append(Stored(placed, str(source.path), source.path.stat().st_size))
    if len({file.name for file in found}) < len(found):
        raise UsageError("the files' names are too much alike; import them one by one")
    return sorted(found, key=lambda file: file.name)


def _ending(source: Source, harness: str, depth: int, *, alone: bool) -> str:
    """The last `depth` parts of a file's path; more of them where they tell whose file it is.

    A sub-agent's file that is `alone` is all that there is of a session.
    """
    parts, pattern = source.path.parts[1:], source.candidates[harness].sub_agents
    if pattern and not alone and (found := re.search(f"(?<=/){pattern}$", str(source.path))):
        depth = max(depth, found[0].count("/") + 1)
    return "/".join(parts[-depth:])


def _names(form: Format, name: str) -> Iterator[str]:
    """Names for a file that a format is read under, the best first."""
    for known in (name, name.replace("/", "-")):
        for placed in (f"{form.stored_as}/{known}{ending}" for ending in _ENDINGS):
            if any(matches(placed, glob) for glob in form.globs + form.beside):
                yield placed
