from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kbsite import whole
from kbsite.errors import UsageError
from kbsite.model.finding import Severity
from kbsite.model.run import Run
from kbsite.model.status import EndReason, Status
from kbsite.model.usage import Usage
from kbsite.store import folders, manifests
from kbsite.store.files import digest
from kbsite.store.folders import PARTIAL, new_run_folder
from kbsite.store.manifests import complete, manifest_findings
from kbsite.store.records import InvalidFileError
from kbsite.store.run_folders import linked_runs, run_folders
from kbsite.store.runs import UNGRADED, read_floors, read_run
from kbsite.store.writing import json_text, write_text
from tests.conftest import MakeFloors, MakeRun

NAME = "20260102_030405_claude_opus-x_softmax"


def a_run(name: str = NAME) -> Run:
    return Run(
        format=1, id=name, board="demo", problem="softmax", problem_hash=None, prompt_hash=None,
        harness="claude", harness_version=None, model="opus-x", effort=None, hardware=None,
        budget_seconds=None, started=datetime(2026, 1, 2, tzinfo=UTC), ended=None,
        end_reason=EndReason.UNKNOWN,
    )  # fmt: skip


def test_a_run_is_read_as_it_was_written(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(
        tmp_path / "demo",
        audit={"verdict": "bug", "implication": "None."},
        transcript={"stdout.jsonl": b"{}\n", "sub/a.jsonl": b""},
        files={"files/x.bin": b"\0"},
        notes=["one", "two"],
    )
    stored = read_run(folder)
    assert (stored.folder, stored.run.id) == (folder, folder.name)
    assert stored.run.notes == ("one", "two")
    assert stored.run.usage.input == 100
    assert stored.run.usage.cache_read is None
    assert stored.metrics.status is Status.PASSED
    assert stored.metrics.interval == (0.40, 0.44)
    assert stored.audit is not None
    assert stored.audit.auditor == "A. Reader"
    assert [file.name for file in stored.transcripts] == ["stdout.jsonl", "sub/a.jsonl"]
    assert stored.file("files/x.bin") is not None
    assert stored.file("../x") is None
    assert stored.findings == ()
    assert manifest_findings(stored) == []


def test_a_run_without_grade_and_audit(tmp_path: Path, make_run: MakeRun) -> None:
    stored = read_run(make_run(tmp_path / "demo", metrics=None))
    assert stored.metrics == UNGRADED
    assert stored.audit is None
    assert stored.findings == ()


@pytest.mark.parametrize(
    ("reason", "solution", "output", "status"),
    [
        (EndReason.PROVIDER, True, 9, Status.INFRA),
        (EndReason.HARNESS, False, None, Status.INFRA),
        (EndReason.HARNESS, False, 9, Status.UNGRADED),
        (EndReason.HARNESS, True, None, Status.UNGRADED),
        (EndReason.STALLED, False, 9, Status.INFRA),
        (EndReason.STALLED, True, 9, Status.UNGRADED),
        (EndReason.BUDGET, False, None, Status.UNGRADED),
        (EndReason.SIGNAL, False, None, Status.UNGRADED),
    ],
)
def test_a_run_that_provider_or_harness_spoilt_does_not_wait_for_a_grade(
    tmp_path: Path, reason: EndReason, *, solution: bool, output: int | None, status: Status
) -> None:
    partial = new_run_folder(tmp_path / "demo", NAME)
    if solution:
        (partial / "solution.py").write_text("pass")
    told = replace(a_run(), end_reason=reason, usage=Usage(output=output))
    folder = complete(partial, told, None)
    assert read_run(folder).metrics.status is status
    floor = replace(told, harness="floor", model="eager")
    (folder / "run.json").write_text(json_text(floor))
    assert read_run(folder).metrics == UNGRADED


def test_who_takes_his_solution_back_and_waits_is_not_spoilt(tmp_path: Path) -> None:
    partial = new_run_folder(tmp_path / "demo", NAME)
    (partial / "snapshots").mkdir()
    (partial / "snapshots" / "20260102T030405Z.py").write_text("pass")
    told = replace(a_run(), end_reason=EndReason.STALLED, usage=Usage(output=9))
    assert read_run(complete(partial, told, None)).metrics == UNGRADED


def test_unknown_keys_are_left_alone(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "mood": {"deep": [1]}}))
    assert read_run(folder).run.model == "opus-x"


