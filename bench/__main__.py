"""`python3 -m bench`: the commands of bench where neither click nor rich is installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Any

from bench.commands import COMMANDS, SUMMARY, Argument, Command, Option, Told
from bench.lines import Lines, columns
from kbsite.errors import EMPTY, KbsiteError, MachineError, of_machine
from kbsite.streams import begin_in_utf8, open_closed


class Plain:
    """Plain lines, on any terminal and in any log."""

    def say(self, text: str, tone: str = "") -> None:  # noqa: ARG002 - plain lines have no colour
        """A message, to stderr."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def give(self, text: str) -> None:
        """A result, to stdout."""
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]],
        tones: Sequence[str] = (),  # noqa: ARG002 - plain lines have no colour
    ) -> None:  # fmt: skip
        """A result in columns, to stdout."""
        width = get_terminal_size().columns if sys.stdout.isatty() else None
        for line in columns(headings, rows, width):
            self.give(line)

    @contextmanager
    def progress(self, title: str) -> Iterator[Told]:
        """A line now and then."""
        yield Lines(title)


def parser() -> argparse.ArgumentParser:
    """What reads the command line."""
    whole = argparse.ArgumentParser("bench", description=SUMMARY)
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        examples = "\n".join(f"  python3 -m bench {example}" for example in command.examples)
        made = commands.add_parser(
            command.name, help=command.summary, description=command.about,
            epilog=f"Example:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        _add(made, command)
    return whole


def _add(made: argparse.ArgumentParser, command: Command) -> None:
    for argument in command.arguments:
        _add_argument(made, argument)
    for option in command.options:
        _add_option(made, option)


def _filled(kind: type) -> Callable[[str], Any]:
    """Makes a value of a word that says something."""

    def read(word: str) -> Any:
        if not word.strip():
            raise argparse.ArgumentTypeError(EMPTY)
        return kind(word)

    # "invalid int value: 'x'" is what argparse says of others.
    read.__name__ = kind.__name__
    return read


def _add_argument(made: argparse.ArgumentParser, one: Argument) -> None:
    if one.several:
        made.add_argument(one.name, type=_filled(one.kind), nargs="*", default=())
    else:
        made.add_argument(one.name, type=_filled(one.kind), choices=one.choices or None)


def _add_option(made: argparse.ArgumentParser, one: Option) -> None:
    told: dict[str, Any] = {"dest": one.name.replace("-", "_"), "help": one.help.replace("%", "%%")}
    if one.kind is bool:
        made.add_argument(f"--{one.name}", action="store_true", **told)
        return
    made.add_argument(
        f"--{one.name}", type=_filled(one.kind), choices=one.choices or None,
        metavar=one.metavar or None, action="append" if one.several else "store", **told,
    )  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Run a command; the exit code. An error that a person can mend is told in one message."""
    open_closed()
    given = vars(parser().parse_args(words))
    name = given.pop("command")
    command = next(one for one in COMMANDS if one.name == name)
    front = Plain()
    try:
        return command.run(given, front)
    except KbsiteError as error:
        front.say(f"bench: {error}")
        return error.exit_code
    except OSError as error:
        machine = of_machine(error)
        if machine is None:
            raise
        front.say(f"bench: {machine}")
        return machine.exit_code
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in ("bench", "kbsite"):
            raise
        cure = "install it with: pip install 'kbsite[bench]'"
        front.say(f"bench: {error.name} cannot be imported; {cure}")
        return MachineError.exit_code


if __name__ == "__main__":
    begin_in_utf8()
    sys.exit(main())
