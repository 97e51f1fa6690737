"""What is asked of Ray, and what its answers mean; a whole cluster is in test_whole.py."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.sweeps.executors.form import Finished
from bench.sweeps.executors.on_ray import GRADE, PROVIDER, OnRay
from bench.sweeps.sheet import Choice, Engine
from bench.sweeps.states import Kind
from bench.sweeps.tries import Task
from kbsite.errors import MachineError, UsageError

AGENT = Kind.AGENT


class RayError(Exception):
    """As Ray's own."""


class LocalRayletDiedError(RayError):
    """As Ray's own: the driver's node is gone, and with it whatever it would start."""


@dataclass
class Ray:
    """As much of Ray as is used."""

    has: dict[str, float] = field(default_factory=lambda: {"CPU": 4.0})
    asked: list[dict[str, Any]] = field(default_factory=list)
    over: dict[str, int | Exception] = field(default_factory=dict)
    called_off: list[str] = field(default_factory=list)
    gone: bool = False
    refuses: Exception | None = None
    joined: dict[str, Any] = field(default_factory=dict)
    exceptions: Any = field(
        default_factory=lambda: SimpleNamespace(
            RayError=RayError, LocalRayletDiedError=LocalRayletDiedError
        )
    )
    __spec__: ModuleSpec = field(default_factory=lambda: ModuleSpec("ray", None))

    def init(self, **told: Any) -> None:
        if self.gone:
            raise ConnectionError("nobody answers")
        if self.refuses:
            raise self.refuses
        self.joined = told

    def cluster_resources(self) -> dict[str, float]:
        return dict(self.has)

    def remote(self, _: Callable[[str], int]) -> Any:
        def options(**told: Any) -> Any:
            self.asked.append(told)
            return SimpleNamespace(remote=lambda folder: Path(folder).name)

        return SimpleNamespace(options=options)

    def wait(self, refs: Sequence[str], *, num_returns: int, timeout: float) -> Any:
        assert (num_returns, timeout) == (len(refs), 0)
        if self.gone:
            raise RayError("the head is dead")
        return [ref for ref in refs if ref in self.over], []

    def get(self, ref: str) -> int:
        if isinstance(found := self.over[ref], Exception):
            raise found
        return found

    def cancel(self, ref: str, *, force: bool, recursive: bool) -> None:
        assert (force, recursive) == (True, False)
        self.called_off.append(ref)


@pytest.fixture(name="ray")
def _ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    made = Ray()
    monkeypatch.setitem(sys.modules, "ray", made)
    return made


def engine(*, gpus: bool = False, cpus: int = 1) -> OnRay:
    return OnRay(Choice(kind=Engine.RAY, cpus=cpus), gpus=gpus, name="night")


def task(name: str, kind: Kind = AGENT, *, gpu: bool = False) -> Task:
    return Task(folder=Path(name), cell="c", kind=kind, command=(), gpu=gpu, provider="anthropic")


def test_ray_never_starts_a_task_again(ray: Ray) -> None:
    engine().start(task("a"))
    assert ray.asked[0]["max_retries"] == 0
    assert ray.joined["address"] == "auto"


def test_an_address_that_is_none_or_another_version_is_told_plainly(ray: Ray) -> None:
    ray.refuses = ValueError("Invalid address format: a b")
    with pytest.raises(UsageError, match=r"executor\.address: Invalid address format: a b"):
        engine()
    ray.refuses = RuntimeError("Version mismatch: The cluster\n was started with: Ray: 2.9")
    with pytest.raises(MachineError, match="at auto cannot be joined: Version mismatch: The clu"):
        engine()


def test_a_task_asks_for_what_the_cluster_counts(ray: Ray) -> None:
    ray.has = {"CPU": 8.0, "GPU": 2.0, f"{PROVIDER}anthropic": 1.0}
    made = engine(gpus=True, cpus=4)
    made.start(task("a", gpu=True))
    made.start(task("b", Kind.GRADE, gpu=True))
    session, grade = ray.asked

    assert (session["num_cpus"], session["num_gpus"]) == (4, 1)
    assert session["resources"] == {f"{PROVIDER}anthropic": 1.0}
    assert (grade["num_gpus"], grade["resources"]) == (1, {})
    assert session["name"].startswith("agent ")


def test_no_more_is_given_to_ray_than_it_can_work_on(ray: Ray) -> None:
    ray.has = {"CPU": 8.0, "GPU": 2.0}
    made = engine(gpus=True)
    for name in ("a", "b"):
        assert made.room(AGENT)
        made.start(task(name, gpu=True))
    assert not made.room(AGENT)
    ray.has["GPU"] = 3.0
    assert made.room(AGENT), "a node has joined"


def test_processors_count_where_no_gpu_does(ray: Ray) -> None:
    made = engine(cpus=3)
    made.start(task("a"))
    assert not made.room(AGENT)
    ray.over["a"] = 0
    assert made.poll() == [Finished(id="a", exit_code=0)]
    assert made.room(AGENT)


def test_without_gpus_grades_come_one_by_one_unless_nodes_count_them(ray: Ray) -> None:
    made = engine()
    made.start(task("a", Kind.GRADE))
    assert not made.room(Kind.GRADE)
    assert made.room(AGENT)
    ray.over["a"] = 0
    made.poll()
    assert made.room(Kind.GRADE)
    made.adopt(task("b", Kind.GRADE), None)
    assert not made.room(Kind.GRADE)
    made.release("b")
    assert made.room(Kind.GRADE)
    ray.has[GRADE] = 2.0
    counted = engine()
    counted.start(task("c", Kind.GRADE))
    assert counted.room(Kind.GRADE)
    assert ray.asked[-1]["resources"] == {GRADE: 1.0}


def test_a_worker_that_died_is_over_and_nobody_knows_its_code(ray: Ray) -> None:
    made = engine()
    for name in ("a", "b"):
        made.start(task(name))
    ray.over = {"a": 7, "b": RayError("The worker died unexpectedly.\nMore of it.")}

    assert list(made.poll()) == [
        Finished(id="a", exit_code=7),
        Finished(id="b", exit_code=None, detail="The worker died unexpectedly."),
    ]
    assert list(made.poll()) == []


def test_a_task_is_called_off_by_ray_while_it_has_it(ray: Ray) -> None:
    made = engine()
    made.start(task("a"))
    made.call_off("a")
    made.call_off("unknown")
    assert ray.called_off == ["a"]


def test_a_cluster_that_cannot_work_is_told_before_a_night_of_waiting(ray: Ray) -> None:
    ray.has = {"CPU": 4.0}
    with pytest.raises(MachineError, match="single task; it has CPU 4"):
        engine(gpus=True)
    with pytest.raises(MachineError, match="single task"):
        engine(cpus=5)


def test_a_cluster_that_is_not_there_or_goes_away_is_told(ray: Ray) -> None:
    made = engine()
    made.start(task("a"))
    ray.gone = True
    with pytest.raises(MachineError, match="the cluster is gone: the head is dead"):
        made.poll()
    with pytest.raises(MachineError, match="ray start --head"):
        engine()


def test_a_driver_whose_own_node_is_gone_stops_and_charges_no_cell_for_it(ray: Ray) -> None:
    made = engine()
    for name in ("a", "b"):
        made.start(task(name))
    ray.over = {"a": LocalRayletDiedError("The task's local raylet died.")}

    with pytest.raises(
        MachineError, match=r"node on this host is gone: .*died; start it, and then"
    ):
        made.poll()
