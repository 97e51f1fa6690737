"""The order in which runs have to be read, and why each has to."""

from __future__ import annotations

from pathlib import Path

from kbsite.pages.queue import waiting, why_due
from tests.auditing.sites import ALARMED, NOTED, WARNED, noticing
from tests.conftest import MakeRun, MakeSettings


def test_what_is_relied_on_most_and_trusted_least_comes_first(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=("softmax", "topk"))
    board = tmp_path / "runs" / "demo"
    made = {
        (problem, model): make_run(
            board, problem=problem, model=model, metrics={"peak_fraction": score}
        ).name
        for problem, model, score in [
            ("softmax", "best-warned", 0.9),
            ("softmax", "alarmed", 0.2),
            ("softmax", "warned", 0.3),
            ("softmax", "high", 0.5),
            ("softmax", "higher", 0.6),
            ("topk", "best", 0.15),
        ]
    }
    site = noticing(
        settings,
        {
            made["softmax", "best-warned"]: (WARNED,),
            made["softmax", "alarmed"]: (ALARMED, NOTED),
            made["softmax", "warned"]: (WARNED,),
            made["softmax", "high"]: (NOTED,),
        },
    )

    order = [one.stored.run.model for one in waiting(site)]
    assert order == ["best-warned", "alarmed", "warned", "best", "higher", "high"]


def test_each_run_says_every_reason_why_it_is_due(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, audit_threshold=0.25)
    run = make_run(tmp_path / "runs" / "demo")
    site = noticing(settings, {run.name: (ALARMED,)})

    [one] = waiting(site)
    told = "; ".join(one.reasons)
    assert "(alarm)" in told
    assert "best" in told
    assert "25 %" in told
    assert why_due(site, run.name) == one.reasons


def test_a_low_score_is_due_only_where_it_is_the_best_of_its_problem(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    best = make_run(board, model="a", metrics={"peak_fraction": 0.05}).name
    low = make_run(board, model="b", metrics={"peak_fraction": 0.04}).name
    failed = make_run(board, model="c", metrics={"status": "wrong"}).name
    site = noticing(settings, {})

    assert [one.stored.run.id for one in waiting(site)] == [best]
    assert why_due(site, low) == why_due(site, failed) == ()


def test_everything_lists_what_nothing_asks_for_last(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    first = make_run(board, model="a").name
    second = make_run(board, model="a", metrics={"peak_fraction": 0.9}).name
    audited = make_run(board, model="b", audit={}).name
    site = noticing(settings, {second: (NOTED,)})

    found = waiting(site, everything=True)
    assert [(one.stored.run.id, bool(one.reasons)) for one in found] == [
        (first, True),
        (second, False),
    ]
    assert audited not in {one.stored.run.id for one in found}


def test_a_run_that_is_audited_waits_no_more_but_still_says_why_it_was_due(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    run = make_run(tmp_path / "runs" / "demo", audit={}).name
    site = noticing(settings, {})

    assert waiting(site) == []
    assert why_due(site, run)


def test_runs_of_equal_need_stand_in_order_of_id(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    board = tmp_path / "runs" / "demo"
    made = [make_run(board, model=model).name for model in ("c", "b", "a")]
    best, *rest = [one.stored.run.id for one in waiting(noticing(settings, {}))]

    assert rest == sorted(set(made) - {best})


def test_a_run_of_no_board_is_due_for_nobody(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, hardware="gpu-a")
    refused = make_run(tmp_path / "runs" / "demo", hardware="gpu-b").name

    assert why_due(noticing(settings, {}), refused) == ()
