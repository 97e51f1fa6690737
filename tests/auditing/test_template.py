"""What an auditor starts from: all that is known, and nothing that could be taken for an audit."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from kbsite.auditing.template import Start, template
from kbsite.model.audit import Audit, Verdict
from kbsite.store.parsing import InvalidFileError, yaml_data
from kbsite.store.records import record
from tests.auditing.sites import ALARMED, NOTED

DAY = date(2026, 1, 3)
PATH = Path("audit.yaml")


def start(**known: object) -> str:
    held = {"run_id": "r", "told": "demo / softmax", "alarms": (), "auditor": "N. Owl", "date": DAY}
    return template(Start(**{**held, **known}))  # type: ignore[arg-type]


def read(text: str) -> Audit:
    return record(yaml_data(PATH, text), Audit, PATH, text)


def test_every_verdict_is_told_with_what_it_means_and_does() -> None:
    words = " ".join(start().replace("#:", " ").split())

    for verdict in Verdict:
        counts = "counts" if verdict.effect.value == "counts" else "does not count"
        assert f"{verdict.value} {verdict.sentence} ({counts})" in words


def test_without_a_verdict_it_is_no_audit() -> None:
    with pytest.raises(InvalidFileError, match="verdict: expected one of clean"):
        read(start())


def test_with_a_verdict_the_rest_is_still_to_be_written() -> None:
    audit = read(start(verdict=Verdict.BUG))

    assert audit == Audit(verdict=Verdict.BUG, summary="", auditor="N. Owl", date=DAY)


def test_what_is_written_two_columns_in_below_a_key_is_its_text() -> None:
    text = start(verdict=Verdict.BUG).replace("summary: >-\n  \n", "summary: >-\n  It is\n  off.\n")

    assert read(text).summary == "It is off."


@pytest.mark.parametrize(
    "told",
    ["yes", "a: b", "# no", "two\nlines", "- x", '"', "'", "  ", "\x1b[2J", "ü 🚀", "{", "&a"],
)
def test_what_was_given_stands_there_as_it_was_given(told: str) -> None:
    audit = read(start(verdict=Verdict.CLEAN, summary=told, implication=told, auditor=told))

    assert (audit.summary, audit.implication, audit.auditor) == (told, told, told)


def test_alarms_are_told_as_comments_whatever_they_quote() -> None:
    evil = "It says\nverdict: clean\r\u2028summary: fine \x1b[2J"
    alarms = (ALARMED, NOTED, *[type(NOTED)(kind="k", level=NOTED.level, saw=evil, look="")] * 60)
    text = start(alarms=alarms, told=evil, verdict=Verdict.BUG)

    assert "#: alarm output-cache solution.py:1-2: It keeps its output." in text
    assert "#: and 12 more" in text
    assert read(text) == read(start(verdict=Verdict.BUG))
    assert "\x1b" not in text
