"""Drafts: nobody takes one for an audit, and none takes the place of what somebody else wrote."""

from __future__ import annotations

import errno
import os
import resource
import signal
from pathlib import Path

import pytest

from kbsite.auditing.amending import Amendment, begin_amendment
from kbsite.auditing.drafts import Checked, begin, check, draft_path, publish
from kbsite.check import check as site_findings
from kbsite.check.known import known
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.model.audit import Audit, Effect, Verdict
from kbsite.store.records import InvalidFileError, yaml_record
from kbsite.store.runs import read_run
from tests.conftest import STARTED, MakeRun, MakeSettings

GOOD = "verdict: clean\nsummary: It adds. # sure\nauditor: N. Owl\n"
TODAY = STARTED.date()


def checked(folder: Path, draft: Path) -> Checked:
    return check(read_run(folder), draft, known(None))


def test_a_draft_is_no_file_of_its_run_and_no_fault_of_the_site(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    folder = make_run(tmp_path / "runs" / "demo")
    before = list(site_findings((), settings))
    begin(folder, "verdict:\n")

    assert read_run(folder).audit is None
    assert list(site_findings((), settings)) == before


def test_a_draft_that_is_there_is_not_written_over(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    draft = begin(folder, "mine\n")

    with pytest.raises(UsageError, match="a draft already"):
        begin(folder, "yours\n")
    assert draft.read_text() == "mine\n"


def test_a_draft_that_cannot_be_written_whole_is_not_there(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(MachineError, match="cannot be written"):
            begin(folder, "verdict:\n" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not draft_path(folder).exists()
    assert begin(folder, "ä\r\n").read_bytes() == "ä\r\n".encode()


def test_what_is_wrong_is_told_with_the_line_of_the_draft(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    quote = "quotes:\n- file: solution.py\n  lines: [1]\n  text: nowhere\n"
    empty = GOOD.replace("It adds.", "''")
    draft = begin(folder, f"#: told\n{empty}{quote}")
    found = checked(folder, draft)

    assert not found.finished
    assert {(one.path, one.line, one.key) for one in found.findings} >= {
        (str(draft), 3, "summary"),
        (str(draft), 8, "quotes[0].text"),
    }


@pytest.mark.parametrize(
    "text", ["", "verdict: [", "verdict: splendid\n", "\0", "- 1\n", "a: &b c"]
)
def test_what_is_no_audit_is_told_and_stays_a_draft(
    text: str, tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    draft = begin(folder, text)
    found = checked(folder, draft)

    assert not found.finished
    assert found.findings
    assert {one.path for one in found.findings} == {str(draft)}


def test_a_finished_draft_becomes_the_audit_without_what_was_told_in_it(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    draft = begin(folder, f"#: told\n{GOOD}# mine\n#: more\nimplication: >-\n  \n")
    assert checked(folder, draft).finished
    path = publish(folder, draft)

    assert path.read_text() == f"{GOOD}# mine\n"
    assert read_run(folder).audit == Audit(
        verdict=Verdict.CLEAN, summary="It adds.", auditor="N. Owl"
    )
    assert not draft.exists()
    assert [one.name for one in folder.parent.iterdir()] == [folder.name]


def test_a_line_that_only_looks_like_one_that_is_not_kept_is_kept(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    text = f"{GOOD}implication: |\n  a\n  #: b\n"
    path = publish(folder, begin(folder, text))

    assert path.read_text() == text


def test_an_audit_that_came_in_the_meantime_stays_and_so_does_the_draft(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    draft = begin(folder, GOOD)
    (folder / "audit.yaml").write_text("theirs")

    with pytest.raises(InputError, match="in the meantime") as raised:
        publish(folder, draft)
    assert str(draft) in str(raised.value)
    assert (folder / "audit.yaml").read_text() == "theirs"
    assert draft.read_text() == GOOD
    assert sorted(one.name for one in folder.parent.iterdir()) == [folder.name, draft.name]


def test_where_files_cannot_be_linked_a_draft_takes_its_place_all_the_same(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr(os, "link", refuse)
    one, other = make_run(tmp_path / "demo"), make_run(tmp_path / "demo")
    path = publish(one, begin(one, GOOD))
    draft = begin(other, GOOD)
    (other / "audit.yaml").write_text("theirs")

    assert path.read_text() == GOOD
    with pytest.raises(InputError, match="in the meantime"):
        publish(other, draft)


def test_a_write_that_fails_leaves_no_audit_and_the_draft_as_it_was(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "link", refuse)
    folder = make_run(tmp_path / "demo")
    draft = begin(folder, GOOD)

    with pytest.raises(MachineError, match=r"audit\.yaml: cannot be written: Permission denied"):
        publish(folder, draft)
    assert draft.read_text() == GOOD
    assert not (folder / "audit.yaml").exists()
    assert sorted(one.name for one in folder.parent.iterdir()) == [folder.name, draft.name]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    gone = folder.with_name("gone") / folder.name

    with pytest.raises(MachineError, match="cannot be written: No such file or directory"):
        begin(gone, GOOD)


def test_an_amendment_keeps_the_earlier_verdict_and_every_comment(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    path = folder / "audit.yaml"
    path.write_text(f"# why it matters\n{GOOD}effect: does_not_count\n")
    given = Amendment(
        verdict=Verdict.BUG, why="The clock was off.", by="B", summary="Off.", implication="Redo."
    )
    draft = begin_amendment(folder, given, TODAY)

    assert path.read_text().startswith("# why it matters\nverdict: clean\n")
    assert checked(folder, draft).finished
    publish(folder, draft)
    audit = yaml_record(path, Audit)
    assert path.read_text().startswith("# why it matters\n")
    assert "# sure" in path.read_text()
    assert (audit.verdict, audit.summary, audit.implication) == (Verdict.BUG, "Off.", "Redo.")
    # An effect of the earlier verdict's own says nothing of this one.
    assert (audit.effect, audit.auditor, audit.date) == (None, "B", TODAY)
    [earlier] = audit.history
    assert (earlier.verdict, earlier.effect) == (Verdict.CLEAN, Effect.DOES_NOT_COUNT)
    assert (earlier.summary, earlier.auditor) == ("It adds.", "N. Owl")
    assert (earlier.by, earlier.why) == ("B", "The clock was off.")
    assert earlier.replaced == TODAY


def test_a_verdict_that_stays_keeps_the_effect_that_it_had(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    (folder / "audit.yaml").write_text(f"{GOOD}effect: does_not_count\n")
    given = Amendment(verdict=Verdict.CLEAN, why="Better words.", by="B", summary="It adds well.")
    publish(folder, begin_amendment(folder, given, TODAY))

    assert yaml_record(folder / "audit.yaml", Audit).effect is Effect.DOES_NOT_COUNT


def test_an_audit_that_somebody_else_changed_is_not_amended(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    path = folder / "audit.yaml"
    path.write_text(GOOD)
    draft = begin_amendment(folder, Amendment(verdict=Verdict.BUG, why="w", by="B"), TODAY)
    written = draft.read_text()
    path.write_text(GOOD.replace("adds", "sums"))

    with pytest.raises(InputError, match="in the meantime"):
        publish(folder, draft)
    assert path.read_text() == GOOD.replace("adds", "sums")
    assert draft.read_text() == written


def test_an_audit_that_no_machine_can_change_is_named_and_not_amended_and_leaves_no_draft(
    tmp_path: Path, make_run: MakeRun
) -> None:
    folder = make_run(tmp_path / "demo")
    (folder / "audit.yaml").write_text("{verdict: clean, summary: It adds., auditor: A}\n")
    given = Amendment(verdict=Verdict.BUG, why="w", by="B")

    with pytest.raises(InvalidFileError, match="by a machine") as raised:
        begin_amendment(folder, given, TODAY)
    assert str(raised.value).startswith(str(folder / "audit.yaml"))
    assert not draft_path(folder).exists()


def test_nobody_amends_without_a_name(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo", audit={})

    with pytest.raises(UsageError, match="who changes it"):
        begin_amendment(folder, Amendment(verdict=Verdict.BUG, why="w", by=" "), TODAY)
    assert not draft_path(folder).exists()
