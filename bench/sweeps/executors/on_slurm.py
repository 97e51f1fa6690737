"""Jobs of Slurm through submitit: Slurm counts, queues and keeps them whatever becomes of us."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.sweeps.executors.carry import carry
from bench.sweeps.executors.form import Finished, on_a_line
from bench.sweeps.sheet import Choice
from bench.sweeps.states import Kind
from bench.sweeps.tries import Task
from kbsite.errors import MachineError, UsageError
from kbsite.store.scratch import scratch_folder

if TYPE_CHECKING:
    import submitit

LOGS = "submitit"
"""Folder of a try for what submitit itself writes."""

MINUTES = 24 * 60
"""How long a job may take, if the sweep's options do not say: `timeout_min`."""


class OnSlurm:
    """Submits tasks to Slurm."""

    def __init__(self, choice: Choice, *, gpus: bool, name: str) -> None:
        if find_spec("submitit") is None:
            message = "submitit cannot be imported; install it with: pip install 'kbsite[slurm]'"
            raise MachineError(message)
        self._choice, self._gpus, self._name = choice, gpus, name
        self._running: dict[str, submitit.Job[Any]] = {}
        self._grading: set[str] = set()
        self._try_out()

    def _try_out(self) -> None:
        """Make an engine that submits nothing; an error is raised before anything is started.

        UsageError for what the sweep's file says and submitit does not know, MachineError where
        there is no Slurm.
        """
        try:
            with scratch_folder("slurm") as folder:
                self._engine(folder, kind=Kind.AGENT)
        except (NameError, ValueError, TypeError, AssertionError) as error:
            message = f"executor: submitit refuses `cluster` or `options`: {on_a_line(error)}"
            raise UsageError(message) from error
        except RuntimeError as error:
            raise MachineError(f"nothing can be submitted from here: {error}") from error

    def room(self, kind: Kind) -> bool:
        """Whether one more may be submitted; without GPUs to keep grades apart, one at a time."""
        return kind is Kind.AGENT or self._gpus or not self._grading

    def start(self, task: Task) -> None:
        """Submit a task; MachineError where Slurm, or submitit, refuses."""
        import submitit

        try:
            job = self._engine(task.folder / LOGS, kind=task.kind).submit(carry, str(task.folder))
        except (OSError, RuntimeError, TypeError, submitit.core.utils.FailedJobError) as error:
            raise MachineError(f"{task.id} cannot be submitted: {error}") from error
        self._running[task.id] = job
        if task.kind is Kind.GRADE:
            self._grading.add(task.id)

    def _engine(self, logs: Path, kind: Kind) -> submitit.AutoExecutor:
        import submitit

        engine = submitit.AutoExecutor(folder=logs, cluster=self._choice.cluster)
        engine.update_parameters(
            name=f"kbsite-{self._name}-{kind.value}", timeout_min=MINUTES,
            cpus_per_task=self._choice.cpus, gpus_per_node=1 if self._gpus else 0,
        )  # fmt: skip
        if self._choice.options:
            engine.update_parameters(**self._choice.options)
        return engine

    def adopt(self, task: Task, gpu: str | None) -> None:  # noqa: ARG002 - Slurm knows its GPUs
        """Count a task of an earlier driver."""
        if task.kind is Kind.GRADE:
            self._grading.add(task.id)

    def release(self, task_id: str) -> None:
        """An adopted task is over."""
        self._grading.discard(task_id)

    def poll(self) -> Sequence[Finished]:
        """The jobs that ended."""
        ended = [name for name, job in self._running.items() if job.done()]
        return [self._finished(name) for name in ended]

    def _finished(self, name: str) -> Finished:
        job = self._running.pop(name)
        self._grading.discard(name)
        error = job.exception()
        if error is not None:
            return Finished(id=name, exit_code=None, detail=str(error).strip()[-500:])
        return Finished(id=name, exit_code=job.result())

    def call_off(self, task_id: str) -> None:
        """Have Slurm end the job of a task."""
        if (job := self._running.get(task_id)) is not None:
            job.cancel(check=False)

    def close(self) -> None:
        """Forget the jobs; they go on."""
        self._running.clear()
