"""Lone transcripts as runs: what is recognised, where it is put, what is told of it."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kbsite import harnesses
from kbsite.errors import KbsiteError, UsageError
from kbsite.importers.transcript import (
    ALONE,
    WITH_SOLUTION,
    Beside,
    import_transcripts,
)
from kbsite.model.status import EndReason
from kbsite.store.manifests import manifest_findings
from kbsite.store.runs import StoredRun, read_run
from tests.importers.toy_harnesses import END, START, TOKENS, TOYS, rows

LOG = rows(START, TOKENS, END)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harnesses, "ALL", TOYS)
    for toy in TOYS:
        monkeypatch.setitem(harnesses.BY_ID, toy.HARNESS.id, toy)


def written(path: Path, data: bytes = LOG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def imported(*files: Path, **keys: Any) -> StoredRun:
    return read_run(import_transcripts(files, files[0].parent / "mine", **keys))


def stored(run: StoredRun) -> list[str]:
    return [file.name for file in run.transcripts]


def test_a_log_becomes_a_whole_ungraded_run(tmp_path: Path) -> None:
    run = imported(written(tmp_path / "log.jsonl"))
    assert run.folder == tmp_path / "mine" / "20260102_030405_toy_lab-m-1_unknown"
    assert run.findings == ()
    assert manifest_findings(run) == []
    assert [file.name for file in run.files] == [
        "manifest.json",
        "run.json",
        "transcript/start/log.jsonl",
    ]
    assert (run.folder / "transcript/start/log.jsonl").read_bytes() == LOG


def test_the_run_tells_what_the_transcript_tells(tmp_path: Path) -> None:
    run = imported(written(tmp_path / "log.jsonl")).run
    assert (run.board, run.problem, run.harness) == ("mine", "unknown", "toy")
    assert (run.model, run.effort, run.harness_version) == ("Lab/M 1", "max", "1.2")
    assert run.started is not None
    assert run.ended is not None
    assert run.elapsed_seconds == 600
    assert run.end_reason is EndReason.FINISHED
    assert (run.usage.input, run.usage.output, run.usage.reasoning) == (10, 5, None)
    assert run.usage_source == "start log (start/log.jsonl): counted once per model message"
    assert (run.cost_usd, run.cost_source) == (
        0.5,
        "start log (start/log.jsonl): what the CLI says",
    )
    assert (run.origin, run.notes) == ("imported from log.jsonl", (ALONE,))
    assert (run.budget_seconds, run.hardware, run.prompt_hash, run.command) == (None,) * 4


@pytest.mark.parametrize(
    ("ok", "reason"),
    [(True, EndReason.FINISHED), (False, EndReason.ERROR), (None, EndReason.UNKNOWN)],
)
def test_the_end_is_what_the_cli_says_of_it(
    tmp_path: Path, ok: bool | None, reason: EndReason
) -> None:
    run = imported(written(tmp_path / "log.jsonl", rows(START, {**END, "ok": ok}))).run
    assert run.end_reason is reason


def test_a_session_that_somebody_stopped_did_not_fail(tmp_path: Path) -> None:
    end = {**END, "ok": False, "reason": "interrupted"}
    run = imported(written(tmp_path / "log.jsonl", rows(START, end))).run
    assert run.end_reason is EndReason.SIGNAL


def test_what_the_transcript_does_not_tell_is_null(tmp_path: Path) -> None:
    run = imported(written(tmp_path / "log.jsonl", rows({"toy": "start"}))).run
    assert run.id == "00000000_000000_toy_unknown_unknown"
    assert (run.model, run.effort, run.harness_version) == ("unknown", None, None)
    assert (run.started, run.ended, run.seconds) == (None, None, None)
    assert run.end_reason is EndReason.UNKNOWN
    assert not run.usage.known
    assert (run.usage_source, run.cost_usd, run.cost_source) == (None, None, None)


def test_a_duration_without_times_is_kept(tmp_path: Path) -> None:
    run = imported(written(tmp_path / "log.jsonl", rows({"toy": "start"}, {"toy": "end"}))).run
    assert (run.started, run.elapsed_seconds) == (None, 7.0)


def test_what_the_last_of_several_turns_took_is_not_how_long_the_session_took(
    tmp_path: Path,
) -> None:
    turns = rows({"toy": "start"}, {"toy": "end"}, {"toy": "end"})
    assert imported(written(tmp_path / "log.jsonl", turns)).run.elapsed_seconds is None


def test_the_end_of_a_sub_agent_is_none_of_the_session(tmp_path: Path) -> None:
    turns = rows({"toy": "start"}, {"toy": "end", "agent": "a"}, {"toy": "end"})
    assert imported(written(tmp_path / "log.jsonl", turns)).run.elapsed_seconds == 7.0


def test_what_is_asked_for_wins(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl")
    run = imported(log, model="m-2", problem="add", board="board-x", harness="toy").run
    assert (run.model, run.problem, run.board, run.harness) == ("m-2", "add", "board-x", "toy")
    assert run.id == "20260102_030405_toy_m-2_add"


def test_what_stands_beside_a_transcript_is_taken_down(tmp_path: Path) -> None:
    left = written(tmp_path / "work" / "kernel.py", b"def solve(): ...\n")
    beside = Beside(solution=left, problem_hash="c0ffee", hardware="cpu", budget_seconds=90)
    run = imported(written(tmp_path / "log.jsonl"), beside=beside)
    assert (run.run.problem_hash, run.run.hardware) == ("c0ffee", "cpu")
    assert run.run.budget_seconds == 90
    assert run.run.notes == (WITH_SOLUTION,)
    assert (run.folder / "solution.py").read_bytes() == left.read_bytes()
    assert manifest_findings(run) == []


def test_hardware_of_no_id_and_a_solution_that_is_no_file_are_refused(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl")
    with pytest.raises(UsageError, match="no id of hardware"):
        imported(log, beside=Beside(hardware="GPU A"))
    with pytest.raises(KbsiteError, match="regular file"):
        imported(log, beside=Beside(solution=tmp_path))
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_import_that_is_broken_off_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    log = written(tmp_path / "log.jsonl")

    def full(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("kbsite.store.manifests.write_text", full)
        with pytest.raises(type(error)):
            imported(log)
    assert list((tmp_path / "mine").iterdir()) == []
    assert imported(log).findings == ()


def test_a_full_disk_is_told_of_the_copy_and_not_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, _to: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(source))

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(OSError, match="No space left") as told:
        imported(written(tmp_path / "log.jsonl"))
    assert Path(told.value.filename).is_relative_to(tmp_path / "mine")


@pytest.mark.parametrize("name", [b"bad\xff.jsonl", b"two\nlines.jsonl"])
def test_a_file_of_an_odd_name_is_a_run_that_can_be_read(tmp_path: Path, name: bytes) -> None:
    run = imported(written(tmp_path / os.fsdecode(name)))
    assert run.findings == ()
    assert manifest_findings(run) == []
    assert stored(run) == [f"start/{os.fsdecode(name)}"]


def test_the_same_transcript_twice_is_two_runs(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl")
    first, second = imported(log), imported(log)
    assert second.run.id == f"{first.run.id}-2"
    assert second.findings == ()


def test_two_imports_write_the_same_bytes(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl")
    folders = [import_transcripts([log], tmp_path / name / "mine") for name in ("a", "b")]
    one, other = ({p.name: p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in folders)
    assert one == other


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + LOG,
        b"a banner\n\n" + LOG,
        LOG.replace(b"\n", b"\r\n"),
        LOG + b'{"toy": "cut',
        LOG + b"\xff\xfe\0\n",
        b'{"toy": "words"}\n' * 10 + LOG,
        LOG.replace(b"\n", b""),
    ],
)
def test_files_in_any_state_are_recognised_and_kept(tmp_path: Path, data: bytes) -> None:
    run = imported(written(tmp_path / "log.jsonl", data))
    assert (run.folder / "transcript/start/log.jsonl").read_bytes() == data
    assert run.run.model == "Lab/M 1"


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_is_recognised_by_its_top_level(tmp_path: Path, indent: int | None) -> None:
    text = json.dumps({"toy": "start", "rows": [{"toy": "twins"}, {"twins": 1}]}, indent=indent)
    run = imported(written(tmp_path / "export.json", text.encode()))
    assert run.run.harness == "toy"
    assert stored(run) == ["start/export.json.jsonl"]


def test_a_list_of_rows_is_recognised_by_its_first_ones(tmp_path: Path) -> None:
    text = json.dumps([START, END], indent=1)
    assert imported(written(tmp_path / "rows.json", text.encode())).run.harness == "toy"


@pytest.mark.parametrize(
    ("pack", "cure"), [(gzip.compress, "unpack it first"),
                       (lambda data: data.decode().encode("utf-16"), "iconv")],
)  # fmt: skip
def test_a_transcript_in_another_form_is_told_with_what_to_do(
    tmp_path: Path, pack: Any, cure: str
) -> None:
    with pytest.raises(KbsiteError, match=f"{cure}.*not recognised"):
        imported(written(tmp_path / "log.jsonl", pack(rows(START, END))))


def test_only_the_first_objects_are_looked_at(tmp_path: Path) -> None:
    late = written(tmp_path / "late.jsonl", rows(*[{"n": n} for n in range(20)], START))
    with pytest.raises(KbsiteError, match="not recognised"):
        imported(late)


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"just words\n", b"[]", b"[1, 2]", b"{", b"[" * 100_000, b"\0" * 100,
             b'{"other": 1}\n'],
)  # fmt: skip
def test_what_is_no_transcript_is_named_with_the_known_formats(tmp_path: Path, data: bytes) -> None:
    other = written(tmp_path / "other.jsonl", data)
    with pytest.raises(KbsiteError) as caught:
        imported(written(tmp_path / "log.jsonl"), other)
    message = str(caught.value)
    assert "other.jsonl: not recognised as a transcript" in message
    assert (", as it is empty; known" in message) == (not data)
    assert "toy-start (start log), toy-printed (printed log), toy-twins" in message
    assert not (tmp_path / "mine").exists()


def test_every_file_that_is_no_transcript_is_named(tmp_path: Path) -> None:
    files = [written(tmp_path / name, b"words") for name in ("a.txt", "b.txt")]
    with pytest.raises(KbsiteError, match=r"a\.txt(.|\n)*b\.txt"):
        imported(*files)


def test_a_file_that_two_clis_may_have_written_asks_for_the_harness(tmp_path: Path) -> None:
    both = written(tmp_path / "both.jsonl", rows({**START, "also": "start"}))
    with pytest.raises(UsageError, match=r"toy or twin.*give --harness"):
        imported(both)
    assert imported(both, harness="twin").run.harness == "twin"


def test_another_file_may_tell_which_cli_it_was(tmp_path: Path) -> None:
    both = written(tmp_path / "both.jsonl", rows({**START, "also": "start"}))
    assert imported(both, written(tmp_path / "log.jsonl")).run.harness == "toy"


def test_the_richest_format_of_a_cli_is_taken(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", rows({"toy": "printed"}, START))
    assert stored(imported(log)) == ["start/log.jsonl"]


def test_files_of_different_clis_are_refused(tmp_path: Path) -> None:
    twin = written(tmp_path / "twin.jsonl", rows({"toy": "twins"}))
    with pytest.raises(UsageError, match=r"different CLIs.*log\.jsonl: toy.*twin\.jsonl: twin"):
        imported(written(tmp_path / "log.jsonl"), twin)


def test_a_harness_without_parser_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="known are toy, twin"):
        imported(written(tmp_path / "log.jsonl"), harness="other")


@pytest.mark.parametrize("harness", ["kimi", "kimi-code"])
def test_a_program_whose_name_others_share_can_be_named(tmp_path: Path, harness: str) -> None:
    captured = Path(__file__).parents[1] / "harnesses/captures/kimi/kimi-code-quick"
    (wire,) = captured.rglob("agents/main/wire.jsonl")
    with pytest.MonkeyPatch.context() as real:
        real.setattr(harnesses, "ALL", [harnesses.BY_ID["kimi"]])
        log = written(tmp_path / "wire.jsonl", wire.read_bytes())
        assert imported(log, harness=harness).run.harness == harness


def test_the_wrong_harness_recognises_nothing(tmp_path: Path) -> None:
    with pytest.raises(KbsiteError, match="known formats are toy-twins") as caught:
        imported(written(tmp_path / "log.jsonl"), harness="twin")
    assert "toy-printed" not in str(caught.value)


def test_files_of_one_session_lie_together(tmp_path: Path) -> None:
    printed = written(tmp_path / "out.jsonl", rows({"toy": "printed"}))
    run = imported(written(tmp_path / "log.jsonl"), printed)
    assert stored(run) == ["printed/out.jsonl", "start/log.jsonl"]
    assert run.run.origin == "imported from log.jsonl, out.jsonl"


def test_names_that_clash_keep_the_folders_names(tmp_path: Path) -> None:
    main = written(tmp_path / "s" / "main" / "wire.jsonl")
    agent = written(tmp_path / "s" / "agent-0" / "wire.jsonl", rows(START))
    run = read_run(import_transcripts([main, agent], tmp_path / "mine"))
    assert stored(run) == ["start/agent-0-wire.jsonl", "start/main-wire.jsonl"]
    assert run.run.usage_source is not None
    assert "and 1 more" in run.run.usage_source


def test_names_that_the_format_does_not_cover_get_an_ending(tmp_path: Path) -> None:
    assert stored(imported(written(tmp_path / "log.txt"))) == ["start/log.txt.jsonl"]


@pytest.mark.parametrize("name", ["a b.jsonl", "<script>.jsonl", "é\n.jsonl", "-rf.jsonl"])
def test_odd_names_are_kept(tmp_path: Path, name: str) -> None:
    assert stored(imported(written(tmp_path / name))) == [f"start/{name}"]


def test_no_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no transcript given"):
        import_transcripts([], tmp_path / "mine")


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl")
    link = tmp_path / "link.jsonl"
    link.symlink_to(log)
    with pytest.raises(UsageError, match="given twice"):
        imported(log, link)


@pytest.mark.parametrize("name", ["folder", "missing", "pipe"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(KbsiteError, match="expected a regular file"):
        import_transcripts([tmp_path / name], tmp_path / "mine")


@pytest.mark.parametrize("problem", ["../x", "", "a/b"])
def test_a_problem_cannot_lead_out_of_the_folder(tmp_path: Path, problem: str) -> None:
    with pytest.raises(UsageError, match="is no id of a problem"):
        imported(written(tmp_path / "log.jsonl"), problem=problem)
    assert not (tmp_path / "x").exists()


def test_a_hostile_model_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", rows({**START, "model": "../../../" + "x" * 5000}))
    run = imported(log)
    assert run.folder.parent == tmp_path / "mine"
    assert run.run.model.startswith("../../../")
