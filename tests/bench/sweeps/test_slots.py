"""Slots of a provider: halved when it refuses, given back slowly."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.proxy.form import Outcome
from bench.sweeps.refusals import LOG, Refusals, failure
from bench.sweeps.slots import BURST, CALM_SECONDS, WINDOW_SECONDS, Slots
from tests.bench.sweeps.sweeps import Ticks, exchange


@pytest.fixture(name="now")
def _now() -> Ticks:
    return Ticks()


def burst(slots: Slots) -> None:
    slots.refused(BURST)


def test_a_burst_halves_and_the_last_slot_stays(now: Ticks) -> None:
    slots = Slots(9, now)
    seen = [slots.allowed]
    for _ in range(5):
        burst(slots)
        seen.append(slots.allowed)

    assert seen == [9, 4, 2, 1, 1, 1]


def test_single_refusals_far_apart_change_nothing(now: Ticks) -> None:
    slots = Slots(8, now)
    for _ in range(20):
        slots.refused()
        now.wait(WINDOW_SECONDS)

    assert slots.allowed == 8


def test_refusals_of_several_sessions_within_the_window_are_one_burst(now: Ticks) -> None:
    slots = Slots(8, now)
    for _ in range(BURST):
        slots.refused()
        now.wait(WINDOW_SECONDS / BURST)

    assert slots.allowed == 4


def test_a_slot_at_a_time_comes_back_in_the_calm(now: Ticks) -> None:
    slots = Slots(8, now)
    burst(slots)
    seen = []
    for _ in range(6):
        now.wait(CALM_SECONDS)
        seen.append(slots.allowed)

    assert seen == [5, 6, 7, 8, 8, 8]


def test_a_long_calm_gives_back_all_and_no_more(now: Ticks) -> None:
    slots = Slots(8, now)
    burst(slots)
    now.wait(100 * CALM_SECONDS)

    assert slots.allowed == 8


def test_a_single_refusal_makes_the_calm_begin_anew(now: Ticks) -> None:
    slots = Slots(8, now)
    burst(slots)
    now.wait(CALM_SECONDS - 1)
    slots.refused()
    now.wait(CALM_SECONDS - 1)
    assert slots.allowed == 4
    now.wait(1)
    assert slots.allowed == 5


def write(run: Path, text: str) -> None:
    run.mkdir(exist_ok=True)
    with (run / LOG).open("a") as stream:
        stream.write(text)


REFUSED, ANSWERED = exchange(429), exchange()


def test_refusals_are_counted_once_as_the_log_grows(tmp_path: Path) -> None:
    refusals, run = Refusals(), tmp_path / "a.partial"
    assert refusals.new(run).crowded == 0
    write(run, REFUSED + ANSWERED)
    assert refusals.new(run).crowded == 1
    assert refusals.new(run).crowded == 0
    write(run, REFUSED[:30])
    assert refusals.new(run).crowded == 0
    write(run, REFUSED[30:] + REFUSED)
    assert refusals.new(run).crowded == 2


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (exchange(529), 1),
        (exchange(500), 0),
        (exchange(401), 0),
        (exchange(None, outcome=Outcome.UNREACHABLE), 0),
        (exchange(429, outcome=Outcome.ABANDONED), 0),
    ],
)
def test_only_what_fewer_sessions_would_help_is_a_refusal(
    tmp_path: Path, line: str, count: int
) -> None:
    write(tmp_path / "a", line)
    assert Refusals().new(tmp_path / "a").crowded == count


def test_each_run_has_a_log_of_its_own(tmp_path: Path) -> None:
    refusals = Refusals()
    for name in ("a", "b"):
        write(tmp_path / name, REFUSED)
        assert refusals.new(tmp_path / name).crowded == 1


@pytest.mark.parametrize(
    "line", ["no JSON", "[429]", '{"status": 429}', "429", "\x00", "[" * 5000, "\xff"]
)
def test_a_line_that_is_no_exchange_is_passed_over(tmp_path: Path, line: str) -> None:
    refusals, run = Refusals(), tmp_path / "a"
    write(run, f"{line}\n{REFUSED}")

    assert refusals.new(run).crowded == 1
    assert (found := failure(run, "here")) is not None
    assert not found.trouble.to_mend


def test_a_log_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(REFUSED + exchange(401))
    run = tmp_path / "a"
    run.mkdir()
    (run / LOG).symlink_to(tmp_path / "elsewhere")

    assert Refusals().new(run).crowded == 0
    assert failure(run, "here") is None
    assert failure(tmp_path / "gone", "here") is None


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([exchange(401)], "here answered with status 401, the key was refused"),
        ([exchange(), exchange(402)], "no credit left"),
        ([exchange(403, error="permission_error: no"), ANSWERED[:9]], "to this key, or to this"),
        ([exchange(401), exchange(429, outcome=Outcome.ABANDONED)], "the key was refused"),
        ([exchange(401), exchange(404, model_request=False)], "the key was refused"),
    ],
)
def test_what_a_person_has_to_mend_is_told(tmp_path: Path, lines: list[str], words: str) -> None:
    write(tmp_path / "a", "".join(lines))
    found = failure(tmp_path / "a", "here")
    assert found is not None
    assert words in found.sentence
    assert found.trouble.to_mend


@pytest.mark.parametrize("last", [exchange(), exchange(500), exchange(429), exchange(400), ""])
def test_what_may_be_better_another_time_needs_nobody(tmp_path: Path, last: str) -> None:
    write(tmp_path / "a", exchange(401) + last if last else "")
    found = failure(tmp_path / "a", "here")
    assert found is None or not found.trouble.to_mend
