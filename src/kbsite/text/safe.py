"""Text that can stand in a page as it is: escaped, and all of it to be seen."""

from __future__ import annotations

import re
from json import JSONEncoder, dumps

import msgspec
from markupsafe import Markup, escape

_NONCHARACTERS = "".join(chr(p * 0x10000 + low) for p in range(17) for low in (0xFFFE, 0xFFFF))
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    # These reorder or hide the text around them; the tags can spell whole sentences unseen.
    f"\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f{_NONCHARACTERS}]"
)

_ORDINARY = bytes(range(0x20, 0x7F)) + b"\t\n"
"""ASCII that a page holds and shows as it is."""

_FEW = 30
"""Signs that are faster put in one by one than all at once."""


def visible(text: str) -> str:
    r"""`text` with every character that a page cannot hold or show turned into a visible sign.

    Control characters become their control pictures (NUL is ␀, a carriage return that ends no line
    is ␍), bytes that were no UTF-8 become `\xff`, lone surrogates `\ud800`, and characters that
    turn the direction of the text around or are never seen `\u202e`.
    """
    # Nothing that is hidden is printable, which is told at once of the many texts of a few words.
    if text.isprintable():
        return text
    signs = {one: _sign(one) for one in set(_odd(text)) if _HIDDEN.match(one)}
    if sign := signs.pop("\r", ""):
        text = "\r\n".join([piece.replace("\r", sign) for piece in text.split("\r\n")])
    if len(signs) > _FEW:
        return text.translate({ord(one): sign for one, sign in signs.items()})
    for one, sign in signs.items():
        text = text.replace(one, sign)
    return text


def _odd(text: str) -> str:
    """All that may be hidden in a text, among other things; empty for most."""
    # Most text is ASCII with nothing to hide, and this way of asking is ten times as fast.
    if text.isascii():
        return text.encode("ascii").translate(None, _ORDINARY).decode("ascii")
    # Nothing that is hidden is printable: only lines with something else have to be looked at.
    if _is_plain(text.replace("\n", "")):
        return ""
    return "".join([line for line in text.split("\n") if not _is_plain(line)])


def _is_plain(line: str) -> bool:
    return line.isprintable() or line.replace("\t", "").isprintable()


def _sign(hidden: str) -> str:
    code = ord(hidden)
    if code < 0x20 or code == 0x7F:
        return "␡" if code == 0x7F else chr(0x2400 + code)
    if code < 0xA0:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(text: str) -> Markup:
    """`text` escaped and visible."""
    return escape(visible(text))


def content(text: str) -> Markup:
    """`text` for the content of an element, never for an attribute: its quotes stay as they are."""
    return Markup(inner(text))  # noqa: S704 - it is escaped here


def inner(text: str) -> str:
    """The same for who writes HTML by hand: to mark it as such takes longer than to make it."""
    return escaped(visible(text))


def escaped(text: str) -> str:
    """`text` for `content`, once it is visible: only "&" and "<" start anything there."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


_QUOTED = re.compile("`([^`]+)`")


def with_code(text: str) -> Markup:
    """A sentence of ours as content of an element: what it names between backticks is code."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", inner(text)))  # noqa: S704


_ON_ONE_LINE = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json(value: object) -> str:
    """A value from a transcript as indented JSON, all characters as they are."""
    try:
        told = _ON_ONE_LINE(value)
        # Python's own indenting takes twice as long.
        return msgspec.json.format(told, indent=2) if isinstance(value, dict | list) else told
    except (msgspec.DecodeError, UnicodeEncodeError):
        # Numbers without end, halves of characters: rare, and no JSON for others.
        return dumps(value, ensure_ascii=False, indent=2)
    except RecursionError:
        return "(nested too deeply to be written out here; the raw files have it)"
