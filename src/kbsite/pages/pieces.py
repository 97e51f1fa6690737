"""The pieces that steps are made of, as HTML: texts, outputs, diffs, results.

They are written here and not in a template because a transcript has tens of thousands of them.
Every text goes through `kbsite.text`, which makes it safe for a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from kbsite import text as texts
from kbsite.model.event import Image, ToolResult
from kbsite.model.transcript import DiffLine, FileDiff
from kbsite.pages.facts import count, duration
from kbsite.pages.long_text import WHOLE

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

OPEN_LINES = 20
"""Lines of an output that is shown unfolded."""
DIFF_LINES = 60
"""Lines that are shown of a diff that is too long for its place."""


def long(
    text: str, anchor: str, reading: Reading, *, coloured: bool = False, failed: bool = False
) -> Markup:
    """A text, whole, or by its ends with a link to the page that holds the whole."""
    shown = texts.terminal if coloured else texts.content
    # The line end after the tag is HTML's own: it keeps one that the text starts with.
    opened = '<pre class="text tone-bad">\n' if failed else '<pre class="text">\n'
    ends = reading.long_texts.ends(text, anchor)
    if ends is None:
        return _html(f"{opened}{shown(text)}</pre>")
    told = f"… {count(ends.left_out)} more {_lines(ends.left_out)}"
    link = f'<a href="{texts.plain(ends.page)}">{told}: open all {count(len(text))} characters</a>'
    return _html(
        f'{opened}{shown(ends.head)}</pre>\n<p class="left-out">{link}</p>\n'
        f"{opened}{shown(ends.tail)}</pre>"
    )


def prose(text: str, anchor: str, reading: Reading) -> Markup:
    """What a model wrote, as Markdown; what is too long for its place, as it is."""
    if len(text) > WHOLE:
        return long(text, anchor, reading)
    return _html(f'<div class="md">{texts.markdown(text)}</div>')


def folded(value: object, label: str, anchor: str, reading: Reading) -> Markup:
    """A text, or a value as JSON, behind a label of ours; nothing for an empty one."""
    if not value:
        return _html("")
    text = texts.visible(value if isinstance(value, str) else texts.json(value))
    body = long(text, anchor, reading)
    return _html(f'<details class="raw"><summary>{label}</summary>{body}</details>')


def diff(change: FileDiff, anchor: str, reading: Reading) -> Markup:
    """What a call changed in a file."""
    ends = reading.long_texts.diff_ends(change.lines, anchor)
    shown: Sequence[DiffLine] = change.lines if ends is None else change.lines[:DIFF_LINES]
    more = ""
    if ends is not None:
        told = f"open all {count(len(change.lines))} lines of this change"
        more = f'<p class="left-out"><a href="{texts.plain(ends.page)}">{told}</a></p>'
    return _html(
        f'<figure class="diff"><figcaption>{texts.content(change.path)}'
        f' <span class="dim">{texts.content(change.action)}</span>'
        f' <span class="tone-good">+{change.added}</span>'
        f' <span class="tone-bad">−{change.removed}</span></figcaption>\n'
        f"<pre>{texts.diff(shown)}</pre>\n{more}</figure>\n"
    )


def images(pictures: Sequence[Image]) -> Markup:
    """Pictures, one after the other."""
    return _html("".join(texts.picture(held.media_type, held.data, held.url) for held in pictures))


def result(
    held: ToolResult,
    anchor: str,
    reading: Reading,
    more: Mapping[str, object] | str = "",
    own_anchor: str = "",
) -> Markup:
    """What came back from a call; `more` is what the CLI recorded beyond it."""
    place = f' id="{texts.plain(own_anchor)}"' if own_anchor else ""
    recorded = folded(more, "as the CLI recorded it", anchor, reading)
    return _html(
        f'<div class="result"{place}>\n{_head(held)}{_output(held, anchor, reading)}'
        f"{images(held.images)}{recorded}{_side_files(held, reading)}\n</div>"
    )


def _head(held: ToolResult) -> str:
    told = []
    if held.is_error:
        told.append('<span class="tone-bad">✗ error</span>')
    if held.exit_code is not None:
        tone = "tone-bad" if held.exit_code else "tone-good"
        told.append(f'<span class="{tone}">exit {held.exit_code}</span>')
    if held.seconds is not None:
        told.append(f'<span class="dim">{duration(held.seconds)}</span>')
    return f'<p class="result-head">{" ".join(told)}</p>\n' if told else ""


def _output(held: ToolResult, anchor: str, reading: Reading) -> str:
    text = held.output
    if not text:
        return '<p class="dim">no output</p>'
    lines = text.count("\n") + (not text.endswith("\n"))
    unfolded = " open" if lines <= OPEN_LINES else ""
    body = long(text, anchor, reading, coloured=True, failed=bool(held.is_error))
    told = f"{count(lines)} {_lines(lines)}"
    return f'<details class="output"{unfolded}><summary>{told}</summary>{body}</details>'


def _side_files(held: ToolResult, reading: Reading) -> str:
    told = []
    for name in held.side_files:
        own, shown = reading.side_file(name), texts.content(name)
        if own is None:
            told.append(f"{shown}, which the run does not hold")
        else:
            told.append(f'<a href="{texts.plain(own)}">{shown}</a>')
    return "".join(f'\n<p class="dim">full output in {place}</p>' for place in told)


def _lines(number: int) -> str:
    return "line" if number == 1 else "lines"


def _html(pieces: str) -> Markup:
    return Markup(pieces)  # noqa: S704 - each piece is of ours, or of kbsite.text
