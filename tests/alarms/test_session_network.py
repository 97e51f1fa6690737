"""Where commands fetch from, by the words that tell it."""

from __future__ import annotations

import pytest

from kbsite.alarms.session.network import web
from kbsite.model.alarm import Level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("http://127.0.0.1:8000/x", Level.NOTE),
        ("http://localhost:8000/x then example.com", Level.WARNING),
        ("http://localhost/ and github.com/a/b/raw/solution.py", Level.ALARM),
        # Trying each of their ends from each of their beginnings takes an hour here.
        ("http://127.0.0.1:8000/" + "a-" * 500_000, Level.NOTE),
        ("http://127.0.0.1:8000/" + "a." * 500_000, Level.NOTE),
    ],
)
def test_what_stays_on_this_machine_is_a_note(text: str, level: Level) -> None:
    assert web(text).level is level
