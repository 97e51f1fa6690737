"""run.json of a Harbor trial: what Harbor and the transcript tell, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kbsite.importers.harbor_logs import ATIF, Logs, Shown
from kbsite.importers.harbor_result import RESULT, AgentResult, Timing, TrialResult, ended
from kbsite.importers.told import (
    UNKNOWN_MODEL,
    cost_source,
    told_end,
    told_model,
    told_version,
    usage_source,
)
from kbsite.model.finding import one_line
from kbsite.model.run import FORMAT, Run
from kbsite.model.status import EndReason
from kbsite.model.transcript import Transcript
from kbsite.model.usage import Usage

ORIGIN = "imported from a Harbor trial"
NO_LOG = "The Harbor trial holds no log of the agent that can be read."
TRAJECTORY = "Shown is Harbor's trajectory of the session: no log of the agent itself can be read."
NO_ZONE = "Harbor wrote its times without a zone: when the trial ran is not known."
HARBORS = f"{RESULT}: what Harbor says"


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent logged."""

    logs: Logs
    shown: Transcript | None
    printed: Transcript | None = None
    """What its CLI printed, where that is not shown: some tell only there what it cost."""


def origin(result: TrialResult) -> str:
    """Which trial a run comes from; two imports of a trial say the same."""
    checksum = f" with checksum {result.task_checksum}" if result.task_checksum else ""
    told = f"{result.trial_name}, id {result.id}, task {result.task_name}{checksum}"
    return one_line(f"{ORIGIN}: {told}")


def run_of(result: TrialResult, told: Told, run_id: str, board: str) -> Run:
    """The record of a trial's run."""
    config, shown = result.config, told.shown
    start, end = span(result, shown)
    usage, usage_from = _usage(result, shown)
    cost, cost_from = _cost(result, told)
    return Run(
        format=FORMAT,
        id=run_id,
        board=board,
        problem=result.problem,
        problem_hash=None,
        prompt_hash=None,
        harness=told.logs.harness,
        harness_version=result.version or (told_version(shown) if shown else None),
        model=model(result, shown),
        effort=_effort(result, shown),
        variant=_variant(result, told.logs),
        provider=result.provider,
        environment=config.environment if config else None,
        hardware=None,
        budget_seconds=config.budget_seconds if config else None,
        started=start,
        ended=end,
        seconds=(result.agent_execution or Timing()).seconds,
        end_reason=ended(result.exception_info)
        or (told_end(shown) if shown else EndReason.UNKNOWN),
        usage=usage,
        usage_source=usage_from,
        cost_usd=cost,
        cost_source=cost_from,
        origin=origin(result),
        notes=_notes(result, told.logs.shown, start),
    )


def _effort(result: TrialResult, shown: Transcript | None) -> str | None:
    """What was asked for; else what the CLI says of itself."""
    asked = result.config.effort if result.config else None
    told = shown.session.effort if shown and shown.session else ""
    return asked or told or None


def _variant(result: TrialResult, logs: Logs) -> str | None:
    """The agent's own name where its harness is ATIF: as that, all those agents are one."""
    return one_line(result.agent_info.name) if logs.harness == ATIF else None


def model(result: TrialResult, shown: Transcript | None) -> str:
    """The model that Harbor names, else the transcript, else "unknown"."""
    return result.model or (told_model(shown) if shown else UNKNOWN_MODEL)


def span(result: TrialResult, shown: Transcript | None) -> tuple[datetime | None, datetime | None]:
    """When the session began and ended: by Harbor's clock, else by the transcript's."""
    told = result.agent_execution or Timing()
    if told.start is not None and told.end is not None and told.start <= told.end:
        return told.start, told.end
    if shown is not None and shown.first is not None:
        return shown.first, shown.last
    return told.start, None


def _usage(result: TrialResult, shown: Transcript | None) -> tuple[Usage, str | None]:
    """The tokens and who counted them: Harbor's count is known to take messages twice."""
    if shown is not None and shown.usage.known:
        return shown.usage, usage_source(shown)
    usage = (result.agent_result or AgentResult()).usage
    return usage, HARBORS if usage.known else None


def _cost(result: TrialResult, told: Told) -> tuple[float | None, str | None]:
    """What the session cost and who says so."""
    for one in (told.shown, told.printed):
        if one is not None and one.cost_usd is not None:
            return one.cost_usd, cost_source(one)
    cost = (result.agent_result or AgentResult()).cost
    return cost, None if cost is None else HARBORS


def _notes(result: TrialResult, shows: Shown, start: datetime | None) -> tuple[str, ...]:
    found = []
    match shows:
        case Shown.NOTHING:
            found.append(NO_LOG)
        case Shown.TRAJECTORY:
            found.append(TRAJECTORY)
        case Shown.OWN:
            pass
    if start is None and result.agent_execution and result.agent_execution.started_at:
        found.append(NO_ZONE)
    if result.exception_info is not None:
        found.append(f"What stopped the Harbor trial: {result.exception_info.sentence}")
    return tuple(found)
