"""Make runs/demo and runs/kernels: CLIs play scripts, in real runs in the real sandbox.

    python scripts/demo_runs.py [--only claude codex claude/cut] [--again]
    python scripts/demo_runs.py --gpu UUID [--hardware h200-sxm] [--only claude/mrope]

Each CLI plays the same script to its end, and one more session is cut by its deadline while a
command runs. With a GPU, two CLIs write kernels on it instead: `kbsite bench grade` grades these.
A run that is there is not made again; `--again` puts another in its place, without the old one's
grade and audit, which were of another session. No run gets there that ended otherwise than it has
to, that `kbsite check` finds something wrong with, or that names a folder, the host or a user of
this machine. The exit code is 1 if one is missing.
"""

from __future__ import annotations

import argparse
import getpass
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from threading import Event
from time import sleep

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.installing import default_prefix, programs  # noqa: E402
from bench.running.form import Order, Places, SessionLimits  # noqa: E402
from bench.running.run import Job, run  # noqa: E402
from bench.running.supervising import adapter_of  # noqa: E402
from bench.sandbox import best  # noqa: E402
from bench.scripted import Server, load_scripts, scripted_provider, serve  # noqa: E402
from kbsite.check import check  # noqa: E402
from kbsite.errors import KbsiteError, MachineError  # noqa: E402
from kbsite.store.files import contents  # noqa: E402
from kbsite.store.folders import sync  # noqa: E402
from kbsite.store.run_folders import AUDIT, run_folders  # noqa: E402
from kbsite.store.runs import StoredRun, read_run  # noqa: E402

OUT = ROOT / "runs"
DEMO, KERNELS = "demo", "kernels"
"""The boards."""

SCRIPTS = Path(__file__).parent / "demo"
"""What is played on a GPU."""

MODEL, CUT, STALE = "scripted", "cut", "stale"
NOTE = "The CLI and its tool calls are real; the model's turns were a script."
STALE_NOTE = f"{NOTE} It cheats, to show what comes of that."
CUT_NOTE = f"{NOTE} It asks for a command that outlasts the budget, to show a session that was cut."
LIMITS = SessionLimits(look_seconds=0.05)
"""Scripted models write the next version at once, and a reader wants to see both."""

WIDTH = 120
"""Of the table, where no terminal tells its own."""

MOST_BYTES = 4_000_000
"""Of all runs of a board together: they lie in the repository."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """A session that the demo shows."""

    harness: str
    script: str = "main"
    board: str = DEMO
    problem: str = "add"
    variant: str | None = None
    budget_seconds: float = 120.0
    end_reason: str = "finished"
    note: str = NOTE

    @property
    def name(self) -> str:
        """What --only calls it."""
        parts = (self.harness, self.problem if self.needs_gpu else None, self.variant)
        return "/".join(part for part in parts if part)

    @property
    def needs_gpu(self) -> bool:
        """Whether its agent works on a GPU."""
        return self.board == KERNELS


HARNESSES = ("claude", "codex", "opencode", "gemini", "qwen", "kimi-code", "kimi-cli")
SESSIONS = (
    *(Session(harness=harness) for harness in HARNESSES),
    Session(
        harness="claude", script="longtool", variant=CUT,
        end_reason="budget", note=CUT_NOTE,
    ),
    *(
        Session(
            harness=harness, script=script, board=KERNELS, problem=problem,
            variant=variant, budget_seconds=900.0, note=STALE_NOTE if variant else NOTE,
        )
        for harness, problem, script, variant in (
            ("claude", "kahan_softmax", "softmax", None),
            ("claude", "mrope", "rotary", None),
            ("codex", "kahan_softmax", "softmaxtorch", None),
            ("codex", "vector_add", "vectors", None),
            ("codex", "vector_add", "stale", STALE),
        )
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What sessions get of this machine besides its processors."""

    gpu: str | None = None
    """The UUID of a GPU."""
    hardware: str | None = None
    """What it is: a file of bench/hardware."""


def main(words: Sequence[str] | None = None) -> int:
    """Make the runs that are missing, and print the table of all; the exit code."""
    names = [one.name for one in SESSIONS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="the folder of the boards")
    parser.add_argument("--only", nargs="*", choices=names, default=names, metavar="SESSION")
    parser.add_argument("--again", action="store_true", help="make also those that are there")
    parser.add_argument("--gpu", metavar="UUID", help="make those that need a GPU, on this one")
    parser.add_argument("--hardware", default="h200-sxm", help="what the GPU is")
    given = parser.parse_args(words)
    machine = Machine(gpu=given.gpu, hardware=given.hardware if given.gpu else None)
    console = Console(stderr=True)
    held = made(given.out)
    wanted = [
        one
        for one in SESSIONS
        if one.name in given.only
        and one.needs_gpu == bool(given.gpu)
        and (given.again or one.name not in held)
    ]
    failed: dict[str, str] = {}
    with serve((*load_scripts(), *load_scripts(SCRIPTS))) as server:
        for one in wanted:
            console.print(f"{one.name} ...")
            try:
                folder = play(one, server, given.out / one.board, machine)
            except KbsiteError as error:
                failed[one.name] = str(error)
            else:
                if one.name in held:
                    shutil.rmtree(held[one.name].folder)
                held[one.name] = read_run(folder)
    told = Console(width=None if sys.stdout.isatty() else WIDTH)
    told.print(table(held))
    for said in failed.values():
        told.print(said, style="red", markup=False)
    weights = sizes(held)
    for board, size in weights.items():
        told.print(f"{board}: {size / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:g}")
    return 1 if failed or max(weights.values(), default=0) > MOST_BYTES else 0


