"""Commands of other packages, which kbsite knows by their entry points and imports when asked."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

import click

from kbsite.cli.lazy import LazyGroup
from kbsite.errors import MachineError

GROUP = "kbsite.commands"
"""The group of entry points that packages name their commands under."""


class OpenGroup(LazyGroup):
    """A group with commands of its own, and those that other packages bring.

    `beside` says what the commands do that --help lists before anybody looks for them.
    """

    def __init__(self, *args: Any, beside: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._beside = beside

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of its own commands, then of those beside."""
        return [*super().list_commands(ctx), *self._beside]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; MachineError where what brings it cannot be imported."""
        own = super().get_command(ctx, cmd_name)
        return own or self._brought(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for, loaded, and what it is given."""
        found = super().resolve_command(ctx, args)
        if not gc.isenabled():
            # `kbsite.__main__` put that off: what is loaded now stays.
            gc.freeze()
            gc.enable()
        return found

    def _brought(self, name: str) -> click.Command | None:
        from importlib.metadata import entry_points

        found = list(entry_points(group=GROUP, name=name))
        cure = f"install it with: pip install 'kbsite[{name}]'"
        if not found:
            if name in self._beside:
                raise MachineError(f"`kbsite {name}` is not installed; {cure}")
            return None
        try:
            command: click.Command = found[0].load()
        except ImportError as error:
            message = f"`kbsite {name}` cannot be used here: {error}; {cure}"
            raise MachineError(message) from error
        return command

    def lines(self) -> list[tuple[str, str]]:
        """The name of every command that --help lists, and what it does."""
        return [*super().lines(), *self._beside.items()]
