"""Whole transcripts of Claude Code: real ones, damaged ones, and whatever else may come."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.fold.steps import Fold
from kbsite.fold.tokens import Ledger
from kbsite.harnesses.claude import FORMATS
from kbsite.harnesses.form import Format, matches
from kbsite.harnesses.lines import Record, lines, mapping, records
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Session,
    TokenUse,
    ToolCall,
    ToolResult,
    Unknown,
)
from kbsite.model.usage import Usage, total
from kbsite.store.files import Stored
from kbsite.transcripts import transcript
from tests.harnesses.claude_rows import of
from tests.harnesses.reading import BESIDE, beside

HERE = Path(__file__).parent / "captures" / "claude"
SESSION, STREAM = FORMATS


def parsed(form: Format, path: Path, name: str = "") -> list[Event]:
    with path.open("rb") as stream:
        return list(form.parse(lines(stream), name or path.name))


def of_scenario(folder: Path, form: Format) -> list[tuple[Path, str]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    named = [(path, path.relative_to(folder).as_posix()) for path in files]
    return [(path, name) for path, name in named if any(matches(name, g) for g in form.globs)]


def read(folder: Path, form: Format) -> list[Event]:
    return [event for path, name in of_scenario(folder, form) for event in parsed(form, path, name)]


def ledger(events: list[Event]) -> Ledger:
    held = Ledger()
    for use in of(TokenUse, events):
        held.add(use)
    return held


def captures() -> list[Path]:
    return sorted(HERE.iterdir()) + sorted(BESIDE.glob("captures/claude-code-*/*/"))


def real() -> Iterator[tuple[Format, Path]]:
    """Every file of Claude Code that there is, ours and others'."""
    for form in FORMATS:
        for folder in captures():
            yield from ((form, path) for path, _ in of_scenario(folder, form))
        yield from ((form, path) for path in sorted(BESIDE.glob(f"corpus/{form.id}/**/*.jsonl")))
        yield from ((form, path) for path in sorted(BESIDE.glob(f"corpus/derived/*/{form.id}__*")))
    trials = BESIDE / "corpus" / "harbor-trial"
    yield from ((SESSION, path) for path in sorted(trials.glob("**/sessions/**/*.jsonl")))
    yield from ((STREAM, path) for path in sorted(trials.glob("**/claude-code.txt")))


def head(path: Path) -> list[Mapping[str, object]]:
    with path.open("rb") as stream:
        found = records(lines(stream), path.name)
        return [record.value for record in islice(found, 20) if isinstance(record, Record)]


def assert_nothing_is_lost(form: Format, data: bytes, name: str = "x.jsonl") -> list[Event]:
    events = list(form.parse(lines(io.BytesIO(data)), name))
    rows = {line.number for line in lines(io.BytesIO(data)) if line.text.strip()}
    places = [(event.source.line, event.source.part) for event in events]
    assert {line for line, _ in places} == rows
    assert places == sorted(set(places))
    return events


# Our own captures: every token is known


def formula(turns: int) -> Usage:
    """What the scripted model counts over its first turns."""
    cached = sum(500 * turn for turn in range(turns))
    output = sum(40 + 10 * turn for turn in range(turns))
    return Usage(
        input=1000 * turns, cache_read=cached, cache_write=0, cache_write_1h=0, output=output,
        reasoning=0,
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMATS, ids=[form.id for form in FORMATS])
def test_a_whole_run_counts_what_the_model_counted(form: Format) -> None:
    assert ledger(read(HERE / "quick", form)).total == formula(3)


def test_messages_of_the_log_add_up_to_what_the_cli_told() -> None:
    held = ledger(read(HERE / "quick", SESSION))

    assert held.counted == held.told == formula(3)


def test_both_formats_tell_the_same_calls_and_results() -> None:
    log, printed = (read(HERE / "quick", form) for form in FORMATS)

    assert calls(log) == calls(printed) != []
    assert results(log) == results(printed) != []


def calls(events: list[Event]) -> list[tuple[Any, ...]]:
    return [(c.agent, c.call_id, c.tool, c.arguments, c.edits) for c in of(ToolCall, events)]


def results(events: list[Event]) -> list[tuple[Any, ...]]:
    return [(r.agent, r.call_id, r.output, r.is_error, r.exit_code) for r in of(ToolResult, events)]


def test_a_run_without_a_key_used_nothing_and_failed() -> None:
    for form in FORMATS:
        used = ledger(read(HERE / "e401", form)).total
        assert (used.sent, used.output) == (0, 0)
    end = of(Finish, read(HERE / "e401", STREAM))[-1]

    assert (end.ok, end.reason) == (False, "api_error")


