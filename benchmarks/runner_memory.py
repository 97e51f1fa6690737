"""What the processes of a run hold in memory that are ours, and not its CLI's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self

from bench.harnesses.form import CLIS
from bench.sandbox.processes import children

_EVERY_S = 0.2
_KIB = 1024
_FIRST_WORDS = 3


@dataclass(frozen=True, kw_only=True)
class Held:
    """What processes hold at a moment, in bytes."""

    pss: int
    """Their own pages, and their share of those that others have, too."""
    uss: int
    """Pages that nobody else has."""
    processes: int


@dataclass(frozen=True, kw_only=True)
class Weight:
    """What a run's own processes held while it lasted, in bytes."""

    usual_pss: int
    most_pss: int
    usual_uss: int
    most_uss: int
    processes: int
    """At most, at a moment."""


@dataclass
class Watching:
    """Looks again and again at runs until it ends."""

    _seen: dict[int, list[Held]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def add(self, supervisor: int) -> None:
        """Look at a run, too."""
        self._seen.setdefault(supervisor, [])

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    @property
    def weights(self) -> list[Weight]:
        """What was seen of each run."""
        return [_weight(seen) for seen in self._seen.values() if seen]

    def _look(self) -> None:
        while not self._over.wait(_EVERY_S):
            for supervisor, seen in list(self._seen.items()):
                held = [one for pid in own(supervisor) if (one := weighed(pid))]
                if held:
                    pss, uss = sum(one.pss for one in held), sum(one.uss for one in held)
                    seen.append(Held(pss=pss, uss=uss, processes=len(held)))


def own(supervisor: int) -> Iterator[int]:
    """A supervisor, and all below it but a CLI with what that started."""
    waiting = [supervisor]
    while waiting:
        pid = waiting.pop()
        yield pid
        try:
            waiting += [child for child in children(pid) if not _is_cli(child)]
        except OSError:
            # It ended meanwhile.
            continue


def weighed(pid: int) -> Held | None:
    """What a process holds; None if it is no more."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return None
    sizes = {}
    for line in text.splitlines()[1:]:
        name, _, value = line.partition(":")
        sizes[name] = int(value.split()[0]) * _KIB
    if "Pss" not in sizes:
        return None
    uss = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return Held(pss=sizes["Pss"], uss=uss, processes=1)


def _is_cli(pid: int) -> bool:
    """Whether a process was started as a CLI of a box, itself or by its interpreter."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    # The command lines of our own processes name it too, but later.
    return any(word.startswith(f"{CLIS}/".encode()) for word in words[:_FIRST_WORDS])


def _weight(seen: list[Held]) -> Weight:
    return Weight(
        usual_pss=int(median(one.pss for one in seen)),
        most_pss=max(one.pss for one in seen),
        usual_uss=int(median(one.uss for one in seen)),
        most_uss=max(one.uss for one in seen),
        processes=max(one.processes for one in seen),
    )
