"""SWEEP.yaml: what a sweep asks for, as a person writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.devices.nvml import UUID_PREFIX
from bench.records import read_yaml
from bench.running.form import BUDGET_SECONDS, SessionLimits
from bench.running.orders import (
    too_long,
    wrong_budget,
    wrong_id,
    wrong_limits,
    wrong_model,
)
from kbsite.errors import InputError
from kbsite.model.run import Contender as Row
from kbsite.model.slugs import SLUG_RULE, is_slug
from kbsite.store.parsing import read_text
from kbsite.store.places import line_of

CPU = "cpu"
"""The hardware of a sweep that needs no GPU."""
MOST_CELLS = 100_000
"""Runs that a sweep may ask for: decades of sessions, and less than a slip of the hand asks for."""
MOST_TRIES = 1_000
"""Further tries of a cell that may be asked for: with an hour before each, six weeks."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A row of the board, and where its model is asked."""

    harness: str
    model: str
    provider: str
    effort: str | None = None
    variant: str | None = None

    @property
    def row(self) -> Row:
        """As boards know it: without the provider."""
        return Row(self.harness, self.model, self.effort, self.variant)

    @property
    def label(self) -> str:
        """Such as "claude · opus-x [max]"."""
        return self.row.label


class Engine(Enum):
    """What starts the work of a sweep."""

    LOCAL = "local"
    """Processes on this host."""
    RAY = "ray"
    """Tasks of Ray Core, on a cluster that is there."""
    SLURM = "slurm"
    """Jobs of Slurm, through submitit."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which engine, and what it may use."""

    kind: Engine = Engine.LOCAL
    gpus: tuple[str, ...] | None = None
    """UUIDs of this host's GPUs; null for all (local alone)."""
    agents_per_gpu: int = 1
    """Agents that may share a GPU; a grade shares it with nobody (local alone)."""
    address: str = "auto"
    """Of the cluster (ray alone)."""
    cpus: int = 1
    """Processors that a task is counted with (ray and slurm)."""
    cluster: str = "slurm"
    """What submitit submits to: slurm, or local and debug to try a sweep without one."""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Parameters of submitit's, such as slurm_partition (slurm alone)."""


@dataclass(frozen=True, kw_only=True)
class Retries:
    """How often what the machine or the provider spoilt is tried again, and when."""

    most: int = 3
    """Further tries of a cell after the provider or the harness failed."""
    lost: int = 10
    """Further tries of a cell whose supervisor or machine died."""
    backoff_seconds: float = 60.0
    """Before the first further try; doubled each time, with up to half as much again by chance."""
    longest_seconds: float = 3600.0
    outage_seconds: float = 43200.0
    """How long a sweep with nothing else to do waits for a provider that is down, or refuses."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """SWEEP.yaml."""

    board: str
    hardware: str
    """Id of the hardware that the board names; "cpu" where no GPU is needed."""
    problems: tuple[str, ...]
    contenders: tuple[Contender, ...]
    attempts: int = 1
    budget_seconds: float = BUDGET_SECONDS
    executor: Choice = field(default_factory=Choice)
    retries: Retries = field(default_factory=Retries)
    seed: int = 0
    """The order of cells follows from it."""
    grade: bool = True
    max_parallel: int | None = None
    """Sessions at once, over all providers; null: as many as providers and GPUs allow."""
    limits: SessionLimits = field(default_factory=SessionLimits)
    sandbox: str | None = None
    """Name of the sandbox; null for the best that works."""
    providers: str | None = None
    """File of further providers, from the folder that this file lies in."""
    slots: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Sessions at once by provider, in place of the provider's own figure."""


def read_sweep(path: Path) -> Sweep:
    """The sweep in a file; InputError names the file, the line and the key that is wrong."""
    sweep = read_yaml(path, Sweep)
    for key, message in _wrong(sweep):
        line = line_of(read_text(path), f".{key}")
        raise InputError(message, path=path, line=line, key=key)
    return sweep


def _wrong(sweep: Sweep) -> Iterator[tuple[str, str]]:
    yield from _unsafe(sweep)
    yield from _twice(sweep)
    yield from _too_small(sweep)
    yield from _for_another(sweep.executor)
    if sweep.hardware == CPU:
        yield from _without_gpus(sweep.executor)


