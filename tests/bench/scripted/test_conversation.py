"""Requests of each dialect read into conversations: script, turn, folder, tools."""

from __future__ import annotations

from typing import Any

import pytest

from bench.scripted.conversation import Conversation, Event, Kind, ModelCalls, UserText
from bench.scripted.dialects import Target
from bench.scripted.dialects.anthropic import Anthropic
from bench.scripted.dialects.chat import Chat
from bench.scripted.dialects.gemini import Gemini
from bench.scripted.dialects.responses import Responses

KNOWN = {"main", "child", "main@add"}


def talk(*events: Event, system: str = "") -> Conversation:
    return Conversation(model="m", streams=True, system=system, tools={}, events=events)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["[[script:main]] do it"], "main"),
        (["[[script:main]]", "[[script:child]]"], "child"),
        (["[[script:main]] [[script:child]]"], "child"),
        (["[[script:main]]", "[[script:nobody]]"], "main"),
        (["[[script:main@add]]"], "main@add"),
        (["[[script:../../etc]]", "script:main"], None),
        ([], None),
    ],
)
def test_the_last_marker_of_a_known_script_counts(texts: list[str], expected: str | None) -> None:
    assert talk(*map(UserText, texts)).script(KNOWN) == expected


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], 0),
        ([["call_main_t0_1_0"]], 1),
        ([["toolu_call_main_t7_1_0"], ["run_shell_command__call_main_t3_1_2"]], 8),
        ([["call_main_t4_1_0", "call_main_t4_1_1"]], 5),
        ([["call_main_t4_1_0"], []], 5),
        ([[], []], 0),
        ([["rewritten-1"], ["rewritten-2"]], 2),
        ([["call_main_s4_1_0"]], 1),
        ([["call_main_t99999999999999999999_0"]], 1),
    ],
)
def test_the_turn_is_found_in_the_ids_of_calls(ids: list[list[str]], expected: int) -> None:
    answers = [ModelCalls(tuple(one)) for one in ids]
    assert talk(UserText("[[script:main]]"), *answers).turn(KNOWN) == expected


def test_turns_are_counted_from_the_marker_on() -> None:
    parent = (UserText("[[script:main]]"), ModelCalls(("call_main_t9_1_0",)))
    forked = talk(*parent, UserText("[[script:child]]"))
    assert (forked.script(KNOWN), forked.turn(KNOWN)) == ("child", 0)
    on = talk(*parent, UserText("[[script:child]]"), ModelCalls(("call_child_t0_1_0",)))
    assert on.turn(KNOWN) == 1


@pytest.mark.parametrize(
    "text",
    [
        " - Primary working directory: /workspace\n",
        "<cwd>/workspace</cwd>",
        "  Working directory: /workspace\n",
        "The current working directory is `/workspace`.",
        "I'm currently working in the directory: /workspace\n",
        "- **Workspace Directories:**\n  - /workspace\n",
        "Workspace root folder: /workspace\n",
    ],
)
def test_the_workspace_is_what_the_prompt_says(text: str) -> None:
    assert talk(system=f"You are an agent.\n{text}More.").folder == "/workspace"
    assert talk(UserText("Hello"), UserText(text)).folder == "/workspace"
    assert talk(system="You are an agent.").folder is None


def test_anthropic_tells_of_tools_that_are_not_shown_yet() -> None:
    body = {
        "model": "m", "stream": True, "system": "You are",
        "tools": [{"name": "Bash", "input_schema": {"a": 1}}, {"name": "B", "defer_loading": True}],
        "messages": [
            {"role": "user", "content": "[[script:main]]"},
            {"role": "system", "content": [{"type": "text", "text": "cwd"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "x_call_main_t0_1_0"}]},
            {"role": "user", "content": [
                {"type": "tool_result", "content": [{"type": "text", "text": "[[script:child]]"}]},
                {"type": "text", "text": "<system-reminder>"},
            ]},
        ],
    }  # fmt: skip
    found = Anthropic().read(body, Target())
    assert set(found.tools) == {"Bash"}
    assert found.system == "You are\ncwd"
    assert (found.script(KNOWN), found.turn(KNOWN)) == ("main", 1)
    assert found.results == "[[script:child]]"


