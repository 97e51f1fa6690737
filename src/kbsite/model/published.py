"""data/site.json: what a site was made from beside its runs, so that anybody can make it anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from kbsite.model.config import BoardConfig, Config
from kbsite.model.finding import Finding
from kbsite.model.floor import Floor
from kbsite.model.hardware import Hardware
from kbsite.model.price import PriceTable
from kbsite.model.problem import Problem

FORMAT: Final = 1
"""Version of the format of data/site.json."""


class PublishedProblem(Struct, frozen=True, kw_only=True):
    """A problem, without what no agent may see of it."""

    id: str
    hash: str
    """SHA-256 over all of its files."""
    problem: Problem
    prompt: str
    reference: str


class PublishedBoard(Struct, frozen=True, kw_only=True):
    """A board, and what it is made from."""

    config: BoardConfig
    runs: tuple[str, ...]
    """Ids of all runs that were held against its rules, those that it refused among them."""
    told_floors: tuple[Floor, ...]
    """Floors that no run of the site proves."""


class Published(Struct, frozen=True, kw_only=True):
    """data/site.json."""

    format: Literal[1]
    """Version of the format."""
    kbsite: str
    """Version of kbsite that made the site."""
    config: Config
    """What kbsite.yaml says, without the folders of the machine that made the site."""
    boards: tuple[PublishedBoard, ...]
    """In order; those that kbsite.yaml does not declare come last."""
    runs: tuple[str, ...]
    """Ids of all runs of contenders, in order."""
    floor_runs: tuple[str, ...]
    """Ids of all runs of floors, in order."""
    problems: tuple[PublishedProblem, ...]
    hardware: Mapping[str, Hardware]
    """What hardware can do, by id."""
    prices: PriceTable
    findings: tuple[Finding, ...]
    """What was wrong with the input."""
