from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from kbsite.store import nameless as module
from kbsite.store.nameless import nameless


def folder_of(descriptor: int) -> str:
    """Where a file lies that has lost its name."""
    return os.path.dirname(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH120, PTH115


def test_it_lies_on_the_disk_unless_somebody_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ON_DISK", str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    with nameless() as file:
        assert folder_of(file.fileno()) == str(tmp_path)
        assert os.fstat(file.fileno()).st_nlink == 0
        assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("TMPDIR", "/somewhere")
    with nameless() as file:
        assert folder_of(file.fileno()) != str(tmp_path)


def test_without_such_a_folder_it_lies_where_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ON_DISK", str(tmp_path / "none"))
    monkeypatch.delenv("TMPDIR", raising=False)
    with nameless() as file:
        file.write(b"x")
        assert folder_of(file.fileno()) == tempfile.gettempdir()
