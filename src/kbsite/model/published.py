"""data/site.json: what a site was made from beside its runs, so that anybody can make it anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from kbsite.model.config import BoardConfig, Config
from kbsite.model.finding import Finding
from kbsite.model.floor import Floor
from kbsite.model.hardware import Hardware
from kbsite.model.price import PriceTable
from kbsite.model.problem import Problem

FORMAT: Final = 1
"""Version of the format of data/site.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedProblem:
    """A problem, without what no agent may see of it."""

    id: str
    hash: str
    """SHA-256 over all of its files."""
    problem: Problem
    prompt: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBoard:
    """A board, and what it is made from."""

    config: BoardConfig
    runs: tuple[str, ...]
    """Ids of all runs that were held against its rules, those that it refused among them."""
    told_floors: tuple[Floor, ...]
    """Floors that no run of the site proves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
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
