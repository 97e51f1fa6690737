"""Copies of solution.py are held against the replayed edits; where they differ, both stand."""

from __future__ import annotations

from collections.abc import Sequence

from kbsite.model.event import Edit
from kbsite.model.snapshot import Recorded, Snapshots
from kbsite.trajectories import snapshots as module
from kbsite.trajectories.snapshots import MOST, SCORES, snapshots
from tests.fold.making import START
from tests.trajectories.sessions import CWD, Work, moment

PATH = f"{CWD}/solution.py"


def written(*texts: str | None) -> Work:
    """A session that writes each text, ten seconds apart; None is a command of unknown effect."""
    work = Work()
    for number, text in enumerate(texts, start=1):
        at = 10.0 * number
        if text is None:
            work.run("perl -pi -e s/a/b/ solution.py", at=(at, at))
        else:
            work.edit(Edit(PATH, None, text), at=at)
    return work


def copy(text: str, seconds: float | None, name: str = "") -> Recorded:
    return Recorded(name or f"snapshots/{seconds}.py", moment(seconds), text)


def made(work: Work, copies: Sequence[Recorded] = (), final: str | None = None) -> Snapshots:
    last = Recorded("solution.py", None, final) if final is not None else None
    return snapshots(work.trajectory(), copies, last, START)


def told(found: Snapshots) -> list[tuple[str | None, str, bool]]:
    return [(s.content, s.origin, s.contradicts) for s in found.held]


def test_without_copies_every_state_is_a_guess() -> None:
    found = made(written("a", "b", None))

    assert told(found) == [("a", "", False), ("b", "", False), (None, "", False)]
    assert [s.elapsed for s in found.held] == [10, 20, 30]
    assert not any(s.exact for s in found.held)
    assert found.places == (0, 1, 2)


def test_a_copy_with_the_same_text_makes_a_state_exact() -> None:
    found = made(written("a", "b", "a"), [copy("a", 12), copy("a", 31)])

    assert told(found) == [
        ("a", "snapshots/12.py", False), ("b", "", False), ("a", "snapshots/31.py", False)
    ]  # fmt: skip


def test_a_copy_stands_for_the_latest_state_that_it_can_be() -> None:
    found = made(written("a", "b", "a"), [copy("a", 31)])

    assert [s.exact for s in found.held] == [False, False, True]


def test_a_copy_tells_what_a_command_made_of_the_file() -> None:
    found = made(written("a", None), [copy("c", 25)])

    assert told(found) == [("a", "", False), ("c", "snapshots/25.py", False)]


def test_a_copy_that_contradicts_the_edits_stands_beside_them_and_says_so() -> None:
    found = made(written("a", "b"), [copy("other", 15)])

    assert told(found) == [
        ("a", "", False), ("other", "snapshots/15.py", True), ("b", "", False)
    ]  # fmt: skip
    assert found.held[1].anchor == ""
    assert found.held[1].elapsed == 15
    assert found.places == (0, 2)
    assert found.contradictions == 1


def test_a_copy_from_before_the_first_edit_contradicts_nothing() -> None:
    found = made(written("a"), [copy("given", 2)])

    assert told(found) == [("given", "snapshots/2.py", False), ("a", "", False)]
    assert found.places == (1,)


def test_a_copy_contradicts_the_edits_only_where_they_give_a_text() -> None:
    by_hand = [copy("a", 11), copy("b", 13), copy("c", 15)]
    found = made(written("a"), by_hand)
    unsure = made(written("a", None), [copy("b", 21), copy("c", 25)])

    assert [s.contradicts for s in found.held] == [False, True, True]
    assert [s.contradicts for s in unsure.held] == [False, False, False]


def test_copies_of_one_text_are_one_state() -> None:
    found = made(written("a"), [copy("a", 11), copy("a", 21), copy("a", None, "x.py")])

    assert len(found.held) == 1


