"""The script that plays every fault to every CLI, and two of its cells."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench.scripted import SHIPPED, Server
from tests.bench.running.sessions import ROOT


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fault_matrix", ROOT / "scripts/fault_matrix.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["fault_matrix"] = module
    spec.loader.exec_module(module)
    return module


MATRIX = script()


def cell(**changes: Any) -> Any:
    told = {
        "harness": "claude", "scenario": "e401", "reason": "provider_error", "detail": "It failed.",
        "exit_code": 1, "seconds": 5.0, "left": 0, "requests": 3, "budget": 40.0,
    }  # fmt: skip
    return MATRIX.Cell(**{**told, **changes})


@pytest.mark.parametrize(
    ("harness", "scenario", "reason"),
    [("claude", "maxtok", "truncated"), ("codex", "bgtool", "finished")],
)
def test_a_cell_ends_for_the_right_reason_and_leaves_nothing(
    server: Server, tmp_path: Path, harness: str, scenario: str, reason: str
) -> None:
    played = MATRIX.play(harness, scenario, server, tmp_path, 300.0)
    assert (played.reason, played.wrong) == (reason, ""), played.detail
    assert played.requests >= 1
    assert played.left == 0


def test_every_scenario_is_a_script_that_ships() -> None:
    shipped = {path.stem for path in SHIPPED.glob("*.yaml")}
    assert set(MATRIX.EXPECTED) <= shipped
    assert shipped - set(MATRIX.EXPECTED) == {"main", "child", "hi", "hostile"}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, ""),
        ({"reason": "finished"}, "expected provider_error"),
        ({"seconds": 50.0}, ""),
        ({"seconds": 50.1}, "too late"),
        ({"left": 2}, "2 left"),
        ({"reason": "budget", "seconds": 99.0}, "expected provider_error, too late"),
    ],
)
def test_what_is_wrong_with_a_cell(changes: dict[str, Any], wrong: str) -> None:
    assert cell(**changes).wrong == wrong


@pytest.mark.parametrize(
    ("only", "count"),
    [
        ([], 7 * len(MATRIX.EXPECTED)),
        (["claude"], len(MATRIX.EXPECTED)),
        (["e401", "cut"], 14),
        (["claude", "codex", "e401"], 2),
        (["claude/cut", "codex/e401"], 2),
        (["nothing"], 0),
    ],
)
def test_what_is_asked_for_is_played(only: list[str], count: int) -> None:
    assert len(list(MATRIX.every(only))) == count


def test_what_was_played_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str]] = []

    def played(harness: str, scenario: str, *_: object) -> Any:
        asked.append((harness, scenario))
        reason = "provider_error" if harness == "claude" else "budget"
        return cell(harness=harness, scenario=scenario, reason=reason, detail="a | b\nc")

    monkeypatch.setattr(MATRIX, "play", played)
    words = ["--out", str(tmp_path), "--only", "e401"]
    assert MATRIX.main([*words, "claude"]) == 0
    assert MATRIX.main([*words, "claude", "codex"]) == 1, "codex is wrong"
    assert asked == [("claude", "e401"), ("codex", "e401")]
    assert MATRIX.main([*words, "claude", "--again"]) == 1, "codex stays wrong"
    assert asked[-1] == ("claude", "e401")
    assert "How runs end" in capsys.readouterr().out
    assert json.loads((tmp_path / "matrix.json").read_text())["cells"][0]["harness"] == "claude"
    lines = (tmp_path / "matrix.md").read_text().splitlines()
    assert lines[0] == "# How runs end, by fault and CLI"
    assert "2 real runs" in lines[2]
    assert "1 ended otherwise" in lines[2]
    assert lines[4].startswith("| scenario | claude | codex |")
    assert any("provider_error 5 s, 1, 0" in line for line in lines)
    assert "| claude, e401 | a \\| b c. |" in lines


def test_the_report_says_what_its_results_say() -> None:
    folder = ROOT / "docs/reports/2026-11-29-faults"
    cells = MATRIX.read(folder)
    assert [one for one in cells.values() if one.wrong] == []
    assert {one for _, one in cells} == set(MATRIX.EXPECTED), "every fault was played"
    report = folder.with_suffix(".md").read_text()
    assert f"{len(cells)} real runs" in report
    anew = MATRIX.markdown(cells).splitlines()
    assert [line for line in anew if line.startswith(("| claude,", "| codex,"))]
    for line in anew[6:]:
        assert line in report
