"""The files that opencode writes, in every state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kbsite.harnesses.form import Format, matches
from kbsite.harnesses.opencode import FORMATS
from kbsite.model.event import (
    Malformed,
    Message,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    Unknown,
)
from tests.harnesses.opencode_rows import (
    CAPTURES,
    EXPORT,
    RUN,
    assistant,
    document,
    exported,
    finished,
    ledger,
    of,
    one,
    printed,
    read,
    row,
    said,
    tool,
    user,
)
from tests.harnesses.reading import BESIDE, beside, corpus

# The shape of files

CAPTURED = sorted(p for p in CAPTURES.rglob("*.json*") if p.name != "meta.json")


def test_an_events_line_is_its_ordinal_in_the_document() -> None:
    events = exported(user(said("a")), assistant(said("b"), said("c")))
    told = {message.text: message.source.line for message in of(Message, events)}

    assert told == {"a": 3, "b": 4, "c": 5}
    assert [trace.source.line for trace in of(Trace, events)] == [6]


def test_messages_added_later_change_no_ordinal() -> None:
    first = exported(user(said("a")), assistant(said("b"), finished("tool-calls")))
    longer = exported(
        user(said("a")), assistant(said("b"), finished("tool-calls")), assistant(said("c"))
    )

    assert [event.source for event in longer[: len(first)]] == [event.source for event in first]


def test_the_layout_of_the_document_does_not_matter() -> None:
    value = document(user(said("a")), assistant(said("b"), finished()))

    assert read(EXPORT, json.dumps(value)) == read(EXPORT, json.dumps(value, indent=4) + "\n")


def test_an_export_of_a_message_on_each_line_is_read() -> None:
    rows = [user(said("a")), assistant(said("b"), finished())]
    events = read(EXPORT, "\n".join(map(json.dumps, rows)))

    assert [message.text for message in of(Message, events)] == ["a", "b"]
    assert ledger(events).total.input == 10


def test_a_cut_line_among_messages_spares_the_others() -> None:
    events = read(EXPORT, "\n".join([json.dumps(user(said("a"))), '{"info": ', "{}"]))

    assert [message.text for message in of(Message, events)] == ["a"]
    assert one(Malformed, events).text == '{"info": '


def test_two_documents_in_one_file_are_both_read() -> None:
    text = json.dumps(document(user(said("a"))), indent=2)
    events = read(EXPORT, text + "\n" + text)

    assert [message.text for message in of(Message, events)] == ["a", "a"]


def test_a_document_that_is_cut_is_malformed_as_a_whole() -> None:
    text = json.dumps(document(user(said("a"))), indent=2)[:-40]

    assert [event.text for event in of(Malformed, read(EXPORT, text))] == [text]


@pytest.mark.parametrize("data", ["not JSON\nat all", "[1, 2]", "\0\0", "}"])
def test_a_file_that_is_no_export_is_malformed_as_a_whole(data: str) -> None:
    (event,) = read(EXPORT, data)

    assert isinstance(event, Malformed)
    assert event.text == data


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.id)
def test_an_empty_file_has_no_events(form: Format) -> None:
    assert read(form, b"") == read(form, b"\n \n") == []


def test_bad_utf8_within_a_document_loses_no_byte() -> None:
    data = json.dumps(document(user(said("QQ")))).encode().replace(b"QQ", b"\xff\xfe")
    text = one(Message, read(EXPORT, data)).text

    assert text.encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_rows_glued_onto_one_line_get_parts_of_their_own() -> None:
    glued = json.dumps(row("tool_use", tool())) * 2 + "Killed"
    events = read(RUN, glued)

    assert len(of(ToolResult, events)) == 2
    assert one(Malformed, events).text == "Killed"
    assert [event.source.part for event in events] == list(range(len(events)))


def test_a_last_row_that_is_cut_is_malformed() -> None:
    events = read(RUN, json.dumps(row("text", said())) + '\n{"type":"tool_u')

    assert one(Malformed, events).source.line == 2


def test_a_byte_order_mark_and_carriage_returns_do_no_harm() -> None:
    text = json.dumps(document(user(said("a"))), indent=2).replace("\n", "\r\n")

    assert one(Message, read(EXPORT, "\ufeff" + text)).text == "a"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({}, ""),
        ({"what": 1}, "what"),
        (document() | {"todos": [1]}, "session:todos"),
        ({"info": "x", "messages": []}, "session:info"),
        ({"info": {}, "messages": {}}, "session:messages"),
        (document("text"), "message:info"),
        (document({}), "message:"),
        (document({"parts": []}), "message:"),
        (document(assistant() | {"extra": 1}), "message:extra"),
        (document({"info": {"role": "critic"}, "parts": []}), "message:critic"),
        (document(assistant({"type": "hologram"})), "hologram"),
        (document(assistant("text")), ""),
    ],
)
def test_what_the_format_does_not_know_is_unknown(value: Any, kind: str) -> None:
    unknown = [event.type for event in of(Unknown, read(EXPORT, json.dumps(value)))]

    assert kind in unknown


def test_a_row_of_an_unknown_type_is_unknown() -> None:
    assert one(Unknown, printed(row("session_idle"))).type == "session_idle"


# Which file is which


def heads(path: Path) -> list[Any]:
    with path.open("rb") as stream:
        text = stream.read().decode()
    decoder, start = json.JSONDecoder(strict=False), 0
    found: list[Any] = []
    while len(found) < 20 and (start := text.find("{", start)) >= 0:
        value, start = decoder.raw_decode(text, start)
        found.append(value)
    return found


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.parent.name)
def test_each_captured_file_is_recognised_by_its_own_format_only(path: Path) -> None:
    told = {form.id for form in FORMATS if form.recognises(heads(path))}

    assert told == {"opencode-run" if path.name == "stdout.jsonl" else "opencode-export"}


@beside
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.id)
def test_the_corpus_is_recognised_by_its_own_format_only(form: Format) -> None:
    paths = corpus(form.id)

    assert paths
    for path in paths:
        assert [f.id for f in FORMATS if f.recognises(heads(path))] == [form.id], path


@beside
@pytest.mark.parametrize(
    "folder", ["claude-session", "claude-stream", "codex-rollout", "codex-exec", "kimi-code-wire",
               "gemini-stream", "gemini-chat", "cursor-stream", "droid-session", "atif"],
)  # fmt: skip
def test_other_formats_are_not_claimed(folder: str) -> None:
    for path in sorted((BESIDE / "corpus" / folder).rglob("*.json*"))[:6]:
        with path.open(encoding="utf-8") as stream:
            head = [json.loads(line) for line in [*stream][:20] if line.startswith('{"')]
        assert not any(form.recognises(head) for form in FORMATS), path


@pytest.mark.parametrize("head", [[], [{}], [{"type": "text"}], [{"info": {}, "messages": []}]])
def test_what_says_nothing_is_not_claimed(head: Any) -> None:
    assert not any(form.recognises(head) for form in FORMATS)


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("export/ses_1.json", "opencode-export"),
        ("export/full.jsonl", "opencode-export"),
        ("export.json", "opencode-export"),
        ("events/all.json", "opencode-server"),
        ("events.json", "opencode-server"),
        ("stdout.jsonl", "opencode-run"),
        ("stream/log.txt", "opencode-run"),
        ("home/.local/share/opencode/tool-output/tool_1", None),
        ("home/.local/share/opencode/opencode.db", None),
        ("stderr.log", None),
    ],
)
def test_each_path_belongs_to_one_format(path: str, owner: str | None) -> None:
    owners = [form.id for form in FORMATS if any(matches(path, glob) for glob in form.globs)]

    assert owners == ([owner] if owner else [])


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.id)
def test_a_lone_file_is_found_where_it_is_stored(form: Format) -> None:
    assert any(matches(f"{form.stored_as}/any.name", glob) for glob in form.globs)


# Nothing is dropped


def transcripts() -> Iterator[tuple[Format, Path]]:
    for path in CAPTURED:
        yield (RUN if path.name == "stdout.jsonl" else EXPORT), path
    for form in FORMATS:
        for folder in [form.id, f"derived/{form.id}"]:
            for path in sorted((BESIDE / "corpus" / folder).rglob("*.json*")):
                yield form, path
    for path in sorted((BESIDE / "captures").glob("opencode-*/*/stdout.jsonl")):
        yield RUN, path


def rows_of(form: Format, path: Path) -> int:
    """The rows of a file: its lines, or the session, messages and parts of an export."""
    if form is RUN:
        return len(path.read_bytes().splitlines())
    messages = json.loads(path.read_bytes())["messages"]
    return 1 + len(messages) + sum(len(message["parts"]) for message in messages)


def names(case: object) -> str:
    return "/".join(case.parts[-3:]) if isinstance(case, Path) else getattr(case, "id", "")


@pytest.mark.parametrize(("form", "path"), [*transcripts()], ids=names)
def test_every_row_yields_an_event_in_a_place_of_its_own(form: Format, path: Path) -> None:
    events = read(form, path.read_bytes(), "name")
    places = [event.source for event in events]

    assert {source.line for source in places} == set(range(1, rows_of(form, path) + 1))
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(("form", "path"), [*transcripts()], ids=names)
def test_every_tool_part_is_one_call_with_one_result(form: Format, path: Path) -> None:
    text = path.read_bytes().decode()
    events = read(form, text, "name")
    values = [json.loads(text)] if form is EXPORT else [*map(json.loads, text.splitlines())]
    parts = [part for value in values for part in _parts(value)]
    ended = [part for part in parts if part["state"]["status"] in ("completed", "error")]

    assert [call.call_id for call in of(ToolCall, events)] == [part["callID"] for part in parts]
    assert [result.output for result in of(ToolResult, events)] == [
        part["state"].get("error") or part["state"]["output"] for part in ended
    ]


def _parts(value: Any) -> Iterator[Any]:
    found = [part for message in value.get("messages", []) for part in message["parts"]]
    for part in [*found, value.get("part", {})]:
        if part.get("type") == "tool":
            yield part


@pytest.mark.parametrize(("form", "path"), [*transcripts()], ids=names)
def test_every_text_is_a_message_or_a_thought(form: Format, path: Path) -> None:
    text = path.read_bytes().decode()
    events = read(form, text, "name")
    values = [json.loads(text)] if form is EXPORT else [*map(json.loads, text.splitlines())]
    messages = [message["parts"] for value in values for message in value.get("messages", [])]
    parts = [part for each in messages for part in each] + [v.get("part", {}) for v in values]
    spoken = Counter(part["text"] for part in parts if part.get("type") in ("text", "reasoning"))

    found = [message.text for message in of(Message, events)]
    found += [thought.text for thought in of(Thought, events)]

    assert Counter(found) == spoken


@beside
def test_corpus_totals_equal_the_sum_over_messages_and_the_sessions_own() -> None:
    for path in sorted((BESIDE / "corpus" / "opencode-export").rglob("*.json")):
        value = json.loads(path.read_bytes())
        counted = [message["info"].get("tokens") for message in value["messages"]]
        sums = Counter[str]()
        for told in filter(None, counted):
            sums["input"] += told["input"]
            sums["output"] += told["output"] + told["reasoning"]
            sums["read"] += told["cache"]["read"]
        total = ledger(read(EXPORT, path.read_bytes())).total

        assert (total.input, total.output, total.cache_read) == (
            sums["input"],
            sums["output"],
            sums["read"],
        ), path
        own = value["info"].get("tokens", {"input": sums["input"]})
        assert own["input"] == sums["input"], path
