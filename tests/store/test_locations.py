"""What people write for places: paths, file URLs, URLs of buckets, and what is none of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kbsite.errors import UsageError
from kbsite.model.config import Config
from kbsite.store.locations import Location, place
from kbsite.store.records import InvalidFileError
from kbsite.store.settings import Settings, moved, read_settings
from kbsite.user_cache import CACHE, cache_folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("runs", Path("runs")),
        ("/data/runs", Path("/data/runs")),
        ("a:b", Path("a:b")),
        ("file:///data/my%20runs", Path("/data/my runs")),
        ("file://localhost/data", Path("/data")),
        ("file:///a%23b%3F/%ff", Path(f"/a#b?/{os.fsdecode(bytes([255]))}")),
        ("s3://bench", Location("s3", "bench", "")),
        ("s3://bench/", Location("s3", "bench", "")),
        ("S3A://bench/a/b/", Location("s3", "bench", "a/b")),
        ("gcs://bench/runs", Location("gs", "bench", "runs")),
        ("gs://bench/runs", Location("gs", "bench", "runs")),
    ],
)
def test_a_place_is_a_path_or_a_place_in_a_bucket(text: str, expected: Path | Location) -> None:
    assert place(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "s3://", "s3://x", "s3:///runs", "s3://bench/../other", "s3://bench/a//b", "s3://bench/a/.",
        "s3://bench/a?b", "s3://bench/*", "s3://bench:9000/runs", "https://bench/runs",
        "simplecache::s3://bench/runs", "file::s3://bench", "file://host/runs", "file://",
        "s3://be nch/a", "s3://bench/a\nb", "memory://x", "file:///data/a%00b", "file:///data/a#b",
        "file:///data/a?b",
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        place(text)


@pytest.mark.parametrize(
    "text",
    ["s3://KEY:s3cret@bench/runs", "https://KEY:s3cret@host/runs", "x://s3cret", "file://s3cret/a"],
)
def test_what_may_hold_credentials_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        place(text)
    assert "s3cret" not in str(raised.value)


def test_copies_of_buckets_lie_in_the_cache_and_never_in_one_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "kbsite"
    monkeypatch.setenv(CACHE, str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"

    one, two = Location("s3", "bench", "a/runs"), Location("s3", "bench", "b/runs")
    folders = {
        one.folder(tmp_path, "", "x"), two.folder(tmp_path, "", "x"),
        one.folder(tmp_path, "http://other", "x"),
    }  # fmt: skip
    assert len(folders) == 3
    assert {folder.name for folder in folders} == {"runs"}
    assert Location("s3", "bench", "").folder(tmp_path, "", "site").name == "site"


def test_a_path_on_the_command_line_takes_the_place_of_a_bucket(tmp_path: Path) -> None:
    bucket = Location("s3", "bench", "runs")
    settings = Settings(Config(), tmp_path, tmp_path, tmp_path)
    remote = moved(settings, bucket, bucket)

    assert (remote.runs_at, remote.out_at) == (bucket, bucket)
    assert remote.runs != tmp_path != remote.out
    assert moved(remote, tmp_path, tmp_path) == settings
    assert moved(remote, None, None) == remote


def test_a_wrong_url_in_kbsite_yaml_is_told_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "kbsite.yaml").write_text("out: s3://KEY:s3cret@bench/site\n")
    with pytest.raises(InvalidFileError, match=re.escape("kbsite.yaml:1: out: s3://...")) as raised:
        read_settings(tmp_path / "kbsite.yaml")
    assert "s3cret" not in str(raised.value)
