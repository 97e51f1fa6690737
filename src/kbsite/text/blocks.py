"""The blocks of a Markdown text that need no parser, told from all else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from kbsite.late import late

_ODD = late(
    r"[^ -~\n\u00a1-\u00ac\u00ae-\u02ff\u0370-\u058f\u2010-\u2015\u2018-\u2026\u2190-\u22ff"
    r"\u2500-\u27bf\u3001-\u30ff\u4e00-\u9fff\uac00-\ud7a3\ufe0f\uff01-\uff5e"
    r"\U0001f300-\U0001faff]"
)
"""All but ASCII, and beyond it letters and signs that have no meaning of their own, nor are blanks.

What holds none of it is ASCII to the patterns below, or has no meaning: they name what they exclude
and are compiled in a sixth of the time.
"""
_CHARACTER = r"[^\x00-\x1f&*<\\\]_`|~\x7f]"
"""What has no meaning of its own wherever it stands in a line, save its start and its end."""
_START = r"[^\x00-!#-&)-@\\-`{-\x7f]"
"""What has none at its start either: a letter, a quote or a bracket that opens."""
_NO_LINK = r"\](?!\()|\]\((?=[a-gi-ln-zA-GI-LN-Z0-9/.#])"
"""The end of brackets that link nothing, or what the parser takes for no address: a link's starts
with http or mailto."""
_BETWEEN = rf"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|{_NO_LINK}|(?<!~)~(?!~)"
"""What has none where it stands: no emphasis, no link, nothing struck out."""

_OF_CODE = r"[^\x00- \\`\x7f]"
_CODED = rf"{_OF_CODE}(?:[^\x00-\x1f\\`\x7f]*{_OF_CODE})?"
_CODE = rf"`({_CODED})`"
_OPENS = r"(?=[A-Za-z0-9])|(?<![^ \n]\*\*)(?! )"
_CLOSES = r"(?<=[A-Za-z0-9])|(?<! )(?=\*\*(?:[ ,.:;)\n]|\Z))"
"""Where stars leave no doubt that strong words start and end: beside a letter, or behind and before
what parts words."""
_STRONG = rf"\*\*((?:{_OPENS})(?>{_CHARACTER}+|{_BETWEEN}|`{_CODED}`(?!`))+(?:{_CLOSES}))\*\*"
_MARKS = re.compile(f"{_STRONG}|{_CODE}")
"""Strong words and code: the first group or the second."""

_MARK = rf"(?:{_STRONG}|{_CODE})(?![`*])"
_WORDS = rf"(?>{_CHARACTER}+|{_BETWEEN}|{_MARK})*(?<! )"
_SIMPLE = re.compile(rf"(?>{_START}|{_MARK}){_WORDS}")
"""A line of a paragraph that holds nothing but words, strong ones and code."""
_WITHIN = re.compile(rf"(?! ){_WORDS}")
"""The same within a block, such as a cell: where it may start with anything that has no meaning."""

_FENCE = re.compile(r"```([A-Za-z0-9+#.-]*)")


_NUMBER = re.compile(r"[0-9]{1,9}\. ")
_HEADING = re.compile(r"(#{1,6}) (?! )(.*)(?<![# ])")
_RULE = re.compile(r"\|(?: *(?:-+|:-+|-+:|:-+:) *\|)+")
"""The line below the head of a table."""
_GOES_ON = frozenset(" \t-+*0123456789")
"""What a line starts with that may go on with a list, or with what stands in it."""


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of a text as blocks that need no parser, each with its kind, and else ("").

    The kinds are paragraphs ("p"), lists ("-" and "1."), headings ("#"), tables ("|") and fenced
    code ("```"), all of simple lines. Most that models write is of these, and what stands between
    two of them means the same wherever it stands. Blank lines stand within the last two ("```" and
    "") and between the items of a list that is set wide.
    """
    lines = text.split("\n")
    rest, at = [], 0
    if "\r" in text:
        rest, at = [text], len(lines)
    while at < len(lines):
        kind, end = _block(lines, at)
        if kind in _LISTS and rest:
            kind = ""
        if kind and rest:
            yield "", rest
            rest = []
        if kind:
            yield kind, lines[at:end]
        elif rest or lines[at].strip(" \t"):
            rest += lines[at:end]
        at = end
    if rest:
        yield "", rest


