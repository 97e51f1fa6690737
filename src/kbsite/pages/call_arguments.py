"""What a call was given, as HTML: in a line, as the points of a plan, as texts and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kbsite import text as texts
from kbsite.model.counts import number_of
from kbsite.model.event import ToolCall, ToolKind
from kbsite.model.transcript import Step
from kbsite.pages import pieces
from kbsite.pages.facts import count
from kbsite.pages.nested_arguments import nested
from kbsite.pages.steps import other_arguments

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

IN_A_LINE = 200
"""Characters of arguments that stand in a line."""


def arguments(step: Step, reading: Reading) -> str:
    """What neither the head nor the diff of a call shows of what it was given."""
    others = other_arguments(step)
    if isinstance(others, str):
        return pieces.long(others, step.anchor, reading) if others else ""
    is_plan = isinstance(step.event, ToolCall) and step.event.tool_kind is ToolKind.PLAN
    if is_plan and (plan := _plan(others)):
        return plan
    written = _written(others)
    rest = {key: value for key, value in others.items() if key not in written}
    as_text = pieces.plan if is_plan else pieces.named
    told = [as_text(key, text, step.anchor, reading) for key, text in written.items()]
    return "".join([_few(rest, step, reading), *told])


def _few(held: Mapping[str, object], step: Step, reading: Reading) -> str:
    """Arguments without those that are shown as they were written; in a line where they fit."""
    description = held.get("description")
    if len(held) == 1 and isinstance(description, str):
        return f"<p class=dim>{texts.inner(description)}\n"
    if told := _in_a_line(held):
        return f"<p class=dim>{texts.inner(told)}\n"
    # Of a command or a file, the head or the diff says what it is about.
    unfolded = isinstance(step.event, ToolCall) and step.event.tool_kind in _ABOUT_ARGUMENTS
    return nested(held, step.anchor, reading, unfolded=unfolded) or pieces.folded(
        held, "arguments", step.anchor, reading
    )


_ABOUT_ARGUMENTS = {ToolKind.AGENT, ToolKind.PLAN, ToolKind.OTHER}
"""Kinds of calls of which nothing but their arguments may say what they are about."""


def _written(held: Mapping[str, object]) -> dict[str, str]:
    """The arguments that are texts of several lines: in JSON, nobody reads them as such."""
    found = {
        key: value
        for key, value in held.items()
        if isinstance(value, str) and "\n" in value.strip() and len(key) <= _LONGEST_NAME
    }
    return found if len(found) <= _MOST_TEXTS else {}


_LONGEST_NAME = 80
"""Characters of the name that a text is shown behind."""
_MOST_TEXTS = 10
"""Texts of a call that are shown by themselves."""


def _in_a_line(held: Mapping[str, object]) -> str:
    """Arguments one after the other; empty where they are no few plain words or numbers."""
    if any(not _is_plain(value) for value in held.values()):
        return ""
    told = ", ".join(f"{key}: {_on_one_line(value)}" for key, value in held.items())
    # A paragraph keeps no line ends, and no blanks beside blanks.
    return told if len(told) <= IN_A_LINE and " ".join(told.split()) == told else ""


def _is_plain(value: object) -> bool:
    """Whether it is a text, a number or the like, or a list of a few, and not long."""
    if isinstance(value, list):
        return len(value) <= _FEW and all(map(_is_word, value))
    return not isinstance(value, Mapping) and not (
        isinstance(value, str) and len(value) > IN_A_LINE
    )


def _is_word(value: object) -> bool:
    if isinstance(value, str):
        return "\n" not in value and len(value) <= IN_A_LINE
    return not isinstance(value, Mapping | list)


_FEW = 5
"""Values of a list that stand in a line."""


def _on_one_line(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(texts.json, value))}]"
    return texts.json(value)


def _plan(held: Mapping[str, object]) -> str:
    """A plan as a list of its points; empty where it is no list of points with a status."""
    lists = [value for value in held.values() if isinstance(value, list)]
    others = [value for value in held.values() if isinstance(value, str) and value]
    if len(lists) != 1 or len(lists) + len(others) != len(held):
        return ""
    points = [_point(entry) for entry in lists[0]]
    if not points or not all(points):
        return ""
    told = "".join(f"<p class=dim>{texts.inner(text)}\n" for text in others)
    return f"{told}{_points(points, lists[0])}\n"


def _points(points: Sequence[str], entries: Sequence[object]) -> str:
    """Points of a plan one below the other; the middle ones of many are folded."""
    if len(points) <= OPEN_POINTS:
        return f"<ul>{''.join(points)}</ul>"
    head, tail = "".join(points[:HEAD_POINTS]), "".join(points[-TAIL_POINTS:])
    middle = slice(HEAD_POINTS, -TAIL_POINTS)
    return (
        f"<ul>{head}</ul><details><summary>{_standing(entries[middle])}</summary>"
        f"<ul>{''.join(points[middle])}</ul></details><ul>{tail}</ul>"
    )


OPEN_POINTS = 30
"""Points of a plan that stand unfolded; of a longer one its first and its last ones do."""
HEAD_POINTS, TAIL_POINTS = 15, 5


def _standing(points: Sequence[object]) -> str:
    """How far points of a plan are: "80 more points: 20 completed, 60 pending"."""
    known = (_status(point) for point in points)
    told = Counter(status if status in (*_SIGNS, "pending") else "other" for status in known)
    each = ", ".join(f"{count(number)} {status}" for status, number in told.items())
    return f"{number_of(len(points), 'more point')}: {each}"


_SIGNS = {"completed": "☑", "done": "☑", "in_progress": "▸", "cancelled": "☒"}
"""What stands before a point of a plan; ☐ for one that is still to be done."""


def _status(point: object) -> str | None:
    """How far a point of a plan is; None for what is none."""
    held = point if isinstance(point, Mapping) else {}
    status, done = held.get("status"), held.get("completed")
    if isinstance(done, bool) and status is None:
        # As the lists of `codex exec` have it.
        return "completed" if done else "pending"
    return status if isinstance(status, str) else None


def _point(entry: object) -> str:
    """A point of a plan, all that it says; empty where it is none."""
    status = _status(entry)
    if status is None or not isinstance(entry, Mapping):
        return ""
    own = "status" if "status" in entry else "completed"
    others = [value for key, value in entry.items() if key != own]
    if not all(isinstance(value, str) for value in others):
        return ""
    words = [texts.inner(value) for value in others if value]
    sign = _SIGNS.get(status, "☐")
    return f"<li>{sign} {texts.inner(status)}: {' · '.join(words)}\n"
