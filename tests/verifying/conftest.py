"""A published site for the tests of a module, which copy it before they spoil it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import MakeFloors, MakeRun, MakeSettings
from tests.verifying.published import make_site


@pytest.fixture(name="site", scope="module")
def _site(
    tmp_path_factory: pytest.TempPathFactory,
    make_settings: MakeSettings,
    make_run: MakeRun,
    make_floors: MakeFloors,
) -> Path:
    return make_site(tmp_path_factory.mktemp("site"), make_settings, make_run, make_floors)
