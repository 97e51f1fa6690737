"""`kbsite audit amend`: a verdict changes, and what was published before is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.model.audit import Audit, Verdict
from kbsite.store.records import yaml_record
from tests.cli.audit.calling import called, started
from tests.cli.audit.editors import editor
from tests.conftest import MakeRun, MakeSettings

NOW = ["--verdict", "reward_hack", "--why", "The cache was overlooked."]
WHOLE = [*NOW, "--summary", "It caches.", "--implication", "It measures nothing."]


@pytest.fixture
def run(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Path:
    make_settings(tmp_path, problems=())
    return make_run(tmp_path / "runs" / "demo", audit={})


def read(run: Path) -> Audit:
    return yaml_record(run / "audit.yaml", Audit)


def test_the_earlier_verdict_is_kept_with_who_changed_it_when_and_why(
    tmp_path: Path, run: Path
) -> None:
    done = started(tmp_path, "amend", "opus", *WHOLE, environment={"EDITOR": "false"})

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"runs/demo/{run.name}/audit.yaml\n"
    assert "does not count" in done.stderr
    audit = read(run)
    assert (audit.verdict, audit.auditor, audit.date) == (
        Verdict.REWARD_HACK, "N. Owl", audit.history[0].replaced
    )  # fmt: skip
    [earlier] = audit.history
    assert (earlier.verdict, earlier.auditor) == (Verdict.CLEAN, "A. Reader")
    assert (earlier.by, earlier.why) == ("N. Owl", "The cache was overlooked.")


def test_amended_twice_both_earlier_verdicts_stand_there_the_oldest_first(
    tmp_path: Path, run: Path
) -> None:
    called(tmp_path, "amend", "opus", *WHOLE)
    judged = (run / "audit.yaml").read_text() + "leak: a-leak\nvalidity: invalid\n"
    (run / "audit.yaml").write_text(judged)
    second = ["--verdict", "clean", "--why", "No, it was fine.", "--summary", "It is fine."]
    done = called(tmp_path, "amend", "opus", *second, "--by", "B. Other")

    assert done.returncode == 0, done.stderr
    audit = read(run)
    assert [one.verdict for one in audit.history] == [Verdict.CLEAN, Verdict.REWARD_HACK]
    assert (audit.auditor, audit.history[1].by) == ("B. Other", "B. Other")
    assert (audit.leak, audit.validity) == ("", None)


def test_an_amendment_that_changes_nothing_is_none(tmp_path: Path, run: Path) -> None:
    before = (run / "audit.yaml").read_bytes()
    again = ["--verdict", "clean", "--why", "I looked again.", "--no-edit"]
    done = called(tmp_path, "amend", "opus", *again, "--by", "A. Reader")

    assert done.returncode == 2
    assert "audit.yaml: nothing to amend: verdict, auditor and all else are what" in done.stderr
    assert (run / "audit.yaml").read_bytes() == before
    assert sorted(path.name for path in run.parent.iterdir()) == [run.name]
    # Somebody else who comes to the same verdict is another auditor.
    assert called(tmp_path, "amend", "opus", *again, "--by", "B. Other").returncode == 0
    assert read(run).auditor == "B. Other"


def test_the_editor_opens_for_what_is_not_given(tmp_path: Path, run: Path) -> None:
    body = (
        "text = text.replace('It computes the softmax that the problem asks for.', 'It caches.', 1)"
        ".replace('auditor:', 'implication: Redo it.\\nauditor:', 1)"
    )
    environment = {"EDITOR": editor(tmp_path, body)}
    done = called(tmp_path, "amend", "opus", *NOW, environment=environment)

    assert done.returncode == 0, done.stderr
    audit = read(run)
    assert (audit.summary, audit.implication) == ("It caches.", "Redo it.")
    assert audit.history[0].summary == "It computes the softmax that the problem asks for."
    assert "#:" not in (run / "audit.yaml").read_text()


def test_what_is_wrong_stays_a_draft_and_the_command_alone_goes_on(
    tmp_path: Path, run: Path
) -> None:
    before = (run / "audit.yaml").read_bytes()
    first = called(tmp_path, "amend", "opus", *NOW, environment={"EDITOR": "true"})
    assert first.returncode == 1
    assert "implication: missing" in first.stderr
    assert f"go on with it by: kbsite audit amend {run.name}" in first.stderr
    assert (run / "audit.yaml").read_bytes() == before

    body = "text = text.replace('auditor:', 'implication: So.\\nauditor:', 1)"
    environment = {"EDITOR": editor(tmp_path, body)}
    assert called(tmp_path, "amend", "opus", environment=environment).returncode == 0
    assert read(run).implication == "So."


def test_an_audit_that_changes_while_the_editor_is_open_stays_and_so_does_the_draft(
    tmp_path: Path, run: Path
) -> None:
    body = (
        "text = text.replace('auditor:', 'implication: Mine.\\nauditor:', 1)\n"
        f"theirs = Path({str(run / 'audit.yaml')!r})\n"
        "theirs.write_text(theirs.read_text().replace('A. Reader', 'C. Third'))"
    )
    environment = {"EDITOR": editor(tmp_path, body)}
    done = called(tmp_path, "amend", "opus", *NOW, environment=environment)

    assert done.returncode == 1
    assert "somebody else wrote it in the meantime" in done.stderr
    assert (read(run).auditor, read(run).history) == ("C. Third", ())
    assert "Mine." in run.with_name(f"{run.name}.draft.yaml").read_text()


@pytest.mark.parametrize("words", [[], NOW[:2], NOW[2:], [*NOW[:3], " "]])
def test_a_verdict_and_a_reason_are_both_needed(
    words: list[str], tmp_path: Path, run: Path
) -> None:
    before = (run / "audit.yaml").read_bytes()
    done = called(tmp_path, "amend", "opus", *words, environment={"EDITOR": "true"})

    assert done.returncode == 2
    assert "--why" in done.stderr
    assert (run / "audit.yaml").read_bytes() == before
    assert not run.with_name(f"{run.name}.draft.yaml").exists()


def test_there_is_nothing_to_amend_without_an_audit(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo")
    done = called(tmp_path, "amend", "opus", *WHOLE)

    assert done.returncode == 2
    assert "kbsite audit new" in done.stderr


def test_an_audit_that_cannot_be_read_is_named_with_its_line_and_left_alone(
    tmp_path: Path, run: Path
) -> None:
    path = run / "audit.yaml"
    path.write_text("verdict: fine\nsummary: s\nauditor: a\n")
    done = called(tmp_path, "amend", "opus", *WHOLE)

    assert done.returncode == 1
    assert f"{path}:1: verdict: " in done.stderr
    assert path.read_text().startswith("verdict: fine")
    assert not run.with_name(f"{run.name}.draft.yaml").exists()


def test_what_is_given_cannot_add_keys_or_act_on_the_terminal(tmp_path: Path, run: Path) -> None:
    evil = "x\nverdict: clean\r\x1b[2J"
    words = ["--verdict", "bug", "--why", evil, "--summary", evil, "--implication", evil]
    done = called(tmp_path, "amend", "opus", *words, "--by", evil)

    assert done.returncode == 0, done.stderr
    audit = read(run)
    assert audit.verdict is Verdict.BUG
    assert audit.summary == audit.history[0].why == audit.auditor == evil
    assert "\x1b" not in done.stdout + done.stderr
