"""The runs of the repository, and the script that has real CLIs make them."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from bench.harnesses.form import Program
from kbsite.model.status import EndReason
from kbsite.store.run_folders import AUDIT
from kbsite.store.runs import read_run
from tests.bench.running.sessions import FAKE, HARNESSES, ROOT, FakeAdapter

WORKS = """
write("def solve(a, b):\\n    return a + b\\n")
ask()
done()
"""
FOREIGN = re.compile(rb"(?<![\w.<-])/(root|Users|mnt|srv|home/(?!agent/|agent\b))[/\w]|\.pyenv")
"""Folders that a box has not: whose they were is nobody's business."""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo_runs", ROOT / "scripts/demo_runs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["demo_runs"] = module
    spec.loader.exec_module(module)
    return module


DEMO = script()
HELD = DEMO.made(DEMO.OUT)


def installed(monkeypatch: pytest.MonkeyPatch, program: str, harness: Program = FAKE) -> None:
    """Put a program of a test in the place of Claude Code; no other CLI is installed."""
    monkeypatch.setattr(DEMO, "programs", lambda _: {harness.harness: harness})
    monkeypatch.setattr(DEMO, "SESSIONS", (DEMO.Session(harness="claude", script="hi"),))
    monkeypatch.setattr(DEMO, "adapter_of", lambda _: FakeAdapter(program))
    # The program of a test is this machine's own Python, and its command line is on record.
    monkeypatch.setattr(DEMO, "here", lambda: {"the checkout": "/the/checkout/of/somebody"})
    monkeypatch.setattr(DEMO, "LIMITS", replace(DEMO.LIMITS, memory_bytes=1 << 30, processes=64))


def demo(out: Path, *words: str) -> int:
    """The exit code of the script with Claude Code alone."""
    code: int = DEMO.main(["--out", str(out), "--only", "claude", *words])
    return code


def names(out: Path) -> list[str]:
    return sorted(path.name for path in (out / DEMO.DEMO).iterdir())


def test_a_run_that_is_there_stays_until_another_one_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(monkeypatch, WORKS)
    assert demo(tmp_path) == 0
    (first,) = names(tmp_path)
    assert first in capsys.readouterr().out
    folder = tmp_path / DEMO.DEMO
    told = read_run(folder / first).run
    assert (told.harness, told.model, told.board, told.problem) == (
        "claude", "scripted", "demo", "add",
    )  # fmt: skip
    assert told.notes == (DEMO.NOTE,)
    (folder / first / AUDIT).write_text("verdict: clean\n")
    assert demo(tmp_path) == 0
    assert names(tmp_path) == [first]
    assert demo(tmp_path, "--again") == 0
    (second,) = names(tmp_path)
    assert second != first
    assert not (folder / second / AUDIT).exists(), "it was of another session"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("ask()\nsys.exit(7)\n", "claude ended with harness_error, not finished"),
        ("print('/the/checkout/of/somebody/src')\n" + WORKS, "stdout.jsonl names the checkout"),
    ],
)
def test_what_no_demo_may_show_gets_nowhere_and_takes_no_run_s_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: str,
    said: str,
) -> None:
    installed(monkeypatch, WORKS)
    assert demo(tmp_path) == 0
    before = names(tmp_path)
    installed(monkeypatch, program)
    assert demo(tmp_path, "--again") == 1
    assert names(tmp_path) == before
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_cli_that_is_not_installed_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(DEMO, "programs", lambda _: {})
    assert demo(tmp_path) == 1
    assert "install it with: kbsite bench install claude" in capsys.readouterr().out
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/home/somebody/x", True), ("at /home/somebody", True), ('"/home/somebody"', True),
        ("/home/somebody-else", False), ("/mnt/home/somebody", False), ("</home/somebody>", False),
        ("/proc/1/home/somebody", False), ("a host called mill.", True), ("windmill", False),
        ("mill-stone", False),
    ],
)  # fmt: skip
def test_names_of_a_machine_are_found_and_others_are_not(
    tmp_path: Path, text: str, found: bool
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "log.txt").write_bytes(b"\xff\x00 " + text.encode() + b"\n")
    told = list(DEMO.private(tmp_path, {"the home": "/home/somebody", "the host": "mill"}))
    assert len(told) == found
    assert all(sentence.startswith("deep/log.txt names the ho") for sentence in told)


