"""Sessions of these tests beside each other on one machine."""

from __future__ import annotations

import warnings

import pytest


def test_a_folder_of_another_session_that_cannot_be_cleared_away_breaks_none() -> None:
    """pytest ended in a trace after all tests had passed: it clears away what others left."""
    told = "(rm_rf) error removing /tmp/garbage-1\n<class 'OSError'>: Directory not empty"
    warnings.warn(pytest.PytestWarning(told), stacklevel=1)
    with pytest.raises(pytest.PytestWarning):
        warnings.warn(pytest.PytestWarning("all else is an error"), stacklevel=1)