def _unsafe(sweep: Sweep) -> Iterator[tuple[str, str]]:
    named = [("board", sweep.board)]
    named += [(f"problems[{at}]", name) for at, name in enumerate(sweep.problems)]
    for at, one in enumerate(sweep.contenders):
        named += [(f"contenders[{at}].harness", one.harness)]
        named += [(f"contenders[{at}].provider", one.provider)]
        if wrong := wrong_model(one.model):
            yield f"contenders[{at}].model", wrong
    for key, name in named:
        if wrong := wrong_id(name):
            yield key, wrong
    if not is_slug(sweep.hardware):
        yield "hardware", f"{SLUG_RULE}, got {sweep.hardware!r}"


def _twice(sweep: Sweep) -> Iterator[tuple[str, str]]:
    # Two providers of one contender would be told apart by nobody who reads the board.
    yield from _gpus(sweep.executor)
    for key, held in (("problems", sweep.problems), ("contenders", _rows(sweep))):
        if not held:
            yield key, "expected one or more"
        for at, one in enumerate(held):
            if one in held[:at]:
                yield f"{key}[{at}]", "stands there twice; `variant` tells two contenders apart"


def _gpus(choice: Choice) -> Iterator[tuple[str, str]]:
    """Of GPUs that are named: one that stood there twice would be lent twice, to grades too."""
    if choice.gpus is None:
        return
    if not choice.gpus:
        yield "executor.gpus", "expected one or more, or null for all"
    names = [one.removeprefix(UUID_PREFIX) for one in choice.gpus]
    for at, one in enumerate(names):
        if one in names[:at]:
            yield f"executor.gpus[{at}]", "stands there twice; a grade has its GPU for itself"


def _rows(sweep: Sweep) -> tuple[object, ...]:
    return tuple(one.row for one in sweep.contenders)


def _too_small(sweep: Sweep) -> Iterator[tuple[str, str]]:
    counts = {
        "attempts": (sweep.attempts, 1),
        "max_parallel": (sweep.max_parallel, 1),
        "retries.most": (sweep.retries.most, 0),
        "retries.lost": (sweep.retries.lost, 0),
        "executor.agents_per_gpu": (sweep.executor.agents_per_gpu, 1),
        "executor.cpus": (sweep.executor.cpus, 1),
        **{f"slots.{name}": (slots, 1) for name, slots in sweep.slots.items()},
    }
    for key, (count, least) in counts.items():
        if count is not None and count < least:
            yield key, f"expected {least} or more, got {count}"
    for name in ("most", "lost"):
        if (count := getattr(sweep.retries, name)) > MOST_TRIES:
            yield f"retries.{name}", f"expected at most {MOST_TRIES}, got {count}"
    cells = sweep.attempts * len(sweep.problems) * len(sweep.contenders)
    if cells > MOST_CELLS:
        yield "attempts", f"that is {cells} runs; expected at most {MOST_CELLS} in a sweep"
    yield from wrong_limits(sweep.limits)
    if wrong := wrong_budget(sweep.budget_seconds):
        yield "budget_seconds", wrong
    for name in ("backoff_seconds", "longest_seconds", "outage_seconds"):
        if wrong := too_long(getattr(sweep.retries, name)):
            yield f"retries.{name}", wrong


_OWN = {
    Engine.LOCAL: ("gpus", "agents_per_gpu"),
    Engine.RAY: ("address", "cpus"),
    Engine.SLURM: ("cluster", "cpus", "options"),
}


_OF_GPUS = ("gpus", "agents_per_gpu")


def _without_gpus(choice: Choice) -> Iterator[tuple[str, str]]:
    """Keys on GPUs where none is used: whoever wrote them hoped that one would be."""
    for name in _set(choice):
        if name in _OF_GPUS:
            message = f"means nothing where `hardware` is {CPU}; name the hardware, or leave it out"
            yield f"executor.{name}", message


def _for_another(choice: Choice) -> Iterator[tuple[str, str]]:
    """Keys of the executor that mean nothing to the chosen one: whoever wrote them hoped so."""
    for name in _set(choice):
        if name not in ("kind", *_OWN[choice.kind]):
            own = ", ".join(_OWN[choice.kind])
            yield f"executor.{name}", f"means nothing to {choice.kind.value}, which has {own}"


def _set(choice: Choice) -> list[str]:
    """Keys that say something else than what holds without them."""
    usual = Choice()
    names = (one.name for one in fields(Choice))
    return [name for name in names if getattr(choice, name) != getattr(usual, name)]
