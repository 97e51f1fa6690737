"""What opencode's server tells of its sessions, read as the exports that they would be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kbsite.fold.steps import Fold
from kbsite.model.event import (
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Role,
    Session,
    ToolCall,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from tests.harnesses.opencode_rows import (
    EXPORT,
    SERVER,
    assistant,
    document,
    finished,
    ledger,
    of,
    one,
    read,
    said,
    started,
    tool,
    user,
)
from tests.harnesses.reading import beside, corpus


def row(kind: str, **properties: Any) -> Any:
    return {"type": kind, "properties": properties}


def sent(whole: Any) -> list[Any]:
    """An export as the server would tell of it."""
    rows = [row("server.connected"), row("session.created", info=whole["info"])]
    session = whole["info"]["id"]
    for message in whole["messages"]:
        info = message["info"] | {"sessionID": session}
        rows.append(row("message.updated", info=info))
        for held in message["parts"]:
            part = held | {"sessionID": session, "messageID": info["id"]}
            rows.append(row("message.part.updated", part=part))
    return rows


def kept(*rows: Any) -> list[Event]:
    return read(SERVER, json.dumps(rows))


BACK = "So far it was taken back: the model sees nothing of it, and files may have been put back."

WHOLE = document(user(said("go", id="prt_0")), assistant(started(), said("a"), tool(), finished()))


def bare(events: list[Event]) -> list[Any]:
    """What the events tell, without their places and their rows."""
    quiet = (Trace, Finish, Session)
    told = [e for e in events if not isinstance(e, quiet)]
    return [(e.kind, getattr(e, "text", ""), getattr(e, "output", "")) for e in told]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_is_told_as_its_export_would_tell_it(indent: int | None) -> None:
    events = read(SERVER, json.dumps(sent(WHOLE), indent=indent))
    exported = read(EXPORT, json.dumps(WHOLE))

    assert bare(events) == bare(exported)
    assert one(Finish, events).reason == one(Finish, exported).reason == "stop"
    assert ledger(events).total == ledger(exported).total
    assert of(Session, events)[0].session_id == WHOLE["info"]["id"]


def test_rows_on_lines_of_their_own_are_told_alike() -> None:
    rows = sent(WHOLE)
    data = "".join(json.dumps(held) + "\n" for held in rows)

    assert read(SERVER, data) == kept(*rows)


def test_only_the_last_state_of_a_part_is_shown() -> None:
    rows = sent(WHOLE)
    running = json.loads(json.dumps(rows[6]))
    running["properties"]["part"]["text"] = "a and more"
    events = kept(*rows, running)

    assert [m.text for m in of(Message, events)] == ["go", "a and more"]
    assert len([t for t in of(Trace, events) if t.type == "message.part.updated"]) == 6


def test_a_call_that_goes_on_is_one_call_with_its_result() -> None:
    part = tool() | {"sessionID": "ses_1", "messageID": "msg_1"}
    states = [part | {"state": {"status": s, "input": {}}} for s in ("pending", "running")]
    told = assistant()["info"]
    events = kept(
        row("message.updated", info=told),
        *(row("message.part.updated", part=held) for held in [*states, part]),
    )

    assert one(ToolCall, events).summary == "ls"
    assert one(ToolResult, events).output == "a\n"


def test_pieces_of_a_text_that_was_never_told_whole_are_put_together() -> None:
    rows = sent(document(assistant(said(""))))
    place = {"sessionID": rows[1]["properties"]["info"]["id"], "messageID": "msg_1"}
    pieces = [
        row("message.part.delta", **place, partID="prt_x", field="text", delta=delta)
        for delta in ("one ", "two")
    ]
    events = kept(*rows, *pieces)

    assert one(Message, events).text == "one two"


@pytest.mark.parametrize(
    "piece",
    [
        {"sessionID": "ses_1", "messageID": "m", "partID": "p", "field": "text", "delta": "x"},
        {"field": "text", "delta": "x"},
        {"delta": 7},
    ],
)
def test_a_piece_of_nothing_that_is_known_is_a_trace(piece: Any) -> None:
    (trace,) = kept(row("message.part.delta", **piece))

    assert isinstance(trace, Trace)


def test_a_sub_agents_session_stands_below_the_call_that_started_it() -> None:
    state: dict[str, Any] = {"metadata": {"sessionId": "ses_2"}, "input": {"description": "look"}}
    task = tool(**state) | {"tool": "task"}
    child = document(assistant(said("found"), id="msg_2"))
    child["info"] |= {"id": "ses_2", "parentID": WHOLE["info"]["id"]}
    fold = Fold()
    for event in kept(*sent(document(assistant(task))), *sent(child)):
        fold.add(event)
    steps = fold.transcript("", "", ()).main.steps
    (call,) = [step for step in steps if isinstance(step.event, ToolCall)]

    assert [agent.id for agent in call.agents] == ["ses_2"]


def test_a_message_of_which_only_parts_are_told_is_not_lost() -> None:
    part = said("alone") | {"sessionID": "ses_1", "messageID": "msg_9"}
    message = one(Message, kept(row("message.part.updated", part=part)))

    assert (message.text, message.role) == ("alone", Role.ASSISTANT)


def test_messages_that_were_removed_are_told_as_taken_back() -> None:
    first, second = (
        [user(said("go", id=f"prt_{n}0"), id=f"msg_{n}0"),
         assistant(said("a", id=f"prt_{n}1"), finished(part_id=f"prt_{n}2"), id=f"msg_{n}1")]
        for n in (1, 2)
    )  # fmt: skip
    rows = sent(document(*first))
    removed = [row("message.removed", sessionID="ses_1", messageID=f"msg_1{n}") for n in (0, 1)]
    events = kept(*rows, *removed, *sent(document(*second))[2:])
    told = [e.text for e in events if isinstance(e, Message | Notice)]

    assert told == ["What follows was taken back later.", "go", "a", BACK, "go", "a"]
    assert [n.restores for n in of(Notice, events)] == [False, True]
    assert one(Finish, events).reason == "stop"


def test_an_error_is_told() -> None:
    wrong = {"name": "APIError", "data": {"message": "too much"}}
    notice = one(Notice, kept(row("session.error", sessionID="ses_1", error=wrong)))

    assert (notice.topic, notice.text) == (Topic.ERROR, "APIError: too much")


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (row("session.new"), "session.new"),
        (row("message.updated", info={}), "message.updated"),
        ({"type": "session.idle"}, "session.idle"),
        (7, ""),
    ],
)
def test_what_the_format_does_not_know_is_unknown(held: Any, kind: str) -> None:
    assert one(Unknown, kept(held)).type == kind


def test_a_list_that_is_cut_is_malformed() -> None:
    data = json.dumps(sent(WHOLE))[:-9]
    (event,) = read(SERVER, data)

    assert isinstance(event, Malformed)
    assert event.text == data


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        (sent(WHOLE), True),
        ([row("message.updated", info={})], True),
        ([], False),
        ([row("server.connected")], False),
        ([row("session.created"), {"type": "x"}], False),
    ],
)
def test_only_its_own_events_are_recognised(head: Any, claimed: bool) -> None:
    assert SERVER.recognises(head) is claimed


@beside
def test_every_part_of_the_corpus_is_told_once() -> None:
    for path in corpus("opencode-server"):
        rows = json.loads(path.read_bytes())
        parts = [r["properties"]["part"] for r in rows if "part" in r["properties"]]
        texts = {part["id"]: part["text"] for part in parts if part["type"] == "text"}
        events = read(SERVER, path.read_bytes())

        assert [message.text for message in of(Message, events)] == list(texts.values())
        assert len(of(Trace, events)) >= len(rows) - 1
        assert of(Unknown, events) == []
