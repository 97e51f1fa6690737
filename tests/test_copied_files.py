"""Files of runs are copied into the site as they are, whatever lay in their place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from kbsite import output
from kbsite.build import build
from kbsite.hiding.looking import Looking
from kbsite.model.config import Redact
from kbsite.model.finding import Severity
from kbsite.model.work import Work
from kbsite.output import Copy, Output
from kbsite.redaction.scan import Found, Looker
from kbsite.store.files import Stored
from tests.conftest import MakeRun, MakeSettings


@pytest.mark.parametrize("at_once", [1 << 20, 10])
def test_a_copy_holds_the_same_and_writes_to_no_other_name_of_what_lay_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(output, "_AT_ONCE", at_once)
    data = bytes(range(256))
    given = tmp_path / "a.bin"
    given.write_bytes(data)
    made = Output(tmp_path / "site", Work())
    held = tmp_path / "held"
    held.write_bytes(b"of the site that stands")
    lain = made.folder / "raw" / "lain.bin"
    lain.parent.mkdir(parents=True)
    lain.hardlink_to(held)
    file = Stored("a.bin", str(given), len(data))

    made.copy([Copy(file, "raw/lain.bin", same=False), Copy(file, "new/a.bin", same=False)])

    assert [path.read_bytes() for path in (lain, made.folder / "new" / "a.bin")] == [data, data]
    assert held.read_bytes() == b"of the site that stands"
    assert set(made.placed.written) == {"raw/lain.bin", "new/a.bin"}


@pytest.mark.parametrize("at_once", [1 << 20, 10])
@pytest.mark.parametrize("gone", ["deleted", "a link by now"])
def test_a_file_that_is_gone_when_it_is_copied_is_told_and_the_others_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, gone: str
) -> None:
    monkeypatch.setattr(output, "_AT_ONCE", at_once)
    made = Output(tmp_path / "site", Work())
    files = [Stored(name, str(tmp_path / name), 20) for name in ("here", "gone")]
    (tmp_path / "here").write_bytes(bytes(20))
    if gone != "deleted":
        (tmp_path / "gone").symlink_to("/etc/hostname")

    unread = made.copy(
        Copy(file, f"raw/{file.name}{'.gz' * packed}", same=False, compressed=packed)
        for packed in (False, gone == "deleted")
        for file in reversed(files)
    )

    assert {error.filename for error in unread} == {str(tmp_path / "gone")}
    assert made.placed.written
    assert all(path.startswith("raw/here") for path in made.placed.written)
    assert not list((made.folder / "raw").glob("gone*"))


def test_a_run_that_loses_a_file_while_it_is_built_stops_no_build(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(settings.runs / "demo", files={"files/a.txt": b"a", "files/b.txt": b"b"})
    gone = run / "files" / "a.txt"
    copied = Output.copy

    def copy(self: Output, sources: Iterable[Copy]) -> list[OSError]:
        gone.unlink(missing_ok=True)
        return copied(self, sources)

    monkeypatch.setattr(Output, "copy", copy)
    built = build(settings)
    (finding,) = (one for one in built.findings if one.path == str(gone))

    assert finding.severity is Severity.ERROR
    assert "build once more" in finding.message
    held = built.out / "runs" / run.name / "raw" / "files"
    assert [path.name for path in held.iterdir()] == ["b.txt.txt"]
    monkeypatch.undo()
    assert not [one for one in build(settings).findings if one.path == str(gone)]


def test_what_stands_in_the_name_of_a_file_is_looked_for_once_and_hidden_in_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "for-somebody@fabrikam.io"
    (tmp_path / name).write_bytes(b"nothing")
    looked: list[bytes] = []
    look = Looker.look

    def counted(self: Looker, data: bytes, start: int = 0, end: int | None = None) -> Found:
        looked.append(data)
        return look(self, data, start, end)

    monkeypatch.setattr(Looker, "look", counted)
    looking = Looking(Redact())
    files = [Stored(name, str(tmp_path / name), 7)]
    first, second = looking.look("board/one", files), looking.look("board/two", files)

    assert first.names == second.names
    assert "somebody" not in first.names[name]
    assert looked.count(name.encode()) == 1
