"""Patterns that are compiled when somebody first looks with them."""

from __future__ import annotations

import copy
import re
from unittest.mock import Mock

import pytest

from kbsite.late import late


def test_it_finds_what_the_pattern_finds() -> None:
    pattern = late(r"(?P<word>[a-z]+)", re.IGNORECASE)
    found = pattern.search("12 Ab")
    assert found is not None
    assert found["word"] == "Ab"
    assert (pattern.pattern, pattern.groups) == (r"(?P<word>[a-z]+)", 1)
    assert late(rb"\d").sub(b"x", b"a1") == b"ax"


def test_it_is_compiled_when_it_is_used_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Mock(wraps=re.compile)
    monkeypatch.setattr(re, "compile", compiled)
    pattern = late("a")
    compiled.assert_not_called()
    assert pattern.match("a")
    assert pattern.match("b") is None
    compiled.assert_called_once()


def test_it_can_be_copied() -> None:
    assert copy.deepcopy(late("a+")).fullmatch("aa")
