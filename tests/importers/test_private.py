"""Files that nobody may publish are known by their names, or by how they begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.importers.private import private
from kbsite.store.files import Stored, contents


def stored(folder: Path, name: str, data: bytes) -> Stored:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    ((file,), _) = contents(folder)
    return file


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("home/.claude/sessions/12.abc.key", b"k", "a key"),
        ("home/.claude/shell-snapshots/snapshot-1.sh", b"export", "a snapshot of the shell"),
        ("home/.claude/.credentials.json", b"{}", "credentials"),
        ("home/.codex/auth.json", b"{}", "credentials"),
        ("home/.kimi/credentials/kimi.json", b"{}", "credentials"),
        ("home/.kimi-code/device_id", b"x", "names a machine"),
        ("home/.local/share/opencode/opencode.db", b"x", "a database"),
        ("home/.local/share/opencode/opencode.db-wal", b"x", "a database"),
        ("home/.codex/state.sqlite", b"x", "a database"),
        ("home/.codex/state", b"SQLite format 3\0rest", "a database"),
        ("stdout.jsonl", b"SQLite format 3\0rest", "a database"),
    ],
)
def test_a_private_file_is_told_and_why(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    assert private(stored(tmp_path, name, data)) == reason


@pytest.mark.parametrize(
    "name", ["home/.claude/projects/w/s.jsonl", "home/.codex/sessions/a.key", "stdout.jsonl"]
)
def test_a_log_may_be_published(tmp_path: Path, name: str) -> None:
    assert private(stored(tmp_path, name, b"{}\n")) is None
