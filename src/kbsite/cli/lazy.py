"""Groups of commands that import a command when it is asked for, so that `--help` is quick."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


def with_help(command: click.Command) -> click.Command:
    """A command and those within it, with the help that Python leaves out with -OO."""
    if command.help is None and command.callback is not None:
        from kbsite.store.schema import docstring

        command.help = docstring(command.callback)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        with_help(inner)
    return command


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for.

    `lazy` says of every command where it is, and what it does in one line.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names of all commands."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of this name."""
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return with_help(command)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """The name of every command, and what it does."""
        return [(name, line) for name, (_, line) in self._lazy.items()]
