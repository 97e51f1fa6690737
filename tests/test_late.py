"""Patterns that are compiled, and modules that are loaded, when somebody first asks them."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import pytest

from kbsite.late import late, loaded_late


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


@pytest.fixture
def a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that nobody has imported."""
    (tmp_path / "told_late.py").write_text("VALUE = 7\n")
    (tmp_path / "asks_later.py").write_text(
        "import told_late\n\n\ndef ask() -> int:\n    return told_late.VALUE\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "told_late"
    for name in ("told_late", "asks_later"):
        sys.modules.pop(name, None)


def test_a_module_is_loaded_when_it_is_asked_and_not_when_it_is_imported(a_module: str) -> None:
    with loaded_late(a_module):
        asks = import_module("asks_later")
    assert a_module not in sys.modules
    assert asks.ask() == 7
    loaded = sys.modules[a_module]
    assert "told_late.py" in str(loaded.__file__)
    assert asks.ask() == 7


def test_a_module_that_is_asked_at_once_is_loaded_at_once(a_module: str) -> None:
    with loaded_late(a_module):
        assert import_module(a_module).VALUE == 7
        assert import_module(a_module) is sys.modules[a_module]
    assert sys.modules[a_module].VALUE == 7


def test_a_module_that_is_loaded_already_stays(a_module: str) -> None:
    loaded = import_module(a_module)
    with loaded_late(a_module):
        assert import_module(a_module) is loaded
    assert sys.modules[a_module] is loaded


def test_a_module_is_let_go_where_what_imports_it_fails(a_module: str) -> None:
    with pytest.raises(ZeroDivisionError), loaded_late(a_module):
        _ = 1 / 0
    assert a_module not in sys.modules
