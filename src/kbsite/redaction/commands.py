"""Secrets on command lines, and in the files that commands keep them in."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

from kbsite.late import late
from kbsite.redaction.rules import AFTER, MARK, Rule
from kbsite.redaction.values import (
    EXAMPLES,
    is_key_in_hex,
    is_made_up,
    is_password,
    is_placeholder,
    is_random,
    is_told,
)

_GAP: Final = (
    rb"(?:[ \t\r]|(?:\n|\\{1,4}n)[+-]?|\\{1,4}[rt]"
    rb"|[0-9]{1,6}(?:\t|\\{1,4}t|:|\xe2\x86\x92|\\{1,4}u2192)){1,16}"
)
"""What stands between words, over the ends of lines that a diff or a tool has numbered."""
_WORD: Final = rb"[^\s\\\"'`]"

_FLAGGED: Final = (
    rb"--[A-Za-z_-]{0,24}(?:[Kk]ey|[Tt]oken|[Ss]ecret|[Pp]assword|passwd|passphrase|credential"
    rb"|pat)(?:[ \t]{1,3}|\x00|\\{1,4}u0000)(?:"
    + MARK + b")?"
)  # fmt: skip
_VALUE: Final = rb"[A-Za-z0-9+/=_.~!#%^&*@-]"
_FLAGGED_GATE: Final = _FLAGGED.replace(b"{0,24}", b"*").replace(b"{0,7}", b"*") + _VALUE + b"{8}"
"""The same for the automaton, which has a state for each that it counts."""
_FLAG: Final = late(_FLAGGED + b"(" + _VALUE + b"{8,512})")
_USER: Final = late(
    AFTER + rb"(?:-[uU]|--(?:proxy-)?user)(?:[ \t=]{1,2})(?:" + MARK
    + rb")?[A-Za-z0-9_.@+-]{1,80}(?:" + MARK + rb")?:(?:" + MARK + rb")?(" + _WORD
    + rb"{4,200})"
)  # fmt: skip
_KEY_ALONE: Final = late(
    rb"-(?:u|-user)(?:[ \t=]{1,2})(?:" + MARK + rb")?([A-Za-z0-9_.-]{20,200}):(?=[\s\\\"'])"
)
"""A key that stands for a name, without a password."""
_ASKS: Final = late(
    rb"\b(?:curl|wget|https?|lwp-request)(?:[.]exe)?[ ]"
    rb"(?:[^\r\n\\]|\\{1,7}[\"']|\\\r?\n|\\{3,8}n|(?!))*+\Z"  # |(?!): CONTRIBUTING.md, patterns
)
"""A command that asks a server, up to a place in it, over lines that go on."""
_LOGINS: Final = (b"wandb login", b"authtoken", b"set api-key", b"service install")
_LOGIN: Final = late(
    rb"(?:wandb login(?:[ ]-{1,2}[a-z-]{1,20}(?:[ =]https?://[^\s\\]{1,200})?){0,3}|authtoken"
    rb"|set api-key|service install)[ ]{1,3}(?:" + MARK + rb")?(" + _WORD + rb"{8,200})"
)  # fmt: skip
_ECHOED: Final = late(
    rb"(?:echo|printf)[ ](?:-[neE]{1,3}[ ])?(?:" + MARK + rb")?(" + _WORD + rb"{8,200}?)(?:"
    rb"\\{1,4}n)?(?:" + MARK + rb")?[ ]?\|[ ]?wandb login"
)
_SAID: Final = late(
    rb"[Pp]ass(?:word|phrase) is:?[ ]{1,2}[*]{0,2}(?:" + MARK + rb")?(" + _WORD + rb"{8,200})"
)
_MENTIONED: Final = late(
    rb"[Pp]ass(?:word|phrase)[ ](?:"
    + MARK
    + rb")?("
    + _WORD
    + rb"{8,64}?)[.,;:!?)]{0,3}(?=[\s\\\"'`]|\Z)"
)
_LOGGED_IN: Final = (
    b"login" + _GAP + _WORD + rb"{1,200}" + _GAP + rb"(?:account" + _GAP + _WORD + rb"{1,200}"
    + _GAP + rb")?"
)  # fmt: skip
_NETRC: Final = late(
    AFTER + rb"(?:machine" + _GAP + rb"[A-Za-z0-9_.:-]{1,200}|default)" + _GAP + rb"(?:"
    + _LOGGED_IN + rb"|(?=password" + _GAP + _WORD + rb"{4,200}" + _GAP + rb"login))password" + _GAP
    + rb"(" + _WORD + rb"{4,200})"
)  # fmt: skip
_JAR: Final = late(
    rb"(?:TRUE|FALSE)(?:\t|\\{1,4}t)/[^\s\\]{0,100}(?:\t|\\{1,4}t)(?:TRUE|FALSE)(?:\t|\\{1,4}t)"
    rb"[0-9]{1,12}(?:\t|\\{1,4}t)[^\s\\]{1,100}(?:\t|\\{1,4}t)([^\s\\\"']{8,2000})"
)
_AUTH: Final = late(rb"\"auth\\{0,7}\"[ ]{0,3}:[ ]{0,3}\\{0,7}\"([A-Za-z0-9+/]{12,500}={0,2})")
_PAIR: Final = re.compile(rb"[\x21-\x7e]{1,200}?:([\x21-\x7e]{4,300})")

COMMANDS: Final = (
    Rule("flag", "secret on a command line", _FLAGGED_GATE, pattern=_FLAG),
    Rule("flag", "secret on a command line",
         rb"-(?:u|U|user)[ \t=]+\\*[\"'`]?[A-Za-z0-9_.@+-]+\\*[\"'`]?:[^ \t\r\n]",
         pattern=_USER),
    Rule("flag", "secret on a command line",
         b"(?:" + b"|".join(_LOGINS) + rb")[ \"'\\\r\n]",
         pattern=_LOGIN),
    Rule("flag", "secret on a command line", rb"-(?:u|-user)[ =]\\*[\"'`]?[A-Za-z0-9_.-]{20,}:",
         pattern=_KEY_ALONE),
    Rule("netrc", "password of a .netrc", rb"(?:[ \t\r\n]|\\{1,4}[nrt])password(?:[ \t]|\\{1,4}t)",
         pattern=_NETRC),
    Rule("cookie", "cookie",
         rb"(?:TRUE|FALSE)(?:\t|\\{1,4}t)[0-9]{1,12}(?:\t|\\{1,4}t)", pattern=_JAR),
    Rule("basic-auth", "name and password in base64",
         rb"\"auth\\{0,7}\"[ ]{0,3}:[ ]{0,3}\\{0,7}\"[A-Za-z0-9+/]{12}", pattern=_AUTH,
         encoded=(b'{"auths"',)),
)  # fmt: skip

Found = tuple[int, int, str]


def found(data: bytes, start: int, end: int) -> Iterator[Found]:
    """Secrets that commands are given, or keep, within a part of some bytes."""
    window = data[start:end]
    for words, rule, pattern, is_secret in _LOOKS:
        if any(word in window for word in words):
            for one in pattern.finditer(data, start, end):
                if is_secret(one[1]) or (pattern is _USER and _is_asked(data, one)):
                    yield one.start(1), one.end(1), rule


def is_pair(value: bytes) -> bool:
    """Whether a value is a name and a password in base64, and no example of them."""
    digits = value.rstrip(b"=")
    try:
        held = base64.b64decode(digits + b"=" * (-len(digits) % 4))
    except binascii.Error:
        return False
    one = _PAIR.fullmatch(held)
    return one is not None and not is_placeholder(held) and one[1] not in EXAMPLES


def _is_asked(data: bytes, one: re.Match[bytes]) -> bool:
    """Whether it is what a program that asks servers gives there: no group, and any word may be."""
    return is_told(one[1]) and bool(_ASKS.search(data, max(0, one.start() - 300), one.start()))


def _is_password(value: bytes) -> bool:
    return is_random(value, 2.7) or is_key_in_hex(value)


def _is_kept(value: bytes) -> bool:
    return not is_placeholder(value) and value.lower() not in EXAMPLES


_LOOKS: Final[
    tuple[tuple[tuple[bytes, ...], str, re.Pattern[bytes], Callable[[bytes], bool]], ...]
] = (
    ((b"--",), "flag", _FLAG, _is_password),
    ((b"-u", b"-U"), "flag", _USER, _is_password),
    ((b"-u ", b"--user"), "flag", _KEY_ALONE, _is_password),
    (_LOGINS, "flag", _LOGIN, _is_password),
    ((b"| wandb", b"|wandb"), "flag", _ECHOED, _is_password),
    ((b"word is", b"phrase is"), "flag", _SAID, is_password),
    ((b"assword ", b"assphrase "), "flag", _MENTIONED, is_made_up),
    ((b"login",), "netrc", _NETRC, _is_kept),
    ((b"TRUE", b"FALSE"), "cookie", _JAR, _is_kept),
    ((b'"auth',), "basic-auth", _AUTH, is_pair),
)
"""What is looked for where one of some words stands, its rule, its pattern, and what it may be."""
