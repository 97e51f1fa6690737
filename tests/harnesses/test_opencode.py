"""What opencode says of sessions, messages and their end."""

from __future__ import annotations

import json

import pytest

from kbsite.model.event import (
    Event,
    Finish,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    TokenUse,
    ToolCall,
    Topic,
    Trace,
)
from tests.harnesses.opencode_rows import (
    assistant,
    captured,
    exported,
    finished,
    ledger,
    of,
    one,
    printed,
    row,
    said,
    started,
    user,
)

# Sessions


def test_an_export_starts_with_what_it_says_of_the_session() -> None:
    session = exported(model={"id": "m-1", "providerID": "p", "variant": "high"})[0]

    assert isinstance(session, Session)
    assert (session.session_id, session.harness_version, session.cwd) == (
        "ses_1",
        "1.18.33",
        "/workspace",
    )
    assert (session.model, session.effort) == ("m-1", "high")


def test_the_default_variant_is_no_effort() -> None:
    session = one(Session, exported(model={"id": "m-1", "variant": "default"}))

    assert session.effort == ""


def test_the_title_of_a_session_is_kept() -> None:
    assert json.loads(one(Session, exported()).raw)["title"] == "A title"


def test_a_turn_tells_the_model_when_the_session_does_not() -> None:
    events = exported(user(said()))

    assert [session.model for session in of(Session, events)] == ["", "m-1"]


def test_a_turn_with_the_same_settings_is_bookkeeping() -> None:
    events = exported(user(said()), user(said()))

    assert len(of(Session, events)) == 2
    assert [trace.type for trace in of(Trace, events)] == ["user"]


def test_stdout_tells_its_session_once() -> None:
    events = printed(row("text", said()), row("text", said()))

    assert one(Session, events).session_id == "ses_1"


def test_two_runs_in_one_stdout_are_two_sessions() -> None:
    events = printed(row("text", said()), row("text", said(), sessionID="ses_2"))

    assert [session.session_id for session in of(Session, events)] == ["ses_1", "ses_2"]


# Messages and thinking


def test_a_user_speaks_as_the_user() -> None:
    message = one(Message, exported(user(said("do it"))))

    assert (message.role, message.text, message.injected) == (Role.USER, "do it", False)


@pytest.mark.parametrize("mark", ["synthetic", "ignored"])
def test_what_the_cli_adds_to_a_prompt_is_injected(mark: str) -> None:
    assert one(Message, exported(user(said() | {mark: True}))).injected


def test_an_answer_tells_its_model() -> None:
    message = one(Message, exported(assistant(said())))

    assert (message.role, message.model) == (Role.ASSISTANT, "m-1")


def test_a_message_is_dated_when_it_began() -> None:
    time = {"start": 1_795_000_001_000, "end": 1_795_000_005_000}
    exported_at = one(Message, exported(assistant(said(time=time)))).at
    printed_at = one(Message, printed(row("text", said(time=time)))).at

    assert exported_at == printed_at
    assert exported_at is not None
    assert exported_at.timestamp() == 1_795_000_001


def test_a_prompt_is_dated_by_its_message() -> None:
    at = one(Message, exported(user(said()))).at

    assert at is not None
    assert at.timestamp() == 1_795_000_000


def test_a_system_prompt_is_shown_as_injected() -> None:
    message = one(Message, exported(user(system="be brief")))

    assert (message.role, message.text, message.injected) == (Role.SYSTEM, "be brief", True)


def test_thinking_is_a_thought() -> None:
    thought = one(Thought, exported(assistant({"type": "reasoning", "text": "hm"})))

    assert (thought.text, thought.encrypted) == ("hm", False)


def test_thinking_without_text_but_with_the_providers_data_is_encrypted() -> None:
    part = {"type": "reasoning", "text": "", "metadata": {"p": {"reasoningEncryptedContent": "x"}}}

    assert one(Thought, exported(assistant(part))).encrypted


def test_a_picture_in_a_prompt_is_an_image() -> None:
    part = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    (image,) = one(Message, exported(user(part))).images

    assert (image.media_type, image.data, image.url) == ("image/png", "AAAA", "")


def test_a_picture_elsewhere_keeps_its_address() -> None:
    part = {"type": "file", "mime": "image/png", "url": "https://example.org/a.png"}

    assert one(Message, exported(user(part))).images[0].url == "https://example.org/a.png"


def test_another_file_in_a_prompt_is_a_note_that_keeps_the_row() -> None:
    part = {"type": "file", "mime": "text/plain", "filename": "a.py", "url": "file:///w/a.py"}
    notice = one(Notice, exported(user(part)))

    assert notice.text == "File attached: a.py (text/plain)"
    assert json.loads(notice.raw) == part


def test_a_command_that_starts_a_sub_agent_is_what_the_user_says() -> None:
    part = {"type": "subtask", "prompt": "review it", "description": "r", "agent": "general"}

    assert one(Message, exported(user(part))).text == "review it"


def test_files_changed_in_a_turn_are_named_and_their_diffs_kept() -> None:
    diffs = [{"file": "a.py", "patch": "@@\n-x\n+y"}, {"file": "b.py", "patch": ""}]
    notice = one(Notice, exported(user(summary={"diffs": diffs})))

    assert notice.text == "Files changed by the end of this turn: a.py, b.py"
    assert json.loads(notice.raw) == diffs


