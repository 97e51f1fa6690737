"""Processes on this host, each in a session of its own: they outlive the driver."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from bench.sweeps.executors.devices import Devices, gpus_here, gpus_named
from bench.sweeps.executors.form import Finished
from bench.sweeps.sheet import Choice
from bench.sweeps.states import Kind
from bench.sweeps.tries import ERR, OUT, Task, start_words
from kbsite.errors import MachineError


class Local:
    """Starts tasks on this host."""

    def __init__(self, choice: Choice, *, gpus: bool, name: str) -> None:
        self.name = name
        self._devices = Devices(_gpus(choice) if gpus else (), choice.agents_per_gpu)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def room(self, kind: Kind) -> bool:
        """Whether a device is free for it."""
        return self._devices.room(kind)

    def start(self, task: Task) -> None:
        """Start a task; MachineError where this host cannot."""
        gpu = self._devices.take(task.id, task.kind)
        try:
            self._running[task.id] = popen(task, gpu)
        except OSError as error:
            self._devices.free(task.id)
            raise MachineError(f"{task.id} cannot be started: {error}") from error

    def adopt(self, task: Task, gpu: str | None) -> None:
        """Count a task of an earlier driver."""
        self._devices.occupy(task.id, task.kind, gpu)

    def release(self, task_id: str) -> None:
        """An adopted task is over."""
        self._devices.free(task_id)

    def poll(self) -> Sequence[Finished]:
        """The tasks that ended."""
        codes = [(name, process.poll()) for name, process in self._running.items()]
        ended = [Finished(id=name, exit_code=code) for name, code in codes if code is not None]
        for one in ended:
            del self._running[one.id]
            self._devices.free(one.id)
        return ended

    def call_off(self, task_id: str) -> None:
        """Kill a task."""
        if (process := self._running.get(task_id)) is not None:
            process.kill()

    def close(self) -> None:
        """Forget the tasks; they go on."""
        self._running.clear()


def _gpus(choice: Choice) -> tuple[str, ...]:
    return gpus_here() if choice.gpus is None else gpus_named(choice.gpus)


def popen(task: Task, gpu: str | None) -> subprocess.Popen[bytes]:
    """The process that works on a task; what it prints goes into the task's folder."""
    with (task.folder / OUT).open("wb") as out, (task.folder / ERR).open("wb") as err:
        return subprocess.Popen(  # noqa: S603
            start_words(task.folder, gpu), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True,
        )  # fmt: skip
