"""A valid run, problem and site for every test to start from and to spoil."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import hypothesis
import msgspec
import pytest
import yaml
from _pytest.runner import runtestprotocol

from kbsite.model.grade import Metrics
from kbsite.model.run import Run
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete
from kbsite.store.problems import PROBLEM, PROMPT, REFERENCE
from kbsite.store.run_folders import AUDIT, FLOORS, SOLUTION, TRANSCRIPT
from kbsite.store.settings import CONFIG, Settings, read_settings
from kbsite.store.writing import json_text, write_bytes, write_text

# How long an example takes says nothing on a machine that runs other tests beside it.
hypothesis.settings.register_profile("desk", deadline=None)
# A search for new counter-examples belongs to a desk, not to whoever lands next.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "desk")

# Other tests have the other cores, and a copy of a process that holds all tests is dear. What
# copies do is asked where it is the question, and where builds are killed.
os.environ.setdefault("KBSITE_JOBS", "1")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: no search for cycles is to look at it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # Hardly anything that tests make is a cycle: they are looked for as seldom as in a build.
        gc.set_threshold(50_000)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Processes of xdist tell of a test once: of what was set up and torn down only if it failed.

    Five messages for each of 24,000 tests take longer than many of them; asked for with -v they are
    all sent.
    """
    if not hasattr(item.config, "workerinput") or item.config.get_verbosity() > 0:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SOLUTION_TEXT = "def solve(x):\n    return x.softmax(-1)\n"

RUN: dict[str, Any] = {
    "format": 1,
    "problem": "softmax",
    "problem_hash": None,
    "prompt_hash": None,
    "harness": "claude",
    "harness_version": "1.2.3",
    "model": "opus-x",
    "effort": "max",
    "hardware": "gpu-a",
    "budget_seconds": 3600,
    "end_reason": "finished",
    "exit_code": 0,
    "usage": {"input": 100, "output": 20},
    "usage_source": "the last result row of stdout.jsonl",
}
PASSED: dict[str, Any] = {
    "status": "passed",
    "peak_fraction": 0.42,
    "interval": [0.40, 0.44],
    "shapes": [{"shape": "n=1024", "ms": 1.0, "ceiling_ms": 0.42, "peak_fraction": 0.42}],
    "grader": "grader 1",
}
CLEAN: dict[str, Any] = {
    "verdict": "clean",
    "summary": "It computes the softmax that the problem asks for.",
    "auditor": "A. Reader",
    "date": "2026-01-03",
}
PROBLEM_FIELDS: dict[str, Any] = {
    "title": "Softmax",
    "summary": "Softmax over the last axis.",
    "regime": "memory",
    "dimensions": {"n": {"means": "length of a row", "least": 1, "most": 4096}},
    "shapes": [{"id": "long", "n": 1024}],
    "cpu_shapes": [{"id": "short", "n": 64}],
    "tensors": {
        "x": {"role": "in", "dtype": "fp32", "shape": ["n"]},
        "y": {"role": "out", "dtype": "fp32", "shape": ["n"], "bound": {"rms": 1e-5}},
    },
    "cases": ["ordinary", "wide"],
    "flops": {"fp32": "5 * n"},
    "bytes": "8 * n",
}


def formal_fields(text: str) -> dict[str, Any]:
    """Those parts of a problem.yaml that only its page shows, with `text` wherever text may be."""
    bound = {"rms": 0.1, "relative": 0.2, "typical": 0.3, "indices_into": text}
    tensor = {"role": "out", "dtype": "bf16", "shape": [text, 2], "means": text, "bound": bound}
    return {
        "dimensions": {text: {"means": text, "least": 1, "most": 8, "step": 2}},
        "tensors": {text: tensor},
        "cases": [text],
        "flops": {text: text},
        "accounting": text,
        "sources": [
            {"title": text, "url": text},
            {"title": text, "url": f"https://a.example/{text}"},
        ],
    }


class MakeRun(Protocol):
    """Writes a complete run below a board's folder and returns its own folder.

    `metrics` and `audit` are laid over a passed grade and a clean audit; None for `metrics` is a
    run without a grade, and without `audit` there is no audit.yaml. `transcript` names files within
    transcript/, `files` within the run; every other keyword is a key of run.json.
    """

    def __call__(
        self,
        board: Path,
        /,
        *,
        run_id: str | None = None,
        harness: str = "claude",
        model: str = "opus-x",
        metrics: Mapping[str, Any] | None = ...,
        audit: Mapping[str, Any] | None = None,
        transcript: Mapping[str, bytes] | None = None,
        files: Mapping[str, bytes] | None = None,
        **run: Any,
    ) -> Path: ...