def test_of_an_error_that_ended_a_run_stdout_tells_more_than_the_log() -> None:
    by_name = {
        form.id: [
            Stored(name, str(path), path.stat().st_size)
            for path, name in of_scenario(HERE / "e401", form)
        ]
        for form in FORMATS
    }
    alone = transcript("claude", by_name[SESSION.id])
    both = transcript("claude", [*by_name[SESSION.id], *by_name[STREAM.id]])

    assert alone
    assert alone.finish
    assert both
    assert both.finish
    assert (alone.finish.ok, alone.finish.reason) == (False, "authentication_failed")
    assert (both.finish.ok, both.finish.reason, both.finish.turns) == (False, "api_error", 1)
    assert alone.main.steps[-1].event.source == both.main.steps[-1].event.source


def test_a_killed_run_has_a_call_without_a_result_and_no_completion() -> None:
    for form in FORMATS:
        events = read(HERE / "longtool-KILL", form)
        assert [c.tool for c in of(ToolCall, events)] == ["Bash"]
        assert not of(ToolResult, events)
        assert not of(Finish, events)


def test_a_killed_runs_log_still_has_its_final_counts() -> None:
    log, printed = (ledger(read(HERE / "longtool-KILL", form)) for form in FORMATS)

    assert (log.total, log.lower_bound) == (formula(1), False)
    assert (printed.total.output, printed.lower_bound) == (1, True)


def test_both_formats_tell_of_the_same_session() -> None:
    for scenario in sorted(HERE.iterdir()):
        (log,) = of(Session, read(scenario, SESSION))
        (printed,) = of(Session, read(scenario, STREAM))
        facts = [(s.session_id, s.model, s.harness_version, s.cwd) for s in (log, printed)]
        assert facts[0] == facts[1]


# The capture with a sub-agent


@pytest.fixture
def main() -> Path:
    found = sorted(BESIDE.glob("captures/claude-code-*/main"))
    if not found:
        pytest.skip("no captures beside this checkout")
    return found[-1]


def test_a_sub_agent_counts_what_its_model_counted(main: Path) -> None:
    held = ledger(read(main, SESSION))
    (child,) = {agent for agent, _ in held.messages if agent}

    assert held.usage(child) == formula(2)
    assert held.counted == held.told == ledger(read(main, STREAM)).total
    assert held.total == Usage(
        input=13000, cache_read=34000, cache_write=0, cache_write_1h=0, output=1200, reasoning=0
    )


def test_both_formats_name_the_same_sub_agent_for_the_same_call(main: Path) -> None:
    starts = [
        {(s.agent, s.child, s.call_id, s.title) for s in of(AgentStart, read(main, form))}
        for form in FORMATS
    ]

    assert starts[0] == starts[1]
    assert [(call_id, title) for _, _, call_id, title in starts[0]] == [
        ("toolu_call_t10_0", "child task")
    ]


def test_a_sub_agent_stands_under_its_call_even_where_call_ids_repeat(main: Path) -> None:
    for form in FORMATS:
        fold = Fold()
        for event in read(main, form):
            fold.add(event)
        held = fold.transcript(form.id, form.title, ())
        (above,) = [step for step in held.main.steps if step.agents]
        (below,) = above.agents
        made = [step for step in below.steps if isinstance(step.event, ToolCall)]

        assert isinstance(above.event, ToolCall)
        assert above.event.tool == "Agent"
        assert [step.result is not None for step in made] == [True]
        assert held.unlinked == ()


def test_both_formats_tell_the_same_calls_and_results_of_a_long_run(main: Path) -> None:
    log, printed = read(main, SESSION), read(main, STREAM)

    assert sorted(map(repr, calls(log))) == sorted(map(repr, calls(printed)))
    assert sorted(map(repr, results(log))) == sorted(map(repr, results(printed)))


def test_a_cut_output_keeps_what_the_cli_kept(main: Path) -> None:
    for form in FORMATS:
        (long,) = [r for r in of(ToolResult, read(main, form)) if "<persisted-output>" in r.output]
        assert isinstance(long.recorded, Mapping)
        assert len(str(long.recorded["stdout"])) == 30000
        assert long.side_files[0].endswith(".txt")


# Others' transcripts


TRIALS = sorted(BESIDE.glob("corpus/harbor-trial/**/agent/claude-code.txt"))


@beside
@pytest.mark.parametrize("printed", TRIALS, ids=[path.parent.parent.name for path in TRIALS])
def test_the_stream_and_the_log_of_a_run_agree(printed: Path) -> None:
    log = [
        event
        for path in sorted(printed.parent.glob("sessions/projects/*/*.jsonl"))
        for event in parsed(SESSION, path)
    ]
    out = parsed(STREAM, printed)

    assert {c[1:] for c in map(hashable, calls(log))} == {c[1:] for c in map(hashable, calls(out))}
    assert {r[1:] for r in results(log)} == {r[1:] for r in results(out)}
    assert main_usage(log) == main_usage(out)


