"""`kbsite import harbor`: what it prints where, and how it exits."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from kbsite.cli import kbsite
from tests.importers.harbor_trials import CLAUDE, job, trial


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(kbsite, ["import", "harbor", *map(str, words)])


def test_runs_are_named_on_stdout_and_counted_on_stderr(tmp_path: Path) -> None:
    for name in ("a", "b"):
        trial(job(tmp_path / "job") / name, CLAUDE | {"agent/sessions/.claude.json": "{}"})
    done = run(tmp_path / "job", "--out", tmp_path / "mine")

    base = f"{tmp_path}/mine/20260102_030405_claude_opus-x_add"
    assert done.exit_code == 0
    assert done.stdout == f"{base}\n{base}-2\n"
    assert done.stderr == (
        "2 trials: 2 imported, 0 already there, 0 left out; "
        "2 of their files are no logs and left out; 0 errors, 0 warnings\n"
    )


def test_a_second_import_says_what_is_there_and_is_fine(tmp_path: Path) -> None:
    trial(tmp_path / "a")
    run(tmp_path / "a", "--out", tmp_path / "mine")
    again = run(tmp_path / "a", "--out", tmp_path / "mine")

    assert again.exit_code == 0
    assert again.stdout == ""
    said, counted = again.stderr.splitlines()
    assert said == f"{tmp_path}/a: already there: {tmp_path}/mine/20260102_030405_claude_opus-x_add"
    assert counted.startswith("1 trial: 0 imported, 1 already there, 0 left out")


def test_a_bad_trial_is_named_by_file_and_key_and_the_rest_imported(tmp_path: Path) -> None:
    trial(tmp_path / "job" / "a", agent_info={"name": None})
    trial(tmp_path / "job" / "b")
    done = run(tmp_path / "job", "--out", tmp_path / "mine")

    assert done.exit_code == 1
    assert f"{tmp_path}/job/a/result.json:" in done.stderr
    assert "error: agent_info.name: expected text" in done.stderr
    assert "2 trials: 1 imported, 0 already there, 1 left out" in done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_a_link_is_told_and_is_no_trial_that_was_lost(tmp_path: Path) -> None:
    trial(job(tmp_path / "job") / "a")
    trial(tmp_path / "disk" / "b")
    (tmp_path / "job" / "b").symlink_to(tmp_path / "disk" / "b")
    done = run(tmp_path / "job", "--out", tmp_path / "mine")

    assert done.exit_code == 0
    link, counted = done.stderr.splitlines()
    assert link.startswith(f"{tmp_path}/job/b: warning: ")
    assert "a symbolic link" in link
    assert counted.startswith("1 trial: 1 imported, 0 already there, 0 left out")
    assert counted.endswith("0 errors, 1 warning")


def test_names_of_folders_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    folder = trial(tmp_path / "a\x1b[31m\n")
    run(folder, "--out", tmp_path / "mine")
    again = run(folder, "--out", tmp_path / "mine")

    assert "\x1b" not in again.stderr
    assert "a\\x1b[31m\\n: already there" in again.stderr


def test_a_folder_without_a_trial_is_wrong_use(tmp_path: Path) -> None:
    done = run(job(tmp_path / "job"), "--out", tmp_path / "mine")

    assert done.exit_code != 0
    assert "no Harbor trial in it" in str(done.exception)
    assert run(tmp_path / "nowhere", "--out", tmp_path / "mine").exit_code == 2
    assert not (tmp_path / "mine").exists()
