"""From an order to all that this host needs to carry it out: CLI, adapter, provider, key."""

from __future__ import annotations

import os
from pathlib import Path

from bench.harnesses import ADAPTERS
from bench.harnesses.form import Adapter, Program, by_id
from bench.installing import install_command, programs
from bench.providers import Provider, key_of, load_providers
from bench.running.form import Order
from bench.running.orders import OrderFile, check_order
from bench.running.run import Job, problem_folder
from bench.sandbox import best, named
from bench.sandbox.box import Sandbox
from kbsite.errors import MachineError, UsageError
from kbsite.model.price import PriceTable
from kbsite.store.settings import config_path, read_own_prices


def job_of(told: OrderFile) -> Job:
    """What an order needs; the key is taken out of the environment of this process.

    Raises UsageError for a harness, provider, problem or sandbox that is not known, before it
    raises MachineError where the CLI is not installed: that takes minutes to mend.
    """
    check_order(told.order)
    adapter = adapter_of(told.order.harness)
    provider = provider_of(told.order.provider, Path(told.providers) if told.providers else None)
    problem_folder(told.order, told.places)
    program = _program(told.order, told.places.clis)
    return Job(
        order=told.order,
        program=program,
        adapter=adapter,
        provider=provider,
        key=key_of(provider, os.environ),
        places=told.places,
        limits=told.limits,
        sandbox=sandbox_of(told.sandbox),
        prices=prices_of(told.places.runs),
        problem_hash=told.problem_hash,
    )


def adapter_of(harness: str) -> Adapter:
    """The adapter of a harness; UsageError names the known ones."""
    known = by_id(ADAPTERS)
    if harness not in known:
        raise UsageError(f"{harness!r} is no harness; expected one of: {', '.join(known)}")
    return known[harness]


def provider_of(name: str, path: Path | None) -> Provider:
    """A provider, of those that are known and those of a file; UsageError names them."""
    known = load_providers(path)
    if name not in known:
        message = f"{name!r} is no provider; expected one of: {', '.join(sorted(known))}"
        raise UsageError(f"{message}; add it to a file of providers")
    return known[name]


def sandbox_of(name: str | None) -> Sandbox:
    """A sandbox by its name, or the best of this host; MachineError if it cannot be used."""
    if name is None:
        return best()
    found = named(name)
    reason = found.available()
    if reason is not None:
        raise MachineError(f"sandbox {name}: {reason}")
    return found


def prices_of(runs: Path) -> PriceTable:
    """The prices that belong to a folder of runs; none where no kbsite.yaml is above it."""
    try:
        return read_own_prices(config_path(runs))
    except UsageError:
        return PriceTable()


def _program(order: Order, clis: Path) -> Program:
    found = programs(clis).get(order.harness)
    if found is None:
        raise MachineError(
            f"{order.harness} is not installed in {clis}; "
            f"install it with: {install_command(clis, order.harness)}"
        )
    return found
