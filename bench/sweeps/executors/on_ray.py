"""Tasks of Ray Core on a cluster that is there, of one node or many that share the runs' folder.

Ray counts processors, GPUs and slots; it never starts a task again, and what it starts is our own
program, which holds the try. What a task leaves behind is ended by its raylet, if that was started
with the variable below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bench.sweeps.executors.carry import carry
from bench.sweeps.executors.form import Finished, on_a_line
from bench.sweeps.sheet import Choice
from bench.sweeps.states import Kind
from bench.sweeps.tries import Task
from kbsite.errors import MachineError, UsageError

if TYPE_CHECKING:
    import ray

SUBREAPER = "RAY_kill_child_processes_on_worker_exit_with_raylet_subreaper"
"""Has to be 1 in the environment of `ray start` on each node."""

GRADE = "kbsite_grade"
"""Custom resource of a node: how many grades it may run at once, beside what they need."""

PROVIDER = "kbsite_provider_"
"""Begins the name of the custom resource that counts sessions with a provider."""


class OnRay:
    """Starts tasks on a cluster of Ray."""

    def __init__(self, choice: Choice, *, gpus: bool, name: str) -> None:
        if find_spec("ray") is None:
            raise MachineError("ray cannot be imported; install it with: pip install 'kbsite[ray]'")
        import ray

        self._cpus, self._gpus = choice.cpus, gpus
        try:
            ray.init(
                address=choice.address, namespace=f"kbsite-{name}", log_to_driver=False,
                configure_logging=False,
            )  # fmt: skip
        except ConnectionError as error:
            message = f"no cluster at {choice.address}: {error}"
            raise MachineError(f"{message}; start one with `ray start --head`") from error
        except ValueError as error:
            raise UsageError(f"executor.address: {on_a_line(error)}") from error
        except RuntimeError as error:
            message = f"the cluster at {choice.address} cannot be joined"
            raise MachineError(f"{message}: {on_a_line(error)}") from error
        self._has = _resources()
        if self._capacity() < 1:
            told = ", ".join(f"{name} {count:g}" for name, count in sorted(self._has.items()))
            message = f"the cluster at {choice.address} cannot work on a single task"
            raise MachineError(f"{message}; it has {told or 'nothing'}")
        self._running: dict[str, ray.ObjectRef[Any]] = {}
        self._grading: set[str] = set()

    def room(self, kind: Kind) -> bool:
        """Whether the cluster can work on one more: Ray would keep what has to wait, unseen.

        Where no node counts grades, and no GPU does, one runs at a time in the whole cluster.
        """
        if len(self._running) >= self._capacity():
            self._has = _resources()
        if len(self._running) >= self._capacity():
            return False
        return kind is Kind.AGENT or self._gpus or GRADE in self._has or not self._grading

    def _capacity(self) -> int:
        """Tasks that the cluster has processors and GPUs for, as far as it is known."""
        most = self._has.get("CPU", 0.0) / self._cpus
        return int(min(most, self._has.get("GPU", 0.0)) if self._gpus else most)

    def start(self, task: Task) -> None:
        """Give a task to Ray."""
        import ray

        remote = ray.remote(carry).options(
            num_cpus=self._cpus, num_gpus=1 if task.gpu else 0, resources=self._counted(task),
            max_retries=0, name=f"{task.kind.value} {task.id}",
        )  # fmt: skip
        self._running[task.id] = remote.remote(str(task.folder.absolute()))
        if task.kind is Kind.GRADE:
            self._grading.add(task.id)

    def _counted(self, task: Task) -> dict[str, float]:
        """The custom resources that it needs, of those that the cluster counts."""
        wanted = GRADE if task.kind is Kind.GRADE else f"{PROVIDER}{task.provider}"
        return {wanted: 1.0} if wanted in self._has else {}

    def adopt(self, task: Task, gpu: str | None) -> None:  # noqa: ARG002 - Ray knows its GPUs
        """Count a task of an earlier driver; Ray itself does not know it any more."""
        if task.kind is Kind.GRADE:
            self._grading.add(task.id)

    def release(self, task_id: str) -> None:
        """An adopted task is over."""
        self._grading.discard(task_id)

    def poll(self) -> Sequence[Finished]:
        """The tasks that ended, or whose worker or node did.

        MachineError once nothing can be given to the cluster any more, as all would be lost then.
        """
        import ray

        if not self._running:
            return []
        by_ref = {ref: name for name, ref in self._running.items()}
        try:
            ready, _ = ray.wait(list(by_ref), num_returns=len(by_ref), timeout=0)
        except ray.exceptions.RayError as error:
            raise _gone("the cluster", error) from error
        return [self._finished(by_ref[ref]) for ref in ready]

    def _finished(self, name: str) -> Finished:
        import ray

        ref = self._running.pop(name)
        self._grading.discard(name)
        try:
            return Finished(id=name, exit_code=ray.get(ref))
        except ray.exceptions.LocalRayletDiedError as error:
            raise _gone("the cluster's node on this host", error) from error
        except ray.exceptions.RayError as error:
            said = str(error).strip().splitlines()
            return Finished(id=name, exit_code=None, detail=said[0][:500] if said else "")

    def call_off(self, task_id: str) -> None:
        """Have Ray end the worker of a task."""
        import ray

        if (ref := self._running.get(task_id)) is not None:
            ray.cancel(ref, force=True, recursive=False)

    def close(self) -> None:
        """Leave the cluster, which ends the tasks of this driver."""
        import ray

        ray.shutdown()


def _gone(what: str, error: Exception) -> MachineError:
    return MachineError(
        f"{what} is gone: {str(error).rstrip('.')}; start it, and then the sweep again"
    )


def _resources() -> Mapping[str, float]:
    """What all nodes of the cluster have together, now."""
    import ray

    return ray.cluster_resources()  # type: ignore[no-any-return, no-untyped-call]
