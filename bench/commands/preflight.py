"""`bench preflight`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from bench.commands.choices import CLIS, SANDBOX, clis
from bench.commands.command import Argument, Command, Front, Given, Option, require
from bench.commands.lacks import wanted
from kbsite.errors import UsageError
from kbsite.model.counts import number_of

if TYPE_CHECKING:
    from bench.preflight import Row, Tools, Wanted

_OF_HARNESSES = ("model", "effort", "provider", "providers")


def run(given: Given, front: Front) -> int:
    """Look at contenders and try them; the exit code."""
    require(sessions=True)
    from bench.preflight import Trial, preflight
    from bench.running.stopping import stopped_by_signals

    wanted, tools = _asked(given)
    trial = Trial(script=_script(given), live=bool(given.get("live")))
    with stopped_by_signals() as stop, front.progress("preflight") as told:
        rows = preflight(wanted, tools, trial, told, stop)
        stopped = stop.is_set()
    show(rows, front, data=bool(given.get("json")))
    lost = sum(not row.can_start for row in rows)
    if stopped:
        front.say("stopped before all was tried", "bad")
    elif lost:
        front.say(f"{lost} of {number_of(len(rows), 'contender')} cannot start", "bad")
    else:
        front.say("all contenders can start", "good")
    return 1 if lost or stopped else 0


def _script(given: Given) -> str | None:
    name = given.get("script") or "quick"
    return None if name == "none" else str(name)


def _asked(given: Given) -> tuple[list[Wanted], Tools]:
    """The contenders that are asked about, and what they are held against."""
    from bench.preflight import tools_here

    if given["sweep"]:
        wanted, providers, sandbox = _of_sweep(given)
        return wanted, tools_here(clis(given), providers, given.get("sandbox") or sandbox)
    tools = tools_here(clis(given), given.get("providers"), given.get("sandbox"))
    return _of_harnesses(given, tools), tools


def _of_sweep(given: Given) -> tuple[list[Wanted], Path | None, str | None]:
    """The contenders of a sweep, its file of providers, and its sandbox."""
    from bench.sweeps.sheet import read_sweep

    if len(given["sweep"]) > 1:
        raise UsageError("expected one SWEEP at a time")
    for name in ("harness", *_OF_HARNESSES):
        if given.get(name):
            raise UsageError(f"--{name}: SWEEP says that itself; leave one of them out")
    path: Path = given["sweep"][0]
    sweep = read_sweep(path)
    contenders = [wanted(one) for one in sweep.contenders]
    providers = path.parent / sweep.providers if sweep.providers else None
    return list(dict.fromkeys(contenders)), providers, sweep.sandbox


def _of_harnesses(given: Given, tools: Tools) -> list[Wanted]:
    from bench.preflight import MODEL, Wanted

    model, provider = given.get("model"), given.get("provider")
    if given.get("live") and not model:
        raise UsageError("--live asks a real model: say which one with --model")
    wanted = []
    for harness in dict.fromkeys(given.get("harness") or tools.adapters):
        adapter = tools.adapters.get(harness)
        usual = adapter.provider if adapter and model else None
        wanted.append(
            Wanted(
                harness=harness, model=model or MODEL, effort=given.get("effort"),
                provider=provider or usual,
            )
        )  # fmt: skip
    return wanted


def show(rows: list[Row], front: Front, *, data: bool) -> None:
    """Give a row for each contender: as a table with all problems below it, or as JSON."""
    from bench.preflight import CHECKS

    if data:
        front.give(json.dumps([_plain(row) for row in rows]))
        return
    headings = ("contender", "provider", *CHECKS, "tried")
    tones = ["" if row.can_start else "bad" for row in rows]
    front.table(headings, [_cells(row) for row in rows], tones)
    # Below the table: sentences would leave its columns no room.
    for row in rows:
        for one in row.problems:
            front.say(f"{row.wanted.label}: {one.name}: {one.sentence}", "bad")


_MARKS = {"fine": "yes", "wrong": "no", "not tried": "–"}


def _cells(row: Row) -> tuple[str, ...]:
    marks = (_MARKS[one.state.value] for one in row.checks)
    tried = (one.seen for one in row.checks[-2:] if one.state.value == "fine")
    return (row.wanted.label, row.wanted.provider or "–", *marks, "; ".join(tried))


def _plain(row: Row) -> dict[str, object]:
    return {
        "harness": row.wanted.harness, "model": row.wanted.model, "effort": row.wanted.effort,
        "provider": row.wanted.provider, "can_start": row.can_start,
        "checks": {
            one.name: {"state": one.state.value, "seen": one.seen, "cure": one.cure or None}
            for one in row.checks
        },
    }  # fmt: skip


PREFLIGHT = Command(
    name="preflight",
    summary="Tell whether contenders can start, before a night is spent on them.",
    about=(
        "Of each contender of SWEEP, or of each --harness (all of them without either): whether "
        "its CLI is installed and prints the locked version, its provider is known and speaks its "
        "dialect, model and effort are taken, and the key is set. Then it plays one scripted "
        "session in the real sandbox, through the real proxy: it has to finish, its tokens have "
        "to be the same by formula, proxy and its own log, nothing may be refused and no process "
        "be left. With --live its real model is asked for one answer, which costs money.\n\n"
        "All that is wrong is told at once. docs/preflight.md tells the rest.\n\n"
        "Exit codes: 0 all contenders can start, 1 some cannot, 2 wrong use, 3 the machine can "
        "hold no session."
    ),
    examples=(
        "preflight night.yaml",
        "preflight night.yaml --live",
        "preflight --harness claude --harness codex --script main",
    ),
    arguments=(Argument(name="sweep", kind=Path, several=True),),
    options=(
        Option(name="harness", several=True, metavar="ID", help="This CLI, or these."),
        Option(name="model", help="The model of --harness."),
        Option(name="effort", help="The effort of --harness, as the CLI calls it."),
        Option(name="provider", metavar="ID", help="Who serves --model; else the CLI's own."),
        Option(name="providers", kind=Path, help="A file of providers beside those known."),
        Option(name="script", metavar="NAME",
               help="What is played: quick without it, main for a whole session, none for none."),
        Option(name="live", kind=bool, help="Ask the real model for one answer, too."),
        Option(name="sandbox", choices=SANDBOX.choices,
               help="What holds sessions; else the best that works here."),
        CLIS,
        Option(name="json", kind=bool, help="Print data instead of a table."),
    ),
    run=run,
)  # fmt: skip
