"""The tool calls within the scripts of Codex's code mode.

In that mode the model has one tool, which runs JavaScript: `await tools.exec_command({cmd: "ls"})`.
Arguments are read where they are literals, or names that hold one; nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_CALL = re.compile(r"\btools\.([A-Za-z_]\w*)\s*\(\s*")
_BOUND = re.compile(r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*")
_STRING = re.compile(r'"((?:[^"\\\n]++|\\.)*+)"|\'((?:[^\'\\\n]++|\\.)*+)\'', re.DOTALL)
_TEMPLATE = re.compile(r"(String\.raw)?`((?:[^`\\]++|\\.)*+)`", re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_JOIN = re.compile(r"\s*\.\s*join\s*\(\s*")
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u\{[0-9A-Fa-f]{1,6}\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "",
            "\r\n": ""}  # fmt: skip
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "undefined": None}
_LAST_POINT = 0x10FFFF
_LONGEST = 18
_DEEPEST = 30
_MOST = 60


class _UnreadableError(Exception):
    """What stands there is no literal."""


def calls(script: str) -> list[tuple[str, Mapping[str, object] | str]]:
    """Name and first argument of the tool calls in a script; "" where the argument is computed."""
    reader = _Reader(script)
    for count, match in enumerate(_BOUND.finditer(script)):
        if count == _MOST:
            break
        reader.bind(match[1], match.end())
    found: list[tuple[str, Mapping[str, object] | str]] = []
    for match in _CALL.finditer(script):
        if len(found) == _MOST:
            break
        value = reader.read(match.end())
        found.append((match[1], value if isinstance(value, dict | str) else ""))
    return found


class _Reader:
    """Reads literals out of a script, with the names that were bound to one."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._names: dict[str, object] = dict(_WORDS)

    def bind(self, name: str, start: int) -> None:
        """Remember the literal that starts there under a name."""
        value = self.read(start)
        if value is not None:
            self._names[name] = value

    def read(self, start: int) -> object:
        """The value of the expression that starts there; None if it is no literal."""
        try:
            return self._sum(start, 0)[0]
        except _UnreadableError:
            return None

    def _sum(self, start: int, depth: int) -> tuple[object, int]:
        value, end = self._value(self._skip(start), depth)
        pieces = [value]
        while self._at(after := self._skip(end)) == "+":
            value, end = self._value(self._skip(after + 1), depth)
            pieces.append(value)
        if len(pieces) == 1:
            return pieces[0], end
        if not all(isinstance(piece, str) for piece in pieces):
            raise _UnreadableError
        return "".join(str(piece) for piece in pieces), end

    def _value(self, start: int, depth: int) -> tuple[object, int]:
        if depth > _DEEPEST:
            raise _UnreadableError
        if match := _STRING.match(self._script, start):
            return _unescaped(match[1] if match[1] is not None else match[2]), match.end()
        if match := _TEMPLATE.match(self._script, start):
            return match[2] if match[1] else _unescaped(match[2]), match.end()
        if match := _NUMBER.match(self._script, start):
            return _number(match[0]), match.end()
        if self._at(start) == "{":
            return self._object(start + 1, depth + 1)
        if self._at(start) == "[":
            return self._array(start + 1, depth + 1)
        match = _NAME.match(self._script, start)
        if not match or match[0] not in self._names:
            raise _UnreadableError
        return self._names[match[0]], match.end()

    def _object(self, start: int, depth: int) -> tuple[object, int]:
        held: dict[str, object] = {}
        at = self._skip(start)
        while self._at(at) != "}":
            if self._script.startswith("...", at):
                value, at = self._value(self._skip(at + 3), depth)
                held.update(value if isinstance(value, dict) else {})
            else:
                at = self._member(at, depth, held)
            at = self._skip(at)
            if self._at(at) == ",":
                at = self._skip(at + 1)
            elif self._at(at) != "}":
                raise _UnreadableError
        return held, at + 1

    def _member(self, start: int, depth: int, held: dict[str, object]) -> int:
        if match := _STRING.match(self._script, start):
            name = _unescaped(match[1] if match[1] is not None else match[2])
        elif match := _NAME.match(self._script, start):
            name = match[0]
        else:
            raise _UnreadableError
        colon = self._skip(match.end())
        if self._at(colon) == ":":
            held[name], end = self._sum(colon + 1, depth)
            return end
        if name not in self._names:
            raise _UnreadableError
        held[name] = self._names[name]
        return match.end()

    def _array(self, start: int, depth: int) -> tuple[object, int]:
        held: list[object] = []
        at = self._skip(start)
        while self._at(at) != "]":
            value, at = self._sum(at, depth)
            held.append(value)
            at = self._skip(at)
            if self._at(at) == ",":
                at = self._skip(at + 1)
            elif self._at(at) != "]":
                raise _UnreadableError
        if match := _JOIN.match(self._script, at + 1):
            glue, end = self._sum(match.end(), depth)
            return str(glue).join(str(item) for item in held), self._skip(end) + 1
        return held, at + 1

    def _skip(self, start: int) -> int:
        match = _SPACE.match(self._script, start)
        return match.end() if match else start

    def _at(self, index: int) -> str:
        return self._script[index : index + 1]


def _number(digits: str) -> float:
    plain = digits.replace("_", "")
    return int(plain) if len(plain) < _LONGEST and plain.lstrip("-").isdigit() else float(plain)


def _unescaped(body: str) -> str:
    if "\\" not in body:
        return body
    plain = _ESCAPE.sub(_character, body)
    # Two escapes may be the halves of one character beyond U+FFFF.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        point = int(code[1:].strip("{}"), 16)
        return chr(point) if point <= _LAST_POINT else "\ufffd"
    return _ESCAPED.get(code, code)
