from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kbsite import harnesses
from kbsite.build import build
from kbsite.check import check
from kbsite.errors import UsageError
from kbsite.harnesses import BY_ID
from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import Line, records
from kbsite.model.config import Config
from kbsite.model.event import Event, Trace, Unknown
from kbsite.model.finding import Severity
from kbsite.model.harness import Harness
from kbsite.proofs import events
from kbsite.reading import read
from kbsite.store.files import folder_digest
from kbsite.store.settings import Settings, read_settings
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings


class Fake:
    """A CLI whose rows are known by their type."""

    HARNESS = Harness("fake", "Fake CLI")

    def __init__(self) -> None:
        self.FORMATS = [Format("fake-log", "log", ("*.jsonl",), self.parse, lambda _: True, "fake")]

    @staticmethod
    def parse(lines: Iterable[Line], file: str) -> Iterator[Event]:
        for row in records(lines, file):
            if isinstance(row, Event):
                yield row
            elif row.value.get("type") == "known":
                yield Trace(source=row.source, type="known", raw=row.raw)
            else:
                yield Unknown(source=row.source, type=str(row.value.get("type")), raw=row.raw)


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_ID, "fake", Fake())
    assert harnesses.harness("fake").title == "Fake CLI"


Found = set[tuple[str, str, int | None, str | None]]


def found(path: Path, settings: Settings | None = None) -> Found:
    """Severity, name of the file, line and key of each finding."""
    return {
        (one.severity.value, Path(one.path).name, one.line, one.key)
        for one in check([path], settings)
    }


def messages(path: Path, settings: Settings | None = None) -> str:
    return "\n".join(one.text for one in check([path], settings))


