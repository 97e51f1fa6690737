"""What a command reads from the one before it, as far as the script itself holds that text."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

from kbsite.late import late

if TYPE_CHECKING:
    from kbsite.alarms.session.shell import Command

DEEPEST = 6
"""How many commands a text may have passed through."""

_ESCAPED: Final = late(r"\\(?:x([0-9A-Fa-f]{1,2})|0?([0-7]{1,3})|([nt\\]))")
_DECODES: Final = {"-d", "-D", "--decode", "-di"}


def fed(command: Command, depth: int = 0) -> str | None:
    """The text that a command reads; None where the script does not hold it."""
    if command.fed is not None or command.before is None or depth > DEEPEST:
        return command.fed
    return printed(command.before, depth + 1)


def printed(command: Command, depth: int = 0) -> str | None:
    """The text that a command prints; None where the script does not hold it."""
    name, words = command.name, command.words[1:]
    if name == "echo":
        return _echoed(words)
    if name == "printf" and words:
        text = _unescaped(words[0])
        for word in words[1:]:
            text = text.replace("%s", word, 1)
        return text
    if name in ("base64", "xxd"):
        packed = fed(command, depth)
        return _unpacked(command, packed) if packed is not None else None
    if name == "tee" or (name == "cat" and not command.given and not command.reads):
        return fed(command, depth)
    return None


def _echoed(words: list[str]) -> str:
    flags = re.match(r"-[neE]+\Z", words[0]) if words else None
    text = " ".join(words[1:] if flags else words)
    return _unescaped(text) if flags and "e" in flags[0] else text


def _unpacked(command: Command, packed: str) -> str | None:
    try:
        if command.name == "xxd":
            return bytes.fromhex(packed).decode() if command.has("-r") else None
        if not command.has(*_DECODES):
            return None
        return base64.b64decode("".join(packed.split())).decode()
    except (ValueError, binascii.Error):
        return None


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    if match[3]:
        return {"n": "\n", "t": "\t"}.get(match[3], match[3])
    return chr(int(match[1], 16) if match[1] else int(match[2], 8) & 0xFF)