_LISTS = ("-", "1.")


def _block(lines: list[str], start: int) -> tuple[str, int]:
    """What stands at a line, as `blocks` names it, and where it ends; a blank line is a block."""
    if not lines[start].strip(" \t"):
        return "", start + 1
    end = _block_end(lines, start)
    kind = _kind(lines[start:end])
    if kind is None:
        return "", len(lines)
    return _whole_list(lines, kind, end) if kind in _LISTS else (kind, end)


def _block_end(lines: list[str], start: int) -> int:
    """Where a block that starts at a line ends: after its fence, or before the next blank line."""
    if _FENCE.fullmatch(lines[start]):
        inside = (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("```"))
        return next(inside, len(lines) - 1) + 1
    if _is_heading(lines[start]):
        return start + 1
    simple = True
    for number in range(start, len(lines)):
        # A list or a heading ends the simple paragraph that it stands below.
        if (number > start and simple and _ends_words(lines[number])) or not lines[number].strip(
            " \t"
        ):
            return number
        simple = simple and _is_simple_line(lines[number])
    return len(lines)


def _ends_words(line: str) -> bool:
    """Whether a line that stands below words is none of them; of numbers only the first is."""
    return (_listed(line) != "" and line.startswith(("- ", "1. "))) or _is_heading(line)


def _whole_list(lines: list[str], kind: str, end: int) -> tuple[str, int]:
    """A list with all of it that stands behind blank lines; no kind where it may go on behind."""
    at = end
    while at < len(lines):
        if not lines[at].strip(" \t"):
            at += 1
        elif _listed(lines[at]) == kind:
            end = _block_end(lines, at)
            found = _kind(lines[at:end])
            if found != kind:
                return "", len(lines) if found is None else end
            at = end
        else:
            return "" if lines[at][0] in _GOES_ON else kind, end
    return kind, end


def _listed(line: str) -> str:
    """Of which kind of list a line is a simple item; empty where it is none."""
    if line.startswith("- "):
        return "-" if _is_simple_line(line, 2) else ""
    number = _NUMBER.match(line)
    return "1." if number and _is_simple_line(line, number.end()) else ""


def _is_simple_line(line: str, start: int = 0) -> bool:
    """Whether a line, from a place on, is a simple one of a paragraph."""
    return _SIMPLE.fullmatch(line, start) is not None and not _is_odd(line)


def _is_within(words: str) -> bool:
    """Whether words are simple that stand within a block."""
    return _WITHIN.fullmatch(words) is not None and not _is_odd(words)


def _is_odd(words: str) -> bool:
    return not words.isascii() and _ODD.search(words) is not None


def _is_heading(line: str) -> bool:
    head = _HEADING.fullmatch(line) if line.startswith("#") else None
    return head is not None and _is_within(head[2])


def _cells(row: str) -> list[str]:
    return [cell.strip(" ") for cell in row[1:-1].split("|")]


def _is_table(block: list[str]) -> bool:
    """Whether lines are a table that is as wide everywhere, with nothing but simple cells."""
    if len(block) < 2 or not _RULE.fullmatch(block[1]):
        return False
    rows = [_cells(row) for row in block if len(row) > 1 and row[0] == row[-1] == "|"]
    return (
        len(rows) == len(block)
        and len({len(row) for row in rows}) == 1
        and all(map(_is_within, chain.from_iterable(rows)))
    )


