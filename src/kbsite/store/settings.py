"""kbsite.yaml: found in a folder or its parents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kbsite.errors import UsageError
from kbsite.model.config import Config
from kbsite.model.hardware import Hardware
from kbsite.model.price import PriceTable
from kbsite.store.hardware import HARDWARE, read_all_hardware
from kbsite.store.prices import PRICES, read_prices
from kbsite.store.records import yaml_record

CONFIG = "kbsite.yaml"


@dataclass(frozen=True, slots=True)
class Settings:
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


def config_path(start: Path) -> Path:
    """The kbsite.yaml of `start` or of the nearest parent that has one; UsageError if none has."""
    here = start.absolute()
    for folder in [here, *here.parents]:
        if (folder / CONFIG).is_file():
            return folder / CONFIG
    raise UsageError(f"no {CONFIG} in {start} or its parents; write one, or give --config")


def read_settings(path: Path) -> Settings:
    """The settings in a kbsite.yaml; InvalidFileError names everything that is wrong."""
    config = yaml_record(path, Config)
    home = path.parent
    return Settings(
        config,
        runs=home / config.runs,
        problems=home / config.problems,
        out=home / config.out,
        path=path,
        prices=_prices(config, home),
        hardware=_hardware(config, home),
    )


def read_own_prices(path: Path) -> PriceTable:
    """The prices alone that belong to a kbsite.yaml: whoever starts a run waits for nothing else.

    InvalidFileError names everything that is wrong.
    """
    return _prices(yaml_record(path, Config), path.parent)


def _prices(config: Config, home: Path) -> PriceTable:
    """The table that kbsite.yaml names; else the one beside it, which need not be there."""
    path = home / (config.prices or PRICES)
    return read_prices(path) if config.prices or path.exists() else PriceTable()


def _hardware(config: Config, home: Path) -> dict[str, Hardware]:
    """What the folder holds that kbsite.yaml names; else bench/hardware, if it is there."""
    folder = home / (config.hardware or HARDWARE)
    return read_all_hardware(folder) if config.hardware or folder.is_dir() else {}
