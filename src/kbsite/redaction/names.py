"""Secrets that what stands before them tells: names of settings, flags and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction import commands, headers, key_blocks, plain
from kbsite.redaction.automaton import Automaton
from kbsite.redaction.rules import Rule
from kbsite.redaction.values import (
    entropy,
    is_hash,
    is_key,
    is_key_in_hex,
    is_made_up,
    is_password,
    is_placeholder,
    is_random,
    is_text_in_base64,
    is_uuid,
)  # fmt: skip

_ESCAPES: Final = rb"\\{0,7}"
_VALUE: Final = rb"[A-Za-z0-9+/=_.~!#$%^&*@?|:-]"

_KINDS: Final = (
    rb"key(?:_base)?|token|secret|passw(?:or)?[dt]|passwd|pwd|passphrase|credentials?|_pass|_pat"
    rb"|_auth|(?-i:\xe5\xaf\x86(?:\xe7\xa0\x81|\xe9\x92\xa5))|\\+u5bc6\\+u(?:7801|94a5)"
)
_NUMBER: Final = rb"(?:_?[0-9]{1,2})?"
"""Which of several a name is of, as `API_KEY_2`."""
_MARK: Final = rb"(?:[\"'`]|&quot;|&#3[49];|&#x27;)"
_OPEN: Final = rb"(?:[bruf]?" + _ESCAPES + _MARK + b")"
_COLOUR: Final = rb"(?:\x1b|\\{1,4}u001[bB]|\\{1,4}x1[bB]|\\{1,4}033|\\{1,4}e)\[[0-9;]{0,16}m"
_SPACED: Final = rb"[ \t]{1,3}(?:\|[ ]{1,3}|--body[ =])?"
"""What stands between the name of a variable and its value in a table, or behind `setenv`."""


_TRIPLE: Final = rb"(?:(?:''|\"\"|\\{1,7}\"\\{1,7}\"))?"
"""The other two of three quotation marks."""
_TYPED: Final = (
    rb":[ ]?(?:(?:Final|Optional|ClassVar)\[|&)?(?:'static[ ])?[sS]tr(?:ing)?\]?(?:[ ]\|[ ]None)?"
    rb"[ ]?="
)
"""The type of a variable, as Python, Rust and TypeScript have it, and what follows it."""
_CALLED: Final = rb"(?:Secret(?:Str)?|Some)?\((?:\s|\\{1,4}n){0,16}"
"""What may be called with a value, or stand around it."""


_LINES: Final = rb"(?:\s|\\{1,4}[nrt]){0,32}"
_TAG: Final = rb"<[a-z][^<>]{0,32}>"
_TAGGED: Final = (
    rb"(?:: ?" + _TAG + rb"|</[a-z]{1,32}>" + _LINES + _TAG + rb"(?:" + _TAG + rb")?)"
)  # fmt: skip
"""What stands between a name and its value in a table of HTML."""


def _between(gaps: bytes, colours: bytes = b"") -> bytes:
    """What stands between a name and its value: `=` and its like, a comma, the end of a tag."""
    signs = rb"(?::=|=>|[:=]\*{0,2}|(?-i:\xef\xbc\x9a)|\\+uff1a)"
    assigned = (
        _MARK + rb"?\]?\*{0,2}" + colours + gaps + signs + colours + gaps + colours
        + b"(?:(?:" + _CALLED + b")?" + _OPEN + _TRIPLE + b")?" + colours
    )  # fmt: skip
    listed = (
        _MARK + gaps + rb"," + _LINES + b"(?:(?:type=str, ?)?default=)?" + _OPEN
        + rb"(?:value" + _ESCAPES + _MARK + gaps + b":" + gaps + _OPEN + b")?"
    )  # fmt: skip
    below = _MARK + rb"?(?:\n|\\{1,4}n)[ \t#+]*value:" + gaps + _OPEN + b"?"
    beside = _MARK + b" (?:value|content)=" + _OPEN
    typed = _TYPED + gaps + _OPEN
    many = b"s" + _ESCAPES + _MARK + b"?" + gaps + b"[:=]" + gaps + rb"\[" + _LINES + _OPEN
    block = _MARK + rb"?:[ ]?[|>][+-]?(?:\n|\\{1,4}n)[ \t]*"
    return b"|".join((typed, assigned, listed, below, beside, many, block, b">", b"&gt;"))


def _gate(pattern: bytes) -> bytes:
    """A part of the automaton's: without limits of how often, which take it many states."""
    unlimited = pattern.replace(_ESCAPES, rb"\\*").replace(b"{0,32}", b"*").replace(b"{1,32}", b"+")
    return b"(?i:(?:" + _KINDS + b")" + _NUMBER + unlimited + b")"


