"""Kill what drives, carries and supervises a sweep, again and again, and see whether it is whole.

    python scripts/sweep_chaos.py --executor local --runs 40 --kills 20
    python scripts/sweep_chaos.py --executor ray --runs 40 --kills 20

A real CLI works on a real problem in a real sandbox; the model's turns are a script. Drivers,
workers and supervisors are killed with SIGKILL by chance, and a killed driver is followed by
`resume`. At the end each cell has to have one run that counts, no session may have been started
again but one that was under way at a kill, ledger and disk have to say the same, and no process
may be left. It prints what it saw; the exit code is 1 where something does not hold.

`--driver PROGRAM` drives the sweep with another program than `kbsite bench sweep resume`; it gets
the sweep's file and the folders of runs and problems. Tests do so, with stand-ins for CLIs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

import yaml

from bench.sweeps.ledger import Ledger, Try
from bench.sweeps.shelf import Shelf
from bench.sweeps.states import Kind, Outcome, State
from bench.sweeps.tries import HIDDEN, Holder, alive, holder
from kbsite.store.folders import PARTIAL
from kbsite.store.manifests import manifest_findings
from kbsite.store.runs import read_run

ROOT = Path(__file__).parents[1]
NAME = "chaos"
SUBREAPER = "RAY_kill_child_processes_on_worker_exit_with_raylet_subreaper"
PATIENCE_SECONDS = 1800.0
_SET_CHILD_SUBREAPER = 36


@dataclass
class Report:
    """What was killed, and what was found at the end."""

    executor: str
    runs: int
    killed: dict[str, int] = field(default_factory=dict)
    under_way_at_kills: int = 0
    """Sessions that a kill may have ended: where a driver was killed, all that it had begun."""
    tries: int = 0
    """Sessions that were started, counted by the locks that their supervisors took."""
    lost: int = 0
    """Sessions that were started again, because they left nothing complete."""
    not_begun: int = 0
    """Tries in the ledger whose supervisor took no lock: a kill came before it."""
    aside: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where everything of a trial lies."""

    home: Path
    board: Path
    sweep: Path
    command: tuple[str, ...]


