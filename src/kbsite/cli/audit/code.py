"""Sources with the numbers of their lines, and a mark where an alarm or the audit points at one."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import click

from kbsite.cli.audit.printing import safe, titled
from kbsite.model.alarm import Alarm, Level
from kbsite.model.finding import one_line
from kbsite.model.proof import Proof
from kbsite.model.solution import COLOURED, LONGEST, is_text
from kbsite.store.files import Stored
from kbsite.store.run_folders import SIDECARS, SOLUTION
from kbsite.store.runs import StoredRun

LINES = 5_000
"""Lines of a file that are shown."""

WIDEST = 500
"""Characters of a line that are shown."""

_LANGUAGES = {".py": "python", ".cu": "cuda", ".cuh": "cuda", ".c": "c", ".cpp": "cpp", ".h": "cpp"}

Marks = Mapping[str, Mapping[int, str]]
"""For each file, the sign beside some of its lines."""


def marks(alarms: Sequence[Alarm], proofs: Sequence[Proof]) -> Marks:
    """`!` where an alarm or a warning points, `?` where a note does, `"` where the audit quotes."""
    found: dict[str, dict[int, str]] = {}
    for proof in proofs:
        _mark(found, proof.quote.file, proof.quote.lines, '"')
    for alarm in sorted(alarms, key=lambda one: one.level.weight):
        _mark(found, alarm.file, alarm.lines, "?" if alarm.level is Level.NOTE else "!")
    return found


def _mark(found: dict[str, dict[int, str]], file: str, lines: Sequence[int], sign: str) -> None:
    if lines:
        last = min(lines[-1], lines[0] + LINES)
        found.setdefault(file, {}).update(dict.fromkeys(range(lines[0], last + 1), sign))


def sources(stored: StoredRun, marked: Marks, *, colour: bool) -> Iterator[str]:
    """solution.py and its sidecars, each under its name; a run without any says so."""
    own = [file for file in stored.files if file.name == SOLUTION]
    beside = [file for file in stored.files if file.name.startswith(SIDECARS)]
    if not own:
        yield titled(SOLUTION)
        yield "  The run has none."
    for file in own + beside:
        signs = marked.get(file.name, {})
        yield titled(safe(file.name))
        if signs:
            yield '  Marked: ! by an alarm or a warning, ? by a note, " quoted by the audit.'
        yield from _listing(file, signs, colour=colour)


def _listing(file: Stored, signs: Mapping[int, str], *, colour: bool) -> Iterator[str]:
    data = file.read() if file.size <= LONGEST else b""
    if file.size > LONGEST or not is_text(data):
        yield f"  Not shown: {file.size} bytes, {'too long' if file.size > LONGEST else 'no text'}."
        return
    text = data.decode("utf-8", "backslashreplace").removesuffix("\n")
    plain = [_line(line) for line in text.split("\n")[:LINES]]
    for number, line in enumerate(_coloured(file.name, plain) if colour else plain, start=1):
        sign = signs.get(number, " ")
        yield f"{click.style(f'{number:>5}{sign}', dim=sign == ' ', bold=sign != ' ')} {line}"
    if more := text.count("\n") + 1 - LINES:
        yield from [f"  and {more} more lines"] if more > 0 else []


def _line(line: str) -> str:
    flat = one_line(line.removesuffix("\r").expandtabs(4))
    if len(flat) <= WIDEST:
        return flat
    return f"{flat[:WIDEST]}… ({len(flat) - WIDEST} more characters)"


def _coloured(name: str, plain: list[str]) -> list[str]:
    """Lines in the colours of their language; as they are where that does not work out."""
    from rich.console import Console
    from rich.syntax import Syntax

    text = "\n".join(plain)
    language = _LANGUAGES.get(PurePosixPath(name).suffix.lower())
    if language is None or len(text) > COLOURED:
        return plain
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", width=WIDEST * 2)
    syntax = Syntax("", language, theme="ansi_dark", background_color="default")
    console.print(syntax.highlight(text), soft_wrap=True, end="")
    coloured = stream.getvalue().removesuffix("\n").split("\n")
    return coloured if len(coloured) == len(plain) else plain