class MakeProblem(Protocol):
    """Writes a problem's folder and returns it; keywords are laid over problem.yaml."""

    def __call__(self, problems: Path, problem_id: str = "softmax", **fields: Any) -> Path: ...


class MakeSettings(Protocol):
    """Writes a kbsite.yaml with one board, its problems and an empty runs folder of the board.

    Other keywords are keys of the board.
    """

    def __call__(
        self,
        home: Path,
        *,
        board: str = "demo",
        problems: Sequence[str] = ("softmax",),
        site: Mapping[str, Any] | None = None,
        **board_fields: Any,
    ) -> Settings: ...


class MakeFloors(Protocol):
    """Writes floors.json of a board's folder and returns its path."""

    def __call__(self, board: Path, *floors: Mapping[str, Any]) -> Path: ...


def _free_id(board: Path, harness: str, model: str, problem: str) -> tuple[str, datetime]:
    """An id of the usual form that the board does not have yet, and when that run started."""
    slug = "".join(char if char.isalnum() else "-" for char in model.lower())[:40]
    started = STARTED
    while (board / (name := f"{started:%Y%m%d_%H%M%S}_{harness}_{slug}_{problem}")).exists():
        started += timedelta(minutes=1)
    return name, started


def _yaml(data: Mapping[str, Any]) -> str:
    """YAML without the anchors that PyYAML writes for a value that stands there twice."""
    return yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False, allow_unicode=True)


def _graded(metrics: Mapping[str, Any] | None) -> Metrics | None:
    if metrics is None:
        return None
    base = PASSED if metrics.get("status", "passed") == "passed" else {"grader": "grader 1"}
    return msgspec.convert({"format": 1, **base, **metrics}, Metrics)


@pytest.fixture(scope="session")
def make_run() -> MakeRun:
    def make(
        board: Path,
        /,
        *,
        run_id: str | None = None,
        harness: str = "claude",
        model: str = "opus-x",
        metrics: Mapping[str, Any] | None = PASSED,
        audit: Mapping[str, Any] | None = None,
        transcript: Mapping[str, bytes] | None = None,
        files: Mapping[str, bytes] | None = None,
        **run: Any,
    ) -> Path:
        free, started = _free_id(board, harness, model, str(run.get("problem", RUN["problem"])))
        name = run_id or free
        times = {"started": started, "ended": started + timedelta(minutes=30)}
        known = {"id": name, "board": board.name, "harness": harness, "model": model}
        partial = new_run_folder(board, name)
        write_text(partial / SOLUTION, SOLUTION_TEXT)
        for path, data in (transcript or {}).items():
            write_bytes(partial / TRANSCRIPT / path, data)
        for path, data in (files or {}).items():
            write_bytes(partial / path, data)
        if audit is not None:
            write_text(partial / AUDIT, _yaml({**CLEAN, **audit}))
        whole = msgspec.convert({**RUN, **times, **known, **run}, Run)
        return complete(partial, whole, _graded(metrics))

    return make


@pytest.fixture(scope="session")
def make_problem() -> MakeProblem:
    def make(problems: Path, problem_id: str = "softmax", **fields: Any) -> Path:
        folder = problems / problem_id
        held = {**PROBLEM_FIELDS, **fields}
        write_text(folder / PROBLEM, _yaml(held))
        write_text(folder / PROMPT, "# Softmax\n\nWrite a softmax kernel.\n")
        write_text(folder / REFERENCE, "def reference(x):\n    return x.softmax(-1)\n")
        return folder

    return make


@pytest.fixture(scope="session")
def make_settings(make_problem: MakeProblem) -> MakeSettings:
    def make(
        home: Path,
        *,
        board: str = "demo",
        problems: Sequence[str] = ("softmax",),
        site: Mapping[str, Any] | None = None,
        **board_fields: Any,
    ) -> Settings:
        held = {"id": board, "title": board.title(), "deck": list(problems), **board_fields}
        write_text(home / CONFIG, _yaml({"title": "A site", **(site or {}), "boards": [held]}))
        for problem in problems:
            make_problem(home / "problems", problem)
        (home / "runs" / board).mkdir(parents=True, exist_ok=True)
        return read_settings(home / CONFIG)

    return make


@pytest.fixture(scope="session")
def make_floors() -> MakeFloors:
    def make(board: Path, *floors: Mapping[str, Any]) -> Path:
        path = board / FLOORS
        write_text(path, json_text({"format": 1, "floors": [dict(floor) for floor in floors]}))
        return path

    return make
