"""The loop that brings ledger, disk and engine together, and can be killed at any moment."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from time import monotonic, sleep, time

from bench.sweeps.cells import cells
from bench.sweeps.claims import claimed
from bench.sweeps.ending import SILENT_SECONDS, Endings
from bench.sweeps.executors.form import Executor, Finished
from bench.sweeps.ledger import Held, Ledger, Try
from bench.sweeps.notes import Notes, notes
from bench.sweeps.outages import Asked, Outages
from bench.sweeps.refusals import Refusals
from bench.sweeps.room import is_of_room, short
from bench.sweeps.settling import Settling
from bench.sweeps.sheet import Contender
from bench.sweeps.shelf import Matched, OnShelf, Shelf, match, set_aside
from bench.sweeps.slots import Slots
from bench.sweeps.states import LONGEST_FACTOR, OPEN, Kind, State
from bench.sweeps.tries import Task, at_work, holder, read_task, write_task
from bench.sweeps.works import Work
from kbsite.errors import InputError, MachineError

LOOK_SECONDS = 0.5
"""Between two looks at everything."""

ABANDONED_SECONDS = 60.0
"""A run's folder is hidden for a moment; after so long nobody will ever show it."""

WISH = "wish"
"""Name under which the ledger holds what another terminal wants: a value of Wish."""


class Wish(Enum):
    """Whether a driver shall go on; what is wanted later in this list counts more."""

    GO = "go"
    DRAIN = "drain"
    """Start nothing more; what runs goes on to its end."""
    END = "end"
    """Start nothing more, and end what runs."""

    @property
    def words(self) -> str:
        """What a driver is told to do."""
        return {Wish.GO: "go on", Wish.DRAIN: "start nothing more", Wish.END: "end what runs"}[self]

    @classmethod
    def strongest(cls, *wishes: Wish) -> Wish:
        """The one that counts most."""
        return max(wishes, key=list(cls).index)


@dataclass(frozen=True, kw_only=True)
class Clock:
    """What time it is, and how to wait."""

    now: Callable[[], float] = time
    """Seconds since 1970, which whoever sets the clock may set back."""
    wait: Callable[[float], None] = sleep
    steady: Callable[[], float] = monotonic
    """Seconds since some moment, which only grow."""


