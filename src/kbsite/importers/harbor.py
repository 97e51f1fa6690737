"""Harbor's trials as run directories: `jobs/<job>/<trial>/`, one run a trial.

A trial holds result.json, config.json, agent/ (what the agent logged), verifier/ and artifacts/.
One that cannot be used is named and left out; the others are imported all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbsite.errors import InputError, UsageError
from kbsite.importers.harbor_grade import (
    ORIGIN,
    REWARD_JSON,
    REWARD_TEXT,
    metrics,
    read_rewards,
)
from kbsite.importers.harbor_logs import STDOUT, Logs, Shown, laid_out
from kbsite.importers.harbor_result import CONFIG, RESULT, TrialResult, read_result
from kbsite.importers.harbor_run import Told, model, origin, run_of, span
from kbsite.importers.run_ids import board_name, free_run_id, imported
from kbsite.importers.transcript import copy
from kbsite.model.finding import Finding, Severity, one_line
from kbsite.model.grade import Metrics
from kbsite.model.work import Tick
from kbsite.store.files import Refused, Stored, contents, digest, linked
from kbsite.store.folders import filled, make_folder, new_run_folder
from kbsite.store.manifests import Manifest, complete
from kbsite.store.parsing import InvalidFileError, invalid, json_data, read_text
from kbsite.store.records import json_record
from kbsite.store.run_folders import MANIFEST, METRICS, SOLUTION, TRANSCRIPT
from kbsite.store.runs import as_findings
from kbsite.transcripts import transcript

CHECK_LOG = "check.log"
_CHECKED = ("verifier/test-stdout.txt", "verifier/test-stderr.txt")
"""What the verifier printed; the first that says anything is the run's check.log."""
_READ = (RESULT, CONFIG, REWARD_TEXT, REWARD_JSON)
"""Files that are not of the run because run.json and metrics.json tell what they say of it."""
_PARTS = ("agent", "verifier", "steps")
_JSON_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one trial."""

    source: Path
    folder: Path | None
    """The run; None if there is none."""
    there: bool = False
    """Whether an earlier import made the run."""
    left_out: tuple[Refused, ...] = ()
    findings: tuple[Finding, ...] = ()
    linked: bool = False
    """Whether it is a link, which is not followed: nobody knows whether it leads to trials."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A trial, read and ready to be written."""

    source: Path
    result: TrialResult
    rewards: Mapping[str, float]
    told: Told
    copies: Mapping[str, Stored]
    """Files of the trial by the names that they get in the run."""


def import_trials(sources: Sequence[Path], out: Path, tick: Tick | None = None) -> Iterator[Trial]:
    """What comes of each trial in `sources`, folders of trials or of jobs, as a run below `out`.

    First come links to folders that no source holds. UsageError if a source holds no trial.
    """
    board = board_name(out)
    found: dict[Path, None] = {}
    links: list[Path] = []
    for source in sources:
        inside, aside = _trials(source)
        links += aside
        if not inside:
            message = f"no Harbor trial in it: no folder with {RESULT} or {CONFIG} and agent/"
            raise UsageError(f"{source}: {message}")
        found.update(dict.fromkeys(path.resolve() for path in inside))
    held = [source.resolve() for source in sources]
    for link in links:
        if not any(link.resolve().is_relative_to(folder) for folder in held):
            yield Trial(link, None, findings=(linked(link),), linked=True)
    known = imported(out)
    for number, path in enumerate(found):
        if tick:
            tick(path.name, number, len(found))
        yield _outcome(path, out, board, known)


def _trials(source: Path) -> tuple[list[Path], list[Path]]:
    """The trials in a folder, itself one or not, in order of path, and the links to folders in it.

    Links are not followed.
    """
    found: list[Path] = []
    links: list[Path] = []
    waiting = [source]
    try:
        while waiting:
            folder = waiting.pop()
            if _is_trial(folder):
                found.append(folder)
                continue
            inside = sorted(filter(_may_hold_trials, folder.iterdir()), reverse=True)
            links += (path for path in reversed(inside) if path.is_symlink())
            waiting += (path for path in inside if not path.is_symlink())
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise InputError(message, path=error.filename or source) from error
    return found, links


def _may_hold_trials(path: Path) -> bool:
    return not path.name.startswith(".") and path.is_dir()


def _is_trial(folder: Path) -> bool:
    records = [folder / name for name in (RESULT, CONFIG) if (folder / name).is_file()]
    if records and any((folder / part).is_dir() for part in _PARTS):
        return True
    return any(_names_a_trial(path) for path in records)


def _names_a_trial(path: Path) -> bool:
    """Whether a record is one of a trial: those of a job name none. A broken one names nothing."""
    try:
        data = json_data(path, read_text(path, _JSON_BYTES))
    except InvalidFileError:
        return False
    return isinstance(data, dict) and "trial_name" in data


