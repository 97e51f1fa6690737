"""Changes to a YAML text that leave every other character of it as it stands.

Persons write these files: comments, quotes and order are theirs. So a change is made in the text,
where the parser says that a value stands, and nothing is written anew. The texts are valid, and a
line ends in a line feed.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

import yaml

Scalar = str | int
Value = Scalar | Sequence[int]
"""Text, a number, or a list of numbers."""

_PLAIN = re.compile(r"[A-Za-z][\w./()+-]*(?: [A-Za-z(][\w./()+-]*)*|\d{4}-\d\d-\d\d", re.ASCII)
_WORDS = frozenset({"null", "true", "false"})
_BLOCK = re.compile(
    "[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
)
_HEADER = re.compile(r"[|>][0-9+-]*( +#.*)?")
_WIDTH = 96
_LONG = 80
"""Characters from which a text of one line is folded."""


class FlowStyleError(ValueError):
    """Something is written in braces or brackets, where nothing can be added to it."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line
        """Where it starts, from 1."""


def root(text: str) -> yaml.Node | None:
    """What a text says, with where it stands; None if it says nothing."""
    return yaml.compose(text, Loader=yaml.CSafeLoader)


def on_lines(text: str) -> yaml.MappingNode:
    """The keys and values of a text; FlowStyleError where they are written in braces."""
    node = root(text)
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        message = "it stands in braces; write each key on a line of its own, as in `verdict: clean`"
        raise FlowStyleError(message, node.start_mark.line + 1 if node else 1)
    return node


