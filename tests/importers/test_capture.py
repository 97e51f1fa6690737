"""Captured sessions as runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbsite import harnesses
from kbsite.errors import KbsiteError
from kbsite.importers.capture import Facts, import_capture
from kbsite.importers.transcript import import_transcripts
from kbsite.model.status import EndReason
from kbsite.store.manifests import manifest_findings
from kbsite.store.runs import StoredRun, read_run
from tests.importers.published_board import BESIDE
from tests.importers.toy_harnesses import END, START, TOKENS, TOYS, of, rows

CAPTURES = BESIDE / "captures"
beside = pytest.mark.skipif(not CAPTURES.is_dir(), reason="no captures beside the checkout")

LOG = rows(START, TOKENS, END)
META: dict[str, Any] = {
    "cli": "toy",
    "argv": ["toy", "--print", "do it"],
    "env": {"TOY_KEY": "sk-secret", "HOME": "/home/agent"},
    "rc": 0,
    "wall_s": 3.5,
    "signal": None,
}
HOME_LOG = "home/.toy/start/log.jsonl"


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    start = of("start")
    globs = ("stdout.jsonl", "home/.toy/**/*.jsonl")
    form = type(start)(start.id, start.title, globs, start.parse, start.recognises, "start")
    toy = type(TOYS[0])("toy", form)  # type: ignore[call-arg]
    monkeypatch.setattr(harnesses, "ALL", [toy])
    monkeypatch.setitem(harnesses.BY_ID, "toy", toy)


def capture(folder: Path, files: dict[str, bytes] | None = None, **meta: Any) -> Path:
    held = {"stdout.jsonl": LOG, "stderr.txt": b"a warning\n", **(files or {})}
    held["meta.json"] = json.dumps({**META, **meta}).encode()
    for name, data in held.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def imported(folder: Path, facts: Facts | None = None) -> StoredRun:
    return read_run(import_capture(folder, folder.parent / "demo", facts).folder)


@pytest.mark.usefixtures("toys")
def test_a_capture_becomes_a_whole_run(tmp_path: Path) -> None:
    files = {
        "home/.toy/other.bin": b"\0\1",
        "work/solution.py": b"x = 1\n",
        "work/kernel/a.cu": b"// a\n",
        "server-access.jsonl": b"{}\n",
        "requests/1.json": b"{}\n",
    }
    folder = capture(tmp_path / "c", files)
    made = import_capture(folder, tmp_path / "demo", Facts(problem="add"))
    run = read_run(made.folder)
    assert made.folder.name == "20260102_030405_toy_lab-m-1_add"
    assert run.findings == ()
    assert manifest_findings(run) == []
    assert [file.name for file in run.files] == [
        "files/kernel/a.cu",
        "manifest.json",
        "run.json",
        "solution.py",
        "transcript/home/.toy/other.bin",
        "transcript/stderr.log",
        "transcript/stdout.jsonl",
    ]
    assert [(item.name, item.reason) for item in made.left_out] == [
        ("requests/1.json", "not of the run"),
        ("server-access.jsonl", "not of the run"),
    ]


@pytest.mark.usefixtures("toys")
def test_the_run_tells_what_the_capture_tells(tmp_path: Path) -> None:
    run = imported(capture(tmp_path / "c")).run
    assert run.command == ("toy", "--print", "do it")
    assert run.environment == ("HOME", "TOY_KEY")
    assert "sk-secret" not in (tmp_path / "demo" / run.id / "run.json").read_text("utf-8")
    assert (run.exit_code, run.signal, run.end_reason) == (0, None, EndReason.FINISHED)
    assert (run.harness, run.harness_version, run.model) == ("toy", "1.2", "Lab/M 1")
    assert (run.seconds, run.elapsed_seconds) == (3.5, 600)
    assert (run.prompt_hash, run.problem_hash, run.hardware) == (None, None, None)
    assert (run.usage.input, run.usage.output) == (10, 5)
    assert run.origin == "imported from a captured session"


@pytest.mark.usefixtures("toys")
def test_what_the_capture_does_not_tell_can_be_added(tmp_path: Path) -> None:
    facts = Facts(
        model="scripted", problem="add", hardware="cpu", harness_version="9", variant="b",
        notes=("A note.",), board="board-x",
    )  # fmt: skip
    run = imported(capture(tmp_path / "c"), facts).run
    assert (run.model, run.problem, run.hardware, run.board) == (
        "scripted",
        "add",
        "cpu",
        "board-x",
    )
    assert (run.board, run.variant, run.notes) == ("board-x", "b", ("A note.",))
    assert run.harness_version == "1.2"


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(
    ("rc", "signal", "ok", "reason", "code"),
    [
        (0, None, True, EndReason.FINISHED, 0),
        (0, None, False, EndReason.ERROR, 0),
        (1, None, True, EndReason.ERROR, 1),
        (-9, "KILL", None, EndReason.SIGNAL, None),
        (-9, None, None, EndReason.SIGNAL, None),
        (143, "TERM", None, EndReason.SIGNAL, 143),
        (None, None, True, EndReason.UNKNOWN, None),
    ],
)
def test_why_the_session_ended(
    tmp_path: Path,
    rc: int | None,
    signal: str | None,
    ok: bool | None,
    reason: EndReason,
    code: int | None,
) -> None:
    log = {"stdout.jsonl": rows(START, {**END, "ok": ok})}
    run = imported(capture(tmp_path / "c", log, rc=rc, signal=signal)).run
    assert (run.end_reason, run.exit_code, run.signal) == (reason, code, signal)


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("home/.claude/sessions/12.abc.key", b"k"),
        ("home/.claude/shell-snapshots/snapshot-1.sh", b"export"),
        ("home/.claude/.credentials.json", b"{}"),
        ("home/.codex/auth.json", b"{}"),
        ("home/.kimi/credentials/kimi.json", b"{}"),
        ("home/.kimi-code/device_id", b"x"),
        ("home/.local/share/opencode/opencode.db", b"x"),
        ("home/.local/share/opencode/opencode.db-wal", b"x"),
        ("home/.codex/state.sqlite", b"x"),
        ("home/.codex/state", b"SQLite format 3\0rest"),
        ("work/cache", b"SQLite format 3\0rest"),
        ("work/.git/config", b"[user]"),
    ],
)
def test_private_files_are_left_out_and_named(tmp_path: Path, name: str, data: bytes) -> None:
    made = import_capture(capture(tmp_path / "c", {name: data}), tmp_path / "demo")
    assert [item.name for item in made.left_out] == [name]
    assert made.left_out[0].reason
    kept = [file.path.read_bytes() for file in read_run(made.folder).files]
    assert data not in kept


@pytest.mark.usefixtures("toys")
def test_links_are_left_out_and_named(tmp_path: Path) -> None:
    folder = capture(tmp_path / "c", {"work/a.py": b"1"})
    (folder / "work" / "link").symlink_to("/etc/hostname")
    made = import_capture(folder, tmp_path / "demo")
    assert [item.name for item in made.left_out] == ["work/link"]
    assert "a symbolic link" in made.left_out[0].reason


@pytest.mark.usefixtures("toys")
def test_a_capture_of_an_unknown_cli_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KbsiteError, match="no transcript of 'other' to show"):
        imported(capture(tmp_path / "c", cli="other"))
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize(("key", "value"), [("argv", "toy"), ("env", []), ("rc", "0"), ("cli", 1)])
def test_a_malformed_capture_is_refused_by_file_and_key(
    tmp_path: Path, key: str, value: object
) -> None:
    with pytest.raises(KbsiteError, match=rf"meta\.json:1: {key}"):
        imported(capture(tmp_path / "c", None, **{key: value}))


REAL = {
    "claude-code-2.1.329/main": EndReason.FINISHED,
    "claude-code-2.1.329/longtool-KILL": EndReason.SIGNAL,
    "codex-0.169.0/main": EndReason.FINISHED,
    "kimi-cli-1.50.0/main": EndReason.FINISHED,
    "kimi-code-2.1.0/main": EndReason.FINISHED,
    "opencode-1.18.33/main": EndReason.FINISHED,
}
"""Captures of real CLIs, and why the runs that are made of them ended."""


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@beside
@pytest.mark.parametrize("name", REAL)
def test_real_captures_become_runs_and_the_same_ones_each_time(tmp_path: Path, name: str) -> None:
    version = name.partition("/")[0].rpartition("-")[2]
    facts = Facts(harness_version=version, model="scripted", problem="add", notes=("Scripted.",))
    made = import_capture(CAPTURES / name, tmp_path / "one" / "mine", facts).folder
    stored = read_run(made)
    assert (stored.findings, manifest_findings(stored)) == ((), [])
    assert (stored.run.model, stored.run.problem) == ("scripted", "add")
    assert (stored.run.harness_version, stored.run.notes) == (version, ("Scripted.",))
    assert stored.run.end_reason is REAL[name]
    assert sum(file.size for file in stored.files) < 1_000_000
    again = import_capture(CAPTURES / name, tmp_path / "two" / "mine", facts).folder
    assert again.name == made.name
    assert contents(again) == contents(made)


@beside
@pytest.mark.parametrize("name", REAL)
def test_no_private_files_of_real_captures_are_kept(tmp_path: Path, name: str) -> None:
    made = import_capture(CAPTURES / name, tmp_path, Facts(model="scripted", problem="add"))
    names = [path.name for path in made.folder.rglob("*")]
    assert not [name for name in names if name.endswith((".key", ".db", ".sqlite", "device_id"))]
    assert "shell-snapshots" not in names


LONE = {
    "claude-code-2.1.329": ("claude", "home/**/*.jsonl", 13000),
    "codex-0.169.0": ("codex", "home/**/rollout-*.jsonl", 14000),
    "kimi-cli-1.50.0": ("kimi", "home/**/wire.jsonl", 15000),
    "kimi-code-2.1.0": ("kimi", "home/**/agents/*/wire.jsonl", 15000),
    "opencode-1.18.33": ("opencode", "stdout.jsonl", 13000),
}
"""The CLI, the files of a whole session, and the input tokens that its script makes."""


@beside
@pytest.mark.parametrize("name", LONE)
def test_real_sessions_are_recognised_whole(tmp_path: Path, name: str) -> None:
    harness, glob, tokens = LONE[name]
    files = sorted((CAPTURES / name / "main").glob(glob))
    run = read_run(import_transcripts(files, tmp_path / "mine"))
    assert (run.run.harness, run.run.usage.input) == (harness, tokens)
    assert run.run.id.startswith("20261121_0514")
    assert len(run.transcripts) == len(files)
    assert run.findings == ()


@beside
@pytest.mark.parametrize("name", LONE)
def test_what_real_clis_print_is_recognised(tmp_path: Path, name: str) -> None:
    printed = CAPTURES / name / "main" / "stdout.jsonl"
    run = read_run(import_transcripts([printed], tmp_path / "mine"))
    assert run.run.harness == LONE[name][0]
    assert [file.path.read_bytes() for file in run.transcripts] == [printed.read_bytes()]
