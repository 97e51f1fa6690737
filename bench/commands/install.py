"""`bench install`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.commands.choices import CLIS, clis
from bench.commands.command import Argument, Command, Front, Given, Option, Told, require

if TYPE_CHECKING:
    from bench.installing import Failure, Installed, Lock
    from bench.preflight import Row as Tried


_HEADINGS = ("harness", "version", "MB", "seconds", "check")


@dataclass(frozen=True, kw_only=True)
class _Row:
    """What became of a CLI."""

    harness: str
    version: str
    megabytes: float | None = None
    seconds: float | None = None
    """How long it took, on the day that it was installed."""
    check: str = ""
    wrong: str = ""


def run(given: Given, front: Front) -> int:
    """Install what is missing, check it and tell; the exit code."""
    from bench.installing import Failure, install, read_lock

    if given.get("check") == "session":
        require(sessions=True)
    prefix = clis(given)
    lock = read_lock()
    with front.progress("looking what is installed") as told:
        became = install(given["cli"], prefix, told, lock)
        rows = _checked(became, prefix, lock, (given.get("check") or "version", told))
    _tell(rows, front, as_json=bool(given.get("json")))
    if any(isinstance(one, Failure) for one in became):
        return 3
    return 1 if any(row.wrong for row in rows) else 0


def _tell(rows: Sequence[_Row], front: Front, *, as_json: bool) -> None:
    """Give the rows, and say what is wrong with any of them."""
    if as_json:
        front.give(json.dumps([_plain(row) for row in rows]))
    else:
        tones = ["bad" if row.wrong else "" for row in rows]
        front.table(_HEADINGS, [_cells(row) for row in rows], tones)
    for row in rows:
        if row.wrong:
            front.say(f"{row.harness}: {row.wrong}", "bad")


def _checked(
    became: Sequence[Installed | Failure], prefix: Path, lock: Lock, how: tuple[str, Told]
) -> list[_Row]:
    check, told = how
    rows = []
    for number, one in enumerate(became):
        if check != "none":
            told(f"checking {one.harness}", number / len(became))
        rows.append(_row(one, prefix, lock, check))
    return _played(rows, prefix, told) if check == "session" else rows


def _row(one: Installed | Failure, prefix: Path, lock: Lock, check: str) -> _Row:
    from bench.installing import Failure
    from bench.installing.checks import wrong_version

    if isinstance(one, Failure):
        return _Row(
            harness=one.harness, version=one.version, check="not installed", wrong=one.error
        )
    wrong = wrong_version(one, prefix, lock) if check != "none" else ""
    return _Row(
        harness=one.harness, version=one.version, megabytes=round(one.bytes / 1e6, 1),
        seconds=one.seconds, check="failed" if wrong else _CHECKED[check], wrong=wrong,
    )  # fmt: skip


_CHECKED = {"none": "not checked", "version": "--version", "session": "--version"}


def _played(rows: Sequence[_Row], prefix: Path, told: Told) -> list[_Row]:
    """The rows, those of CLIs that are sound with what became of a scripted session of each."""
    from bench.preflight import Trial, Wanted, preflight, tools_here
    from bench.running.stopping import stopped_by_signals

    tools = tools_here(prefix)
    sound = [row.harness for row in rows if not row.wrong and row.harness in tools.adapters]
    with stopped_by_signals() as stop:
        wanted = [Wanted(harness=harness) for harness in sound]
        tried = {row.wanted.harness: row for row in preflight(wanted, tools, Trial(), told, stop)}
    return [_with_session(row, tried.get(row.harness)) for row in rows]


def _with_session(row: _Row, tried: Tried | None) -> _Row:
    if tried is None:
        return row
    session = tried.check("session")
    if session.state.value == "not tried":
        return replace(row, check="no session", wrong=f"no session was played: {session.seen}")
    wrong = "; ".join(one.sentence for one in tried.problems)
    return replace(row, check="failed" if wrong else f"session: {session.seen}", wrong=wrong)


def _plain(row: _Row) -> dict[str, object]:
    return {
        "harness": row.harness, "version": row.version, "megabytes": row.megabytes,
        "seconds": row.seconds, "check": row.check, "wrong": row.wrong or None,
    }  # fmt: skip


def _cells(row: _Row) -> tuple[str, ...]:
    return (row.harness, row.version, _shown(row.megabytes), _shown(row.seconds), row.check)


def _shown(number: float | None) -> str:
    return "–" if number is None else f"{number:.1f}"


INSTALL = Command(
    name="install",
    summary="Install the CLIs that sessions run in, in the versions of bench/clis.lock.toml.",
    about=(
        "Installs what is missing with npm and pip, below a folder of its own: each CLI whole or "
        "not at all, so that a call that was broken off is simply repeated. Node comes from npm, "
        "too, and needs any npm to begin with. Then each is asked for its version. Without CLI, "
        "all of them.\n\n"
        "The folder is .clis beside kbsite.yaml, or what KBSITE_CLIS or --clis says.\n\n"
        "Exit codes: 0 all are there, 1 one is not what it has to be, 2 wrong use, 3 one could "
        "not be installed."
    ),
    examples=("install", "install claude codex", "install --check session"),
    arguments=(Argument(name="cli", several=True),),
    options=(
        CLIS,
        Option(
            name="check", choices=tuple(_CHECKED),
            help="What is tried of each: `version` without it, `none` for what was installed "
            "before, `session` to let each play a scripted session in the sandbox, too.",
        ),
        Option(name="json", kind=bool, help="Print the table as JSON."),
    ),
    run=run,
)  # fmt: skip
