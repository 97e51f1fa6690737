"""Stands in for a supervisor and a grader: writes run directories, as its model's name says.

    stand_in.py ORDER.json        a session
    stand_in.py grade RUN …       a grade

A model is called by what it does: `works`, `spoilt`, `spoilt-once`, `refused`, `crashes`,
`hoards`, with the seconds that it takes after a colon: `works:0.5`. Each start of a session adds
its cell to a file beside the runs, so that nobody starts one unnoticed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.sealed import json_bytes, seal, write_whole
from kbsite.model.run import Run
from kbsite.model.status import EndReason
from kbsite.model.usage import Usage
from kbsite.store.files import folder_digest
from kbsite.store.folders import new_run_folder
from kbsite.store.manifests import complete

JOURNAL = "starts.txt"
HOARDED, BALLAST, WORTH = "hoarded", "ballast", "transcript.txt"
ASKED: list[int] = []


@dataclass(frozen=True)
class Model:
    does: str
    seconds: float

    @classmethod
    def named(cls, name: str) -> Model:
        does, _, seconds = name.partition(":")
        return cls(does, float(seconds or 0))


def session(path: Path) -> int:
    told = json.loads(path.read_text())
    order, runs = told["order"], Path(told["runs"])
    model = Model.named(order["model"])
    note(runs.parent / JOURNAL, f"{order['cell']} {os.getpid()}\n")
    if model.does == "refused":
        sys.stderr.write("bench.running: no such CLI is installed\n")
        return 2
    if model.does == "crashes":
        raise RuntimeError("a slip of the supervisor's")
    started = datetime.now(UTC)
    board = runs / order["board"]
    run_id = f"{started:%Y%m%d_%H%M%S}_{order['harness']}_m_{order['problem']}_{os.getpid()}"
    before = spoilt_before(board, order["cell"])
    partial = new_run_folder(board, run_id, {"order.json": json_bytes(order)})
    if model.does == "hoards" and not (runs.parent / HOARDED).exists():
        (runs.parent / HOARDED).touch()
        hoard(partial)
    reason = EndReason.FINISHED
    until = time.monotonic() + model.seconds
    while time.monotonic() < until and not ASKED:
        time.sleep(0.02)
    if ASKED:
        reason = EndReason.SIGNAL
    elif model.does == "spoilt" or (model.does == "spoilt-once" and not before):
        reason = EndReason.PROVIDER
    (partial / "solution.py").write_text("def solve(x, w, b, y): ...\n")
    made = complete(partial, run(order, run_id, reason, started, Path(told["problems"])), None)
    sys.stdout.write(json.dumps({"folder": str(made), "reason": reason.value}) + "\n")
    return 0


def hoard(partial: Path) -> None:
    """Write until the disk is full, and crash."""
    (partial / WORTH).write_text("worth reading")
    with (partial / BALLAST).open("wb", buffering=0) as stream:
        while stream.write(b"x" * 4096):
            pass


def note(journal: Path, line: str) -> None:
    with journal.open("a") as stream:
        stream.write(line)


def spoilt_before(board: Path, cell: str) -> bool:
    orders = board.glob("*/order.json")
    return any(json.loads(path.read_text())["cell"] == cell for path in orders)


def run(order: dict[str, Any], run_id: str, reason: EndReason, started: datetime, at: Path) -> Run:
    named = ("board", "problem", "harness", "model", "effort", "variant", "provider", "hardware",
             "budget_seconds")  # fmt: skip
    return Run(
        format=1, id=run_id, end_reason=reason, started=started, ended=datetime.now(UTC),
        problem_hash=folder_digest(at / order["problem"]), prompt_hash=None, harness_version="1",
        usage=Usage(input=1000, output=100), end_detail="The stand-in ended.", cost_usd=0.25,
        **{name: order[name] for name in named},
    )  # fmt: skip


def grade(folder: Path) -> int:
    note(folder.parents[1] / JOURNAL, f"grade {folder.name} {os.getpid()}\n")
    told = json.loads((folder / "run.json").read_text())
    if "machine" in (told["variant"] or ""):
        sys.stderr.write("bench: no device\n")
        return 3
    if "hangs" in (told["variant"] or ""):
        # As one that a driver of the kernel's holds: nothing that it could do ends it.
        sys.stderr.write("round 1 of 5: calling, square\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSTOP)
    write_whole(folder / "metrics.json", json_bytes({"format": 1, "status": "wrong"}))
    seal(folder)
    return 1


def main(words: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda number, _: ASKED.append(number))
    if words[0] == "grade":
        return grade(Path(words[1]))
    return session(Path(words[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
