"""A driver of its own, with stand-ins for supervisors: drive.py SWEEP RUNS PROBLEMS."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.providers import Dialect, Provider
from bench.running.form import Places
from bench.sweeps import driver
from bench.sweeps.conduct import drive, read_work
from bench.sweeps.states import State
from bench.sweeps.tries import ORDER_PLACE
from bench.sweeps.works import Tools, Work

STAND_IN = Path(__file__).with_name("stand_in.py")
TOOLS = Tools(
    supervisor=(sys.executable, str(STAND_IN), ORDER_PLACE),
    grader=(sys.executable, str(STAND_IN), "grade"),
)
PROVIDERS = {
    name: Provider(
        id=name, bases={Dialect.RESPONSES: "http://127.0.0.1:1"}, key_variable=None, slots=slots
    )
    for name, slots in (("here", 4), ("there", 2))
}


def work(sweep: Path, runs: Path, problems: Path, tools: Tools = TOOLS) -> Work:
    places = Places(runs=runs, problems=problems, clis=runs)
    return read_work(sweep, places, tools, PROVIDERS)


def main(words: list[str]) -> int:
    sweep, runs, problems = map(Path, words)
    driver.LOOK_SECONDS = 0.05
    counts = drive(work(sweep, runs, problems), lambda *_: None, print)
    return 0 if counts[State.DONE] == sum(counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
