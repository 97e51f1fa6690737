"""`kbsite bench`: the commands of bench with click and rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from bench.commands import COMMANDS, SUMMARY, Argument, Command, Option, Told
from bench.lines import Lines, columns, printable
from kbsite.filled import FilledPath, FilledText

_COLOURS = {"good": "green", "bad": "red"}


class Terminal:
    """A person at a terminal, or whatever else reads what is written."""

    def say(self, text: str, tone: str = "") -> None:
        """A message, to stderr."""
        click.secho(text, err=True, fg=_COLOURS.get(tone))

    def give(self, text: str) -> None:
        """A result, to stdout."""
        click.echo(text)

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], tones: Sequence[str] = ()
    ) -> None:
        """A result in columns, to stdout: as wide as the terminal, or in lines for a program."""
        if not sys.stdout.isatty():
            self.give("\n".join(columns(headings, rows)))
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table(*headings, box=box.SIMPLE, pad_edge=False)
        for row, tone in zip_longest(rows, tones, fillvalue=""):
            cells = [Text(printable(cell), overflow="fold") for cell in row]
            shown.add_row(*cells, style=_COLOURS.get(str(tone), ""))
        Console().print(shown)

    @contextmanager
    def progress(self, title: str) -> Iterator[Told]:
        """A bar where somebody looks, else a line now and then."""
        if not sys.stderr.isatty():
            yield Lines(title)
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from kbsite.streams import cursor_given_back

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        console = Console(stderr=True)
        with cursor_given_back(), Progress(*columns, console=console, transient=True) as shown:
            task = shown.add_task(title, total=None)

            def told(what: str, share: float | None) -> None:
                total = None if share is None else 1.0
                shown.update(task, description=what, total=total, completed=share or 0.0)

            yield told


def _parameters(command: Command) -> list[click.Parameter]:
    arguments = [_argument(one) for one in command.arguments]
    return [*arguments, *(_option(one) for one in command.options)]


def _argument(one: Argument) -> click.Argument:
    return click.Argument(
        [one.name], type=_type(one.kind, one.choices), nargs=-1 if one.several else 1,
        required=not one.several,
    )  # fmt: skip


def _option(one: Option) -> click.Option:
    if one.kind is bool:
        return click.Option([f"--{one.name}"], is_flag=True, help=one.help)
    return click.Option(
        [f"--{one.name}"], type=_type(one.kind, one.choices), multiple=one.several,
        metavar=one.metavar or None, help=one.help,
    )  # fmt: skip


def _type(kind: type, choices: Sequence[str]) -> click.ParamType[Any]:
    if choices:
        return click.Choice(list(choices))
    if kind is Path:
        return FilledPath(path_type=Path)
    return click.INT if kind is int else FilledText()


def _help(command: Command) -> str:
    """What --help says: click keeps the lines of a paragraph that starts with a backspace."""
    examples = "".join(f"  kbsite bench {example}\n" for example in command.examples)
    return f"{command.summary}\n\n{command.about}\n\n\b\nExample:\n{examples}"


def _callback(command: Command) -> Callable[..., None]:
    def call(**given: Any) -> None:
        code = command.run(with_settings(given), Terminal())
        if code:
            sys.exit(code)

    return call


def with_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Options, with the folders of problems and runs as kbsite.yaml says, where there is one."""
    from kbsite.errors import UsageError
    from kbsite.store.settings import config_path, read_settings

    asked = [name for name in ("problems", "runs") if name in given and given[name] is None]
    if not asked:
        return given
    try:
        settings = read_settings(config_path(Path.cwd()))
    except UsageError:
        return given  # without a kbsite.yaml it is the folders that the caller stands in
    return {**given, **{name: getattr(settings, name) for name in asked}}


bench = click.Group(
    "bench",
    help=f"{SUMMARY}\n\n\b\nExample:\n  kbsite bench grade solution.py --problem fp8_gemm\n",
    commands={
        one.name: click.Command(
            one.name, params=_parameters(one), callback=_callback(one), help=_help(one),
            short_help=one.summary, context_settings={"help_option_names": ["-h", "--help"]},
        )
        for one in COMMANDS
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
