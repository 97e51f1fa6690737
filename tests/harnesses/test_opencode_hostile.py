"""Whatever stands in a file, opencode's parsers never raise and lose no row."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.harnesses.opencode import FORMATS
from tests.harnesses.opencode_rows import EXPORT, printed, read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
PART_TYPES = ["text", "tool", "reasoning", "step-start", "step-finish", "file", "retry", "patch",
              "compaction", "subtask", "new"]  # fmt: skip
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(PART_TYPES) | JSON},
    optional={
        "text": JSON,
        "state": JSON
        | st.fixed_dictionaries(
            {"status": st.sampled_from(["completed", "error", "running", "pending"])},
            optional={"input": JSON, "output": JSON, "metadata": JSON, "time": JSON, "raw": JSON,
                      "error": JSON, "attachments": st.lists(JSON)},
        ),
        "tokens": JSON, "time": JSON, "tool": JSON, "callID": JSON, "error": JSON, "url": JSON,
        "mime": st.just("image/png") | JSON, "id": JSON, "reason": JSON, "cost": JSON,
    },
)  # fmt: skip
INFO = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]) | JSON},
    optional={"time": JSON, "tokens": JSON, "error": JSON, "model": JSON, "summary": JSON,
              "finish": JSON, "system": JSON, "modelID": JSON},
)  # fmt: skip
MESSAGE = JSON | st.fixed_dictionaries({"info": INFO | JSON, "parts": st.lists(PART | JSON) | JSON})


@settings(max_examples=150, deadline=None)
@given(JSON | st.fixed_dictionaries({"info": JSON, "messages": st.lists(MESSAGE) | JSON}))
def test_no_document_whatever_raises_or_loses_a_row(value: Any) -> None:
    events = read(EXPORT, json.dumps(value))
    places = [event.source for event in events]

    assert events
    assert len(set(places)) == len(places)
    assert {source.line for source in places} == set(range(1, max(s.line for s in places) + 1))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["tool_use", "text", "step_finish", "error", "new"]) | JSON},
            optional={"part": PART | JSON, "timestamp": JSON, "sessionID": JSON, "error": JSON},
        )
        | JSON,
        max_size=5,
    )
)
def test_no_row_whatever_raises_or_is_lost(rows: list[Any]) -> None:
    events = printed(*rows)
    places = [event.source for event in events]

    assert {source.line for source in places} == set(range(1, len(rows) + 1))
    assert len(set(places)) == len(places)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_whatever_raise(data: bytes) -> None:
    for form in FORMATS:
        assert bool(read(form, data)) == bool(
            data.decode("utf-8", "replace").strip("\ufeff \r\n\t\x0b\x0c\x1c\x1d\x1e\x1f\x85")
        )


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON, max_size=4))
def test_no_head_whatever_raises(head: list[Any]) -> None:
    for form in FORMATS:
        form.recognises([row for row in head if isinstance(row, dict)])