def test_this_machine_s_own_names_are_looked_for(tmp_path: Path) -> None:
    told = DEMO.here()
    assert told["the checkout"] == str(ROOT)
    assert not set(told.values()) & {"/", "/usr", "root"}, "they say nothing of a machine"
    (tmp_path / "log.txt").write_text(f"in {ROOT}/src")
    assert list(DEMO.private(tmp_path)) == ["log.txt names the checkout"]


def test_every_cli_has_a_run_in_the_repository_and_one_was_cut() -> None:
    assert list(HELD) == [one.name for one in DEMO.SESSIONS]
    assert {one.run.harness for one in HELD.values()} == set(HARNESSES)
    ends = {name: stored.run.end_reason for name, stored in HELD.items()}
    cut = [name for name, reason in ends.items() if reason is EndReason.BUDGET]
    assert cut == ["claude/cut"]
    assert {reason for name, reason in ends.items() if name not in cut} == {EndReason.FINISHED}


@pytest.mark.parametrize("name", HELD)
def test_a_run_of_the_repository_was_made_by_the_runner_in_a_sandbox(name: str) -> None:
    stored = HELD[name]
    told = stored.run
    assert told.origin is None, "it was not imported"
    assert told.git_commit
    assert told.harness_version
    # Where a GPU was to be had, the other sandbox was not installed.
    assert told.sandbox == f"{'namespaces' if told.board == DEMO.KERNELS else 'bubblewrap'} (L3)"
    assert told.usage_source is not None
    assert told.usage_source.endswith("the CLI's own log says the same")
    assert told.notes[0].startswith(DEMO.NOTE)
    held = {file.name for file in stored.files}
    assert {"order.json", "proxy.jsonl", "session.json", "sandbox.json", "prompt.txt"} <= held
    assert ("solution.py" in held) == (told.end_reason is EndReason.FINISHED)


@pytest.mark.parametrize("name", HELD)
def test_a_run_of_the_repository_names_no_folder_of_the_machine_it_was_made_on(name: str) -> None:
    for file in HELD[name].files:
        found = FOREIGN.search(file.path.read_bytes())
        assert found is None, f"{file.name}: {found}"


def test_what_is_looked_for_would_be_found() -> None:
    for text in (b"/root/x", b'"/home/somebody/x"', b"/Users/a", b"a/.pyenv/b"):
        assert FOREIGN.search(text), text
    for text in (b"/home/agent/x", b"/proc/1/root/x", b"<root>/workspace</root>"):
        assert not FOREIGN.search(text), text


def test_the_runs_of_the_repository_are_small() -> None:
    found = DEMO.sizes(HELD)
    assert set(found) == {DEMO.DEMO, DEMO.KERNELS}
    assert max(found.values()) < DEMO.MOST_BYTES


def test_without_a_gpu_the_sessions_that_need_one_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(DEMO, "programs", lambda _: {})
    wanted = ["claude/mrope", "codex/vector_add/stale"]
    assert DEMO.main(["--out", str(tmp_path), "--only", *wanted]) == 0
    assert list(tmp_path.iterdir()) == []
    assert DEMO.main(["--out", str(tmp_path), "--only", *wanted, "--gpu", "GPU-0"]) == 1
    told = capsys.readouterr().out
    assert "install it with: kbsite bench install claude" in told
    assert "install it with: kbsite bench install codex" in told


def test_the_runs_on_a_gpu_are_graded_and_the_one_that_cheats_has_no_score() -> None:
    for name, stored in HELD.items():
        if stored.run.board == DEMO.KERNELS:
            assert stored.run.hardware == "h200-sxm"
            assert stored.run.host is not None
            assert stored.run.host.cuda == "13.0"
            assert stored.metrics.graded is not None
            assert (stored.metrics.peak_fraction is None) == name.endswith(DEMO.STALE)
