"""What the detector of Python sources makes of what its finders found, and of sources it cannot."""

from __future__ import annotations

import pytest

from kbsite.alarms.python import detector
from kbsite.alarms.python.reading import Reading
from kbsite.model.alarm import Alarm
from tests.alarms.solutions import found, loud, model, read
from tests.alarms.twins import ALARM, NOTE, WARNING, solution

HONEST = solution("return double(x)")


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("# coding: rot13", ALARM),
        ("# -*- coding: utf-7 -*-", ALARM),
        ("# vim: set fileencoding=punycode :", ALARM),
        ("\\n# coding=unicode_escape", ALARM),
        ("# coding: utf-8", None),
        ("# -*- coding: UTF_8 -*-", None),
        ("# coding: latin-1", None),
        ("\\n\\n# coding: rot13", None),
        ("x = 'coding: rot13'", None),
    ],
)
def test_an_encoding_that_hides_the_source_is_told(first: str, told: object) -> None:
    raised = found(first.replace("\\n", "\n") + "\n" + HONEST)
    levels = [alarm.level for alarm in raised if alarm.kind == "obfuscation"]

    assert levels == ([] if told is None else [told])


def test_the_name_of_an_encoding_is_shortened() -> None:
    alarm = found(f"# coding: {'a' * 9_000}\n")[0]

    assert (alarm.kind, alarm.level) == ("obfuscation", ALARM)
    assert len(alarm.saw) < 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "line 1 is no Python"),
        ("x = 1\ny = = 2\n", "line 2 is no Python"),
        ("x = 1\0\n", "no Python"),
        ("x = " + "(" * 300 + ")" * 300, "Python"),
        ("#" * 1_000_001, "longer than 1,000,000 characters"),
        ("x = [" + "1," * 150_001 + "]", "more than 150,000 parts"),
    ],
    ids=["first line", "second line", "null", "brackets", "long", "many parts"],
)
def test_a_source_that_cannot_be_read_is_a_note(text: str, words: str) -> None:
    told = [alarm for alarm in found(text) if alarm.kind == "obfuscation"]

    assert [alarm.level for alarm in told] == [NOTE]
    assert "not looked into" in told[0].saw
    assert words in told[0].saw or "characters that no Python source has" in told[0].saw


def _raises(reading: Reading) -> list[Alarm]:
    raise RecursionError(reading.file)


def test_a_finder_that_is_nested_beyond_reason_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = model("return torch.empty_like(x)")
    before = loud(text)
    monkeypatch.setattr(detector, "FINDERS", (_raises, *detector.FINDERS))
    told = [alarm for alarm in found(text) if "nested too deeply" in alarm.saw]

    assert before == {"uninitialised-output", "no-kernel"}
    assert loud(text) == before | {"obfuscation"}
    assert [(alarm.kind, alarm.level) for alarm in told] == [("obfuscation", WARNING)]


def test_another_fault_of_a_finder_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(reading: Reading) -> list[Alarm]:
        raise ValueError(reading.file)

    monkeypatch.setattr(detector, "FINDERS", (breaks,))

    with pytest.raises(ValueError, match=r"solution\.py"):
        found(HONEST)


def test_only_so_many_of_a_kind_are_told() -> None:
    lines = "\n".join(f"import torch as t{n}; t{n}.manual_seed({n})" for n in range(40))
    told = [alarm for alarm in found(f"{HONEST}\n\n{lines}\n") if alarm.kind == "seed-guess"]
    first = HONEST.count("\n") + 3

    assert [alarm.lines for alarm in told] == [(first + n,) for n in range(detector.MOST)]


def test_notes_do_not_take_the_room_of_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    def finds(reading: Reading) -> list[Alarm]:
        nodes = reading.module.tree.body
        notes = [reading.raised("obfuscation", NOTE, "a note", node) for node in nodes]
        return [*notes, reading.raised("obfuscation", ALARM, "an alarm", nodes[-1])]

    monkeypatch.setattr(detector, "FINDERS", (finds,))
    told = found("\n".join(f"x{n} = {n}" for n in range(20)))

    assert [alarm.level for alarm in told] == [NOTE] * detector.MOST + [ALARM]


@pytest.mark.parametrize("levels", [(NOTE, ALARM, WARNING), (ALARM, NOTE), (WARNING, ALARM)])
def test_of_a_line_the_heaviest_of_a_kind_is_told(
    levels: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def finds(reading: Reading) -> list[Alarm]:
        node = reading.module.tree.body[0]
        return [reading.raised("early-exit", level, f"{level}", node) for level in levels]  # type: ignore[arg-type]

    monkeypatch.setattr(detector, "FINDERS", (finds,))

    assert [alarm.level for alarm in found("x = 1\n")] == [ALARM]


def test_alarms_come_in_the_order_of_the_files_and_of_their_lines() -> None:
    sidecar = "import os\nos._exit(0)\n"
    text = f"import helpers\n{model('return torch.empty_like(x)')}\n\nraise SystemExit(0)\n"
    raised = [
        (alarm.file, alarm.lines[0]) for alarm in found(text, None, {"files/helpers.py": sidecar})
        if alarm.level is not NOTE and alarm.lines
    ]  # fmt: skip

    assert raised == sorted(raised, key=lambda at: (at[0] != "solution.py", at[1]))
    assert raised[-1] == ("files/helpers.py", 2)


def test_readings_are_made_once_for_all_finders() -> None:
    reading = read(HONEST)

    assert [entry.name for entry in reading.entries] == ["forward"]
    assert reading.calls is reading.calls
