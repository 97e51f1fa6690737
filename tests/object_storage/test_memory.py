"""Large files pass through little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.object_storage.conftest import Storage
from tests.object_storage.sites import write_site

SIZE = 24 << 20
MOST = 40 << 20
PROGRAM = """
import re, sys
from pathlib import Path
from kbsite.object_storage import mirror, open_bucket, publish
from kbsite.store.locations import Location

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

bucket, runs, site = sys.argv[1:]
publish(open_bucket(Location("s3", bucket, "warm")), Path(site) / "small")
before = peak()
publish(open_bucket(Location("s3", bucket, "runs")), Path(site) / "large")
print(peak() - before)
mirror(open_bucket(Location("s3", bucket, "runs")), Path(runs))
print(peak() - before)
"""


def test_a_large_file_is_sent_and_fetched_in_little_memory(
    tmp_path: Path, storage: Storage
) -> None:
    write_site(tmp_path / "site" / "small", {"index.html": "small"})
    large = write_site(tmp_path / "site" / "large", {"index.html": "large"})
    with (large / "data.bin").open("wb") as stream:
        stream.truncate(SIZE)
    runs = tmp_path / "cache" / "runs"
    program = [sys.executable, "-c", PROGRAM, storage.name, str(runs), str(tmp_path / "site")]
    told = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    sending, both = (int(line) * 1024 for line in told.split())

    assert sending < MOST
    assert both < MOST
    with (runs / "data.bin").open("rb") as stream:
        assert stream.seek(0, 2) == SIZE
    assert storage.head("runs/data.bin")["ETag"].strip('"').endswith("-5")
