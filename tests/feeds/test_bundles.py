"""Bundles: what they hold counts, not which version of zstd packed it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from zstandard import ZstdCompressor, ZstdDecompressor

from kbsite.feeds import bundles
from kbsite.store.files import Stored


@pytest.fixture(name="made")
def _made(tmp_path: Path) -> bytes:
    path = tmp_path / "solution.py"
    path.write_bytes(b"x = 1\n" * 1000)
    return bundles.bundle("run", [Stored("solution.py", str(path), 6000)])


def _again(change: Callable[[bytes], bytes], made: bytes) -> bytes:
    tar = ZstdDecompressor().decompressobj().decompress(made)
    return ZstdCompressor(level=1).compress(change(tar))


def test_a_bundle_that_another_version_packed_is_the_same(made: bytes) -> None:
    again = _again(lambda tar: tar, made)

    assert again != made
    assert bundles.same(made, again)


@pytest.mark.parametrize(
    "change",
    [
        lambda tar: tar.replace(b"x = 1", b"x = 2", 1),
        lambda tar: tar + b"more",
        lambda tar: tar[:-1],
        lambda _: b"",
    ],
)
def test_a_bundle_that_holds_something_else_is_not(
    change: Callable[[bytes], bytes], made: bytes
) -> None:
    assert not bundles.same(made, _again(change, made))


@pytest.mark.parametrize(
    "spoilt", [lambda _: b"", lambda made: made + b"\0", lambda made: made + made,
               lambda made: made[:-1], lambda _: b"no archive"],
)  # fmt: skip
def test_what_is_not_one_whole_archive_is_not(
    spoilt: Callable[[bytes], bytes], made: bytes
) -> None:
    assert not bundles.same(made, spoilt(made))
