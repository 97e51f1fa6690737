"""What the run's page is told to get around: pages as scripts, tools and agents, axes, pauses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kbsite.fold.clock import seconds_behind
from kbsite.model.event import Message, Role, Source, ToolCall, ToolKind, ToolResult, Trace
from kbsite.model.transcript import AgentLog, Step
from kbsite.model.usage import Usage
from kbsite.pages import step_html
from kbsite.pages.axes import Axes
from kbsite.pages.filters import MOST, InPart, Named, filters
from kbsite.pages.item_row import MOST_ROWS, items
from kbsite.pages.long_text import Overflow
from kbsite.pages.minimap import LEAST, minimap
from kbsite.pages.parts import Part, Reading
from kbsite.pages.pauses import with_pauses
from kbsite.pages.readable import readable
from kbsite.pages.steps import Item
from kbsite.text import plain
from tests.fold.making import folded

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def said(line: int, at: float | None = None, **more: object) -> Step:
    when = None if at is None else START + timedelta(seconds=at)
    event = Message(source=Source("s.jsonl", line), at=when, role=Role.ASSISTANT, text="hello")
    return Step(event=event, anchor=f"L{line}", elapsed=at, **more)  # type: ignore[arg-type]


def called(line: int, tool: str, at: float = 0.0, took: float = 0.0) -> Step:
    when = START + timedelta(seconds=at)
    call = ToolCall(
        source=Source("s.jsonl", line), at=when, call_id="c", tool=tool,
        tool_kind=ToolKind.RUN, arguments={}, summary="",
    )  # fmt: skip
    result = ToolResult(
        source=Source("s.jsonl", line + 1), at=when + timedelta(seconds=took), call_id="c",
        output="", is_error=False,
    )  # fmt: skip
    return Step(event=call, anchor=f"L{line}", elapsed=at, result=result)


def item(step: Step, depth: int = 0, pause: float = 0.0) -> Item:
    return Item(anchor=step.anchor, depth=depth, agent="", step=step, pause=pause)


def opening(anchor: str, title: str, depth: int) -> Item:
    log = AgentLog(id=anchor.removeprefix("agent-"), title=title, steps=(), usage=Usage())
    return Item(anchor=anchor, depth=depth, agent=title, opens=log)


# Pages as scripts ------------------------------------------------------------------------------


def script_of(page: str) -> str:
    """The text that the page's script hands on, by the rules of a comment."""
    head, _, rest = page.partition("kbsite(function(){/*")
    assert head.startswith("<!--")
    assert head.count("\n") == 1
    text, _, end = rest.partition("*/")
    assert end == "})\n-->\n"
    return text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])) | st.text("`*/${}\\<>!-\n"))
def test_a_readable_page_shows_the_same_and_its_script_holds_only_text(text: str) -> None:
    shown = str(plain(text))
    html = f'<!doctype html><html><body title="{shown}"><p>{shown}</p></body></html>'
    page = readable(html)
    held = script_of(page)

    assert held.count("<p>") == 1
    body = html5lib.parse(page, namespaceHTMLElements=False).find("body")
    assert body.get("title") == html5lib.parse(html, namespaceHTMLElements=False).find("body").get(
        "title"
    )
    assert (
        body.find("p").text == html5lib.parse(html, namespaceHTMLElements=False).find(".//p").text
    )


def test_a_readable_page_is_no_page_of_quirks() -> None:
    parser = html5lib.HTMLParser()
    parser.parse(readable("<!doctype html><html><title>x</title><body>x</body></html>"))

    assert parser.tree.document is not None
    assert parser.compatMode == "no quirks"


# Tools and agents ------------------------------------------------------------------------------


def test_tools_and_agents_are_counted_for_all_and_for_each_part() -> None:
    first = Part(1, 1, [item(called(1, "Bash")), item(called(3, "Read")), item(called(5, "Bash"))])
    second = Part(2, 4, [
        opening("agent-L7", "look", 1), item(said(8), 1), opening("agent-L8", "deeper", 2),
        item(called(9, "Read"), 2),
    ])  # fmt: skip
    third = Part(3, 8, [item(said(20), 2), item(said(21), 1), item(said(22))])
    held = filters([first, second, third])

    assert held.tools == (Named("1", "Bash", 2), Named("2", "Read", 2))
    assert held.agents == (
        Named("main", "main", 4), Named("agent-L7", "look", 3), Named("agent-L8", "deeper", 3),
    )  # fmt: skip
    assert held.parts == (
        InPart("1:2 2:1", "main:3", ""),
        InPart("2:1", "agent-L7:2 agent-L8:2", ""),
        # In one order, whatever comes first: the many of a page weigh less so.
        InPart("", "main:1 agent-L7:1 agent-L8:1", "agent-L7 agent-L8"),
    )


