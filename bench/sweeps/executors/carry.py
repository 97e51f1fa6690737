"""What an engine runs in its own worker, on whatever host: it starts a try and waits for it."""

from __future__ import annotations

import signal
import subprocess
import threading
from pathlib import Path

from bench.sweeps.executors.devices import gpu_given
from bench.sweeps.executors.local import popen
from bench.sweeps.tries import asked_to_end, clear, first_to_send, read_task

LOOK_SECONDS = 0.5
"""Between two looks whether the try has to end."""


def carry(folder: str) -> int:
    """Start what a folder asks for, on the GPU that the engine gave, and wait; its exit code."""
    if threading.current_thread() is threading.main_thread():
        # Where it is ignored, as in workers of Ray, the kernel forgets exit codes.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    task = read_task(Path(folder))
    process = popen(task, gpu_given() if task.gpu else None)
    while True:
        try:
            code = process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            number = asked_to_end(task.folder)
            if number is not None and first_to_send(task.folder, number):
                process.send_signal(number)
        else:
            clear(task.folder)
            return code
