"""Two nodes of Ray on this machine, each in a box of its own that holds no file of the driver."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_Box = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Nodes:
    """A cluster."""

    address: str
    boxes: Sequence[_Box]
    """The first process of each node; what it ends with ends the whole node."""

    def at_work(self) -> list[tuple[int, int]]:
        """The processes that do a task of a build just now, each with the number of its node."""
        found = []
        for pid in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]:
            if _title(pid).startswith(b"ray::kbsite build"):
                above = [*_above(pid)]
                found += [(n, pid) for n, box in enumerate(self.boxes) if box.pid in above]
        return found


def _title(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _above(pid: int) -> Iterator[int]:
    """The processes that a process descends from."""
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except OSError:
            return
        yield pid


@contextmanager
def two_nodes(hidden: Path) -> Iterator[Nodes]:
    """A cluster of two nodes with a processor each, of which nobody is left after this.

    Their processes find a folder empty that the driver has full, and each node has a folder of
    temporary files that the other does not see.
    """
    # Names of sockets have 107 letters at most: tmp_path is too long.
    with tempfile.TemporaryDirectory(prefix="kb-ray-", ignore_cleanup_errors=True) as home:
        homes = [Path(home, name) for name in "12"]
        for folder in homes:
            (folder / "tmp").mkdir(parents=True)
        address = f"127.0.0.1:{_free_port()}"
        head = ["--head", f"--port={address.rpartition(':')[2]}", "--include-dashboard=false",
                "--no-monitor"]  # fmt: skip
        boxes: list[_Box] = []
        try:
            boxes.append(_node(homes[0], [hidden, homes[1]], head))
            _begun(boxes[0], homes[0])
            boxes.append(_node(homes[1], [hidden, homes[0]], [f"--address={address}"]))
            _begun(boxes[1], homes[1])
            yield Nodes(address, boxes)
        finally:
            for box in boxes:
                box.kill()
                box.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _node(own: Path, hidden: Sequence[Path], words: Sequence[str]) -> _Box:
    bwrap = shutil.which("bwrap")
    assert bwrap, "bwrap is not installed; on Debian it is the package bubblewrap"
    covers = [word for folder in hidden for word in ("--tmpfs", str(folder))]
    box = [bwrap, "--dev-bind", "/", "/", *covers, "--unshare-pid", "--proc", "/proc",
           "--die-with-parent"]  # fmt: skip
    program = str(Path(sys.executable).with_name("ray"))
    node = [program, "start", "--block", *words, "--node-ip-address=127.0.0.1", "--num-cpus=1",
            f"--temp-dir={own}", "--object-store-memory=80000000",
            "--disable-usage-stats", "--include-log-monitor=false"]  # fmt: skip
    environment = {
        **os.environ, "TMPDIR": str(own / "tmp"), "RAY_object_store_minimum_memory_bytes": "1",
        "RAY_prestart_worker_first_driver": "0",
    }  # fmt: skip
    with (own / "said").open("wb") as said:
        return subprocess.Popen([*box, *node], env=environment, stdout=said, stderr=said)


def _begun(box: _Box, own: Path) -> None:
    """Wait until a node takes tasks."""
    said, end = own / "said", time.monotonic() + 120
    while b"Ray runtime started" not in said.read_bytes():
        assert box.poll() is None, said.read_text()
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.1)
