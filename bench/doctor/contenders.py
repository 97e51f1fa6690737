"""What contenders need: CLIs in their locked versions, and keys of providers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.doctor.form import Here, Seen, State
from kbsite.errors import UsageError


@dataclass(frozen=True)
class Clis:
    """The CLIs of the lock file."""

    name: str = "CLIs"

    def look(self, here: Here) -> Iterator[Seen]:
        """A row for each: installed as locked, or how to have it installed."""
        from bench.installing import default_prefix, install_command, programs, read_lock
        from bench.installing.lock import TOOLS
        from bench.installing.stamp import installed

        lock = read_lock()
        prefix = (here.clis or default_prefix(Path.cwd())).absolute()
        there = programs(prefix, lock)
        for locked in lock.clis.values():
            said = installed(prefix, locked)
            name = f"{locked.id} {locked.version}"
            if said is None:
                yield Seen(
                    name=name, state=State.NO, seen=f"not installed in {prefix}",
                    cure=install_command(prefix, locked.id),
                )  # fmt: skip
            elif locked.id not in (*TOOLS, *there):
                yield Seen(
                    name=name, state=State.NO, seen="installed, but the Node that it needs is not",
                    cure=install_command(prefix),
                )  # fmt: skip
            else:
                seen = f"installed, {said.bytes / 1e6:.0f} MB"
                yield Seen(name=name, state=State.YES, seen=seen)
        if not there:
            yield Seen(
                name=self.name, state=State.NO, seen="none can be started", needed=True,
                cure=install_command(prefix),
            )  # fmt: skip


@dataclass(frozen=True)
class Keys:
    """Keys of providers: whether they are set, never what they are."""

    name: str = "keys"

    def look(self, here: Here) -> Iterator[Seen]:
        """A row for each provider."""
        from bench.providers import key_of, load_providers

        for provider in load_providers(here.providers).values():
            name, variable = f"provider {provider.id}", provider.key_variable
            if variable is None:
                yield Seen(name=name, state=State.YES, seen="needs no key")
                continue
            try:
                key_of(provider, dict(here.environment))
            except UsageError as error:
                yield Seen(
                    name=name, state=State.NO, seen=str(error).removeprefix(f"{provider.id}: "),
                    cure=f"export {variable}=…, if its models are to be asked",
                )  # fmt: skip
            else:
                yield Seen(name=name, state=State.YES, seen=f"{variable} is set")