def rewritten(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A JSON record changed as nobody should, and the manifest made to fit."""
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record, indent=2) + "\n")


def line(path: Path, text: str) -> int:
    """The first line of a file that holds a text."""
    rows = path.read_text().splitlines()
    return next(number for number, row in enumerate(rows, 1) if text in row)


def test_a_good_site_has_nothing_wrong(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, make_floors: MakeFloors
) -> None:
    settings = make_settings(tmp_path)
    board = settings.runs / "demo"
    present = folder_digest(settings.problems / "softmax")
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1})
    folder = make_run(board, audit={}, problem_hash=present)
    make_run(board, metrics={"status": "wrong"}, problem_hash=present)
    assert list(check([], settings)) == []
    for path in (
        tmp_path, settings.path, settings.runs, board, folder, folder / "run.json",
        folder / "solution.py", board / "floors.json", settings.problems,
        settings.problems / "softmax", settings.problems / "softmax" / "prompt.md",
    ):  # fmt: skip
        assert list(check([path], settings)) == [], path


RUN_RULES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"board": "other"}, "error", "board", "'demo'"),
    ({"hardware": "GPU-A"}, "error", "hardware", "small letters"),
    ({"harness": "Claude"}, "error", "harness", "small letters"),
    ({"harness": "nobody"}, "warning", "harness", "transcripts cannot be read"),
    ({"model": " ", "run_id": "20260102_030405_claude_x_softmax"}, "warning", "model", "is blank"),
    ({"run_id": "first-try"}, "warning", "id", "<YYYYMMDD_HHMMSS>_claude_<model>_softmax"),
    ({"ended": "2026-01-02T03:04:04Z"}, "error", "ended", "2026-01-02T03:04:05"),
    ({"ended": "2026-01-02T03:04:05+05:00"}, "error", "ended", "or later"),
    ({"budget_seconds": 0}, "error", "budget_seconds", "more than 0"),
    ({"seconds": -1}, "error", "seconds", "0 or more"),
    ({"cost_usd": -0.5}, "error", "cost_usd", "0 or more"),
    ({"answers": -3}, "error", "answers", "null where it is not known"),
    ({"usage": {"input": -1}}, "error", "usage.input", "null where it is not known"),
    ({"usage": {"output": 1, "reasoning": 2}}, "warning", "usage.reasoning", "a part of output"),
]


@pytest.mark.parametrize(("fields", "severity", "key", "expectation"), RUN_RULES)
def test_a_rule_of_run_json(
    tmp_path: Path,
    make_run: MakeRun,
    fields: dict[str, Any],
    severity: str,
    key: str,
    expectation: str,
) -> None:
    folder = make_run(tmp_path / "demo", **fields)
    place = line(folder / "run.json", f'"{key.rpartition(".")[2]}"')
    assert (severity, "run.json", place, key) in found(folder)
    assert expectation in messages(folder)


OURS = "20260102_030405_claude_opus-x_softmax"
"""What our own runner would call a run of the fields below."""


@pytest.mark.parametrize("run_id", [OURS, f"{OURS}-2"])
def test_a_run_of_ours_that_is_called_what_it_is(
    tmp_path: Path, make_run: MakeRun, run_id: str
) -> None:
    folder = make_run(
        tmp_path / "demo", run_id=run_id, model="Opus X", started="2026-01-02T05:04:05.9+02:00",
        kbsite_version="0.1.0",
    )  # fmt: skip
    assert found(folder) == set()


@pytest.mark.parametrize(
    "changed", [{"model": "other"}, {"started": "2026-01-02T03:04:06Z"}, {"model": "opus-x-2"}]
)
def test_a_run_of_ours_that_is_called_otherwise_than_what_it_says_it_is(
    tmp_path: Path, make_run: MakeRun, changed: dict[str, Any]
) -> None:
    folder = make_run(tmp_path / "demo", run_id=OURS, kbsite_version="0.1.0", **changed)
    assert ("warning", "run.json", line(folder / "run.json", '"id"'), "id") in found(folder)
    assert "softmax', by its start, harness, model and problem; got" in messages(folder)


def test_others_call_a_model_in_an_id_what_they_like(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo", run_id=OURS, model="anthropic/claude-opus-x")
    assert found(folder) == set()


METRICS_RULES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"status": "wrong", "peak_fraction": 0.3}, "error", "peak_fraction", "the status is wrong"),
    ({"peak_fraction": 0.0, "interval": None}, "error", "peak_fraction", "more than 0"),
    ({"peak_fraction": 1.2, "interval": None}, "warning", "peak_fraction", "above the ceiling"),
    ({"interval": [0.44, 0.40]}, "error", "interval", "lower end first"),
    ({"interval": [0.43, 0.44]}, "error", "interval", "0.42 (peak_fraction) between"),
    ({"peak_fraction": None}, "error", "interval", "null where peak_fraction is null"),
    ({"shapes": [{"shape": "a", "ms": 0}]}, "error", "shapes[0].ms", "more than 0"),
    ({"shapes": [{"shape": "a"}, {"shape": "a"}]}, "error", "shapes[1].shape", "twice"),
    ({"shapes": [{"shape": "a", "ms": 2, "ceiling_ms": 1, "peak_fraction": 0.42}]},
     "warning", "shapes[0].peak_fraction", "ceiling_ms / ms, 0.5"),
    ({"shapes": [{"shape": "a", "peak_fraction": 0.2}, {"shape": "b", "peak_fraction": 0.3}]},
     "warning", "peak_fraction", "geometric mean"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "severity", "key", "expectation"), METRICS_RULES)
def test_a_rule_of_metrics_json(
    tmp_path: Path,
    make_run: MakeRun,
    fields: dict[str, Any],
    severity: str,
    key: str,
    expectation: str,
) -> None:
    folder = make_run(tmp_path / "demo", metrics=fields)
    kept = {(s, name, k) for s, name, at, k in found(folder) if at}
    assert (severity, "metrics.json", key) in kept
    assert expectation in messages(folder)


def test_files_that_differ_from_the_manifest(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo", files={"check.log": b"ok\n"})
    (folder / "solution.py").write_text("cheat\n")
    (folder / "check.log").unlink()
    (folder / "added.txt").write_text("new\n")
    assert found(folder) == {
        ("error", "solution.py", None, None),
        ("error", "check.log", None, None),
        ("error", "added.txt", None, None),
    }


def test_an_audit_may_change_afterwards(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    (folder / "audit.yaml").write_text("verdict: clean\nsummary: Fine.\nauditor: A\n")
    assert found(folder) == set()


def test_a_run_without_manifest_is_incomplete(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    (folder / "manifest.json").unlink()
    assert found(folder) == {("error", "manifest.json", None, None)}


def test_a_manifest_that_cannot_be_read(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    (folder / "manifest.json").write_text('{\n"format": 1,\n"files": []}')
    assert found(folder) == {("error", "manifest.json", 3, "files")}


def test_a_run_that_was_not_completed_is_a_warning(tmp_path: Path, make_run: MakeRun) -> None:
    partial = make_run(tmp_path / "demo").rename(tmp_path / "demo" / "x.partial")
    for path in (partial, tmp_path):
        assert found(path) == {("warning", "x.partial", None, None)}


def test_an_id_that_is_not_the_folder_s_name(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    moved = folder.rename(folder.with_name(folder.name.replace("03", "04")))
    place = line(moved / "run.json", '"id"')
    assert ("error", "run.json", place, "id") in found(moved)
    assert repr(moved.name) in messages(moved)


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", "", ".hidden", "a\nb", "a\0b", "<b>"])
def test_an_id_that_leads_out_of_a_folder(tmp_path: Path, make_run: MakeRun, name: str) -> None:
    folder = make_run(tmp_path / "demo")
    rewritten(folder / "run.json", lambda run: run.update(problem=name))
    place = line(folder / "run.json", '"problem"')
    assert found(folder) == {("error", "run.json", place, "problem")}
    assert len(messages(folder).splitlines()) == 1


def test_links_and_pipes_are_not_read(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    (folder / "transcript").mkdir()
    (folder / "transcript" / "stdout.jsonl").symlink_to("/etc/hostname")
    os.mkfifo(folder / "pipe")
    assert found(folder) == {
        ("warning", "stdout.jsonl", None, None),
        ("warning", "pipe", None, None),
    }


def test_problems_that_a_run_names(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    lost = make_run(settings.runs / "demo", problem="gemm")
    old = make_run(settings.runs / "demo", problem_hash="0" * 64)
    place = line(lost / "run.json", '"problem"')
    assert found(lost, settings) == {("warning", "run.json", place, "problem")}
    assert found(lost) == set()
    place = line(old / "run.json", '"problem_hash"')
    assert found(old, settings) == {("warning", "run.json", place, "problem_hash")}


def test_rows_that_cannot_be_read_are_named_and_counted(tmp_path: Path, make_run: MakeRun) -> None:
    rows = [b'{"type":"known"}', *[b"not json"] * 5, *[b'{"type":"new"}'] * 2, b'{"type":"kn']
    folder = make_run(tmp_path / "demo", harness="fake", transcript={"log.jsonl": b"\n".join(rows)})
    assert found(folder) == {
        *(("warning", "log.jsonl", at, None) for at in (2, 3, 4, 7, 8)),
        ("warning", "transcript", None, None),
    }
    assert "6 malformed rows in all, 3 not named here" in messages(folder)
    assert "unknown event 'new'" in messages(folder)


def test_a_transcript_of_another_cli(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo", harness="fake", transcript={"x.txt": b"hello"})
    assert "Fake CLI is known to write" in messages(folder)
    empty = make_run(tmp_path / "demo", harness="fake", transcript={"x.txt": b""})
    assert found(empty) == set()


def test_one_bad_run_does_not_stop_the_others(tmp_path: Path, make_run: MakeRun) -> None:
    board = tmp_path / "demo"
    first, second, third = make_run(board), make_run(board), make_run(board)
    (first / "run.json").write_text("{" * 10_000)
    (second / "run.json").unlink()
    rewritten(third / "metrics.json", lambda metrics: metrics.update(status="superb"))
    severities = {(Path(one.path).parent.name, one.severity) for one in check([board])}
    assert severities == {(run.name, Severity.ERROR) for run in (first, second, third)}


def test_findings_come_while_the_check_is_going_on(tmp_path: Path, make_run: MakeRun) -> None:
    board = tmp_path / "demo"
    first, second = make_run(board, board="x"), make_run(board, board="x")
    going = iter(check([board]))
    assert first.name in next(going).path
    (second / "run.json").write_text("[]")
    assert second.name in next(going).path


FLOOR = {"kind": "eager", "problem": "softmax"}
FLOOR_RULES: list[tuple[list[dict[str, Any]], str, str]] = [
    ([FLOOR, FLOOR], "error", "floors[1]"),
    ([{**FLOOR, "ms": 0}], "error", "floors[0].ms"),
    ([{**FLOOR, "peak_fraction": -1}], "error", "floors[0].peak_fraction"),
    ([{**FLOOR, "peak_fraction": 1.5}], "warning", "floors[0].peak_fraction"),
    ([{**FLOOR, "problem": "../x"}], "error", "floors[0].problem"),
    ([{**FLOOR, "problem": "gemm"}], "warning", "floors[0].problem"),
    ([{**FLOOR, "problem_hash": "0"}], "warning", "floors[0].problem_hash"),
    ([{**FLOOR, "kind": "magic"}], "error", "floors[0].kind"),
]


@pytest.mark.parametrize(("floors", "severity", "key"), FLOOR_RULES)
def test_a_rule_of_floors_json(
    tmp_path: Path,
    make_settings: MakeSettings,
    make_floors: MakeFloors,
    floors: list[dict[str, Any]],
    severity: str,
    key: str,
) -> None:
    settings = make_settings(tmp_path)
    path = make_floors(settings.runs / "demo", *floors)
    for start in (path, settings.runs / "demo", settings.path):
        kept = {(s, name, k) for s, name, at, k in found(start, settings) if at}
        assert kept == {(severity, "floors.json", key)}


PROBLEM_RULES: list[tuple[dict[str, Any], str, str]] = [
    ({"title": ""}, "error", "title"),
    ({"regime": "magic"}, "error", "regime"),
    ({"shapes": []}, "error", "shapes"),
    ({"shapes": [{"id": "a", "n": 1}, {"id": "b", "n": 1}]}, "error", "shapes[1]"),
    ({"flops": {"fp32": " "}}, "error", "flops.fp32"),
    ({"flops": 5}, "error", "flops"),
]


@pytest.mark.parametrize(("fields", "severity", "key"), PROBLEM_RULES)
def test_a_rule_of_problem_yaml(
    tmp_path: Path, make_problem: MakeProblem, fields: dict[str, Any], severity: str, key: str
) -> None:
    folder = make_problem(tmp_path / "problems", **fields)
    kept = {(s, name, k) for s, name, at, k in found(folder) if at}
    assert kept == {(severity, "problem.yaml", key)}


@pytest.mark.parametrize("name", ["prompt.md", "reference.py"])
def test_a_text_of_a_problem_that_is_no_utf8_or_too_long(
    tmp_path: Path, make_problem: MakeProblem, name: str
) -> None:
    folder = make_problem(tmp_path / "problems")
    (folder / name).write_bytes("one\n# Größe\n".encode("latin-1"))
    assert ("error", name, 2, None) in found(folder)
    (folder / name).write_bytes(b"x" * 1_000_001)
    assert found(folder) == {("error", name, None, None)}


def test_a_problem_that_nobody_is_graded_by_needs_a_title_and_a_statement(tmp_path: Path) -> None:
    """As of a team that brings scores of its own: `check --strict` has nothing to fail on."""
    folder = tmp_path / "problems" / "csv-sum"
    folder.mkdir(parents=True)
    (folder / "problem.yaml").write_text("title: Sums of columns\n")
    (folder / "prompt.md").write_text("Sum it.\n")

    assert found(folder) == set()


def test_the_files_of_a_problem(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_problem(tmp_path / "problems", "Soft Max")
    (folder / "prompt.md").unlink()
    (folder / "reference.py").unlink()
    (folder / "link").symlink_to("/etc")
    assert found(folder) == {
        ("error", "Soft Max", None, None),
        ("error", "prompt.md", None, None),
        ("warning", "reference.py", None, None),
        ("warning", "link", None, None),
    }
    (folder / "prompt.md").write_text(" \n")
    assert ("error", "prompt.md", None, None) in found(folder)


SITE_RULES: list[tuple[dict[str, Any], str, str]] = [
    ({"id": "Demo"}, "error", "boards[0].id"),
    ({"id": "runs"}, "error", "boards[0].id"),
    ({"id": "elsewhere"}, "error", "boards[0].id"),
    ({"title": ""}, "error", "boards[0].title"),
    ({"audit_threshold": 10}, "error", "boards[0].audit_threshold"),
    ({"metric": " "}, "error", "boards[0].metric"),
    ({"metric": "Peak-fraction"}, "error", "boards[0].metric"),
    ({"budget_seconds": -5}, "error", "boards[0].budget_seconds"),
    ({"hardware": "a b"}, "error", "boards[0].hardware"),
    ({"runs": ["demo", "lost"]}, "error", "boards[0].runs[1]"),
    ({"runs": ["../demo"]}, "error", "boards[0].runs[0]"),
    ({"deck": ["softmax", "softmax"]}, "error", "boards[0].deck[1]"),
    ({"deck": ["softmax", "a/b"]}, "error", "boards[0].deck[1]"),
    ({"deck": ["softmax", "gemm"]}, "warning", "boards[0].deck[1]"),
    ({"groups": [{"title": "L", "problems": ["softmax"]}]}, "error", "boards[0].deck"),
    (
        {"deck": [], "groups": [{"title": " ", "problems": ["softmax"]}]},
        "error",
        "boards[0].groups[0].title",
    ),
    (
        {"deck": [], "groups": [{"title": "L", "problems": []}]},
        "error",
        "boards[0].groups[0].problems",
    ),
    (
        {"deck": [], "groups": [{"title": "L", "problems": ["softmax", "a/b"]}]},
        "error",
        "boards[0].groups[0].problems[1]",
    ),
    (
        {"deck": [], "groups": [{"title": n, "problems": ["softmax"]} for n in "LM"]},
        "error",
        "boards[0].groups[1].problems[0]",
    ),
    (
        {"groups": [{"titel": "L", "title": "L", "problems": ["softmax"]}]},
        "warning",
        "boards[0].groups[0].titel",
    ),
    ({"represents": "nobody"}, "error", "boards[0].represents"),
]


@pytest.mark.parametrize(("fields", "severity", "key"), SITE_RULES)
def test_a_rule_of_a_board(
    tmp_path: Path, make_settings: MakeSettings, fields: dict[str, Any], severity: str, key: str
) -> None:
    settings = make_settings(tmp_path)
    held = yaml.safe_load(settings.path.read_text())
    held["boards"][0] |= fields
    settings.path.write_text(yaml.safe_dump(held))
    kept = {(s, name, k) for s, name, at, k in found(settings.path) if at}
    assert (severity, "kbsite.yaml", key) in kept


def test_two_boards_with_one_id(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path)
    held = yaml.safe_load(settings.path.read_text())
    held["boards"] *= 2
    settings.path.write_text(json.dumps(held, indent=1))
    kept = {(s, name, k) for s, name, at, k in found(settings.path) if at}
    assert kept == {("error", "kbsite.yaml", "boards[1].id")}


def test_two_boards_with_one_title(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path)
    (settings.runs / "other").mkdir()
    held = yaml.safe_load(settings.path.read_text())
    held["boards"].append({**held["boards"][0], "id": "other"})
    settings.path.write_text(json.dumps(held, indent=1))
    kept = {(s, name, k) for s, name, at, k in found(settings.path) if at}
    assert kept == {("warning", "kbsite.yaml", "boards[1].title")}


def test_a_deck_may_name_a_problem_that_only_runs_know(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, deck=["softmax", "gemm"])
    make_run(settings.runs / "demo", problem="gemm", audit={})
    assert {key for *_, key in found(settings.path)} == {"problem"}


def test_figures_that_others_published_need_no_problem_here_and_no_transcript(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, make_floors: MakeFloors
) -> None:
    settings = make_settings(tmp_path, deck=["softmax", "gemm"])
    board = settings.runs / "demo"
    told: dict[str, Any] = {"harness": "elsewhere", "problem": "gemm", "origin": "a table"}
    make_run(board, audit={}, **told)
    make_floors(board, {"kind": "eager", "problem": "gemm", "ms": 1.0})
    assert found(settings.path, settings) | found(board, settings) == set()

    make_run(board, audit={}, transcript={"stdout.jsonl": b"{}\n"}, **told)
    (key,) = {key for severity, *_, key in found(board, settings) if severity == "warning"}
    assert key == "harness"


@pytest.mark.parametrize(
    ("named", "cure"),
    [
        ("h100-smx", "did you mean h100-sxm?"),
        ("tpu", "known are cpu, gpu-a, gpu-of-floors, h100-sxm"),
    ],
)
def test_hardware_that_nothing_else_knows_is_told_before_there_are_runs(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun, make_floors: MakeFloors,
    named: str, cure: str,
) -> None:  # fmt: skip
    (tmp_path / "hw").mkdir()
    shutil.copy(Path(__file__).parents[1] / "bench/hardware/h100-sxm.yaml", tmp_path / "hw")
    settings = make_settings(tmp_path, site={"hardware": "hw"}, board="empty", hardware=named)
    make_run(settings.runs / "demo", hardware="gpu-a")
    floor = {"problem": "softmax", "kind": "eager", "ms": 1.0, "source": "seen"}
    make_floors(settings.runs / "other", {**floor, "hardware": "gpu-of-floors"})
    message = f"no hardware, and no run's or floor's, is called {named!r}; {cure}"
    (told,) = [one for one in check([settings.path]) if one.key == "boards[0].hardware"]
    assert (told.severity, told.message) == (Severity.WARNING, message)

    for known in ("cpu", "h100-sxm", "gpu-a", "gpu-of-floors"):
        make_settings(tmp_path, site={"hardware": "hw"}, board="empty", hardware=known)
        assert not [one for one in check([settings.path]) if one.key == "boards[0].hardware"]


@pytest.mark.parametrize("out", [".", "runs", "runs/site", "problems", "problems/site", ".."])
def test_a_site_is_not_written_over_what_it_is_made_from(
    tmp_path: Path, make_settings: MakeSettings, out: str
) -> None:
    settings = make_settings(tmp_path / "home", site={"out": out})
    assert {key for *_, key in found(settings.path)} == {"out"}


def test_keys_that_stand_in_the_wrong_place_are_told_with_the_right_one(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, site={"budget_seconds": 60, "id": "x"}, robots="noai")
    assert {one.key: one.message for one in check([settings.path])} == {
        key: f"unknown here, so it is ignored; it is a key of {places}"
        for key, places in {
            "budget_seconds": "an item of boards",
            "id": "an item of boards or of an item of leaks",
            "boards[0].robots": "the top of the file",
        }.items()
    }


def test_keys_that_nobody_knows_are_told_with_what_they_may_mean(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, tagline="t", hardwear="cpu")
    with settings.path.open("a") as file:
        file.write(
            "redcat: {deny: [X]}\nstorage: {endpiont: x}\nredact: {allow: [{text: a, reason: r}]}\n"
        )
        file.write("0: x\n")
    told = check([settings.path])

    assert {(str(one.severity.value), one.key, one.message) for one in told} == {
        ("warning", key, f"unknown, so it is ignored; {what}")
        for key, what in {
            "boards[0].hardwear": "did you mean hardware?",
            "redcat": "did you mean redact?",
            "storage.endpiont": "did you mean endpoint?",
            "redact.allow[0].reason": "known are text, rule, file, why",
            "0": f"known are {', '.join(Config.__struct_fields__)}",
        }.items()
    }
    assert all(one.line for one in told)


def test_what_is_no_secret_is_named_where_it_lets_nothing_pass(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    entries = "[{text: a}, {why: nothing}, {rule: emial, why: a}, {rule: never, file: b}]"
    with settings.path.open("a") as file:
        file.write(f"redact: {{allow: {entries}}}\n")
    told = {one.key: one for one in check([settings.path])}

    assert set(told) == {
        "redact.allow[1]", "redact.allow[2].rule", "redact.allow[3].rule"
    }  # fmt: skip
    assert "expected what it is about: text, rule or file" in told["redact.allow[1]"].message
    assert told["redact.allow[2].rule"].message.endswith("did you mean email?")
    assert "no rule is called so" in told["redact.allow[3].rule"].message
    assert all(one.line and one.severity is Severity.WARNING for one in told.values())


def test_runs_in_a_bucket_of_which_nothing_was_copied_are_to_be_built_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that somebody makes there would be taken for a bucket without runs."""
    monkeypatch.setenv("KBSITE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "kbsite.yaml"
    path.write_text("runs: s3://bench/runs\nboards:\n- {id: demo, title: Demo}\n")
    (told,) = [one for one in check([path]) if one.severity is Severity.ERROR]

    assert (told.line, told.key) == (1, "runs")
    assert told.message == "nothing of s3://bench/runs was copied yet: `kbsite build` does that"
    (read_too,) = read(read_settings(path)).findings
    assert read_too.message == told.message


def test_a_site_cannot_stand_where_a_file_is(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path, site={"out": "notes.txt"})
    (tmp_path / "notes.txt").write_text("mine")

    assert {key for *_, key in found(settings.path)} == {"out"}


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "kbsite.yaml"
    path.write_text("title: A site\n")
    kept = {(severity, key) for severity, *_, key in found(path)}
    assert kept == {("error", "runs"), ("warning", "problems")}
    path.write_text("title: [\n")
    assert found(path) == {("error", "kbsite.yaml", 2, None)}


def test_runs_of_boards_that_nobody_declared_are_checked_too(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, site={"title": "Mine"})
    present = folder_digest(settings.problems / "softmax")
    folder = make_run(settings.runs / "other", audit={}, problem_hash=present)
    assert list(check([], settings)) == []
    (folder / "solution.py").write_text("pass\n")
    assert found(settings.path) == {("error", "solution.py", None, None)}


def test_two_runs_of_one_id_are_named(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    present = folder_digest(settings.problems / "softmax")
    first = make_run(settings.runs / "demo", audit={}, problem_hash=present)
    make_run(settings.runs / "other", run_id=first.name, problem_hash=present)
    assert found(settings.path) == {("error", "run.json", None, "id")}
    assert f"the run in {first} has the same id" in messages(settings.path)


def test_a_board_that_refuses_all_of_its_runs_is_named(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo")
    (told,) = check([], settings)
    assert (told.severity, told.key) == (Severity.WARNING, "boards.demo")
    assert "it refuses all that it has, 1 run; " in told.message
    assert "its problem hash is not recorded" in told.message


def test_an_engine_that_there_is_not_is_named_and_fewer_processes_than_none(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, site={"engine": "cluster"})
    assert ("error", "kbsite.yaml", line(settings.path, "engine"), "engine") in found(settings.path)
    settings = make_settings(tmp_path / "other", site={"engine": "ray", "jobs": 1})
    (tmp_path / "other" / "runs" / "demo").mkdir(parents=True, exist_ok=True)
    assert found(settings.path) == set()
    settings.path.write_text("title: x\njobs: -1\n")
    assert found(settings.path) == {("error", "kbsite.yaml", 2, "jobs")}


def test_runs_that_no_board_takes_are_named(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[], runs=["some"])
    make_run(settings.runs / "some", audit={}, board="some")
    for number, folder in enumerate(("demo", "demo", "data")):
        name = f"20260102_03040{number}_claude_opus_softmax"
        make_run(settings.runs / folder, audit={}, board=folder, run_id=name)
    told = sorted(one.message for one in check([], settings) if one.key == "boards")
    assert told == [
        f"none takes the runs in {settings.runs / name}, {count} in all; "
        f"a board with {name} under runs does"
        for name, count in (("data", 1), ("demo", 2))
    ]
    settings = make_settings(tmp_path, problems=[], runs=["some", "data", "demo"])
    assert [one for one in check([], settings) if one.key == "boards"] == []


def test_a_path_that_cannot_be_checked(tmp_path: Path, make_settings: MakeSettings) -> None:
    settings = make_settings(tmp_path / "home", problems=())
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "x.txt").write_text("x")
    for path in (tmp_path / "lost", tmp_path / "notes", tmp_path / "notes" / "x.txt"):
        with pytest.raises(UsageError, match=path.name):
            check([path], settings)
    with pytest.raises(UsageError, match="nothing to check"):
        check([], None)
    assert found(settings.runs, settings) == set()
    settings.problems.mkdir()
    assert found(settings.problems, settings) == set()


def test_the_folder_of_a_site_is_its_kbsite_yaml_and_not_the_runs_in_what_was_built(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, problems=[], deck=[])
    run = make_run(settings.runs / "demo", model="one")
    build(settings)
    assert not [one for one in check([tmp_path], settings) if "site" in Path(one.path).parts]
    (run / "run.json").write_text("{")
    assert {one.path for one in check([tmp_path], settings)} == {
        one.path for one in check([settings.path], settings)
    }
    assert str(run / "run.json") in {one.path for one in check([tmp_path], settings)}


def test_paths_are_told_as_seen_from_here(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path / "demo", board="other")
    monkeypatch.chdir(tmp_path)
    for path in (Path("demo"), folder, Path("demo/../demo") / folder.name / "run.json"):
        (one,) = check([path])
        assert one.path == f"demo/{folder.name}/run.json"
    monkeypatch.chdir(folder)
    (one,) = check([Path()])
    assert one.path == f"{folder}/run.json"


def test_a_finding_is_one_line_whatever_a_file_is_called(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "demo")
    (folder / os.fsdecode(b"a\nb\x1b[31m\xff")).symlink_to("/x\ny")
    (one,) = check([folder])
    assert one.text.isprintable()
    assert r"a\nb\x1b[31m\udcff: warning: not read: a symbolic link (to /x\ny)" in one.text
    one.text.encode()


def test_many_runs_with_transcripts_are_checked(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    for _ in range(50):
        make_run(settings.runs / "demo", audit={}, transcript={"stdout.jsonl": b"{}\n" * 10})
    assert read_settings(settings.path) == settings
    errors = [one for one in check([], settings) if one.severity is Severity.ERROR]
    assert errors == []


@pytest.mark.parametrize("linked", [False, True], ids=["gone", "a link by now"])
def test_a_file_that_goes_while_its_run_is_checked_is_named_and_other_runs_are_checked(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch, *, linked: bool,
) -> None:  # fmt: skip
    settings = make_settings(tmp_path)
    quote = {"file": "transcript/stdout.jsonl", "event": "L1", "label": "said", "text": "begin"}
    log = {"stdout.jsonl": b'{"type": "user", "message": {"content": "begin"}}\n'}
    folders = [
        make_run(settings.runs / "demo", model=model, transcript=log, audit={"quotes": [quote]})
        for model in ("one", "two")
    ]
    gone = folders[0] / "transcript" / "stdout.jsonl"
    own = events.__dict__["_shown"]

    def late(*args: Any) -> Any:
        gone.unlink(missing_ok=True)
        if linked:
            gone.symlink_to(folders[1] / "run.json")
        return own(*args)

    monkeypatch.setattr(events, "_shown", late)
    told = [one for one in check([settings.runs], settings) if one.severity is Severity.ERROR]

    assert str(gone) in {one.path for one in told}
    assert "cannot be read any more" in "".join(one.message for one in told)
    assert not [one for one in told if str(folders[1]) in one.path]