def hashable(call: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(map(repr, call))


def main_usage(events: list[Event]) -> Usage:
    return ledger(events).usage("")


@beside
@pytest.mark.parametrize("printed", TRIALS, ids=[path.parent.parent.name for path in TRIALS])
def test_the_logs_main_agent_used_what_the_result_says(printed: Path) -> None:
    ends = of(Finish, parsed(STREAM, printed))
    if not ends:
        pytest.skip("the run has no result")
    told = json.loads(ends[-1].raw)
    (log,) = [
        p for p in printed.parent.glob("sessions/projects/*/*.jsonl") if p.stem[:6] != "agent-"
    ]
    used = main_usage(parsed(SESSION, log))

    assert (used.input, used.output) == (
        told["usage"]["input_tokens"],
        told["usage"]["output_tokens"],
    )
    assert used.cache_read == told["usage"]["cache_read_input_tokens"]


@beside
def test_one_file_with_the_results_of_several_runs_is_their_sum() -> None:
    (path,) = BESIDE.glob("corpus/claude-stream/ArturoKuang*/*.jsonl")
    events = parsed(STREAM, path)
    stated = [
        Usage(
            input=model["inputTokens"],
            cache_read=model["cacheReadInputTokens"],
            cache_write=model["cacheCreationInputTokens"],
            output=model["outputTokens"],
        )
        for end in of(Finish, events)
        for model in json.loads(end.raw)["modelUsage"].values()
    ]

    assert len(of(Finish, events)) == 5
    assert ledger(events).total == total(stated)


@beside
def test_text_in_the_middle_of_a_stream_is_kept_line_by_line() -> None:
    (path,) = [p for p in TRIALS if "worker_queue" in str(p)]
    found = of(Malformed, parsed(STREAM, path))

    assert len(found) == 10
    assert {m.reason for m in found} == {"a line of text, not JSON"}


@pytest.mark.parametrize("form", FORMATS, ids=[form.id for form in FORMATS])
def test_no_row_of_any_file_is_lost_or_unknown(form: Format) -> None:
    for path in (path for held, path in real() if held is form):
        events = assert_nothing_is_lost(form, path.read_bytes(), path.name)
        assert not of(Unknown, events), path


@pytest.mark.parametrize("form", FORMATS, ids=[form.id for form in FORMATS])
def test_every_call_and_result_of_any_file_is_one_event(form: Format) -> None:
    for path in (path for held, path in real() if held is form):
        events = parsed(form, path)
        wanted = list(blocks(path))
        assert [c.call_id for c in of(ToolCall, events)] == [i for k, i in wanted if k == "use"]
        assert [r.call_id for r in of(ToolResult, events)] == [
            i for k, i in wanted if k == "result"
        ]


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    """Calls and results of a file, by nothing but JSON."""
    with path.open("rb") as stream:
        rows = [r.value for r in records(lines(stream), "") if isinstance(r, Record)]
    for held in rows:
        # What a session repeats of a sub-agent counts here: no other file tells of it.
        data = mapping(held.get("data")) if held.get("type") == "progress" else {}
        row = mapping(data["message"]) if "agentId" in data else held
        message = row.get("message")
        if row.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "tool_use":
                yield "use", block["id"]
            elif block["type"] == "tool_result":
                yield "result", block["tool_use_id"]


# Recognition and places


def test_every_file_is_recognised_as_its_format_and_as_no_other() -> None:
    for form, path in real():
        if path.suffix == ".json" or b"{" not in path.read_bytes()[:10]:
            continue
        assert [each.id for each in FORMATS if each.recognises(head(path))] == [form.id], path


@beside
def test_files_of_other_clis_are_not_recognised() -> None:
    ours = ("claude-", "harbor-trial", "derived")
    others = [
        path
        for path in sorted(BESIDE.glob("corpus/*/*/**/*.json*"))
        if not path.relative_to(BESIDE / "corpus").parts[0].startswith(ours)
    ]
    others += [
        p for p in sorted(BESIDE.glob("captures/*/*/stdout.jsonl")) if "claude" not in str(p)
    ]

    assert len(others) > 50
    for path in others:
        assert [form.id for form in FORMATS if form.recognises(head(path))] == [], path


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("home/.claude/projects/-workspace/s.jsonl", "claude-session"),
        ("home/.claude/projects/-workspace/agent-1.jsonl", "claude-session"),
        ("home/.claude/projects/-workspace/s/subagents/agent-1.jsonl", "claude-session"),
        ("home/.claude/projects/-workspace/s/subagents/agent-1.meta.json", "claude-session"),
        ("session/full.jsonl", "claude-session"),
        ("session/transcript.txt", "claude-session"),
        ("stdout.jsonl", "claude-stream"),
        ("stream/claude-code.txt", "claude-stream"),
        ("home/.claude/projects/-workspace/s/tool-results/b1.txt", ""),
        ("session/s/tool-results/b1.txt", ""),
        ("home/.claude/sessions/4702.json", ""),
        ("home/.claude/shell-snapshots/snapshot-bash-1.sh", ""),
        ("stderr.log", ""),
    ],
)
def test_files_are_found_by_their_place(path: str, form: str) -> None:
    found = [each.id for each in FORMATS if any(matches(path, glob) for glob in each.globs)]

    assert found == ([form] if form else [])


