"""`bench sweep`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.commands.choices import CLIS, PROBLEMS, RUNS, clis, folder
from bench.commands.command import Argument, Command, Front, Given, Option
from bench.commands.lacks import HEADING, Lacks, lacks
from kbsite.errors import MachineError, UsageError
from kbsite.model.counts import number_of

if TYPE_CHECKING:
    from bench.sweeps.plan import Plan
    from bench.sweeps.sheet import Contender
    from bench.sweeps.states import State
    from bench.sweeps.works import Work
    from kbsite.model.price import PriceTable

ACTIONS = ("plan", "run", "status", "resume", "stop")

_OF_ACTIONS = {
    "failed": ("run", "resume"), "without_missing": ("run", "resume"), "now": ("stop",),
}  # fmt: skip
"""Options that only some actions have."""


def run(given: Given, front: Front) -> int:
    """Do with a sweep what was asked; the exit code."""
    from bench.running.form import Places
    from bench.sweeps.conduct import check_work, read_work

    _refuse_others(given)
    places = Places(
        runs=folder(given, "runs"), problems=folder(given, "problems"),
        clis=clis(given),
    )  # fmt: skip
    work = read_work(given["sweep"], places)
    if given["action"] not in ("status", "stop"):
        check_work(given["sweep"], work)
    match given["action"]:
        case "plan":
            return _plan(work, given, front)
        case "status":
            return _status(work, given, front)
        case "stop":
            return _stop(work, given, front)
        case _:
            return _drive(work, given, front)


def _refuse_others(given: Given) -> None:
    """Raise UsageError for an option of another action: nobody would do what it says."""
    for name, actions in _OF_ACTIONS.items():
        if given.get(name) and given["action"] not in actions:
            of = " and ".join(f"`{one}`" for one in actions)
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is for {of}; leave it out of `{given['action']}`")


def _plan(work: Work, given: Given, front: Front) -> int:
    from bench.sweeps.plan import HEADINGS, as_data, lines, plan, rows

    made = plan(work, _prices())
    found, unheld = _looked(work, made, front)
    if given.get("json"):
        front.give(json.dumps(_with_lacks(as_data(made), made, found)))
        return 0
    shown = zip(rows(made), made.due, strict=True)
    front.table((*HEADINGS, HEADING), [(*row, found.cell(one.contender)) for row, one in shown])
    front.give("\n".join(lines(made)))
    for line in [*unheld, *_told(found)]:
        front.say(line, "bad")
    return 0


def _looked(work: Work, made: Plan, front: Front) -> tuple[Lacks, list[str]]:
    """What contenders with work to do lack; and why nobody could look, if so."""
    try:
        return lacks(work, _busy(made), front), []
    except MachineError as error:
        nothing = Lacks(sentences={}, names={}, stopped=frozenset(), elsewhere="")
        return nothing, [f"this host holds no session: {error}"]


def _busy(made: Plan) -> list[Contender]:
    """The contenders whose sessions are to be started."""
    return [one.contender for one in made.due if one.missing]


def _with_lacks(data: dict[str, Any], made: Plan, found: Lacks) -> dict[str, Any]:
    told = [found.sentences.get(one.contender) for one in made.due]
    pairs = zip(data["contenders"], told, strict=True)
    return {**data, "contenders": [{**one, "lacks": lacking} for one, lacking in pairs]}


def _told(found: Lacks) -> list[str]:
    lines = found.told()
    if lines and found.elsewhere:
        lines.append(f"this host alone was looked at; nodes of {found.elsewhere} may differ")
    return lines


def _prices() -> PriceTable:
    """The prices that the site here has; none where there is no site."""
    from kbsite.model.price import PriceTable
    from kbsite.store.settings import config_path, read_settings

    try:
        return read_settings(config_path(Path.cwd())).prices
    except UsageError:
        return PriceTable()


def _status(work: Work, given: Given, front: Front) -> int:
    from time import time

    from bench.sweeps.conduct import opened
    from bench.sweeps.shown import HEADINGS, as_data, lines, rows

    with opened(work) as ledger:
        if given.get("json"):
            front.give(json.dumps(as_data(ledger)))
        else:
            front.table(HEADINGS, rows(ledger))
            front.give("\n".join(lines(ledger, time(), work.board, work.tries)))
    return 0


def _stop(work: Work, given: Given, front: Front) -> int:
    from bench.sweeps.conduct import ask_to_stop

    front.say(ask_to_stop(work, at_once=bool(given.get("now"))))
    return 0


def _drive(work: Work, given: Given, front: Front) -> int:
    from bench.sweeps.conduct import drive
    from bench.sweeps.plan import lines, plan

    made = plan(work, _prices())
    for line in lines(made):
        front.say(line)
    found = lacks(work, _busy(made), front)
    for line in _told(found):
        front.say(line, "bad")
    if found.stopped and not given.get("without_missing"):
        which = f"{len(found.stopped)} of {number_of(len(made.due), 'contender')} cannot start"
        front.say(f"nothing was started: {which}; mend that, or add --without-missing", "bad")
        return MachineError.exit_code
    with front.progress(f"sweep {work.name}") as told:
        counts = drive(
            work, told, front.say, again=bool(given.get("failed")), without=found.stopped
        )
    if given.get("json"):
        front.give(json.dumps({state.value: count for state, count in counts.items()}))
    complete = _ended(counts, front)
    for one in made.due:
        if one.contender in found.stopped:
            which = f"{number_of(one.missing, 'session')} of {one.contender.label}"
            front.say(f"left open: {which}, which lacks: {found.cell(one.contender)}", "bad")
    return 0 if complete else 1


def _ended(counts: Mapping[State, int], front: Front) -> bool:
    """Say how many cells stand where; whether all are done."""
    from bench.sweeps.driver import words
    from bench.sweeps.states import State

    whole = sum(counts.values())
    complete = counts[State.DONE] == whole
    front.say(words(counts), "good" if complete else "bad")
    if counts[State.FAILED]:
        front.say("`status` tells why cells failed; `run --failed` tries them once more")
    return complete


SWEEP = Command(
    name="sweep",
    summary="Run contenders x problems x attempts, and go on after whatever happens.",
    about=(
        "SWEEP is a file that names a board, problems and contenders (docs/sweeps.md). ACTION: "
        "`plan` tells what is there already, what is missing, time and cost, and starts nothing; "
        "`run` does what is missing, and `resume` is another word for it; `status` tells how far "
        "it is, and `stop` ends it, both from any terminal.\n\n"
        "Whatever is killed meanwhile, the next `run` finds on disk what is done, and does the "
        "rest. Ctrl-C starts nothing more; a second one ends what runs.\n\n"
        "`plan` and `run` look at what each contender needs first. Where one cannot start, `run` "
        "says what to do, and starts nothing; --without-missing starts the others, and leaves its "
        "cells open.\n\n"
        "Exit codes: 0 all cells are done, 1 some are not, 2 wrong use, 3 the machine failed, or a "
        "contender cannot start. `plan`, `status` and `stop` end with 0 however far the sweep is: "
        "scripts ask `status --json`. A file that is wrong is 1."
    ),
    examples=("sweep plan night.yaml", "sweep run night.yaml", "sweep stop night.yaml --now"),
    arguments=(Argument(name="action", choices=ACTIONS), Argument(name="sweep", kind=Path)),
    options=(
        PROBLEMS,
        RUNS,
        CLIS,
        Option(name="failed", kind=bool, help="run: try failed cells once more."),
        Option(name="without-missing", kind=bool,
               help="run: let the others go on where contenders cannot start."),
        Option(name="now", kind=bool, help="stop: end what runs, too."),
        Option(name="json", kind=bool, help="All but stop: print data instead of words."),
    ),
    run=run,
)  # fmt: skip