@dataclass(kw_only=True)
class Driver:
    """Drives one sweep. Whoever makes one holds the sweep's lock."""

    work: Work
    ledger: Ledger
    executor: Executor
    clock: Clock = field(default_factory=Clock)
    again: bool = False
    """Whether failed cells are wanted once more."""
    without: Collection[Contender] = frozenset()
    """Contenders whose cells stay as they are: no session of them is started."""
    wish: Callable[[], Wish] = lambda: Wish.GO
    """What the terminal of the driver wants."""
    chance: Random = field(default_factory=Random)
    say: Callable[[str], None] = lambda _: None
    """Tells a person what keeps the sweep from going on, and when it does again."""

    def __post_init__(self) -> None:
        named = sorted({one.provider for one in self.work.sweep.contenders})
        steady, retries = self.clock.steady, self.work.sweep.retries
        self._outages = Outages(self.work.sweep.contenders, retries, steady, self.chance)
        self._notes = Notes(self.ledger, self._outages)
        self._slots = {name: Slots(self.work.slots(name), steady) for name in named}
        self._shelf = Shelf(self.work.board)
        self._settling = Settling(
            sweep=self.work.sweep, ledger=self.ledger, shelf=self._shelf, tries=self.work.tries,
            aside=self.work.aside, now=self.clock.now, chance=self.chance,
            outages=self._outages,
        )  # fmt: skip
        self._refusals = Refusals()
        self._adopted: set[str] = set()
        self._endings = Endings(self.work.tries, self.executor, steady, self.work.session_seconds)
        self._there: Matched | None = None
        self._over: list[Finished] = []
        self._short = ""

    def run(self, told: Callable[[str, float | None], None]) -> None:
        """Work until nothing is left to do, or to be waited for."""
        self.reconcile()
        while self._went_on():
            self._tell(told)
            self.clock.wait(LOOK_SECONDS)
        self._tell(told)
        for note in notes(self.ledger):
            self.say(note.left)

    def _went_on(self) -> bool:
        """Do a step; whether there is more to do. What a full disk broke off is done later."""
        try:
            return self.step()
        except (OSError, sqlite3.OperationalError) as error:
            if not is_of_room(error, self.work.board) or self.wish() is not Wish.GO:
                raise
            self._tell_room(f"{error}; nothing is started until there is room on its disk")
            return True

    def _room(self) -> bool:
        """Whether the disk has room for more."""
        self._tell_room(short(self.work.board))
        return not self._short

    def _tell_room(self, wrong: str) -> None:
        if wrong and not self._short:
            self.say(wrong)
        elif self._short and not wrong:
            self.say("there is room again: the sweep goes on")
        self._short = wrong

    def reconcile(self) -> None:
        """Make the ledger say what the disk says: before anything is started."""
        self.ledger.want(cells(self.work.sweep, self.work.hashes()))
        self._notes.forget()
        self._take_up_unknown()
        for one in self.ledger.open_tries():
            if at_work(self.work.tries / one.id):
                self._adopt(one)
            else:
                self._settling.settle(one, None, restarted=True)
        for path in self._shelf.abandoned(time() - ABANDONED_SECONDS):
            # Another sweep of the board may be faster.
            with suppress(FileNotFoundError):
                set_aside(path, self.work.aside)
        matched = self._matched()
        for held in self.ledger.cells():
            if held.wanted and held.state not in OPEN:
                self._correct(held, matched.runs.get(held.cell.key))

    def _matched(self) -> Matched:
        wanted = [held.cell for held in self.ledger.cells() if held.wanted]
        return match(self.work.sweep, wanted, self._shelf.look())

    def _take_up_unknown(self) -> None:
        """Supervisors at work that the ledger does not know: it was moved away, or is older."""
        known = {one.id for one in self.ledger.tries()}
        states = {held.cell.key: held.state for held in self.ledger.cells()}
        folders = sorted(self.work.tries.iterdir()) if self.work.tries.is_dir() else []
        for folder in folders:
            if folder.name in known or not at_work(folder):
                continue
            try:
                task = read_task(folder)
            except InputError:
                continue
            if task.kind is Kind.AGENT and states.get(task.cell) is State.WAITING:
                self.ledger.begin(task.cell, task.kind, task.id)
                states[task.cell] = State.RUNNING

    def _adopt(self, one: Try) -> None:
        folder = self.work.tries / one.id
        who = holder(folder)
        self._adopted.add(one.id)
        self.executor.adopt(read_task(folder), who.gpu if who else None)

    def _correct(self, held: Held, run: OnShelf | None) -> None:
        """Move a cell to where the disk says that it stands."""
        state, name = self._state_of(held, run), run.name if run else None
        if state is not held.state:
            self.ledger.found(held.cell.key, held.state, state, name)
        elif name is not None and name != held.run:
            self.ledger.renamed(held.cell.key, name)

    def _state_of(self, held: Held, run: OnShelf | None) -> State:
        failed = held.state is State.FAILED and not self.again
        if run is None:
            return State.FAILED if failed else State.WAITING
        if run.graded or not self.work.sweep.grade:
            return State.DONE
        # Its grade failed, and not its session: that is tried again when a person wants it.
        return State.FAILED if failed and held.run == run.name else State.RAN

    def step(self) -> bool:
        """Look at everything once; whether there is more to do."""
        self._over += self.executor.poll()
        self._end_over()
        for one in self.ledger.open_tries():
            if one.id in self._adopted and not at_work(self.work.tries / one.id):
                self._settled(one, None)
                self._adopted.discard(one.id)
                self.executor.release(one.id)
        elsewhere = Wish(self.ledger.told(WISH) or Wish.GO.value)
        wish = Wish.strongest(self.wish(), elsewhere)
        self._watch_refusals()
        self._end_silent()
        if wish is Wish.GO and self._room():
            self._start()
        elif wish is Wish.END:
            for one in self.ledger.open_tries():
                self._endings.end(one.id)
        return bool(self.ledger.open_tries()) or (wish is Wish.GO and self._more())

    def _more(self) -> bool:
        """Whether there are cells to start something for, now or later."""
        wanted = [one for one in self.ledger.cells() if one.wanted]
        return any(one.state is State.RAN or self._waited_for(one) for one in wanted)

    def _waited_for(self, one: Held) -> bool:
        return self._startable(one) and self._outages.waited_for(one.cell.contender)

    def _startable(self, one: Held) -> bool:
        return one.state is State.WAITING and one.cell.contender not in self.without

    def _end_over(self) -> None:
        """Settle what is over; what cannot be settled now stays to be settled."""
        while self._over:
            self._ended(self._over[0])
            del self._over[0]

    def _ended(self, finished: Finished) -> None:
        one = next((each for each in self.ledger.open_tries() if each.id == finished.id), None)
        if one is None:
            return
        if at_work(self.work.tries / one.id):
            # The engine lost its worker, but not what that had started.
            self._adopt(one)
        else:
            self._settled(one, finished)

    def _settled(self, one: Try, finished: Finished | None) -> None:
        self._endings.over(one.id)
        self._settling.settle(one, finished)

    def _watch_refusals(self) -> None:
        for one in self.ledger.open_tries():
            if one.kind is not Kind.AGENT:
                continue
            held = self.ledger.cell(one.cell)
            who = held.cell.contender
            if not held.wanted:
                continue
            for path in self._shelf.partials(one.cell):
                new = self._refusals.new(path)
                if new.crowded:
                    self._slots[who.provider].refused(new.crowded)
                if new.answered:
                    self._outages.answered(who)
        for name, slots in self._slots.items():
            self._note(slots_of(name), f"{slots.allowed} of {slots.most}")
        for line in self._notes.take(self.clock.now()):
            self.say(line)

    def _note(self, name: str, value: str) -> None:
        if self.ledger.told(name) != value:
            self.ledger.tell(name, value)

    def _start(self) -> None:
        """Start what is due and has room: grades first, which free the devices soon."""
        now = self.clock.now()
        due = [one for one in self.ledger.cells() if one.wanted and self._is_due(one, now)]
        self._there = None
        for one in due:
            if one.state is State.RAN and self.executor.room(Kind.GRADE) and self._to_do(one):
                self._begin(one, self.work.grade(one.cell, one.run or ""))
        self._start_sessions([one for one in due if self._startable(one)])

    def _is_due(self, one: Held, now: float) -> bool:
        """Whether a cell may be tried.

        What would have to wait longer than anything does was put off before the clock was set back.
        """
        longest = self.work.sweep.retries.longest_seconds * LONGEST_FACTOR
        return not now < one.due <= now + longest

    def _start_sessions(self, waiting: Sequence[Held]) -> None:
        """Start sessions in their order, as far as providers and engine have room."""
        busy = self._busy()
        most = self.work.sweep.max_parallel
        for one in self._outages.in_turn(waiting):
            if (most is not None and busy[_ALL] >= most) or not self.executor.room(Kind.AGENT):
                return
            who = one.cell.contender
            allowed = self._slots[who.provider].allowed
            if self._outages.room(who, busy, allowed) and self._to_do(one):
                self._begin(one, self.work.session(one.cell))
                self._outages.asks(one.cell)
                busy.update(_counted(who))

    def _to_do(self, held: Held) -> bool:
        """Whether nobody works on a cell, and nobody has done what is due for it.

        Sweeps of one board may ask for the same cells; what another one did is taken over.
        """
        key = held.cell.key
        if claimed(self.work.board, key):
            return False
        if self._there is None:
            self._there = self._matched()
        self._correct(held, self._there.runs.get(key))
        return self.ledger.cell(key).state is held.state

    def _busy(self) -> Counter[Asked]:
        """Sessions under way: in all, by provider and by model."""
        found: Counter[Asked] = Counter()
        for one in self.ledger.open_tries():
            if one.kind is Kind.AGENT:
                found.update(_counted(self.ledger.cell(one.cell).cell.contender))
        return found

    def _begin(self, held: Held, task: Task) -> None:
        write_task(task)
        self.ledger.begin(held.cell.key, task.kind, task.id)
        try:
            self.executor.start(task)
        except MachineError as error:
            self._over.append(Finished(id=task.id, exit_code=None, detail=str(error)))
            self._end_over()

    def _end_silent(self) -> None:
        """End what gives no sign of life, and keeps what it runs on from others."""
        for one in self._endings.end_silent(self.ledger.open_tries()):
            label, what = self.ledger.cell(one.cell).cell.label, _SILENT[one.kind]
            self.say(f"{label}: {what}, and is ended")

    def _tell(self, told: Callable[[str, float | None], None]) -> None:
        counts = self.ledger.counts()
        whole = sum(counts.values())
        told(words(counts), counts[State.DONE] / whole if whole else 1.0)


_HOURS = f"{SILENT_SECONDS / 3600:.0f} hours"
_SILENT = {
    Kind.AGENT: f"its session is at work for {_HOURS} more than its budget",
    Kind.GRADE: f"its grade has told nothing for {_HOURS}",
}

_ALL: Asked = ("", None)
"""Stands for all providers."""


def _counted(who: Contender) -> tuple[Asked, ...]:
    """Under what a session of a contender is counted."""
    return _ALL, (who.provider, None), (who.provider, who.model)


def slots_of(provider: str) -> str:
    """The name under which the ledger holds how many sessions a provider is allowed."""
    return f"slots {provider}"


def words(counts: Mapping[State, int]) -> str:
    """Such as "12 of 40 done, 3 running, 1 failed"."""
    whole = sum(counts.values())
    others = [
        f"{counts[state]} {state.value}"
        for state in State
        if state is not State.DONE and counts[state]
    ]
    return ", ".join([f"{counts[State.DONE]} of {whole} done", *others])
