"""The pieces that steps are made of, as HTML: texts, outputs, diffs, results.

They are written here and not in a template because a transcript has tens of thousands of them.
Every text goes through `kbsite.text`, which makes it safe for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from kbsite import text as texts
from kbsite.model.counts import number_of
from kbsite.model.event import Image, ToolResult
from kbsite.model.transcript import DiffLine, FileDiff
from kbsite.pages.echo import Echo, echo_of
from kbsite.pages.facts import count, duration
from kbsite.pages.long_text import WHOLE
from kbsite.text.terminal import inner_terminal

if TYPE_CHECKING:
    from kbsite.pages.parts import Reading

OPEN_LINES, OPEN_CHARACTERS = 20, 4_000
"""Lines and characters of an output that is shown unfolded: one line may fill a dozen screens."""
NEAR_LINES = 3
"""Lines beside a change that are shown unfolded."""
FAR_LINES = 10
"""Unchanged lines beyond those from which they are folded."""
DIFF_LINES = 60
"""Lines that are shown of a diff that is too long for its place."""
_FAILED = " class=tone-bad"
_AS_WRITTEN = " dir=auto"


def long(
    text: str, anchor: str, reading: Reading, *, coloured: bool = False, failed: bool = False
) -> str:
    """A text, whole, or by its ends with a link to the page that holds the whole."""
    shown = inner_terminal if coloured else texts.inner
    return _long(text, anchor, reading, shown, _FAILED if failed else "")


def written(text: str, anchor: str, reading: Reading) -> str:
    """What somebody wrote, as `long`: each of its lines runs as its first letter does."""
    return _long(text, anchor, reading, texts.inner, _AS_WRITTEN, by_somebody=True)


def _long(
    text: str,
    anchor: str,
    reading: Reading,
    shown: Callable[[str], str],
    attributes: str,
    *,
    by_somebody: bool = False,
) -> str:
    ends = reading.overflow.ends(text, anchor, written=by_somebody)
    if ends is None:
        return _pre(shown(text), attributes)
    told = f"… {number_of(ends.left_out, 'more line')}"
    link = f'<a href="{texts.plain(ends.page)}">{told}: open all {count(len(text))} characters</a>'
    return (
        f'{_pre(shown(ends.head), attributes)}\n<p class="left-out">{link}</p>\n'
        f"{_pre(shown(ends.tail), attributes)}"
    )


def _pre(shown: str, attributes: str) -> str:
    # HTML drops a line end right after the tag: one that the text starts with needs another.
    kept = "\n" if shown.startswith(("\n", "\r")) else ""
    return f"<pre{attributes}>{kept}{shown}</pre>"


def prose(text: str, anchor: str, reading: Reading) -> str:
    """What a model wrote, as Markdown; what is too long for its place, as it is."""
    if len(text) > WHOLE:
        return written(text, anchor, reading)
    return texts.markdown(text)


def folded(value: object, label: str, anchor: str, reading: Reading) -> str:
    """A text, or a value as JSON, behind a label of ours; nothing for an empty one."""
    if not value:
        return ""
    text = texts.visible(value if isinstance(value, str) else texts.json(value))
    return f"<details><summary>{label}</summary>{long(text, anchor, reading)}</details>"


def named(name: str, text: str, anchor: str, reading: Reading) -> str:
    """A text behind the name that its call has for it."""
    return _behind(name, text, long(text, anchor, reading))


def described(text: str, anchor: str, reading: Reading) -> str:
    """What a CLI tells of a call: a line as it stands, a longer text folded."""
    if "\n" in text:
        return named("description", text, anchor, reading)
    return f"<p class=dim>{texts.inner(text)}\n"


def plan(name: str, text: str, anchor: str, reading: Reading) -> str:
    """A plan that a model wrote, as Markdown, behind the name that its call has for it."""
    return _behind(name, text, prose(text, anchor, reading), unfolded=_is_short(text))


def _behind(name: str, text: str, body: str, *, unfolded: bool = False) -> str:
    told = f"<summary>{texts.inner(name)}, {lines(text)}</summary>"
    return f"<details{' open' if unfolded else ''}>{told}{body}</details>"


def _counted(change: FileDiff, added: int, removed: int) -> str:
    """How many lines a call added and removed; nothing where nobody knows."""
    if change.action == "unknown" or change.untold:
        return ""
    each = " in each place" if change.everywhere else ""
    return f" <b>+{added}</b> <i>−{removed}</i>{each}"


def diff(change: FileDiff, anchor: str, reading: Reading, *, named: bool = False) -> str:
    """What a call changed in a file; only that it did, where its command says the rest.

    `named` says that the file is named right above.
    """
    path = "" if named else f"<span>{texts.inner(change.path)}</span> "
    shown, added, removed = change.lines, change.added, change.removed
    counted = _counted(change, added, removed)
    head = f"<figure><figcaption>{path}{texts.inner(change.told)}{counted}</figcaption>"
    # Where less stayed than changed, the new text says more by itself.
    if 2 * len(shown) < 3 * (added + removed):
        if change.replayed:
            return f"{head}</figure>"
        if change.anew:
            # What was there before stands further up: what is new can be read without it.
            shown = tuple(line for line in shown if line.sign != "-")
    stretches = list(_stretches(shown))
    ends = reading.overflow.diff_ends(shown, anchor)
    more = ""
    if ends is not None:
        near = [line for far, held in stretches if not far for line in held]
        stretches = [(False, near[:DIFF_LINES])]
        told = f"open all {count(len(shown))} lines of this change"
        more = f'<p class="left-out"><a href="{texts.plain(ends.page)}">{told}</a></p>'
    body = "".join(_stretch(held, far=far) for far, held in stretches)
    return f"{head}\n{body}{more}</figure>"


def _stretches(change: Sequence[DiffLine]) -> Iterator[tuple[bool, list[DiffLine]]]:
    """A diff in stretches of lines that are near a change, and of lines that are far from any."""
    near: list[DiffLine] = []
    runs = [(sign, list(run)) for sign, run in groupby(change, key=itemgetter(0))]
    for number, (sign, run) in enumerate(runs):
        around = [held for held, _ in runs[max(0, number - 1) : number + 2]]
        head = NEAR_LINES if around[0] in ("+", "-") else 0
        tail = NEAR_LINES if around[-1] in ("+", "-") else 0
        if sign != " " or len(run) < head + tail + FAR_LINES:
            near += run
            continue
        yield False, [*near, *run[:head]]
        yield True, run[head : len(run) - tail]
        near = run[len(run) - tail :]
    yield False, near


def _stretch(held: Sequence[DiffLine], *, far: bool) -> str:
    if not held:
        return ""
    shown = f"<pre>{texts.inner_diff(held)}</pre>"
    if not far:
        return shown
    return f"<details><summary>{count(len(held))} lines unchanged</summary>{shown}</details>"


def images(pictures: Sequence[Image], anchor: str, reading: Reading) -> str:
    """Pictures, one after the other; large ones have files of their own."""
    return "".join(_image(held, anchor, reading) for held in pictures)


def _image(held: Image, anchor: str, reading: Reading) -> str:
    if len(held.data) > WHOLE and (found := texts.picture_file(held.media_type, held.data)):
        data, suffix = found
        if address := reading.overflow.picture(data, suffix, anchor):
            return texts.picture_apart(data, address)
    return texts.picture(held.media_type, held.data, held.url)


def result(
    held: ToolResult,
    anchor: str,
    reading: Reading,
    more: Mapping[str, object] | str = "",
    own_anchor: str = "",
    diffs: Sequence[FileDiff] = (),
) -> str:
    """What came back from a call, below its `diffs`; `more` is what the CLI recorded beyond it."""
    place = f" id={texts.plain(own_anchor)}" if own_anchor else ""
    recorded = folded(more, "as the CLI recorded it", anchor, reading)
    echo = echo_of(held.output, diffs) if len(held.output) <= WHOLE else None
    output = _output(held, anchor, reading, place) if echo is None else _echo(held, echo, place)
    return f"{output}{images(held.images, anchor, reading)}{recorded}{_side_files(held, reading)}"


def _output(held: ToolResult, anchor: str, reading: Reading, place: str) -> str:
    text, head = held.output, _head(held)
    if not text:
        number = len(held.images)
        pictures = number_of(number, "image") if number else "no output"
        return f"<p class=dim{place}>{pictures}{head}</p>"
    body = long(text, anchor, reading, coloured=True, failed=_went_wrong(held))
    unfolded = " open" if _is_short(text) else ""
    summary = f"<summary>{lines(text)}{head}</summary>"
    return f"<details{place}{unfolded}>{summary}{body}</details>"


def _went_wrong(held: ToolResult) -> bool:
    """Whether the CLI says so of the call itself; of a command that it asks of, the code does."""
    return held.failed and bool(held.is_error)


def _is_short(text: str) -> bool:
    return len(text) <= OPEN_CHARACTERS and text.count("\n") < OPEN_LINES


def _echo(held: ToolResult, echo: Echo, place: str) -> str:
    """An output without the lines that the diff above it shows."""
    tone = _FAILED if _went_wrong(held) else ""
    after = _pre(inner_terminal(echo.after), tone) if echo.after else ""
    told = f"lines {echo.first} to {echo.last} as changed above"
    return (
        f"<details{place} open><summary>{lines(held.output)}{_head(held)}</summary>"
        f"{_pre(inner_terminal(echo.before), tone)}<p class=dim>{told}\n{after}</details>"
    )


def _head(held: ToolResult) -> str:
    told = []
    if _went_wrong(held):
        told.append(" <span class=tone-bad>✗ error</span>")
    if held.exit_code is not None:
        tone = "tone-bad" if held.exit_code else "tone-good"
        told.append(f" <span class={tone}>exit {held.exit_code}</span>")
    if held.seconds is not None:
        told.append(f" {duration(held.seconds)}")
    return ",".join(["", *told])


def _side_files(held: ToolResult, reading: Reading) -> str:
    told = []
    for name in held.side_files:
        own, shown = reading.side_file(name), texts.inner(name)
        if own is None:
            told.append(f"{shown}, which the run does not hold")
        else:
            told.append(f'<a href="{texts.plain(own)}">{shown}</a>')
    return "".join(f"\n<p class=dim>full output in {place}</p>" for place in told)


def lines(text: str) -> str:
    """How many lines a text has: "12 lines"."""
    number = text.count("\n") + (not text.endswith("\n"))
    return number_of(number, "line")
