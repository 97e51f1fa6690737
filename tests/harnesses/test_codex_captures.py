"""Codex 0.169.0 as captured: what it left behind after good, failed and killed runs.

The scripted model's token use follows a formula, so totals are known to the digit.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kbsite.fold.tokens import Ledger
from kbsite.harnesses import codex
from kbsite.harnesses.form import Format, matches
from kbsite.harnesses.lines import lines
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Message,
    Notice,
    Role,
    Session,
    Thought,
    TokenUse,
    ToolCall,
    ToolResult,
    Topic,
    Unknown,
)
from kbsite.model.usage import Usage
from tests.harnesses.reading import BESIDE, beside

ROLLOUT, PRINTED = codex.FORMATS
OURS = Path(__file__).parent / "captures" / "codex"
CORPUS = BESIDE / "corpus"
CAPTURES = BESIDE / "captures"


def files(folder: Path) -> dict[str, Path]:
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def of(form: Format, folder: Path) -> dict[str, Path]:
    return {
        name: path
        for name, path in files(folder).items()
        if any(matches(name, glob) for glob in form.globs)
    }


def read(form: Format, path: Path, name: str) -> list[Event]:
    with path.open("rb") as stream:
        return list(form.parse(lines(stream), name))


def events(form: Format, folder: Path) -> list[Event]:
    return [event for name, path in of(form, folder).items() for event in read(form, path, name)]


def ledger(found: list[Event]) -> Ledger:
    held = Ledger()
    for event in found:
        if isinstance(event, TokenUse):
            held.add(event)
    return held


def formula(*turns: int) -> Usage:
    return Usage(
        input=sum(1000 for _ in turns),
        cache_read=sum(500 * turn for turn in turns),
        cache_write=0,
        output=sum(40 + 10 * turn for turn in turns),
        reasoning=sum(8 for _ in turns),
    )


def all_files() -> Iterator[tuple[Format, Path, str]]:
    folders = [*OURS.glob("*/"), *CAPTURES.glob("codex-*/*/")]
    for form in codex.FORMATS:
        for folder in folders:
            for name, path in of(form, folder).items():
                yield form, path, name
        for folder in [CORPUS / form.id, CORPUS / "derived" / "mutations"]:
            for path in folder.rglob("*.jsonl"):
                if folder.name == form.id or path.name.startswith(f"{form.id}__"):
                    yield form, path, path.name


def head(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        for line in stream:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            found += [value] if isinstance(value, dict) else []
            if len(found) == 20:
                break
    return found


def test_every_line_that_is_not_blank_is_an_event() -> None:
    for form, path, name in all_files():
        held = {n for n, line in enumerate(path.read_bytes().split(b"\n"), 1) if line.strip()}
        assert {event.source.line for event in read(form, path, name)} == held, path


def test_every_event_has_a_place_of_its_own() -> None:
    for form, path, name in all_files():
        found = read(form, path, name)
        assert len({(e.source.line, e.source.part) for e in found}) == len(found), path


def test_events_come_in_the_order_of_the_lines() -> None:
    for form, path, name in all_files():
        order = [event.source.line for event in read(form, path, name)]
        assert order == sorted(order), path


def test_files_are_recognised_by_their_own_format_only() -> None:
    for form, path, _ in all_files():
        claimed = [other.id for other in codex.FORMATS if other.recognises(head(path))]
        assert claimed == [form.id], path


@beside
def test_files_of_other_tools_are_not_recognised() -> None:
    others = [
        *(path for path in CORPUS.rglob("*.jsonl") if "codex" not in path.as_posix()),
        *(path for path in CAPTURES.rglob("*.jsonl") if "codex-" not in path.as_posix()),
    ]
    for path in others:
        assert not [form.id for form in codex.FORMATS if form.recognises(head(path))], path


def test_globs_take_the_logs_and_nothing_else_of_a_home() -> None:
    names = [
        "stdout.jsonl",
        "stderr.log",
        "rollout/a.jsonl",
        "exec/a.jsonl",
        "home/.codex/config.toml",
        "home/.codex/history.jsonl",
        "home/.codex/sessions/2026/01/02/rollout-x.jsonl",
        "home/.codex/archived_sessions/rollout-y.jsonl",
    ]
    taken = [
        [name for name in names if any(matches(name, glob) for glob in form.globs)]
        for form in codex.FORMATS
    ]
    assert taken == [
        [names[2], names[6], names[7]],
        ["stdout.jsonl", "exec/a.jsonl"],
    ]


@pytest.mark.parametrize("form", codex.FORMATS, ids=lambda form: form.id)
def test_lone_file_is_stored_where_the_globs_look(form: Format) -> None:
    name = f"{form.stored_as}/any.jsonl"
    assert [one.id for one in codex.FORMATS if any(matches(name, g) for g in one.globs)] == [
        form.id
    ]


@pytest.mark.parametrize("form", codex.FORMATS, ids=lambda form: form.id)
def test_quick_run_is_counted_to_the_digit(form: Format) -> None:
    assert ledger(events(form, OURS / "quick")).total == formula(0, 1, 2)


def test_each_response_of_a_run_is_counted_once() -> None:
    held = ledger(events(ROLLOUT, OURS / "quick"))
    assert [use.usage for use in held.messages.values()] == [formula(n) for n in range(3)]


@pytest.mark.parametrize("form", codex.FORMATS, ids=lambda form: form.id)
def test_quick_run_has_its_calls_and_its_answer(form: Format) -> None:
    found = events(form, OURS / "quick")
    calls = [event for event in found if isinstance(event, ToolCall)]
    results = [event for event in found if isinstance(event, ToolResult)]
    answers = [e for e in found if isinstance(e, Message) and e.role is Role.ASSISTANT]
    assert [call.summary for call in calls] == ["echo one", "cat > solution.py <<'SCRIPTED_EOF'"]
    assert [result.call_id for result in results] == [call.call_id for call in calls]
    assert [result.exit_code for result in results] == [0, 0]
    assert [answer.text for answer in answers] == ["Quick done."]
    assert [event.ok for event in found if isinstance(event, Finish)] == [True]


def test_prompt_is_the_only_message_of_the_user() -> None:
    prompts = [
        event.text
        for event in events(ROLLOUT, OURS / "quick")
        if isinstance(event, Message) and not event.injected and event.role is Role.USER
    ]
    assert len(prompts) == 1
    assert prompts[0].endswith("<b>café</b>")


def test_rollout_tells_model_and_version() -> None:
    sessions = [e for e in events(ROLLOUT, OURS / "quick") if isinstance(e, Session)]
    assert {one.harness_version for one in sessions} == {"0.169.0"}
    assert [one.model for one in sessions if one.model] == ["scripted-1"]


@pytest.mark.parametrize("form", codex.FORMATS, ids=lambda form: form.id)
def test_refused_key_is_a_bad_finish(form: Format) -> None:
    (finish,) = [e for e in events(form, OURS / "e401") if isinstance(e, Finish)]
    assert finish.ok is False
    assert "401" in finish.text


def test_retries_are_told_apart_from_the_error() -> None:
    topics = [e.topic for e in events(PRINTED, OURS / "e401") if isinstance(e, Notice)]
    assert topics == [Topic.NOTE, Topic.RETRY, Topic.RETRY, Topic.ERROR]


def test_interrupted_command_has_its_exit_code_from_the_later_record() -> None:
    found = events(ROLLOUT, OURS / "longtool-INT")
    (result,) = [event for event in found if isinstance(event, ToolResult)]
    assert (result.exit_code, result.is_error) == (-1, True)
    (finish,) = [event for event in found if isinstance(event, Finish)]
    assert (finish.ok, finish.reason) == (False, "interrupted")


@pytest.mark.parametrize("form", codex.FORMATS, ids=lambda form: form.id)
def test_killed_run_has_a_call_but_neither_result_nor_finish(form: Format) -> None:
    kinds = Counter(event.kind for event in events(form, OURS / "longtool-KILL"))
    assert (kinds["call"], kinds["result"], kinds["finish"]) == (1, 0, 0)


def test_killed_run_is_counted_up_to_its_last_response() -> None:
    assert ledger(events(ROLLOUT, OURS / "longtool-KILL")).total == formula(0)


# Beside the checkout


MAIN = CAPTURES / "codex-0.169.0" / "main"
DIRECT = CAPTURES / "codex-0.169.0-gpt-5.5-direct-tools" / "main"


@beside
def test_thread_and_its_child_are_counted_apart_and_summed() -> None:
    found = events(ROLLOUT, MAIN)
    (start,) = [event for event in found if isinstance(event, AgentStart)]
    held = ledger(found)
    whole = Usage(input=12000, cache_read=39000, cache_write=0, output=1260, reasoning=96)
    assert held.usage("") == whole
    assert held.usage(start.child) == formula(0, 1)
    assert held.total.input == 14000
    assert held.total.output == 1350


@beside
def test_child_is_tied_to_the_call_that_started_it() -> None:
    found = events(ROLLOUT, MAIN)
    (start,) = [event for event in found if isinstance(event, AgentStart)]
    (call,) = [e for e in found if isinstance(e, ToolCall) and e.tool == "spawn_agent"]
    assert (start.agent, start.call_id, start.title) == ("", call.call_id, "Noether")
    (child,) = [e for e in found if isinstance(e, Session) and e.parent_session]
    assert (child.agent, child.session_id) == (start.child, start.child)
    assert child.parent_session in {e.session_id for e in found if isinstance(e, Session)}


@beside
@pytest.mark.parametrize("folder", [MAIN, DIRECT], ids=["exec_command", "apply_patch"])
def test_both_formats_of_a_run_say_the_same(folder: Path) -> None:
    main = [event for event in events(ROLLOUT, folder) if not event.agent]
    printed = events(PRINTED, folder)
    assert ledger(main).total == ledger(printed).total
    for kind in (Thought, ToolCall, ToolResult):
        same = [sum(isinstance(event, kind) for event in one) for one in (main, printed)]
        assert same[0] == same[1], kind
    answers = [
        [e.text for e in one if isinstance(e, Message) and e.role is Role.ASSISTANT]
        for one in (main, printed)
    ]
    assert answers[0] == answers[1]


@beside
def test_freeform_patches_are_edits_with_their_diff_recorded() -> None:
    found = events(ROLLOUT, DIRECT)
    edits = [edit for e in found if isinstance(e, ToolCall) for edit in e.edits]
    assert [(edit.path, edit.action) for edit in edits] == [
        ("solution.py", "add"),
        ("solution.py", "update"),
    ]
    recorded = [e.recorded for e in found if isinstance(e, ToolResult) and e.recorded]
    changes = [one["changes"] for one in recorded if isinstance(one, dict) and "changes" in one]
    assert len(changes) == 2


@beside
def test_long_output_is_whole_in_what_was_printed() -> None:
    whole = "".join(f"{n}\n" for n in range(1, 20001))
    assert whole in {e.output for e in events(PRINTED, MAIN) if isinstance(e, ToolResult)}


@beside
def test_long_output_is_recorded_beyond_what_the_model_saw() -> None:
    recorded = [
        len(str(e.recorded["aggregated_output"]))
        for e in events(ROLLOUT, MAIN)
        if isinstance(e, ToolResult) and isinstance(e.recorded, dict)
    ]
    assert recorded == [65536]


def payloads(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("payload"), dict):
            found.append(row)
    return found


def rollouts() -> list[Path]:
    return sorted([*(CORPUS / ROLLOUT.id).rglob("*.jsonl"), *CAPTURES.rglob("rollout-*.jsonl")])


def searched(record: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Whether a script says the search that Codex recorded: it is one call, told once."""
    scripts = [str(r["payload"].get("input")) for r in rows if r["payload"].get("name") == "exec"]
    query = str(record.get("query")).removesuffix(" ...")
    said = bool(query) and any(query in script for script in scripts)
    return said and record.get("type") == "web_search_end"


