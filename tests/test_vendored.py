"""What is not ours is as its makers published it, with its licence, and is named as theirs."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "static" / "vendor"
BUNDLE = VENDOR / "plotly-basic.min.js"
SHA256 = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
"""Of plotly-basic.min.js in the npm package plotly.js-basic-dist-min 4.1.1."""

MOST_COMPRESSED = 420_000


def test_the_bundle_is_the_published_one() -> None:
    assert hashlib.sha256(BUNDLE.read_bytes()).hexdigest() == SHA256


def test_its_version_licence_and_origin_are_told() -> None:
    told = (VENDOR / "README.md").read_text("utf-8")
    licence = (VENDOR / "plotly-basic.LICENSE.txt").read_text("utf-8")

    assert "plotly.js (basic - minified) v4.1.1" in BUNDLE.read_text("utf-8")[:200]
    assert "`plotly.js-basic-dist-min` 4.1.1" in told
    assert licence.startswith("MIT License\n")
    assert "Plotly" in licence


def test_nothing_else_is_carried_along() -> None:
    held = sorted(path.name for path in VENDOR.iterdir())

    assert held == ["README.md", "plotly-basic.LICENSE.txt", "plotly-basic.min.js"]


def test_the_bundle_is_the_small_one() -> None:
    assert len(gzip.compress(BUNDLE.read_bytes(), 9)) < MOST_COMPRESSED


def test_only_the_page_that_draws_with_it_loads_it() -> None:
    templates = ROOT / "templates"
    users = [path for path in templates.rglob("*.html") if "vendor/" in path.read_text("utf-8")]

    assert users == [templates / "pages" / "explore.html"]
