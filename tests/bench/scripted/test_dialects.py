"""The words of each dialect: the events of a stream one by one, and the same in one piece."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.scripted.answer import Answer, Block, Ending, Text, Thinking, ToolCall, usage_of
from bench.scripted.conversation import Kind
from bench.scripted.dialects import SPEECHES, Speech
from bench.scripted.dialects.anthropic import Anthropic
from bench.scripted.dialects.chat import Chat
from bench.scripted.dialects.gemini import Gemini
from bench.scripted.dialects.responses import Responses
from kbsite.model.usage import Usage
from tests.bench.scripted.clients import CLIENTS, events

USAGE = Usage(input=100, cache_read=50, cache_write=7, output=40, reasoning=8)
LONG = "Thirty characters are two deltas"
EACH = pytest.mark.parametrize("speech", SPEECHES, ids=lambda one: one.kind.value)


def call(kind: Kind = Kind.FUNCTION, namespace: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(
        id="call_main_t0_1_2", name="Bash", kind=kind, namespace=namespace, arguments=arguments
    )


def answer(*blocks: Block, ending: Ending = Ending.CALLS) -> Answer:
    return Answer(id="main_t0_1", model="m", blocks=blocks, ending=ending, usage=USAGE)


WHOLE = answer(Thinking("Hm ☃"), Text(LONG), call(command="ls"))


def streamed(speech: Speech, said: Answer) -> bytes:
    return b"".join(frame.data for frame in speech.stream(said))


def test_anthropic_streams_blocks_between_start_and_stop() -> None:
    found = events(streamed(Anthropic(), WHOLE))
    kinds = [(one["type"], one.get("index")) for one in found]
    assert kinds == [
        ("message_start", None),
        ("content_block_start", 0), ("content_block_delta", 0), ("content_block_delta", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1), ("content_block_delta", 1), ("content_block_delta", 1),
        ("content_block_stop", 1),
        ("content_block_start", 2), ("content_block_delta", 2), ("content_block_stop", 2),
        ("message_delta", None), ("message_stop", None),
    ]  # fmt: skip
    assert [one["content_block"]["type"] for one in found if "content_block" in one] == [
        "thinking", "text", "tool_use",
    ]  # fmt: skip
    assert [one["delta"]["type"] for one in found if one["type"] == "content_block_delta"] == [
        "thinking_delta", "signature_delta", "text_delta", "text_delta", "input_json_delta",
    ]  # fmt: skip
    start, end = found[0]["message"]["usage"], found[-2]["usage"]
    assert (start["input_tokens"], start["output_tokens"]) == (100, 1)
    assert (end["cache_read_input_tokens"], end["cache_creation_input_tokens"]) == (50, 7)
    assert end["output_tokens"] == 40


def test_anthropic_in_one_piece() -> None:
    whole = Anthropic().whole(WHOLE)
    assert whole["stop_reason"] == "tool_use"
    assert whole["content"][1:] == [
        {"type": "text", "text": LONG},
        {"type": "tool_use", "id": "toolu_call_main_t0_1_2", "name": "Bash",
         "input": {"command": "ls"}},
    ]  # fmt: skip
    assert whole["content"][0]["signature"]


def test_event_names_stand_before_the_data_where_the_dialect_has_them() -> None:
    for speech in SPEECHES:
        named = isinstance(speech, Anthropic | Responses)
        frames = streamed(speech, WHOLE).decode().split("\n\n")[:-1]
        assert all(one.startswith("event: ") is named for one in frames)
        if named:
            for one in frames:
                head, _, data = one.partition("\ndata: ")
                assert json.loads(data)["type"] == head.removeprefix("event: ")


def test_responses_stream_the_full_set_of_events() -> None:
    found = events(streamed(Responses(), WHOLE))
    kinds = [one["type"].removeprefix("response.") for one in found]
    assert kinds == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.done",
        "output_item.done", "completed",
    ]  # fmt: skip
    added = [one["item"] for one in found if one["type"] == "response.output_item.added"]
    assert [one.get("summary", one.get("content", one.get("arguments"))) for one in added] == [
        [], [], "",
    ]  # fmt: skip
    whole = found[-1]["response"]
    assert whole == Responses().whole(WHOLE)
    assert whole["usage"] == {
        "input_tokens": 150, "input_tokens_details": {"cached_tokens": 50}, "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 8}, "total_tokens": 190,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("made", "kind", "fields"),
    [
        (call(command="ls"), "function_call", {"arguments": '{"command": "ls"}'}),
        (call(namespace="multi"), "function_call", {"arguments": "{}", "namespace": "multi"}),
        (call(Kind.FREEFORM, input="*** Begin"), "custom_tool_call", {"input": "*** Begin"}),
        (
            call(Kind.SEARCH, query="agents"), "tool_search_call",
            {"arguments": {"query": "agents"}, "execution": "client"},
        ),
    ],
)  # fmt: skip
def test_responses_have_an_item_for_each_kind_of_call(
    made: ToolCall, kind: str, fields: dict[str, Any]
) -> None:
    (item,) = Responses().whole(answer(made))["output"]
    expected = {"type": kind, "call_id": "call_main_t0_1_2", "status": "completed", **fields}
    assert expected.items() <= item.items()
    found = events(streamed(Responses(), answer(made)))
    done = [one["item"] for one in found if one["type"] == "response.output_item.done"]
    assert done == [item]


def test_chat_streams_calls_by_index() -> None:
    found = events(streamed(Chat(), answer(call(command="ls"), call(command="a" * 30))))
    deltas = [one["choices"][0]["delta"] for one in found if one["choices"]]
    parts = [part for delta in deltas for part in delta.get("tool_calls", [])]
    assert [one["index"] for one in parts] == [0, 0, 1, 1, 1]
    assert [one.get("id") for one in parts[:2]] == ["call_main_t0_1_2", None]
    assert found[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["prompt_tokens"] == 150
    assert found[-1]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 8}


def test_chat_in_one_piece() -> None:
    (choice,) = Chat().whole(WHOLE)["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["reasoning_content"] == "Hm ☃"
    assert choice["message"]["content"] == LONG
    plain = Chat().whole(answer(Text("a"), ending=Ending.SAID))["choices"][0]
    assert plain["message"] == {"role": "assistant", "content": "a"}
    only = Chat().whole(answer(call()))["choices"][0]["message"]
    assert only["content"] is None


def test_gemini_tells_thoughts_and_ends_with_a_reason() -> None:
    found = events(streamed(Gemini(), WHOLE))
    parts = [one["candidates"][0]["content"]["parts"][0] for one in found]
    assert parts[0]["thought"] is True
    assert "".join(one.get("text", "") for one in parts[1:]) == LONG
    assert parts[-2]["functionCall"] == {
        "id": "call_main_t0_1_2", "name": "Bash", "args": {"command": "ls"},
    }  # fmt: skip
    reasons = [one["candidates"][0].get("finishReason") for one in found]
    assert reasons == [None] * (len(found) - 1) + ["STOP"]
    assert found[0]["usageMetadata"] == {
        "promptTokenCount": 150, "cachedContentTokenCount": 50, "totalTokenCount": 150,
    }  # fmt: skip
    assert found[-1]["usageMetadata"] == {
        "promptTokenCount": 150, "cachedContentTokenCount": 50, "candidatesTokenCount": 32,
        "thoughtsTokenCount": 8, "totalTokenCount": 190,
    }  # fmt: skip


@EACH
def test_the_last_frame_that_tells_usage_tells_all_of_it(speech: Speech) -> None:
    told = [frame.told for frame in speech.stream(WHOLE) if frame.told]
    assert told[-1] == speech.told(USAGE)
    assert (told[-1].input, told[-1].cache_read, told[-1].output) == (100, 50, 40)


@EACH
def test_a_cut_answer_says_so_streamed_and_whole(speech: Speech) -> None:
    cut = answer(Text("Cut"), ending=Ending.MAX_TOKENS)
    words = ("max_tokens", "incomplete", "length", "MAX_TOKENS")
    for text in (streamed(speech, cut).decode(), json.dumps(speech.whole(cut))):
        assert any(f'"{word}"' in text for word in words)
    said = answer(Text("Whole"), ending=Ending.SAID)
    assert not any(f'"{word}"' in json.dumps(speech.whole(said)) for word in words)


@EACH
def test_odd_text_stays_as_it_is(speech: Speech) -> None:
    text = "\n\ndata: {}\n\n\x00\x1b[31m</script>\u2028😀"
    said = answer(Text(text), call(command=text))
    kind = next(one for one in CLIENTS if one.dialect is speech.kind)
    streaming = kind("", streams=True).parsed(streamed(speech, said))
    whole = kind("", streams=False).parsed(json.dumps(speech.whole(said)).encode())
    assert streaming == whole
    assert whole.text == text
    assert [arguments for _, _, arguments in whole.calls] == [{"command": text}]


@EACH
def test_half_a_character_breaks_no_stream(speech: Speech) -> None:
    assert "data" in streamed(speech, answer(Text("\ud800"))).decode()


def test_the_formula_of_usage() -> None:
    first, second, other = usage_of("main", 0), usage_of("main", 1), usage_of("child", 0)
    assert (second.input or 0) - (first.input or 0) == 37
    assert (second.output or 0) - (first.output or 0) == 10
    assert (first.cache_read, second.cache_read) == (0, 500)
    assert first.input != other.input
    assert first == usage_of("main", 0)
    assert (first.reasoning or 0) < (first.output or 0)


@EACH
def test_an_error_says_what_its_script_says(speech: Speech) -> None:
    assert "scripted 404" in json.dumps(speech.error(404))
    told = json.dumps(speech.error(404, "File not found: x"))
    assert "File not found: x" in told
    assert "scripted" not in told
