"""What real detectors think of the solutions of these tests is no matter of the command line."""

from __future__ import annotations

import pytest

from kbsite import alarms


@pytest.fixture(autouse=True)
def no_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs raise no alarms, but for those of detectors that a test brings with it."""
    monkeypatch.setattr(alarms, "DETECTORS", ())
    monkeypatch.setattr(alarms, "COMPARISONS", ())
