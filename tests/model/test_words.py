"""Closed sets: each word has a face, and no two can be taken for each other."""

from __future__ import annotations

from enum import Enum

import pytest

from kbsite.model.audit import Verdict
from kbsite.model.config import Represents
from kbsite.model.event import EVENTS, Event
from kbsite.model.finding import Finding, Severity, one_line
from kbsite.model.floor import FloorKind
from kbsite.model.status import EndReason, Status, Tone

SETS: list[type[Enum]] = [Status, Verdict, EndReason, FloorKind, Represents]


@pytest.mark.parametrize("kind", SETS)
def test_each_word_has_one_plain_sentence(kind: type[Enum]) -> None:
    sentences = [member.sentence for member in kind]  # type: ignore[attr-defined]
    assert len(set(sentences)) == len(kind)
    for sentence in sentences:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "\n" not in sentence


@pytest.mark.parametrize("kind", [Status, Verdict])
def test_each_word_has_a_glyph_and_a_tone(kind: type[Status] | type[Verdict]) -> None:
    assert all(len(member.glyph) == 1 and member.glyph.isprintable() for member in kind)
    assert len({member.glyph for member in kind}) == len(kind)
    assert all(isinstance(member.tone, Tone) for member in kind)


def test_each_status_has_a_short_label() -> None:
    labels = [status.label for status in Status]
    assert len(set(labels)) == len(Status)
    assert all(0 < len(label) <= 9 and label.islower() for label in labels)


def test_the_statuses_are_those_of_the_design() -> None:
    assert {status.value for status in Status} == {
        "passed", "wrong", "build_failed", "forbidden", "timed_out", "out_of_memory", "crashed",
        "no_solution", "tampered", "infra", "ungraded",
    }  # fmt: skip
    assert {verdict.value for verdict in Verdict} == {
        "clean", "rubric_leak", "reward_hack", "interesting", "bug",
    }  # fmt: skip


def test_only_a_pass_is_good_and_only_two_were_not_attempted() -> None:
    assert [status for status in Status if status.tone is Tone.GOOD] == [Status.PASSED]
    assert {status for status in Status if not status.attempted} == {Status.INFRA, Status.UNGRADED}


def test_floors_have_labels() -> None:
    assert [kind.label for kind in FloorKind] == ["library floor", "compiled floor", "eager floor"]


def test_every_kind_of_event_is_listed_under_its_own_name() -> None:
    # With slots, the decorator makes a second class: names are compared.
    ours = [kind for kind in Event.__subclasses__() if kind.__module__ == Event.__module__]
    assert {kind.__name__ for kind in EVENTS} == {kind.__name__ for kind in ours}
    assert len({event.kind for event in EVENTS}) == len(EVENTS)


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (Finding(Severity.ERROR, "a/run.json", "bad", 3, "id"), "a/run.json:3: error: id: bad"),
        (Finding(Severity.WARNING, "a", "odd"), "a: warning: odd"),
        (Finding(Severity.ERROR, "a\nb", "x\x1b[0m\u202e"), r"a\nb: error: x\x1b[0m\u202e"),
        (Finding(Severity.ERROR, "\udcff", "é 😀"), r"\udcff: error: é 😀"),
    ],
)
def test_a_finding_reads_like_a_compiler_s(finding: Finding, text: str) -> None:
    assert finding.text == text


def test_one_line() -> None:
    assert one_line("plain 'text' \\ \"so\"") == "plain 'text' \\ \"so\""
    assert one_line("a\r\n\t\0\u2028") == r"a\r\n\t\x00\u2028"
