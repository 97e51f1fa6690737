"""What a worker runs at moments that only the grader knows: on a CPU nothing else shows it.

Traps lie in the solution's memory, and a profiler can be seen. Here the worker is stopped, as it is
before every call, and the kernel tells where its threads would go on: in a library's product, or in
code of their own.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from mmap import PROT_READ, mmap
from pathlib import Path
from time import sleep

from bench.forbidden import FAMILIES, dispatched, family_of_code
from bench.functions import functions_of, plain
from bench.grading.failures import Failure
from bench.grading.process import Process
from bench.grading.setting import Setting
from bench.sandbox.places import python_places
from bench.sandbox.threads import Code, Region, Stand
from kbsite.model.grade import Outcome, Proof

AT_ONCE = 6
"""Most stops of one batch."""

FEWEST = 20
"""Threads that have to be met at work before something can be said."""

NAME = "code at secret moments"

LATE_SECONDS = 1.5e-4
"""By which a stop may come later than it was meant to."""

SOONEST_SECONDS = 2e-5
"""Before that nobody has gone on who stood still, least of all on the grader's own processor."""

MISSED, MET = 0.8, 1.1
"""How the time changes in which the first stop of a batch comes, after one that came too late and
after one that did not: in the long run seven of ten do not."""

SHORTEST, LONGEST = 1e-3, 8.0
"""The least and the most of what a batch should take that stops come in."""

SEARCHED = 4 << 30
"""Bytes of libraries that are searched for code that lies in none: some seconds, at most."""

_STACK_BYTES = 16384
_CODE_BYTES = 48
_NESTED = 2
"""Functions of a product that have to be on a stack: one could be a number by chance."""


