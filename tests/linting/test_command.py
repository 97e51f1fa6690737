"""`kbsite lint`, as an operator calls it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbsite import linting
from kbsite.cli import kbsite
from kbsite.errors import InputError, MachineError, UsageError
from kbsite.store.swapping import put_in_place
from tests.linting.small import LINKS, SOUND, STYLED, page, written

HEAVY = {"notes.txt": "mine"}
WRONG = {"index.html": page(f'{LINKS}<a href="./gone\x1b[31m.html">x</a>', head=STYLED)}


def called(*arguments: str) -> Result:
    return CliRunner().invoke(kbsite, ["lint", *arguments])


def test_a_sound_site_passes(tmp_path: Path) -> None:
    done = called(str(written(tmp_path, SOUND)), "--strict")

    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "0 errors, 0 warnings\n")


def test_an_error_is_told_and_is_the_exit_code(tmp_path: Path) -> None:
    done = called(str(written(tmp_path, {**SOUND, **WRONG})))

    assert done.exit_code == 1
    assert done.stderr.startswith("index.html:7: error: ./gone")
    assert "\x1b" not in done.stderr
    assert done.stderr.endswith("1 error, 0 warnings\n")


@pytest.mark.parametrize(("strict", "code"), [((), 0), (("--strict",), 1)])
def test_warnings_count_when_strict(strict: tuple[str, ...], code: int, tmp_path: Path) -> None:
    assert called(str(written(tmp_path, {**SOUND, **HEAVY})), *strict).exit_code == code


def test_findings_are_json_lines(tmp_path: Path) -> None:
    done = called(str(written(tmp_path, {**SOUND, **HEAVY})), "--json")
    (told,) = map(json.loads, done.stdout.splitlines())

    assert (told["severity"], told["path"]) == ("warning", "notes.txt")
    assert set(told) == {"severity", "path", "message", "line", "key"}


def test_without_a_folder_it_is_the_site_of_kbsite_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kbsite.yaml").write_text("title: x\nout: made\n")
    written(tmp_path / "made", {**SOUND, **HEAVY})
    monkeypatch.chdir(tmp_path)

    assert "notes.txt" in called().stderr


def test_what_is_no_site_is_refused(tmp_path: Path) -> None:
    assert isinstance(called(str(tmp_path)).exception, InputError)
    assert called(str(tmp_path / "gone"), "--nope").exit_code == UsageError.exit_code


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kbsite.linting", None)
    done = called(str(written(tmp_path, SOUND)))

    assert isinstance(done.exception, MachineError)
    assert "kbsite[lint]" in str(done.exception)


@pytest.mark.parametrize("gone", [False, True], ids=["another site", "none"])
def test_a_site_that_is_built_anew_while_it_is_looked_at_is_called_neither_sound_nor_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, gone: bool
) -> None:
    site, other = written(tmp_path / "site", SOUND), written(tmp_path / "other", SOUND | HEAVY)
    read = linting.__dict__["read_pages"]

    def late(*args: Any) -> Any:
        if gone:
            shutil.rmtree(site)
        else:
            put_in_place(other, site)
        return read(*args)

    monkeypatch.setattr(linting, "read_pages", late)
    done = called(str(site))
    assert isinstance(done.exception, MachineError)
    assert "another site took the place of this one while it was looked at" in str(done.exception)
