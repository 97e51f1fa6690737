"""A file is read whole by few calls, though it grows meanwhile; no link is followed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from kbsite.errors import InputError
from kbsite.regular import read_regular
from kbsite.store.at_once import read_at_once
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
