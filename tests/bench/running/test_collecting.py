"""What a session leaves is copied while it grows, within bounds, and odd things are noted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path

import pytest

from bench.harnesses.form import Kept
from bench.running import collecting
from bench.running.collecting import (
    MOST_NOTES,
    Bounds,
    Notes,
    Sidecars,
    Snapshots,
    Transcript,
    before_stars,
    no_solution,
    solution,
)
from bench.sandbox.place import MOST_NAMES, Place

KEPT = (
    Kept(glob=".cli/projects/*/*.jsonl", to="home", below=".cli/"),
    Kept(glob=".cli/**/*.json", to="home", below=".cli/"),
)


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    folder = tmp_path / "inside"
    (folder / ".cli/projects/work").mkdir(parents=True)
    return folder


@pytest.fixture(name="place")
def _place(home: Path) -> Iterator[Place]:
    place = Place(os.open(home, os.O_RDONLY | os.O_DIRECTORY))
    yield place
    place.close()


@pytest.fixture(name="notes")
def _notes() -> Notes:
    return Notes()


@pytest.fixture(name="transcript")
def _transcript(tmp_path: Path, notes: Notes) -> Transcript:
    return Transcript(KEPT, tmp_path / "transcript", notes)


def test_what_came_since_is_appended_and_nothing_else_is_read(
    home: Path, place: Place, transcript: Transcript, tmp_path: Path
) -> None:
    log, copy = home / ".cli/projects/work/a.jsonl", tmp_path / "transcript/home/projects/work"
    log.write_text("one\n")
    transcript.grow(place)
    assert (copy / "a.jsonl").read_text() == "one\n"
    # What stands in the copy stays: only what was appended is read.
    (copy / "a.jsonl").write_text("ONE\n")
    with log.open("a") as stream:
        stream.write("two\n")
    transcript.grow(place)
    assert (copy / "a.jsonl").read_text() == "ONE\ntwo\n"
    assert transcript.bytes == 8
    transcript.finish(place)
    assert (copy / "a.jsonl").read_text() == "one\ntwo\n", "at the end all is copied once more"
    assert transcript.bytes == 8


def test_a_log_that_starts_anew_or_is_no_log_is_copied_whole(
    home: Path, place: Place, transcript: Transcript, tmp_path: Path
) -> None:
    log, state = home / ".cli/projects/work/a.jsonl", home / ".cli/state.json"
    log.write_text("a long line\n")
    state.write_text('{"a": 1}')
    transcript.grow(place)
    log.write_text("short\n")
    state.write_text('{"b": 2222}')
    transcript.grow(place)
    copies = tmp_path / "transcript/home"
    assert (copies / "projects/work/a.jsonl").read_text() == "short\n"
    assert (copies / "state.json").read_text() == '{"b": 2222}'


@pytest.mark.parametrize("later", ["harmless\n", "harmless, and longer than it was\n"])
@pytest.mark.parametrize("looked", [False, True], ids=["at the end", "on the way"])
def test_what_a_session_wrote_over_in_a_log_is_kept_beside_it_and_noted(
    home: Path, place: Place, transcript: Transcript, notes: Notes, tmp_path: Path, later: str,
    looked: bool,
) -> None:  # fmt: skip
    log = home / ".cli/projects/work/a.jsonl"
    log.write_text("the evidence\n")
    transcript.grow(place)
    log.write_text(later)
    if looked:
        transcript.grow(place)
    transcript.finish(place)
    copies = tmp_path / "transcript/home/projects/work"
    assert (copies / "a.jsonl").read_text() == later
    assert (copies / "a.jsonl.before").read_text().startswith("the evidence\n")
    assert notes.sentences == (
        ".cli/projects/work/a.jsonl was written anew by the session; "
        "what it held before lies beside it, as a.jsonl.before.",
    )


def test_a_log_that_grows_or_stays_has_no_other_copy(
    home: Path, place: Place, transcript: Transcript, notes: Notes, tmp_path: Path
) -> None:
    logs = [home / f".cli/projects/work/{name}.jsonl" for name in "ab"]
    for log in logs:
        log.write_text("one\n")
    transcript.grow(place)
    logs[0].write_text("one\ntwo\n")
    transcript.finish(place)
    copies = tmp_path / "transcript/home/projects/work"
    assert {path.name for path in copies.iterdir()} == {"a.jsonl", "b.jsonl"}
    assert notes.sentences == ()


def test_what_the_session_removed_stays_and_is_noted(
    home: Path, place: Place, transcript: Transcript, notes: Notes, tmp_path: Path
) -> None:
    log = home / ".cli/projects/work/a.jsonl"
    log.write_text("evidence\n")
    transcript.grow(place)
    log.unlink()
    transcript.finish(place)
    assert (tmp_path / "transcript/home/projects/work/a.jsonl").read_text() == "evidence\n"
    assert notes.sentences == (
        ".cli/projects/work/a.jsonl was removed by the session; its copy is kept.",
    )


def test_links_and_a_file_where_a_folder_was_lead_nowhere(
    home: Path, place: Place, transcript: Transcript, notes: Notes, tmp_path: Path
) -> None:
    (tmp_path / "secret.json").write_text("of the host")
    (home / ".cli/link.json").symlink_to(tmp_path / "secret.json")
    first = home / ".cli/turn.json"
    first.write_text("a file")
    transcript.grow(place)
    first.unlink()
    first.mkdir()
    (first / "b.json").write_text("below it")
    transcript.grow(place)
    assert not (tmp_path / "transcript/home/link.json").exists()
    assert (tmp_path / "transcript/home/turn.json").read_text() == "a file"
    assert any(one.startswith(".cli/turn.json/b.json was not copied") for one in notes.sentences)


def test_a_transcript_has_bounds(
    home: Path, place: Place, transcript: Transcript, notes: Notes, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(collecting, "TRANSCRIPT", Bounds(files=2, file_bytes=10, bytes=15))
    for name in "abc":
        (home / f".cli/projects/work/{name}.jsonl").write_text("x" * 12)
    transcript.finish(place)
    copied = [path.stat().st_size for path in (tmp_path / "transcript").rglob("*.jsonl")]
    assert sum(copied) <= 15
    assert max(copied) <= 10
    assert len(copied) <= 2
    assert any("was not copied whole" in one for one in notes.sentences)


def test_junk_elsewhere_hides_no_log(
    home: Path,
    place: Place,
    transcript: Transcript,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Place, "walk", partialmethod(Place.walk, 50))
    (home / "junk").mkdir()
    for number in range(60):
        (home / "junk" / str(number)).touch()
    assert not [one for one in place.walk() if one.path.name == "a.jsonl"]
    (home / ".cli/projects/work/a.jsonl").write_text("one\n")
    transcript.finish(place)
    assert (tmp_path / "transcript/home/projects/work/a.jsonl").exists()


@pytest.mark.parametrize(
    ("glob", "folder"),
    [("a/b/*.x", "a/b"), ("a/**/c.x", "a"), ("*.x", "."), ("a/b/c.x", "a/b"), ("**/x", ".")],
)
def test_where_files_of_a_glob_can_be(glob: str, folder: str) -> None:
    assert str(before_stars(glob)) == folder


def test_a_snapshot_is_taken_of_each_change_and_of_nothing_else(
    home: Path, place: Place, notes: Notes, tmp_path: Path
) -> None:
    snapshots = Snapshots(tmp_path / "snapshots", notes)
    snapshots.look(place)
    for text in ("one", "one", "two", "one"):
        (home / "solution.py").write_text(text)
        snapshots.look(place)
        snapshots.look(place)
    copies = sorted((tmp_path / "snapshots").iterdir())
    assert {path.read_text() for path in copies} == {"one", "two"}
    assert snapshots.count == 3
    assert notes.sentences == ()


def test_snapshots_have_bounds(
    home: Path, place: Place, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "SNAPSHOTS_BYTES", 25)
    monkeypatch.setattr(collecting, "LONGEST", 10)
    snapshots = Snapshots(tmp_path / "snapshots", notes)
    for text in ("a" * 10, "b" * 11, "c" * 10, "d" * 10):
        (home / "solution.py").write_text(text)
        snapshots.look(place)
    assert snapshots.count == 2
    assert notes.sentences == (
        "solution.py was longer than 10 bytes for a time.",
        "Not every change of solution.py was copied: there were too many.",
    )


def test_a_solution_is_a_file_of_bounded_size(
    home: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (solution(place), no_solution(place)) == (None, "")
    (home / "solution.py").write_text("x" * 20)
    assert solution(place) == b"x" * 20
    monkeypatch.setattr(collecting, "SIDECARS", Bounds(files=1, file_bytes=19, bytes=99))
    assert solution(place) is None
    assert "left in the workspace: it has more than" in no_solution(place)
    (home / "solution.py").unlink()
    (home / "solution.py").mkdir()
    (home / "solution.py/kernel.py").touch()
    assert (solution(place), "is a folder" in no_solution(place)) == (None, True)


def test_sidecars_are_what_a_solution_may_need(
    home: Path, place: Place, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "SIDECARS", Bounds(files=2, file_bytes=10, bytes=15))
    for name in ("solution.py", "check.py", "a.cu", "b/c.h", "d.txt", ".git/x", "node_modules/y"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("12345")
    (home / "large.bin").write_text("x" * 11)
    Sidecars(tmp_path / "files", ["check.py"], notes).take(place)
    kept = {str(path.relative_to(tmp_path / "files")) for path in (tmp_path / "files").rglob("*")
            if path.is_file()}  # fmt: skip
    assert kept == {"a.cu", "b/c.h"}
    assert notes.sentences == (
        "d.txt (5 bytes) was left in the workspace: too much.",
        "large.bin (11 bytes) was left in the workspace: too much.",
    )


def test_folders_that_nobody_wants_hide_no_sidecar_and_too_many_names_are_told(
    home: Path, place: Place, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("walk", "crowded"):
        monkeypatch.setattr(Place, name, partialmethod(getattr(Place, name), 20))
    (home / "wanted.cu").write_text("12345")
    for folder in (".git", "node_modules", "z"):
        (home / folder).mkdir()
        for number in range(20):
            (home / folder / str(number)).touch()
        if folder != "z":
            Sidecars(tmp_path / "files", [], notes).take(place)
            assert (tmp_path / "files" / "wanted.cu").read_text() == "12345"
            assert notes.sentences == ()
    Sidecars(tmp_path / "more", [], notes).take(place)
    assert notes.sentences[0] == (
        f"In the workspace lie more than {MOST_NAMES} names: "
        "files that solution.py needs may be missing."
    )


def test_a_log_that_may_lie_among_too_many_names_is_told(
    home: Path, place: Place, transcript: Transcript, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("walk", "crowded"):
        monkeypatch.setattr(Place, name, partialmethod(getattr(Place, name), 20))
    for number in range(20):
        (home / ".cli/projects/work" / f"{number}.jsonl").touch()
    transcript.finish(place)
    said = "names: logs among them may be missing."
    assert [one.endswith(said) for one in notes.sentences] == [True, True]


def test_notes_are_few_and_each_is_said_once(notes: Notes) -> None:
    for number in range(100):
        notes.add(f"odd thing {number % 50}")
    assert len(notes.sentences) == MOST_NOTES + 1
    assert notes.sentences[-1] == "There was more of that kind, which is not listed."


def test_no_flood_of_notes_hides_one_that_there_cannot_be_many_of(notes: Notes) -> None:
    for number in range(100):
        notes.add(f"odd thing {number}")
    notes.add("check.py, which was given, was changed.", few=True)
    assert len(notes.sentences) == MOST_NOTES + 2
    assert notes.sentences[-1] == "check.py, which was given, was changed."