def own_descendants() -> dict[int, str]:
    """Processes below this one, by their command lines; zombies have ended."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            told = _stat(int(entry.name))
            if told is not None and told[0] not in "ZX":
                parents[int(entry.name)] = int(told[1])
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return {pid: _line(pid) for pid in below - {os.getpid()}}


def _stat(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _line(pid: int) -> str:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return line.replace(b"\0", b" ").decode("utf-8", "replace").strip()


@contextmanager
def cluster(home: Path) -> Iterator[tuple[str, int]]:
    """Two nodes of Ray on this machine, two processors each: the address, the second's raylet."""
    ray = str(Path(sys.executable).with_name("ray"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Nobody reads logs here, nor asks for nodes, nor needs processes before there are tasks.
    environment = {**os.environ, SUBREAPER: "1", "RAY_object_store_minimum_memory_bytes": "1",
                   "RAY_prestart_worker_first_driver": "0"}  # fmt: skip
    before = set(own_descendants())
    common = ["--num-cpus=2", "--object-store-memory=80000000", "--disable-usage-stats",
              "--include-log-monitor=false"]  # fmt: skip
    head = ["--head", f"--port={port}", f"--temp-dir={home}/ray", "--include-dashboard=false",
            "--no-monitor", "--node-ip-address=127.0.0.1"]  # fmt: skip
    second = [f"--address=127.0.0.1:{port}", "--node-ip-address=127.0.0.1"]
    raylets: list[int] = []
    try:
        for words in (head, second):
            subprocess.run(  # noqa: S603
                [ray, "start", *words, *common], check=True, env=environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            # By when they came, and not by number: numbers of processes begin anew at times.
            below = own_descendants().items()
            raylets += [
                pid for pid, line in below if "/raylet/raylet " in line and pid not in raylets
            ]
        yield f"127.0.0.1:{port}", raylets[-1]
    finally:
        for pid in set(own_descendants()) - before:
            _kill(pid)
        _reap()


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _reap() -> None:
    """Take leave of processes that lost their own parents and came to us."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


@contextmanager
def model(home: Path, script: str) -> Iterator[Path]:
    """A scripted model server, and the file that names it as a provider."""
    from bench.scripted import load_scripts, scripted_provider, serve

    with serve(load_scripts()) as server:
        provider = scripted_provider(server.url, NAME, script)
        told = {
            "bases": {dialect.value: base for dialect, base in provider.bases.items()},
            "key_variable": None, "slots": 3,
        }  # fmt: skip
        path = home / "providers.yaml"
        path.write_text(yaml.safe_dump({"providers": {"scripted": told}}))
        yield path


def write_sweep(options: argparse.Namespace, home: Path, address: str | None) -> Path:
    """The sweep's file: two contenders, and as many attempts as make the runs."""
    executor = {"kind": "local"} if address is None else {"kind": "ray", "address": address}
    stand_in = options.driver is not None
    contenders = [
        {"harness": "codex", "model": name, "provider": "here" if stand_in else "scripted"}
        for name in options.models
    ]
    sweep = {
        "board": NAME, "hardware": "cpu", "problems": [options.problem.name],
        "contenders": contenders, "attempts": options.runs // len(contenders),
        "budget_seconds": 300.0, "executor": executor, "grade": stand_in, "max_parallel": 3,
        "retries": {"lost": 50, "backoff_seconds": 0.2, "longest_seconds": 1.0},
    }  # fmt: skip
    if not stand_in:
        sweep["providers"] = "providers.yaml"
    path = home / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(sweep))
    return path


def held(place: Place) -> dict[str, Holder]:
    """Who works on tries now, by the names of their folders."""
    tries = place.board / HIDDEN / NAME / "tries"
    found = {}
    for folder in tries.iterdir() if tries.is_dir() else ():
        one = holder(folder)
        if one is not None and alive(one):
            found[folder.name] = one
    return found


class Chaos:
    """A sweep that is driven, killed and driven on."""

    def __init__(
        self, place: Place, report: Report, chance: Random, node: int | None = None
    ) -> None:
        self.place, self.report, self.chance, self.node = place, report, chance, node
        self.driver = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with (self.place.home / "driver.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603
                self.place.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, cwd=ROOT,
            )  # fmt: skip

    def kill(self, what: str) -> bool:
        """Kill one process of a kind, if there is one now."""
        under_way = held(self.place)
        if not under_way or self.driver.poll() is not None:
            return False
        one = under_way[self.chance.choice(sorted(under_way))]
        match what:
            case "driver":
                self.driver.kill()
                self.driver.wait()
                # What a driver left to its engine goes on, or is ended by the engine.
                with Ledger(self.place.board / HIDDEN / f"{NAME}.sqlite", time.time) as ledger:
                    left = ledger.open_tries()
                self.report.under_way_at_kills += sum(one.kind is Kind.AGENT for one in left)
                self.driver = self._start()
                return True
            case "supervisor":
                return self._end(one.pid, 1)
            case "node":
                return self._end(self.node or 0, len(under_way))
            case _:
                return self._end(self._worker(one), 1)

    def _end(self, pid: int, under_way: int) -> bool:
        if pid <= 1 or pid == os.getpid() or not _kill(pid):
            return False
        self.report.under_way_at_kills += under_way
        return True

    def _worker(self, one: Holder) -> int:
        """What carries a session: Ray's worker above its supervisor, else the box below it."""
        if self.report.executor == "ray":
            told = _stat(one.pid)
            return int(told[1]) if told else 0
        children = [
            pid for pid in own_descendants() if (_stat(pid) or ["", "0"])[1] == str(one.pid)
        ]
        return self.chance.choice(children) if children else one.pid

    def rest(self) -> int:
        """Wait until the sweep is over; the driver's exit code."""
        return self.driver.wait(PATIENCE_SECONDS)


def cause(chaos: Chaos, kills: int, pause: float) -> None:
    """Kill by chance, all kinds alike, while there is something to kill."""
    kinds = ["driver", "supervisor", "worker"]
    left = [kinds[number % len(kinds)] for number in range(kills)]
    if chaos.node is not None:
        left[-1] = "node"
    chaos.chance.shuffle(left)
    until = time.monotonic() + PATIENCE_SECONDS
    while left and time.monotonic() < until and chaos.driver.poll() is None:
        time.sleep(chaos.chance.uniform(0.1, 1.0) * pause)
        if chaos.kill(left[-1]):
            kind = left.pop()
            chaos.report.killed[kind] = chaos.report.killed.get(kind, 0) + 1
        _say(f"{sum(chaos.report.killed.values())} of {kills} killed")


def inspect(place: Place, report: Report) -> None:
    """Hold ledger, disk and processes against each other; what is wrong goes into the report."""
    shelf = Shelf(place.board)
    runs = [one for one in shelf.look() if one.counts]
    per_cell = Counter(one.cell for one in runs)
    with Ledger(place.board / HIDDEN / f"{NAME}.sqlite", time.time) as ledger:
        cells, tries = ledger.cells(), ledger.tries()
    wrong = report.wrong
    if len(cells) != report.runs:
        wrong.append(f"{len(cells)} cells in the ledger")
    for one in cells:
        if one.state is not State.DONE:
            wrong.append(f"{one.cell.key} is {one.state.value}: {one.detail}")
        if per_cell[one.cell.key] != 1:
            wrong.append(f"{one.cell.key} has {per_cell[one.cell.key]} runs that count")
        elif one.run not in {run.name for run in runs if run.cell == one.cell.key}:
            wrong.append(f"{one.cell.key} has another run on disk than {one.run}")
    _inspect_tries(place, report, [one for one in tries if one.kind is Kind.AGENT])
    if (ended := report.lost + report.not_begun) > report.under_way_at_kills:
        wrong.append(f"{ended} lost, {report.under_way_at_kills} under way at kills")
    wrong += [f"{path} is left" for path in place.board.glob(f"*{PARTIAL}")]
    wrong += [str(each) for one in runs for each in manifest_findings(read_run(one.folder))]
    wrong += [f"cannot be read: {why}" for why in shelf.unread.values()]
    aside = place.board / HIDDEN / NAME / "aside"
    report.aside = len(list(aside.iterdir())) if aside.is_dir() else 0


def _inspect_tries(place: Place, report: Report, known: Sequence[Try]) -> None:
    """Count what was started by the locks that it took: the ledger is not asked."""
    tries = place.board / HIDDEN / NAME / "tries"
    started = [
        folder.name for folder in tries.iterdir()
        if f"-{Kind.AGENT.value}-" in folder.name and holder(folder) is not None
    ]  # fmt: skip
    report.tries = len(started)
    report.wrong += [
        f"{name} was started unknown to the ledger"
        for name in set(started) - {one.id for one in known}
    ]
    lost = [one for one in known if one.outcome is Outcome.LOST]
    again = Counter(one.cell for one in lost if one.id in started)
    report.lost = again.total()
    report.not_begun = len(lost) - report.lost
    for cell, times in Counter(name.partition("-")[0] for name in started).items():
        if times != again[cell] + 1:
            report.wrong.append(f"{cell} was started {times} times, and lost {again[cell]} times")


def left_behind(seconds: float = 30.0) -> dict[int, str]:
    """What is still below this process when all should be over; some are about to go."""
    until = time.monotonic() + seconds
    while (left := own_descendants()) and time.monotonic() < until:
        _reap()
        time.sleep(0.2)
    return left


def trial(options: argparse.Namespace, home: Path) -> Report:
    """The whole trial; what was found."""
    report = Report(executor=options.executor, runs=options.runs)
    began = time.monotonic()
    problems = home / "problems"
    shutil.copytree(options.problem, problems / options.problem.name)
    runs = home / "runs"
    with ExitStack() as stack:
        address, node = None, None
        if options.executor == "ray":
            address, node = stack.enter_context(cluster(home))
        standing = set(own_descendants())
        if options.driver is None:
            stack.enter_context(model(home, options.script))
        sweep = write_sweep(options, home, address)
        place = Place(home, runs / NAME, sweep, _command(options, sweep, runs, problems))
        chance = Random(options.seed)  # noqa: S311 - whom to kill, no secret
        chaos = Chaos(place, report, chance, node if options.node else None)
        try:
            cause(chaos, options.kills, options.pause)
            code = chaos.rest()
        finally:
            _kill(chaos.driver.pid) if chaos.driver.poll() is None else None
        if code:
            report.wrong.append(f"the driver ended with exit code {code}")
        inspect(place, report)
        if address is not None:
            report.wrong += [f"left: {_line(one.pid)}" for one in held(place).values()]
        elif left := {p: line for p, line in left_behind().items() if p not in standing}:
            report.wrong += [f"left: {pid} {line[:200]}" for pid, line in left.items()]
    report.wrong += [f"left: {pid} {line[:200]}" for pid, line in left_behind().items()]
    _reap()
    report.seconds = round(time.monotonic() - began, 1)
    used = os.times()
    report.processor_seconds = round(
        used.children_user + used.children_system + used.user + used.system, 1
    )
    return report


def _command(
    options: argparse.Namespace, sweep: Path, runs: Path, problems: Path
) -> tuple[str, ...]:
    if options.driver is not None:
        return (sys.executable, str(options.driver), str(sweep), str(runs), str(problems))
    own = [sys.executable, "-m", "bench", "sweep", "resume", str(sweep), "--runs", str(runs)]
    clis = ["--clis", str(options.clis.absolute())] if options.clis else []
    return (*own, "--problems", str(problems), *clis)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> int:
    """Run a trial and print its report; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--executor", choices=("local", "ray"), default="local")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--node", action="store_true", help="ray: kill one of both nodes, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pause", type=float, default=6.0, help="most seconds between kills")
    parser.add_argument("--problem", type=Path, default=ROOT / "problems" / "add")
    parser.add_argument("--script", default="main")
    parser.add_argument("--clis", type=Path)
    parser.add_argument("--driver", type=Path)
    parser.add_argument("--models", nargs="+", default=["scripted-1", "scripted-2"])
    parser.add_argument("--keep", type=Path, help="folder to leave everything in")
    options = parser.parse_args()
    # Whatever loses its parent comes to this process, and is counted at the end.
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="kb") as made:
        home = Path(made)
        report = trial(options, home)
        if options.keep:
            shutil.copytree(home, options.keep, ignore=shutil.ignore_patterns("ray"))
    sys.stdout.write(json.dumps(asdict(report), indent=2) + "\n")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