def test_a_lone_file_is_found_where_it_is_stored() -> None:
    for form in FORMATS:
        assert any(matches(f"{form.stored_as}/any.name", glob) for glob in form.globs)


# Damage


QUICK = {form.id: of_scenario(HERE / "quick", form)[0][0].read_bytes() for form in FORMATS}

DAMAGE = {
    "cut in the last line": lambda data: data[:-100],
    "no last line end": lambda data: data.rstrip(b"\n"),
    "line ends of Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "bytes that are no UTF-8": lambda data: data.replace(b"solution", b"sol\xff\xfetion"),
    "a zero byte in a line": lambda data: data.replace(b"solution", b"sol\x00tion"),
    "a zero byte on a line": lambda data: b"\x00\n" + data,
    "two rows on a line": lambda data: data.replace(b"}\n{", b"}{", 1),
    "all rows on a line": lambda data: data.replace(b"}\n{", b"}{"),
    "blank lines": lambda data: data.replace(b"\n", b"\n\n  \n"),
    "a banner": lambda data: b"=== container ===\n" + data,
}


@pytest.mark.parametrize("form", FORMATS, ids=[form.id for form in FORMATS])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_keeps_every_line_and_every_call(form: Format, damage: str) -> None:
    events = assert_nothing_is_lost(form, DAMAGE[damage](QUICK[form.id]))

    assert len(of(ToolCall, events)) == 2


@pytest.mark.parametrize("form", FORMATS, ids=[form.id for form in FORMATS])
def test_an_empty_file_has_no_events(form: Format) -> None:
    assert assert_nothing_is_lost(form, b"") == []
    assert assert_nothing_is_lost(form, b"\n  \n") == []


@pytest.mark.parametrize("form", FORMATS, ids=[form.id for form in FORMATS])
def test_a_file_that_is_no_transcript_is_malformed_line_by_line(form: Format) -> None:
    events = assert_nothing_is_lost(form, b"import torch\n\nprint(1)\n[1, 2]\nnull\n")

    assert [event.kind for event in events] == ["malformed"] * 4


KEYS = [
    "agentId", "agent_id", "attachment", "cache_read_input_tokens", "content", "data", "error",
    "id", "input", "input_tokens", "isMeta", "isSidechain", "is_error", "message", "model",
    "modelUsage", "name", "origin", "output_tokens", "parentUuid", "parent_tool_use_id", "params",
    "rendered", "session_id", "sessionId", "shape", "source", "subtype", "task_type", "text",
    "thinking", "timestamp", "toolUseResult", "tool_use_id", "tool_use_result", "tools", "type",
    "usage", "uuid",
]  # fmt: skip
WORDS = [
    "assistant", "user", "system", "result", "attachment", "progress", "cost-state", "init",
    "api-request", "api-request-shape", "agent_progress", "task_started", "local_agent", "text",
    "tool_use", "tool_result", "thinking", "image", "document", "fallback", "Task", "Edit",
    "queued_command", "prompt_snapshot", "file", "api_error", "compact_boundary", "hook_response",
    "rate_limit_event", "stop_hook_summary", "<synthetic>", "base64", "u1", "u2", "",
]  # fmt: skip

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=25,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(WORDS) | VALUES},
        optional={"message": VALUES, "attachment": VALUES, "data": VALUES, "subtype": VALUES},
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=250, deadline=None)
@given(rows=ROWS)
def test_rows_of_any_shape_are_read_by_every_format(rows: list[dict[str, Any]]) -> None:
    data = "\n".join(map(json.dumps, rows)).encode()
    for form in FORMATS:
        assert_nothing_is_lost(form, data)
        form.recognises(rows)


@settings(max_examples=100, deadline=None)
@given(note=st.dictionaries(st.sampled_from([*KEYS, "toolUseId", "spawnDepth"]), VALUES))
def test_notes_of_any_shape_are_read(note: dict[str, Any]) -> None:
    data = io.BytesIO(json.dumps(note).encode())

    assert list(SESSION.parse(lines(data), "session/agent-a1.meta.json"))
