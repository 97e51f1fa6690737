"""Temporary folders of processes that were killed go; those of living ones stay."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from kbsite.store import scratch
from kbsite.store.scratch import YOUNG_SECONDS, scratch_folder

HOLDS = """
import sys, time
from kbsite.store.scratch import scratch_folder
with scratch_folder("trial") as folder:
    (folder / "big").write_text("left")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch._remove_left.cache_clear()
    return tmp_path


def aged(folder: Path) -> None:
    then = time.time() - YOUNG_SECONDS - 1
    os.utime(folder, (then, then))


def test_a_folder_is_there_for_as_long_as_its_context() -> None:
    with scratch_folder("trial") as folder:
        assert folder.is_dir()
        assert folder.name.startswith("kbsite-trial-")
    assert not folder.exists()


def test_what_a_killed_process_left_goes_and_what_a_living_one_holds_stays(place: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        aged(left)
        with scratch_folder("trial"):
            assert (left / "big").is_file(), "somebody works there"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    scratch._remove_left.cache_clear()
    with scratch_folder("grade"):
        assert left.is_dir(), "of another purpose"
    with scratch_folder("trial"):
        assert not left.exists()


def test_what_is_young_a_link_or_of_another_host_stays(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = scratch._prefix("trial")
    young, old, others = place / f"{prefix}young", place / f"{prefix}old", place / "others"
    for one in (young, old, others):
        one.mkdir()
    aged(old)
    (place / f"{prefix}link").symlink_to(others)
    os.utime(place / f"{prefix}link", (0, 0), follow_symlinks=False)
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "elsewhere")
        with scratch_folder("trial"):
            assert old.is_dir()
    with scratch_folder("trial"):
        assert not old.exists()
    assert young.is_dir()
    assert others.is_dir()
