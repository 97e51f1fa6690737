"""What a Ray cluster costs beside processes of one machine: `python -m benchmarks.far`.

Built anew are sessions of a megabyte, and runs so small that what is said of each counts: by two
processes, and by a cluster of one node with two processors on this machine, in turns. It prints
what was measured and judges nothing: times hang on the machine and on what else it does; processor
time does so less. Of a cluster it is that of the build's process, of those that do tasks, looked at
until they end, and of Ray's own.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from rich.console import Console
from rich.table import Table

from benchmarks.builds import put_aside, spent
from benchmarks.many import write_many
from benchmarks.session import write_session
from kbsite.importers.transcript import import_transcripts

_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK = 0.02
"""Seconds between two looks at the processes of a cluster."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a build took, in seconds."""

    wall: float
    driver: float
    """Processor time of the build's process, and of its copies."""
    workers: float = 0.0
    ray: float = 0.0

    @property
    def processor(self) -> float:
        """Processor time of all."""
        return self.driver + self.workers + self.ray


class Watch:
    """Looks at the processes below one while it holds: what they take, tasks and Ray's own."""

    def __init__(self, above: int) -> None:
        self.workers = self.ray = 0.0
        """Seconds of processor time."""
        self._above = above
        self._seen: dict[int, tuple[bool, float]] = {}
        self._over = Event()

    def __enter__(self) -> Watch:
        self._before = below(self._above)
        self._looker = Thread(target=self._look, daemon=True)
        self._looker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looker.join()
        for pid, (works, taken) in self._seen.items():
            own = taken - self._before.get(pid, (works, 0.0))[1]
            self.workers, self.ray = self.workers + own * works, self.ray + own * (not works)

    def _look(self) -> None:
        while not self._over.wait(_LOOK):
            for pid, (works, taken) in below(self._above).items():
                # One that has ended, and that nobody took leave of, has no name any more.
                self._seen[pid] = works or self._seen.get(pid, (False, 0.0))[0], taken


def below(above: int) -> dict[int, tuple[bool, float]]:
    """The processes below one: whether each does tasks, and its seconds of processor time."""
    found: dict[int, tuple[int, bool, float]] = {}
    for path in Path("/proc").iterdir():
        with suppress(OSError):
            if path.name.isdigit():
                said = (path / "stat").read_text().rpartition(")")[2].split()
                title = (path / "cmdline").read_bytes()
                works = title.startswith(b"ray::") and b"Agent" not in title
                found[int(path.name)] = int(said[1]), works, sum(map(int, said[11:13])) / _TICKS
    inside, waiting = set[int](), {above}
    while waiting:
        inside |= waiting
        waiting = {pid for pid, (parent, _, _) in found.items() if parent in waiting} - inside
    return {pid: found[pid][1:] for pid in inside & found.keys()}


@contextmanager
def cluster(processors: int) -> Iterator[tuple[str, int]]:
    """A cluster of one node: its address, and the process that all of it descends from."""
    program = str(Path(sys.executable).with_name("ray"))
    # Names of sockets have 107 letters at most.
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as home:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [
            "start", "--head", "--block", f"--port={port}", f"--num-cpus={processors}",
            f"--temp-dir={home}/ray", "--node-ip-address=127.0.0.1", "--include-dashboard=false",
            "--object-store-memory=500000000", "--disable-usage-stats",
        ]  # fmt: skip
        said = Path(home, "said")
        with said.open("wb") as log:
            held = subprocess.Popen([program, *words], stdout=log, stderr=log)  # noqa: S603 - ours
        try:
            while b"Ray runtime started" not in said.read_bytes():
                if held.poll() is not None:
                    raise SystemExit(said.read_text())
                time.sleep(0.1)
            yield f"127.0.0.1:{port}", held.pid
        finally:
            held.terminate()
            held.wait()


def costs(home: Path, times: int, address: str, above: int) -> dict[str, list[Cost]]:
    """What building what lies in a folder costs, from nothing: by two processes, and far away."""
    own = [sys.executable, "-m", "kbsite", "build", "--runs", str(home / "runs"), "--fresh"]
    # What is made on this machine alone knows nothing of the cluster; both are given its address.
    os.environ["RAY_ADDRESS"] = address
    made: dict[str, list[Cost]] = {"--jobs 2": [], "--engine ray": []}
    config = home / "kbsite.yaml"
    for _ in range(times):
        for words, held in made.items():
            put_aside(home / "out")
            command = [*own, "--config", str(config), "--out", str(home / "out" / "site")]
            with Watch(above) as watch:
                one = spent([*command, *words.split()])
            held.append(Cost(one.wall, one.processor, watch.workers, watch.ray))
    return made


def table(measured: Mapping[str, Mapping[str, Sequence[Cost]]]) -> Table:
    """What was measured, for a terminal: of each the build with the least processor time."""
    shown = Table(title="first builds, by two processors of this machine")
    for head in ("", "", "wall s", "CPU s", "build", "tasks", "Ray", "of two processes' CPU"):
        shown.add_column(head, justify="right" if head else "left")
    for name, held in measured.items():
        least = {words: min(made, key=lambda one: one.processor) for words, made in held.items()}
        first = next(iter(least.values()))
        for words, one in least.items():
            shown.add_row(
                name, words, f"{one.wall:.1f}", f"{one.processor:.1f}", f"{one.driver:.1f}",
                f"{one.workers:.1f}", f"{one.ray:.1f}", f"{one.processor / first.processor:.2f} x",
            )  # fmt: skip
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=20, help="of a megabyte each")
    parser.add_argument("--runs", type=int, default=2_000, help="that are small")
    parser.add_argument("--times", type=int, default=2, help="how often each is built")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as name, cluster(2) as (address, above):
        sessions, small = Path(name, "sessions"), Path(name, "small")
        small.mkdir()
        write_sessions(sessions, options.sessions)
        write_many(small, options.runs)
        measured = {
            f"{options.sessions} sessions of 1 MB": costs(sessions, options.times, address, above),
            f"{options.runs:,} small runs": costs(small, options.times, address, above),
        }
    Console(width=max(110, Console().width)).print(table(measured))


def write_sessions(home: Path, count: int) -> None:
    """Write settings, and so many runs of a session of a megabyte."""
    (home / "files").mkdir(parents=True)
    (home / "kbsite.yaml").write_text("title: Sessions\n")
    files = [home / "files" / f"session-{number}.jsonl" for number in range(count)]
    for file in files:
        write_session(file, 1_000_000)
        import_transcripts([file], home / "runs" / "bench")


if __name__ == "__main__":
    main()