def test_agents_with_one_title_are_told_apart_by_their_ids() -> None:
    part = Part(1, 1, [
        item(said(1)), opening("agent-L7", "", 1), opening("agent-L8", "", 1),
        opening("agent-L9", "look", 1),
    ])  # fmt: skip
    titles = [one.title for one in filters([part]).agents]

    assert titles == ["main", "sub-agent L7", "sub-agent L8", "look"]


def test_lanes_of_agents_with_one_title_are_told_apart_by_their_ids() -> None:
    heads = [opening(f"agent-L{line}", "sub-agent", 1) for line in (7, 8)]
    told = [replace(head, agent=head.opens.id) for head in heads if head.opens]
    own = [item(said(line)) for line in range(LEAST)]
    drawn = minimap([Part(1, 1, [*own, *told])], {}, Usage())

    assert drawn is not None
    assert [lane.title for lane in drawn.lanes] == ["main", "sub-agent L7", "sub-agent L8"]


def test_of_very_many_tools_and_agents_those_with_the_most_items_are_offered() -> None:
    calls = [item(called(line, f"tool-{line}")) for line in range(1, MOST + 3)]
    heads = [opening(f"agent-L{line}", "look", 1) for line in range(1, MOST + 3)]
    again = [opening(f"agent-L{MOST + 2}", "look", 1), item(called(9_000, f"tool-{MOST + 2}"), 1)]
    held = filters([Part(1, 1, [*calls, *heads, *again])])

    assert (len(held.tools), held.more_tools) == (MOST, 2)
    assert held.tools[-1] == Named(str(MOST), f"tool-{MOST + 2}", 2)
    assert held.agents[0] == Named("main", "main", MOST + 2)
    assert (len(held.agents), held.more_agents) == (MOST, 3)
    assert held.agents[-1].key == f"agent-L{MOST + 2}"
    assert f" {MOST}:2" in held.parts[0].tools
    assert len(held.parts[0].tools.split()) == len(held.parts[0].agents.split()) == MOST


def test_a_transcript_without_calls_has_no_tools() -> None:
    held = filters([Part(1, 1, [item(said(1))])])

    assert held.tools == ()
    assert held.agents == (Named("main", "main", 1),)


# Pauses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "end"),
    [
        (said(1), None),
        (said(1, 5.0), 5.0),
        (called(1, "Bash", 5.0, 7.0), 12.0),
        (called(1, "Bash", 5.0, -7.0), 5.0),
    ],
)
def test_a_step_ends_with_its_result(step: Step, end: float | None) -> None:
    assert step.ended == end


def test_a_pause_counts_from_the_end_of_all_that_was_before() -> None:
    steps = [said(1, 0.0), called(2, "Bash", 10.0, 500.0), said(4, 300.0), said(5), said(6, 600.0)]

    assert pauses(steps) == [0.0, 0.0, 0.0, 0.0, 90.0]


def pauses(steps: list[Step]) -> list[float]:
    """The pauses before steps whose seconds are those of their rows' clock."""
    told = zip(steps, seconds_behind(steps)[0], strict=True)
    held = [replace(s, elapsed=(s.elapsed or 0.0) + b, behind=b) if b else s for s, b in told]
    return [pause for _, pause in with_pauses(held)]


def test_a_clock_that_is_set_back_is_told_once() -> None:
    steps = [said(1, 0.0), said(2, 100.0), said(3, 40.0), said(4, 45.0), said(5, 90.0)]

    assert pauses(steps) == [0.0, 100.0, -60.0, 0.0, 0.0]
    reading = Reading("run", lambda _: None, Overflow())
    back, pause = (step_html.item(item(steps[2], pause=told), reading) for told in (-60.0, 60.5))
    assert ('data-back="01:00"' in back, "data-pause" in back) == (True, False)
    assert ("data-back" in pause, 'data-pause="01:00"' in pause) == (False, True)


def test_a_row_that_was_written_late_sets_no_clock_back() -> None:
    late = [said(1, 0.0), said(2, 50.0), said(3, 20.0), said(4, 51.0), said(5, 52.0)]
    asked = [said(1, 0.0), called(2, "Bash", 50.0, 1.0), queued(4, 20.0), queued(5, 21.0)]
    other = replace(said(3, 20.0), event=replace(said(3, 20.0).event, source=Source("t.jsonl", 1)))
    files = [said(1, 0.0), said(2, 50.0), other, replace(other, elapsed=21.0)]
    little = [said(1, 0.0), said(2, 50.0), said(3, 41.0), said(4, 42.0)]
    last = [said(1, 0.0), said(2, 50.0), said(3, 1.0)]

    for steps in (late, asked, files, little, last):
        assert all(pause >= 0 for pause in pauses(steps))


