"""`bench run`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from bench.commands.choices import CLIS, PROBLEMS, RUNS, SANDBOX, clis, folder
from bench.commands.command import Argument, Command, Front, Given, Option, Told, require
from kbsite.errors import MachineError, UsageError
from kbsite.model.counts import number_of

if TYPE_CHECKING:
    from bench.running.form import Ended
    from bench.running.orders import OrderFile
    from bench.running.session import Progress
    from bench.running.session import Told as ToldProgress

TRIAL = "trial"
"""The board of a run that nobody named one for."""

_UNITS = {"s": 1, "m": 60, "h": 3600}


def run(given: Given, front: Front) -> int:
    """Let a CLI work on a problem, and tell how it ended; the exit code."""
    require(sessions=True)
    from bench.running.run import run as carry_out
    from bench.running.stopping import stopped_by_signals
    from bench.running.supervising import job_of

    order = order_of(given)
    title = f"{order.order.harness} on {order.order.problem}"
    with stopped_by_signals(front.say) as stop:
        job = job_of(order)
        # Only now: what cannot be started was never under way.
        with front.progress(title) as told:
            try:
                ended = carry_out(job, progress(told), stop)
            except OSError as error:
                raise MachineError(
                    f"the run was broken off: {error}; see to the disk of {order.runs}: what there "
                    "is of the run lies there, as .partial"
                ) from error
    finished = ended.reason == "finished"
    front.say(f"{ended.reason}: {ended.detail}", "good" if finished else "bad")
    front.give(json.dumps(_told(ended)) if given.get("json") else str(ended.folder))
    return 1 if ended.retryable else 0


def _told(ended: Ended) -> dict[str, object]:
    return {
        "folder": str(ended.folder), "reason": ended.reason, "detail": ended.detail,
        "retryable": ended.retryable,
    }  # fmt: skip


def order_of(given: Given) -> OrderFile:
    """The order that arguments and options make; UsageError where one makes no sense."""
    from bench.running.form import BUDGET_SECONDS, Order
    from bench.running.orders import OrderFile
    from bench.running.supervising import adapter_of

    harness = given["harness"]
    provider = given.get("provider") or adapter_of(harness).provider
    if provider is None:
        raise UsageError(f"{harness} is made for no provider alone; name one with --provider")
    budget = given.get("budget")
    order = Order(
        board=given.get("board") or TRIAL,
        problem=given["problem"],
        harness=harness,
        model=given["model"],
        provider=provider,
        effort=given.get("effort"),
        variant=given.get("variant"),
        budget_seconds=seconds(budget) if budget else BUDGET_SECONDS,
        hardware=given.get("hardware"),
        gpu=given.get("gpu"),
    )
    providers = given.get("providers")
    return OrderFile(
        order=order,
        runs=str(folder(given, "runs").absolute()),
        problems=str(folder(given, "problems").absolute()),
        clis=str(clis(given)),
        providers=str(providers) if providers else None,
        sandbox=given.get("sandbox"),
    )


def seconds(text: str) -> float:
    """A time with its unit, such as 90s, 45m or 1.5h, in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if found is None or not 0 < float(found[1]) < math.inf:
        raise UsageError(f"--budget {text}: expected a time with its unit, such as 45m or 90s")
    return float(found[1]) * _UNITS[found[2]]


def progress(told: Told) -> ToldProgress:
    """Tells how far a session is: in words that change now and then, and as a share."""

    def shown(one: Progress) -> None:
        told(words(one), min(1.0, 1.0 - one.left / one.budget))

    return shown


def words(one: Progress) -> str:
    """Such as "41 min left, 12 requests (99 k tokens in, 4 k out), 3 versions, complete answer"."""
    sent, out = one.usage.sent or 0, one.usage.output or 0
    tokens = f"{sent / 1000:.0f} k tokens in, {out / 1000:.0f} k out"
    requests = number_of(one.exchanges, "request")
    return f"{_left(one.left)} left, {requests} ({tokens}), {_versions(one)}"


def _versions(one: Progress) -> str:
    return f"{number_of(one.snapshots, 'version')} of the solution, {one.last}"


def _left(left: float) -> str:
    return f"{left / 60:.0f} min" if left >= 120 else f"{left // 10 * 10:.0f} s"


RUN = Command(
    name="run",
    summary="Let a CLI work on a problem, in a sandbox, until it is done or its time is up.",
    about=(
        "One session of HARNESS with MODEL on PROBLEM. It becomes a run directory in runs/BOARD, "
        "with the transcript, all versions of solution.py, what the provider was asked, and why it "
        "ended; `bench grade` grades it afterwards. The agent sees its workspace and the way to "
        "its model, and nothing else of this machine. The key of the provider is read from the "
        "variable that it is known by, and the agent does not see it.\n\n"
        "Ctrl-C ends the session and completes the run; a second one ends all at once.\n\n"
        "Exit codes: 0 the run is complete, 1 it is, but the provider or the CLI failed so that "
        "it had better be repeated, 2 wrong use, 3 the machine cannot do it."
    ),
    examples=(
        "run claude claude-opus-5-5 fp8_gemm --effort max",
        "run opencode kimi-k3 add --provider openrouter --budget 10m --board mine",
    ),
    arguments=(
        Argument(name="harness"),
        Argument(name="model"),
        Argument(name="problem"),
    ),
    options=(
        Option(name="effort", help="Reasoning effort, as the CLI calls it."),
        Option(name="budget", metavar="TIME", help="From the first request on; 45m without it."),
        Option(name="provider", metavar="ID", help="Who serves the model; else the CLI's own."),
        Option(name="board", metavar="ID", help=f"Which board it is for; {TRIAL} without it."),
        Option(name="variant", help="Sets it apart from runs of the same contender."),
        Option(name="hardware", metavar="ID", help="A file of bench/hardware, or cpu."),
        Option(name="gpu", metavar="UUID", help="The GPU that the agent gets; none without it."),
        Option(
            name="sandbox", choices=SANDBOX.choices,
            help="What holds the agent; else the best that works here. `none` keeps nothing.",
        ),
        RUNS,
        PROBLEMS,
        CLIS,
        Option(name="providers", kind=Path, help="A file of providers beside those known."),
        Option(name="json", kind=bool, help="Print what came of it as JSON."),
    ),
    run=run,
)  # fmt: skip
