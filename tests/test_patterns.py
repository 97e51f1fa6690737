"""No pattern of ours meets a bug of the older Pythons that kbsite runs on.

Before 3.11.5, a group that is repeated possessively and fails within its text leaves what it had
eaten as found (gh-100061, gh-106052).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

# Every pattern that our modules hold when they are loaded, with where it stands.
COLLECT = """
import importlib, json, pkgutil, re, sys

found, compiled = {}, re.compile

def told(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_code.co_filename.endswith("late.py"):
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "")
    if isinstance(pattern, str | bytes) and name.partition(".")[0] in ("kbsite", "bench"):
        text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        found[f"{name}:{frame.f_lineno}: {text}"] = (text, int(flags))
    return compiled(pattern, flags)

re.compile = told
import kbsite.late

kbsite.late.late = told
import bench

for package in (kbsite, bench):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(json.dumps(found))
"""

Node = tuple[Any, Any]


def repeats(items: Any) -> Iterator[list[Node]]:
    """The bodies of all that is repeated possessively."""
    for op, value in items:
        if op is ops.POSSESSIVE_REPEAT:
            yield list(value[2])
        for below in inner(op, value):
            yield from repeats(below)


def inner(op: Any, value: Any) -> list[Any]:
    """The sequences that a node is made of."""
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        return [value[2]]
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.BRANCH:
        return list(value[1])
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [value[1]]
    return [value] if op is ops.ATOMIC_GROUP else []


ONE = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY)


def is_plain(body: list[Node]) -> bool:
    """Whether it is characters one by one, of which the last may be repeated."""
    *first, (op, value) = body
    repeated = op in (ops.MAX_REPEAT, ops.POSSESSIVE_REPEAT)
    if repeated and (len(value[2]) > 1 or value[2][0][0] not in ONE or (first and value[0])):
        return False
    return (repeated or op in ONE) and all(one in ONE for one, _ in first)


def never(body: list[Node]) -> bool:
    """Whether it is `(?!)`, which fails where it stands."""
    (op, value), *others = body
    failing = op is ops.FAILURE or (op is ops.ASSERT_NOT and not list(value[1]))  # as of 3.13
    return failing and not others


def is_safe(body: list[Node]) -> bool:
    """Whether nothing that fails within it has told where it had come to."""
    if len(body) == 1 and body[0][0] is ops.BRANCH:
        ways = [list(one) for one in body[0][1][1]]
        return never(ways[-1]) or all(map(is_plain, ways))
    return is_plain(body)


def unsafe(pattern: str, flags: int = 0) -> bool:
    """Whether an older Python may find something else by a pattern."""
    return not all(map(is_safe, repeats(_parser.parse(pattern, flags))))


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [(r"(?:ab?c)++", "acab", 2), (r"(?:.(?!D))++", "ABCDE", 2), (r"(?:\d{1,9}[.)])*+", "1.12", 2),
     (r"(?:\s++|/\*[^*]*+\*/)*+", "  /* ", 2)],
)  # fmt: skip
def test_what_the_bug_needs_is_found_and_mended_by_a_last_way_that_fails(
    pattern: str, text: str, end: int
) -> None:
    body, _, repeated = pattern.rpartition(")")
    mended = f"{body}|(?!)){repeated}"

    assert unsafe(pattern)
    assert not unsafe(mended)
    found = re.match(mended, text)
    assert found
    assert found.end() == end


def test_no_pattern_of_ours_depends_on_the_bug() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], capture_output=True, text=True, check=True
    )
    found: dict[str, tuple[str, int]] = json.loads(done.stdout)

    assert len(found) > 600
    assert [place for place, (text, flags) in found.items() if unsafe(text, flags)] == []
