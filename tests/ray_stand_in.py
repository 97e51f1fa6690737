"""As much of Ray as builds use, in this process: what is sent goes through pickle, as it does."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    """As Ray's own."""


class RayTaskError(RayError):
    """The task raised something."""


class WorkerCrashedError(RayError):
    """The process of the task was killed."""


class LocalRayletDiedError(RayError):
    """The node that the driver is a part of is gone: whatever it sends ends so."""


@dataclass(eq=False, slots=True)
class Ref:
    """What stands for an object of the cluster."""

    give: Callable[[], Any]


@dataclass
class StandIn:
    """The module `ray`, and a cluster that does each task when it is asked for."""

    cpus: int = 2
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    """What holds while a node works."""
    dying: Callable[[Any], bool] = lambda _: False
    """Whether a node that is sent this is killed."""
    wrong: Exception | None = None
    """What is raised in place of joining the cluster."""
    under_way: set[Ref] = field(default_factory=set)
    most: int = 0
    """Tasks under way at once at most."""
    sent: list[Any] = field(default_factory=list)
    called_off: list[Ref] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    exceptions: Any = field(
        default_factory=lambda: SimpleNamespace(
            RayError=RayError, RayTaskError=RayTaskError, LocalRayletDiedError=LocalRayletDiedError
        )
    )

    @property
    def tasks(self) -> list[Any]:
        """All that was sent, however much of it together."""
        return [task for one in self.sent for task in one.tasks]

    def init(self, **_: object) -> None:
        if self.wrong:
            raise self.wrong

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cpus)} if self.cpus else {}

    def put(self, value: object) -> Ref:
        return Ref(lambda: value)

    def remote(self, function: Callable[..., Any]) -> Any:
        def options(**chosen: Any) -> Any:
            self.options = chosen
            return SimpleNamespace(remote=lambda *sent: self._begun(function, sent))

        return SimpleNamespace(options=options)

    def _begun(self, function: Callable[..., Any], sent: Sequence[Any]) -> Ref:
        packed = pickle.dumps(sent[0])

        def give() -> object:
            if self.dying(sent[0]):
                raise WorkerCrashedError
            with self.around():
                return pickle.loads(pickle.dumps(function(pickle.loads(packed), sent[1])))

        ref = Ref(give)
        self.sent.append(sent[0])
        self.under_way.add(ref)
        self.most = max(self.most, len(self.under_way))
        return ref

    def wait(
        self, refs: Sequence[Ref], *, num_returns: int, timeout: float
    ) -> tuple[Sequence[Ref], Sequence[Ref]]:
        ready = refs[: num_returns if timeout else 0]
        return ready, refs[len(ready) :]

    def get(self, ref: Ref) -> Any:
        self.under_way.discard(ref)
        return ref.give()

    def cancel(self, ref: Ref, *, force: bool) -> None:
        assert force
        self.called_off.append(ref)
