"""What the commands of a sweep do: drive it, alone; ask it to stop; read how it stands."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time

from bench.problems import PROBLEM, read_problem
from bench.providers import Provider, load_providers
from bench.running.form import Places
from bench.running.hosts import check_hardware
from bench.running.stopping import signals_told
from bench.sandbox import named
from bench.sweeps.claims import claimed
from bench.sweeps.driver import WISH, Driver, Wish
from bench.sweeps.executors import executor
from bench.sweeps.ledger import Ledger
from bench.sweeps.sheet import Contender, read_sweep
from bench.sweeps.shown import driver_of, note_driver
from bench.sweeps.states import State
from bench.sweeps.tries import end, locked, this_process
from bench.sweeps.works import Tools, Work
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.store.parsing import read_text
from kbsite.store.places import line_of

Say = Callable[[str], None]
Told = Callable[[str, float | None], None]


def read_work(
    path: Path, places: Places, tools: Tools | None = None,
    providers: Mapping[str, Provider] | None = None,
) -> Work:  # fmt: skip
    """The sweep in a file, with all that it needs known; InputError names what is wrong.

    `tools` and `providers` stand in for the usual ones, in tests.
    """
    sweep = read_sweep(path)
    file = path.parent / sweep.providers if sweep.providers else None
    if file is not None and not file.exists():
        raise _wrong(path, "providers", f"{file}: no such file; expected one of providers")
    work = Work(
        name=path.stem, sweep=sweep, places=places, tools=tools or Tools(),
        providers=load_providers(file) if providers is None else providers, providers_file=file,
    )  # fmt: skip
    asked = {f"contenders[{at}].provider": one.provider for at, one in enumerate(sweep.contenders)}
    asked |= {f"slots.{name}": name for name in sweep.slots}
    for key, provider in asked.items():
        if provider not in work.providers:
            known = ", ".join(sorted(work.providers)) or "none"
            message = f"{provider!r} is no provider that is known; known are: {known}"
            raise _wrong(path, key, message)
    return work


def check_work(path: Path, work: Work) -> None:
    """Raise InputError where no session of a sweep could start, or nobody could grade its runs.

    Each would fail, or be paid for first. Whoever only looks, or stops a sweep, needs none of it.
    """
    sweep = work.sweep
    try:
        key = "hardware"
        check_hardware(sweep.hardware, gpu=work.gpus)
        key = "sandbox"
        if sweep.sandbox is not None:
            named(sweep.sandbox)
    except UsageError as error:
        raise _wrong(path, key, str(error)) from error
    for at, name in enumerate(sweep.problems):
        key, folder = f"problems[{at}]", work.places.problems / name
        if not (folder / PROBLEM).is_file():
            raise _wrong(path, key, f"{name!r} is no problem: there is no {folder / PROBLEM}")
        if not sweep.grade:
            continue
        try:
            read_problem(folder)
        except InputError as error:
            message = f"{name} cannot be graded: {error}; mend it, or say `grade: false`"
            raise _wrong(path, key, message) from error


def _wrong(path: Path, key: str, message: str) -> InputError:
    line = line_of(read_text(path), f".{key}")
    return InputError(message, path=path, line=line, key=key)


@dataclass
class Interrupts:
    """How often a person pressed ctrl-C: once to start nothing more, twice to end what runs."""

    say: Say
    count: int = 0

    def __call__(self, count: int) -> None:
        """So many signals came so far."""
        self.count = count
        if count == 1:
            self.say("nothing more is started; what runs goes on to its end. Again to end it now")
        elif count == 2:
            self.say("ending what runs; each run is completed on disk and moved aside")

    @property
    def wish(self) -> Wish:
        """What that means."""
        return (Wish.GO, Wish.DRAIN, Wish.END)[min(self.count, 2)]


def drive(
    work: Work, told: Told, say: Say, *, again: bool = False,
    without: Collection[Contender] = frozenset(),
) -> Mapping[State, int]:  # fmt: skip
    """Run a sweep to its end, or to where it is stopped; how many cells stand where then.

    No session is started of the contenders that it goes `without`. UsageError if another process
    drives it already.
    """
    with _told_plainly(work):
        return _driven(work, told, say, again=again, without=without)


@contextmanager
def _told_plainly(work: Work) -> Iterator[None]:
    """MachineError where a disk does not let a sweep's own files be written or read."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        message = f"{work.ledger.parent} cannot be written, or read: {error}"
        raise MachineError(
            f"{message}; see to its disk, then run the sweep again: nothing is lost, and what "
            "runs meanwhile is taken up"
        ) from error


def _driven(
    work: Work, told: Told, say: Say, *, again: bool, without: Collection[Contender]
) -> Mapping[State, int]:
    work.ledger.parent.mkdir(parents=True, exist_ok=True)
    with locked(work.lock) as free, Ledger(work.ledger, time) as ledger:
        if not free:
            who = driver_of(ledger)
            process = f"process {who.pid} on {who.host}" if who else "another process"
            raise UsageError(f"{work.name} is driven by {process}; see how far it is with `status`")
        engine = executor(work.sweep.executor, gpus=work.gpus, name=work.name)
        note_driver(ledger, this_process())
        ledger.tell(WISH, None)
        try:
            pressed = Interrupts(say)
            with signals_told(pressed):
                driver = Driver(
                    work=work, ledger=ledger, executor=engine, again=again, without=without,
                    wish=lambda: pressed.wish, say=say,
                )  # fmt: skip
                driver.run(told)
        finally:
            engine.close()
            note_driver(ledger, None)
        return ledger.counts()


@contextmanager
def opened(work: Work) -> Iterator[Ledger]:
    """The ledger of a sweep that was started; UsageError if it never was."""
    if not work.ledger.is_file():
        raise UsageError(f"{work.name} was never started: there is no {work.ledger}")
    with _told_plainly(work), Ledger(work.ledger, time) as ledger:
        yield ledger


def ask_to_stop(work: Work, *, at_once: bool) -> str:
    """Ask the driver of a sweep to stop, or end what an earlier one left; what was done.

    Without a driver what still runs goes on, unless it has to end at once.
    """
    with opened(work) as ledger:
        wish = Wish.END if at_once else Wish.DRAIN
        running = ledger.open_tries()
        if driver_of(ledger) is not None:
            ledger.tell(WISH, wish.value)
            return f"told its driver to {wish.words}; {len(running)} under way"
        # The ledger tells what a driver that died knew: some may have ended with it, or since.
        left = sum(claimed(work.board, one.cell) for one in running)
        if not at_once:
            return f"nobody drives it; {left} under way, which `--now` ends"
        for one in running:
            end(work.tries / one.id, signal.SIGTERM)
        return f"nobody drives it; ended {left} that an earlier driver had left"