def test_a_run_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever file the writer dies at, no run is seen, and the manifest is the last to come."""
    written: list[str] = []
    die_at = 0

    def dying(path: Path, text: str) -> None:
        if len(written) == die_at:
            raise KeyboardInterrupt
        written.append(path.name)
        write_text(path, text)

    monkeypatch.setattr(manifests, "write_text", dying)
    for die_at in range(3):
        written.clear()
        board = tmp_path / str(die_at)
        partial = new_run_folder(board, NAME)
        (partial / "solution.py").write_text("x")
        with pytest.raises(KeyboardInterrupt):
            complete(partial, a_run(), UNGRADED)
        assert not (board / NAME).exists()
        assert not (partial / "manifest.json").exists()
        assert list(run_folders(board)) == [partial]
        with pytest.raises(InvalidFileError, match="not completed"):
            read_run(partial)
    die_at = 9
    written.clear()
    folder = complete(new_run_folder(tmp_path / "b", NAME), a_run(), UNGRADED)
    assert written == ["run.json", "metrics.json", "manifest.json"]
    assert folder == tmp_path / "b" / NAME
    assert list((tmp_path / "b").iterdir()) == [folder]


def test_a_crash_before_the_last_step_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = new_run_folder(tmp_path, NAME)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", crash)
        with pytest.raises(KeyboardInterrupt):
            complete(partial, a_run(), None)
    assert (partial / "manifest.json").exists()
    with pytest.raises(InvalidFileError, match="not completed"):
        read_run(partial)


def test_the_manifest_lists_every_file_but_the_audit(tmp_path: Path, make_run: MakeRun) -> None:
    odd = os.fsdecode(b"files/caf\xe9\n")
    folder = make_run(tmp_path / "demo", audit={}, transcript={"a": b"1"}, files={odd: b"2"})
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    names = {odd, "run.json", "metrics.json", "solution.py", "transcript/a"}
    assert listed == {name: digest(folder / name) for name in names}
    assert manifest_findings(read_run(folder)) == []


def test_a_run_that_is_there_is_never_written_over(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo", run_id=NAME)
    before = digest(folder / "run.json")
    with pytest.raises(UsageError, match="already there"):
        new_run_folder(tmp_path / "demo", NAME)
    partial = new_run_folder(tmp_path / "demo", "other")
    (partial / "log").write_text("hours of work")
    with pytest.raises(UsageError, match="being written, or was broken off"):
        new_run_folder(tmp_path / "demo", "other")
    with pytest.raises(UsageError, match="already there"):
        complete(partial, a_run(), None)
    assert (partial / "log").read_text() == "hours of work"
    assert digest(folder / "run.json") == before


def test_a_folder_of_a_run_never_appears_without_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = whole.write_bytes

    def looked(path: Path, data: bytes, *, lasting: bool) -> None:
        assert path.parent.name.startswith(".")
        write(path, data, lasting=lasting)
        if path.name == "last":
            raise KeyboardInterrupt

    monkeypatch.setattr(folders, "write_bytes", looked)
    partial = new_run_folder(tmp_path, NAME, {"order.json": b"{}"})
    assert [(path.name, path.read_bytes()) for path in partial.iterdir()] == [("order.json", b"{}")]
    with pytest.raises(UsageError, match="being written, or was broken off"):
        new_run_folder(tmp_path, NAME, {"order.json": b"[]"})
    with pytest.raises(KeyboardInterrupt):
        new_run_folder(tmp_path, "other", {"order.json": b"{}", "last": b""})
    assert list(tmp_path.iterdir()) == [partial]
    assert (partial / "order.json").read_bytes() == b"{}"


def test_of_two_that_make_the_same_folder_at_once_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = whole.write_bytes

    def overtaken(path: Path, data: bytes, *, lasting: bool) -> None:
        write(path, data, lasting=lasting)
        if data == b"first":
            new_run_folder(tmp_path, NAME, {"order.json": b"second"})

    monkeypatch.setattr(folders, "write_bytes", overtaken)
    with pytest.raises(UsageError, match="being written, or was broken off"):
        new_run_folder(tmp_path, NAME, {"order.json": b"first"})
    partial = tmp_path / f"{NAME}{PARTIAL}"
    assert list(tmp_path.iterdir()) == [partial]
    assert (partial / "order.json").read_bytes() == b"second"


@pytest.mark.parametrize("name", ["../x", "a/b", "/x", "", ".", "..", ".hidden"])
def test_a_run_is_written_below_its_board(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a run's id"):
        new_run_folder(tmp_path / "demo", name)


def test_run_folders_are_found_at_any_depth_in_order(tmp_path: Path, make_run: MakeRun) -> None:
    expected = [
        make_run(tmp_path / "runs" / "a" / "old", run_id="2"),
        make_run(tmp_path / "runs" / "a" / "old", run_id="3"),
        make_run(tmp_path / "runs" / "b", run_id="1"),
    ]
    nested = expected[0] / "files" / "inner"
    nested.mkdir(parents=True)
    (nested / "run.json").write_text("{}")
    hidden = make_run(tmp_path / "runs" / "b", run_id="x")
    hidden.rename(hidden.with_name(".x"))
    (tmp_path / "runs" / "link").symlink_to(expected[0])
    (tmp_path / "runs" / "loop").symlink_to(tmp_path / "runs")
    (tmp_path / "runs" / "readme.md").write_text("x")
    (expected[1] / "files" / "away").mkdir(parents=True)
    (expected[1] / "files" / "away" / "link").symlink_to(tmp_path)
    (tmp_path / "runs" / "b" / "hard").symlink_to(tmp_path)
    (tmp_path / "runs" / "c").mkdir()
    (tmp_path / "runs" / "c" / "alone").symlink_to(expected[0])
    assert list(run_folders(tmp_path / "runs")) == expected
    assert list(run_folders(tmp_path / "none")) == []
    told = {
        Path(one.path).relative_to(tmp_path): one.message
        for one in linked_runs(tmp_path, run_folders(tmp_path))
    }
    assert [*map(str, told)] == ["runs/link", "runs/loop", "runs/b/hard", "runs/c/alone"]
    assert {*told.values()} == {"not read: a symbolic link; move or copy the folder here"}


@pytest.mark.parametrize("left", ["run.json", "manifest.json", "metrics.json", "audit.yaml"])
def test_a_folder_with_one_file_of_a_run_wants_to_be_one(tmp_path: Path, left: str) -> None:
    folder = tmp_path / "runs" / "x"
    folder.mkdir(parents=True)
    (folder / left).symlink_to("/nowhere")
    assert list(run_folders(tmp_path / "runs")) == [folder]
    with pytest.raises(InvalidFileError):
        read_run(folder)


def test_folders_as_deep_as_can_be(deep_folder: Path) -> None:
    (deep_folder / "run.json").write_text("{}")
    top = next(folder for folder in deep_folder.parents if folder.name != "d")
    assert list(run_folders(top)) == [deep_folder]


def test_a_grade_or_audit_that_cannot_be_used_is_left_out(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo", audit={})
    (folder / "metrics.json").write_text('{"format": 1,\n"status": "superb"}')
    (folder / "audit.yaml").write_text("verdict: guilty\n")
    stored = read_run(folder)
    wrong = "metrics.json line 2 cannot be used: status: Invalid enum value 'superb'"
    assert replace(stored.metrics, detail=None) == UNGRADED
    assert str(stored.metrics.detail).startswith(wrong)
    assert stored.audit is None
    kept = [(one.severity, Path(one.path).name, one.line, one.key) for one in stored.findings]
    assert kept == [
        (Severity.ERROR, "metrics.json", 2, "status"),
        (Severity.ERROR, "audit.yaml", 1, "verdict"),
        (Severity.ERROR, "audit.yaml", None, "summary"),
        (Severity.ERROR, "audit.yaml", None, "auditor"),
    ]


def test_the_id_of_a_run_is_always_its_folder_s_name(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "id": "../../out"}))
    stored = read_run(folder)
    assert stored.run.id == folder.name
    assert [one.key for one in stored.findings] == ["id"]


@pytest.mark.parametrize("value", ["../../out", "p" * 300])
@pytest.mark.parametrize("key", ["board", "problem", "harness", "hardware"])
def test_an_unsafe_id_makes_a_run_unusable(
    tmp_path: Path, make_run: MakeRun, key: str, value: str
) -> None:
    folder = make_run(tmp_path / "demo")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, key: value}, indent=1))
    with pytest.raises(InvalidFileError) as caught:
        read_run(folder)
    (error,) = caught.value.errors
    assert error.key == key
    assert error.line is not None


def test_floors(tmp_path: Path, make_floors: MakeFloors) -> None:
    assert read_floors(tmp_path) == ()
    path = make_floors(tmp_path, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1})
    assert [floor.peak_fraction for floor in read_floors(tmp_path)] == [0.1]
    path.write_text('{"format": 2, "floors": []}')
    with pytest.raises(InvalidFileError, match="format"):
        read_floors(tmp_path)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(InvalidFileError, match="symbolic link"):
        read_floors(tmp_path)


def test_a_folder_that_may_not_be_listed_hides_no_other_run(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make_run(tmp_path / "demo"), make_run(tmp_path / "demo")
    listed = os.scandir

    def denied(path: Path) -> Iterator[os.DirEntry[str]]:
        if path == first:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", denied)
        found = list(run_folders(tmp_path))
    assert found == [first, second]
