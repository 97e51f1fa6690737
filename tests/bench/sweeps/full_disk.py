"""A sweep on a disk of 6 MiB of its own, which its first session fills: full_disk.py FOLDER.

Started in a mount namespace. Room is made as soon as somebody is told that there is none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.sweeps import driver, room
from bench.sweeps.conduct import drive, opened
from tests.bench.sweeps.stand_in import BALLAST, JOURNAL, WORTH
from tests.bench.sweeps.sweeps import contender, works


def main(words: list[str]) -> int:
    home = Path(words[0])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(home)], check=True)
    driver.LOOK_SECONDS, room.LEAST_BYTES = 0.05, 0
    retries = {"most": 0, "lost": 1, "backoff_seconds": 0.05}
    work = works(home, contenders=[contender(model="hoards")], retries=retries)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        for path in home.rglob(BALLAST):
            path.unlink()

    counts = drive(work, lambda *_: None, say)
    with opened(work) as ledger:
        outcomes = [one.outcome.value for one in ledger.tries() if one.outcome]
    told = {
        "said": said, "counts": {state.value: count for state, count in counts.items()},
        "outcomes": outcomes, "kept": [path.read_text() for path in work.aside.rglob(WORTH)],
        "starts": len((home / JOURNAL).read_text().splitlines()),
    }  # fmt: skip
    sys.stdout.write(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