_NAMED: Final = late(
    rb"(?i)(?:" + _KINDS + b")" + _NUMBER + b"(?P<between>" + _ESCAPES + b"(?:"
    + _between(rb"(?:[ \t]{0,48}|\s{0,3})", b"(?:" + _COLOUR + b"){0,3}") + b"|" + _TAGGED
    + rb")|(?P<spaced>" + _SPACED + _OPEN + rb"?))(?P<value>" + _VALUE + rb"{8,512})"
    rb"(?P<after>[(\[]?)"
)  # fmt: skip
_NAMED_GATE: Final = _gate(
    b"(?:" + _ESCAPES + b"(?:" + _between(rb"[ \t]*") + b")" + _VALUE + rb"{8}|"
    + _ESCAPES + _MARK + rb"?(?:[:=] ?)?(?:\x1b|\\{1,4}u001b)\[)"
)  # fmt: skip
_TAGGED_GATE: Final = _gate(_ESCAPES + _TAGGED + _VALUE + rb"{8}")
"""Apart from the others: a tag is made of any bytes, so that it may begin a long way before."""
_SPACED_GATE: Final = (
    rb"_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD)" + _SPACED + _OPEN + b"?" + _VALUE + b"{8}"
)
_NAMED_GATES: Final = (_NAMED_GATE, _TAGGED_GATE, _SPACED_GATE)
_NAMED_AT: Final = Automaton(_NAMED_GATES)
_ENTITY: Final = late(rb"&(?:[lg]t|quot|amp|#x?[0-9A-Fa-f]{2})\Z")
_NAME: Final = late(rb"(?:(?i:api|access|auth|secret|private|wandb)[ ])?[A-Za-z0-9_.-]*\Z")
_STRONG: Final = late(
    rb"(?i)(?:api|access|auth|secret|private|client|signing|encryption|session|refresh|bearer|"
    rb"admin|master|service|account|license|deploy|wandb|hf|github|gitlab|slack|aws|kaggle|circle|"
    rb"fernet|preshared|hmac|app(?:lication)?|subscription|openai|azure|fal|together|vast)"
    rb"[_. -]?(?:key|token)|(?:identity|registry|job)[_-]?token|\A--|secret|passw|pwd|passphrase"
    rb"|credential|\xe5\xaf\x86|u5bc6"
)
_API: Final = late(
    rb"(?i)(?:api|access|auth|refresh|connection|http)[_-]?(?:key|token)|(?:client|secret)[_-]?"
    rb"(?:secret|key)"
)
_PUBLIC: Final = late(rb"(?i)pub|cache|trading|idempot|(?:page|next)_?token")
_VARIABLE: Final = late(rb"\A[A-Z0-9_]*(?:TOKEN|SECRET|_PAT)(?![A-Za-z0-9_])")
"""A name in capitals that says of its value that it is a secret."""
_NAMED_KEY: Final = late(rb"\A[A-Z][A-Z0-9_]*_KEY(?![A-Za-z0-9_])")
"""One that may say it of an id."""
_FIELD: Final = late(rb"[?&](?:[a-z]{1,20}_)?token=\Z")
"""What stands in an address for a while."""
_OPENED: Final = late(_MARK + rb"\Z|(?<!=)>\Z|&gt;\Z")
_PARTS: Final = late(rb"[:=|@&?*]|[_-].*[_-]")
_IDENTIFIER: Final = late(rb"[:=|?]|&(?=[A-Za-z_&(])|[_.-].*[_.-]")
_PASSWORD: Final = late(
    rb"(?i)passw|\xe5\xaf\x86\xe7\xa0\x81|u5bc6\\+u7801|pwd|passphrase|_pass(?![a-z])|_auth(?![a-z_])"
)
_SET: Final = late(rb"(?:\A|[^a-z])[A-Z0-9_]{2,}=\\{0,7}[\"'`]?\Z")
"""A variable of the environment, as a shell or a list of them has it."""
_CAPITALS: Final = late(rb"[A-Z][A-Z0-9_]*\s")
_NAMES_END: Final = (b"key", b"token", b"ecret", b"sword", b"pwd")
_NEXT: Final = late(rb"&[A-Za-z_][A-Za-z0-9_.-]{0,40}=")
"""Where the next field of a form or an address begins."""
_REST: Final = late(rb"[^\s\\\"'`<>]{0,200}+(?=\\{0,7}[\"'`])")
_MORE: Final = late(
    _ESCAPES + rb"[\"'],(?:\s|\\{1,4}n){0,32}" + _ESCAPES + rb"[\"']([A-Za-z0-9+/=_.~:-]{1,512})"
)
"""Another text of a list."""
_MOST_LISTED: Final = 64
_LOGIN: Final = late(
    rb"(?:login\(\s{0,3}|(?:username\\{0,7}\"\s?:\s?\\{0,7}\"[^\"\\]{1,64}|type\\{0,7}\"\s?:\s?\\{0,7}\"api)"
    rb"\\{0,7}\",(?:\s|\\{1,4}n){0,12}\\{0,7}\")\Z"
)
"""What tells of a `key` that it is one to log in with, as W&B, Kaggle and opencode have it."""
_OF_JUPYTER: Final = late(rb"(?i)token=\Z")
LEAST_IN_HEX: Final = 30
"""Digits of a key in hexadecimal that is shorter than most."""
_PASSWORD_IN_HEX: Final = 16
"""Digits of a password that was drawn in hexadecimal, as code-server's is, at least."""
_JUPYTER: Final = 48
"""Digits of a token of Jupyter's, which is as long as no hash."""

