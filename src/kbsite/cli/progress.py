"""How far a command is, for whoever looks at its terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kbsite.model.finding import one_line
from kbsite.streams import cursor_given_back

if TYPE_CHECKING:
    from kbsite.model.work import Tick


@contextmanager
def progress(first: str = "reading") -> Iterator[Tick | None]:
    """What shows a name, how many are done and how many there are; None where nobody looks.

    Before there is a name it shows the first one.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    console = Console(stderr=True)
    with cursor_given_back(), Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(first, total=None)

        def tick(name: str, done: int, count: int) -> None:
            shown.update(task, completed=done, total=count, description=one_line(name))

        yield tick
