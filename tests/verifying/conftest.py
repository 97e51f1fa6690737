"""A published site for the tests of a module, which copy it before they spoil it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kbsite.feeds import cards
from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.verifying.published import make_site

PNG = cache(cards.png)
"""Each card is drawn once: six of a site that is verified hundreds of times took 46 ms each."""


@pytest.fixture(autouse=True, scope="module")
def _drawn_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cards, "png", PNG)
        yield


@pytest.fixture(name="site", scope="module")
def _site(
    tmp_path_factory: pytest.TempPathFactory,
    make_settings: MakeSettings,
    make_run: MakeRun,
    make_floors: MakeFloors,
) -> Path:
    return make_site(tmp_path_factory.mktemp("site"), make_settings, make_run, make_floors)
