"""Installed CLIs as a sandbox gets them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from bench.installing import Installed, default_prefix, install, programs, read_lock
from bench.installing.lock import Lock
from bench.installing.stamp import fingerprint, write_stamp
from tests.bench.installing.registry import Registry, lock, locked


def quiet(_what: str, _share: float | None) -> None:
    pass


def test_nothing_installed_is_no_program(prefix: Path) -> None:
    assert programs(prefix, lock()) == {}


def test_a_program_is_seen_below_the_folder_of_all_clis(published: Registry, prefix: Path) -> None:
    assert published.packages
    install((), prefix, quiet, lock())
    alpha = programs(prefix, lock())["alpha"]

    assert alpha.command == ("/opt/clis/alpha/node_modules/@team/alpha/bin/alpha-linux",)
    assert alpha.bound == {PurePosixPath("/opt/clis/alpha"): prefix / "alpha/1.0.0"}
    assert alpha.path == ()
    assert (alpha.harness, alpha.version) == ("alpha", "1.0.0")
    assert alpha.facts["integrity"] == "sha512-@team/alpha"


def test_one_that_runs_on_node_gets_node(published: Registry, prefix: Path) -> None:
    assert published.packages
    install((), prefix, quiet, lock())
    beta = programs(prefix, lock())["beta"]

    assert beta.command == (
        "/opt/clis/node/node_modules/node/bin/node",
        "/opt/clis/beta/node_modules/beta/cli.js",
        "--fast",
    )
    assert set(beta.bound) == {PurePosixPath("/opt/clis/beta"), PurePosixPath("/opt/clis/node")}
    assert beta.path == (PurePosixPath("/opt/clis/node/node_modules/node/bin"),)
    assert all((inside / "x").is_absolute() for inside in beta.bound)


def test_each_has_what_it_searches_with_in_its_path(published: Registry, prefix: Path) -> None:
    published.add("search", {"bin/rg": '#!/bin/sh\necho "rg 1"\necho more\n'})
    one = locked("ripgrep", "search", "rg 1", "./node_modules/search/bin/rg")
    with_it = lock(one)
    install((), prefix, quiet, with_it)
    found = programs(prefix, with_it)
    folder = PurePosixPath("/opt/clis/ripgrep/node_modules/search/bin")

    assert set(found) == {"alpha", "beta"}
    assert found["alpha"].path == (folder,)
    assert found["beta"].path == (PurePosixPath("/opt/clis/node/node_modules/node/bin"), folder)
    assert found["alpha"].bound[PurePosixPath("/opt/clis/ripgrep")] == prefix / "ripgrep/1.0.0"


def test_node_is_no_harness_and_its_clis_need_it(published: Registry, prefix: Path) -> None:
    assert published.packages
    install((), prefix, quiet, lock())
    assert set(programs(prefix, lock())) == {"alpha", "beta"}
    (prefix / "node/1.0.0/installed.json").unlink()
    assert set(programs(prefix, lock())) == {"alpha"}


def stamped(prefix: Path, lock: Lock, python_folder: str) -> None:
    locked = lock.clis["kimi-cli"]
    folder = prefix / locked.id / locked.version
    folder.mkdir(parents=True)
    facts = {"locked": fingerprint(locked), "python_folder": python_folder}
    command = ("./bin/python", "-m", "kimi_cli")
    write_stamp(
        folder,
        Installed(
            harness=locked.id, version=locked.version, package="kimi-cli", bytes=1, seconds=1.0,
            command=command, facts=facts,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("base", "readable"), [("/somewhere/python", (Path("/somewhere/python"),)), ("/usr", ())]
)
def test_an_environment_needs_the_python_that_it_is_of(
    prefix: Path, base: str, readable: tuple[Path, ...]
) -> None:
    stamped(prefix, read_lock(), base)
    program = programs(prefix)["kimi-cli"]

    assert program.command == ("/opt/clis/kimi-cli/bin/python", "-m", "kimi_cli")
    assert program.readable == readable


def test_the_prefix_lies_beside_kbsite_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KBSITE_CLIS", raising=False)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)

    (tmp_path / "kbsite.yaml").write_text("")
    assert default_prefix(below) == tmp_path / ".clis"
    monkeypatch.setenv("KBSITE_CLIS", str(tmp_path / "elsewhere"))
    assert default_prefix(below) == tmp_path / "elsewhere"


def test_without_kbsite_yaml_it_is_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KBSITE_CLIS", raising=False)
    assert default_prefix(tmp_path) == tmp_path / ".clis"
