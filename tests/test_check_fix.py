"""`kbsite check --fix`: a quote that stands elsewhere in its file is made to cite that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kbsite.check.fixes import fix
from kbsite.cli.check import check as command
from kbsite.errors import UsageError
from kbsite.store.settings import read_settings
from kbsite.store.yaml_edits import with_value
from tests.conftest import MakeRun, MakeSettings
from tests.proofs.test_proofs import LOG, SOLUTION
from tests.test_check_audits import WRITTEN, found

WRONG = (
    WRITTEN.replace("[4, 5]", "[ 1,2 ]   # where?")
    .replace("event: L2", "event: 'L3'  # here")
    .replace("    lines: [2]", "    lines:\n      - 1  # one")
)
RIGHT = (
    WRITTEN.replace("[4, 5]", "[4, 5]   # where?")
    .replace("event: L2", "event: L2  # here")
    .replace("    lines: [2]", "    lines:\n      - 2  # one")
)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings) -> Path:
    settings = make_settings(tmp_path)
    folder = make_run(
        settings.runs / "demo", audit={}, transcript={"stdout.jsonl": LOG},
        files={"solution.py": SOLUTION.encode(), "check.log": b"run\nall shapes passed\n"},
    )  # fmt: skip
    (folder / "audit.yaml").write_text(f"# mine\n{WRONG}# the end\n")
    return folder


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments])
    return done.exit_code, done.stdout, done.stderr


def test_quotes_are_anchored_anew_and_all_else_stays(folder: Path) -> None:
    assert len(found(folder)) == 3
    code, told, _ = run(folder, "--fix")
    assert (folder / "audit.yaml").read_text() == f"# mine\n{RIGHT}# the end\n"
    assert told.splitlines() == [
        f"mended: {folder / 'audit.yaml'}: quotes[0].lines: [1, 2] is now [4, 5]",
        f"mended: {folder / 'audit.yaml'}: quotes[1].event: L3 is now L2",
        f"mended: {folder / 'audit.yaml'}: quotes[2].lines: [1] is now [2]",
    ]
    assert code == 0
    assert run(folder, "--fix")[:2] == (0, "")


@pytest.mark.parametrize("which", ["run", "board", "runs", "site", "settings"])
def test_all_runs_that_a_path_names_are_mended(folder: Path, which: str) -> None:
    home = folder.parents[2]
    settings = read_settings(home / "kbsite.yaml")
    paths = {"run": [folder / "solution.py"], "board": [folder.parent], "runs": [settings.runs],
             "site": [settings.path], "settings": []}  # fmt: skip
    assert len(list(fix(paths[which], settings))) == 3
    assert found(folder) == []


def test_what_stands_nowhere_is_left_and_told(folder: Path) -> None:
    before = WRONG.replace("all shapes", "no shapes")
    (folder / "audit.yaml").write_text(before)
    code, told, errors = run(folder, "--fix", "--json")
    assert code == 1
    assert '"key": "quotes[2].text"' in told
    assert "mended" not in told
    assert "mended" in errors
    after = (folder / "audit.yaml").read_text()
    assert after == RIGHT.replace("all shapes", "no shapes").replace("- 2  # one", "- 1  # one")


def test_an_imported_audit_is_changed_on_demand_only(folder: Path) -> None:
    path = folder / "audit.yaml"
    path.write_text(f"{WRONG}origin: elsewhere\n")
    assert list(fix([folder])) == []
    assert path.read_text() == f"{WRONG}origin: elsewhere\n"
    assert len(list(fix([folder], imported=True))) == 3
    assert path.read_text() == f"{RIGHT}origin: elsewhere\n"


def test_it_changes_nothing_that_is_right_and_nothing_that_cannot_be_read(folder: Path) -> None:
    path = folder / "audit.yaml"
    for text in (RIGHT, "verdict: [", "verdict: clean\nsummary: a\nauditor: b\n"):
        path.write_text(text)
        assert list(fix([folder])) == []
        assert path.read_text() == text
    path.unlink()
    assert list(fix([folder])) == []
    folder.rename(folder.with_name("x.partial"))
    assert list(fix([folder.parent])) == []


def test_a_quote_that_a_machine_cannot_change_stays(folder: Path, monkeypatch: Any) -> None:
    path = folder / "audit.yaml"
    monkeypatch.setattr("kbsite.store.audits.with_value", lambda text, *_: text + "mood: bad\n")
    before = path.read_text()
    assert list(fix([folder])) == []
    assert path.read_text() == before


def test_one_quote_that_stays_keeps_no_other_from_being_mended(
    folder: Path, monkeypatch: Any
) -> None:
    def change(text: str, place: Any, value: Any) -> str:
        return text + "mood: bad\n" if value == [4, 5] else with_value(text, place, value)

    monkeypatch.setattr("kbsite.store.audits.with_value", change)
    assert [done.key for done in fix([folder])] == ["quotes[1].event", "quotes[2].lines"]
    (left,) = found(folder)
    assert left.key == "quotes[0].lines"


def test_fixing_needs_something_to_fix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to mend"):
        fix([], None)
    with pytest.raises(UsageError, match="no such file"):
        list(fix([tmp_path / "lost"]))
    done = CliRunner().invoke(command, [str(tmp_path), "--imported"])
    assert isinstance(done.exception, UsageError)
