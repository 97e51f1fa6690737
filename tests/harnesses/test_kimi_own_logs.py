"""kimi-cli's logs of single sub-agents, beside the session's."""

from __future__ import annotations

import json

import pytest

from kbsite.fold.steps import Fold
from kbsite.model.event import Malformed
from kbsite.model.transcript import Transcript
from tests.harnesses.kimi_rows import SESSION, asked, below, came, read, spent, wired, written

OWN = "home/.kimi/sessions/0a1b/2c3d/subagents/a1/wire.jsonl"
MAIN = "home/.kimi/sessions/0a1b/2c3d/wire.jsonl"


def folded(*parts: tuple[str, str]) -> Transcript:
    """The transcript of files, in the order given."""
    fold = Fold()
    for name, data in parts:
        for event in read(SESSION, data, name):
            fold.add(event)
    return fold.transcript("f", "t", tuple(name for name, _ in parts))


def background() -> str:
    """A session that started a sub-agent in the background, and waits for no word of it."""
    given = json.dumps({"description": "look", "prompt": "p", "run_in_background": True})
    return written(
        asked("c1", given, tool="Agent"),
        came("c1", "task_id: t\nagent_id: a1\n\nstarted"),
        spent(5, 1),
    )


def own() -> str:
    """What that sub-agent wrote itself."""
    return written(
        {"type": "metadata", "protocol_version": "1.1"},
        wired("TurnBegin", user_input="p"),
        asked("c1", '{"command": "ls"}'),
        came("c1", "a file"),
        spent(7, 2),
    )


@pytest.mark.parametrize("own_first", [True, False])
def test_the_log_of_a_background_agent_stands_below_the_call_that_started_it(
    own_first: bool,
) -> None:
    parts = [(OWN, own()), (MAIN, background())]
    shown = folded(*(parts if own_first else parts[::-1]))

    (call,) = shown.main.steps
    (agent,) = call.agents
    assert (agent.id, agent.title, shown.unlinked) == ("a1", "look", ())
    results = [step.result.output for step in agent.steps if step.result]
    assert results == ["a file"]
    assert (shown.usage.input, shown.usage.output) == (12, 3)
    assert agent.usage.input == 7


@pytest.mark.parametrize("own_first", [True, False])
def test_the_log_of_an_agent_that_the_session_tells_of_is_not_shown_again(own_first: bool) -> None:
    wrapped = written(
        asked("c0", '{"description": "look", "prompt": "p"}', tool="Agent"),
        below("a1", "c0", "TurnBegin", user_input="p"),
        below("a1", "c0", "ToolCall", id="c1", function={"name": "Shell", "arguments": "{}"}),
        below("a1", "c0", "StatusUpdate", token_usage={"input_other": 7, "output": 2}),
        came("c0", "done"),
    )
    alone, parts = folded((MAIN, wrapped)), [(OWN, own()), (MAIN, wrapped)]
    both = folded(*(parts if own_first else parts[::-1]))

    assert both.main == alone.main
    assert (both.usage, both.kinds, both.unlinked) == (alone.usage, alone.kinds, ())


def test_the_log_of_an_agent_that_no_call_names_is_shown_beside() -> None:
    shown = folded((OWN, own() + "no row"), (MAIN, written(spent(5, 1))))

    (agent,) = shown.unlinked
    assert agent.id == "a1"
    assert [bad.agent for bad in shown.malformed] == ["a1"]
    assert shown.usage.input == 12


def test_a_broken_line_at_the_start_of_an_own_log_is_told() -> None:
    shown = folded((OWN, "broken\n" + own()), (MAIN, background()))

    (agent,) = shown.main.steps[0].agents
    assert len(shown.malformed) == 1
    assert isinstance(agent.steps[0].event, Malformed)
    assert [step.result.output for step in agent.steps if step.result] == ["a file"]
