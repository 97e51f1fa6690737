"""`bench lint`: what is wrong with problems, by name, with the exit code that a script wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from bench import jobs, lint
from bench.cli import bench
from bench.devices.cuda import Cuda
from kbsite.model.finding import Finding, Severity
from tests.bench.commands.shells import Shell

WRONG = Finding(Severity.ERROR, "problems/toy/prompt.md", "does not tell K", 3, "shapes")


@pytest.fixture(name="looked", autouse=True)
def _looked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Which folders were looked at on which device; one called broken has something wrong."""
    seen: list[tuple[str, str]] = []

    def look(folder: Path, device: str, progress: Callable[[int, int, str], None]) -> list[Finding]:
        seen.append((folder.name, device))
        progress(1, 4, "a rule")
        return [WRONG] if folder.name == "broken" else []

    monkeypatch.setattr(lint, "lint_folder", look)
    return seen


def test_all_problems_are_looked_at(shell: Shell, looked: list[tuple[str, str]]) -> None:
    Path("problems/talk").mkdir()
    code, out, err = shell("lint")

    assert (code, out) == (0, "")
    assert looked == [("toy", "cpu")]
    assert "toy: a rule" in err
    assert "toy: 0 findings" in err


def test_what_is_wrong_is_a_result(
    shell: Shell, looked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "device_named", lambda name: SimpleNamespace(name=name))
    Path("problems/broken").mkdir()
    code, out, err = shell("lint", "toy", "problems/broken", "--device", "cuda")

    assert code == 1
    assert out == "problems/toy/prompt.md:3: error: shapes: does not tell K\n"
    assert "broken: 1 finding\n" in err
    assert looked == [("toy", "cuda"), ("broken", "cuda")]
    assert json.loads(shell("lint", "broken", "--json")[1]) == [
        {"problem": "broken", "severity": "error", "path": "problems/toy/prompt.md", "line": 3,
         "key": "shapes", "message": "does not tell K"}
    ]  # fmt: skip


def test_a_problem_that_is_named_twice_is_looked_at_once(
    shell: Shell, looked: list[tuple[str, str]]
) -> None:
    assert shell("lint", "toy", "toy", "problems/toy")[0] == 0
    assert looked == [("toy", "cpu")]


def test_a_gpu_that_there_is_not_is_told_before_anything_is_drawn(
    shell: Shell, looked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cuda, "available", lambda _: "torch sees no CUDA device")
    code, out, err = shell("lint", "toy", "--device", "cuda")

    assert (code, out, looked) == (3, "", [])
    assert "cuda: torch sees no CUDA device" in err


def test_a_problem_that_is_not_there_is_wrong_use(shell: Shell) -> None:
    code, _, err = shell("lint", "no")
    assert code == 2
    assert "there is no such problem in problems" in err
    assert shell("lint", "--problems", "nowhere")[0] == 2


def test_problems_are_those_of_kbsite_yaml_from_any_folder_below(
    home: Path, monkeypatch: pytest.MonkeyPatch, looked: list[tuple[str, str]]
) -> None:
    (home / "kbsite.yaml").write_text("title: A site\nproblems: deck\nboards: []\n")
    (home / "problems").rename(home / "deck")
    (home / "deeper").mkdir()
    monkeypatch.chdir(home / "deeper")

    assert CliRunner().invoke(bench, ["lint"]).exit_code == 0
    assert looked == [("toy", "cpu")]
    assert CliRunner().invoke(bench, ["lint", "--problems", "elsewhere"]).exit_code != 0
