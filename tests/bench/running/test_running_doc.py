"""docs/running.md says what the code does."""

from __future__ import annotations

import re

from bench.running.collecting import SIDECARS
from bench.running.ending import BLOCKED_SHARE, PATIENCE_SECONDS
from bench.running.form import SessionLimits
from bench.running.given import CHECK, CLOCK, SHAPES
from bench.running.record import ORDER, PROMPT, PROXY, SANDBOX, SESSION
from bench.running.session import STDERR, STDOUT
from bench.running.watch import REFUSALS
from kbsite.model.status import EndReason
from tests.bench.running.sessions import ROOT
from tests.bench.running.test_fault_matrix import MATRIX

TEXT = (ROOT / "docs/running.md").read_text()
LIMITS = SessionLimits()


def test_it_names_every_file() -> None:
    for name in (CHECK, CLOCK, SHAPES, ORDER, PROMPT, PROXY, SANDBOX, SESSION, STDOUT, STDERR):
        assert f"`{name}`" in TEXT


def test_its_figures_are_those_of_the_code() -> None:
    assert f"{LIMITS.warn_share:.0%}".replace("%", " %") in TEXT
    assert f"within {LIMITS.first_request_seconds / 60:.0f} minutes of the start" in TEXT
    lasting = f"for at least {LIMITS.failing_seconds:.0f} s"
    few = f"{REFUSALS} where the key is refused"
    assert f"{LIMITS.failures} failed requests in a row, {lasting}; {few}" in TEXT
    assert f"for {LIMITS.stall_seconds / 60:.0f} minutes no byte" in TEXT
    assert "five seconds later the box ends" in TEXT
    assert LIMITS.grace_seconds == 5.0
    assert "the last fifth of the budget" in TEXT
    assert BLOCKED_SHARE == 1 / 5
    assert f"did not come within {PATIENCE_SECONDS:.0f} s" in TEXT
    assert f"at most {SIDECARS.files} files, {SIDECARS.bytes >> 20} MiB" in TEXT
    assert f"plays {len(MATRIX.EXPECTED)} faults" in TEXT


def test_its_reasons_are_reasons() -> None:
    table = TEXT.partition("## Why it ended")[2].partition("## What is recorded")[0]
    named = set(re.findall(r"\| `(\w+)`", table)) - {"end_reason"}
    assert named <= {one.value for one in EndReason}
    left_out = {EndReason.ERROR, EndReason.UNKNOWN}
    assert named == {one.value for one in EndReason if one not in left_out}
