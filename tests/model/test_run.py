from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from kbsite.model.event import Message, Role, Source, Trace
from kbsite.model.run import Contender, Run
from kbsite.model.status import EndReason
from kbsite.model.transcript import AgentLog, DiffLine, FileDiff, Step
from kbsite.model.usage import Usage

START = datetime(2026, 1, 2, tzinfo=UTC)
RUN = Run(
    format=1, id="x", board="demo", problem="softmax", problem_hash=None, prompt_hash=None,
    harness="claude", harness_version=None, model="opus-x", effort="max", hardware=None,
    budget_seconds=None, started=START, ended=START + timedelta(minutes=2),
    end_reason=EndReason.BUDGET,
)  # fmt: skip


@pytest.mark.parametrize(
    ("effort", "variant", "label"),
    [
        (None, None, "claude · opus-x"),
        ("max", None, "claude · opus-x [max]"),
        (None, "rerun", "claude · opus-x (rerun)"),
        ("max", "rerun", "claude · opus-x [max] (rerun)"),
        ("", "", "claude · opus-x"),
    ],
)
def test_the_label_of_a_contender(effort: str | None, variant: str | None, label: str) -> None:
    assert Contender("claude", "opus-x", effort, variant).label == label


def test_a_contender_is_the_same_in_all_its_runs() -> None:
    other = replace(RUN, id="y", problem="gemm", usage=Usage(input=1))
    assert RUN.contender == other.contender == Contender("claude", "opus-x", "max")
    assert RUN.contender != replace(RUN, effort="low").contender
    assert RUN.contender != replace(RUN, variant="rerun").contender


def test_how_long_a_run_took() -> None:
    assert RUN.elapsed_seconds == 120
    assert replace(RUN, ended=None).elapsed_seconds is None
    assert replace(RUN, ended=None, seconds=7.5).elapsed_seconds == 7.5
    assert replace(RUN, seconds=7.5).elapsed_seconds == 120
    longer = replace(RUN, seconds=130.5)
    assert (longer.elapsed_seconds, longer.clocked_seconds) == (130.5, 120)
    east = timezone(timedelta(hours=5))
    assert replace(RUN, ended=datetime(2026, 1, 2, 5, 1, tzinfo=east)).elapsed_seconds == 60
    assert replace(RUN, ended=datetime(2026, 1, 1, tzinfo=UTC)).elapsed_seconds is None


@pytest.mark.parametrize("reason", EndReason)
def test_only_the_budget_cuts_a_run(reason: EndReason) -> None:
    assert replace(RUN, end_reason=reason).cut == (reason is EndReason.BUDGET)


def test_nothing_that_was_not_recorded_is_guessed() -> None:
    assert RUN.usage == Usage()
    assert (RUN.cost_usd, RUN.exit_code, RUN.host.gpu, RUN.sandbox) == (None, None, None, None)


def test_a_diff_counts_its_lines() -> None:
    lines = tuple(DiffLine(sign, "x") for sign in "@ ++-")
    assert (FileDiff("f", "update", lines).added, FileDiff("f", "update", lines).removed) == (2, 1)


def test_every_step_of_an_agent_with_those_below_it() -> None:
    def step(name: str, *agents: AgentLog) -> Step:
        event = Trace(source=Source("f", 1), type="t", raw="")
        return Step(event=event, anchor=name, agents=agents)

    def log(*steps: Step) -> AgentLog:
        return AgentLog(id="", title="", steps=steps, usage=Usage())

    tree = log(step("a", log(step("b", log(step("c"))), step("d")), log(step("e"))), step("f"))
    assert [one.anchor for one in tree.every_step] == list("abcdef")


def test_events_are_frozen() -> None:
    message = Message(source=Source("f", 1), role=Role.USER, text="x")
    with pytest.raises(AttributeError):
        message.text = "y"  # type: ignore[misc]
