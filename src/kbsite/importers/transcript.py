"""Lone transcript files as a run directory.

Only here is a format told from a file's content: everywhere else a run says which CLI wrote it.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from kbsite import harnesses
from kbsite.errors import FULL, InputError, UsageError
from kbsite.harnesses.form import Format, HarnessModule, Read, matches
from kbsite.harnesses.lines import BOM, LONGEST, Record, lines, parsed, records, spread
from kbsite.importers.run_ids import begun_run, board_name
from kbsite.model.event import Event, Malformed, Session
from kbsite.model.finding import one_line
from kbsite.model.run import FORMAT, Run
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.model.status import EndReason
from kbsite.model.transcript import Transcript
from kbsite.model.usage import BY_MESSAGE, OWN_TOTAL
from kbsite.store.files import Stored
from kbsite.store.folders import filled
from kbsite.store.manifests import complete
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import SOLUTION, TRANSCRIPT
from kbsite.transcripts import as_told, transcript
from kbsite.transcripts import shown as shown_files

UNKNOWN_MODEL = "unknown"
ALONE = "Imported from a transcript alone: nothing else is known of this run, and nobody graded it."
WITH_SOLUTION = "Imported from a transcript and a solution.py: nothing else is known of this run."
OF_ANOTHER = (
    "The session was started by another one, as sub-agents are: what that one did is not in the"
    " transcript."
)

_NAMED = 3
"""Sessions that a note names; more are counted."""
_FIRST = 1000
"""Events of a file of which one tells its session."""
_HEAD_OBJECTS = 20
_HEAD_LINES = 2000
_HEAD_SIZE = 10_000_000
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


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to be imported, and the formats that it may be of, the richest of a CLI first."""

    path: Path
    candidates: Mapping[str, Format]
    """By harness."""


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
    sources = _sources(_whole(files), _modules(harness))
    wrote = _harness(sources)
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


def told_model(shown: Transcript) -> str:
    """The model that a transcript names, else "unknown"."""
    named = [shown.session.model if shown.session else "", *shown.models]
    return next(filter(None, named), UNKNOWN_MODEL)


def told_version(shown: Transcript) -> str | None:
    """The CLI's version, as the CLI tells it."""
    return (shown.session.harness_version if shown.session else "") or None


def usage_source(shown: Transcript) -> str | None:
    """Which count of which files the usage is; None if there is none."""
    if not shown.usage.known:
        return None
    how = OWN_TOTAL if shown.usage_told else BY_MESSAGE
    least = ", a lower bound" if shown.lower_bound else ""
    return f"{_files(shown)}: {how}{least}"


def cost_source(shown: Transcript) -> str | None:
    """Who says what it cost; None if nobody does."""
    return None if shown.cost_usd is None else f"{_files(shown)}: what the CLI says"


def _files(shown: Transcript) -> str:
    more = f" and {len(shown.files) - 1} more" if len(shown.files) > 1 else ""
    return f"{shown.title} ({one_line(shown.files[0])}{more})"


def recognised(path: Path, form: Format) -> bool:
    """Whether a file starts like one of a format."""
    return form.recognises(_head(path, _by_head(form)))


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


def told_seconds(shown: Transcript) -> float | None:
    """How long the session took, as the CLI tells it."""
    if shown.finish is None or shown.ends > 1:
        return None  # each of several ends tells of its own turn only
    return shown.finish.seconds


def told_end(shown: Transcript) -> EndReason:
    """Why the session ended, as the CLI tells it."""
    finish = shown.finish
    if finish is None or finish.ok is None:
        return EndReason.UNKNOWN
    if finish.ok:
        return EndReason.FINISHED
    return EndReason.SIGNAL if finish.stopped else EndReason.ERROR


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


def _modules(harness: str | None) -> list[HarnessModule]:
    """All CLIs, or the one asked for."""
    if harness is None:
        return harnesses.ALL
    if harness in harnesses.APART:
        return [harnesses.BY_ID[harness]]
    found = [one for one in harnesses.ALL if one.HARNESS.id == harness]
    if not found:
        known = ", ".join((*(one.HARNESS.id for one in harnesses.ALL), *harnesses.APART))
        raise UsageError(f"no transcripts of {harness!r} can be read; known are {known}")
    return found