@beside
def test_calls_and_outputs_are_as_many_as_the_rows_say() -> None:
    asked = {"function_call", "custom_tool_call", "tool_search_call", "web_search_call"}
    for path in rollouts():
        rows = payloads(path)
        kinds = Counter(r["payload"].get("type") for r in rows if r["type"] == "response_item")
        nested = sum(
            r["type"] == "event_msg"
            and str(r["payload"].get("call_id")).startswith("exec-")
            and not searched(r["payload"], rows)
            for r in rows
        )
        told_once = [e for e in read(ROLLOUT, path, path.name) if not getattr(e, "late", False)]
        found = Counter(event.kind for event in told_once)
        assert found["call"] == sum(kinds[kind] for kind in asked) + nested, path
        outputs = [kind for kind in kinds if str(kind).endswith("_output")]
        told = sum(kinds[kind] for kind in outputs) + kinds["web_search_call"] + nested
        assert found["result"] == told, path


@beside
def test_totals_are_the_last_that_codex_tells() -> None:
    for path in rollouts():
        told = [
            row["payload"]["info"]["total_token_usage"]
            for row in payloads(path)
            if row["payload"].get("type") == "token_count" and row["payload"].get("info")
        ]
        if not told:
            continue
        total = ledger(read(ROLLOUT, path, path.name)).total
        assert total.sent == told[-1]["input_tokens"], path
        assert total.cache_read == told[-1]["cached_input_tokens"], path
        assert total.output == told[-1]["output_tokens"], path
        assert total.reasoning == told[-1]["reasoning_output_tokens"], path


@beside
def test_every_text_of_the_model_is_shown_once() -> None:
    for path in rollouts():
        written = Counter(
            "".join(block.get("text", "") for block in row["payload"]["content"])
            for row in payloads(path)
            if row["payload"].get("type") == "message" and row["payload"]["role"] == "assistant"
        )
        shown = Counter(
            event.text
            for event in read(ROLLOUT, path, path.name)
            if isinstance(event, Message) and event.role is Role.ASSISTANT
        )
        assert shown == written, path


@beside
def test_rows_of_unknown_types_are_only_those_made_up_by_hand() -> None:
    unknown = Counter(
        event.type
        for form, path, name in all_files()
        for event in read(form, path, name)
        if isinstance(event, Unknown)
    )
    assert dict(unknown) == {"item.completed/future_item": 1}
