"""What this host has for contenders, and what is said of it where it has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.harnesses import ADAPTERS
from bench.harnesses.form import by_id
from bench.installing import Installed, read_lock
from bench.installing.stamp import fingerprint, folder_of, write_stamp
from bench.preflight import Wanted, tools_here
from bench.preflight.looking import LOOKS
from bench.sandbox import best, named
from kbsite.errors import KbsiteError, MachineError, UsageError


def fake(prefix: Path, harness: str, prints: str) -> None:
    """A CLI that is installed by its stamp, and is a program that prints a line."""
    locked = read_lock().clis[harness]
    folder = folder_of(prefix, locked)
    folder.mkdir(parents=True)
    program = folder / "program"
    program.write_text(f"#!/bin/sh\necho '{prints}'\n")
    program.chmod(0o755)
    stamp = Installed(
        harness=harness, version=locked.version, package=locked.package, bytes=1, seconds=1.0,
        command=("./program",), facts={"locked": fingerprint(locked)},
    )  # fmt: skip
    write_stamp(folder, stamp)


def test_a_host_without_clis_has_all_adapters_and_known_providers(tmp_path: Path) -> None:
    host = tools_here(tmp_path)
    assert dict(host.adapters) == dict(by_id(ADAPTERS))
    assert dict(host.programs) == {}
    assert {"anthropic", "openai"} <= set(host.providers)
    assert host.sandbox is best()
    assert host.wrong("claude") == "it is not installed any more"


def test_an_installed_cli_is_asked_for_its_version(tmp_path: Path) -> None:
    fake(tmp_path, "claude", read_lock().clis["claude"].prints)
    host = tools_here(tmp_path)
    assert list(host.programs) == ["claude"]
    assert host.wrong("claude") == ""
    states = [LOOKS[name](Wanted(harness="claude"), host).state.value for name in LOOKS]
    assert states == ["fine", "fine", "not tried", "fine", "not tried"]


def test_another_version_than_the_locked_one_is_told_once_asked(tmp_path: Path) -> None:
    fake(tmp_path, "codex", "codex-cli 6.6.6")
    host = tools_here(tmp_path)
    wrong = host.wrong("codex")
    assert "--version printed 'codex-cli 6.6.6', expected 'codex-cli " in wrong
    (folder,) = (tmp_path / "codex").iterdir()
    (folder / "program").unlink()
    assert host.wrong("codex") == wrong, "each CLI is asked once, however many contenders it has"
    check = LOOKS["version"](Wanted(harness="codex"), host)
    assert check.state.value == "wrong"
    assert f"remove its folder in {tmp_path}/codex" in check.cure


def test_an_operator_s_providers_are_known(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("providers:\n  mine: {bases: {chat: 'http://127.0.0.1:1'}, slots: 2}\n")
    host = tools_here(tmp_path, file)
    assert host.providers["mine"].slots == 2
    assert "anthropic" in host.providers


@pytest.mark.parametrize(
    "text", ["providers: 7\n", "providers:\n  mine: {bases: {chat: nowhere}}\n"]
)
def test_a_file_of_providers_that_is_wrong_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(KbsiteError, match=r"own\.yaml"):
        tools_here(tmp_path, file)


def test_a_sandbox_can_be_named(tmp_path: Path) -> None:
    assert tools_here(tmp_path, None, "none").sandbox is named("none")
    with pytest.raises(UsageError, match="'cage' is no sandbox"):
        tools_here(tmp_path, None, "cage")


def test_a_host_that_holds_no_session_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(named("bubblewrap")), "available", lambda _: "it is not installed")
    with pytest.raises(MachineError, match="sandbox bubblewrap: it is not installed"):
        tools_here(tmp_path, None, "bubblewrap")
