"""`python -m bench.sweeps.hold FOLDER [GPU]`: what an executor starts for a try.

It takes the try's lock and its cell's claim, and becomes the program that does the work, which
keeps both: one process, found by its lock after whoever started it is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from bench.sealed import json_bytes, write_whole
from bench.sweeps.claims import claim, wanted_still
from bench.sweeps.states import Kind
from bench.sweeps.tries import ELSEWHERE, ORDER, ORDER_PLACE, STOP, Task, hold, read_task, scratch
from kbsite.errors import MachineError

GIVEN_UP = 75
"""Exit code where the try is another's, or was given up: nothing was started."""

_SET_CHILD_SUBREAPER = 36


def main(words: list[str]) -> int:
    """Become what a folder asks for; an exit code where nothing may be started."""
    folder, gpu = Path(words[0]), words[1] if len(words) > 1 else None
    task = read_task(folder)
    why = "another works on it, or it was given up"
    if hold(folder, gpu) is not None and not (folder / STOP).exists():
        if _claim(task):
            _become(task, gpu)
        write_whole(folder / ELSEWHERE, b"")
        why = "another sweep works on its cell, or has made it"
    sys.stderr.write(f"{folder.name}: {why}\n")
    return GIVEN_UP


def _claim(task: Task) -> bool:
    """Whether this process has the claim to a task's cell now, and there is still work to do."""
    if task.board is None:
        return True
    return claim(task.board, task.cell) is not None and wanted_still(task, task.board)


def _become(task: Task, gpu: str | None) -> NoReturn:
    order = task.folder / ORDER
    if task.order is not None:
        write_whole(order, json_bytes(_with_gpu(task, gpu).order))
    command = [str(order) if word == ORDER_PLACE else word for word in task.command]
    place = scratch(task.folder)
    place.mkdir(mode=0o700)
    environment = {**os.environ, "TMPDIR": str(place)}
    if task.kind is Kind.GRADE and gpu:
        environment["CUDA_VISIBLE_DEVICES"] = gpu
    # Engines ignore or block signals, which a new program inherits: without SIGCHLD nobody hears
    # of the end of a process, and a sandbox waits for ever.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Whatever loses its parent below stays below: engines that end us find all of it.
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.execvpe(command[0], command, environment)  # noqa: S606 - no shell is wanted


def _with_gpu(task: Task, gpu: str | None) -> Task:
    told = dict(task.order or {})
    told["order"] = {**told["order"], "gpu": gpu}
    return replace(task, order=told)


def _started(words: list[str]) -> int:
    try:
        return main(words)
    except OSError as error:
        # Without room on a disk, for one: another time it may be there.
        sys.stderr.write(f"{words[0]}: cannot be started: {error}\n")
        return MachineError.exit_code


if __name__ == "__main__":
    sys.exit(_started(sys.argv[1:]))
