"""Large files pass through little memory."""

from __future__ import annotations

import multiprocessing
import re
from pathlib import Path

import pytest

from kbsite.object_storage import mirror, open_bucket, publish
from kbsite.store.locations import Location
from tests.object_storage.conftest import Storage
from tests.object_storage.sites import write_site

FORK = multiprocessing.get_context("fork")
# What is forked here does nothing with the threads of the service.
pytestmark = pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
SIZE = 64 << 20
MOST = 48 << 20
"""In parts it was 40 to 43 MB in 27 measurements, of files of 12 to 200 MB alike: some megabytes
depend on which threads the libraries choose. Whoever holds such a file whole, even once and without
the copies that the libraries make, needs more than this."""


def test_a_large_file_is_sent_and_fetched_in_little_memory(
    tmp_path: Path, storage: Storage
) -> None:
    write_site(tmp_path / "small", {"index.html": "small"})
    large = write_site(tmp_path / "large", {"index.html": "large"})
    with (large / "data.bin").open("wb") as stream:
        stream.truncate(SIZE)
    process = FORK.Process(target=_transfer, args=(storage.name, tmp_path))
    process.start()
    process.join()
    sending, both = map(int, (tmp_path / "told").read_text().split())

    assert sending < MOST
    assert both < MOST
    assert (tmp_path / "cache" / "runs" / "data.bin").stat().st_size == SIZE
    assert storage.head("runs/data.bin")["ETag"].strip('"').endswith("-13")


def _transfer(bucket: str, folder: Path) -> None:
    """Send and fetch, and write down by how many bytes the process grew at most."""
    publish(open_bucket(Location("s3", bucket, "small")), folder / "small")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _peak()
    publish(open_bucket(Location("s3", bucket, "runs")), folder / "large")
    sending = _peak() - before
    mirror(open_bucket(Location("s3", bucket, "runs")), folder / "cache" / "runs")
    (folder / "told").write_text(f"{sending} {_peak() - before}")


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024
