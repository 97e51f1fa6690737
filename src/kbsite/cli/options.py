"""Options that several commands share, and what they make of them."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kbsite.errors import UsageError
from kbsite.filled import FilledPath, FilledText
from kbsite.model.budget import LONGEST_SECONDS
from kbsite.model.config import Config
from kbsite.model.counts import number_of
from kbsite.model.finding import Finding, Severity
from kbsite.store.locations import place
from kbsite.store.settings import Settings, config_path, read_settings


class Somewhere(FilledText):
    """A folder of this machine, or a place in a bucket."""

    name = "place"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # whatever click's own has
        """The path or the Location; BadParameter for nothing, UsageError for another URL."""
        return place(super().convert(value, param, ctx)) if isinstance(value, str) else value


class Folder(FilledPath):
    """A folder of this machine: a URL would be taken for a folder that is called `s3:`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # whatever click's own has
        """The path; BadParameter for a URL."""
        if "://" in str(value):
            self.fail(f"{value} is a URL; expected a folder of this machine", param, ctx)
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A time, a year at most, as no budget is longer: click takes nan for a number beyond 0."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True, max=LONGEST_SECONDS)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # whatever click's own has
        """The number; BadParameter for what is none."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


FOLDER = Folder(file_okay=False, path_type=Path)
THERE = Folder(exists=True, file_okay=False, path_type=Path)
PLACE = Somewhere()
TEXT = FilledText()
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

config_option = click.option(
    "--config", type=FILE, help="kbsite.yaml; otherwise that of this folder or its parents."
)
strict_option = click.option("--strict", is_flag=True, help="Exit 1 on warnings too.")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print findings to stdout, a JSON line each."
)


def settings(config: Path | None, runs: Path | None = None) -> Settings:
    """The settings of kbsite.yaml; with --runs and no kbsite.yaml anywhere, the defaults."""
    try:
        return read_settings(config or config_path(Path.cwd()))
    except UsageError:
        if config is not None or runs is None:
            raise
        here = Path.cwd()
        return Settings(Config(), here / "runs", here / "problems", here / "site")


def tell(finding: Finding) -> None:
    """Print a finding to stderr, an error in red."""
    colours = {Severity.ERROR: "red", Severity.WARNING: "yellow"}
    text = finding.text.encode("utf-8", "backslashreplace").decode()
    click.secho(text, err=True, fg=colours[finding.severity])


def tell_errors(findings: Iterable[Finding]) -> bool:
    """Print what is wrong to stderr; whether anything is, so that something may be missing."""
    errors = [one for one in findings if one.severity is Severity.ERROR]
    for one in errors:
        tell(one)
    return bool(errors)


def tell_all(findings: Iterable[Finding], *, as_json: bool) -> Counter[Severity]:
    """Print findings as they come, as JSON to stdout or as text to stderr; how many there were."""
    import json

    seen: Counter[Severity] = Counter()
    for finding in findings:
        seen[finding.severity] += 1
        if as_json:
            click.echo(json.dumps({**asdict(finding), "severity": finding.severity.value}))
        else:
            tell(finding)
    return seen


def tally(seen: Counter[Severity]) -> str:
    """How many errors and warnings there were, in words."""
    return ", ".join(number_of(seen[one], one.value) for one in (Severity.ERROR, Severity.WARNING))


def conclude(seen: Counter[Severity], *, strict: bool = False) -> None:
    """Print how many errors and warnings there were; exit 1 for one, or where `strict` for any."""
    click.echo(tally(seen), err=True)
    if seen[Severity.ERROR] or (strict and seen[Severity.WARNING]):
        sys.exit(1)
