"""A file of a folder that nobody sees yet is written anew, never into what stands there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kbsite.store.writing import write_new, write_pieces

Write = Callable[[Path, bytes], object]


@pytest.mark.parametrize(
    "write",
    [write_new, lambda path, data: write_pieces(path, [data.decode()])],
    ids=["whole", "in pieces"],
)
def test_a_name_is_taken_over_and_its_file_left_as_it_is(write: Write, tmp_path: Path) -> None:
    """The files of a spare are those of the site that stands, by other names."""
    site, spare = tmp_path / "site", tmp_path / "spare" / "deep" / "page"
    write(spare, b"old")
    site.hardlink_to(spare)

    write(spare, b"new")

    assert (site.read_bytes(), spare.read_bytes()) == (b"old", b"new")


def test_what_a_link_leads_to_is_left_as_it_is(tmp_path: Path) -> None:
    other, place = tmp_path / "other", tmp_path / "place"
    other.write_bytes(b"theirs")
    place.symlink_to(other)

    write_new(place, b"ours")

    assert (other.read_bytes(), place.read_bytes()) == (b"theirs", b"ours")
    assert not place.is_symlink()
