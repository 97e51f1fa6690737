"""GPUs as NVIDIA's driver tells of them, and who uses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.devices.gpu_watch import in_words, strangers
from bench.devices.nvml import HELD_BACK, Nvml, gpus
from bench.doctor.form import Here, Seen, State, gib
from bench.records import HARDWARE, read_yaml
from kbsite.errors import KbsiteError, MachineError
from kbsite.model.hardware import Hardware

_NONE = (
    "nothing, for boards whose hardware is cpu; else install NVIDIA's driver, or start the "
    "container with its GPUs"
)


@dataclass(frozen=True)
class Gpus:
    """All GPUs that this process may see."""

    name: str = "GPUs"
    nodes: Path = Path("/dev")

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """A row for each GPU, or why there is none."""
        try:
            found = gpus()
        except MachineError as error:
            yield Seen(
                name=self.name, state=State.NO, seen=f"none that can be asked: {error}", cure=_NONE
            )
            return
        if not found:
            yield Seen(name=self.name, state=State.NO, seen="the driver names none", cure=_NONE)
        for number, uuid in enumerate(found):
            name = f"GPU {number}"
            try:
                yield self._gpu(name, uuid)
            except KbsiteError as error:
                yield Seen(
                    name=name, state=State.NO, seen=f"{uuid}: {error}",
                    cure="look at it with nvidia-smi; if it stays so, restart the machine",
                )  # fmt: skip

    def _gpu(self, name: str, uuid: str) -> Seen:
        told = Nvml(uuid)
        what, facts, look, used = told.identity(), told.facts(), told.look(), told.processes()
        wrong = [*_of_kind(what.name), *_busy(used), *_drawn_on(told.drawing())]
        wrong += _slow(look.reasons)
        node = self.nodes / f"nvidia{what.minor}"
        if not node.exists():
            wrong.append((f"{node} is missing", "give the container this device"))
        seen = (
            f"{what.name}, {gib(what.memory_bytes)}, driver {facts['driver']}, "
            f"{look.watts:.0f} of {facts['power_limit_watts']} W, {look.celsius} °C, {uuid}"
        )
        return Seen(
            name=name, state=State.PARTLY if wrong else State.YES,
            seen="; ".join([seen, *(said for said, _ in wrong)]),
            cure="; ".join(dict.fromkeys(cure for _, cure in wrong)),
        )  # fmt: skip


_Wrong = Iterator[tuple[str, str]]
"""What is wrong, and what to do about it."""


def _of_kind(name: str) -> _Wrong:
    """Whether hardware files know it, without which its grades have no ceilings."""
    known = [path.stem for path in sorted(HARDWARE.glob("*.yaml")) if _is(path, name)]
    if not known:
        yield (
            "no hardware file knows it",
            "add a file in bench/hardware: without ceilings nothing is graded on it",
        )


def _is(path: Path, name: str) -> bool:
    aliases = read_yaml(path, Hardware).aliases
    return name.lower() in {alias.lower() for alias in aliases}


def _busy(used: Sequence[int]) -> _Wrong:
    if used:
        cure = "wait for them or end them: a run refuses a GPU that is in use"
        yield f"in use by {_who(used)}", cure


def _drawn_on(drawing: Sequence[int]) -> _Wrong:
    if drawing:
        cure = "measure on a GPU without a screen, or end them: each grade says who drew meanwhile"
        yield f"drawn on by {_who(drawing)}", cure


def _who(pids: Sequence[int]) -> str:
    names = strangers(pids)
    others = len(pids) - len(names)
    more = f"{others} that are not seen from here" if others else ""
    return " and ".join(one for one in (in_words(names), more) if one)


def _slow(reasons: int) -> _Wrong:
    held = [word for bit, word in HELD_BACK.items() if reasons & bit]
    if held:
        yield ", ".join(held), "see to its cooling and power before anything is measured"