def simple_html(kind: str, lines: list[str]) -> str:
    """A block of some kind of simple lines as HTML, without the end tags that HTML implies."""
    match kind:
        case "p":
            return "<p>" + marked("\n".join(lines)) + "\n"
        case "#":
            marks, _, words = lines[0].partition(" ")
            # Below the headings of the page that it stands on.
            tag = f"h{min(6, len(marks) + 3)}"
            return f"<{tag}>{marked(words)}</{tag}>\n"
        case "|":
            return _table(lines)
        case _:
            return _list(kind, lines)


def _list(kind: str, lines: list[str]) -> str:
    items = [line.partition(" ")[2] for line in lines if line.strip(" \t")]
    wide = "\n<p>{}\n\n" if len(items) < len(lines) else "{}\n"
    listed = "".join(f"<li>{wide.format(marked(item))}" for item in items)
    if kind == "-":
        return f"<ul>\n{listed}</ul>\n"
    first = int(lines[0].partition(".")[0])
    start = "" if first == 1 else f' start="{first}"'
    return f"<ol{start}>\n{listed}</ol>\n"


def _table(lines: list[str]) -> str:
    aligned = [_ALIGNED[rule[0] == ":", rule[-1] == ":"] for rule in _cells(lines[1])]
    head, *rows = (
        "<tr>\n"
        + "".join(
            f"<{tag}{place}>{marked(cell)}\n"
            for place, cell in zip(aligned, _cells(line), strict=True)
        )
        for tag, line in [("th", lines[0]), *(("td", line) for line in lines[2:])]
    )
    body = f"<tbody>\n{''.join(rows)}" if rows else ""
    name = _in_quotes(table_name(map(bare, _cells(lines[0]))))
    return f'<table tabindex="0" aria-label="{name}">\n<thead>\n{head}{body}</table>\n'


def table_name(heads: Iterable[str]) -> str:
    """What a table that takes the focus is called: what heads its columns, the first of many."""
    told = ", ".join(filter(None, heads))
    return (told if len(told) <= _LONGEST_NAME else f"{told[:_LONGEST_NAME]}…") or "table"


_LONGEST_NAME = 80
"""Characters of a name: all heads are read out with their cells."""


_ALIGNED = {
    (False, False): "", (True, False): ' class="align-left"',
    (False, True): ' class="align-right"', (True, True): ' class="align-center"',
}  # fmt: skip
"""How a column stands, by whether the line below its head has a colon before and behind."""


def is_simple(text: str) -> bool:
    """Whether what stands in a cell, a heading or an item is simple lines, which `marked` reads."""
    return all(map(_is_within, text.split("\n")))


def marked(text: str) -> str:
    """The words of simple lines as HTML, with what is strong and what is code."""
    return _MARKS.sub(_tagged, text) if "*" in text or "`" in text else text


def bare(text: str) -> str:
    """The words of simple lines, without the marks of what is strong and what is code."""
    return _MARKS.sub(_bare, text) if "*" in text or "`" in text else text


def _tagged(mark: re.Match[str]) -> str:
    if mark[1]:
        return f"<strong>{marked(mark[1])}</strong>"
    return f"<code>{_in_quotes(mark[2])}</code>"


def _in_quotes(text: str) -> str:
    """A text escaped as the parser does it, in an attribute and in code."""
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )


def _bare(mark: re.Match[str]) -> str:
    return bare(mark[1]) if mark[1] else mark[2]


def _kind(block: list[str]) -> str | None:
    """What a block is; None where it may go on beyond its end."""
    if all(map(_is_simple_line, block)):
        return "p"
    if kind := _listed(block[0]):
        return kind if all(_listed(line) == kind for line in block) else _open(block)
    if _is_heading(block[0]):
        return "#"
    if block[0].startswith("|") and _is_table(block):
        return "|"
    if _FENCE.fullmatch(block[0]) and len(block) > 1 and block[-1] == "```":
        return "```"
    return _open(block)


def _open(block: list[str]) -> str | None:
    # A fence may go on behind blank lines, in a list too; a simple line would not end it for sure.
    return None if any("```" in line or "~~~" in line for line in block) else ""
