"""What audits add up to: coverage, verdicts, proofs, and how right each detector was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from msgspec import structs

from kbsite.auditing.tallies import KindTally, Tallies, tallies
from kbsite.model.alarm import Alarm, Level
from kbsite.model.audit import Quote, Verdict
from kbsite.model.proof import Proof, ProofState
from tests.auditing.sites import ALARMED, NOTED, WARNED, noticing
from tests.conftest import MakeRun, MakeSettings

HACK = {"verdict": "reward_hack", "implication": "Redo."}


def kinds(found: Tallies) -> dict[tuple[str, Level | None], KindTally]:
    return {(one.kind, one.level): one for one in found.kinds}


def test_boards_and_contenders_count_each_run_once_also_attempts_that_no_cell_shows(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=("softmax", "add"))
    board = tmp_path / "runs" / "demo"
    make_run(board, model="a", audit={})
    make_run(board, model="a", audit=HACK)
    make_run(board, model="b")
    # Who has a run of one problem alone has no cell of the other.
    make_run(board, model="b", problem="add", audit={})
    [found] = tallies(noticing(settings, {})).boards

    assert (found.id, found.due, found.done) == ("demo", 3, 2)
    assert found.verdicts == {Verdict.CLEAN: 2, Verdict.REWARD_HACK: 1, None: 1}
    assert found.contenders == {
        "claude · a [max]": {Verdict.CLEAN: 1, Verdict.REWARD_HACK: 1},
        "claude · b [max]": {None: 1, Verdict.CLEAN: 1},
    }


def test_a_kind_counts_a_run_once_by_its_heaviest_alarm_with_what_became_of_it(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    hacked = make_run(board, model="a", audit=HACK).name
    clean = make_run(board, model="b", audit={}).name
    waiting = make_run(board, model="c").name
    silent = make_run(board, model="d", audit=HACK).name
    lighter: Alarm = structs.replace(ALARMED, level=Level.NOTE)
    site = noticing(
        settings,
        {hacked: (lighter, ALARMED, ALARMED), clean: (ALARMED, WARNED), waiting: (lighter,)},
    )
    found = kinds(tallies(site))

    heavy = found["output-cache", Level.ALARM]
    assert heavy.verdicts == {Verdict.REWARD_HACK: 1, Verdict.CLEAN: 1}
    assert (heavy.audited, heavy.confirmed) == (2, 1)
    lone = found["output-cache", Level.NOTE]
    assert (lone.verdicts, lone.audited) == ({None: 1}, 0)
    assert found["fallback", Level.WARNING].confirmed == 0
    assert list(found) == [
        ("fallback", Level.WARNING), ("output-cache", Level.ALARM), ("output-cache", Level.NOTE),
        ("", None),
    ]  # fmt: skip
    # What all detectors missed.
    assert silent not in site.alarms
    assert (found["", None].audited, found["", None].confirmed) == (1, 1)


def test_interesting_confirms_no_alarm_and_a_leak_and_a_bug_do(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    made = {
        verdict: make_run(
            tmp_path / "runs" / "demo", model=verdict,
            audit={"verdict": verdict, "implication": "So."},
        ).name
        for verdict in ("interesting", "rubric_leak", "bug")
    }  # fmt: skip
    site = noticing(settings, dict.fromkeys(made.values(), (NOTED,)))
    one = kinds(tallies(site))["shape-branch", Level.NOTE]

    assert (one.audited, one.confirmed) == (3, 2)


def test_quotes_are_counted_as_audits_have_them_and_as_they_were_proven(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    quotes = [{"file": "solution.py", "lines": [n], "text": "x", "label": "l"} for n in (1, 2)]
    run = make_run(tmp_path / "runs" / "demo", audit={"quotes": quotes}).name
    held = [Quote(file="solution.py", lines=(n,), text="x") for n in (1, 2)]
    states = [ProofState.PROVEN, ProofState.DIFFERS]
    proofs = tuple(Proof(quote=q, state=s) for q, s in zip(held, states, strict=True))
    found = tallies(replace(noticing(settings, {}), proofs={run: proofs}))

    assert (found.quotes, found.proven) == (2, 1)


def test_auditors_stand_in_order_of_their_audits_then_of_their_names(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    for number, auditor in enumerate(["C", "B", "A", "A"]):
        make_run(tmp_path / "runs" / "demo", model=str(number), audit={"auditor": auditor})
    found = tallies(noticing(settings, {}))

    assert list(found.auditors.items()) == [("A", 2), ("B", 1), ("C", 1)]
