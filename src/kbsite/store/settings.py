"""kbsite.yaml: found in a folder or its parents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from kbsite.errors import InputError, UsageError
from kbsite.model.config import Config
from kbsite.model.finding import Finding
from kbsite.model.price import PriceTable
from kbsite.regular import LIMIT_BYTES, is_systems, read_regular
from kbsite.store.config_keys import unknown_keys
from kbsite.store.locations import Location, place
from kbsite.store.parsing import (
    LIMIT_YAML_BYTES,
    InvalidFileError,
    invalid,
    read_text,
    yaml_data,
)
from kbsite.store.prices import PRICES, read_prices
from kbsite.store.records import lines_of, record, yaml_record
from kbsite.user_cache import cache_folder

if TYPE_CHECKING:
    from kbsite.model.hardware import Hardware

CONFIG = "kbsite.yaml"

HARDWARE = "bench/hardware"
"""The folder of what hardware can do, where kbsite.yaml names no other."""


class Settings(Struct, frozen=True):
    """What kbsite.yaml says, with its folders as paths."""

    config: Config
    runs: Path
    problems: Path
    out: Path
    path: Path = Path(CONFIG)
    """The kbsite.yaml that says so."""
    prices: PriceTable = field(default_factory=PriceTable)
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    """By id."""
    runs_at: Location | None = None
    """The bucket that the runs are in; `runs` is their copy on this machine then."""
    out_at: Location | None = None
    """The bucket that the site is published to; `out` is where it is built then."""
    unknown: tuple[Finding, ...] = ()
    """What is told of its keys that nobody knows."""

    @property
    def input_folders(self) -> dict[str, Path]:
        """Folders in which all that lies is taken for what they hold, by what that is."""
        return {"runs": self.runs, "problems": self.problems}

    @property
    def no_runs(self) -> str:
        """What is told where the folder of the runs is not there, and what to do about it."""
        if self.runs_at is not None:
            # A folder that somebody makes there would be taken for a bucket without runs.
            return f"nothing of {self.runs_at.url} was copied yet: `kbsite build` does that"
        return f"there is no folder {self.runs}; make it, or name another one"

    def most_bytes(self, path: str) -> int:
        """How many bytes the file at a path may have that a build reads.

        A larger one is told where it would be read, and is shown nowhere.
        """
        # Few files are large enough to be asked about.
        from kbsite.model.problem_files import LARGEST

        of_problem = path.startswith(f"{self.problems.absolute()}/")
        return LARGEST if of_problem else self.config.most_file_bytes


def config_path(start: Path) -> Path:
    """The kbsite.yaml of `start` or of the nearest parent that has one; UsageError if none has."""
    here = start.absolute()
    for folder in [here, *here.parents]:
        path = folder / CONFIG
        # A pipe is told of where it is read: that of a parent would be a surprise.
        if os.path.lexists(path) and not path.is_dir():
            return path
    message = f"no {CONFIG} in {start} or its parents; write one, of a line `title: Mine` or more"
    raise UsageError(f"{message}, or give --config")


def read_settings(path: Path) -> Settings:
    """The settings in a kbsite.yaml; InvalidFileError names everything that is wrong."""
    text = read_text(path, LIMIT_YAML_BYTES).removeprefix("\ufeff")
    data = yaml_data(path, text)
    config = record(data, Config, path, text)
    for found in (_unfit, _misplaced):
        if wrongs := [error for one in found(path, config) for error in one.errors]:
            raise InvalidFileError(wrongs)
    home = path.parent
    settings = Settings(
        config,
        runs=home,
        problems=_within(home, config.problems),
        out=home,
        path=path,
        prices=_prices(config, path),
        hardware=_hardware(config, path),
        unknown=unknown_keys(data, path, text),
    )
    runs, out = place(config.runs), place(config.out)
    return moved(
        settings,
        _within(home, str(runs)) if isinstance(runs, Path) else runs,
        _within(home, str(out)) if isinstance(out, Path) else out,
    )


_SYSTEMS_OWN = "what the system shows of itself, of which reading has no end; expected a folder"


def _unfit(path: Path, config: Config) -> Iterator[InvalidFileError]:
    """Where a text is no place, or no address, whatever it names, or a number none that fits."""
    for key in ("runs", "problems", "prices", "hardware", "out"):
        if "\0" in getattr(config, key):
            yield wrong(path, key, "holds a NUL; expected a path")
    for key in ("runs", "problems", "out"):
        if not getattr(config, key).strip():
            yield wrong(path, key, "is empty; expected a folder (. is the one of this file)")
    if config.out.startswith("/") and not Path(config.out).name:
        yield wrong(path, "out", "expected a folder that a site can take the place of")
    if "\0" in config.storage.cache:
        yield wrong(path, "storage.cache", "holds a NUL; expected a path")
    if config.most_file_bytes < LIMIT_BYTES:
        message = f"expected at least {LIMIT_BYTES}, which records may have"
        yield wrong(path, "most_file_bytes", message)
    for key in ("most_file_bytes", "most_bytes"):
        if (most := getattr(config.storage, key)) <= 0:
            yield wrong(path, f"storage.{key}", f"expected more than 0, got {most}")
    if config.jobs < 0:
        yield wrong(path, "jobs", f"expected 0 or more, got {config.jobs}")
    yield from _untold(path, config)


def _untold(path: Path, config: Config) -> Iterator[InvalidFileError]:
    """Where what is told to readers and crawlers is none of what they understand."""
    if not config.title.strip():
        yield wrong(path, "title", "is empty; expected the site's name")
    if config.url and not _is_address(config.url):
        message = "expected where the site will stand, as https://host/path/, and no more"
        yield wrong(path, "url", message)
    if not _ROBOTS.fullmatch(config.robots):
        message = "expected words for crawlers with commas between them, as in noindex, noai"
        yield wrong(path, "robots", message)
    if not _GUID.fullmatch(config.canary):
        from uuid import uuid4

        message = f"expected a GUID that is this site's own, such as {uuid4()}, which is new"
        yield wrong(path, "canary", message)


def _misplaced(path: Path, config: Config) -> Iterator[InvalidFileError]:
    """Where a text that can be a path names no place that can be one of runs, or of a site."""
    for key in ("runs", "problems"):
        if is_systems(_within(path.parent, getattr(config, key))):
            yield wrong(path, key, _SYSTEMS_OWN)
    for key in ("runs", "out"):
        try:
            place(getattr(config, key))
        except UsageError as error:
            yield wrong(path, key, str(error))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return (
        named
        and parts.scheme in ("http", "https")
        and "@" not in parts.netloc
        and not _NO_ADDRESS.search(url)
    )


_NO_ADDRESS = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}?#]")


_GUID = re.compile(r"(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})?")
_ROBOTS = re.compile(r"(?:[A-Za-z0-9:_-]+(?: *, *[A-Za-z0-9:_-]+)*)?")


def wrong(path: Path, key: str, message: str) -> InvalidFileError:
    """A kbsite.yaml of which one key is wrong, with the line where it stands."""
    line = lines_of(read_text(path), [f".{key}"])[0] if path.is_file() else None
    return invalid(message, path, line=line, key=key)


def moved(
    settings: Settings, runs: Path | Location | None, out: Path | Location | None
) -> Settings:
    """The settings with other places of runs and site; what is None stays.

    What is in a bucket has its copy in a folder of its own in the cache.
    """
    storage = settings.config.storage
    home = settings.path.parent

    def cache() -> Path:
        return _within(home, storage.cache) if storage.cache else cache_folder()

    if isinstance(runs, Location):
        folder = runs.folder(cache(), storage.endpoint, "runs")
        settings = replace(settings, runs=folder, runs_at=runs)
    elif runs is not None:
        if is_systems(runs):
            raise UsageError(f"{runs}: {_SYSTEMS_OWN}")
        settings = replace(settings, runs=runs, runs_at=None)
    if isinstance(out, Location):
        folder = out.folder(cache(), storage.endpoint, "site")
        settings = replace(settings, out=folder, out_at=out)
    elif out is not None:
        settings = replace(settings, out=_led_to(out), out_at=None)
    return settings


def _led_to(out: Path) -> Path:
    """Where a link leads that stands in a site's place: builds exchange folders, and no links."""
    with suppress(OSError):  # told by whoever writes there
        if not out.is_symlink():
            return out
        # Which of both a link that leads to itself gives hangs on the version of Python.
        with suppress(RuntimeError):
            led = out.resolve()
            if not led.is_symlink():
                return led
        raise UsageError(f"{out}: a link that leads to itself; expected a folder")
    return out