@dataclass
class Stops:
    """The stops of one grading: how many there were, and what was met."""

    forbidden: tuple[str, ...]
    """The families of operations that must not be met."""
    refused: str = ""
    """Why it cannot be looked; empty where it can, or nobody tried."""
    tried: bool = False
    stops: int = 0
    at_work: int = 0
    """Threads that were met at work."""
    own: int = 0
    """Those of them whose code lies in no library."""
    _sought: set[bytes] = field(default_factory=set)
    """The code in no library that was looked for in all of them."""
    _left: int = SEARCHED
    """Bytes of libraries that may still be searched for it."""
    reach: float = 1.0
    """Part of what a batch should take in which stops come: few times are known at first, some of
    them are of calls that had to wait, and to stop takes a time of its own."""

    @classmethod
    def of(cls, forbidden: Iterable[str], device: str) -> Stops:
        """Those that a problem needs: none on a GPU, where kernels have names."""
        banned = dispatched(forbidden) if device == "cpu" else ()
        return cls(tuple(key for key in banned if FAMILIES[key].code))

    def batches(self, setting: Setting, shapes: int) -> int:
        """How many batches of a round on a shape are stopped."""
        can = self.forbidden and not self.refused
        return ceil(setting.stopped / (setting.rounds * shapes)) if can else 0

    def try_out(self, process: Process) -> None:
        """Look once, while nothing of a solution is there: whether the kernel lets us."""
        if self.tried or not self.forbidden:
            return
        self.tried = True
        process.freeze()
        try:
            process.stands()
            self.refused = _nameless(Code(process.pid))
        except PermissionError as error:
            self.refused = f"the kernel does not tell where threads are: {error.strerror}"
        process.thaw()

    def during(self, process: Process, seconds: float, drawn: random.Random) -> None:
        """Stop a worker that was told to go, until it answers, and look where it is.

        Who notices a stop has been seen by then. `seconds` is what such a batch takes.
        """
        for number in range(AT_ONCE):
            delay = drawn.uniform(0, seconds * self.reach) - drawn.uniform(0, LATE_SECONDS)
            sleep(max(delay, SOONEST_SECONDS))
            answered = process.answered()
            if not number:
                reach = self.reach * (MISSED if answered else MET)
                self.reach = min(max(reach, SHORTEST), LONGEST)
            if answered:
                return
            process.freeze()
            self._look(process)
            process.thaw()

    def _look(self, process: Process) -> None:
        self.stops += 1
        try:
            met = process.stands()
            code = {one.process: Code(one.process) for one in met}
        except PermissionError as error:
            said = f"it keeps from the grader where its threads are: {error.strerror}"
            raise Failure(Outcome.PROTOCOL, said) from error
        for one in met:
            self._judge(code[one.process], one)

    def _judge(self, code: Code, stand: Stand) -> None:
        """Failure if a thread is in what is forbidden.

        It may be in a function that the product called: in one of the C library's, or in one that
        oneDNN made and that lies in no file. Torch's products are nowhere below what has none, as
        they could not be called before; other libraries' may have left their marks there.
        """
        self.at_work += 1
        region = code.at(stand.code)
        if region is not None and _of_a_library(region.path):
            self._refuse(region, stand.code)
        else:
            self.own += 1
            self._refuse_copy(code, stand, region)
        met: set[str | None] = set()
        for address, place in code.returns(stand.stack, _STACK_BYTES):
            if _is_torchs(place.path):
                function, family = _known(place.path, place.in_file(address), self.forbidden)
                met |= {function} if family else set()
                if len(met) == _NESTED:
                    self._refuse(place, address)

    def _refuse(self, region: Region, address: int) -> None:
        """Failure if what lies at an address of a library is a forbidden operation's."""
        self._refuse_function(region.path, region.in_file(address))

    def _refuse_copy(self, code: Code, stand: Stand, region: Region | None) -> None:
        """The same of code of a library that lies elsewhere: in another file, or in none."""
        held = code.read(stand.code, _CODE_BYTES)
        if len(held) < _CODE_BYTES or held in self._sought:
            return
        self._sought.add(held)
        place = region.in_file(stand.code) if region else 0
        for path in _libraries():
            offset = self._place_in(path, held, place)
            if offset >= 0:
                self._refuse_function(str(path), offset)

    def _place_in(self, path: Path, held: bytes, place: int) -> int:
        """Where a file has these bytes: at that place, else anywhere; -1 if nowhere.

        To look everywhere takes a while, so that is done as often as it may take long.
        """
        with path.open("rb") as file, mmap(file.fileno(), 0, prot=PROT_READ) as content:
            if content[place : place + len(held)] == held:
                return place
            if self._left < len(content):
                return -1
            self._left -= len(content)
            return content.find(held)

    def _refuse_function(self, path: str, offset: int) -> None:
        function, family = _known(path, offset, self.forbidden)
        if family is not None:
            where = f"{plain(function)} of {Path(path).name}"
            said = f"it was met in {where}, which {family} stands for"
            raise Failure(Outcome.FORBIDDEN_OP, said)

    def proofs(self) -> tuple[Proof, ...]:
        """What was seen; nothing where nothing is forbidden that could be."""
        if not self.forbidden:
            return ()
        met = f"{self.stops} stops met {self.at_work} threads at work"
        if self.refused or self.at_work < FEWEST:
            why = self.refused or f"{met}: too few to tell"
            return (Proof(name=NAME, available=False, detail=why),)
        seen = f"{met}, {self.own} of them in code of no library, none in a library's product"
        return (Proof(name=NAME, available=True, passed=True, detail=seen),)


@contextmanager
def promptly() -> Iterator[None]:
    """Within it this thread goes before all others, where it may: it sleeps, and has to wake up.

    Else a worker that shares a processor with it, and is told to go, has mostly answered by then.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


@lru_cache(maxsize=1 << 14)
def _known(path: str, offset: int, forbidden: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The name of the function at a place of a file, and which of the families it belongs to."""
    function = functions_of(path).at(offset)
    return function, family_of_code(Path(path).name, function, forbidden)


def _is_torchs(path: str) -> bool:
    """Whether a file is the library that torch's operations lie in."""
    return Path(path).name.startswith("libtorch_cpu.") and _of_a_library(path)


@lru_cache(maxsize=1)
def _libraries() -> tuple[Path, ...]:
    """The files with products that a solution could have copied."""
    import numpy as np
    import torch

    beside = Path(np.__file__).parents[1]
    torchs = Path(torch.__file__).parent / "lib"
    return (*beside.glob("*.libs/*blas*"), *torchs.glob("libtorch_cpu.*"))


def _nameless(code: Code) -> str:
    """Why products of torch cannot be told from its other functions; empty where they can."""
    paths = [one.path for one in code.files() if _is_torchs(one.path)]
    if not paths:
        return "torch's library was not found in the worker"
    if not functions_of(paths[0]).complete:
        return f"{Path(paths[0]).name} does not name its functions"
    return ""


@lru_cache(maxsize=256)
def _of_a_library(path: str) -> bool:
    """Whether a file is one that the solution cannot have brought along."""
    places = {one for place in python_places() for one in (place, place.resolve())}
    return any(Path(path).is_relative_to(place) for place in places)
