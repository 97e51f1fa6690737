"""`kbsite build` tells how much it hid, and with --strict fails on keys that nobody allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from kbsite.cli import kbsite
from kbsite.store.files import folder_digest
from kbsite.store.settings import CONFIG, Settings
from tests.conftest import MakeRun, MakeSettings
from tests.redaction.secrets import planted


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings) -> Settings:
    return make_settings(tmp_path, audit_threshold=1.0)


def run(settings: Settings, *options: str) -> Result:
    """What a build says."""
    return CliRunner().invoke(kbsite, ["build", "--config", str(settings.path), *options])


def audited(settings: Settings, make_run: MakeRun, files: dict[str, bytes], **about: Any) -> None:
    """A run of which nothing is to be said but what its files hold."""
    worked_on = folder_digest(settings.problems / "softmax")
    make_run(settings.runs / "demo", files=files, audit={}, problem_hash=worked_on, **about)


def allow(home: Path, **entry: str) -> None:
    """Add an entry to the list of what is no secret."""
    held = yaml.safe_load((home / CONFIG).read_text())
    held["redact"] = {"allow": [entry]}
    (home / CONFIG).write_text(yaml.safe_dump(held))


def test_a_strict_build_fails_on_a_key_until_it_is_allowed(
    settings: Settings, make_run: MakeRun, tmp_path: Path
) -> None:
    one = planted(1, "github")
    log = f"fine\n{one.secret}\n{planted(1, 'e-mail').text}\n".encode()
    audited(settings, make_run, {"check.log": log}, run_id="one")
    lax, strict = run(settings), run(settings, "--strict")

    assert (lax.exit_code, strict.exit_code) == (0, 1)
    assert "2 passages of runs hidden: 1 email, 1 github-token" in lax.stderr
    assert "runs/demo/one/check.log:2: warning: github-token: 1 passages" in strict.stderr
    assert one.secret not in strict.output + lax.output
    allow(tmp_path, text=one.secret, why="revoked")
    allowed = run(settings, "--strict")
    assert allowed.exit_code == 0
    assert "1 passages of runs hidden: 1 email" in allowed.stderr


def test_a_strict_build_has_nothing_against_names_and_addresses(
    settings: Settings, make_run: MakeRun
) -> None:
    log = f"{planted(1, 'e-mail').text} {planted(1, 'home').text}\n".encode()
    audited(settings, make_run, {"check.log": log})
    strict = run(settings, "--strict")

    assert strict.exit_code == 0
    assert "2 passages of runs hidden: 1 email, 1 home" in strict.stderr


def test_a_build_that_hides_nothing_says_nothing_of_it(
    settings: Settings, make_run: MakeRun
) -> None:
    make_run(settings.runs / "demo")

    assert "hidden" not in run(settings).stderr
