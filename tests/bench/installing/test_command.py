"""`kbsite bench install`: a table, and an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import bench
from kbsite.errors import MachineError
from tests.bench.installing.registry import Registry, lock, says


@pytest.fixture(name="prefix")
def _prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published: Registry) -> Path:
    """Where CLIs go; the lock file is that of the tests."""
    assert published.packages
    monkeypatch.setattr("bench.installing.read_lock", lock)
    monkeypatch.setenv("KBSITE_CLIS", str(tmp_path / "clis"))
    return tmp_path / "clis"


def run(*words: str) -> Result:
    return CliRunner().invoke(bench, ["install", *words])


def test_a_table_says_what_is_installed(prefix: Path) -> None:
    done = run()
    lines = [line.split() for line in done.stdout.splitlines()]

    assert done.exit_code == 0
    assert lines[0] == ["harness", "version", "MB", "seconds", "check"]
    assert [line[0] for line in lines[1:]] == ["node", "alpha", "beta"]
    assert {line[-1] for line in lines[1:]} == {"--version"}
    assert (prefix / "beta/1.0.0").is_dir()


def test_the_table_as_json(prefix: Path) -> None:
    rows = json.loads(run("alpha", "--json", "--check", "none").stdout)

    assert [row["harness"] for row in rows] == ["node", "alpha"]
    assert {row["check"] for row in rows} == {"not checked"}
    assert {row["wrong"] for row in rows} == {None}
    assert not (prefix / "beta").exists()


def test_another_folder_can_be_named(prefix: Path, tmp_path: Path) -> None:
    assert run("alpha", "--clis", str(tmp_path / "other")).exit_code == 0
    assert (tmp_path / "other/alpha/1.0.0").is_dir()
    assert not prefix.exists()


def test_one_that_cannot_be_installed_is_told_and_others_are_not_hindered(
    prefix: Path, published: Registry
) -> None:
    published.change("@team/alpha", fails="E404 not found")
    done = run()

    assert done.exit_code == 3
    assert "E404 not found" in done.stderr
    assert "not installed" in done.stdout
    assert (prefix / "beta/1.0.0").is_dir()


def test_one_that_was_changed_afterwards_is_told(prefix: Path) -> None:
    run()
    program = prefix / "alpha/1.0.0/node_modules/@team/alpha/bin/alpha-linux"
    program.write_text(says("alpha 6.6.6"))
    done = run()

    assert done.exit_code == 1
    assert "alpha: --version printed 'alpha 6.6.6', expected 'alpha 1.0.0'" in done.stderr
    assert run("--check", "none").exit_code == 0


def test_one_that_does_not_start_any_more_is_told(prefix: Path) -> None:
    run()
    (prefix / "beta/1.0.0/node_modules/beta/cli.js").write_text("exit 9")
    done = run("beta")

    assert done.exit_code == 1
    assert "ended with code 9" in done.stderr


def test_without_npm_it_is_the_machine_that_cannot(
    prefix: Path, published: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(published.home))
    done = run("alpha")

    assert isinstance(done.exception, MachineError)
    assert done.exception.exit_code == 3
    assert not list(prefix.glob("*/*"))