@pytest.mark.parametrize(("auto", "why"), [(True, "by opencode itself"), (False, "on request")])
def test_the_context_is_compacted_when_its_summary_is_there(auto: bool, why: str) -> None:
    asked = user({"type": "compaction", "auto": auto}, id="msg_1")
    parts, over = (started(), said("All of it."), finished()), {"created": 1, "completed": 2}
    events = exported(asked, assistant(*parts, id="msg_2", summary=True, time=over))

    told = [e for e in events if isinstance(e, Message | TokenUse | Notice)]
    assert [type(event) for event in told] == [Notice, Message, TokenUse, Notice]
    first, *_, last = of(Notice, events)
    assert (first.topic, why in first.text) == (Topic.NOTE, True)
    assert last.topic is Topic.COMPACTION
    # One that was cut, or failed.
    for facts in ({"time": {"created": 1}}, {"time": over, "error": ERROR}):
        events = exported(asked, assistant(*parts, id="msg_2", summary=True, **facts))
        assert Topic.COMPACTION not in [notice.topic for notice in of(Notice, events)]


def test_a_retry_is_a_notice_with_the_error() -> None:
    error = {"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}
    notice = one(Notice, exported(assistant({"type": "retry", "attempt": 2, "error": error})))

    assert notice.topic is Topic.RETRY
    assert notice.text == "Attempt 2: APIError: overloaded (HTTP 529)"


@pytest.mark.parametrize("kind", ["patch", "snapshot", "agent"])
def test_bookkeeping_parts_are_traces(kind: str) -> None:
    events = exported(assistant({"type": kind, "hash": "h"}))

    assert [trace.type for trace in of(Trace, events)] == [kind, "assistant"]


# The end


def test_a_session_ends_with_its_last_step() -> None:
    for events in (exported(assistant(finished())), printed(row("step_finish", finished()))):
        assert (one(Finish, events).ok, one(Finish, events).reason) == (True, "stop")
        assert isinstance(events[-1], Finish)


@pytest.mark.parametrize(("reason", "ok"), [("length", False), ("unknown", None), ("other", None)])
def test_other_ends_are_not_taken_for_success(reason: str, ok: bool | None) -> None:
    assert one(Finish, printed(row("step_finish", finished(reason)))).ok is ok


def test_a_step_that_calls_tools_is_no_end() -> None:
    assert of(Finish, printed(row("step_finish", finished("tool-calls")))) == []


def test_a_step_after_the_end_takes_it_back() -> None:
    assert of(Finish, printed(row("step_finish", finished()), row("step_start", started()))) == []


def test_a_prompt_after_the_end_takes_it_back() -> None:
    assert of(Finish, exported(assistant(finished()), user(said("more")))) == []


def test_the_summary_of_a_compaction_is_no_end() -> None:
    assert of(Finish, exported(assistant(finished(), summary=True))) == []


ERROR = {"name": "APIError", "data": {"message": "bad key", "statusCode": 401}}


def test_an_error_is_told_and_ends_the_session() -> None:
    for events in (exported(assistant(error=ERROR)), printed(row("error", error=ERROR))):
        assert one(Notice, events).text == "APIError: bad key (HTTP 401)"
        finish = one(Finish, events)
        assert (finish.ok, finish.reason, finish.text) == (
            False,
            "APIError",
            "APIError: bad key (HTTP 401)",
        )


def reverted(**revert: str) -> list[Event]:
    first = assistant(started(), said("one"), finished(), id="msg_1")
    second = assistant(
        started(), said("two", id="prt_2"), said("three", id="prt_3"), finished("length"),
        id="msg_3",
    )  # fmt: skip
    return exported(
        user(said("go"), id="msg_0"), first, user(said("more"), id="msg_2"), second, revert=revert
    )


def test_what_a_person_took_back_is_told_as_that_and_is_not_how_the_session_ended() -> None:
    events = reverted(messageID="msg_2", snapshot="0", diff="-a = 2\n+a = 1")
    told = [e.text for e in events if isinstance(e, Message | Notice)]
    assert told == [
        "go", "one", "What follows was taken back later.", "more", "two", "three",
        "So far it was taken back: the model sees nothing of it, and files may have been put back."
        "\n-a = 2\n+a = 1",
    ]  # fmt: skip
    assert [notice.restores for notice in of(Notice, events)] == [False, True]
    assert one(Finish, events).reason == "stop"


def test_a_part_of_a_message_can_be_what_is_taken_back_first() -> None:
    events = reverted(messageID="msg_3", partID="prt_3")
    told = [e.text for e in events if isinstance(e, Message | Notice)]
    assert told[:5] == ["go", "one", "more", "two", "What follows was taken back later."]
    assert told[5] == "three"
    assert len(told) == 7
    # Messages that the export does not have were not taken back in it.
    assert of(Notice, reverted(messageID="msg_9")) == []
    assert one(Finish, reverted(messageID="msg_9")).reason == "length"


def test_an_abort_is_an_interruption() -> None:
    error = {"name": "MessageAbortedError", "data": {"message": "aborted"}}

    assert one(Notice, exported(assistant(error=error))).topic is Topic.INTERRUPTION


def test_an_error_that_is_only_text_is_told() -> None:
    assert one(Notice, printed(row("error", error="no model"))).text == "no model"


def test_a_run_that_was_killed_has_no_end() -> None:
    for events in captured("longtool-KILL").values():
        assert of(Finish, events) == []
        assert ledger(events).lower_bound


def test_the_export_of_a_killed_run_shows_the_call_that_stdout_lacks() -> None:
    found = captured("longtool-KILL")

    assert of(ToolCall, found.pop("stdout")) == []
    assert [len(of(ToolCall, events)) for events in found.values()] == [1]


def test_a_refused_key_ends_both_formats() -> None:
    for events in captured("e401").values():
        assert one(Finish, events).reason == "APIError"
