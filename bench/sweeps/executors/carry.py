"""What an engine runs in its own worker, on whatever host: it starts a try and waits for it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from bench.sweeps.executors.devices import gpu_given
from bench.sweeps.executors.local import popen
from bench.sweeps.tries import STOP, read_task

LOOK_SECONDS = 0.5
"""Between two looks whether the try has to end."""


def carry(folder: str) -> int:
    """Start what a folder asks for, on the GPU that the engine gave, and wait; its exit code."""
    task = read_task(Path(folder))
    process = popen(task, gpu_given() if task.gpu else None)
    sent: set[int] = set()
    while True:
        try:
            return process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            number = _asked(task.folder / STOP)
            if number is not None and number not in sent:
                sent.add(number)
                process.send_signal(number)


def _asked(stop: Path) -> int | None:
    """The signal that somebody wants sent; None if nobody does."""
    if not stop.is_file():
        return None
    return signal.SIGTERM if stop.read_bytes().strip() == b"soft" else signal.SIGKILL
