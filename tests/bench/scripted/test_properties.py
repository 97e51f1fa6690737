"""What holds of any script, and of any request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.scripted import Script, Server, expected_usage, scripted_provider, serve
from bench.scripted.dialects import SPEECHES
from bench.scripted.script import (
    Call,
    Edit,
    Finish,
    Item,
    Named,
    Read,
    Shell,
    State,
    Task,
    Todo,
    Turn,
    Wait,
    Write,
)
from kbsite.model.usage import total
from tests.bench.scripted.clients import CLIENTS, Client, post

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(
    lambda text: "[[" not in text
)
CALLS = st.one_of(
    st.builds(Shell, command=TEXTS, title=TEXTS, timeout_seconds=st.none() | st.integers(1, 900))
    .map(lambda one: Call(shell=one)),
    st.builds(Write, path=TEXTS, content=TEXTS).map(lambda one: Call(write=one)),
    st.builds(Edit, path=TEXTS, old=TEXTS, new=TEXTS).map(lambda one: Call(edit=one)),
    st.builds(Read, path=TEXTS).map(lambda one: Call(read=one)),
    st.builds(Task, prompt=TEXTS, title=TEXTS).map(lambda one: Call(task=one)),
    st.builds(Item, text=TEXTS, state=st.sampled_from(State))
    .map(lambda one: Call(todo=Todo(items=(one,)), optional=True)),
    st.just(Call(wait=Wait())),
    st.builds(Finish, report=TEXTS).map(lambda one: Call(finish=one)),
    st.builds(Named, tool=st.just("NoSuchTool"), arguments=st.dictionaries(TEXTS, TEXTS))
    .map(lambda one: Call(named=one)),
)  # fmt: skip
TURNS = st.builds(Turn, thinking=TEXTS, text=TEXTS, calls=st.lists(CALLS, max_size=3).map(tuple))
SCRIPTS = st.lists(TURNS, min_size=1, max_size=4).map(
    lambda turns: Script(name="any", about="", turns=(*turns, Turn(text="The end.")))
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
KEYS = st.sampled_from([
    "model", "stream", "system", "tools", "messages", "input", "contents", "role", "tool_calls",
    "content", "text", "type", "name", "id", "function", "functionCall", "parts", "call_id",
    "functionDeclarations", "instructions", "systemInstruction", "functionResponse",
])  # fmt: skip
WORDS = st.sampled_from(["user", "assistant", "model", "tool", "function", "namespace", "Bash"])
BODIES = st.dictionaries(
    KEYS,
    st.recursive(
        WORDS | ANYTHING,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
        max_leaves=15,
    ),
)
ARGUMENTS = st.sampled_from([
    "command", "cmd", "timeout", "path", "file_path", "edit", "old_string", "todos", "plan",
    "prompt", "subagent_type", "targets", "timeout_ms", "result", "description",
])  # fmt: skip
ABOUT = st.dictionaries(
    st.sampled_from(["type", "enum", "anyOf", "$ref", "items", "maximum", "description"]),
    st.recursive(
        st.sampled_from(["string", "array", "#/$defs/a", "seconds", 5, 1e300, -1, None, True]),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["type", "properties", "$ref", "status"]), inner)
        ),
        max_leaves=5,
    ),
)
SCHEMAS = st.fixed_dictionaries(
    {"properties": st.dictionaries(ARGUMENTS, ABOUT | ANYTHING) | ANYTHING},
    optional={"required": st.lists(ARGUMENTS) | ANYTHING, "$defs": ANYTHING},
)
NAMES = ["Bash", "Write", "Edit", "Read", "TodoWrite", "Agent", "wait_agent", "complete_task"]
_RUNS = count()


def play(script: Script, kind: type[Client], *, streams: bool) -> None:
    with serve([script]) as server:
        base = scripted_provider(server.url, "any").bases[kind.dialect]
        said = kind(base, streams=streams).play("[[script:any]]")
        requests = server.requests
    assert said[-1].calls == []
    assert len(said) <= len(script.turns)
    assert expected_usage(requests) == total(one.usage for one in said)
    ran = [given["command"] for one in said for _, name, given in one.calls if name == "Bash"]
    assert ran == commands(script)


def commands(script: Script) -> list[str]:
    """Those of the shell until a turn calls nothing, where nobody waits or keeps lists."""
    found: list[str] = []
    for turn in script.turns:
        fitted = [call for call in turn.calls if not call.may_be_left_out]
        found += [call.shell.command for call in fitted if call.shell]
        ends = not turn.calls or (fitted and all(call.finish for call in fitted))
        if ends:
            break
    return found


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda one: one.dialect.value)
@settings(max_examples=8, deadline=None)
@given(script=SCRIPTS, streams=st.booleans())
def test_any_script_comes_through_each_dialect_to_its_end(
    kind: type[Client], script: Script, streams: bool
) -> None:
    play(script, kind, streams=streams)


@settings(max_examples=40, deadline=None)
@given(body=BODIES | ANYTHING, speech=st.sampled_from(SPEECHES))
def test_any_body_is_answered(odd: Server, body: Any, speech: Any) -> None:
    paths = {
        "anthropic": "/v1/messages", "responses": "/v1/responses",
        "chat": "/v1/chat/completions", "gemini": "/v1beta/models/m:streamGenerateContent",
    }  # fmt: skip
    run = f"odd-{next(_RUNS)}"
    url = f"{scripted_provider(odd.url, run, 'any').bases[speech.kind]}{paths[speech.kind.value]}"
    response, _ = post(url, json.dumps(body).encode())
    assert response.status == 200
    (request,) = odd.requests_of(run)
    assert request.ended
    assert request.told is not None


@settings(max_examples=40, deadline=None)
@given(
    tools=st.dictionaries(st.sampled_from(NAMES), SCHEMAS | ANYTHING, min_size=1),
    kind=st.sampled_from(CLIENTS),
)
def test_any_schema_of_a_tool_can_be_filled_in(
    odd: Server, tools: dict[str, Any], kind: type[Client]
) -> None:
    base = scripted_provider(odd.url, f"odd-{next(_RUNS)}").bases[kind.dialect]
    said = kind(base, streams=True, tools=tools).play("[[script:any]]")
    called = {name for one in said for _, name, _ in one.calls}
    assert called <= set(tools)
    assert said[-1].calls == []


@pytest.fixture(scope="module")
def odd() -> Iterator[Server]:
    todo = Todo(items=(Item(text="a", state=State.COMPLETED),))
    calls = (
        Call(shell=Shell(command="ls", timeout_seconds=9)), Call(write=Write(path="a", content="")),
        Call(edit=Edit(path="a", old="b", new="c")), Call(read=Read(path="a")), Call(todo=todo),
        Call(task=Task(prompt="p")), Call(wait=Wait()), Call(finish=Finish(report="r")),
    )  # fmt: skip
    turns = (*(Turn(text="a", calls=(one,)) for one in calls), Turn(text="The end."))
    with serve([Script(name="any", about="", turns=turns)]) as running:
        yield running
