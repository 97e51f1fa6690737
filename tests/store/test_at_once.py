"""A file is read whole by few calls, though it grows meanwhile; no link is followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.store.at_once import read_at_once


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
