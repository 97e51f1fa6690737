"""Each item of a transcript as HTML: what it says, where it leads, and how little that takes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import html5lib
import pytest
from msgspec.structs import replace

from kbsite.fold.steps import Fold
from kbsite.harnesses import tools
from kbsite.model.event import (
    EVENTS,
    UNTOLD,
    AgentStart,
    Edit,
    Event,
    Finish,
    Image,
    Malformed,
    Message,
    Notice,
    Role,
    Scope,
    Session,
    Source,
    Thought,
    TokenUse,
    ToolCall,
    ToolKind,
    ToolResult,
    Topic,
    Trace,
    Unknown,
)
from kbsite.model.usage import Usage
from kbsite.pages.call_arguments import IN_A_LINE
from kbsite.pages.item_row import LOOKED_AT, items
from kbsite.pages.long_text import Overflow
from kbsite.pages.parts import Reading
from kbsite.pages.step_html import finish, item

ELSEWHERE: set[type[Event]] = {TokenUse, AgentStart, Trace}
"""Events that the fold takes up into other steps, or that are only counted."""


def at(line: int) -> Source:
    return Source("session.jsonl", line)


def call(line: int, **more: object) -> ToolCall:
    facts: dict[str, object] = {
        "call_id": "c", "tool": "Bash", "tool_kind": ToolKind.RUN, "arguments": {"command": "ls"},
        "summary": "ls",
    }  # fmt: skip
    return ToolCall(source=at(line), **{**facts, **more})  # type: ignore[arg-type]


def shown(events: Iterable[Event]) -> list[str]:
    """The items that events make, as HTML."""
    fold = Fold()
    for event in events:
        fold.add(event)
    reading = Reading("run", lambda _: None, Overflow())
    return [item(held, reading) for held in items(fold.transcript("f", "F", ("session.jsonl",)))]


def text(html: str) -> str:
    """What a browser shows of it."""
    return "".join(html5lib.parseFragment(html, namespaceHTMLElements=False).itertext())


SAMPLES: dict[type[Event], tuple[Event, str]] = {
    Session: (Session(source=at(1), model="m-1", tools=("Bash",), raw="{}"), "tools: Bash"),
    Message: (Message(source=at(1), role=Role.ASSISTANT, text="**hello**"), "sayshello"),
    Thought: (Thought(source=at(1), text="a\nb"), "thinks 2 lines"),
    ToolCall: (call(1), "no result: the session ended or was interrupted first"),
    ToolResult: (ToolResult(source=at(1), call_id="x", output="o"), "without a call"),
    Notice: (Notice(source=at(1), topic=Topic.RETRY, text="again"), "retry"),
    Finish: (Finish(source=at(1), ok=True, reason="end_turn", turns=3), "end end_turn turns 3"),
    Unknown: (Unknown(source=at(1), type="new", raw='{"a": 1}'), '{"a": 1}'),
    Malformed: (Malformed(source=at(1), text="{cut", reason="no JSON"), "{cut"),
}


def test_every_event_that_becomes_a_step_has_a_sample() -> None:
    assert set(SAMPLES) == set(EVENTS) - ELSEWHERE


@pytest.mark.parametrize("kind", list(SAMPLES), ids=lambda kind: kind.kind)
def test_an_event_is_one_item_with_its_anchor_its_marks_and_what_it_says(kind: type[Event]) -> None:
    event, told = SAMPLES[kind]
    (html,) = shown([event])

    assert html.startswith("<li class=")
    assert "id=L1><a href=#L1>L1</a>" in html
    assert told in text(html)
    assert html.count("<li ") == 1


def test_what_a_model_was_told_of_its_tools_is_folded_as_it_was_written() -> None:
    (html,) = shown([Session(source=at(1), definitions="# Bash\n\nRun <it>.\n")])

    told = "what the model was told of its tools"
    assert f"<details><summary>{told}</summary><pre># Bash\n\nRun &lt;it>.\n</pre>" in html


SAID = Message(source=at(9), role=Role.ASSISTANT, text="Done.")
ASKED = Message(source=at(8), role=Role.USER, text="Go on.")


@pytest.mark.parametrize(
    ("between", "went_on"),
    [
        ((), True),
        ((Malformed(source=at(2), text="{cut", reason="no JSON"),), True),
        ((Message(source=at(2), role=Role.USER, text="a reminder", injected=True),), True),
        ((ASKED,), False),
        ((Session(source=at(2), session_id="another"),), False),
        ((Finish(source=at(2), ok=False, reason="interrupted"),), False),
        ((Notice(source=at(2), topic=Topic.INTERRUPTION, text="stopped"),), False),
        ((Unknown(source=at(2), type="new", raw="{}"),) * LOOKED_AT, False),
    ],
)
def test_of_a_call_without_a_result_it_is_told_whether_the_agent_went_on(
    between: tuple[Event, ...],
    went_on: bool,
) -> None:
    html = text(shown([call(1), *between, SAID])[0])

    assert ("no result in this transcript; the agent went on" in html) is went_on
    assert ("the session ended or was interrupted first" in html) is not went_on


def test_another_call_and_words_of_the_same_line_do_not_say_that_an_agent_went_on() -> None:
    said = Message(source=Source("session.jsonl", 1, 1), role=Role.ASSISTANT, text="Both at once.")
    items_shown = shown([call(1), said, call(2)])

    assert [text(html).count("interrupted first") for html in items_shown] == [1, 0, 1]


def test_a_call_and_its_result_are_one_block_that_both_lines_lead_to() -> None:
    (html,) = shown(
        [call(3), ToolResult(source=at(4), call_id="c", output="a\nb\n", exit_code=2, seconds=3.25)]
    )

    assert '<li class="run is-error" id=L3>' in html
    assert "<details id=L4 open><summary>2 lines" in html
    assert "exit 2" in text(html)
    assert "3.25 s" in text(html)


def test_a_call_that_asks_how_a_command_ended_did_not_fail_with_it() -> None:
    def shown_of(end_of: str) -> str:
        told = ToolResult(
            source=at(4), call_id="c", output="no", is_error=True, exit_code=2, end_of=end_of
        )
        return shown([call(3), told])[0]

    asked = shown_of("c0")
    assert "is-error" not in asked
    assert "tone-bad>exit 2" in asked
    assert "error" not in text(asked)
    assert "is-error" in shown_of("")
    assert "✗ error, exit 2" in text(shown_of(""))


@pytest.mark.parametrize(
    ("seconds", "told", "slow"),
    [(59, None, False), (200, None, True), (200, 3.25, False), (1, 75.0, True)],
)
def test_a_call_that_took_long_by_its_clock_or_its_cli_is_slow_and_says_how_long(
    seconds: int,
    told: float | None,
    slow: bool,
) -> None:
    begun = datetime(2026, 1, 2, tzinfo=UTC)
    over = begun + timedelta(seconds=seconds)
    result = ToolResult(source=at(4), call_id="c", output="a", at=over, seconds=told)
    (html,) = shown([call(3, at=begun), result])

    assert ("is-slow" in html) is slow
    assert ("03:20" in text(html)) is (slow and told is None)


def test_an_edit_that_failed_says_so_and_is_no_edit_of_its_file() -> None:
    def edited(*, failed: bool) -> str:
        asked = call(1, tool_kind=ToolKind.EDIT, edits=(Edit("solution.py", "a", "b"),))
        result = ToolResult(source=at(2), call_id="c", output="no such text", is_error=failed)
        return shown([asked, result])[0]

    assert "is-edit is-solution" in edited(failed=False)
    assert "is-edit" not in edited(failed=True)
    assert "is-solution" not in edited(failed=True)
    assert "update, which failed" in text(edited(failed=True))


def test_a_result_without_output_says_so_at_its_own_line() -> None:
    (html,) = shown([call(3), ToolResult(source=at(4), call_id="c", output="", exit_code=0)])

    assert "<p class=dim id=L4>no output, <span class=tone-good>exit 0</span></p>" in html


@pytest.mark.parametrize(("number", "told"), [(1, "1 image"), (2, "2 images")])
def test_a_result_of_images_alone_is_not_said_to_be_none(number: int, told: str) -> None:
    shot = Image(media_type="image/gif", data=b64encode(b"GIF89a" + bytes(9)).decode())
    result = ToolResult(source=at(4), call_id="c", output="", images=(shot,) * number)
    (html,) = shown([call(3), result])

    assert f"<p class=dim id=L4>{told}</p>" in html
    assert html.count("<img") == number
    assert "no output" not in html


def test_tokens_stand_with_the_step_that_ends_their_message() -> None:
    usage = Usage(input=5, cache_read=1_000, cache_write=200, output=30)
    events = [SAMPLES[Message][0], TokenUse(source=at(2), usage=usage, scope=Scope.MESSAGE)]

    assert "<small>1,205 in, 30 out</small>" in shown(events)[0]


def test_tokens_of_a_sub_agent_stand_apart_from_its_steps() -> None:
    usage = Usage(input=5, output=30)
    agent = call(1, tool="Task", tool_kind=ToolKind.AGENT, summary="look")
    start = AgentStart(source=at(2), child="kid", call_id="c", title="Look")
    said = [Message(source=at(n), role=Role.ASSISTANT, text="done", agent="kid") for n in (3, 4)]
    told = TokenUse(source=at(5), usage=usage, scope=Scope.MESSAGE, agent="kid")
    _, head, *_ = shown([agent, start, *said, told])

    assert text(head).rstrip().endswith("Look kid · 2 steps 5 in, 30 out")


def test_bookkeeping_rows_are_one_line_with_a_place_for_each() -> None:
    rows = [Trace(source=at(n), type=f"t<{n % 2}>", raw="{}") for n in (1, 2, 3)]
    (html,) = shown(rows)

    assert "<i id=L2></i><i id=L3></i>" in html
    assert "3 rows of bookkeeping, lines 1 to 3: t<1>, t<0>" in text(html)


def test_sub_agents_follow_the_call_that_started_them_one_level_deeper() -> None:
    agent = call(1, tool="Task", tool_kind=ToolKind.AGENT, summary="look")
    start = AgentStart(source=at(2), child="kid", call_id="c", title="<Look>")
    said = Message(source=at(3), role=Role.ASSISTANT, text="done", agent="kid")
    first, head, inner = shown([agent, start, said])

    assert "class=agent " in first
    assert 'class="agent is-sub depth-1 opens"' in head
    assert text(head).rstrip().endswith("<Look> kid · 1 step")
    assert 'class="message is-sub depth-1"' in inner


def test_what_lies_far_from_a_change_is_folded_within_its_diff() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 41))
    write = Edit("solution.py", None, before)
    again = Edit("solution.py", None, before.replace("line 20\n", "other\n"))
    made = [call(1, edits=(write,), arguments={}, call_id="a"),
            ToolResult(source=at(2), call_id="a", output="ok"),
            call(3, edits=(again,), arguments={}, call_id="b")]  # fmt: skip
    html = shown(made)[1]

    assert "16 lines unchanged</summary>" in html
    assert "17 lines unchanged</summary>" in html
    assert html.count("<pre>") == 4
    for n in range(1, 41):
        assert f" line {n}\n" in text(html).replace("-line", " line")


@pytest.mark.parametrize(
    "hostile", ["</pre><script>alert(1)</script>", '"><img src=x>', "\x00\u202e"]
)
def test_no_text_of_an_event_becomes_a_tag(hostile: str) -> None:
    edit = Edit(hostile, hostile, f"{hostile}\n{hostile}")
    events: list[Event] = [
        Session(
            source=at(1), model=hostile, cwd=hostile, tools=(hostile,), definitions=hostile,
            raw=hostile,
        ),
        Message(source=at(2), role=Role.ASSISTANT, text=hostile),
        Message(source=at(3), role=Role.USER, text=hostile, injected=True),
        Thought(source=at(4), text=hostile),
        call(5, tool=hostile, summary=hostile, arguments={hostile: hostile}, edits=(edit,)),
        ToolResult(source=at(6), call_id="c", output=hostile, side_files=(hostile,), is_error=True,
                   recorded={hostile: [hostile]}),
        Notice(source=at(7), topic=Topic.ERROR, text=hostile, raw=hostile),
        Unknown(source=at(8), type=hostile, raw=hostile),
        Malformed(source=at(9), text=hostile, reason=hostile),
        Finish(source=at(10), ok=False, reason=hostile, text=hostile, raw=hostile),
    ]  # fmt: skip
    html = "".join(shown(events)) + finish(events[-1])  # type: ignore[arg-type]
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)

    assert not [found.tag for found in tree.iter() if found.tag in ("script", "img")]
    assert "\x00" not in html
    assert "\u202e" not in html


def test_a_plan_is_a_list_of_its_points_with_all_that_they_say() -> None:
    todos = [
        {"content": "read <b>", "status": "completed", "activeForm": "reading"},
        {"content": "write", "status": "in_progress", "activeForm": ""},
        {"content": "check", "status": "pending"},
    ]
    plan = call(1, tool="TodoWrite", tool_kind=ToolKind.PLAN, arguments={"todos": todos})
    done = ToolResult(source=at(2), call_id="c", output="ok",
                      recorded={"newTodos": todos, "oldTodos": []})  # fmt: skip
    (html,) = shown([plan, done])

    assert "<li>☑ completed: read &lt;b> · reading\n<li>▸ in_progress: write\n" in html
    assert "<li>☐ pending: check\n</ul>" in html
    assert "arguments" not in html
    assert "newTodos" not in html


def test_how_a_thought_begins_is_told_where_it_is_folded_and_found_once() -> None:
    thought = Thought(source=at(1), text='\n\n## **Look** at `a_b` <i> "x"\nThen run it.')
    (html,) = shown([thought])
    summary = html5lib.parseFragment(html, namespaceHTMLElements=False).find(".//summary")

    assert summary is not None
    assert summary.get("data-begins") == 'Look at a_b <i> "x"'
    assert "".join(summary.itertext()) == "thinks 4 lines"
    (html,) = shown([replace(thought, text="word " * 99)])
    assert f'data-begins="{"word " * 20}…"' in html


def test_a_plan_of_points_that_are_done_or_not_is_a_list_of_them() -> None:
    points = [{"text": "look", "completed": True}, {"text": "run", "completed": False}]
    plan = call(1, tool="todo_list", tool_kind=ToolKind.PLAN, arguments={"items": points})
    done = ToolResult(source=at(2), call_id="c", output="ok", recorded={"before": [], "at": None})
    (html,) = shown([plan, done])

    assert "<li>☑ completed: look\n<li>☐ pending: run\n</ul>" in html
    assert "as the CLI recorded it" not in html
    said = replace(done, recorded={"before": [], "tried": False})
    assert "as the CLI recorded it" in shown([plan, said])[0]


def test_of_a_long_plan_the_middle_is_folded_and_how_far_it_is_told() -> None:
    done = {False: "pending", True: "completed"}
    todos = [{"content": f"point {n}", "status": done[n < 40]} for n in range(100)]
    todos[50]["status"] = "<i>"
    plan = call(1, tool="TodoWrite", tool_kind=ToolKind.PLAN, arguments={"todos": todos})
    (html,) = shown([plan])
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    rows = ["".join(point.itertext()).strip() for point in tree.iter("li") if not point.get("id")]
    folded = tree.find(".//details")

    assert [row.split()[-1] for row in rows] == [str(n) for n in range(100)]
    assert folded is not None
    assert len(list(folded.iter("li"))) == 80
    assert folded.findtext("summary") == "80 more points: 25 completed, 54 pending, 1 other"
    (short,) = shown([call(1, tool_kind=ToolKind.PLAN, arguments={"todos": todos[:30]})])
    assert "<details" not in short


@pytest.mark.parametrize(
    "arguments",
    [{"todos": [{"content": "no status"}]}, {"todos": [{"status": "done", "n": 1}]},
     {"todos": [{"completed": True, "n": 1}]}, {"todos": [{"completed": "no"}]},
     {"todos": "x  y"}, {"todos": "x" * IN_A_LINE},
     {"a": [{"status": "x"}], "b": [{"status": "x"}]}, {"n": 3, "todos": [{"status": "x"}]}],
)  # fmt: skip
def test_what_is_no_plain_list_of_points_is_shown_as_arguments(arguments: object) -> None:
    (html,) = shown([call(1, tool_kind=ToolKind.PLAN, arguments=arguments, summary="")])

    assert "☐" not in html
    assert "☑" not in html
    assert "<li><b>" in html or "<summary>arguments</summary>" in html


def test_a_plan_without_points_says_that_it_has_none() -> None:
    (html,) = shown([call(1, tool_kind=ToolKind.PLAN, arguments={"todos": []}, summary="")])

    assert "<p class=dim>todos: []" in html


def test_a_few_short_arguments_stand_in_a_line() -> None:
    (html,) = shown([call(1, arguments={"a": '<i> "x"', "n": 3, "of": None}, summary="ls")])

    assert 'a: "<i> \\"x\\"", n: 3, of: null' in text(html)
    assert "<summary>arguments" not in html


def test_what_cursor_writes_is_not_shown_beside_its_diff_once_more() -> None:
    given = {"path": "a.py", "streamContent": "one = 1\n"}
    (html,) = shown([call(1, arguments=given, edits=(Edit("a.py", None, "one = 1\n"),))])

    assert text(html).count("one = 1") == 1
    assert "streamContent" not in html


def test_what_a_cli_tells_of_a_call_beside_its_arguments_is_shown() -> None:
    line, several = shown([call(1, described="<b> in /w"), call(2, described="Runs it.\nOr not.")])

    assert "<p class=dim>&lt;b> in /w" in line
    assert "Runs it.\nOr not." in text(several)
    assert "<summary>description, 2 lines" in several


def test_arguments_of_several_lines_are_shown_as_they_were_written_behind_their_names() -> None:
    prompt = 'Look at "a".\n<b>Then</b> tell.'
    given = {"kind": "explore" * 50, "prompt": prompt, "<i>": "x\ny", "of": "\n"}
    (html,) = shown([call(1, tool_kind=ToolKind.AGENT, arguments=given, summary="s")])
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    folded = {held.findtext("summary"): held for held in tree.iter("details")}

    assert list(folded) == ["arguments", "prompt, 2 lines", "<i>, 2 lines"]
    assert folded["prompt, 2 lines"].findtext("pre") == prompt
    assert '"kind": "explore' in str(folded["arguments"].findtext("pre"))
    assert "Look" not in str(folded["arguments"].findtext("pre"))
    assert not [held for held in folded.values() if "open" in held.attrib]


def test_a_plan_that_is_a_text_is_read_as_markdown() -> None:
    given = {"plan": "# Aim\n\n* be *fast*\n", "allowed": [{"tool": "Bash"}]}
    (html,) = shown([call(1, tool_kind=ToolKind.PLAN, arguments=given, summary="")])

    assert "<details open><summary>plan, 3 lines</summary>" in html
    assert "<em>fast</em>" in html
    assert "allowed: tool: Bash" in text(html)
    long = {"plan": "* a\n" * 40}
    (html,) = shown([call(1, tool_kind=ToolKind.PLAN, arguments=long, summary="")])
    assert "<details><summary>plan, 40 lines</summary>" in html


QUESTION = {
    "question": "Which one?", "header": "<Which>", "several": False,
    "options": [{"label": "true", "why": "It is\n  fast"}, {"label": "B", "why": "two  blanks"}],
}  # fmt: skip
"""What a model asks its user, as most CLIs have it."""


def test_arguments_within_arguments_are_lists_with_each_text_as_it_was_written() -> None:
    asked = tools.call({}, "Ask", {"questions": [QUESTION, QUESTION]}, source=at(1), call_id="c")
    (html,) = shown([asked])
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    told = ["".join(one.itertext()) for one in tree.iter("li") if one.find(".//li") is None]

    assert asked.summary == "Which one? (+1 more)"
    assert "<details" not in html
    assert told[:4] == [
        "question: Which one?",
        "header: <Which>",
        "several: false",
        'label: "true"',
    ]
    assert [one.text for one in tree.iter("pre")] == ["It is\n  fast", "two  blanks"] * 2
    assert len(next(tree.iter("ol")).findall("li")) == 2


def test_arguments_of_a_command_are_folded_though_they_are_few() -> None:
    (html,) = shown([call(1, arguments={"command": "ls", "parsed": {"words": ["ls"]}})])

    assert "<details><summary>arguments</summary><ul><li><b>parsed</b>: <ul>" in html


@pytest.mark.parametrize(
    "given",
    [{"of": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}}, {"of": [{"n": n} for n in range(101)]},
     {"of": [{"text": "x" * 10_001}]}, {"of": {"k" * 10_001: 1}}],
    ids=["deep", "many", "long", "long name"],
)  # fmt: skip
def test_arguments_that_would_be_lists_without_end_are_shown_as_json(given: object) -> None:
    (html,) = shown([call(1, arguments=given, tool_kind=ToolKind.OTHER)])

    assert "<details><summary>arguments</summary><pre>{" in html


@pytest.mark.parametrize("given", [{f"key-{n}": "a\nb" for n in range(11)}, {"k" * 81: "a\nb"}])
def test_what_would_fill_a_page_with_names_is_shown_as_json(given: dict[str, object]) -> None:
    (html,) = shown([call(1, arguments=given, summary="s")])

    assert "line" not in text(html)
    assert "a\\nb" in text(html)


def test_code_that_a_tool_runs_is_shown_like_a_command() -> None:
    code = "import a\nprint(a)"
    asked = tools.call(
        {"python": ToolKind.RUN}, "python", {"code": code}, source=at(1), call_id="c"
    )
    (html,) = shown([asked])

    assert "<i>python</i> <code>import a</code>" in html
    assert f"<pre>{code}</pre>" in html
    assert "<details" not in html


def test_a_file_that_a_shell_command_writes_anew_is_shown_once() -> None:
    def wrote(line: int, text: str) -> list[Event]:
        script = f"cat > solution.py <<'EOF'\n{text}EOF"
        asked = call(line, call_id=str(line), arguments={"command": script}, summary="cat")
        return [asked, ToolResult(source=at(line + 1), call_id=str(line), output="", exit_code=0)]

    session = Session(source=at(1), cwd="/w")
    lines = "".join(f"line {n}\n" for n in range(12))
    rewritten = "".join(f"row {n}\n" for n in range(12))
    made = [session, *wrote(2, lines), *wrote(4, lines.replace("6", "six")), *wrote(6, rewritten)]
    first, mended, anew = shown(made)[1:]

    for html in (first, anew):
        assert "replayed from the shell command" in html
        assert "<ins>" not in html
    assert "+line <b>six</b>" in mended
    assert text(first).count("line 3\n") == 1
    assert text(anew).count("row 3\n") == 1


def test_of_a_file_that_is_not_known_any_more_no_lines_are_counted() -> None:
    made = Edit(path="/w/a.py", old=None, new="a\n")
    [*_, ran] = shown([
        Session(source=at(1), cwd="/w"), call(2, call_id="made", edits=(made,)),
        ToolResult(source=at(3), call_id="made", output=""),
        call(4, arguments={"command": "git checkout ."}),
        ToolResult(source=at(5), call_id="c", output=""),
    ])  # fmt: skip

    assert "unknown from here on" in text(ran)
    assert "+0" not in text(ran)


def test_an_output_that_repeats_lines_of_its_diff_says_which_and_nothing_twice() -> None:
    def edited(told: str) -> str:
        edit = Edit("kernel.py", "b\n<c>\nd\ne", "B\n<c>\nd\ne\nf")
        asked = call(1, arguments={}, tool_kind=ToolKind.EDIT, edits=(edit,))
        return shown([asked, ToolResult(source=at(2), call_id="c", output=told)])[0]

    def numbered(lines: str) -> str:
        return "\n".join(f"{n:6d}→{line}" for n, line in enumerate(lines.split(), 9))

    repeats = edited(f"Done. The file is now:\n{numbered('a B <c> d e f')}\n    15→g\nFine?")
    others = [numbered("a B <c> d x f"), numbered("B <c>"), numbered("B <c> d e f")[2:],
              numbered("B <c> d e f").replace("    11", "    21")]  # fmt: skip

    assert "Done. The file is now:\n     9→a" in text(repeats)
    assert "lines 10 to 14 as changed above" in text(repeats)
    assert "    15→g\nFine?" in text(repeats)
    assert "10→" not in text(repeats)
    assert "9 lines" in text(repeats)
    for told in others:
        assert f"now:\n{told}" in text(edited(f"now:\n{told}"))


def test_of_a_change_whose_text_nobody_tells_no_lines_are_counted() -> None:
    edits = (Edit("a.py", None, "", patch=UNTOLD), Edit("b.py", None, "", action="delete"))
    [html] = shown([call(1, edits=edits), ToolResult(source=at(2), call_id="c", output="")])

    assert "update, of which the CLI does not tell the text" in text(html)
    assert "delete, of which the CLI does not tell the text" in text(html)
    assert "+0" not in text(html)


def test_a_file_that_is_written_anew_is_shown_without_what_was_there_before() -> None:
    def wrote(line: int, text: str) -> list[Event]:
        edit = Edit("a.py", None, text)
        asked = call(line, call_id=str(line), arguments={"content": text}, edits=(edit,))
        return [asked, ToolResult(source=at(line + 1), call_id=str(line), output="")]

    old = "".join(f"line {n}\n" for n in range(12))
    new = "".join(f"row {n}\n" for n in range(9)) + "line 11\n"
    _, anew, mended = shown([*wrote(1, old), *wrote(3, new), *wrote(5, new.replace("8", "eight"))])

    assert "<b>+9</b> <i>−11</i>" in anew
    assert "<del>" not in anew
    assert "+row 8\n line 11\n" in text(anew)
    assert "arguments" not in anew
    assert "-row 8\n" in text(mended)


def test_lines_of_a_change_in_every_place_are_told_of_each_where_nobody_knows_how_many() -> None:
    edit = Edit("a.py", "x = 1\n", "", every=True)
    asked = call(1, call_id="1", arguments={"file_path": "a.py"}, edits=(edit,))
    [unknown] = shown([asked, ToolResult(source=at(2), call_id="1", output="")])

    assert "<b>+0</b> <i>−1</i> in each place" in unknown
