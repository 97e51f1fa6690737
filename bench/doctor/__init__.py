"""What this host can do, for whoever is to make runs on it: `kbsite bench doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bench.doctor.contenders import Clis, Keys
from bench.doctor.form import Here, Look, Seen, State
from bench.doctor.gpus import Gpus
from bench.doctor.machine import Disk, Memory, Processors, System
from bench.doctor.software import Engines, Python, Torch
from bench.doctor.tools import Compilers, Profilers
from bench.doctor.walls import Groups, Walls
from kbsite.errors import KbsiteError

__all__ = ["LOOKS", "Here", "Look", "Seen", "State", "examine", "reasons"]

LOOKS: tuple[Look, ...] = (
    System(),
    Processors(),
    Memory(),
    Disk(),
    Python(),
    Torch(),
    Walls(),
    Groups(),
    Gpus(),
    Profilers(),
    Compilers(),
    Clis(),
    Keys(),
    Engines(),
)
"""In the order of their rows; a new one is a class that fits `Look` and a line here."""

Told = Callable[[str, float | None], None]


def examine(here: Here, told: Told, looks: Sequence[Look] = LOOKS) -> Iterator[Seen]:
    """All that there is to see, look by look; what fails is told in its place."""
    for number, one in enumerate(looks):
        told(f"looking at {one.name}", number / len(looks))
        try:
            yield from one.look(here)
        except (KbsiteError, OSError, ImportError) as error:
            yield Seen(
                name=one.name, state=State.NO, seen=f"could not be looked at: {error}",
                cure="mend what that says, then run `bench doctor` again",
            )  # fmt: skip


def reasons(seen: Sequence[Seen]) -> list[str]:
    """Why no run can be made here, in sentences; none where one can."""
    return [f"{one.name}: {one.seen}. {_sentence(one.cure)}" for one in seen if one.forbids]


def _sentence(cure: str) -> str:
    if cure.startswith(("kbsite ", "pip ")):
        return f"Run `{cure}`."
    return f"{cure[:1].upper()}{cure[1:]}."
