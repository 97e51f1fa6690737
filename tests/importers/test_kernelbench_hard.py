"""The published board as run directories: the rules, on a small hand-made board."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kbsite.errors import KbsiteError
from kbsite.importers.kernelbench_hard import NO_REASON, NO_SCORE, NO_TRANSCRIPT, import_board
from kbsite.importers.report import UNREADABLE, Report
from kbsite.model.audit import Verdict
from kbsite.model.proof import ProofState
from kbsite.model.run import Contender
from kbsite.model.status import EndReason, Status
from kbsite.store.manifests import manifest_findings
from kbsite.store.run_folders import run_folders
from kbsite.store.runs import StoredRun, read_run
from tests.importers.published_board import (
    ALPHA_1,
    ALPHA_3,
    ATTENTION,
    BETA_1,
    BETA_3,
    BROKEN,
    GEMM,
    NOTE,
    cell,
    published,
)

Publish = Callable[..., Path]


def imported(source: Path, out: Path) -> tuple[Report, dict[str, StoredRun]]:
    report = import_board(source, out)
    return report, {folder.name: read_run(folder) for folder in run_folders(out)}


def found(report: Report) -> list[str]:
    return [oddity.found for oddity in report.oddities]


def with_cell(row: int, problem: str, **keys: Any) -> dict[str, Any]:
    """The board with some keys of one cell changed, and without any count of it."""
    board = published()
    board["models"][row]["results"][problem].update(keys)
    return without_counts(board)


def without_counts(board: dict[str, Any]) -> dict[str, Any]:
    board["per_problem"] = {}
    for row in board["models"]:
        del row["pass_count"], row["total_runs"]
    return board


def test_a_board_without_oddities_gives_whole_valid_runs(publish: Publish, tmp_path: Path) -> None:
    out = tmp_path / "board-x"
    report, runs = imported(publish(notes={ALPHA_1: NOTE}), out)
    assert report.oddities == ()
    assert sorted(runs) == sorted([ALPHA_1, ALPHA_3, BETA_1, BETA_3])
    for stored in runs.values():
        assert stored.findings == ()
        assert manifest_findings(stored) == []
    assert sorted(path.name for path in out.iterdir()) == sorted([*runs, "floors.json"])


def test_what_the_board_tells_of_a_run_is_carried_over(publish: Publish, tmp_path: Path) -> None:
    _, runs = imported(publish(), tmp_path / "board-x")
    run = runs[ALPHA_1].run
    assert (run.id, run.board, run.problem) == (ALPHA_1, "board-x", GEMM)
    assert run.contender == Contender("codex", "alpha", "high", None)
    assert (run.seconds, run.elapsed_seconds, run.budget_seconds) == (1000, 1000, 2700)
    assert (run.hardware, run.host.gpu) == ("gpu-x", "GPU X Workstation")
    assert run.host.gpu_memory_bytes == 96 * 2**30
    assert run.origin is not None
    assert run.origin.startswith("imported from leaderboard.json")
    assert "codex/alpha [high]" in run.origin
    assert run.notes == (NO_TRANSCRIPT,)


def test_what_the_board_does_not_tell_is_null(publish: Publish, tmp_path: Path) -> None:
    _, runs = imported(publish(), tmp_path / "board-x")
    run, metrics = runs[BETA_1].run, runs[BETA_1].metrics
    for name in (
        "problem_hash", "prompt_hash", "harness_version", "effort", "variant", "base_url_host",
        "command", "environment", "started", "ended", "exit_code", "signal", "usage_source",
        "cost_usd", "sandbox", "kbsite_version", "git_commit",
    ):  # fmt: skip
        assert getattr(run, name) is None, name
    assert not run.usage.known
    assert (metrics.grader, metrics.graded, metrics.interval) == (None, None, None)


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(2699, EndReason.UNKNOWN), (2700, EndReason.BUDGET), (2701, EndReason.BUDGET)],
)
def test_a_session_that_lasted_the_budget_was_cut(
    publish: Publish, tmp_path: Path, seconds: int, reason: EndReason
) -> None:
    source = publish(with_cell(0, GEMM, elapsed_seconds=seconds))
    _, runs = imported(source, tmp_path / "board-x")
    assert runs[ALPHA_1].run.end_reason is reason


def test_another_budget_can_be_told(publish: Publish, tmp_path: Path) -> None:
    import_board(publish(), tmp_path / "board-x", budget_seconds=1000)
    run = read_run(tmp_path / "board-x" / ALPHA_1).run
    assert (run.budget_seconds, run.end_reason) == (1000, EndReason.BUDGET)


@pytest.mark.parametrize(
    ("keys", "status", "detail"),
    [
        ({"correct": True, "peak_fraction": 0.5}, Status.PASSED, None),
        ({"correct": True, "peak_fraction": None}, Status.PASSED, NO_SCORE),
        ({"correct": False, "peak_fraction": None}, Status.WRONG, NO_REASON),
        (
            {"correct": False, "has_solution": False, "peak_fraction": None},
            Status.NO_SOLUTION,
            None,
        ),
    ],
)
def test_the_status_follows_from_the_cell(
    publish: Publish, tmp_path: Path, keys: dict[str, Any], status: Status, detail: str | None
) -> None:
    whole = {"peak_fraction": None, **keys}
    _, runs = imported(publish(with_cell(0, GEMM, **whole)), tmp_path / "board-x")
    metrics = runs[ALPHA_1].metrics
    assert (metrics.status, metrics.detail) == (status, detail)
    assert metrics.peak_fraction == whole["peak_fraction"]
    assert metrics.origin is not None
    assert metrics.origin.startswith("imported from")


def test_a_score_that_did_not_pass_is_not_carried_over(publish: Publish, tmp_path: Path) -> None:
    source = publish(with_cell(0, ATTENTION, peak_fraction=0.3))
    report, runs = imported(source, tmp_path / "board-x")
    assert runs[ALPHA_3].metrics.peak_fraction is None
    assert "a score of 0.3 that did not pass" in found(report)[0]


@pytest.mark.parametrize(
    ("log", "status"),
    [
        ("FAIL: forbidden op used: word", Status.FORBIDDEN),
        ("FAIL: shape 0 seed 42: tolerance exceeded", Status.WRONG),
        ("It says FAIL: forbidden op used: word", Status.WRONG),
    ],
)
def test_only_the_gates_own_words_make_a_run_forbidden(
    publish: Publish, tmp_path: Path, log: str, status: Status
) -> None:
    quote = {"file": "check.log", "lines": [1], "label": "", "text": log}
    note = {**NOTE, "run_id": ALPHA_3, "problem": ATTENTION, "peak_fraction": None}
    note |= {"summary": "FAIL: forbidden op used: word", "quotes": [quote]}
    _, runs = imported(publish(notes={ALPHA_3: note}), tmp_path / "board-x")
    metrics = runs[ALPHA_3].metrics
    assert metrics.status is status
    assert metrics.detail == (log if status is Status.FORBIDDEN else NO_REASON)


def test_the_gates_words_do_not_undo_a_pass(publish: Publish, tmp_path: Path) -> None:
    quote = {"file": "check.log", "lines": [1], "text": "FAIL: forbidden op used: word"}
    source = publish(notes={ALPHA_1: {**NOTE, "quotes": [quote]}})
    _, runs = imported(source, tmp_path / "board-x")
    assert runs[ALPHA_1].metrics.status is Status.PASSED


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("openrouter-pinned/lab/beta", "openrouter (pinned)"),
        ("lab/beta", "lab"),
        ("beta", None),
    ],
)
def test_the_provider_of_opencode_is_in_the_models_name(
    publish: Publish, tmp_path: Path, model: str, provider: str | None
) -> None:
    board = published()
    board["models"][1].update(model=model, label=f"opencode/{model}")
    board["models"][0].update(model="lab/alpha", label="codex/lab/alpha [high]")
    _, runs = imported(publish(board), tmp_path / "board-x")
    assert runs[BETA_1].run.provider == provider
    assert runs[BETA_1].run.model == model
    assert runs[ALPHA_1].run.provider is None


def test_a_mark_that_is_no_effort_sets_a_row_apart(publish: Publish, tmp_path: Path) -> None:
    board = without_counts(published())
    again = {**board["models"][0], "label": "codex/alpha [high] [2026-05-08]"}
    again["results"] = {GEMM: cell("20260508_000000_codex_alpha_01_fp8_gemm", 0.1)}
    board["models"].append(again)
    report, runs = imported(publish(board), tmp_path / "board-x")
    again_run = runs["20260508_000000_codex_alpha_01_fp8_gemm"].run
    assert again_run.contender == Contender("codex", "alpha", "high", "2026-05-08")
    assert again_run.contender != runs[ALPHA_1].run.contender
    assert any("once more" in text for text in found(report))
    assert any("has no run on" in text for text in found(report))


def test_a_note_becomes_an_audit_without_its_numbers(publish: Publish, tmp_path: Path) -> None:
    _, runs = imported(publish(notes={ALPHA_1: NOTE}), tmp_path / "board-x")
    audit = runs[ALPHA_1].audit
    assert audit is not None
    assert (audit.verdict, audit.summary) == (Verdict.RUBRIC_LEAK, "It takes a way round.")
    assert audit.implication == "The rubric has a hole."
    assert audit.quotes[0].text == "a = 1\nb = 2\n"
    assert (audit.auditor, audit.date) == ("the board's authors, as published", None)
    assert audit.origin.startswith(f"annotations/{ALPHA_1}.yaml")
    assert "peak_fraction" not in (runs[ALPHA_1].folder / "audit.yaml").read_text("utf-8")


def test_a_note_that_is_no_yaml_gives_what_can_be_read(publish: Publish, tmp_path: Path) -> None:
    report, runs = imported(publish(notes={ALPHA_3: BROKEN}), tmp_path / "board-x")
    audit = runs[ALPHA_3].audit
    assert audit is not None
    assert [quote.file for quote in audit.quotes] == ["check.log"]
    assert runs[ALPHA_3].metrics.status is Status.FORBIDDEN
    assert (report.audits, report.quotes_kept, report.quotes_refused) == (1, 1, 1)
    lines = {(oddity.line, oddity.key) for oddity in report.oddities}
    assert lines == {(12, "quotes[0]"), (19, None)}


def test_a_number_that_differs_is_reported_and_the_boards_is_taken(
    publish: Publish, tmp_path: Path
) -> None:
    source = publish(notes={ALPHA_1: {**NOTE, "peak_fraction": 0.51}})
    report, runs = imported(source, tmp_path / "board-x")
    (oddity,) = report.oddities
    assert (oddity.line, oddity.key) == (6, "peak_fraction")
    assert oddity.found == "says 0.51, the board 0.5"
    assert runs[ALPHA_1].metrics.peak_fraction == 0.5


@pytest.mark.parametrize(
    ("name", "run_id", "words"),
    [
        ("20250101_000000_x", "20250101_000000_x", "is not on the board"),
        ("other", ALPHA_1, "which the file's name does not say"),
    ],
)
def test_notes_that_fit_no_run_are_reported(
    publish: Publish, tmp_path: Path, name: str, run_id: str, words: str
) -> None:
    source = publish(notes={name: {**NOTE, "run_id": run_id}})
    report, _ = imported(source, tmp_path / "board-x")
    assert any(words in text for text in found(report))


def test_the_second_note_on_a_run_is_left_out(publish: Publish, tmp_path: Path) -> None:
    notes = {ALPHA_1: NOTE, "zweite": {**NOTE, "summary": "Another one."}}
    report, runs = imported(publish(notes=notes), tmp_path / "board-x")
    audit = runs[ALPHA_1].audit
    assert audit is not None
    assert audit.summary == "It takes a way round."
    assert any("has a note already" in text for text in found(report))


@pytest.mark.parametrize(
    "run_id", ["", ".", "..", "../evil", "a/b", "/abs", "a\\b", "x" * 300, "a\nb", "a\0b", "-rf",
               ".hidden", "run.partial", "é"],
)  # fmt: skip
def test_run_ids_that_cannot_name_a_folder_are_refused(
    publish: Publish, tmp_path: Path, run_id: str
) -> None:
    source = publish(with_cell(0, GEMM, run_id=run_id))
    before = set(tmp_path.rglob("*"))
    report, runs = imported(source, tmp_path / "deep" / "board-x")
    assert sorted(runs) == sorted([ALPHA_3, BETA_1, BETA_3])
    assert any("cannot be the name of a folder" in text for text in found(report))
    after = set(tmp_path.rglob("*")) - before
    assert all(path.is_relative_to(tmp_path / "deep") for path in after)
    assert report.text().isprintable() or "\n" in report.text()


def test_problems_that_cannot_name_a_folder_are_refused(publish: Publish, tmp_path: Path) -> None:
    board = without_counts(published())
    board["models"][0]["results"]["../evil"] = cell("20260101_020000_codex_alpha_x")
    report, runs = imported(publish(board), tmp_path / "board-x")
    assert len(runs) == 4
    assert any("'../evil' cannot be the name" in text for text in found(report))


def test_a_run_id_that_stands_for_two_cells_is_taken_once(publish: Publish, tmp_path: Path) -> None:
    report, runs = imported(publish(with_cell(1, GEMM, run_id=ALPHA_1)), tmp_path / "board-x")
    assert sorted(runs) == sorted([ALPHA_1, ALPHA_3, BETA_3])
    assert runs[ALPHA_1].run.harness == "codex"
    assert any("stands for another cell already" in text for text in found(report))


def test_a_problem_outside_the_deck_is_left_out(publish: Publish, tmp_path: Path) -> None:
    board = without_counts(published())
    board["problems"] = [GEMM]
    report, runs = imported(publish(board), tmp_path / "board-x")
    assert sorted(runs) == sorted([ALPHA_1, BETA_1])
    assert sum("is not in the board's deck" in text for text in found(report)) == 2


def test_a_second_import_changes_nothing(publish: Publish, tmp_path: Path) -> None:
    source, out = publish(notes={ALPHA_1: NOTE}), tmp_path / "board-x"
    import_board(source, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    times = {path: path.stat().st_mtime_ns for path in before}
    report = import_board(source, out)
    assert (report.written, report.already_there, report.oddities) == (0, 4, ())
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert {path: path.stat().st_mtime_ns for path in before} == times


def test_two_imports_write_the_same_bytes(publish: Publish, tmp_path: Path) -> None:
    source = publish(notes={ALPHA_1: NOTE, ALPHA_3: BROKEN})
    texts = []
    for name in ("a", "b"):
        out = tmp_path / name / "board-x"
        import_board(source, out)
        texts.append({p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()})
    assert texts[0] == texts[1]


def test_runs_that_were_changed_since_are_kept_and_named(publish: Publish, tmp_path: Path) -> None:
    source, out = publish(notes={ALPHA_1: NOTE}), tmp_path / "board-x"
    import_board(source, out)
    (out / ALPHA_1 / "audit.yaml").write_text("verdict: clean\n", "utf-8")
    (out / ALPHA_3 / "audit.yaml").write_text("verdict: clean\n", "utf-8")
    (out / BETA_1 / "manifest.json").unlink()
    (out / "floors.json").write_text("{}", "utf-8")
    report = import_board(source, out)
    assert report.already_there == 4
    assert {oddity.file: oddity.found for oddity in report.oddities} == {
        ALPHA_1: "there already, with another audit.yaml",
        ALPHA_3: "there already, with another audit.yaml",
        BETA_1: "there already, with another manifest.json",
        "floors.json": "there already, with other floors",
    }
    assert (out / ALPHA_1 / "audit.yaml").read_text("utf-8") == "verdict: clean\n"


def test_a_run_that_another_import_broke_off_is_left_to_its_owner(
    publish: Publish, tmp_path: Path
) -> None:
    source, out = publish(), tmp_path / "board-x"
    (out / f"{BETA_3}.partial").mkdir(parents=True)
    report = import_board(source, out)
    assert (report.written, sum(report.cells.values())) == (3, 3)
    (oddity,) = report.oddities
    assert oddity.file == f"{BETA_3}.partial"
    (out / f"{BETA_3}.partial").rmdir()
    report = import_board(source, out)
    assert (report.written, report.already_there, report.oddities) == (1, 3, ())


def test_an_import_that_is_broken_off_leaves_no_run_half_written(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = publish(), tmp_path / "board-x"

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("kbsite.store.manifests.json_text", broken)
        with pytest.raises(KeyboardInterrupt):
            import_board(source, out)
    assert not list(out.glob("*.partial"))
    report = import_board(source, out)
    assert (report.written, report.oddities) == (4, ())


@pytest.mark.parametrize("name", [ALPHA_1, f"{ALPHA_1}.partial"])
def test_nothing_is_written_through_a_link(publish: Publish, tmp_path: Path, name: str) -> None:
    out, elsewhere = tmp_path / "board-x", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / name).symlink_to(elsewhere)
    import_board(publish(), out)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (["schema_version"], 2, "schema_version"),
        (["hardware"], "a GPU", "hardware"),
        (["hardware", "name"], None, "hardware.name"),
        (["models"], {}, "models"),
        (["models", 0], 7, "models[0]"),
        (["models", 1, "harness"], 7, "models[1].harness"),
        (["models", 1, "harness"], "", "models[1].harness"),
        (["models", 1, "results", GEMM], None, "results.01_fp8_gemm"),
        (["models", 1, "results", GEMM, "correct"], "yes", f"models[1].results.{GEMM}.correct"),
        (["models", 1, "results", GEMM, "elapsed_seconds"], -1,
         f"models[1].results.{GEMM}.elapsed_seconds"),
        (["models", 1, "results", GEMM, "elapsed_seconds"], 1e300,
         f"models[1].results.{GEMM}.elapsed_seconds"),
        (["models", 1, "results", GEMM, "run_id"], "\ud800", "half of a character"),
        (["models", 1, "results", GEMM, "peak_fraction"], "0.5",
         f"models[1].results.{GEMM}.peak_fraction"),
        (["per_problem", GEMM, "n_passed"], 1.5, f"per_problem.{GEMM}.n_passed"),
        (["problems"], [1], "problems[0]"),
    ],
)  # fmt: skip
def test_a_malformed_board_is_refused_by_file_and_key(
    publish: Publish, tmp_path: Path, path: list[str | int], value: object, key: str
) -> None:
    board: Any = published()
    node = board
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    with pytest.raises(KbsiteError) as caught:
        import_board(publish(board), tmp_path / "board-x")
    assert "leaderboard.json" in str(caught.value)
    assert key in str(caught.value)
    assert not (tmp_path / "board-x").exists()


@pytest.mark.parametrize("gone", ["schema_version", "hardware", "problems", "models"])
def test_a_missing_key_is_named(publish: Publish, tmp_path: Path, gone: str) -> None:
    board = published()
    del board[gone]
    with pytest.raises(KbsiteError, match=gone):
        import_board(publish(board), tmp_path / "board-x")


@pytest.mark.parametrize("gone", ["run_id", "correct", "peak_fraction", "elapsed_seconds"])
def test_a_missing_key_of_a_cell_is_named_with_its_line(
    publish: Publish, tmp_path: Path, gone: str
) -> None:
    board = published()
    del board["models"][1]["results"][GEMM][gone]
    with pytest.raises(KbsiteError, match=rf"json:\d+: models\[1\].results.{GEMM}.{gone}: missing"):
        import_board(publish(board), tmp_path / "board-x")


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_a_file_that_is_no_board_is_refused(publish: Publish, tmp_path: Path, text: str) -> None:
    with pytest.raises(KbsiteError, match=r"leaderboard\.json"):
        import_board(publish(text), tmp_path / "board-x")


def test_a_folder_without_a_board_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KbsiteError, match=r"leaderboard\.json"):
        import_board(tmp_path, tmp_path / "board-x")


def test_a_board_needs_a_name_that_can_be_an_address(publish: Publish, tmp_path: Path) -> None:
    with pytest.raises(KbsiteError, match="is no id of a board"):
        import_board(publish(), tmp_path / "a board")


def test_the_report_is_for_a_terminal(publish: Publish, tmp_path: Path) -> None:
    board = without_counts(published())
    board["models"][0].update(label="codex/alpha [high] \x1b[31mred")
    report, _ = imported(publish(board, notes={ALPHA_1: NOTE}), tmp_path / "board-x")
    lines = report.text().splitlines()
    assert lines[:7] == [
        "board-x: 4 runs (4 written, 0 already there)",
        "  cells    2 passed, 1 wrong, 1 no_solution; 2 with a score",
        "  audits   1, with 1 quotes (0 refused)",
        "  quotes   0 of 1 proven against the files of the runs",
        "  numbers  0 of 1 notes tell another score than the board",
        "  floors   6, 6 of them with a peak_fraction",
        "  oddities 2: 0 numbers, 0 quotes, 2 others",
    ]
    assert all(line.isprintable() for line in lines)
    assert "\\x1b[31mred" in report.text()


@pytest.mark.parametrize(
    ("source", "state", "told"),
    [
        (None, ProofState.NO_FILE, "solution.py 3 to 4: The way"),
        ("#\n#\na = 1\nb = 2\n", ProofState.PROVEN, None),
        ("#\na = 1\nb = 2\n#\n", ProofState.ELSEWHERE,
         "solution.py 3 to 4: The way (stands in 2 to 3)"),
        ("#\n#\na = 1\nb = 3\n", ProofState.DIFFERS, "solution.py 3 to 4: The way"),
        ("#\n", ProofState.NO_LINE, "solution.py 3 to 4: The way"),
    ],
)  # fmt: skip
def test_quotes_are_held_against_the_files_of_the_runs(
    publish: Publish, tmp_path: Path, source: str | None, state: ProofState, told: str | None
) -> None:
    published_at = publish(notes={ALPHA_1: NOTE})
    imported(published_at, tmp_path / "board-x")
    if source is not None:
        (tmp_path / "board-x" / ALPHA_1 / "solution.py").write_text(source, "utf-8")
    report, _ = imported(published_at, tmp_path / "board-x")
    (quote,) = report.quotes
    text = report.text().splitlines()

    assert quote.proof is not None
    assert quote.proof.state is state
    assert report.proven == (state is ProofState.PROVEN)
    assert f"  quotes   {report.proven} of 1 proven against the files of the runs" in text
    assert f"  1 of 1 quotes: {state.sentence}" in text
    lines = [line for line in text if "The way" in line]
    assert lines == ([f"    annotations/{ALPHA_1}.yaml:10: {told}"] if told else [])


def test_a_run_that_cannot_be_read_proves_nothing(publish: Publish, tmp_path: Path) -> None:
    published_at = publish(notes={ALPHA_1: NOTE})
    import_board(published_at, tmp_path / "board-x")
    (tmp_path / "board-x" / ALPHA_1 / "run.json").write_text("{", "utf-8")
    report = import_board(published_at, tmp_path / "board-x")

    assert [quote.proof for quote in report.quotes] == [None]
    assert f"  1 of 1 quotes: {UNREADABLE}" in report.text()


def test_what_was_left_out_and_what_differs_is_told_once_each(
    publish: Publish, tmp_path: Path
) -> None:
    gone = {"file": "solution.py", "lines": [0], "label": "l", "text": "(pattern not found in it)"}
    note = {**NOTE, "peak_fraction": 0.51, "quotes": [gone, *NOTE["quotes"]]}
    report, _ = imported(publish(notes={ALPHA_1: note}), tmp_path / "board-x")
    text = report.text()

    assert "  numbers  1 of 1 notes tell another score than the board" in text
    assert "  oddities 2: 1 numbers, 1 quotes, 0 others" in text
    assert text.count("says 0.51, the board 0.5") == 1
    assert text.count("stands for a passage that was not found") == 1
    (quote,) = report.quotes
    (left_out,) = report.refused
    assert quote.line is not None
    assert left_out.line is not None
    assert quote.line > left_out.line


def test_a_label_of_a_quote_cannot_write_on_the_terminal(publish: Publish, tmp_path: Path) -> None:
    quote = {**NOTE["quotes"][0], "label": "red \x1b[31m\nnew line"}
    note = {**NOTE, "quotes": [quote]}
    report, _ = imported(publish(notes={ALPHA_1: note}), tmp_path / "board-x")

    assert all(line.isprintable() for line in report.text().splitlines())
    assert "red \\x1b[31m\\nnew line" in report.text()
