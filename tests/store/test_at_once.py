"""A file is read whole by few calls, though it grows meanwhile; no link is followed."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kbsite.errors import InputError
from kbsite.regular import read_regular
from kbsite.store import at_once
from kbsite.store.at_once import read_at_once, root
from kbsite.store.files import contents, digest, sent_along
from kbsite.store.inputs import input_of
from kbsite.verifying.places import FolderPlace


@pytest.mark.parametrize("size", [0, 3, 6, 600])
def test_all_of_a_file_is_read_whatever_size_it_was_said_to_have(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(b"abcdef")

    assert read_at_once(str(tmp_path / "file"), size) == b"abcdef"


def test_of_a_file_that_grew_no_more_is_read_than_shows_that_it_is_too_large(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1_000_000)
    held = read_at_once(str(tmp_path / "file"), 10, most=100)

    assert 100 < len(held) < 100_000


def test_a_link_that_took_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    (tmp_path / "file").symlink_to(tmp_path / "secret")

    with pytest.raises(OSError, match="file"):
        read_at_once(str(tmp_path / "file"), 6)


@pytest.mark.parametrize("way", ["runs", "link", "link/../runs", "./runs", "/runs"])
def test_below_a_folder_that_was_named_no_link_to_a_folder_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Links on the way there are whose who named it, and may lead elsewhere the next time."""
    monkeypatch.chdir(tmp_path)
    runs = f"{tmp_path}{way}" if way.startswith("/") else way
    for folder in ("runs/one", "beside/one", "beside/deep", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text(folder)
    for leads in ("runs", "beside"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(leads if way == "link" else "beside/deep")
        if way == "link/../runs" and leads == "runs":
            (tmp_path / "beside" / "runs").symlink_to("../runs")
        root(runs)
        held = leads if way == "link" else "runs"
        assert read_at_once(f"{runs}/one/file", 9) == f"{held}/one".encode()
    (tmp_path / held / "one").rename(tmp_path / held / "before")
    assert read_at_once(f"{runs}/before/file", 9) == f"{held}/one".encode()
    (tmp_path / held / "one").symlink_to(tmp_path / "outside")

    with pytest.raises(OSError, match="symbolic links") as raised:
        read_at_once(f"{runs}/one/file", 9)
    assert (raised.value.errno, raised.value.filename) == (errno.ELOOP, f"{runs}/one/file")


def test_nothing_is_told_of_what_lies_where_a_link_leads_that_took_the_place_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a-name-of-nobodys-business").touch()
    (tmp_path / "run" / "logs").mkdir(parents=True)
    (tmp_path / "run" / "solution.py").touch()
    logs = tmp_path / "run" / "logs"

    def swapped(call: Callable[..., Any]) -> Callable[..., Any]:
        def late(place: Any, *more: Any) -> Any:
            if str(place).endswith("/logs/") and not logs.is_symlink():
                logs.rename(tmp_path / "before")
                logs.symlink_to(tmp_path / "outside")
            return call(place, *more)

        return late

    monkeypatch.setattr(os, "open", swapped(os.open))
    monkeypatch.setattr(os, "scandir", swapped(os.scandir))
    kept, refused = contents(tmp_path / "run")
    assert [file.name for file in kept] == ["solution.py"]
    assert "nobodys" not in str(refused)
    assert [(one.name, one.reason) for one in refused] == [
        ("logs/", "cannot be listed: Too many levels of symbolic links")
    ]


def test_what_is_replaced_right_after_it_was_opened_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("before")
    root(str(tmp_path))
    opened = os.open

    def replaced(path: str, flags: int) -> int:
        descriptor = opened(path, flags)
        (tmp_path / "new").write_text("after")
        (tmp_path / "new").rename(path)
        return descriptor

    monkeypatch.setattr(os, "open", replaced)
    assert read_at_once(str(tmp_path / "file"), 6) == b"before"


def test_a_file_that_is_called_as_if_it_was_deleted_is_read(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "link").symlink_to("runs")
    (tmp_path / "runs" / "file (deleted)").write_text("held")
    root(str(tmp_path / "link"))
    assert read_at_once(str(tmp_path / "link" / "file (deleted)"), 4) == b"held"


def test_where_no_system_tells_where_something_lies_files_are_read_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold(_: int) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(at_once, "_place", untold)
    (tmp_path / "file").write_text("held")
    root(str(tmp_path))
    assert read_at_once(str(tmp_path / "file"), 4) == b"held"


@pytest.mark.parametrize("size", [6, 1_000_000])
def test_a_pipe_that_took_the_place_of_a_file_keeps_nobody_waiting(
    tmp_path: Path, size: int
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * size)
    (stored,), status = contents(tmp_path)[0], file.lstat()
    place = FolderPlace(tmp_path)
    file.unlink()
    os.mkfifo(file)
    with _waiting_at_most(20):
        assert stored.read() == place.read("file") == b""
        assert digest(file) == sha256().hexdigest()
        assert input_of(str(file), status, None)


@contextmanager
def _waiting_at_most(seconds: int) -> Iterator[None]:
    """Raises TimeoutError where the system lets somebody wait for longer than that."""

    def strike(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, strike)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_what_is_sent_along_is_the_file_itself_and_never_what_a_link_leads_to(
    tmp_path: Path,
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "file").write_text("of the run")
    (tmp_path / "secret").write_text("hidden")
    files = contents(tmp_path / "run")[0]

    assert [read() for read in sent_along(files)] == [b"of the run"]
    files[0].path.unlink()
    files[0].path.symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="file"):
        sent_along(files)[0]()


def test_a_record_in_whose_place_a_link_stands_by_now_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, secret = tmp_path / "run.json", tmp_path / "secret"
    record.write_text("{}")
    secret.write_text("hidden")
    seen = record.lstat()
    record.unlink()
    record.symlink_to(secret)
    monkeypatch.setattr(Path, "lstat", lambda _: seen)

    with pytest.raises(InputError, match="cannot be read"):
        read_regular(record, 100)
    assert read_regular(record, 100, links=True) == b"hidden"