NAMES: Final = (
    *(Rule("named-secret", "value of a name such as api_key", gate, pattern=_NAMED)
      for gate in _NAMED_GATES),
    Rule("named-secret", "value of a name such as api_key", plain.GATE, pattern=_NAMED,
         encoded=(b"password", b"PASSWORD")),
    *headers.HEADERS,
    *commands.COMMANDS,
    *key_blocks.BLOCKS,
)  # fmt: skip

Found = tuple[int, int, str]
"""Where something begins and ends, and the rule that found it."""


def found(data: bytes, start: int, end: int) -> Iterator[Found]:
    """Secrets that are named within a part of some bytes."""
    yield from _named(data, start, end)
    window = data[start:end].lower()
    for words, look in _LOOKS:
        if any(word in window for word in words):
            yield from look(data, start, end)
    yield from commands.found(data, start, end)


def _named(data: bytes, start: int, end: int) -> Iterator[Found]:
    past = start
    for at, _ in _NAMED_AT.find(data, start, end):
        one = _named_at(data, at) if at >= past else None
        if one and one["value"][-5:].lower().endswith(_NAMES_END):
            # What one name says is another: {"name": "API_TOKEN", "value": "..."}.
            inner = _NAMED_AT.next(data, one.start("value"), one.end() + 60)
            one = (_named_at(data, inner[0]) if inner else None) or one
        if one is None:
            continue
        past = one.end()
        value, closed = _value(data, one)
        if _is_secret(data, one, value, closed=closed):
            yield one.start("value"), one.start("value") + len(value), "named-secret"
        if b"[" in (one["between"] or b"") and _STRONG.search(_called(data, one)):
            yield from _listed(data, one)


def _listed(data: bytes, one: re.Match[bytes]) -> Iterator[Found]:
    """What stands in a list behind the first of its keys."""
    at = one.end("value")
    for _ in range(_MOST_LISTED):
        more = _MORE.match(data, at)
        if more is None:
            return
        at = more.end()
        if is_key(more[1]):
            yield *more.span(1), "named-secret"


def _named_at(data: bytes, at: int) -> re.Match[bytes] | None:
    """A name and its value; those of a table or of `setenv` only where it is all capitals."""
    one = _NAMED.match(data, at) or _NAMED.match(data, at + 1)
    return one if one and (one["spaced"] is None or _CAPITALS.match(data, one.start())) else None


def _value(data: bytes, one: re.Match[bytes]) -> tuple[bytes, bool]:
    """A value as far as it goes, and whether it stands in quotes or between tags."""
    value = _ENTITY.sub(b"", one["value"])
    after = _NEXT.search(value) if b"&" in value else None
    if after:
        return value[: after.start()], False
    before = one["between"] or one["spaced"]
    if before[-1:] in (b'"', b"'", b"`"):
        rest = _REST.match(data, one.start("value") + len(value))
        return value + (rest[0] if rest else b""), True
    return value.rstrip(b".:,;!?*"), bool(_OPENED.search(before))