def items(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a list; none if it is no list."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def pair(node: yaml.Node | None, name: str) -> tuple[yaml.ScalarNode, yaml.Node] | None:
    """A key and its value; None if the key is not there."""
    held = node.value if isinstance(node, yaml.MappingNode) else []
    return next(((key, value) for key, value in held if key.value == name), None)


def with_value(text: str, place: tuple[yaml.ScalarNode, yaml.Node], value: Value) -> str:
    """`text` with another value under a key; a comment beside it stays."""
    key, node = place
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return _with_items(text, node, value)
    start, end = node.start_mark.index, _end(text, node)
    header = None
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        header = _HEADER.match(text, start)
    if start == node.end_mark.index:
        start = end = text.index(":", key.end_mark.index) + 1
    head, body = _rendered(value, key.start_mark.column + 2)
    before = text[:start] if text[start - 1] == " " else f"{text[:start]} "
    if header:
        return f"{before}{head}{header[1] or ''}\n{body}{text[end:]}"
    line = _line_end(text, end)
    return f"{before}{head}{text[end:line]}{body}{text[line:]}"


def _with_items(text: str, node: yaml.SequenceNode, value: Value) -> str:
    """A list of numbers, each on a line of its own, with other numbers."""
    wanted = [value] if isinstance(value, str | int) else list(value)
    wanted += wanted[-1:] * (len(node.value) - len(wanted))
    last = len(node.value) - 1
    dash = f"\n{' ' * node.start_mark.column}- "
    new = [*map(str, wanted[:last]), dash.join(map(str, wanted[last:]))]
    for item, number in reversed([*zip(node.value, new, strict=True)]):
        text = text[: item.start_mark.index] + number + text[item.end_mark.index :]
    return text


def with_key(text: str, name: str, value: Value, within: yaml.MappingNode, after: int) -> str:
    """`text` with a key that was not there, in a mapping, after its pair of this number."""
    column = within.start_mark.column
    head, body = _rendered(value, column + 2)
    at = _line_end(text, _end(text, within.value[after][1], within.value[after][0]))
    return f"{text[:at]}{' ' * column}{name}: {head}\n{body}{text[at:]}"


def without_key(text: str, place: tuple[yaml.ScalarNode, yaml.Node]) -> str:
    """`text` without a key on a line of its own, its value, and a comment beside them."""
    key, node = place
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    return text[:start] + text[_line_end(text, _end(text, node, key)) :]


def with_item(text: str, name: str, item: Mapping[str, Value], within: yaml.MappingNode) -> str:
    """`text` with one more item, of keys and values, at the end of the list under a key.

    FlowStyleError where the list is written in brackets and holds something.
    """
    place, column = pair(within, name), within.start_mark.column
    if place is None:
        at = _line_end(text, _end(text, within))
        lines = _item(item, column, column + 2)
        return f"{text[:at]}{' ' * column}{name}:\n{lines}{text[at:]}"
    key, node = place
    if isinstance(node, yaml.SequenceNode) and not node.flow_style:
        dash, first = node.start_mark.column, node.value[0]
        at = _line_end(text, _end(text, node))
        inner = max(first.start_mark.column, dash + 2)
        return text[:at] + _item(item, dash, inner) + text[at:]
    start, end = node.start_mark.index, node.end_mark.index
    if node.value or "#" in text[start:end]:
        message = f"{name} stands in brackets; write each item on a line of its own, after a dash"
        raise FlowStyleError(message, key.start_mark.line + 1)
    text = text[:start].rstrip(" ") + text[end:]
    at = _line_end(text, key.end_mark.index + 1)
    return text[:at] + _item(item, column, column + 2) + text[at:]


def document(
    values: Mapping[str, Value], lists: Mapping[str, Sequence[Mapping[str, Value]]]
) -> str:
    """A text of its own: keys and values, then keys with lists of such."""
    text = ""
    for name, value in values.items():
        head, body = _rendered(value, 2)
        text += f"{name}: {head}\n{body}"
    for name, held in lists.items():
        text += f"{name}:\n" + "".join(_item(item, 0, 2) for item in held)
    return text


def _item(item: Mapping[str, Value], dash: int, column: int) -> str:
    lines = ""
    for name, value in item.items():
        head, body = _rendered(value, column + 2)
        lines += f"{' ' * column}{name}: {head}\n{body}"
    return f"{' ' * dash}-{lines[dash + 1 :]}"


def _rendered(value: Value, column: int) -> tuple[str, str]:
    """What stands beside the key, and the lines below it, which start in a column."""
    match value:
        case int():
            return str(value), ""
        case str():
            return _text(value, column)
        case _:
            return f"[{', '.join(map(str, value))}]", ""


def _text(value: str, column: int) -> tuple[str, str]:
    if _PLAIN.fullmatch(value) and len(value) <= _LONG and value.lower() not in _WORDS:
        return value, ""
    lines = value.removesuffix("\n").split("\n")
    if not _BLOCK.fullmatch(value) or not lines[-1].strip() or not lines[0].strip():
        return _quoted(value), ""
    return _block(value, column) if "\n" in value else _prose(value, column)


def _block(value: str, column: int) -> tuple[str, str]:
    lines = value.removesuffix("\n").split("\n")
    # A first line that is indented would be taken for the indentation of all.
    told = "2" if lines[0].startswith((" ", "\t")) else ""
    chomp = "" if value.endswith("\n") else "-"
    body = "".join(f"{' ' * column}{line}\n" if line else "\n" for line in lines)
    return f"|{told}{chomp}", body


def _prose(value: str, column: int) -> tuple[str, str]:
    if len(value) <= _LONG or " ".join(value.split()) != value:
        return _quoted(value), ""
    width = max(_WIDTH - column, 40)
    lines = textwrap.wrap(value, width, break_long_words=False, break_on_hyphens=False)
    return ">-", "".join(f"{' ' * column}{line}\n" for line in lines)


def _quoted(value: str) -> str:
    plain = yaml.dump(
        value, Dumper=yaml.CSafeDumper, default_style='"', allow_unicode=True, width=2**31 - 1
    )
    return str(plain).removesuffix("\n")


def _end(text: str, node: yaml.Node, key: yaml.Node | None = None) -> int:
    """Where the last thing of a node ends, without the blank lines and comments after it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1], last[0]) if isinstance(last, tuple) else _end(text, last, node)
    if node.start_mark.index == node.end_mark.index and key is not None:
        # Nothing stands there, and the parser looks for it far below.
        return int(key.end_mark.index) + 1
    end = int(node.end_mark.index)
    header = (
        _HEADER.match(text, node.start_mark.index) if isinstance(node, yaml.ScalarNode) else None
    )
    if header and "+" not in header[0]:
        while text[:end].endswith("\n\n"):
            end -= 1
    return end


def _line_end(text: str, at: int) -> int:
    """Where the next line starts; `at` itself where a line starts there."""
    if text[at - 1 : at] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1