def _outcome(source: Path, out: Path, board: str, known: dict[str, Path]) -> Trial:
    try:
        result = _result(source)
        named = origin(result)
        if named in known:
            odd = tuple(_odd(source, result, known[named]))
            return Trial(source, known[named], there=True, findings=odd)
        read, left_out, findings = _read(source, result)
        known[named] = folder = _written(read, out, board)
        return Trial(source, folder, left_out=tuple(left_out), findings=tuple(findings))
    except InvalidFileError as error:
        return Trial(source, None, findings=tuple(as_findings(error)))
    except InputError as error:
        finding = Finding(Severity.ERROR, str(error.path), error.message, error.line, error.key)
        return Trial(source, None, findings=(finding,))
    except UsageError as error:
        return Trial(source, None, findings=(Finding(Severity.ERROR, str(source), str(error)),))
    except OSError as error:
        where, why = str(error.filename or source), error.strerror or str(error)
        return Trial(source, None, findings=(Finding(Severity.ERROR, where, why),))


def _result(source: Path) -> TrialResult:
    if not (source / RESULT).exists():
        message = "missing: the trial still runs, or was broken off; import its logs by themselves"
        raise invalid(message, source / RESULT)
    result = read_result(source)
    if result.step_results:
        message = "a trial of several steps cannot be imported: it is more than one session"
        raise invalid(message, source / RESULT, key="step_results")
    return result


def _odd(source: Path, result: TrialResult, folder: Path) -> Iterator[Finding]:
    """What a trial says otherwise than the run that was made of it, or of one that is called so."""
    try:
        names = _differing(source, result, folder)
    except InvalidFileError as error:
        yield from as_findings(error)
        return
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        message = f"{folder} is there already, with another {one_line(names[0])}{more}"
        cure = "kept as it is; delete it and import again, or give the trial an id of its own"
        yield Finding(Severity.WARNING, str(source), f"{message}: {cure}")


def _differing(source: Path, result: TrialResult, folder: Path) -> list[str]:
    """The files of a run that a trial would fill otherwise."""
    files, _ = contents(source)
    copies = dict(_copies(files, laid_out(result.agent_info.name, _logged(files))))
    hashes = json_record(folder / MANIFEST, Manifest).files
    kept = [name for name in hashes if name.startswith(TRANSCRIPT) or name in (CHECK_LOG, SOLUTION)]
    found = [name for name, file in copies.items() if hashes.get(name) != digest(file.path)]
    found += [name for name in kept if name not in copies]
    held = json_record(folder / METRICS, Metrics)
    if held.origin == ORIGIN and held != metrics(result, read_rewards(source, result)[0]):
        found.append(METRICS)
    return found


def _logged(files: Sequence[Stored]) -> list[Stored]:
    return [
        Stored(file.name.removeprefix("agent/"), file.at, file.size)
        for file in files
        if file.name.startswith("agent/")
    ]


def _read(source: Path, result: TrialResult) -> tuple[_Read, list[Refused], list[Finding]]:
    files, refused = contents(source)
    findings = [
        Finding(Severity.WARNING, str(source / item.name), f"left out: {item.reason}")
        for item in refused
    ]
    rewards, odd = read_rewards(source, result)
    if odd:
        findings.append(Finding(Severity.WARNING, str(source), odd))
    logs = laid_out(result.agent_info.name, _logged(files))
    copies = dict(_copies(files, logs))
    taken = {file.path for file in copies.values()}
    left_out = list(logs.left_out)
    named = {item.name for item in left_out}
    left_out += [
        Refused(file.name, "not of the run")
        for file in files
        if file.path not in taken and file.name not in {*named, *_READ}
    ]
    return _Read(source, result, rewards, _told(logs), copies), left_out, findings


def _told(logs: Logs) -> Told:
    if logs.shown is Shown.NOTHING:
        return Told(logs, None)
    shown = transcript(logs.harness, logs.files)
    printed = [file for file in logs.files if file.name == STDOUT]
    if shown is None or shown.cost_usd is not None or STDOUT in shown.files:
        printed = []
    return Told(logs, shown, transcript(logs.harness, printed) if printed else None)


def _copies(files: Sequence[Stored], logs: Logs) -> Iterator[tuple[str, Stored]]:
    """The files of a trial that are of the run, by the names that they get."""
    for file in logs.files:
        yield TRANSCRIPT + file.name, file
    held = {file.name: file for file in files if file.size}
    if checked := next((held[name] for name in _CHECKED if name in held), None):
        yield CHECK_LOG, checked
    solutions = [
        file
        for file in files
        if file.name.startswith("artifacts/") and file.name.endswith(f"/{SOLUTION}")
    ]
    if len(solutions) == 1:  # which of two were the solution, nothing tells
        yield SOLUTION, solutions[0]


def _written(read: _Read, out: Path, board: str) -> Path:
    """The run's folder, which is whole or not there."""
    result, told = read.result, read.told
    start, _ = span(result, told.shown)
    drove = model(result, told.shown)
    run_id = free_run_id(out, start, told.logs.harness, drove, result.problem)
    make_folder(out)
    partial = new_run_folder(out, run_id)
    with filled(partial):
        for name, file in read.copies.items():
            copy(file.path, partial / name)
        run = run_of(result, told, run_id, board)
        return complete(partial, run, metrics(result, read.rewards))
