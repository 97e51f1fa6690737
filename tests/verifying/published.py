"""A site with one of everything, built once; each test spoils a copy of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from bench.records import plain
from kbsite.build import build
from kbsite.model.accounting import Ceilings
from kbsite.model.finding import Finding, Severity
from kbsite.model.samples import Samples
from kbsite.store.problems import read_problem
from kbsite.verifying import verify
from kbsite.verifying.places import FolderPlace
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.following import following

SHAPE = "short"
"""The shape of the problem for a CPU: 320 operations, 512 bytes."""

MEASURED = tuple(
    Samples(
        round=number, shape=SHAPE, ms=(0.9, 1.0, 1.1), event_ms=(0.88, 0.98, 1.08),
        wall_ms=(1.0, 1.1, 1.2), slope_ms=(0.97, 0.98), overhead_ms=(0.1,),
    )
    for number in (1, 2, 3)
)  # fmt: skip
SAMPLES = b"".join(msgspec.json.encode(one) + b"\n" for one in MEASURED)
ROWS: list[dict[str, object]] = [
    {"type": "system", "subtype": "init", "model": "opus-x", "cwd": "/w", "tools": []},
    {"type": "assistant",
     "message": {"id": "m", "model": "opus-x", "content": [{"type": "text", "text": "Done."}]}},
]  # fmt: skip
TRANSCRIPT = {"stdout.jsonl": "\n".join(map(json.dumps, ROWS)).encode()}
QUOTE = {"file": "solution.py", "lines": [2], "text": "return x.softmax(-1)", "label": "all"}
EARLIER = {"verdict": "clean", "summary": "Fine.", "auditor": "B. Reader", "by": "A. Reader",
           "why": "The call was overlooked.", "replaced": "2026-01-04"}  # fmt: skip
LEAK = {"id": "library", "title": "A library does it", "problem": "softmax", "meant": "A kernel.",
        "happened": "A call."}  # fmt: skip
URL = "https://bench.example/hard/"


def graded(peak: float, **told: Any) -> dict[str, Any]:
    """A grade of our own grader, all of whose figures follow from one another."""
    limit = Ceilings(ceiling_ms=peak, bound_by="dram", floor_ms=peak / 2, achievable_ms=peak)
    anchors = {"copy GB/s": 512 / (peak * 1e6), "fp32 TFLOP/s": 1.0}
    made = following(MEASURED, {SHAPE: limit}, device="cpu", hardware=None, anchors=anchors)
    return {**plain(made), **told}


class Runs:
    """The ids of the site's runs."""

    first = "20260102_030405_claude_opus-x_softmax"
    again = "20260102_030505_claude_opus-x_softmax"
    leaky = "20260102_030405_claude_leaky_softmax"
    failed = "20260102_030405_claude_other_softmax"
    floor = "20260102_030405_floor_library_softmax"


def make_site(
    home: Path, make_settings: MakeSettings, make_run: MakeRun, make_floors: MakeFloors
) -> Path:
    """The folder of the site."""
    settings = make_settings(home, site={"url": URL, "leaks": [LEAK]})
    board = settings.runs / "demo"
    of = {"problem_hash": read_problem(settings.problems / "softmax").hash}
    held: dict[str, Any] = {
        **of,
        "hardware": "cpu",
        "transcript": TRANSCRIPT,
        "files": {"samples.jsonl": SAMPLES},
    }
    make_run(board, metrics=graded(0.42, **of), audit={}, **held)
    make_run(board, metrics=graded(0.5, **of), **held)
    quoting = {"verdict": "rubric_leak", "quotes": [QUOTE], "implication": "It counts.",
               "leak": "library", "date": "2026-01-05", "history": [EARLIER]}  # fmt: skip
    make_run(board, model="leaky", metrics=graded(0.61, **of), audit=quoting, **held)
    make_run(board, model="other", metrics={"status": "wrong"}, end_reason="budget", **held)
    floor: dict[str, Any] = {
        "harness": "floor", "effort": None, "budget_seconds": None, "harness_version": None,
        "usage": {}, "usage_source": None,
    }  # fmt: skip
    make_run(
        settings.runs / "floors", model="library", metrics=graded(0.7, **of), **{**held, **floor}
    )
    make_floors(board, {"kind": "eager", "problem": "softmax", "peak_fraction": 0.1})
    return build(settings).out


def errors(site: Path) -> list[Finding]:
    """What of a site does not follow from its raw data."""
    return [one for one in verify(FolderPlace(site)) if one.severity is Severity.ERROR]


def replace_in(site: Path, path: str, old: str, new: str) -> None:
    """Put other words at the first place in a file where some stand, which have to be there."""
    target = site / path
    text = target.read_text("utf-8")
    assert old in text, (path, old)
    target.unlink()  # a build may link the same file elsewhere
    target.write_text(text.replace(old, new, 1), "utf-8")


def in_json(site: Path, path: str, change: Callable[[Any], None]) -> None:
    """Change what a JSON file says."""
    target = site / path
    data = json.loads(target.read_text("utf-8"))
    change(data)
    target.unlink()
    target.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", "utf-8")


def seal(site: Path, run_id: str, name: str) -> None:
    """Let a run's manifest say what a file of it holds now, as a thorough falsifier would."""
    digest = sha256((site / f"runs/{run_id}/raw/{name}").read_bytes()).hexdigest()
    in_json(
        site, f"runs/{run_id}/raw/manifest.json", lambda held: held["files"].update({name: digest})
    )


def copy_of(site: Path, target: Path) -> Path:
    """A copy of a site to spoil."""
    shutil.copytree(site, target)
    return target