def test_responses_offer_tools_in_many_places() -> None:
    body = {
        "model": "m", "instructions": "You are",
        "tools": [
            {"type": "function", "name": "exec_command", "parameters": {"a": 1}},
            {"type": "custom", "name": "apply_patch"}, {"type": "web_search"},
            {"type": "tool_search", "execution": "client"},
        ],
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [
                {"type": "namespace", "name": "functions", "tools": [
                    {"type": "custom", "name": "exec"}]}
            ]},
            {"type": "message", "role": "developer", "content": [{"text": "<cwd>/w</cwd>"}]},
            {"type": "message", "role": "user", "content": [{"text": "[[script:main]]"}]},
            {"type": "reasoning", "summary": []},
            {"type": "custom_tool_call", "call_id": "call_main_t0_1_0"},
            {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "one"}]},
            {"type": "message", "role": "assistant", "content": [{"text": "[[script:hi]]"}]},
            {"type": "tool_search_output", "tools": [
                {"type": "namespace", "name": "multi", "tools": [
                    {"type": "function", "name": "spawn_agent"}]}
            ]},
        ],
    }  # fmt: skip
    found = Responses().read(body, Target())
    assert {name: one.kind for name, one in found.tools.items()} == {
        "exec_command": Kind.FUNCTION, "apply_patch": Kind.FREEFORM, "tool_search": Kind.SEARCH,
        "exec": Kind.FREEFORM, "spawn_agent": Kind.FUNCTION,
    }  # fmt: skip
    assert found.tools["spawn_agent"].namespace == "multi"
    assert (found.folder, found.turn(KNOWN), found.results) == ("/w", 1, "one")


def test_codex_gives_a_child_its_task_as_the_message_of_an_agent() -> None:
    task = [{"type": "input_text", "text": "NEW_TASK"}, {"encrypted_content": "[[script:child]]"}]
    body = {
        "input": [
            {"type": "message", "role": "user", "content": "[[script:main]]"},
            {"type": "function_call", "call_id": "call_main_t10_1_0"},
            {"type": "agent_message", "author": "/root", "content": task},
        ]
    }
    found = Responses().read(body, Target())
    assert (found.script(KNOWN), found.turn(KNOWN)) == ("child", 0)
    plain = Responses().read({"input": "[[script:main]] hello"}, Target())
    assert plain.script(KNOWN) == "main"


def test_chat_and_gemini_leave_results_out_of_what_users_say() -> None:
    messages = [
        {"role": "system", "content": "You are"},
        {"role": "user", "content": [{"type": "text", "text": "[[script:main]]"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_main_t2_1_0"}]},
        {"role": "tool", "content": "[[script:child]]"},
    ]
    found = Chat().read({"messages": messages}, Target())
    assert (found.script(KNOWN), found.turn(KNOWN), found.system) == ("main", 3, "You are")
    marked = "[[script:child]]"
    contents = [
        {"role": "user", "parts": [{"text": "[[script:main]]"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "Bash__call_main_t2_1_0"}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {"output": marked}}}]},
    ]
    found = Gemini().read({"contents": contents}, Target(model="m", streams=True))
    assert (found.script(KNOWN), found.turn(KNOWN)) == ("main", 3)
    assert found.results == "[[script:child]]"


@pytest.mark.parametrize(
    ("speech", "path", "expected"),
    [
        (Anthropic(), "/v1/messages", Target()),
        (Anthropic(), "/messages", Target()),
        (Anthropic(), "/v1/messages/count_tokens", Target(counts=True)),
        (Anthropic(), "/v1/messages/batches", None),
        (Responses(), "/v1/responses", Target()),
        (Responses(), "/v1/responses/compact", None),
        (Chat(), "/v1/chat/completions", Target()),
        (Gemini(), "/models/a-1.5:streamGenerateContent", Target(model="a-1.5", streams=True)),
        (Gemini(), "/v1/models/a:generateContent", Target(model="a", streams=False)),
        (Gemini(), "/v1beta/models/a:countTokens", Target(counts=True, model="a", streams=False)),
        (Gemini(), "/v1beta/models/a:embedContent", None),
    ],
)  # fmt: skip
def test_paths_say_what_is_asked(speech: Any, path: str, expected: Target | None) -> None:
    assert speech.target(path) == expected
