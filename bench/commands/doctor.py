"""`bench doctor`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from bench.commands.choices import CLIS, RUNS, folder
from bench.commands.command import Command, Front, Given, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.doctor import Seen

_HEADINGS = ("what", "there", "seen", "what to do")


def run(given: Given, front: Front) -> int:
    """Look at this host, and tell whether runs can be made on it; the exit code."""
    from bench.doctor import Here, examine, reasons

    here = Here(
        runs=folder(given, "runs").absolute(),
        clis=given.get("clis"),
        providers=given.get("providers"),
    )
    with front.progress("looking at this host") as told:
        seen = list(examine(here, told))
    why = reasons(seen)
    if given.get("json"):
        front.give(json.dumps({"can_run": not why, "reasons": why, "seen": _plain(seen)}))
    else:
        rows = [(one.name, one.state.value, one.seen, one.cure) for one in seen]
        front.table(_HEADINGS, rows, ["bad" if one.forbids else "" for one in seen])
    for reason in why:
        front.say(f"no run can be made here: {reason}", "bad")
    if not why:
        front.say("runs can be made here", "good")
    return 3 if why else 0


def _plain(seen: Sequence[Seen]) -> list[dict[str, object]]:
    return [
        {
            "name": one.name, "state": one.state.value, "seen": one.seen, "cure": one.cure or None,
            "needed": one.needed,
        }
        for one in seen
    ]  # fmt: skip


DOCTOR = Command(
    name="doctor",
    summary="Tell what this host can do, and what to do about the rest.",
    about=(
        "Looks at system, memory, disk, Python and its packages, each sandbox (by trying what it "
        "keeps), control groups, GPUs and who uses them, profilers, compilers, CLIs, providers' "
        "keys (whether they are set, never what they are) and engines of sweeps. It changes "
        "nothing and takes some seconds.\n\n"
        "Exit codes: 0 a run can be made here, 3 none can, and it says why."
    ),
    examples=("doctor", "doctor --json"),
    options=(
        RUNS,
        CLIS,
        Option(name="providers", kind=Path, help="A file of providers beside those known."),
        Option(name="json", kind=bool, help="Print data instead of a table."),
    ),
    run=run,
)
