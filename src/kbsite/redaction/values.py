"""Whether a value looks as if a machine had drawn it, or as a name, a place-holder or a hash."""

from __future__ import annotations

import base64
import re
from collections import Counter
from functools import lru_cache
from math import log2

from kbsite.redaction.automaton import Automaton

# Of short ones a long key has some by chance, but for how they are written.
_SHORT_WORDS = (b"x{4}", b"your", b"dummy", b"insert", b"fake", b"sample", b"null", b"none")
_PLACEHOLDER = Automaton(
    [
        rb"(?i:\*{3}|\.{3}|<|\$\{|\{\{|example|placeholder|redacted|change.?me|secret-?here"
        rb"|token-?here|key-?here|0{8}|1234567|abcdefg|undefined|process\.env|environ|getenv"
        rb"|deadbeef|not.?a.?secret)",
        *(one for word in _SHORT_WORDS for one in (word, word.upper(), word.capitalize())),
    ]
)
_HEX = re.compile(rb"(?:0x)?[0-9a-fA-F]+")
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_UUID = re.compile(rb"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_WORDS = re.compile(rb"[A-Za-z]{2,}[0-9]{0,4}(?:[_./:-]+[A-Za-z]*[0-9]{0,4})*")
_KINDS = bytes(
    ord("a" if one.islower() else "A" if one.isupper() else "0") if one.isalnum() else ord("_")
    for one in (chr(byte) if byte < 128 else "_" for byte in range(256))
)
_CHANGES = (b"a0", b"A0", b"0a", b"0A", b"aA")
_HASH_LENGTHS = (32, 40, 56, 64, 96, 128)
_WORD = re.compile(rb"[A-Z]?[a-z]{1,16}|[A-Z]{1,16}|[0-9]{1,5}|[./~].*")
_MARKS = re.compile(rb"[!@#%^*+~]|&(?![A-Za-z_(&])")

EXAMPLES = frozenset(b"pass passwd password secret test".split())
"""What stands for a password where there is none."""


@lru_cache(256)
def entropy(value: bytes) -> float:
    """Shannon's entropy of the bytes, in bits a byte."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values()) if size else 0.0


@lru_cache(256)
def is_placeholder(value: bytes) -> bool:
    """Whether a value says that it is none."""
    return _PLACEHOLDER.stands_in(value) or len(set(value)) < 5


def is_word(value: bytes) -> bool:
    """Whether a value is a word or a number like any other, that may stand anywhere."""
    return bool(_WORD.fullmatch(value))


def is_given(value: bytes) -> bool:
    """Whether what stands where a program is given a password is one: no word, path or example."""
    return not is_placeholder(value) and not is_word(value)


def is_told(value: bytes) -> bool:
    """Whether what stands where nothing but a password can stand is one, and no example."""
    return not is_placeholder(value) and value.lower() not in EXAMPLES and value[:1] not in b"$%-"


def is_made_up(value: bytes) -> bool:
    """Whether a value is what a person makes up who is told to use digits and marks as well."""
    return (
        len(value) >= 8
        and bool(_MARKS.search(value))
        and bool(re.search(rb"[0-9]", value))
        and bool(re.search(rb"[A-Za-z]{2}", value))
        and is_given(value)
    )


def is_password(value: bytes) -> bool:
    """Whether a value is a password that a machine drew, or that a person made up as told."""
    return is_random(value, 2.7) or is_made_up(value)


def is_hash(value: bytes) -> bool:
    """Whether a value is written as hashes, commits and ids are."""
    return is_uuid(value) or bool(_HEX.fullmatch(value))


def is_uuid(value: bytes) -> bool:
    """Whether a value is a UUID, which some services take for a key."""
    return bool(_UUID.fullmatch(value))


def is_varied(value: bytes) -> bool:
    """Whether letters, digits and cases change as often as they do by chance."""
    kinds = value.translate(_KINDS)
    changes = sum(map(kinds.count, _CHANGES))
    return changes >= max(2, len(value) // 12) and entropy(value) >= 3.0


def is_drawn(value: bytes) -> bool:
    """Whether a token that a word may begin as well is one."""
    return is_varied(value) and not is_placeholder(value)


def is_random(value: bytes, least: float) -> bool:
    """Whether a value is no text, no name and no place-holder; `least` is in bits a byte."""
    if is_placeholder(value) or _WORDS.fullmatch(value):
        return False
    if not re.search(rb"[0-9]", value) or not re.search(rb"[A-Za-z]", value):
        return False
    return is_varied(value) and entropy(value) >= least


def is_key(value: bytes) -> bool:
    """Whether a value is a key that a machine drew, in whatever digits."""
    return is_random(value, 3.2) or is_key_in_hex(value)


def is_text_in_base64(value: bytes) -> bool:
    """Whether a value is a text in base64, as Kubernetes shows its secrets, and no place-holder."""
    if len(value) < 24 or not _BASE64.fullmatch(value):
        return False
    held = base64.b64decode(value)
    return held.isascii() and held.decode().isprintable() and not is_placeholder(held)


def is_key_in_hex(value: bytes) -> bool:
    """Whether a value of hexadecimal digits is as long as keys are."""
    return len(value.removeprefix(b"0x")) in _HASH_LENGTHS and entropy(value) >= 3.0