def queued(line: int, at: float) -> Step:
    step = said(line, at)
    return replace(step, event=replace(step.event, injected=True))


def test_a_minute_is_no_pause_yet() -> None:
    assert pauses([said(1, 0.0), said(2, 60.0)]) == [0.0, 0.0]
    assert pauses([said(1, 0.0), said(2, 60.5)]) == [0.0, 60.5]


def test_a_clock_that_was_ahead_hides_no_pause() -> None:
    ahead = [said(1, 50_000.0), said(2, 0.0), said(3, 1.0), said(4, 40_001.0), said(5, 50_100.0)]

    assert pauses(ahead) == [0.0, -50_000.0, 0.0, 40_000.0, 10_099.0]


def test_a_clock_that_was_late_makes_no_pause() -> None:
    late = [said(1, 1000.0), said(2, 10.0), said(3, 1001.0), said(4, 1002.0)]

    assert pauses(late) == [0.0, 0.0, 0.0, 0.0]


def test_steps_out_of_their_order_are_told_of_one_pause_once() -> None:
    steps = [said(1, 0.0), said(2, 100.0), said(3, 99.0), said(4, 200.0)]

    assert pauses(steps) == [0.0, 100.0, 0.0, 100.0]


@pytest.mark.parametrize("step", [-100, 100])
def test_only_so_many_steps_are_remembered_for_pauses(step: int) -> None:
    steps = [said(number, float(step * number)) for number in range(5000)]
    told = pauses([*steps, said(5000, float(step * 5000))])

    assert told == [0.0, *[max(0.0, float(step))] * 5000]


# Axes --------------------------------------------------------------------------------------------


def test_marks_stand_on_the_axes_where_their_steps_begin_and_end() -> None:
    axes = Axes()
    axes.add(item(said(1, 0.0, usage=Usage(input=60, output=40))), "", 0)
    axes.add(item(called(2, "Bash", 10.0, 15.0)), "", 0)
    axes.add(item(said(4, 50.0, usage=Usage(input=200, cache_read=50, output=50))), "a", 1)
    axes.add(item(said(5, 100.0), pause=75.0), "", 1)

    assert axes.time("", [0, 1]) == "0-250 1000-1000"
    assert axes.time("a", [1]) == "500-500"
    assert axes.spent("", [0, 1]) == "0-250 1000-1000"
    assert axes.spent("a", [1]) == "250-1000"
    assert axes.pauses("") == "250-1000"
    assert axes.pauses("a") == ""
    assert (axes.time_end, axes.tokens_end) == ("01:40", "400 tokens")


def test_the_axis_of_tokens_says_how_many_its_steps_do_not_tell_of() -> None:
    axes = Axes(whole=2_500_000)
    axes.add(item(said(1, 0.0, usage=Usage(input=60, output=40))), "", 0)

    assert axes.tokens_end == "100 of 2,500,000 tokens"


def test_a_step_without_a_time_stands_where_the_one_before_ends() -> None:
    axes = Axes()
    axes.add(item(said(1, 50.0)), "", 0)
    axes.add(item(said(2)), "", 1)
    axes.add(item(said(3, 100.0)), "", 2)

    assert axes.time("", [0, 1, 2]) == "500-500 500-500 1000-1000"


def test_what_nothing_tells_is_no_axis() -> None:
    axes = Axes()
    axes.add(item(said(1)), "", 0)
    rows = (said(2), said(3))
    axes.add(Item(anchor="L2", depth=0, agent="", rows=rows), "", 1)

    assert axes.time("", [0, 1]) == ""
    assert axes.spent("", [0, 1]) == ""


def test_bookkeeping_is_split_at_a_pause() -> None:
    rows = [
        Trace(source=Source("s", n), at=START + timedelta(seconds=at), type="x", raw="{}")
        for n, at in [(1, 0), (2, 1), (3, 200), (4, 201)]
    ]
    held = [(one.anchor, len(one.rows), one.pause) for one in items(folded(*rows))]

    assert held == [("L1", 2, 0.0), ("L3", 2, 199.0)]


def test_an_item_of_bookkeeping_has_few_rows() -> None:
    rows = [Trace(source=Source("s", n), type="x", raw="{}") for n in range(1, 2 * MOST_ROWS + 2)]
    held = [(one.anchor, len(one.rows)) for one in items(folded(*rows))]

    assert held == [
        ("L1", MOST_ROWS),
        (f"L{MOST_ROWS + 1}", MOST_ROWS),
        (f"L{2 * MOST_ROWS + 1}", 1),
    ]
