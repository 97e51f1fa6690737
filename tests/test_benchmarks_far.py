"""The benchmark of a cluster counts whose time was spent on what."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from io import StringIO

from rich.console import Console

from benchmarks.far import Cost, Watch, below, table

BUSY = "import sys, time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def test_processes_are_watched_until_they_end_whether_they_do_tasks_or_not() -> None:
    # The first name of a process is what Ray gives those that do tasks.
    names = ["ray::a task", "another"]
    with Watch(os.getpid()) as watch:
        held = [subprocess.Popen([name, "-c", BUSY], executable=sys.executable) for name in names]
        for process in held:
            process.wait()
        time.sleep(0.05)

    assert 0.2 < watch.workers < 3
    assert watch.ray > 0.2
    assert os.getpid() in below(os.getpid())


def test_it_prints_what_all_took_and_its_part_of_what_two_processes_take() -> None:
    held = {
        "--jobs 2": [Cost(3.0, 6.0), Cost(4.0, 5.0)],
        "--engine ray": [Cost(4.0, 1.0, 6.0, 0.5)],
    }
    console = Console(width=150, file=StringIO())
    with console.capture() as captured:
        console.print(table({"some runs": held}))
    rows = [row.strip("│").split("│") for row in captured.get().splitlines()[-3:-1]]

    assert [[cell.strip() for cell in row] for row in rows] == [
        ["some runs", "--jobs 2", "4.0", "5.0", "5.0", "0.0", "0.0", "1.00 x"],
        ["some runs", "--engine ray", "4.0", "7.5", "1.0", "6.0", "0.5", "1.50 x"],
    ]