def test_what_was_graded_is_the_last_state() -> None:
    assert told(made(written("a", "b"), final="b"))[-1] == ("b", "solution.py", False)
    assert told(made(written("a", None), final="c"))[-1] == ("c", "solution.py", False)
    assert told(made(written("a", "b"), final="c"))[1:] == [
        ("b", "", False), ("c", "solution.py", True)
    ]  # fmt: skip
    assert told(made(written("a"), [copy("a", 11)], final="c"))[-1] == ("c", "solution.py", True)


def test_without_a_transcript_the_copies_are_all_there_is() -> None:
    found = snapshots(None, [copy("a", 5), copy("b", 9)], None, START)

    assert [(s.content, s.exact, s.elapsed) for s in found.held] == [("a", True, 5), ("b", True, 9)]
    assert snapshots(None, [], copy("a", 5), START).held == ()


def test_a_state_holds_what_checks_told_of_it() -> None:
    work = written("a").run("check", "FAIL: shape 0", at=(12, 13))
    work.edit(Edit(PATH, None, "b"), at=20).run("bench", "peak_fraction: 0.25", at=(22, 23))
    first, second = made(work).held

    assert [(p.passed, p.score) for p in first.scores] == [(False, None)]
    assert [(p.passed, p.score) for p in second.scores] == [(None, 0.25)]
    many = written("a")
    for number in range(SCORES + 3):
        many.run("bench", f"peak_fraction: 0.{number + 1}", at=(12 + number, 12 + number))
    assert [p.score for p in made(many).held[0].scores] == [0.4, 0.5, 0.6, 0.7]


def test_of_thousands_of_states_the_scored_and_the_last_are_kept() -> None:
    work = Work()
    for number in range(MOST + 500):
        work.edit(Edit(PATH, None, f"v{number}"), at=float(number))
        if number == 777:
            work.run("bench", "peak_fraction: 0.5", at=(777.2, 777.5))
    found = made(work, final=f"v{MOST + 499}")
    texts = [s.content for s in found.held]

    assert len(texts) <= MOST
    assert texts[-1] == f"v{MOST + 499}"
    assert found.held[-1].exact
    scored = [s for s in found.held if s.scores]
    assert [s.content for s in scored] == ["v777"]
    assert sum(s.changes for s in found.held) == MOST + 500
    assert len(found.places) == MOST + 500
    assert texts[found.places[777]] == "v777"
    assert list(found.places) == sorted(found.places)
    assert any(s.text.startswith("2 changes, the last one") for s in found.held)


def test_few_are_spread_with_both_ends() -> None:
    assert list(module._spread(range(100), 3)) == [0, 49, 99]
    assert list(module._spread(range(2), 3)) == [0, 1]


def commands(*times: tuple[float, float]) -> Work:
    """A session that writes a text, and whose commands, of unknown effect, ran at those times."""
    work = Work()
    work.edit(Edit(PATH, None, "a"), at=1)
    for begun, ended in times:
        work.run("perl -pi -e s/a/b/ solution.py", at=(begun, ended))
    return work


def places(found: Snapshots) -> list[tuple[str | None, str, float | None]]:
    return [(s.content, s.anchor and s.origin, s.elapsed) for s in found.held]


def test_a_copy_that_is_taken_while_a_command_runs_tells_what_that_command_made() -> None:
    found = made(commands((10, 20), (30, 31), (40, 50)), [copy("b", 11), copy("c", 45)])

    assert places(found) == [
        ("a", "", 1), ("b", "snapshots/11.py", 20), (None, "", 31), ("c", "snapshots/45.py", 50)
    ]  # fmt: skip
    assert found.contradictions == 0


def test_a_command_that_changes_the_file_twice_has_both_copies() -> None:
    found = made(commands((10, 20)), [copy("b", 11), copy("c", 15), copy("d", 21)])

    assert [(s.content, bool(s.anchor)) for s in found.held] == [
        ("a", True), ("b", True), ("c", True), ("d", False)
    ]  # fmt: skip
    assert found.places == (0, 2)


def test_a_copy_right_after_a_command_is_of_that_one_and_not_of_the_next() -> None:
    found = made(commands((10, 20), (20.2, 30)), [copy("b", 20.9)])

    assert places(found) == [("a", "", 1), ("b", "snapshots/20.9.py", 20), (None, "", 30)]
