"""Usage, end and errors of each API, in all the ways in which providers are known to tell them."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.providers import Dialect
from bench.proxy.answers import MOST_ERROR_BYTES, AnswerReader, error_text
from bench.proxy.sse import EventReader
from bench.proxy.told import Told
from bench.proxy.unpacking import Unpacking
from kbsite.model.usage import Usage


def told(dialect: Dialect, *events: Any, status: int = 200, streamed: bool = True) -> Told:
    """What an answer of these events tells; of one that is whole, the only one."""
    found = Told()
    reader = AnswerReader(found, dialect, status=status, encoding="")
    texts = [one if isinstance(one, str) else json.dumps(one) for one in events]
    body = "".join(f"event: x\ndata: {one}\n\n" for one in texts) if streamed else "".join(texts)
    reader.feed(body.encode())
    reader.end()
    return found


ANTHROPIC_USAGE = {"input_tokens": 5, "cache_read_input_tokens": 6, "output_tokens": 1}
RESPONSES_USAGE = {
    "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 150,
}  # fmt: skip
CHAT_USAGE = {
    "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens": 50,
    "completion_tokens_details": {"reasoning_tokens": 20},
}  # fmt: skip
GEMINI_USAGE = {
    "promptTokenCount": 90, "toolUsePromptTokenCount": 10, "cachedContentTokenCount": 60,
    "candidatesTokenCount": 30, "thoughtsTokenCount": 20, "totalTokenCount": 150,
}  # fmt: skip
SAME = Usage(input=40, cache_read=60, output=50, reasoning=20)


@pytest.mark.parametrize(
    ("dialect", "events", "usage"),
    [
        (Dialect.RESPONSES,
         [{"type": "response.created", "response": {"model": "m", "status": "in_progress"}},
          {"type": "response.output_text.delta", "delta": "x"},
          {"type": "response.completed",
           "response": {"model": "m", "status": "completed", "usage": RESPONSES_USAGE}}], SAME),
        (Dialect.CHAT,
         [{"model": "m", "choices": [{"delta": {"content": "x"}, "finish_reason": None}]},
          {"model": "m", "choices": [{"delta": {}, "finish_reason": "stop"}]},
          {"model": "m", "choices": [], "usage": CHAT_USAGE}, "[DONE]"], SAME),
        (Dialect.GEMINI,
         [{"candidates": [{"content": {}}], "modelVersion": "m",
           "usageMetadata": {"promptTokenCount": 1}},
          {"candidates": [{"finishReason": "STOP"}], "usageMetadata": GEMINI_USAGE}], SAME),
        (Dialect.ANTHROPIC,
         [{"type": "message_start", "message": {"model": "m", "usage": ANTHROPIC_USAGE}},
          {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
           "usage": {"output_tokens": 30, "input_tokens": 7, "cache_read_input_tokens": None}}],
         Usage(input=7, cache_read=6, output=30)),
    ],
    ids=lambda one: one.value if isinstance(one, Dialect) else "",
)  # fmt: skip
def test_a_stream_tells_model_end_and_usage(
    dialect: Dialect, events: list[Any], usage: Usage
) -> None:
    found = told(dialect, *events)
    assert (found.model, found.cut, found.error, found.usage) == ("m", False, None, usage)
    assert found.stop


@pytest.mark.parametrize(
    ("dialect", "body", "usage"),
    [
        (Dialect.RESPONSES,
         {"object": "response", "model": "m", "status": "completed", "usage": RESPONSES_USAGE,
          "error": None, "incomplete_details": None}, SAME),
        (Dialect.CHAT,
         {"model": "m", "choices": [{"finish_reason": "tool_calls"}], "usage": CHAT_USAGE}, SAME),
        (Dialect.GEMINI,
         {"modelVersion": "m", "candidates": [{"finishReason": "STOP"}],
          "usageMetadata": GEMINI_USAGE}, SAME),
        (Dialect.GEMINI,
         [{"modelVersion": "m"}, {"candidates": [{"finishReason": "STOP"}],
          "usageMetadata": GEMINI_USAGE}], SAME),
        (Dialect.ANTHROPIC,
         {"type": "message", "model": "m", "stop_reason": "end_turn",
          "content": [{"type": "text", "text": "x"}],
          "usage": {"input_tokens": 5, "cache_creation_input_tokens": 0, "output_tokens": 9}},
         Usage(input=5, cache_write=0, output=9)),
        (Dialect.ANTHROPIC,
         {"type": "message", "model": "m", "stop_reason": "end_turn",
          "content": [{"type": "text", "text": "x"}],
          "usage": {"input_tokens": 5, "cache_creation_input_tokens": 7, "output_tokens": 9,
                    "cache_creation": {"ephemeral_5m_input_tokens": 4,
                                       "ephemeral_1h_input_tokens": 3}}},
         Usage(input=5, cache_write=7, cache_write_1h=3, output=9)),
    ],
)  # fmt: skip
def test_an_answer_without_stream_tells_the_same(dialect: Dialect, body: Any, usage: Usage) -> None:
    found = told(dialect, body, streamed=False)
    assert (found.model, found.cut, found.error, found.usage) == ("m", False, None, usage)
    assert found.stop


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, Usage(input=9, output=2)),
        ({"prompt_tokens": 9, "cached_tokens": 4, "completion_tokens": 2},
         Usage(input=5, cache_read=4, output=2)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 6,
          "completion_tokens": 2}, Usage(input=6, cache_read=3, output=2)),
        ({"prompt_tokens": 9, "completion_tokens": 2,
          "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4}},
         Usage(input=2, cache_read=3, cache_write=4, output=2)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}},
         Usage(input=0, cache_read=9)),
        ({"prompt_tokens": -3, "completion_tokens": 10**12}, Usage(input=0)),
        ({"prompt_tokens": 10**40}, Usage()),
        ({}, Usage()),
    ],
)  # fmt: skip
def test_chat_is_told_in_many_ways(usage: dict[str, Any], expected: Usage) -> None:
    assert told(Dialect.CHAT, {"choices": [], "usage": usage}).usage == expected
    # As Moonshot does in a stream.
    assert told(Dialect.CHAT, {"choices": [{"usage": usage}]}).usage == expected


@pytest.mark.parametrize("odd", ["12", 12.5, True, [12], {"count": 12}, 10**30, -1.0, 1e300])
def test_a_figure_that_is_none_costs_an_answer_nothing_else(odd: Any) -> None:
    chat = {"choices": [{"finish_reason": "stop"}], "model": "m",
            "usage": {"prompt_tokens": odd, "completion_tokens": 3}}  # fmt: skip
    anthropic = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "model": "m"},
                 "usage": {"input_tokens": odd, "output_tokens": 3}}  # fmt: skip
    responses = {"type": "response.completed", "response": {
        "model": "m", "usage": {"output_tokens": 3, "input_tokens": odd}}}  # fmt: skip
    gemini = {"candidates": [{"finishReason": "STOP"}], "modelVersion": "m", "usageMetadata": {
        "promptTokenCount": odd, "candidatesTokenCount": 3}}  # fmt: skip
    for dialect, event in (
        (Dialect.CHAT, chat), (Dialect.ANTHROPIC, anthropic), (Dialect.RESPONSES, responses),
        (Dialect.GEMINI, gemini),
    ):  # fmt: skip
        found = told(dialect, event)
        assert found.stop, dialect
        assert (found.model, found.usage.output) == ("m", 3)
        assert found.usage.input in (None, 0)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    usage = {"prompt_tokens": 9.0, "completion_tokens": 2.0, "cached_tokens": 4.0}
    expected = Usage(input=5, cache_read=4, output=2)
    assert told(Dialect.CHAT, {"choices": [], "usage": usage}).usage == expected


@pytest.mark.parametrize(
    ("dialect", "event"),
    [
        (Dialect.ANTHROPIC, {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
        (Dialect.RESPONSES,
         {"type": "response.incomplete", "response": {
             "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}}),
        (Dialect.CHAT, {"choices": [{"finish_reason": "length"}]}),
        (Dialect.GEMINI, {"candidates": [{"finishReason": "MAX_TOKENS"}]}),
    ],
)  # fmt: skip
def test_a_limit_of_tokens_cuts(dialect: Dialect, event: Any) -> None:
    assert told(dialect, event).cut


@pytest.mark.parametrize("status", [None, "in_progress"])
def test_an_event_says_the_end_where_the_response_does_not(status: str | None) -> None:
    held = {"model": "m", "status": status, "usage": RESPONSES_USAGE}
    assert told(Dialect.RESPONSES, {"type": "response.in_progress", "response": held}).stop is None
    ended = told(Dialect.RESPONSES, {"type": "response.completed", "response": held})
    assert (ended.stop, ended.cut, ended.error, ended.usage) == ("completed", False, None, SAME)
    failed = told(Dialect.RESPONSES, {"type": "response.failed", "response": {}})
    assert failed.error == "failed"
    cut = told(Dialect.RESPONSES, {"type": "response.incomplete", "response": {}})
    assert cut.stop == "incomplete"


def test_other_ends_do_not_cut() -> None:
    blocked = told(Dialect.GEMINI, {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (blocked.stop, blocked.cut) == ("SAFETY", False)
    filtered = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    found = told(Dialect.RESPONSES, {"type": "response.incomplete", "response": filtered})
    assert (found.stop, found.cut) == ("content_filter", False)


@pytest.mark.parametrize(
    ("dialect", "event", "error"),
    [
        (Dialect.ANTHROPIC,
         {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
         "overloaded_error: Overloaded"),
        (Dialect.RESPONSES,
         {"type": "response.failed", "response": {
             "status": "failed", "error": {"code": "server_error", "message": "no"}}},
         "server_error: no"),
        (Dialect.RESPONSES, {"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
         "rate_limit_exceeded: slow"),
        (Dialect.RESPONSES, {"type": "error", "error": {"type": "x", "message": "y"}}, "x: y"),
        (Dialect.CHAT, {"error": {"message": "no", "code": 502}}, "502: no"),
        (Dialect.CHAT, {"error": "no"}, "no"),
        (Dialect.ANTHROPIC, {"type": "error", "error": "no"}, "no"),
        (Dialect.RESPONSES, {"type": "error", "error": "no"}, "no"),
        (Dialect.RESPONSES,
         {"type": "response.failed", "response": {"status": "failed", "error": "no"}}, "no"),
        (Dialect.RESPONSES, {"type": "x", "response": {"status": "queued", "error": "no"}}, "no"),
        (Dialect.RESPONSES, {"type": "x", "error": "no"}, "no"),
        (Dialect.GEMINI, {"error": "no"}, "no"),
        (Dialect.GEMINI, {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}},
         "UNAVAILABLE: no"),
    ],
)  # fmt: skip
def test_errors_within_a_stream(dialect: Dialect, event: Any, error: str) -> None:
    assert told(dialect, event).error == error


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"type":"error","error":{"type":"a","message":"b"}}', "a: b"),
        ('{"error":{"message":"b","type":null,"code":"c"}}', "c: b"),
        ('[{"error":{"code":400,"message":"b","status":"INVALID"}}]', "INVALID: b"),
        ('{"error":{"code":429,"message":"b","metadata":{"raw":"c"}}}', "429: b: c"),
        ('{"error":{"message":"b","metadata":{"raw":{"c":1}}}}', "b"),
        ('{"error":{"message":"b","metadata":"c"}}', "b"),
        ('{"error":"b"}', "b"),
        ('{"message":"b"}', "b"),
        ('{"detail":"b"}', "b"),
        ("<html>b</html>", "<html>b</html>"),
        ("", "no explanation came with it"),
        ("[]", "[]"),
        ("[" * 100_000, "[" * 100_000),
        ('"b"', '"b"'),
    ],
)
def test_an_error_says_what_its_body_says(body: str, text: str) -> None:
    assert error_text(body.encode()) == text


def test_an_errors_body_is_bounded() -> None:
    found = told(Dialect.CHAT, "x" * 1_000_000, status=500, streamed=False)
    assert found.error == "x" * MOST_ERROR_BYTES


def test_google_names_the_time_to_wait_in_the_body() -> None:
    reader = AnswerReader(Told(), Dialect.GEMINI, status=429, encoding="")
    reader.feed(b'{"error":{"code":429,"details":[{"retryDelay": "34.5s"}]}}')
    assert reader.end() == 34.5


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(
    "junk", ["", "null", "[]", "3", '{"usage": 3}', '{"choices": {}}', "{", "[" * 100_000, "\x00",
             '{"type": ["message_start"]}', '{"usageMetadata": []}', '{"response": 1}'],
)  # fmt: skip
def test_nonsense_tells_nothing_and_harms_nothing(dialect: Dialect, junk: str) -> None:
    assert told(dialect, junk) == Told()
    assert told(dialect, junk, streamed=False) == Told()


@given(st.lists(st.text(st.characters(exclude_characters="\r\n\0", codec="utf-8"), min_size=1)),
       st.sampled_from(["\n", "\r\n"]), st.data())  # fmt: skip
def test_events_are_the_same_wherever_a_stream_is_cut(
    texts: list[str], newline: str, data: st.DataObject
) -> None:
    whole = "".join(
        f": comment{newline}id: 1{newline}data:{one}{newline}{newline}" for one in texts
    ).encode()
    reader = EventReader()
    found: list[bytes] = []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        found += reader.feed(whole[:size])
        whole = whole[size:]
    found += reader.end()
    assert found == [body for one in texts if (body := one.removeprefix(" ").encode())]


def test_lines_of_one_event_are_joined_and_a_last_one_needs_no_end() -> None:
    reader = EventReader()
    assert list(reader.feed(b"data: a\ndata: b\nevent: x\n\ndata: c")) == [b"a\nb"]
    assert list(reader.end()) == [b"c"]
    assert list(reader.end()) == []


@pytest.mark.parametrize("long", [b"data: " + b"x" * 300, b"data: x\n" * 300, b"y" * 300])
def test_an_event_that_is_too_long_is_skipped_and_the_next_is_read(long: bytes) -> None:
    reader = EventReader(most=200)
    found: list[bytes] = []
    for at in range(0, len(long), 7):
        found += reader.feed(long[at : at + 7])
    found += reader.feed(b"\n\ndata: next\n\n")
    assert found == [b"next"]


def test_unpacking_is_bounded_and_survives_damage() -> None:
    bomb = gzip.compress(b"x" * 10_000_000)
    held = Unpacking(most=1_000_000)
    sizes = [
        len(part) for at in range(0, len(bomb), 100) for part in held.feed(bomb[at : at + 100])
    ]
    assert 1_000_000 <= sum(sizes) < 1_100_000
    damaged = Unpacking()
    assert list(damaged.feed(b"not packed")) == []
    assert damaged.damaged
    assert list(damaged.feed(gzip.compress(b"x"))) == []


def test_an_answer_packed_in_several_members_is_read_to_its_end() -> None:
    packed = b"".join(gzip.compress(part) for part in (b"data: a\n", b"", b"data: b\n"))
    for size in (1, 7, len(packed)):
        held = Unpacking()
        pieces = (packed[at : at + size] for at in range(0, len(packed), size))
        parts = [part for piece in pieces for part in held.feed(piece)]
        assert b"".join(parts) == b"data: a\ndata: b\n"
        assert not held.damaged
    bomb = gzip.compress(b"x" * 100_000) * 100
    assert sum(map(len, Unpacking(most=1_000_000).feed(bomb))) < 1_100_000