def _unread(path: Path) -> str:
    """What has to be done before a file can be read, where its first bytes tell."""
    with path.open("rb") as stream:
        begin = stream.read(4)
    cures = (how for magic, how in _OTHERWISE.items() if begin.startswith(magic))
    return next((f"{cure}; it is " for cure in cures), "")


_UTF_16 = "is UTF-16, as some shells write it: make it UTF-8 by `iconv -f UTF-16 -t UTF-8`"
_OTHERWISE = {
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"\x1f\x8b": "is packed with gzip: unpack it first",
    b"\x28\xb5\x2f\xfd": "is packed with Zstandard: unpack it first",
}
"""What files begin with that may hold a transcript in another form."""


def _sources(paths: Sequence[Path], modules: Sequence[HarnessModule]) -> list[_Source]:
    """The files with their candidates; InvalidFileError names every file that has none."""
    found = []
    for path in paths:
        forms = [(m.HARNESS.id, form) for m in modules for form in reversed(m.FORMATS)]
        heads = {read: _head(path, read) for read in {_by_head(form) for _, form in forms}}
        candidates = {
            wrote: form for wrote, form in forms if form.recognises(heads[_by_head(form)])
        }
        found.append(_Source(path, candidates))
    message = f"not recognised as a transcript; known formats are {_known(modules)}"
    lost = [
        InputError(f"{_unread(one.path)}{message}", path=one.path)
        for one in found
        if not one.candidates
    ]
    if lost:
        raise InvalidFileError(lost)
    return found


def _known(modules: Sequence[HarnessModule]) -> str:
    known = [f"{form.id} ({form.title})" for module in modules for form in module.FORMATS]
    return ", ".join(known) or "none"


def _harness(sources: Sequence[_Source]) -> str:
    """The one CLI that may have written all of the files."""
    common = set.intersection(*(set(source.candidates) for source in sources))
    if len(common) == 1:
        return common.pop()
    told = "; ".join(f"{s.path.name}: {' or '.join(sorted(s.candidates))}" for s in sources)
    if common:
        raise UsageError(f"more than one CLI may have written this ({told}); give --harness")
    raise UsageError(f"the files are of different CLIs ({told}); import them one by one")


def _by_head(form: Format) -> Read:
    """How the head of a file is read: a document is known by its lines, too, and parsed once."""
    return lines if form.read is spread else form.read


def _head(path: Path, read: Read) -> list[Mapping[str, object]]:
    """The first JSON objects of a file: its rows, or the top level of its one document."""
    with path.open("rb") as stream:
        rows = records(islice(read(stream), _HEAD_LINES), path.name)
        first = next(rows, None)
        if isinstance(first, Record) or first is None:
            whole = [] if first is None else [first.value]
        else:
            whole = _document(path, first.text)
            if whole:
                return whole
        return [*whole, *islice(_small(rows), _HEAD_OBJECTS - len(whole))]


def _small(rows: Iterable[Record | Malformed]) -> Iterator[Mapping[str, object]]:
    """Objects until they are large: samples of an archive may be, and are in memory together."""
    size = 0
    for row in rows:
        if isinstance(row, Record):
            yield row.value
            size += len(row.raw)
        if size > _HEAD_SIZE:
            break


def _document(path: Path, start: str) -> list[Mapping[str, object]]:
    if start[0] not in "{[" or path.stat().st_size > LONGEST:
        return []
    try:
        document = parsed(
            path.read_bytes().decode("utf-8", "surrogateescape").strip(BOM), strict=True
        )
    except (ValueError, RecursionError):
        return []
    items = document if isinstance(document, list) else [document]
    return [item for item in items[:_HEAD_OBJECTS] if isinstance(item, dict)]


def _laid_out(sources: Sequence[_Source], harness: str) -> list[Stored]:
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


def _ending(source: _Source, harness: str, depth: int, *, alone: bool) -> str:
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
            if any(matches(placed, glob) for glob in form.globs):
                yield placed
