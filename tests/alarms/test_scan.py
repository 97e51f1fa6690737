"""What all detectors find together: in order of weight, each failure told and none in silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import pytest

from kbsite import alarms
from kbsite.alarms import Fingerprint, compare, fingerprints, scan
from kbsite.alarms.evidence import Evidence
from kbsite.alarms.kinds import BY_ID, KINDS, SHOWN, alarm, shown
from kbsite.model.alarm import Alarm, Level
from tests.alarms.solutions import evidence

NOTE, WARNING, ALARM = Level.NOTE, Level.WARNING, Level.ALARM
RUN = evidence("x = 1\n")


class Told:
    """A detector that tells what it was given."""

    def __init__(self, *given: Alarm | Exception) -> None:
        self.given = given

    def alarms(self, evidence: Evidence) -> Iterator[Alarm]:
        assert evidence is RUN
        for one in self.given:
            if isinstance(one, Exception):
                raise one
            yield one


class Pairs:
    """A comparison that tells each run of the others."""

    seen: ClassVar[list[list[str]]] = []

    def __init__(self, print_: Fingerprint | Exception) -> None:
        self.print = print_

    def fingerprint(self, evidence: Evidence) -> Fingerprint:
        assert evidence is RUN
        if isinstance(self.print, Exception):
            raise self.print
        return self.print

    def alarms(self, runs: Mapping[str, Fingerprint]) -> Iterator[tuple[str, Alarm]]:
        self.seen.append(list(runs))
        for run in runs:
            yield from (
                (run, alarm("near-identical-source", WARNING, "The same.", other=other))
                for other in runs if other != run
            )  # fmt: skip


def named(kind: str, level: Level, file: str = "solution.py", *lines: int) -> Alarm:
    return alarm(kind, level, "Seen.", file, lines)


def test_what_weighs_most_comes_first_then_files_and_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = Told(
        named("fallback", NOTE, "a.py", 1),
        named("fallback", WARNING, "b.py", 10),
        named("early-exit", WARNING, "b.py", 9),
    )
    second = Told(named("tampering", ALARM, "z.py", 99), named("compiled", WARNING, "b.py", 9))
    monkeypatch.setattr(alarms, "DETECTORS", (first, second))

    assert [(a.level, a.kind, a.lines) for a in scan(RUN)] == [
        (ALARM, "tampering", (99,)), (WARNING, "compiled", (9,)), (WARNING, "early-exit", (9,)),
        (WARNING, "fallback", (10,)), (NOTE, "fallback", (1,)),
    ]  # fmt: skip


def test_a_failure_is_told_on_one_line_beside_what_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, after = named("fallback", NOTE), named("compiled", NOTE)
    torn = Told(before, ValueError("two\nlines"))
    monkeypatch.setattr(alarms, "DETECTORS", (torn, Told(after)))
    told: list[str] = []

    assert scan(RUN, told) == (after, before)
    assert told == ["ValueError: two\\nlines"]
    with pytest.raises(ValueError, match="two"):
        scan(RUN)


def test_fingerprints_keep_their_places_where_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    torn, well = Pairs(KeyError("gone")), Pairs({"a": (1,)})
    monkeypatch.setattr(alarms, "COMPARISONS", (torn, well))
    told: list[str] = []

    assert fingerprints(RUN, told) == ({}, {"a": (1,)})
    assert told == ["KeyError: 'gone'"]
    with pytest.raises(KeyError):
        fingerprints(RUN)


def test_runs_are_compared_in_order_and_without_those_that_are_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Pairs, "seen", [])
    monkeypatch.setattr(alarms, "COMPARISONS", (Pairs({}), Pairs({})))
    given: dict[str, list[Fingerprint]] = {
        "c": [{"x": (1,)}, {}], "a": [{"x": (1,)}, {"x": (2,)}], "b": [{}, {}],
    }  # fmt: skip

    found = compare(given)

    assert Pairs.seen == [["a", "c"], ["a"]]
    assert {run: [a.other for a in held] for run, held in found.items()} == {"a": ["c"], "c": ["a"]}


def test_every_kind_is_told_once_and_says_what_to_look_at() -> None:
    assert len(BY_ID) == len(KINDS)
    for kind in KINDS:
        assert kind.id == kind.id.lower().replace(" ", "-")
        assert kind.look[-1] in "?.", kind.id
        assert kind.title[0].islower(), kind.id


def test_an_alarm_of_an_unknown_kind_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        alarm("no-such-kind", NOTE, "Seen.")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\n  b\tc ", "a b c"),
        ("x" * SHOWN, "x" * SHOWN),
        ("x" * (SHOWN + 1), "x" * (SHOWN - 1) + "…"),
        ("", ""),
    ],
)
def test_a_run_s_own_text_is_flat_and_short(text: str, wanted: str) -> None:
    assert shown(text) == wanted
