"""Files of runs are copied into the site as they are, whatever lay in their place."""

from __future__ import annotations

import errno
import io
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kbsite import output
from kbsite.build import build
from kbsite.hiding.files import Seen
from kbsite.hiding.looking import Looking
from kbsite.model.config import Redact
from kbsite.model.finding import Severity
from kbsite.model.redaction import Span
from kbsite.model.work import Work
from kbsite.output import Copy, Output
from kbsite.redaction.scan import Found, Looker
from kbsite.store.files import Stored
from tests.conftest import MakeRun, MakeSettings

SECRET = "ghp_" + "x9Kq2Lm8Vt4Zr7Yw1Bn5Cd3Fg6Hj0PsQaUe"


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


@pytest.mark.parametrize("allow", [(), ({"text": "of somebody else"},)])
@pytest.mark.parametrize("becomes", ["gone", "a link", "a pipe", "empty"])
def test_files_that_become_something_else_while_they_are_looked_at_stop_no_build(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch,
    becomes: str, allow: tuple[dict[str, str], ...],
) -> None:  # fmt: skip
    told = f"the key is {SECRET}\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", told)
    held = {"files/a.txt": told, "files/a.zip": packed.getvalue(), "files/crowded.txt": told * 9000}
    settings = make_settings(tmp_path, site={"redact": {"allow": list(allow)}})
    run = make_run(settings.runs / "demo", files=held)
    (tmp_path / "secret").write_bytes(told)
    first: list[object] = []

    name = "value" if allow else "again"
    own = getattr(Seen, name)

    def swapped(*args: object) -> object:
        for file in () if first else held:
            become(run / file, becomes, tmp_path / "secret")
        first.append(args)
        return own(*args)

    monkeypatch.setattr(Seen, name, swapped)
    built = build(settings)

    assert first
    shown = [path for path in built.out.rglob("*") if path.is_file()]
    assert not [path for path in shown if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("through_link", [False, True])
@pytest.mark.parametrize("swapped", ["files", "files/inner"])
def test_a_folder_that_becomes_a_link_while_it_is_looked_at_leads_nowhere(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch,
    swapped: str, through_link: bool,
) -> None:  # fmt: skip
    """A run that is still written, by somebody whose word is not to be taken for anything."""
    private = b"of somebody else, who shows it to nobody\n"
    settings = make_settings(tmp_path)
    if through_link:
        settings.runs.rename(tmp_path / "elsewhere")
        settings.runs.symlink_to(tmp_path / "elsewhere")
    run = make_run(settings.runs / "demo", files={"files/inner/a.txt": b"mine\n"})
    for folder in ("home", "home/inner"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_bytes(private)
    own = Seen.again
    first: list[object] = []

    def swap(*args: Any) -> Any:
        if not first:
            (run / swapped).rename(tmp_path / "before")
            (run / swapped).symlink_to(tmp_path / "home" / Path(swapped).relative_to("files"))
        first.append(args)
        return own(*args)

    monkeypatch.setattr(Seen, "again", swap)
    built = build(settings)

    assert first
    shown = [path for path in built.out.rglob("*") if path.is_file()]
    assert not [path for path in shown if private in path.read_bytes()]
    assert [one.message.partition(";")[0] for one in built.findings if "a.txt" in one.path] == [
        f"not in the site: {os.strerror(errno.ELOOP)}"
    ]


def become(path: Path, what: str, secret: Path) -> None:
    """Let something else stand in the place of a file."""
    path.unlink()
    if what == "a link":
        path.symlink_to(secret)
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "empty":
        path.touch()


@pytest.mark.parametrize("at_once", [1 << 20, 10])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_whose_disk_fails_while_it_is_copied_is_told_and_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, packed: bool
) -> None:
    monkeypatch.setattr(output, "_AT_ONCE", at_once)
    monkeypatch.setattr(Stored, "stream", lambda _: io.BufferedReader(Failing(), 5))
    (tmp_path / "a").write_bytes(bytes(20))
    made = Output(tmp_path / "site", Work())
    file = Stored("a", str(tmp_path / "a"), 20, (Span(1, 2, "key"),))

    (error,) = made.copy([Copy(file, "raw/a", same=False, compressed=packed)])

    assert (error.filename, error.errno) == (str(tmp_path / "a"), errno.EIO)
    assert not list(made.folder.rglob("a"))


class Failing(io.RawIOBase):
    """A file of which the disk gives ten bytes."""

    left = 10

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return 10 - self.left

    def readinto(self, room: Any) -> int:
        if not self.left:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.left -= 5
        room[:5] = b"abcde"
        return 5


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
