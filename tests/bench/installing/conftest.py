from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.installing.registry import Registry, registry


@pytest.fixture(name="published")
def _published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    return registry(tmp_path, monkeypatch)


@pytest.fixture(name="prefix")
def _prefix(tmp_path: Path) -> Path:
    return tmp_path / "clis"
