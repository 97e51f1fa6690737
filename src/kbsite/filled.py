"""Values of click's options and arguments that say something."""

from __future__ import annotations

from typing import Any

import click
from click.types import StringParamType

from kbsite.errors import EMPTY


class Filled(click.ParamType[Any]):
    """What stands before one of click's types, and refuses what a variable is that nobody set."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # whatever click's own has
        """The value; BadParameter for an empty one, or one of blanks alone."""
        if isinstance(value, str) and not value.strip():
            self.fail(EMPTY, param, ctx)
        return super().convert(value, param, ctx)


class FilledPath(Filled, click.Path):
    """A path that says something."""


class FilledText(Filled, StringParamType):
    """A text that says something."""
