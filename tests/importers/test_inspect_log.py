"""Samples of Inspect's logs become runs, one each, that say what the log says of the sample."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbsite.cli import kbsite
from kbsite.errors import UsageError
from kbsite.importers.inspect_grade import metrics
from kbsite.importers.inspect_log import import_samples
from kbsite.importers.inspect_run import FILE, Wanted
from kbsite.model.status import EndReason, Status
from kbsite.store.runs import read_run
from kbsite.transcripts import transcript
from tests.harnesses.test_inspect import EVAL, said, sample
from tests.harnesses.test_inspect_eval import in_parts, zstd
from tests.trees import tree

HEAD = {
    "version": 2,
    "status": "error",
    "error": {"message": "another sample broke"},
    "eval": EVAL | {"eval_id": "e-1", "config": {"time_limit": 60}},
    "plan": {"config": {"reasoning_effort": "high"}},
    "results": {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 0.5}}}]},
    "stats": {"model_usage": {"m": {"input_tokens": 999, "output_tokens": 999}}},
}
TIMES = {
    "started_at": "2026-01-02T03:04:05+00:00",
    "completed_at": "2026-01-02T03:04:15+00:00",
    "total_time": 9.5,
}


def one(id_: Any, epoch: int = 1, text: str = "done", **more: Any) -> Any:
    usage = {"m": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}
    own = {"id": id_, "epoch": epoch, "uuid": f"u-{id_}-{epoch}", "model_usage": usage, **TIMES}
    score = {"verify": {"value": "C"}}
    return sample(said("user", "go"), said("assistant", text)) | {"scores": score} | own | more


def member(value: Any) -> tuple[str, Any]:
    return f"samples/{value['id']}_epoch_{value['epoch']}.json", value


def archive(path: Path, *samples: Any, head: Any = HEAD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zstd(*map(member, samples), ("header.json", head)))
    return path


def plain(path: Path, *samples: Any) -> Path:
    path.write_text(json.dumps(HEAD | {"samples": list(samples)}))
    return path


def imported(*sources: Path, out: Path, **wanted: Any) -> list[Any]:
    return [read_run(o.folder) for o in import_samples(sources, out, Wanted(**wanted)) if o.folder]


@pytest.mark.parametrize("write", [archive, plain])
def test_each_sample_is_a_run_of_its_own(tmp_path: Path, write: Any) -> None:
    log = write(tmp_path / "a.eval", one("add"), one("mul", 2, "times"))
    first, second = imported(log, out=tmp_path / "mine")
    run = first.run

    assert run.id == "20260102_030405_inspect_lab-m-1_add"
    assert (run.problem, run.harness, run.model, run.effort) == (
        "add",
        "inspect",
        "lab/m-1",
        "high",
    )
    assert (run.provider, run.budget_seconds, run.seconds) == ("lab", 60, 9.5)
    assert (run.usage.input, run.usage.output) == (10, 5)
    assert run.end_reason is EndReason.FINISHED
    assert first.metrics.status is Status.PASSED
    assert first.metrics.detail == "Inspect's scorers gave: verify C."
    shown = transcript("inspect", second.transcripts)
    assert shown is not None
    assert [getattr(step.event, "text", "") for step in shown.main.steps][-3:-1] == [
        "times",
        "Score verify: C",
    ]
    assert len(shown.agents) == 1


@pytest.mark.parametrize(("took", "seconds"), [(9.5, 9.5), (None, None), (-1, None), (1e300, None)])
def test_a_sample_began_as_long_before_its_end_as_it_took(
    tmp_path: Path, took: float | None, seconds: float | None
) -> None:
    """Logs of 2025 do not tell when it began, and one may have waited for hours until then."""
    value = one("add", started_at=None, total_time=took)
    (held,) = imported(archive(tmp_path / "a.eval", value), out=tmp_path / "mine")

    assert held.run.ended is not None
    assert (held.run.elapsed_seconds == seconds) is (seconds is not None)


def test_what_the_log_says_of_all_samples_is_not_said_of_one(tmp_path: Path) -> None:
    (held,) = imported(archive(tmp_path / "a.eval", one("add")), out=tmp_path / "mine")
    with zipfile.ZipFile(held.folder / "transcript" / FILE) as log:
        head, own = (json.loads(log.read(name)) for name in log.namelist())

    assert {*head} == {"version", "status", "eval", "plan"}
    assert head["status"] == "success"
    assert own == one("add")
    assert "left out" in held.run.notes[0]


def test_half_a_character_stops_no_import_and_is_kept(tmp_path: Path) -> None:
    half = one("add", text="cut \ud83d here")
    named = one("m\ud800\0ul", text="times")
    first, second = imported(plain(tmp_path / "a.json", half, named), out=tmp_path / "mine")
    with zipfile.ZipFile(first.folder / "transcript" / FILE) as log:
        own = json.loads(log.read("samples/add_epoch_1.json"))

    assert own == half
    shown = [transcript("inspect", run.transcripts) for run in (first, second)]
    texts = [getattr(step.event, "text", "") for told in shown if told for step in told.main.steps]
    assert {"cut \ud83d here", "times"} <= {*texts}


def test_a_sample_that_an_error_ended_is_no_doing_of_the_agent(tmp_path: Path) -> None:
    broken = one("add", error={"message": "RuntimeError('no sandbox')"}, scores=None)
    (held,) = imported(archive(tmp_path / "a.eval", broken), out=tmp_path / "mine")

    assert held.run.end_reason is EndReason.HARNESS
    assert held.metrics.status is Status.INFRA
    assert held.metrics.detail == (
        "An error ended the sample: RuntimeError('no sandbox'). Inspect gave the sample no score."
    )
    long = metrics(one("add", error={"message": "x" * 999}, scores=None))
    assert f" {'x' * 200}… " in (long.detail or "")


@pytest.mark.parametrize(
    ("kind", "end"), [("time", EndReason.BUDGET), ("working", EndReason.BUDGET),
                      ("token", EndReason.UNKNOWN)],
)  # fmt: skip
def test_a_limit_of_time_is_the_budget(tmp_path: Path, kind: str, end: EndReason) -> None:
    limited = one("add", limit={"type": kind, "limit": 1})
    (held,) = imported(archive(tmp_path / "a.eval", limited), out=tmp_path / "mine")

    assert held.run.end_reason is end


def test_epochs_are_attempts_at_the_same_problem(tmp_path: Path) -> None:
    log = archive(tmp_path / "a.eval", one("add", 1), one("add", 2))

    assert [held.run.problem for held in imported(log, out=tmp_path / "mine")] == ["add", "add"]


def test_samples_are_chosen_by_id_and_epoch(tmp_path: Path) -> None:
    log = archive(tmp_path / "a.eval", one(1, 1), one(1, 2), one(2, 1))
    held = imported(log, out=tmp_path / "mine", samples=("1",), epoch=2, problem="all")

    assert [run.run.origin for run in held] == [
        "imported from an Inspect log: sample 1, epoch 2, uuid u-1-2, of the evaluation e-1"
    ]
    assert held[0].run.problem == "all"


def test_a_sample_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    log = archive(tmp_path / "a.eval", *(one(number) for number in range(20)))
    (lost,) = import_samples([log], tmp_path / "mine", Wanted(samples=("x",)))

    assert lost.folder is None
    assert (
        lost.why == "no log has a sample of this id; there are 20: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"
    )


def test_samples_that_are_there_are_skipped(tmp_path: Path) -> None:
    log = archive(tmp_path / "logs" / "a.eval", one("add"), one("mul"))
    imported(log, out=tmp_path / "mine", samples=("add",))
    again = list(import_samples([log, log.parent], tmp_path / "mine", Wanted()))

    assert [(held.there, held.folder is not None) for held in again] == [
        (True, True),
        (False, True),
    ]


NO_UUID: Any = {"uuid": None}
NO_EPOCH: Any = NO_UUID | {"epoch": None}
TWINS: dict[str, tuple[Any, Any]] = {
    "the same id twice": (one("add", **NO_UUID), one("add", text="other", **NO_UUID)),
    "the same uuid twice": (one("add"), one("add", text="other")),
    "an id as a number and as text": (one(1, **NO_UUID), one("1", text="other", **NO_UUID)),
    "no epoch": (one("add", **NO_EPOCH), one("add", text="x", **NO_EPOCH)),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")  # the archive has two members of one name
@pytest.mark.parametrize("write", [archive, plain])
@pytest.mark.parametrize("twins", TWINS.values(), ids=TWINS)
def test_of_samples_that_one_log_calls_alike_none_is_lost(
    tmp_path: Path, write: Any, twins: tuple[Any, Any]
) -> None:
    log = write(tmp_path / "a.eval", *twins, twins[1])
    made, other, again = import_samples([log], tmp_path / "mine", Wanted())

    assert not made.there
    assert not other.there
    assert (again.there, again.folder) == (True, other.folder), "it says the same as the second"
    assert made.folder != other.folder
    assert other.folder
    origin = read_run(other.folder).run.origin or ""
    assert origin.endswith(", of the evaluation e-1, number 2 that it calls so")
    later = [*import_samples([log], tmp_path / "mine", Wanted())]
    assert [(held.there, held.differs) for held in later] == [(True, False)] * 3
    assert [held.folder for held in later] == [made.folder, other.folder, other.folder]


def test_a_sample_that_a_retried_evaluation_took_over_is_one_attempt(tmp_path: Path) -> None:
    retried = HEAD | {"eval": EVAL | {"eval_id": "e-2"}}
    first = archive(tmp_path / "a.eval", one("add"), one("mul"))
    second = archive(tmp_path / "b.eval", one("add"), one("mul", text="anew"), head=retried)
    found = list(import_samples([first, second], tmp_path / "mine", Wanted()))

    assert [held.there for held in found] == [False, False, True, False]
    assert found[2].folder == found[0].folder


def test_a_log_that_says_something_else_of_a_sample_by_now_is_told(tmp_path: Path) -> None:
    log = plain(tmp_path / "a.json", one("add", scores=None))
    imported(log, out=tmp_path / "mine")
    told = command(plain(log, one("add")), "--out", tmp_path / "mine")

    assert (told.exit_code, told.stdout) == (0, "")
    assert "add is there already, and holds something else of it: kept as it is" in told.stderr
    assert "0 imported, 1 already there, 0 left out" in told.stderr


def test_what_may_be_a_log_and_cannot_be_read_is_named(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    whole = archive(logs / "a.eval", one("add"))
    (logs / "cut.eval").write_bytes(whole.read_bytes()[:-30])
    (logs / "cut.json").write_text(json.dumps(HEAD)[:-30])
    (logs / "linked.eval").symlink_to(whole)
    os.mkfifo(logs / "pipe.json")
    plain(logs / "none.json")
    plain(logs / "odd.json", one("mul")).write_text(json.dumps(HEAD | {"samples": {"a": 1}}))
    told = command(logs, "--out", tmp_path / "mine")

    assert told.exit_code == 1
    assert [line.removeprefix(f"{logs}/") for line in told.stderr.splitlines()] == [
        f"linked.eval: warning: a symbolic link (to {whole}); expected a file or a folder",
        "pipe.json: warning: a pipe, a socket or a device; expected a file or a folder",
        "cut.eval: error: left out: no log of Inspect's, or one that is cut or broken",
        "cut.json: warning: left out: no log of Inspect's, or one that is cut or broken",
        "none.json: warning: no sample in it",
        "odd.json: samples: error: no list",
        "1 imported, 0 already there, 2 left out",
    ]


def test_a_folder_of_logs_is_read_and_other_files_are_not(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    archive(logs / "one" / "a.eval", one("add"))
    plain(logs / "b.json", one("mul"))
    (logs / "eval-set.json").write_text("{}")
    (logs / "notes.txt").write_text("no log")
    (logs / "elsewhere").symlink_to(tmp_path)
    held = imported(logs, out=tmp_path / "mine")

    assert sorted(run.run.problem for run in held) == ["add", "mul"]


@pytest.mark.parametrize("name", ["empty", "other.json"])
def test_what_holds_no_log_is_refused(tmp_path: Path, name: str) -> None:
    source = tmp_path / name
    source.write_text("{}") if source.suffix else source.mkdir()

    with pytest.raises(UsageError, match=r"no log of Inspect's .*, or one that is cut"):
        list(import_samples([source], tmp_path / "mine", Wanted()))


def test_a_sample_that_cannot_be_read_is_told_and_the_others_imported(tmp_path: Path) -> None:
    log = tmp_path / "a.eval"
    log.write_bytes(zstd(("header.json", HEAD), ("samples/1.json", "{"), member(one("add"))))
    lost, found = import_samples([log], tmp_path / "mine", Wanted())

    assert (lost.folder, found.folder is not None) == (None, True)
    assert lost.name == f"{log}: samples/1.json"
    assert lost.why.startswith("not valid JSON")


def test_a_sample_in_parts_is_imported(tmp_path: Path) -> None:
    log = tmp_path / "a.eval"
    log.write_bytes(zstd(("header.json", HEAD), *in_parts()))
    (held,) = imported(log, out=tmp_path / "mine")
    shown = transcript("inspect", held.transcripts)

    assert held.run.problem == "a-b"
    assert shown is not None
    assert "answer" in [getattr(step.event, "text", "") for step in shown.main.steps]


def test_solutions_are_taken_by_id_and_epoch_and_missing_ones_told(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    (left / "a-b.py").write_text("all")
    (left / "a-b_epoch_2.py").write_text("second")
    log = archive(tmp_path / "a.eval", one("A/b", 1), one("A/b", 2), one("other"))
    done = command(log, "--out", tmp_path / "mine", "--solutions", left)
    files = [Path(line) / "solution.py" for line in done.stdout.splitlines()]

    assert done.exit_code == 0
    found = [path.read_text() if path.exists() else None for path in files]
    assert found == ["all", "second", None]
    assert f"sample other, epoch 1: warning: no solution of it in {left}" in done.stderr


def test_the_same_log_makes_the_same_bytes(tmp_path: Path) -> None:
    log = archive(tmp_path / "a.eval", one("add"))
    for name in ("one", "two"):
        imported(log, out=tmp_path / name / "mine")

    assert tree(tmp_path / "one") == tree(tmp_path / "two")


# Scores


@pytest.mark.parametrize(
    ("value", "status"),
    [("C", Status.PASSED), (1, Status.PASSED), (1.0, Status.PASSED), (True, Status.PASSED),
     ("I", Status.WRONG), ("N", Status.WRONG), (0, Status.WRONG), (False, Status.WRONG),
     ("P", Status.UNGRADED), (0.5, Status.UNGRADED), ({"a": 1}, Status.UNGRADED),
     (None, Status.UNGRADED)],
)  # fmt: skip
def test_what_a_score_says(value: Any, status: Status) -> None:
    assert metrics({"scores": {"s": {"value": value}}}).status is status


def test_of_several_scores_one_decides_if_it_is_named() -> None:
    scores = {"scores": {"a": {"value": "C"}, "b": {"value": "I"}}}

    assert metrics(scores).status is Status.UNGRADED
    assert "Nothing says which of them decides." in (metrics(scores).detail or "")
    assert [metrics(scores, name).status for name in "ab"] == [Status.PASSED, Status.WRONG]
    assert "None is called c." in (metrics(scores, "c").detail or "")


# The command line


def command(*words: str | Path) -> Result:
    return CliRunner().invoke(kbsite, ["import", "inspect", *map(str, words)])


def test_runs_are_named_on_stdout_and_counted_on_stderr(tmp_path: Path) -> None:
    log = archive(tmp_path / "a.eval", one("add"), one("mul"))
    done = command(log, "--out", tmp_path / "mine")
    lacks = command(log, "--out", tmp_path / "mine", "--sample", "x\x1b[31m", "--sample", "add")

    assert done.exit_code == 0
    assert [Path(line).name[-3:] for line in done.stdout.splitlines()] == ["add", "mul"]
    assert done.stderr == "2 imported, 0 already there, 0 left out\n"
    assert lacks.exit_code == 1
    assert "\x1b" not in lacks.stderr
    assert "there are 2: add, mul" in lacks.stderr
    assert lacks.stderr.endswith("0 imported, 1 already there, 1 left out\n")


def test_an_epoch_that_no_sample_has_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    log = archive(tmp_path / "a.eval", one("add"), one("mul", 2))
    lacks = command(log, "--out", tmp_path / "mine", "--epoch", "9")
    other = command(log, "--out", tmp_path / "mine", "--epoch", "2", "--sample", "add")

    assert (lacks.exit_code, other.exit_code) == (1, 1)
    told = "--epoch 9: error: no sample that is wanted has this epoch; there are 1, 2\n"
    assert told in lacks.stderr
    assert "there are 1\n" in other.stderr
    assert command(log, "--out", tmp_path / "mine", "--epoch", "0").exit_code == 2
    assert not (tmp_path / "mine").exists()


def test_a_scorer_that_scored_nothing_makes_no_run_that_nobody_judged(tmp_path: Path) -> None:
    unscored = one("sub", error={"message": "no sandbox"}, scores=None)
    log = archive(tmp_path / "a.eval", one("add"), unscored)
    done = command(log, "--out", tmp_path / "mine", "--scorer", "verfiy")

    assert done.exit_code == 1
    assert "epoch 1: error: no score of it is called 'verfiy'; there are: verify" in done.stderr
    assert [path.name[-3:] for path in (tmp_path / "mine").iterdir()] == ["sub"]
    assert command(log, "--out", tmp_path / "mine", "--scorer", "verify").exit_code == 0


def test_a_pipe_is_no_log_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.eval")
    done = command(tmp_path / "a.eval", "--out", tmp_path / "mine")

    assert isinstance(done.exception, UsageError)
    assert "a.eval: no log of Inspect's" in str(done.exception)


@pytest.mark.parametrize("option", ["--hardware", "--problem"])
def test_an_id_that_none_can_be_is_wrong_use_once_for_all_samples(
    tmp_path: Path, option: str
) -> None:
    log = archive(tmp_path / "a.eval", one("add"), one("mul"))
    done = command(log, "--out", tmp_path / "mine", option, "A b")

    assert isinstance(done.exception, UsageError)
    assert "'A b' is no id of" in str(done.exception)
    assert not (tmp_path / "mine").exists()


def test_the_version_of_a_problem_is_told_of_one_that_is_named(tmp_path: Path) -> None:
    done = command(archive(tmp_path / "a.eval", one("add")), "--out", tmp_path / "mine",
                   "--problems", tmp_path)  # fmt: skip

    assert isinstance(done.exception, UsageError)
    assert "--problem names" in str(done.exception)
