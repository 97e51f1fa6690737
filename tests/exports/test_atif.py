"""A trajectory is what Harbor takes, says what the transcript says, and is read back as it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import force_setattr, replace

from kbsite.exports.atif import NOTHING, _Names, linked, trajectory
from kbsite.model.board import Attempt
from kbsite.model.event import (
    Finish,
    Image,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    Thought,
    ToolCall,
    ToolKind,
    Topic,
)
from kbsite.model.transcript import Transcript
from kbsite.model.usage import Usage
from tests.exports.harbor import HARBOR, trajectory_model, wheel
from tests.exports.hostile import TRANSCRIPTS, nested
from tests.exports.telling import attempt, corpus, every_capture, read_back, tale
from tests.fold.making import START, Log, folded
from tests.hanging import hanging
from tests.harnesses.reading import beside


def whole(told: Transcript, run: Attempt) -> str:
    return "".join(trajectory(told, run))


def exported(told: Transcript, **run: Any) -> dict[str, Any]:
    held: dict[str, Any] = json.loads(whole(told, attempt(**run)))
    return held


def counts(usage: Usage) -> tuple[int | None, ...]:
    return usage.sent, usage.output, usage.cache_read, usage.cache_write, usage.reasoning


def assert_reads_back(name: str, told: Transcript) -> None:
    back = read_back(whole(told, attempt(usage={})))

    assert tale(back, back=True) == tale(told), name
    assert counts(back.usage) == counts(told.usage), name
    assert back.cost_usd == told.cost_usd, name
    assert (back.unknown, back.malformed) == ({}, ()), name


# Harbor's own model


@pytest.fixture(scope="module", name="harbor")
def _harbor(request: pytest.FixtureRequest) -> Iterator[Any]:
    path = wheel(request.config.cache.mkdir("harbor"))
    if path is None:
        pytest.skip(f"the wheel of harbor {HARBOR} cannot be fetched from the package index")
    with trajectory_model(path) as model:
        yield model


def test_harbor_takes_every_trajectory(harbor: Any) -> None:
    assert every_capture()
    for name, told in every_capture():
        text = whole(told, attempt())
        taken = harbor.model_validate_json(text)
        assert taken.to_json_dict() == json.loads(text), f"{name}: Harbor drops something"


@beside
def test_harbor_takes_what_lies_beside_the_checkout(harbor: Any) -> None:
    for _, told in corpus():
        harbor.model_validate_json(whole(told, attempt()))


def test_harbor_takes_hostile_transcripts(harbor: Any) -> None:
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(TRANSCRIPTS)
    def holds(told: Transcript) -> None:
        harbor.model_validate_json(whole(told, attempt()))

    holds()


# Round trip


def test_a_trajectory_is_read_back_as_the_transcript() -> None:
    names = [name for name, _ in every_capture()]
    for name, told in every_capture():
        assert_reads_back(name, told)

    assert len(names) > 20
    assert any(told.main.steps for _, told in every_capture())


@beside
def test_transcripts_of_others_are_read_back_too() -> None:
    for name, told in corpus():
        assert_reads_back(name, told)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(TRANSCRIPTS)
def test_nothing_hostile_stops_it_and_steps_stay_numbered(told: Transcript) -> None:
    text = whole(told, attempt())
    waiting = [json.loads(text)]
    while waiting:
        held = waiting.pop()
        assert [step["step_id"] for step in held["steps"]] == [*range(1, len(held["steps"]) + 1)]
        assert held["final_metrics"]["total_steps"] == len(held["steps"])
        waiting += held.get("subagent_trajectories", [])

    assert text == whole(told, attempt())
    text.encode("utf-8")


# What a step is


def steps(*events: Any) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = exported(folded(*events))["steps"]
    return held


def thought(log: Log, text: str = "hm") -> Thought:
    return Thought(source=log.source, text=text)


def test_thoughts_text_and_parallel_calls_of_one_message_are_one_step() -> None:
    log = Log()
    events = [thought(log), log.say("go", model="m1"), log.call("a"), log.call("b"),
              log.use(5, message="1"), log.result("a", "A"), log.result("b", "B")]  # fmt: skip
    (step,) = steps(*events)

    assert (step["reasoning_content"], step["message"], step["model_name"]) == ("hm", "go", "m1")
    assert [call["tool_call_id"] for call in step["tool_calls"]] == ["a", "b"]
    assert step["observation"]["results"] == [
        {"source_call_id": "a", "content": "A"},
        {"source_call_id": "b", "content": "B"},
    ]
    assert step["metrics"] == {"completion_tokens": 5}


def test_a_call_after_a_result_is_a_step_of_its_own() -> None:
    log = Log()

    assert len(steps(log.call("a"), log.result("a"), log.call("b"), log.result("b"))) == 2


def test_a_token_count_ends_a_step() -> None:
    log = Log()
    found = steps(log.say("1"), log.use(1, message="1"), log.say("2"), log.use(2, message="2"))

    assert [(step["message"], step["metrics"]) for step in found] == [
        ("1", {"completion_tokens": 1}),
        ("2", {"completion_tokens": 2}),
    ]


def test_nothing_is_put_in_another_order() -> None:
    log = Log()
    found = steps(log.say("text"), thought(log), log.call("a"), log.say("after"))

    told = [(s["message"], s.get("reasoning_content"), "tool_calls" in s) for s in found]

    assert told == [("text", None, False), ("", "hm", True), ("after", None, False)]


def test_tokens_of_a_message_without_rows_are_kept() -> None:
    log = Log()
    user = Message(source=log.source, role=Role.USER, text="do")
    first, second = steps(user, log.use(7, message="1"))

    assert (first["source"], second["source"], second["message"]) == ("user", "agent", "")
    assert second["metrics"] == {"completion_tokens": 7}


def test_what_the_cli_says_is_the_system_s() -> None:
    log = Log()
    notice = Notice(source=log.source, topic=Topic.COMPACTION, text="compacted")
    told = Message(source=log.source, role=Role.USER, text="reminder", injected=True)
    first, second = steps(notice, told)

    assert first["source"] == "system"
    assert first["extra"] == {"notice": "compaction"}
    assert (second["source"], second["extra"]) == ("user", {"injected": True})


def test_a_result_without_a_call_is_kept() -> None:
    log = Log()
    (step,) = steps(log.result("lost", "out", failed=True))

    assert step["source"] == "system"
    assert step["extra"] == {"result_of": "lost"}
    assert step["observation"]["results"] == [{"content": "out", "extra": {"is_error": True}}]


def test_calls_with_one_id_or_none_are_told_apart() -> None:
    log = Log()
    (step,) = steps(log.call("a"), log.call("a"), log.call(""))

    ids = [call["tool_call_id"] for call in step["tool_calls"]]
    assert ids[:2] == ["a", "a~2"]
    assert len(set(ids)) == 3


def test_what_the_cli_tells_of_a_call_is_no_argument_of_it() -> None:
    (step,) = steps(replace(Log().call("a"), described="in /w"))

    assert step["tool_calls"][0]["extra"] == {"description": "in /w"}


def test_arguments_that_are_no_object_are_an_input() -> None:
    log = Log()
    call = ToolCall(source=log.source, call_id="a", tool="t", tool_kind=ToolKind.EDIT,
                    arguments="*** Begin Patch")  # fmt: skip
    (step,) = steps(call)

    assert step["tool_calls"][0]["arguments"] == {"input": "*** Begin Patch"}
    assert step["tool_calls"][0]["extra"] == {"arguments": "text"}


def test_data_nested_deeply_or_not_finite_is_written() -> None:
    log = Log()
    given = {"deep": nested(100), "odd": float("nan"), "\ud800": "\udcff"}
    call = ToolCall(
        source=log.source, call_id="a", tool="t", tool_kind=ToolKind.OTHER, arguments=given
    )
    (step,) = steps(call)

    asked = step["tool_calls"][0]["arguments"]
    assert (asked["odd"], asked["\\ud800"]) == ("nan", "\\xff")
    assert "Infinity" in json.dumps(asked["deep"])


def test_what_is_not_finite_is_told_from_what_is_nothing() -> None:
    log = Log()
    given = {"odd": float("inf"), "none": None}
    call = ToolCall(
        source=log.source, call_id="a", tool="t", tool_kind=ToolKind.OTHER, arguments=given
    )
    (step,) = steps(call)

    assert step["tool_calls"][0]["arguments"] == {"odd": "inf", "none": None}


def test_pictures_are_told_and_linked_only_where_they_have_an_address() -> None:
    log = Log()
    far = Image("image/png", "", "https://x.example/a.png")
    near = Image("image/png", "AAAA")
    shown = Message(source=log.source, role=Role.USER, text="see", images=(far, near))
    document = exported(folded(shown))

    assert document["steps"][0]["message"] == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"media_type": "image/png", "path": far.url}},
        {"type": "text", "text": "[picture: image/png, 4 characters of base64]"},
    ]
    assert "Pictures named by type and size only: 1." in document["notes"]


@pytest.mark.parametrize(
    ("media_type", "url", "points"),
    [
        ("image/png", "https://x.example/a.png", True),
        ("image/svg+xml", "https://x.example/a.svg", False),
        ("image/png", "../../etc/passwd", False),
        ("image/png", "file:///etc/passwd", False),
        ("image/png", "https://x.example/\0", False),
        ("image/png", "", False),
    ],
)
def test_only_pictures_on_the_web_are_pointed_at(media_type: str, url: str, points: bool) -> None:
    assert linked(Image(media_type, "", url)) is points


# Agents, totals, head


def test_sub_agents_are_embedded_below_the_call_that_started_them() -> None:
    log = Log()
    document = exported(folded(
        log.call("t"), log.start("kid", "t", title="Look"), log.say("in", agent="kid"),
        log.use(3, agent="kid", message="k"), log.call("u", agent="kid"),
        log.start("grandkid", "u", agent="kid"), log.say("deep", agent="grandkid"),
        log.result("t", "seen"), log.say("alone", agent="stray"),
    ))  # fmt: skip
    kid, stray = document["subagent_trajectories"]
    (result,) = document["steps"][0]["observation"]["results"]

    assert result["subagent_trajectory_ref"] == [{"trajectory_id": "kid"}]
    assert (kid["trajectory_id"], kid["notes"], stray["trajectory_id"]) == ("kid", "Look", "stray")
    assert kid["final_metrics"] == {"total_completion_tokens": 3, "total_steps": 2}
    assert kid["subagent_trajectories"][0]["steps"][0]["message"] == "deep"


def test_totals_are_the_transcript_s_and_include_the_cache() -> None:
    log = Log()
    use = log.use(5, scope=Scope.RUN, message="s", cost=0.5)
    usage = Usage(input=1, cache_read=20, cache_write=300, output=5, reasoning=4)
    force_setattr(use, "usage", usage)
    final = exported(folded(log.say(), use))["final_metrics"]

    assert final == {
        "total_prompt_tokens": 321, "total_completion_tokens": 5, "total_cached_tokens": 20,
        "total_cost_usd": 0.5, "total_steps": 1,
        "extra": {"total_cache_creation_input_tokens": 300, "total_reasoning_tokens": 4},
    }  # fmt: skip


def test_what_the_transcript_does_not_count_is_taken_from_the_run() -> None:
    final = exported(folded(Log().say()), usage={"input": 3, "output": 4}, cost_usd=0.1)

    assert final["final_metrics"] == {
        "total_prompt_tokens": 3, "total_completion_tokens": 4, "total_cost_usd": 0.1,
        "total_steps": 1,
    }  # fmt: skip


def test_what_the_run_records_of_its_cost_counts_as_on_its_page() -> None:
    log = Log()
    use = log.use(5, scope=Scope.RUN, message="s", cost=0.5)
    final = exported(folded(log.say(), use), cost_usd=0.75)["final_metrics"]

    assert final["total_cost_usd"] == 0.75


def test_a_zero_that_the_cli_made_up_is_left_out_of_steps_and_sub_agents_too() -> None:
    log = Log()
    events = [
        log.say("a"), use := log.use(5, message="m"), log.call("t"), log.start("kid", "t"),
        log.say("in", agent="kid"), below := log.use(3, agent="kid", message="k"),
    ]  # fmt: skip
    for one in (use, below):
        force_setattr(
            one, "usage", Usage(input=1, cache_read=0, cache_write=0, output=one.usage.output)
        )
    told = folded(*events)
    document = exported(told, usage={"input": 2, "cache_read": 0, "output": 8})

    of_step = document["steps"][0]["metrics"]
    assert of_step == {"prompt_tokens": 1, "completion_tokens": 5, "cached_tokens": 0}
    (kid,) = document["subagent_trajectories"]
    for final in (document["final_metrics"], kid["final_metrics"]):
        assert "extra" not in final
    # Where nobody counted, it is what the CLI says.
    bare = exported(told, usage={})["steps"][0]["metrics"]
    assert bare["extra"] == {"cache_creation_input_tokens": 0}


def test_unknown_counts_are_left_out_never_zero() -> None:
    assert exported(folded(Log().say()), usage={})["final_metrics"] == {"total_steps": 1}


def test_the_head_says_whose_run_it_is() -> None:
    document = exported(folded(Log().say(at=0)), harness_version=None)

    assert document["schema_version"] == "ATIF-v1.7"
    assert (document["session_id"], document["trajectory_id"]) == ("r", "r")
    assert document["agent"] == {
        "name": "claude", "version": "unknown", "model_name": "m",
        "extra": {"reasoning_effort": "max"},
    }  # fmt: skip
    assert document["extra"]["status"] == "ungraded"
    assert document["steps"][0]["timestamp"] == START.isoformat().replace("+00:00", "Z")


def test_the_head_says_which_session_it_was_and_how_the_cli_ended_it() -> None:
    log = Log()
    session = Session(source=log.source, session_id="s-1", harness_version="9.8")
    end = Finish(source=log.source, ok=False, reason="max_turns", text="No turn is left.")
    document = exported(folded(session, log.say(), end), harness_version=None)

    assert (document["session_id"], document["trajectory_id"]) == ("s-1", "r")
    assert document["agent"]["version"] == "9.8"
    assert document["extra"]["finish"] == {
        "ok": False, "reason": "max_turns", "text": "No turn is left."
    }  # fmt: skip


def test_an_empty_transcript_has_the_one_step_that_the_format_wants() -> None:
    assert exported(folded())["steps"] == [{"step_id": 1, "source": "system", "message": NOTHING}]


def test_ids_that_a_session_uses_again_and_again_are_told_apart_in_proportion_to_them() -> None:
    names = _Names()
    given = ["c", "c~3", *["c"] * 60_000, "c~2"]
    found = [names.of(name) for name in given]

    assert found[:5] == ["c", "c~3", "c~2", "c~4", "c~5"]
    assert found[-1] == "c~2~2"
    assert len(set(found)) == len(found)


def test_a_model_that_says_very_much_in_one_go_is_exported_in_proportion_to_it() -> None:
    log = Log()
    told = folded(*(log.say("a") for _ in range(60_000)))
    with hanging():
        (step,) = exported(told)["steps"]

    assert step["message"].count("a") == 60_000