def _is_secret(data: bytes, one: re.Match[bytes], value: bytes, *, closed: bool) -> bool:
    if is_placeholder(value):
        return False
    name = _called(data, one)
    public = bool(_PUBLIC.search(name))
    declared = _is_declared(name, public=public)
    if is_uuid(value):
        return declared or _is_id_a_key(name, public=public)
    strong = declared or bool(_STRONG.search(name))
    digits = value.rstrip(b"=")
    if is_hash(value):
        made = _is_password_in_hex(name, value, closed=closed)
        return made or _is_key(data, one, name, value, strong=strong)
    if _PASSWORD.search(name):
        # A name of something in a program is none.
        own = b"::" not in value
        return own and _is_password(name, digits, closed=closed, called=bool(one["after"]))
    if strong:
        return _is_drawn_or_text(value)
    return not public and (_is_long(digits) or _is_field(data, one, value))


def _is_drawn(value: bytes) -> bool:
    return len(value) >= 12 and is_random(value, 3.2)


def _is_drawn_or_text(value: bytes) -> bool:
    """Whether a value that is told to be a key is one, as it is or in base64."""
    return _is_drawn(value) or is_text_in_base64(value)


def _is_password_in_hex(name: bytes, value: bytes, *, closed: bool) -> bool:
    told = len(value) >= _PASSWORD_IN_HEX and _PASSWORD.search(name)
    return bool(told) and _is_password(name, value, closed=closed, called=False)


def _called(data: bytes, one: re.Match[bytes]) -> bytes:
    """What a value is called, from the beginning of its name."""
    found = _NAME.search(data, max(0, one.start() - 40), one.start())
    before = found[0] if found else b""
    if found and data[found.start() - 1 : found.start()] == b"\\":
        before = before[1:]  # the letter of an escape
    return before + one[0][: one.start("value") - one.start()]


def _is_declared(name: bytes, *, public: bool) -> bool:
    """Whether a name is a variable's in capitals that says that its value is a secret."""
    return not public and bool(_VARIABLE.search(name))


def _is_id_a_key(name: bytes, *, public: bool) -> bool:
    """Whether a name says of an id that it lets somebody in."""
    told = not public and _NAMED_KEY.search(name)
    return bool(told or _API.search(name) or _SET.search(name))


def _is_key(data: bytes, one: re.Match[bytes], name: bytes, value: bytes, *, strong: bool) -> bool:
    """Whether what reads as a hash is a key; it is more often none."""
    own = len(value) == _JUPYTER and _OF_JUPYTER.search(name)
    if own or (strong and len(value) >= LEAST_IN_HEX and entropy(value) >= 3.0):
        return True
    told = _logs_in(data, one.start()) or _in_address(data, one)
    return told and is_key_in_hex(value)


def _in_address(data: bytes, one: re.Match[bytes]) -> bool:
    """Whether a name is that of a field of an address, and says that its value is a token."""
    return bool(_FIELD.search(data, max(0, one.start() - 24), one.start("value")))


def _is_field(data: bytes, one: re.Match[bytes], value: bytes) -> bool:
    """Whether a value is a token that an address has for a while, however short."""
    return _in_address(data, one) and _is_drawn(value)


def _logs_in(data: bytes, at: int) -> bool:
    """Whether what stands before a name says that its value lets somebody in."""
    return bool(_LOGIN.search(data, max(0, at - 120), at))


def _is_long(value: bytes) -> bool:
    return len(value) >= 24 and not _PARTS.search(value) and is_random(value, 4.0)


def _is_password(name: bytes, value: bytes, *, closed: bool, called: bool) -> bool:
    """Whether what stands behind the word is none of a program's own names."""
    if value.startswith((b"/", b"~", b".")) and (not closed or b"pwd" in name.lower()):
        return False  # where a shell is
    if closed or _SET.search(name):
        return is_password(value) and (closed or not called)
    plain = not called and not _IDENTIFIER.search(value)
    return plain and ((len(value) > 9 and is_random(value, 3.0)) or is_made_up(value))


_LOOKS: Final = (
    *headers.LOOKS,
    *key_blocks.LOOKS,
    ((b"passw", b"passphrase", b"_pass", b"_pwd", b"psk"), plain.found),
)
"""What is looked for only where one of some words stands, in small letters."""
