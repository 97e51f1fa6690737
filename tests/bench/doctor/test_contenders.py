"""What the doctor says of CLIs and of keys, of which it tells no more than their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.doctor.contenders import Clis, Keys
from bench.doctor.form import Here, Seen, State
from bench.installing import Installed, Lock, read_lock
from bench.installing.stamp import fingerprint, folder_of, write_stamp

KEY = "sk-very-secret-0123456789"


def install(prefix: Path, lock: Lock, *names: str) -> None:
    """Stamps of installations that hold nothing else."""
    for name in names:
        locked = lock.clis[name]
        folder = folder_of(prefix, locked)
        folder.mkdir(parents=True)
        stamp = Installed(
            harness=name, version=locked.version, package=locked.package, bytes=3_000_000,
            seconds=1.0, command=locked.command, facts={"locked": fingerprint(locked)},
        )  # fmt: skip
        write_stamp(folder, stamp)


def rows(prefix: Path) -> dict[str, Seen]:
    return {one.name.split()[0]: one for one in Clis().look(Here(runs=prefix, clis=prefix))}


def test_a_row_tells_of_each_cli_whether_it_is_installed(tmp_path: Path) -> None:
    lock = read_lock()
    install(tmp_path, lock, "node", "claude", "gemini")
    seen = rows(tmp_path)
    assert set(seen) == set(lock.clis)
    assert (seen["claude"].state, seen["claude"].seen) == (State.YES, "installed, 3 MB")
    assert seen["claude"].name == f"claude {lock.clis['claude'].version}"
    assert seen["codex"].state is State.NO
    assert seen["codex"].cure == f"kbsite bench install codex --clis {tmp_path}"
    assert not any(one.forbids for one in seen.values())


def test_a_cli_without_its_node_cannot_start(tmp_path: Path) -> None:
    install(tmp_path, read_lock(), "gemini", "claude")
    seen = rows(tmp_path)
    assert (seen["gemini"].state, seen["claude"].state) == (State.NO, State.YES)
    assert "Node" in seen["gemini"].seen


def test_without_any_cli_no_run_can_be_made(tmp_path: Path) -> None:
    seen = rows(tmp_path)
    assert seen["CLIs"].forbids
    assert seen["CLIs"].cure == f"kbsite bench install --clis {tmp_path}"


def test_clis_are_looked_for_where_they_usually_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "own", read_lock(), "claude")
    monkeypatch.setenv("KBSITE_CLIS", str(tmp_path / "own"))
    seen = {one.name.split()[0]: one for one in Clis().look(Here(runs=tmp_path))}
    assert seen["claude"].state is State.YES


def test_keys_are_told_by_their_variables_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "providers:\n  mine: {bases: {chat: 'http://127.0.0.1:1'}}\n"
        "  odd: {bases: {chat: 'http://127.0.0.1:1'}, key_variable: ODD_KEY}\n"
    )
    environment = {"ANTHROPIC_API_KEY": KEY, "ODD_KEY": "two words of a secret"}
    here = Here(runs=tmp_path, providers=file, environment=environment)
    seen = {one.name.removeprefix("provider "): one for one in Keys().look(here)}
    assert (seen["anthropic"].state, seen["anthropic"].seen) == (
        State.YES, "ANTHROPIC_API_KEY is set",
    )  # fmt: skip
    assert seen["openai"].state is State.NO
    assert "OPENAI_API_KEY is not set" in seen["openai"].seen
    assert (seen["mine"].state, seen["mine"].seen) == (State.YES, "needs no key")
    assert seen["odd"].state is State.NO
    assert "holds no key" in seen["odd"].seen
    assert environment["ANTHROPIC_API_KEY"] == KEY, "it is not taken away"
    told = str(list(seen.values()))
    assert KEY not in told
    assert "two words" not in told
