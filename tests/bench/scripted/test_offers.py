"""The shipped scripts against the tools of each CLI: all calls fit, and their arguments hold."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from bench.scripted import load_scripts
from bench.scripted.answer import ToolCall
from bench.scripted.conversation import Conversation, Event, Kind, ModelCalls, UserText
from bench.scripted.replies import Player, Reply
from tests.bench.scripted.offers import OFFERS, SYSTEMS

SCRIPTS = load_scripts()
EACH_CLI = pytest.mark.parametrize("cli", OFFERS)

SHELLS = {
    "claude": "Bash", "codex": "exec_command", "codex-patching": "exec_command",
    "codex-coding": "exec", "kimi-cli": "Shell", "kimi-code": "Bash",
    "gemini": "run_shell_command", "qwen": "run_shell_command", "opencode": "bash",
}  # fmt: skip
FILES = {
    "claude": ("Write", "Edit", "Read"), "codex": ("exec_command",) * 3,
    "codex-patching": ("apply_patch", "apply_patch", "exec_command"),
    "codex-coding": ("exec",) * 3, "kimi-cli": ("WriteFile", "StrReplaceFile", "ReadFile"),
    "kimi-code": ("Write", "Edit", "Read"), "gemini": ("write_file", "replace", "read_file"),
    "qwen": ("write_file", "edit", "read_file"), "opencode": ("write", "edit", "read"),
}  # fmt: skip
TODOS = {
    "kimi-cli": "SetTodoList", "kimi-code": "TodoList", "gemini": "write_todos",
    "opencode": "todowrite",
}  # fmt: skip
CHILDREN = {
    "claude": ("Agent", {"subagent_type": "general-purpose"}),
    "codex": ("spawn_agent", {}), "codex-patching": ("tool_search", {}),
    "codex-coding": ("spawn_agent", {"task_name": "child_task"}),
    "kimi-cli": ("Agent", {"subagent_type": "coder"}),
    "kimi-code": ("Agent", {"subagent_type": "coder"}),
    "gemini": ("invoke_agent", {"agent_name": "generalist"}),
    "qwen": ("agent", {"subagent_type": "general-purpose"}),
    "opencode": ("task", {"subagent_type": "general"}),
}  # fmt: skip


def replies(cli: str, script: str) -> list[Reply]:
    """All answers of a session with a CLI's tools; what has to be looked for is found at once."""
    player = Player(SCRIPTS)
    tools = {one.name: one for one in OFFERS[cli]}
    events: list[Event] = [UserText(f"[[script:{script}]] Working directory: /workspace\n")]
    found: list[Reply] = []
    while not found or _calls(found[-1]):
        assert len(found) < 40, "the session does not end"
        talked = Conversation(
            model="m", streams=True, system=SYSTEMS.get(cli, ""), tools=tools,
            events=tuple(events),
        )  # fmt: skip
        found.append(player.reply(talked, "run", None))
        calls = _calls(found[-1])
        events.append(ModelCalls(tuple(one.id for one in calls)))
        if any(one.kind is Kind.SEARCH for one in calls):
            tools |= {one.name: one for one in OFFERS["codex"]}
    return found


def _calls(reply: Reply) -> list[ToolCall]:
    return [one for one in reply.answer.blocks if isinstance(one, ToolCall)]


def calls_of(cli: str, script: str) -> list[ToolCall]:
    """All calls of a session."""
    return [call for reply in replies(cli, script) for call in _calls(reply)]


@EACH_CLI
def test_main_calls_the_tools_that_the_cli_has(cli: str) -> None:
    shell, files, todo = SHELLS[cli], list(FILES[cli]), TODOS.get(cli)
    lists = [todo] if todo else []
    child, arguments = CHILDREN[cli]
    waits = ["wait_agent"] if cli.startswith("codex") else []
    after = ["spawn_agent"] if child == "tool_search" else []
    asks = [child, *after, *waits]
    called = calls_of(cli, "main")
    names = [one.name for one in called]
    assert names == [shell, *lists, *files, *[shell] * 7, *asks, *lists]
    asked = next(one for one in called if one.name == child)
    assert arguments.items() <= asked.arguments.items()


@EACH_CLI
@pytest.mark.parametrize("script", [one.name for one in SCRIPTS if "@" not in one.name])
def test_the_arguments_of_each_script_hold_by_the_schemas(cli: str, script: str) -> None:
    known: dict[str, Any] = {one.name: one.schema for one in (*OFFERS["codex"], *OFFERS[cli])}
    session = replies(cli, script)
    for call in (one for reply in session for one in _calls(reply)):
        if call.kind is Kind.FUNCTION and call.name != "NoSuchTool":
            jsonschema.validate(dict(call.arguments), known[call.name])
        if call.kind is Kind.FREEFORM:
            assert call.text
    assert not _calls(session[-1])
    ids = [call.id for reply in session for call in _calls(reply)]
    assert len(set(ids)) == len(ids)
    texts = [str(block) for reply in session for block in reply.answer.blocks]
    assert not any("No tool for" in text for text in texts)


@EACH_CLI
def test_no_turn_is_played_twice_or_out_of_order(cli: str) -> None:
    session = replies(cli, "main")
    turns = [reply.turn for reply in session]
    looked = [reply.turn for reply in session if any(
        call.kind is Kind.SEARCH for call in _calls(reply))]  # fmt: skip
    assert turns == sorted(turns)
    assert len(turns) == len(set(turns)) + len(looked)
    assert turns[-1] == len(next(one for one in SCRIPTS if one.name == "main").turns) - 1


@pytest.mark.parametrize(
    ("cli", "name", "expected"),
    [
        ("claude", "timeout", 300_000), ("kimi-cli", "timeout", 300), ("kimi-code", "timeout", 300),
        ("qwen", "timeout", 300_000), ("opencode", "timeout", 300_000),
        ("codex", "yield_time_ms", 300_000), ("gemini", "timeout", None),
    ],
)  # fmt: skip
def test_a_long_command_gets_its_time_in_the_unit_of_each_cli(
    cli: str, name: str, expected: int | None
) -> None:
    (call,) = calls_of(cli, "longtool")
    assert call.arguments.get(name) == expected


@EACH_CLI
def test_usage_differs_by_turn_and_script(cli: str) -> None:
    told = [reply.answer.usage for reply in (*replies(cli, "main"), *replies(cli, "child"))]
    same_turn = 1 if cli == "codex-patching" else 0
    assert len(set(told)) == len(told) - same_turn


def test_a_turn_that_no_tool_fits_says_so_and_goes_on() -> None:
    player = Player(SCRIPTS)
    tools = {one.name: one for one in OFFERS["claude"] if one.name == "Bash"}
    prompt, done = UserText("[[script:main]]"), ModelCalls(("call_main_t10_1_0",))
    talked = Conversation(
        model="m", streams=True, system="", tools=tools, events=(prompt, done)
    )  # fmt: skip
    reply = player.reply(talked, "run", None)
    assert "No tool for task is among those offered: Bash" in str(reply.answer.blocks)
    assert [one.arguments["command"] for one in _calls(reply)] == ["true"]
