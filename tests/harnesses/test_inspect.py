"""Inspect's plain logs as events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite.harnesses.inspect import FORMATS
from kbsite.model.event import (
    Event,
    Finish,
    Image,
    Malformed,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from tests.harnesses.reading import CORPUS, beside, ledger, of, one, read

_, LOG = FORMATS
EVAL = {"run_id": "r-1", "task": "t", "model": "lab/m-1", "created": "2024-11-05T13:31:45-05:00",
        "packages": {"inspect_ai": "0.3.43"}}  # fmt: skip
PATHS = sorted((CORPUS / "inspect-json").rglob("*.json"))


def said(role: str, content: Any = "x", **more: Any) -> Any:
    return {"role": role, "content": content, **more}


def sample(*messages: Any, **more: Any) -> Any:
    return {"id": 1, "epoch": 1, "input": "x", "messages": list(messages), **more}


def log(*samples: Any, **more: Any) -> Any:
    return {"version": 2, "status": "success", "eval": EVAL, "samples": list(samples)} | more


def told(*samples: Any, **more: Any) -> list[Event]:
    return read(LOG, json.dumps(log(*samples, **more), indent=1), "log/a.json")


def model_call(*sent: Any, answer: Any = None, **more: Any) -> Any:
    choices = [] if answer is None else [{"message": answer}]
    at = "2024-11-05T13:32:16Z"
    return {
        "event": "model",
        "timestamp": at,
        "input": [*sent],
        "output": {"choices": choices},
        **more,
    }


# The head and the end


def test_the_head_tells_the_run() -> None:
    session = one(Session, told(plan={"config": {"reasoning_effort": "high"}}))

    assert (session.session_id, session.model, session.effort) == ("r-1", "lab/m-1", "high")
    assert session.harness_version == "0.3.43"
    assert session.at is not None


@pytest.mark.parametrize(
    ("status", "ok"), [("success", True), ("error", False), ("cancelled", False), ("started", None)]
)
def test_the_end_is_what_the_log_says_of_it(status: str, ok: bool | None) -> None:
    times = {"started_at": "2024-11-05T13:31:45Z", "completed_at": "2024-11-05T13:32:15Z"}
    finish = one(Finish, told(status=status, stats=times, error={"message": "no"}))

    assert (finish.ok, finish.reason, finish.text, finish.seconds) == (ok, status, "no", 30)


# Messages


def test_each_role_speaks() -> None:
    messages = [said("system", "a"), said("user", "b"), said("assistant", "c", model="m-2")]

    assert [(m.role, m.text, m.model) for m in of(Message, told(sample(*messages)))] == [
        (Role.SYSTEM, "a", ""),
        (Role.USER, "b", ""),
        (Role.ASSISTANT, "c", "m-2"),
    ]


def test_what_the_solver_says_to_a_model_at_work_is_no_persons_word() -> None:
    messages = [said("user", "do"), said("assistant", "c"), said("user", "[usage] 7 tokens"),
                said("user", "and now", source="input")]  # fmt: skip

    found = [m.injected for m in of(Message, told(sample(*messages)))]
    assert found == [False, False, True, False]


def test_thinking_and_pictures_are_parts_of_a_message() -> None:
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "reasoning", "reasoning": "AbC", "redacted": True},
        {"type": "reasoning", "reasoning": "AbC", "redacted": True, "summary": "short"},
        {"type": "text", "text": "see"},
        {"type": "image", "image": "data:image/png;base64,AAAA"},
    ]
    events = told(sample(said("assistant", parts)))

    assert [(t.text, t.encrypted) for t in of(Thought, events)] == [
        ("hm", False),
        ("", True),
        ("short", False),
    ]
    assert [m.images for m in of(Message, events)] == [(), (Image("image/png", "AAAA"),)]


def test_other_media_are_notes_that_keep_the_part() -> None:
    part = {"type": "audio", "audio": "a.wav", "format": "wav"}
    (notice,) = [
        n
        for n in of(Notice, told(sample(said("user", [part]))))
        if n.raw != "" and "audio" in n.text
    ]

    assert json.loads(notice.raw) == part


def test_a_call_and_its_result_are_joined_by_id() -> None:
    call = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}
    tool = {"event": "tool", "id": "c1", "timestamp": "2024-11-05T13:00:00Z",
            "completed": "2024-11-05T13:00:02Z"}  # fmt: skip
    answer = said("tool", "a", tool_call_id="c1", function="bash")
    events = told(sample(said("assistant", "", tool_calls=[call]), answer, events=[tool]))
    asked, got = one(ToolCall, events), one(ToolResult, events)

    assert (asked.tool, asked.tool_kind, asked.summary) == ("bash", ToolKind.RUN, "ls")
    assert asked.call_id == got.call_id == "c1"
    assert (got.output, got.is_error, got.seconds) == ("a", False, 2)
    assert got.at is not None


def test_an_error_of_a_tool_is_told() -> None:
    error = {"type": "timeout", "message": "too slow"}
    result = one(ToolResult, told(sample(said("tool", "", tool_call_id="c", error=error))))

    assert (result.output, result.is_error, result.recorded) == ("too slow", True, {"error": error})


def test_arguments_that_do_not_parse_are_told() -> None:
    call = {"id": "c1", "function": "bash", "arguments": "{", "parse_error": "bad JSON"}
    events = told(sample(said("assistant", "", tool_calls=[call])))

    assert one(ToolCall, events).arguments == "{"
    assert "bad JSON" in [notice.text for notice in of(Notice, events)]


@pytest.mark.parametrize("reference", ["attachment://h1", "tc://h1"])
def test_long_texts_stand_in_the_place_of_references(reference: str) -> None:
    held = sample(said("user", reference), attachments={"h1": "long", "h2": "unused"})
    events = told(held)

    assert one(Message, events).text == "long"
    (rest,) = [trace for trace in of(Trace, events) if trace.type == "attachments"]
    assert json.loads(rest.raw) == {"h2": "unused"}


def test_long_texts_of_an_old_log_are_found() -> None:
    held = sample(said("user", "tc://h1"), transcript={"content": {"h1": "long"}, "events": []})

    assert one(Message, told(held)).text == "long"


# Events


def test_a_model_call_of_the_conversation_is_not_shown_again() -> None:
    answer = said("assistant", "hi", id="m1")
    events = told(sample(said("user"), answer, events=[model_call(said("user"), answer=answer)]))

    assert [message.text for message in of(Message, events)] == ["x", "hi"]
    assert of(Message, events)[1].at is not None


def test_a_model_call_beside_the_conversation_is_kept_apart() -> None:
    call = model_call(said("user", "judge this"), answer=said("assistant", "fine"))
    events = told(sample(said("user"), events=[call, call]))

    assert [(m.text, m.agent) for m in of(Message, events)] == [
        ("x", ""),
        ("judge this", "beside the conversation"),
        ("fine", "beside the conversation"),
    ]


@pytest.mark.parametrize(
    ("event", "topic", "text"),
    [
        ({"event": "info", "data": {"a": 1}}, Topic.NOTE, '{"a": 1}'),
        ({"event": "error", "error": {}, "message": "boom"}, Topic.ERROR, "boom"),
        ({"event": "sample_limit", "message": "too long"}, Topic.INTERRUPTION, "too long"),
        (
            {"event": "score", "score": {"value": 1}, "intermediate": True},
            Topic.NOTE,
            '{"value": 1}',
        ),
        ({"event": "compaction", "summary": "so far"}, Topic.COMPACTION, "so far"),
    ],
)
def test_what_a_reader_wants_to_know_is_a_notice(event: Any, topic: Topic, text: str) -> None:
    found = [(notice.topic, notice.text) for notice in of(Notice, told(sample(events=[event])))]

    assert (topic, text) in found


def test_bookkeeping_is_a_trace() -> None:
    events = told(sample(events=[{"event": "span_begin", "name": "solver"}]))

    assert [trace.type for trace in of(Trace, events)] == ["span_begin"]


def test_scores_and_errors_of_a_sample_are_notices() -> None:
    scores = {"match": {"value": "I", "explanation": "no match"}}
    texts = [n.text for n in of(Notice, told(sample(scores=scores, error={"message": "boom"})))]

    assert texts == ["Sample 1, epoch 1", "boom", "Score match: I\nno match"]


def test_samples_are_kept_apart() -> None:
    events = told(sample(said("user", "a")), sample(said("user", "b")))

    assert [(m.text, m.agent) for m in of(Message, events)] == [("a", ""), ("b", "sample 2")]


# Tokens


def counts(total: int, **more: int) -> Any:
    return {"m": {"input_tokens": 10, "output_tokens": 5, "total_tokens": total, **more}}


@pytest.mark.parametrize(("total", "fresh"), [(15, 6), (19, 10)])
def test_cached_tokens_are_not_counted_twice(total: int, fresh: int) -> None:
    used = counts(total, input_tokens_cache_read=4)
    found = ledger(told(stats={"model_usage": used})).total

    assert (found.input, found.cache_read, found.output) == (fresh, 4, 5)


@pytest.mark.parametrize("name", ["eval_id", "task_id"])
def test_two_logs_of_one_run_have_totals_of_their_own(name: str) -> None:
    stats = {"model_usage": {"m": {"input_tokens": 5}}}
    logs = [told(stats=stats, eval={**EVAL, name: f"n-{number}"}) for number in (1, 2, 1)]
    uses = [one(TokenUse, found) for found in logs]
    assert uses[0].message_id == uses[2].message_id != uses[1].message_id


def test_the_tokens_of_all_models_are_summed() -> None:
    used = {"a": counts(15)["m"], "b": counts(15)["m"]}

    assert ledger(told(sample(model_usage=used))).usage("").output == 10


# The shape of files


def test_an_events_line_is_its_ordinal_in_the_document() -> None:
    events = told(sample(said("user", "a"), said("user", "b")))

    assert [message.source.line for message in of(Message, events)] == [3, 4]


def test_a_document_that_is_cut_is_malformed_as_a_whole() -> None:
    text = json.dumps(log(sample(said("user"))), indent=2)[:-40]

    assert [event.text for event in of(Malformed, read(LOG, text))] == [text]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (log("x"), "sample"),
        (log(samples="x"), "samples"),
        (log(sample("x")), "message"),
        (log(sample(said("critic"))), "message:critic"),
        (log(sample(said("user", [{"type": "hologram"}]))), "content:hologram"),
        (log(sample(said("assistant", tool_calls=["x"]))), "tool_call"),
        (log(sample(events=[{"event": "hologram"}])), "event:hologram"),
    ],
)
def test_what_the_format_does_not_know_is_unknown(value: Any, kind: str) -> None:
    assert one(Unknown, read(LOG, json.dumps(value))).type == kind


@pytest.mark.parametrize(
    ("head", "claimed"),
    [([log()], True), ([{"status": "x", "eval": {}}], False), ([{}], False), ([], False)],
)
def test_a_log_is_known_by_its_head(head: Any, claimed: bool) -> None:
    assert LOG.recognises(head) is claimed


@beside
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_every_message_of_the_corpus_is_told_and_its_tokens_counted(path: Path) -> None:
    value = json.loads(path.read_bytes())
    events = read(LOG, path.read_bytes())
    spoken = [m["content"] for s in value["samples"] for m in s["messages"]]
    texts = [
        part["text"]
        for content in spoken
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
        if part["type"] == "text"
    ]
    used = value["stats"]["model_usage"].values()

    assert of(Unknown, events) == []
    assert [m.text for m in of(Message, events) if not m.agent and not m.images] == texts
    assert ledger(events).total.output == sum(model["output_tokens"] for model in used)


# Notices at their moments


def happened(kind: str, **more: Any) -> Any:
    return {"event": kind, "timestamp": "2024-11-05T13:32:16Z", **more}


def order(*samples: Any) -> list[tuple[str, int]]:
    """What is said and told, in order, with its place in the document."""
    events = [event for event in told(*samples) if isinstance(event, Message | Notice | ToolResult)]
    words = [e.output if isinstance(e, ToolResult) else e.text for e in events]
    return [(words[n], event.source.line) for n, event in enumerate(events)]


def test_what_happens_within_a_conversation_stands_at_its_moment() -> None:
    asked = said("assistant", "first", id="a1",
                 tool_calls=[{"id": "c1", "function": "f", "arguments": {}}])  # fmt: skip
    messages = [said("user", "go", id="u1"), asked, said("tool", "done", tool_call_id="c1"),
                said("user", "go on"), said("assistant", "second", id="a2")]  # fmt: skip
    events = [
        happened("info", data="before all"), model_call(answer=asked),
        happened("info", data="asked"),
        {"event": "tool", "id": "c1", "function": "f"}, happened("info", data="ran"),
        model_call(error="overloaded"), model_call(answer=messages[4]),
        happened("sample_limit", message="enough"),
    ]  # fmt: skip
    found = order(sample(*messages, events=events))

    assert [words for words, _ in found] == [
        "Sample 1, epoch 1", "go", "before all", "first", "asked", "done", "go on", "ran",
        "overloaded", "second", "enough",
    ]  # fmt: skip
    lines = dict(found)
    assert [lines[one] for one in ("go", "first", "done", "go on", "second")] == [3, 4, 5, 6, 7]
    assert [lines[one] for one in ("before all", "asked", "overloaded", "enough")] == [
        8,
        10,
        13,
        15,
    ]


def test_messages_that_no_event_tells_of_stand_before_what_happened() -> None:
    found = order(sample(said("user", "go"), said("assistant", "yes"),
                         events=[happened("info", data="so")]))  # fmt: skip

    assert [words for words, _ in found] == ["Sample 1, epoch 1", "go", "yes", "so"]


def test_each_of_them_is_told_once() -> None:
    answer = said("assistant", "yes", id="a1")
    broke = happened("error", error={"message": "broke"})
    events = told(sample(answer, events=[model_call(answer=answer, error="late"), broke]))

    assert [e.text for e in of(Notice, events)] == ["Sample 1, epoch 1", "late", "broke"]
    assert [e.type for e in of(Trace, events)] == ["model"]
