"""docs/sweeps.md tells what the code has."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from bench.grading.setting import Patience
from bench.sweeps.claims import CLAIMS
from bench.sweeps.ending import PATIENCE_SECONDS, SILENT_SECONDS
from bench.sweeps.executors.on_ray import GRADE, PROVIDER, SUBREAPER
from bench.sweeps.executors.on_slurm import MINUTES
from bench.sweeps.outages import TELLING
from bench.sweeps.room import LEAST_BYTES
from bench.sweeps.sheet import Engine, Retries, Sweep
from bench.sweeps.slots import BURST, CALM_SECONDS, WINDOW_SECONDS
from bench.sweeps.states import State

DOC = " ".join((Path(__file__).parents[3] / "docs" / "sweeps.md").read_text("utf-8").split())
USUAL = Retries()


@pytest.mark.parametrize("key", [one.name for one in fields(Sweep)])
def test_every_key_of_the_file_is_told(key: str) -> None:
    assert f"`{key}`" in DOC


@pytest.mark.parametrize("state", State)
def test_every_state_is_told(state: State) -> None:
    assert state.value in DOC


@pytest.mark.parametrize("engine", Engine)
def test_every_engine_is_told(engine: Engine) -> None:
    assert f"**{engine.value}" in DOC


@pytest.mark.parametrize(
    "words",
    [
        f"`most` {USUAL.most}, `lost` {USUAL.lost}",
        f"`backoff_seconds` {USUAL.backoff_seconds:.0f}",
        f"`longest_seconds` {USUAL.longest_seconds:.0f}",
        f"`outage_seconds` {USUAL.outage_seconds:.0f}",
        f"less than {LEAST_BYTES >> 30} GiB is free",
        f".sweeps/{CLAIMS}/",
        f"SIGKILL after {PATIENCE_SECONDS:.0f} s",
        f"has told nothing for {SILENT_SECONDS / 3600:.0f} hours",
        f"within {WINDOW_SECONDS:.0f} s that say that there are too many requests",
        f"ends by itself after {Patience().whole / 3600:.0f} hours at most",
        f"{SUBREAPER}=1 ray start",
        f"`{PROVIDER}<id>`",
        f"`{GRADE}`",
        f"{MINUTES // 60} hours without it",
    ],
)
def test_its_figures_and_names_are_those_of_the_code(words: str) -> None:
    assert words in DOC


def test_words_for_figures_fit() -> None:
    assert (BURST, CALM_SECONDS) == (3, 5 * 60)
    assert "Three answers" in DOC
    assert TELLING == 2
    assert "Two sessions in a row" in DOC
    assert "every five minutes" in DOC
