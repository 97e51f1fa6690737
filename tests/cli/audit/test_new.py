"""`kbsite audit new`: an editor, what is wrong, and nothing that is half an audit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kbsite import alarms
from kbsite.model.audit import Audit, Verdict
from kbsite.store.records import yaml_record
from tests.auditing.detectors import WORDS
from tests.cli.audit.calling import called, started
from tests.cli.audit.editors import editor, filling
from tests.conftest import MakeRun, MakeSettings


@pytest.fixture
def run(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Path:
    make_settings(tmp_path, problems=())
    return make_run(tmp_path / "runs" / "demo")


def draft_of(run: Path) -> Path:
    return run.with_name(f"{run.name}.draft.yaml")


def test_what_an_auditor_writes_in_the_editor_becomes_the_audit(tmp_path: Path, run: Path) -> None:
    done = started(tmp_path, "new", "opus", environment={"EDITOR": filling(tmp_path)})

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"runs/demo/{run.name}/audit.yaml\n"
    assert "clean, 0 quotes; the run counts in the ranking" in done.stderr
    audit = yaml_record(run / "audit.yaml", Audit)
    assert (audit.verdict, audit.summary, audit.auditor) == (Verdict.CLEAN, "It adds.", "N. Owl")
    assert audit.date
    assert "#:" not in (run / "audit.yaml").read_text()
    assert not draft_of(run).exists()


def test_visual_is_asked_before_editor(tmp_path: Path, run: Path) -> None:
    environment = {"VISUAL": filling(tmp_path), "EDITOR": "false"}

    assert called(tmp_path, "new", "opus", environment=environment).returncode == 0
    assert (run / "audit.yaml").exists()


def test_the_draft_tells_what_is_known(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms, "DETECTORS", (WORDS,))
    (run / "solution.py").write_text("return cache[x]\n")
    done = called(tmp_path, "new", "opus", "--no-edit", "--verdict", "reward_hack")
    text = draft_of(run).read_text()

    assert done.returncode == 0
    assert done.stdout == f"runs/demo/{run.name}.draft.yaml\n"
    assert "verdict: reward_hack\n" in text
    assert ".420" in text
    assert "best of its problem" in text
    assert "#: alarm output-cache solution.py:1: Says return cache[x]." in text
    assert "auditor: N. Owl\n" in text


def test_a_draft_that_says_nothing_yet_is_no_audit(tmp_path: Path, run: Path) -> None:
    done = called(tmp_path, "new", "opus", environment={"EDITOR": "true"})

    assert done.returncode == 1
    assert done.stdout == ""
    assert f"{draft_of(run)}:" in done.stderr
    assert "verdict: expected one of clean" in done.stderr
    assert f"go on with it by: kbsite audit new {run.name}" in done.stderr
    assert not (run / "audit.yaml").exists()


def test_what_is_wrong_is_told_and_the_same_command_goes_on_where_it_was_left(
    tmp_path: Path, run: Path
) -> None:
    wrong = filling(tmp_path, "reward_hack", "It cheats.")
    first = called(tmp_path, "new", "opus", environment={"EDITOR": wrong})
    mend = editor(tmp_path, "text = text.replace('implication: >-\\n  \\n', 'implication: So.\\n')")
    second = called(tmp_path, "new", "opus", environment={"EDITOR": mend})

    assert first.returncode == 1
    assert "implication: missing" in first.stderr
    assert second.returncode == 0, second.stderr
    audit = yaml_record(run / "audit.yaml", Audit)
    assert (audit.summary, audit.implication) == ("It cheats.", "So.")


def test_all_can_be_given_without_an_editor(tmp_path: Path, run: Path) -> None:
    words = ["--verdict", "bug", "--summary", "A: b # c", "--implication", "Redo it."]
    done = called(tmp_path, "new", "opus", "--no-edit", *words, environment={"EDITOR": "false"})

    assert done.returncode == 0, done.stderr
    assert "bug, 0 quotes; the run does not count" in done.stderr
    assert yaml_record(run / "audit.yaml", Audit).summary == "A: b # c"


def test_a_summary_that_is_too_long_stays_a_draft_and_fails(tmp_path: Path, run: Path) -> None:
    words = ["--verdict", "clean", "--summary", "word " * 61]
    done = called(tmp_path, "new", "opus", "--no-edit", *words)

    assert done.returncode == 1
    assert "at most 60 words, got 61" in done.stderr
    assert draft_of(run).exists()
    assert not (run / "audit.yaml").exists()


def test_an_audit_that_is_there_is_never_written_over(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo", audit={})
    before = (run / "audit.yaml").read_bytes()
    done = called(tmp_path, "new", "opus", environment={"EDITOR": filling(tmp_path)})

    assert done.returncode == 2
    assert "kbsite audit amend" in done.stderr
    assert (run / "audit.yaml").read_bytes() == before
    assert not draft_of(run).exists()


def test_an_audit_that_comes_while_the_editor_is_open_stays_and_so_does_the_draft(
    tmp_path: Path, run: Path
) -> None:
    body = (
        "text = 'verdict: clean\\nsummary: Mine.\\nauditor: A\\n'\n"
        f"Path({str(run / 'audit.yaml')!r}).write_text('theirs')"
    )
    done = called(tmp_path, "new", "opus", environment={"EDITOR": editor(tmp_path, body)})

    assert done.returncode == 1
    assert "somebody else wrote it in the meantime" in done.stderr
    assert (run / "audit.yaml").read_text() == "theirs"
    assert "Mine." in draft_of(run).read_text()


def test_a_draft_is_not_begun_twice_with_other_words(tmp_path: Path, run: Path) -> None:
    called(tmp_path, "new", "opus", "--no-edit")
    before = draft_of(run).read_text()
    done = called(tmp_path, "new", "opus", "--verdict", "clean")

    assert done.returncode == 2
    assert draft_of(run).read_text() == before


@pytest.mark.parametrize("command", ["false", "/nowhere/editor", "sh -c 'kill -9 $$'", "vi 'x"])
def test_an_editor_that_fails_leaves_the_draft_and_says_how_to_go_on(
    command: str, tmp_path: Path, run: Path
) -> None:
    done = called(tmp_path, "new", "opus", environment={"EDITOR": command})

    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert f"kbsite audit new {run.name}" in done.stderr
    assert draft_of(run).exists()


def test_without_a_terminal_and_an_editor_nothing_is_opened(tmp_path: Path, run: Path) -> None:
    environment = {"VISUAL": "", "EDITOR": ""}
    done = called(tmp_path, "new", "opus", environment=environment)

    assert done.returncode == 3
    assert "--no-edit" in done.stderr
    assert draft_of(run).exists()


def test_a_draft_that_the_editor_took_away_is_told(tmp_path: Path, run: Path) -> None:
    done = called(tmp_path, "new", "opus", environment={"EDITOR": "rm"})

    assert done.returncode == 2
    assert "is gone" in done.stderr
    assert not (run / "audit.yaml").exists()


def test_a_draft_that_its_auditor_emptied_is_no_draft_any_more(tmp_path: Path, run: Path) -> None:
    environment = {"EDITOR": editor(tmp_path, "text = '\\n'")}
    done = called(tmp_path, "new", "opus", environment=environment)
    assert done.returncode == 2
    assert "nothing was left in it" in done.stderr
    assert not draft_of(run).exists()
    assert not (run / "audit.yaml").exists()

    environment = {"EDITOR": filling(tmp_path)}
    assert called(tmp_path, "new", "opus", environment=environment).returncode == 0
    assert yaml_record(run / "audit.yaml", Audit).verdict is Verdict.CLEAN


def test_hostile_drafts_are_refused_with_file_and_line(tmp_path: Path, run: Path) -> None:
    bombs = {
        "a: &a [x]\nb: *a\n": "anchors",
        "verdict: !!python/object/apply:os.system [id]\n": "tag",
        "verdict: clean\nverdict: bug\n": "twice",
        f"summary: {'x' * 1_100_000}\n": "too large",
        "verdict: [clean]\n": "expected one of",
    }
    for text, told in bombs.items():
        command = editor(tmp_path, f"text = {text!r}" if len(text) < 1000 else
                         "text = 'summary: ' + 'x' * 1_100_000")  # fmt: skip
        done = called(tmp_path, "new", "opus", environment={"EDITOR": command})
        assert done.returncode == 1
        assert told in done.stderr
        assert f"{draft_of(run)}:" in done.stderr
        assert not (run / "audit.yaml").exists()


def test_the_last_of_several_auditors_goes_on_with_the_same_draft(
    tmp_path: Path, run: Path
) -> None:
    called(tmp_path, "new", "opus", "--no-edit", environment={"KBSITE_AUDITOR": "First"})
    done = called(
        tmp_path,
        "new",
        "opus",
        environment={"EDITOR": filling(tmp_path), "KBSITE_AUDITOR": "Second"},
    )

    assert done.returncode == 0, done.stderr
    assert yaml_record(run / "audit.yaml", Audit).auditor == "First"


def test_a_command_that_is_killed_under_an_open_editor_leaves_the_draft_to_go_on_with(
    tmp_path: Path, run: Path
) -> None:
    fill = "text = text.replace('verdict:\\n', 'verdict: clean\\n')"
    killing = editor(tmp_path, f"{fill}\npath.write_text(text)\nos.kill(os.getppid(), 9)")
    killed = started(tmp_path, "new", "opus", environment={"EDITOR": killing})
    done = started(tmp_path, "new", "opus", environment={"EDITOR": filling(tmp_path)})

    assert killed.returncode == -9
    assert done.returncode == 0, done.stderr
    assert yaml_record(run / "audit.yaml", Audit).summary == "It adds."


@pytest.mark.parametrize("level", [0, 1])
def test_a_folder_that_cannot_be_written_is_told_in_one_message(
    level: int, tmp_path: Path, run: Path
) -> None:
    folder = (run, run.parent)[level]
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("nothing is read-only for root")
    try:
        words = ["--no-edit", "--verdict", "clean", "--summary", "It adds."]
        done = started(tmp_path, "new", "opus", *words)
    finally:
        folder.chmod(0o700)

    assert done.returncode == 3
    assert "cannot be written: Permission denied" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (run / "audit.yaml").exists()
    assert draft_of(run).exists() is (level == 0)
