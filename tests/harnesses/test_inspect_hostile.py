"""What a log of Inspect's costs hangs on its size, however often it names the same thing."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kbsite.harnesses.inspect import archive
from kbsite.harnesses.inspect.parts import Unseen, beyond
from kbsite.model.event import AgentStart, Message, Notice
from tests.harnesses.reading import of
from tests.harnesses.test_inspect import said, sample, told
from tests.harnesses.test_inspect_agents import model, span, spoken, tool

LONG = "y" * 100_000


def test_sub_agents_of_one_name_are_numbered_in_the_time_of_as_many_others() -> None:
    spans = [span("twin", "t", "agent", f"s{number}") for number in range(8000)]
    before = time.process_time()
    events = told(sample(events=[span("t"), tool("c"), *spans]))

    assert time.process_time() - before < 2, "every name was tried anew for each: four seconds"
    assert [start.child for start in of(AgentStart, events)][::7999] == ["twin", "twin 8000"]


def test_a_message_of_many_parts_is_compared_with_what_became_of_it_part_by_part() -> None:
    parts = [{"type": "text", "text": f"p{number}"} for number in range(4000)]
    given = {f"k{number}": f"v{number}" for number in range(4000)}
    call = {"id": "c", "function": "submit", "arguments": given}
    answer = said("assistant", parts, id="m", tool_calls=[call])
    before = time.process_time()
    events = told(
        sample(said("assistant", "p7\n\nv3999", id="m"), events=[model("", answer=answer)])
    )

    assert time.process_time() - before < 2, "each part was put before each argument: ten seconds"
    assert "p7\n\nv3999" not in [text for _, text in spoken(events)], "it says nothing more"


@pytest.mark.parametrize("where", ["messages", "info", "answers"])
def test_a_long_text_is_shown_in_so_many_places_and_named_in_the_others(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(archive, "MEMBER_BYTES", 3 * len(LONG))
    refer = [said("user", ["attachment://a", str(number)]) for number in range(9)]
    info = [{"event": "info", "data": "attachment://a"} for _ in range(9)]
    made: dict[str, Any] = {
        "messages": sample(*refer),
        "info": sample(events=info),
        "answers": sample(
            *(said("assistant", str(number), id="m") for number in range(9)),
            events=[model("", answer=said("assistant", "attachment://a", id="m"))],
        ),
    }
    events = told(made[where] | {"attachments": {"a": LONG}})
    shown = [m.text for m in of(Message, events)] + [n.text for n in of(Notice, events)]

    assert 2 <= shown.count(LONG) <= 3
    assert where == "answers" or shown.count("attachment://a") == 6
    assert any(f"only {3 * len(LONG)} signs" in text for text in shown) or where == "answers"


def test_the_same_text_is_the_same_whether_it_stands_there_or_is_referred_to() -> None:
    call = model("", said("user", "attachment://a"), said("user", LONG + "!"))
    events = told(sample(said("user", LONG), events=[call], attachments={"a": LONG}))

    assert [text for _, text in spoken(events)] == [LONG, LONG + "!"]


def test_indices_are_met_once() -> None:
    unseen = Unseen()

    assert [*unseen.within(2, 5)] == [2, 3, 4]
    assert [*unseen.within(0, 7)] == [0, 1, 5, 6]
    assert [*unseen.within(1, 6)] == []
    assert [*unseen.within(6, 9)] == [7, 8]


@pytest.mark.parametrize(
    ("now", "before", "more"),
    [
        ([(0, 3)], [], [(0, 3)]),
        ([(0, 5)], [(0, 3)], [(3, 5)]),
        ([(0, 5), (7, 8)], [(0, 3)], [(3, 5), (7, 8)]),
        ([(0, 1), (2, 4)], [(0, 1), (2, 3)], [(3, 4)]),
        ([(0, 2)], [(0, 3)], None),
        ([(1, 3)], [(0, 3)], None),
        ([(0, 9)], [(0, 1), (2, 3)], None),
        ([(0, 2), (2, 4)], [(0, 1), (2, 3)], None),
    ],
)
def test_what_goes_on_is_known_by_how_it_begins(now: Any, before: Any, more: Any) -> None:
    assert beyond(now, before) == more
