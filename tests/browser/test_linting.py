"""The repository's own site, as it is built for the browser, has nothing wrong with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kbsite.linting import lint
from kbsite.linting.nu import nu_findings

ROOT = Path(__file__).parents[2]
JAR = ROOT / ".nu" / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"


def test_no_check_finds_anything_in_the_own_site(site: Path) -> None:
    assert [finding.text for finding in lint(site)] == []


def test_every_page_of_the_own_site_is_html_by_its_standard(site: Path) -> None:
    if not JAR.is_file() or shutil.which("java") is None:
        assert not os.environ.get("CI"), "CI has Java and the checker: `make nu`"
        pytest.skip("no Java, or no Nu Html Checker: `make nu` brings it")

    assert [finding.text for finding in nu_findings(site, JAR)] == []
