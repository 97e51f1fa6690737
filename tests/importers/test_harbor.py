"""Harbor's trials as runs: what is found, taken, told, left out and done twice."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kbsite.errors import InputError, UsageError
from kbsite.importers import harbor as importer
from kbsite.importers.harbor import Trial, import_trials
from kbsite.importers.harbor_run import NO_LOG, NO_ZONE, TRAJECTORY
from kbsite.model.finding import Severity
from kbsite.model.status import EndReason, Status
from kbsite.store.manifests import manifest_findings
from kbsite.store.runs import StoredRun, read_run
from kbsite.transcripts import transcript
from tests.harnesses.reading import CORPUS, beside
from tests.importers.harbor_trials import (
    CLAUDE,
    LOG,
    SESSION,
    STREAM,
    failed,
    job,
    lines,
    result,
    trial,
    write,
)
from tests.importers.harbor_trials import (
    TRAJECTORY as ATIF,
)

TRAJECTORY_JSON = {"agent/trajectory.json": json.dumps(ATIF)}


def imported(*sources: Path) -> list[Trial]:
    return list(import_trials(sources, sources[0].parent / "mine"))


def only(source: Path) -> StoredRun:
    """The run of the only trial in a folder, of which nothing was odd."""
    (made,) = imported(source)
    assert made.findings == ()
    assert made.folder is not None
    return read_run(made.folder)


def said_of(made: Trial) -> list[str]:
    return [finding.text for finding in made.findings]


# One trial


def test_a_trial_becomes_a_whole_run(tmp_path: Path) -> None:
    more = {"verifier/test-stdout.txt": "1 passed\n", "artifacts/app/solution.py": "x = 1\n"}
    run = only(trial(tmp_path / "add__abc", CLAUDE | TRAJECTORY_JSON | more))

    assert run.folder == tmp_path / "mine" / "20260102_030405_claude_opus-x_add"
    assert run.findings == ()
    assert manifest_findings(run) == []
    assert [file.name for file in run.files] == [
        "check.log",
        "manifest.json",
        "metrics.json",
        "run.json",
        "solution.py",
        "transcript/home/.claude/projects/-app/s.jsonl",
        "transcript/stdout.jsonl",
        "transcript/trajectory.json",
    ]
    assert (run.folder / "check.log").read_text() == "1 passed\n"


def test_the_logs_are_those_of_the_trial_to_the_last_byte(tmp_path: Path) -> None:
    odd = lines(SESSION).encode() + b'\xff\0{"cut": "of'
    source = trial(tmp_path / "t", {LOG: odd, "agent/claude-code.txt": CLAUDE[LOG]})
    run = only(source)

    held = {file.name: file.path.read_bytes() for file in run.transcripts}
    assert held["home/.claude/projects/-app/s.jsonl"] == odd


def test_the_run_tells_what_harbor_and_the_transcript_tell(tmp_path: Path) -> None:
    run = only(trial(tmp_path / "add__abc")).run

    assert (run.board, run.problem, run.harness, run.variant) == ("mine", "add", "claude", None)
    assert (run.model, run.provider, run.harness_version) == ("opus-x", "lab", "2.1.0")
    assert run.started == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert run.elapsed_seconds == run.seconds == 600
    assert run.end_reason is EndReason.FINISHED
    assert (run.usage.input, run.usage.output) == (10, 5)
    assert run.usage_source is not None
    assert run.usage_source.startswith("session log (home/.claude/")
    assert (run.cost_usd, run.cost_source) == (0.5, "result.json: what Harbor says")
    assert run.notes == ()
    assert run.origin == (
        "imported from a Harbor trial: add__abc, id id of add__abc, task add with checksum 5e55"
    )
    unknown = (run.problem_hash, run.prompt_hash, run.hardware, run.budget_seconds, run.exit_code)
    assert unknown == (None,) * 5


def test_the_clis_own_cost_counts_more_than_harbors(tmp_path: Path) -> None:
    spent = {"modelUsage": {"opus-x": {"inputTokens": 10, "outputTokens": 5, "costUSD": 0.25}}}
    printed = [*STREAM[:-1], STREAM[-1] | spent | {"total_cost_usd": 0.25}]
    run = only(trial(tmp_path / "t", CLAUDE | {"agent/claude-code.txt": lines(printed)})).run

    assert (run.cost_usd, run.cost_source) == (
        0.25,
        "stream-json (stdout.jsonl): what the CLI says",
    )


def test_nothing_is_made_up_of_a_result_that_tells_little(tmp_path: Path) -> None:
    least = {
        "id": "i",
        "trial_name": "t",
        "task_name": "add",
        "agent_info": {"name": "claude-code"},
    }
    stored = only(trial(tmp_path / "t", {LOG: '{"type": "other"}\n'}, told=least))
    run = stored.run

    assert (run.model, run.harness_version, run.effort, run.provider) == ("unknown",) + (None,) * 3
    assert (run.started, run.ended, run.seconds, run.budget_seconds) == (None,) * 4
    assert (run.cost_usd, run.cost_source, run.usage_source, run.environment) == (None,) * 4
    assert not run.usage.known
    assert run.end_reason is EndReason.UNKNOWN
    assert stored.metrics.status is Status.UNGRADED
    assert stored.metrics.grader is None


def test_what_the_agent_was_asked_for_is_told(tmp_path: Path) -> None:
    agent = {"override_timeout_sec": 600, "max_timeout_sec": 500, "env": {"B": "secret", "A": "x"},
             "kwargs": {"reasoning_effort": "high"}}  # fmt: skip
    config = {"agent": agent, "timeout_multiplier": 2, "agent_timeout_multiplier": None}
    stored = only(trial(tmp_path / "t", config=config))

    assert stored.run.budget_seconds == 1000
    assert stored.run.effort == "high"
    assert stored.run.environment == ("A", "B")
    for file in stored.files:
        assert b"secret" not in file.path.read_bytes()


def test_config_json_tells_what_the_result_does_not_repeat(tmp_path: Path) -> None:
    held = {key: value for key, value in result("t").items() if key != "config"}
    config = {"trial_name": "t", "agent": {"override_timeout_sec": 60, "model_name": "lab/x"}}
    held["agent_info"] = {"name": "claude-code", "version": "unknown"}
    source = trial(tmp_path / "t", {**CLAUDE, "config.json": json.dumps(config)}, told=held)
    run = only(source).run

    assert (run.budget_seconds, run.harness_version) == (60, "2.1.0")
    assert (run.provider, run.model) == ("lab", "x")


@pytest.mark.parametrize(
    ("info", "asked", "told"),
    [
        ({"name": "x", "provider": "lab"}, "other/y", ("lab", "x")),
        ({"name": "x"}, "lab/y", (None, "x")),
        (None, "lab/deep/x", ("lab", "deep/x")),
        (None, "x", (None, "x")),
        ({"name": ""}, "", (None, "opus-x-20260101")),
        (None, None, (None, "opus-x-20260101")),
    ],
)
def test_the_model_is_the_one_that_harbor_names(
    tmp_path: Path, info: Any, asked: str | None, told: tuple[str | None, str]
) -> None:
    agent = {"name": "claude-code", "model_info": info}
    config = {"agent": {"model_name": asked}}
    run = only(trial(tmp_path / "t", agent_info=agent, config=config)).run

    assert (run.provider, run.model) == told


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("AgentTimeoutError", EndReason.BUDGET),
        ("NonZeroAgentExitCodeError", EndReason.ERROR),
        ("VerifierTimeoutError", EndReason.FINISHED),
        ("SomethingElse", EndReason.FINISHED),
    ],
)
def test_what_stopped_a_trial_tells_why_it_ended(
    tmp_path: Path, kind: str, reason: EndReason
) -> None:
    run = only(trial(tmp_path / "t", exception_info=failed(kind))).run

    assert run.end_reason is reason
    assert run.notes == (f"What stopped the Harbor trial: {kind}: it broke",)


def test_a_long_message_is_cut_and_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    message = "\x1b[31mno" + "x" * 5000 + "\nTOKEN=secret"
    (note,) = only(trial(tmp_path / "t", exception_info=failed("E", message))).run.notes

    assert len(note) < 300
    assert note.isprintable()
    assert "secret" not in note


def test_times_without_a_zone_tell_how_long_but_not_when(tmp_path: Path) -> None:
    naive = {"started_at": "2025-11-19T14:11:20.5", "finished_at": "2025-11-19T14:11:30.5"}
    with_log = only(trial(tmp_path / "a", agent_execution=naive, verifier=naive))
    without = only(trial(tmp_path / "b", {}, agent_execution=naive, verifier=naive))

    assert with_log.run.started == datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
    assert (with_log.run.seconds, with_log.metrics.graded) == (10, None)
    assert with_log.run.notes == ()
    assert (without.run.started, without.run.ended, without.run.elapsed_seconds) == (None, None, 10)
    assert without.run.notes == (NO_LOG, NO_ZONE)
    assert without.folder.name == "00000000_000000_claude_opus-x_add"


@pytest.mark.parametrize(
    "span",
    [
        {},
        {"started_at": None, "finished_at": "soon"},
        {"started_at": "2026-01-02T03:04:05Z", "finished_at": "2026-01-01T03:04:05Z"},
        {"started_at": "2026-01-02T03:04:05", "finished_at": "2026-01-02T03:04:05Z"},
    ],
)
def test_times_that_cannot_be_are_not_told(tmp_path: Path, span: dict[str, Any]) -> None:
    run = only(trial(tmp_path / "t", agent_execution=span)).run

    assert run.seconds is None
    assert run.started == datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)
    assert run.ended == datetime(2026, 1, 2, 3, 5, tzinfo=UTC)


# What is shown


def test_a_trajectory_is_shown_where_the_agent_has_no_log_that_is_read(tmp_path: Path) -> None:
    stored = only(trial(tmp_path / "t", TRAJECTORY_JSON, agent="terminus-2"))
    run = stored.run

    assert (run.harness, run.variant, run.harness_version) == ("atif", "terminus-2", "2.1.0")
    assert run.notes == (TRAJECTORY,)
    shown = transcript(run.harness, stored.transcripts)
    assert shown is not None
    assert shown.files == ("trajectory.json",)
    assert (run.usage.input, run.usage.cache_read, run.usage.output) == (20, 80, 7)
    assert run.usage_source == "result.json: what Harbor says"


def test_the_agents_own_logs_are_shown_before_the_trajectory(tmp_path: Path) -> None:
    stored = only(trial(tmp_path / "t", CLAUDE | TRAJECTORY_JSON))

    shown = transcript(stored.run.harness, stored.transcripts)
    assert shown is not None
    assert shown.format == "claude-session"


def test_a_known_agent_without_its_logs_has_its_trajectory(tmp_path: Path) -> None:
    run = only(trial(tmp_path / "t", TRAJECTORY_JSON | {LOG: ""})).run

    assert (run.harness, run.variant, run.notes) == ("atif", "claude-code", (TRAJECTORY,))


def test_a_trial_without_any_log_is_a_run_all_the_same(tmp_path: Path) -> None:
    broken = failed("EnvironmentStartTimeoutError")
    stored = only(trial(tmp_path / "t", {}, exception_info=broken, verifier_result=None))

    assert stored.run.harness == "claude"
    assert stored.run.notes[0] == NO_LOG
    assert stored.metrics.status is Status.INFRA
    assert stored.transcripts == []


def test_what_an_agent_printed_is_kept_even_if_nothing_can_be_shown(tmp_path: Path) -> None:
    stored = only(trial(tmp_path / "t", {"agent/claude-code.txt": "Invalid API key\n"}))

    assert stored.run.notes == (NO_LOG,)
    assert (stored.folder / "transcript/agent/claude-code.txt").read_text() == "Invalid API key\n"
    assert transcript("claude", stored.transcripts) is None


def test_a_file_called_trajectory_need_not_be_one(tmp_path: Path) -> None:
    run = only(trial(tmp_path / "t", {"agent/trajectory.json": '{"steps": []}'}, agent="x")).run

    assert (run.harness, run.variant, run.notes) == ("atif", "x", (NO_LOG,))


def test_the_verifiers_errors_are_its_log_where_it_said_nothing_else(tmp_path: Path) -> None:
    left = {"verifier/test-stdout.txt": "", "verifier/test-stderr.txt": "no such file\n"}
    run = only(trial(tmp_path / "t", CLAUDE | left))

    assert (run.folder / "check.log").read_text() == "no such file\n"


def test_which_of_two_solutions_was_meant_is_not_guessed(tmp_path: Path) -> None:
    two = {"artifacts/a/solution.py": "x = 1\n", "artifacts/b/solution.py": "x = 2\n"}
    (made,) = imported(trial(tmp_path / "t", CLAUDE | two))

    assert made.folder is not None
    assert read_run(made.folder).file("solution.py") is None
    assert {item.name for item in made.left_out} >= set(two)


# What is found


def test_trials_are_found_in_jobs_and_named_once(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    trials = [trial(job(jobs / name) / f"{name}__1") for name in ("b", "a")]
    write(jobs, {"notes.txt": "x", "a/.cache/result.json": '{"trial_name": "hidden"}'})
    (jobs / "link").symlink_to(jobs / "a")

    made = imported(jobs, trials[0], jobs / "a")

    assert [one.source.name for one in made] == ["a__1", "b__1"]
    assert all(one.folder for one in made)


def test_a_link_to_folders_elsewhere_is_told_and_not_followed(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    trial(job(jobs / "a") / "a__1")
    trial(job(tmp_path / "disk" / "b") / "b__1")
    (jobs / "b").symlink_to(tmp_path / "disk" / "b")
    (jobs / "gone").symlink_to(tmp_path / "nowhere")
    (jobs / "up").symlink_to(jobs)
    told, made = imported(jobs)

    assert (told.source, told.linked, told.folder) == (jobs / "b", True, None)
    (finding,) = told.findings
    assert (finding.severity, finding.path) == (Severity.WARNING, str(jobs / "b"))
    assert made.source.name == "a__1"
    # Named itself, its trials are taken, and where its target is there, nothing is told.
    assert [one.source.name for one in imported(jobs / "b")] == ["b__1"]
    assert not any(one.linked for one in imported(jobs, tmp_path / "disk"))


def test_a_folder_that_cannot_be_listed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(path))

    trial(tmp_path / "job" / "t")
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InputError, match=r"job: cannot be read: Permission denied"):
        imported(tmp_path / "job")


def test_a_trial_whose_empty_folders_are_gone_is_still_one(tmp_path: Path) -> None:
    source = trial(job(tmp_path / "job") / "t", {})
    for part in ("agent", "verifier", "artifacts"):
        (source / part).rmdir()

    assert [one.source.name for one in imported(tmp_path / "job")] == ["t"]


def test_a_folder_without_trials_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Harbor trial in it"):
        imported(job(tmp_path / "job"))


def test_attempts_at_one_task_are_runs_of_their_own(tmp_path: Path) -> None:
    for name in ("add__1", "add__2", "add__3"):
        trial(tmp_path / "job" / name)
    made = imported(tmp_path / "job")

    names = [one.folder.name for one in made if one.folder]
    base = "20260102_030405_claude_opus-x_add"
    assert names == [base, f"{base}-2", f"{base}-3"]


# Twice


def contents_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def test_a_trial_that_was_imported_is_skipped_and_said_so(tmp_path: Path) -> None:
    trial(tmp_path / "job" / "a")
    (first,) = imported(tmp_path / "job")
    before = contents_of(tmp_path / "mine")
    trial(tmp_path / "job" / "b")
    again = imported(tmp_path / "job")

    assert [(one.there, one.source.name) for one in again] == [(True, "a"), (False, "b")]
    assert again[0].folder == first.folder
    after = contents_of(tmp_path / "mine")
    assert {name: after[name] for name in before} == before


def test_a_trial_that_says_something_else_by_now_or_shares_its_id_is_told(tmp_path: Path) -> None:
    twin = result("a") | {"verifier_result": {"rewards": {"reward": 0.0}}}
    trial(tmp_path / "job" / "a")
    (first,) = imported(tmp_path / "job")
    assert first.folder
    trial(tmp_path / "job" / "b", {LOG: lines(SESSION[:1])}, told=twin)
    same, other = imported(tmp_path / "job")

    assert (same.there, same.findings) == (True, ())
    assert (other.there, other.folder) == (True, first.folder)
    (odd,) = other.findings
    assert odd.path == str(tmp_path / "job" / "b")
    assert odd.message.startswith(
        f"{first.folder} is there already, with another transcript/home/.claude/projects/-app/"
        "s.jsonl and 2 more: kept as it is;"
    )
    (first.folder / "manifest.json").unlink()
    assert [one.message for one in imported(tmp_path / "job")[0].findings] == ["no such file"]


def test_a_moved_trial_is_known_again(tmp_path: Path) -> None:
    imported(trial(tmp_path / "job" / "a"))
    shutil.copytree(tmp_path / "job", tmp_path / "elsewhere")

    (made,) = list(import_trials([tmp_path / "elsewhere"], tmp_path / "job" / "mine"))
    assert made.there


def test_an_import_that_is_broken_off_leaves_no_part_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(source: Path, to: Path) -> None:
        if source.name == "claude-code.txt":
            raise KeyboardInterrupt
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)

    source = trial(tmp_path / "t")
    with monkeypatch.context() as patched:
        patched.setattr(importer, "copy", copy)
        with pytest.raises(KeyboardInterrupt):
            imported(source)
    assert list((tmp_path / "mine").iterdir()) == []

    (made,) = imported(source)
    assert made.folder is not None
    assert not made.there


def test_what_comes_next_is_told_before_it_is_done(tmp_path: Path) -> None:
    for name in ("a", "b"):
        trial(tmp_path / "job" / name)
    ticks: list[tuple[str, int, int]] = []
    made = import_trials([tmp_path / "job"], tmp_path / "mine", lambda *told: ticks.append(told))

    next(made)
    assert ticks == [("a", 0, 2)]
    list(made)
    assert ticks == [("a", 0, 2), ("b", 1, 2)]


# Broken and hostile


def bad(folder: Path) -> Iterator[tuple[Path, str]]:
    """Trials that cannot be imported, and how the reason starts."""
    yield trial(folder / "json", told='{"id": "x",\n'), "json/result.json:2: error: not valid JSON"
    yield trial(folder / "list", told="[]"), "list/result.json:1: error: expected keys and values"
    yield (
        trial(folder / "key", told='{\n"id": 3, "trial_name": "t", "agent_info": {}}'),
        "key/result.json:2: error: id: expected text",
    )
    yield (
        trial(folder / "reward", verifier_result={"rewards": {"reward": "much"}}),
        "reward/result.json",
    )
    yield trial(folder / "deep", told="[" * 200_000), "deep/result.json"
    yield trial(folder / "bytes", {"result.json": b"\xff"}), "bytes/result.json:1: error: expected"
    yield (
        trial(folder / "steps", step_results=[{"step_name": "one"}]),
        "steps/result.json: error: step_results: a trial of several steps",
    )
    running = trial(folder / "running")
    (running / "result.json").unlink()
    yield running, "running/result.json: error: missing: the trial still runs"
    linked = trial(folder / "linked")
    (linked / "result.json").unlink()
    (linked / "result.json").symlink_to("/etc/passwd")
    yield linked, "linked/result.json: error: a symbolic link is not read"


def test_bad_trials_are_named_and_the_others_are_imported(tmp_path: Path) -> None:
    reasons = {path.name: reason for path, reason in bad(tmp_path / "job")}
    for name in ("first", "zlast"):
        trial(tmp_path / "job" / name)
    made = {one.source.name: one for one in imported(tmp_path / "job")}

    assert set(made) == {*reasons, "first", "zlast"}
    for name, reason in reasons.items():
        assert made[name].folder is None
        assert said_of(made[name])[0].startswith(f"{tmp_path}/job/{reason}"), said_of(made[name])
    assert made["first"].folder
    assert made["zlast"].folder
    assert len(list((tmp_path / "mine").iterdir())) == 2


def test_every_wrong_key_of_a_result_is_named(tmp_path: Path) -> None:
    (made,) = imported(trial(tmp_path / "t", agent_info={"name": 3}, agent_result=[], id=None))

    assert [finding.key for finding in made.findings] == ["id", "agent_info.name", "agent_result"]
    assert {finding.severity for finding in made.findings} == {Severity.ERROR}


@pytest.mark.parametrize(
    "name", ["../../x", "/etc", "a/b", "<script>", "..", "", "é\n", "x" * 9000]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    held = result("t", task_name=name, trial_name=name, id=name)
    held["agent_info"] = {"name": "claude-code", "version": name, "model_info": {"name": name}}
    run = only(trial(tmp_path / "t", told=held))

    assert run.folder.parent == tmp_path / "mine"
    assert run.findings == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "t"]


def test_long_names_of_tasks_are_told_apart(tmp_path: Path) -> None:
    for last in "ab":
        trial(tmp_path / "job" / last, task_name="org/" + "x" * 300 + last)
    made = imported(tmp_path / "job")

    problems = {read_run(one.folder).run.problem for one in made if one.folder}
    assert len(problems) == 2


def test_links_and_pipes_of_a_trial_are_named_and_not_followed(tmp_path: Path) -> None:
    source = trial(tmp_path / "t")
    (source / "agent" / "sessions" / "projects" / "-app" / "l.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(source / "verifier" / "test-stdout.txt")
    (made,) = imported(source)

    assert made.folder is not None
    assert read_run(made.folder).file("check.log") is None
    assert [finding.severity for finding in made.findings] == [Severity.WARNING] * 2
    assert "l.jsonl: warning: left out: a symbolic link" in said_of(made)[0]
    assert "test-stdout.txt: warning: left out: a pipe, a socket or a device" in said_of(made)[1]


def test_a_trial_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    source = trial(tmp_path / "t")
    (tmp_path / "mine" / "20260102_030405_claude_opus-x_add.partial").mkdir(parents=True)
    (made,) = imported(source)

    assert made.folder is None
    assert "was broken off; delete it to start anew" in said_of(made)[0]


def test_a_full_disk_is_told_of_what_was_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, to: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(source), None, str(to))

    monkeypatch.setattr("shutil.copyfile", full)
    (made,) = imported(trial(tmp_path / "t"))
    (said,) = said_of(made)
    assert re.fullmatch(r".*/mine/\S+\.partial/\S+: error: No space left on device", said)
    assert list((tmp_path / "mine").iterdir()) == []


# Beside the checkout


@beside
def test_trials_of_the_corpus_are_imported_with_their_grades(tmp_path: Path) -> None:
    made = list(import_trials([CORPUS / "harbor-trial"], tmp_path / "mine"))
    runs = [read_run(one.folder) for one in made if one.folder]

    assert [one.findings for one in made] == [(), ()]
    assert [run.metrics.status for run in runs] == [Status.PASSED, Status.WRONG]
    assert {run.run.contender.label for run in runs} == {"claude · claude-sonnet-4-5"}
    for one, run in zip(made, runs, strict=True):
        shown = transcript(run.run.harness, run.transcripts)
        assert shown is not None
        assert shown.format == "claude-session"
        originals = {
            path.read_bytes() for path in (one.source / "agent").rglob("*") if path.is_file()
        }
        assert {file.path.read_bytes() for file in run.transcripts} == originals
        assert manifest_findings(run) == []


@beside
def test_the_three_logs_of_a_trial_tell_the_same_calls(tmp_path: Path) -> None:
    made = list(import_trials([CORPUS / "harbor-trial"], tmp_path / "mine"))
    for one in made:
        assert one.folder is not None
        files = read_run(one.folder).transcripts
        counts = {}
        for harness, starts in (("claude", "home/"), ("claude", "stdout"), ("atif", "traj")):
            held = [file for file in files if file.name.startswith(starts)]
            shown = transcript(harness, held)
            assert shown is not None
            counts[starts] = shown.kinds.get("call", 0)
        assert counts["home/"] > 10
        assert len(set(counts.values())) == 1, counts


@beside
def test_what_the_cli_printed_of_costs_is_told(tmp_path: Path) -> None:
    made = list(import_trials([CORPUS / "harbor-trial"], tmp_path / "mine"))
    runs = [read_run(one.folder).run for one in made if one.folder]

    assert [run.cost_usd is not None for run in runs] == [True, False]
    assert runs[0].cost_source == "stream-json (stdout.jsonl): what the CLI says"