def sizes(held: Mapping[str, StoredRun]) -> dict[str, int]:
    """The bytes of all runs of each board."""
    found: dict[str, int] = {}
    for stored in held.values():
        own = sum(file.size for file in stored.files)
        found[stored.run.board] = found.get(stored.run.board, 0) + own
    return found


def made(out: Path) -> dict[str, StoredRun]:
    """The runs that are there, by the names of their sessions."""
    boards = [out / board for board in (DEMO, KERNELS)]
    runs = [read_run(folder) for board in boards if board.is_dir() for folder in run_folders(board)]
    told = {
        Session(
            harness=one.run.harness, board=one.run.board, problem=one.run.problem,
            variant=one.run.variant,
        ).name: one
        for one in runs
        if one.run.model == MODEL and one.run.provider == MODEL
    }  # fmt: skip
    return {one.name: told[one.name] for one in SESSIONS if one.name in told}


def play(one: Session, server: Server, out: Path, machine: Machine = Machine()) -> Path:
    """Let a CLI play a script, and put the run among the others; its folder.

    MachineError says what is wrong with a run that cannot go there.
    """
    out.mkdir(parents=True, exist_ok=True)
    # Made elsewhere, a run does not see whose name is taken here: names tell the second.
    while any(out.glob(f"{datetime.now(UTC):%Y%m%d_%H%M%S}_*")):
        sleep(0.1)
    with TemporaryDirectory(dir=out, prefix=".making-") as name:
        ended = run(job(one, server, Path(name), machine), lambda _: None, Event())
        if ended.reason != one.end_reason:
            said = f"{one.name} ended with {ended.reason}, not {one.end_reason}: {ended.detail}"
            raise MachineError(said)
        found = [finding.text for finding in check([ended.folder])] + list(private(ended.folder))
        if found:
            raise MachineError(f"{one.name}: {'; '.join(found)}")
        folder = ended.folder.rename(out / ended.folder.name)
        sync(out)
    return folder


def job(one: Session, server: Server, runs: Path, machine: Machine = Machine()) -> Job:
    """All that a run needs; MachineError where its CLI is not installed."""
    clis = default_prefix(ROOT)
    program = programs(clis).get(one.harness)
    if program is None:
        said = f"{one.harness} is not installed; install it with: kbsite bench install"
        raise MachineError(f"{said} {one.harness}")
    provider = scripted_provider(server.url, one.name.replace("/", "-"), one.script)
    order = Order(
        board=one.board, problem=one.problem, harness=one.harness, model=MODEL, provider=MODEL,
        variant=one.variant, budget_seconds=one.budget_seconds,
        gpu=machine.gpu, hardware=machine.hardware,
    )  # fmt: skip
    return Job(
        order=order,
        program=program,
        adapter=adapter_of(one.harness),
        provider=replace(provider, note=one.note),
        key=None,
        places=Places(runs=runs, problems=ROOT / "problems", clis=clis),
        limits=LIMITS,
        sandbox=best(),
    )


def private(run: Path, names: Mapping[str, str] | None = None) -> Iterator[str]:
    """Sentences about what a run tells of this machine that is nobody else's business.

    `names` are what must not be told, by what they are; without them, this machine's.
    """
    wanted = {what: word.encode() for what, word in (names or here()).items()}
    for file in contents(run)[0]:
        data = file.path.read_bytes()
        for what, word in wanted.items():
            # Not as part of another name, or a tag: /proc/1/root and </root> are no home.
            if re.search(rb"(?<![\w.<-])" + re.escape(word) + rb"(?![\w-])", data):
                yield f"{file.name} names {what}"


def here() -> dict[str, str]:
    """Folders and names of this machine, by what they are."""
    told = {
        "the checkout": str(ROOT),
        "the folder of Python": sys.prefix,
        "the folder of the system's Python": sys.base_prefix,
        "the home of the user": str(Path.home()),
        "the host": gethostname(),
        "the user": getpass.getuser(),
    }
    common = {"/usr", "/", "root", "localhost", "agent", "box"}
    return {what: word for what, word in told.items() if word not in common}


def table(held: Mapping[str, StoredRun]) -> Table:
    """What is there, session by session."""
    shown = Table("session", "run", "CLI", "ended", "s", "tokens in", "out", "kB", "audited")
    for one in SESSIONS:
        if one.name in held:
            shown.add_row(one.name, *_row(held[one.name]))
        else:
            shown.add_row(one.name, "[red]not there[/]")
    return shown


def _row(stored: StoredRun) -> Iterator[str]:
    told = stored.run
    yield told.id
    yield str(told.harness_version)
    yield told.end_reason.value
    yield f"{told.elapsed_seconds or 0:.1f}"
    yield str(told.usage.sent)
    yield str(told.usage.output)
    yield f"{sum(file.size for file in stored.files) / 1e3:.0f}"
    yield "yes" if stored.file(AUDIT) else ""


if __name__ == "__main__":
    sys.exit(main())
