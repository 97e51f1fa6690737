"""What holds sessions and solutions: sandboxes as they were tried here, and control groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.doctor.form import Here, Seen, State
from bench.sandbox import SANDBOXES, self_test
from bench.sandbox.box import Box, Proven, Sandbox
from bench.sandbox.group_places import places
from bench.sandbox.places import own_packages
from kbsite.errors import MachineError
from kbsite.store.scratch import scratch_folder

_LEVELS = {"L3": State.YES, "L2": State.PARTLY, "L1": State.PARTLY}
_CURES = {
    "user": "start it as root: then a box has a user of its own",
    "limits kept by the kernel": "have control groups that can be written (see `control groups`)",
}
_LARGE = 4 << 20
WORKSPACE, HOME = Path("/workspace"), Path("/home/agent")
"""As `bench.harnesses` has them, which needs packages that a bare checkout lacks."""


@dataclass(frozen=True)
class Walls:
    """Each sandbox, with a grader's box and an agent's."""

    name: str = "sandboxes"
    sandboxes: tuple[Sandbox, ...] = SANDBOXES

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """The level that was seen, and which claims did not hold."""
        usable = False
        for sandbox in self.sandboxes:
            reason = sandbox.available()
            if reason is not None:
                yield Seen(
                    name=sandbox.name, state=State.NO, seen=reason,
                    cure="nothing, where another sandbox can be used",
                )  # fmt: skip
                continue
            usable = True
            yield _tried(sandbox, "a grader's box", agents=False)
            yield _tried(sandbox, "an agent's box", agents=True)
        if not usable:
            yield Seen(
                name=self.name, state=State.NO, seen="none can be used here", needed=True,
                cure="install bubblewrap, and start it as root or allow users to make namespaces",
            )  # fmt: skip


def agents_box(folder: Path) -> Box:
    """A box like those that agents get, without its CLI."""
    own = dict.fromkeys((WORKSPACE, HOME), _LARGE)
    return Box(
        log=folder / "log", folder=WORKSPACE, home=HOME, writable=own,
        hidden=own_packages(), interfaces=True, terminals=True,
    )  # fmt: skip


def _tried(sandbox: Sandbox, kind: str, *, agents: bool) -> Seen:
    name = f"{sandbox.name}, {kind}"
    with scratch_folder("doctor") as folder:
        try:
            proven = self_test(sandbox, like=agents_box(folder) if agents else None)
        except (MachineError, OSError) as error:
            return Seen(
                name=name, state=State.NO, seen=f"it could not be tried: {error}",
                cure="run `bench doctor` again; if it stays so, use another sandbox",
            )  # fmt: skip
    return _told(name, proven)


def _told(name: str, proven: Proven) -> Seen:
    broken = [one for one in proven.claims if not one.held]
    seen = f"level {proven.level}"
    if broken:
        seen += "; did not hold: " + ", ".join(f"{one.name} ({one.seen})" for one in broken)
    state = _LEVELS.get(proven.level, State.NO)
    if state is State.YES:
        return Seen(name=name, state=state, seen=seen)
    known = dict.fromkeys(_CURES[one.name] for one in broken if one.name in _CURES)
    unknown = any(one.name not in _CURES for one in broken)
    cures = [*known, "see docs/sandbox.md: nothing from here should be published"] if unknown else [
        *known
    ]  # fmt: skip
    return Seen(name=name, state=state, seen=seen, cure="; ".join(cures))


@dataclass(frozen=True)
class Groups:
    """Control groups, by which the kernel limits boxes as a whole."""

    name: str = "control groups"
    places: Mapping[str, Path] | None = None
    """Stands in for those of this machine."""

    def look(self, here: Here) -> Iterator[Seen]:  # noqa: ARG002
        """What can be limited, and where."""
        held = places() if self.places is None else self.places
        missing = [name for name in ("memory", "pids", "devices") if name not in held]
        where = ", ".join(sorted({str(place) for place in held.values()}))
        seen = f"{', '.join(sorted(held))} can be limited below {where}" if held else "none"
        if missing and held:
            seen += f"; not: {', '.join(missing)}"
        yield Seen(
            name=self.name, state=State.YES if not missing else State.PARTLY if held else State.NO,
            seen=seen,
            cure="" if not missing
            else "start it as root, in a container with /sys/fs/cgroup writable; until then memory "
            "is watched and processes are counted by user",
        )  # fmt: skip
