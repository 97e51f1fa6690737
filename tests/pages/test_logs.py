"""Logs on a run's page: short ones whole, with a place for each line that a proven quote cites."""

from __future__ import annotations

from pathlib import Path

import pytest
from markupsafe import Markup

from kbsite.model.audit import Quote
from kbsite.model.proof import Proof, ProofState
from kbsite.pages.logs import SHORT, Stretch, log_places, logs
from kbsite.pages.long_text import WHOLE
from kbsite.store.run_folders import LOGS
from kbsite.store.runs import read_run
from tests.conftest import MakeRun

CHECK, BENCHMARK, *_ = LOGS


def proof(file: str, *lines: int, state: ProofState = ProofState.PROVEN) -> Proof:
    return Proof(quote=Quote(file=file, lines=lines, text="x"), state=state)


def test_quoted_lines_stand_apart_and_all_others_together(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = read_run(make_run(tmp_path / "demo", files={CHECK: b"one\ntwo\nthree\x0cstill\nfour\n"}))
    [log] = logs(run, (proof(CHECK, 2, 3), proof(CHECK, 4, state=ProofState.DIFFERS)))

    back = Markup(
        '<a class=cite href="index.html#quote-1" aria-label="quoted by the audit: 1"></a>'
    )
    assert log.stretches == (
        Stretch("one\n"),
        Stretch("two\n", "log-1-L2", back),
        Stretch("three\x0cstill\n", "log-1-L3"),
        Stretch("four\n"),
    )
    assert "".join(stretch.text for stretch in log.stretches) == log.text


def test_a_log_that_nobody_quotes_is_one_stretch_and_an_empty_one_is_not_shown(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = read_run(make_run(tmp_path / "demo", files={CHECK: b"", BENCHMARK: b"took 4\n\xff"}))
    [log] = logs(run, (proof(CHECK, 1),))

    assert log.name == BENCHMARK
    assert [stretch.text for stretch in log.stretches] == ["took 4\n\udcff"]


@pytest.mark.parametrize(
    ("lines", "quoted", "opens"),
    [(SHORT, (), True), (SHORT + 1, (), False), (SHORT + 1, (1,), True), (SHORT + 1, (9, 9), True)],
)
def test_a_long_log_is_folded_unless_it_is_quoted(
    lines: int, quoted: tuple[int, ...], opens: bool, tmp_path: Path, make_run: MakeRun
) -> None:
    run = read_run(make_run(tmp_path / "demo", files={CHECK: b"x\n" * lines}))
    [log] = logs(run, (proof(CHECK, *quoted),) if quoted else ())

    assert log.opens is opens


@pytest.mark.parametrize(
    ("text", "lines"), [(b"x\n" * 1999, 1999), (b"x\n\ny", 3), (b"x", 1), (b"\n", 1)]
)
def test_a_line_end_at_the_end_begins_no_line(
    text: bytes, lines: int, tmp_path: Path, make_run: MakeRun
) -> None:
    [log] = logs(read_run(make_run(tmp_path / "demo", files={CHECK: text})), ())

    assert log.lines == lines


def test_of_a_log_that_is_too_long_the_ends_stand_and_those_around_what_is_quoted(
    tmp_path: Path, make_run: MakeRun
) -> None:
    lines = [f"line {number}\n" for number in range(1, 20_001)]
    run = read_run(make_run(tmp_path / "demo", files={CHECK: "".join(lines).encode()}))
    [whole] = logs(run, ())
    [log] = logs(run, (proof(CHECK, 10_000),))

    first, last = whole.stretches
    assert not whole.opens
    assert (first.text[:7], last.text[-11:]) == ("line 1\n", "line 20000\n")
    assert _lines(first.text) + first.left_out + _lines(last.text) == len(lines)
    assert log.opens
    assert [one.place for one in log.stretches] == ["", "", "log-1-L10000", "", ""]
    assert log.stretches[1].text.endswith("line 9999\n")
    assert log.stretches[3].text.startswith("line 10001\n")
    assert sum(_lines(one.text) + one.left_out for one in log.stretches) == len(lines)
    assert sum(len(one.text) for one in log.stretches) < WHOLE


def _lines(text: str) -> int:
    return text.count("\n")


def test_only_proven_quotes_of_logs_that_are_there_have_an_address(
    tmp_path: Path, make_run: MakeRun
) -> None:
    run = read_run(make_run(tmp_path / "demo", files={BENCHMARK: b"a\nb\n"}))
    held = (
        proof(CHECK, 1),
        proof(BENCHMARK, 2),
        proof(BENCHMARK, 1, state=ProofState.ELSEWHERE),
        proof("solution.py", 1),
        proof(BENCHMARK),
    )

    assert log_places(run, held) == {1: "#log-2-L2"}
