"""A published board on disk for every test of its import."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kbsite.importers.hard_board import LEADERBOARD
from kbsite.importers.hard_floors import BASELINES
from kbsite.importers.hard_notes import ANNOTATIONS
from tests.importers.published_board import baselines, published

Publish = Callable[..., Path]
"""Writes a published board and returns its folder; what is text is written as it is."""


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    def write(
        board: Mapping[str, Any] | str | None = None,
        *,
        floors: Mapping[str, Any] | str | None = None,
        notes: Mapping[str, Mapping[str, Any] | str] | None = None,
    ) -> Path:
        source = tmp_path / "published"
        (source / ANNOTATIONS).mkdir(parents=True, exist_ok=True)
        for name, value in (
            (LEADERBOARD, published() if board is None else board),
            (BASELINES, baselines() if floors is None else floors),
        ):
            text = value if isinstance(value, str) else json.dumps(value, indent=2)
            (source / name).write_text(text, "utf-8")
        for name, note in (notes or {}).items():
            text = note if isinstance(note, str) else _yaml(note)
            (source / ANNOTATIONS / f"{name}.yaml").write_text(text, "utf-8")
        return source

    return write


def _yaml(note: Mapping[str, Any]) -> str:
    """YAML without anchors for values that are used twice."""
    return yaml.safe_dump(json.loads(json.dumps(note)), sort_keys=False)