def override(
    settings: Settings, runs: Path | None, problems: Path | None, out: Path | None
) -> Settings:
    """The settings with the folders that a command line gives in place of its own."""
    return replace(
        settings,
        runs=runs or settings.runs,
        problems=problems or settings.problems,
        out=_led_to(out) if out else settings.out,
    )


def denied_of(settings: Settings) -> tuple[bytes, ...]:
    """The values that are always hidden; InputError where they cannot be had."""
    rules, home = settings.config.redact, settings.path.parent
    found = []
    for name in rules.deny:
        if name not in os.environ:
            message = f"names the environment variable {name}, which is not set; set it, or drop it"
            raise wrong(settings.path, "redact.deny", message).errors[0]
        found.append(os.environb[os.fsencode(name)])
    for name in rules.deny_files:
        path = _within(home, name)
        try:
            data = read_regular(path, LIMIT_BYTES, links=True)
            what = "no UTF-8 text" if b"\0" in data else ""
        except InputError as error:
            what = error.message
        if what:
            message = f"{what}; expected a value a line"
            raise InputError(message, path=path, key="redact.deny_files")
        # What an editor puts before the first value is no part of it.
        lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
        found += [line.strip() for line in lines if not line.startswith(b"#")]
    return tuple(dict.fromkeys(value for value in found if value.strip()))


def _within(home: Path, text: str) -> Path:
    """What a path of kbsite.yaml names: from its folder on, or from the home of a person."""
    path = Path(text)
    with suppress(RuntimeError):  # no such person
        path = path.expanduser()
    return home / path


def read_own_prices(path: Path) -> PriceTable:
    """The prices alone that belong to a kbsite.yaml: whoever starts a run waits for nothing else.

    InvalidFileError names everything that is wrong.
    """
    return _prices(yaml_record(path, Config), path)


def _prices(config: Config, own: Path) -> PriceTable:
    """The table that kbsite.yaml names; else the one beside it, which need not be there."""
    path = _within(own.parent, config.prices or PRICES)
    if config.prices and not path.exists():
        raise wrong(own, "prices", f"{path}: no such file; expected a table of prices")
    return read_prices(path) if path.exists() else PriceTable()


def _hardware(config: Config, own: Path) -> dict[str, Hardware]:
    """What the folder holds that kbsite.yaml names; else bench/hardware, if it is there."""
    folder = _within(own.parent, config.hardware or HARDWARE)
    if not folder.is_dir():
        if config.hardware:
            raise wrong(own, "hardware", f"{folder}: no such folder; expected one of hardware")
        return {}
    from kbsite.store.hardware import read_all_hardware

    return read_all_hardware(folder)
