"""CLIs are installed whole or not at all, as the lock file has them, and only once."""

from __future__ import annotations

import fcntl
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bench.installing import Failure, Installed, Locked, install, installing, programs
from bench.installing.stamp import STAMP, folder_of, installed
from kbsite.errors import MachineError, UsageError
from tests.bench.installing.registry import Registry, lock, locked, says


def silent(what: str, share: float | None) -> None:
    assert what
    assert share is None or 0 <= share <= 1


def names(prefix: Path) -> set[str]:
    """All that lies below a prefix, two folders deep; the file that keeps others out aside."""
    return {str(path.relative_to(prefix)) for path in prefix.glob("*/*")}


def test_all_are_installed_and_node_first(published: Registry, prefix: Path) -> None:
    became = install((), prefix, silent, lock())

    assert [one.harness for one in became] == ["node", "alpha", "beta"]
    assert all(isinstance(one, Installed) for one in became)
    assert names(prefix) == {"node/1.0.0", "alpha/1.0.0", "beta/1.0.0"}
    assert [call[1] for call in published.calls()][:3] == ["node", "node", "node"]


def test_clis_are_installed_with_the_node_that_they_run_on(
    published: Registry, prefix: Path
) -> None:
    install(("beta",), prefix, silent, lock())
    begun = {package: node for what, package, node, _ in published.calls() if what == "begun"}

    assert begun["beta"] == str(prefix / "node/1.0.0/node_modules/node/bin")
    assert begun["node"] != begun["beta"]


def test_the_registry_is_asked_as_it_was_on_the_day_of_the_lock(
    published: Registry, prefix: Path
) -> None:
    install(("node",), prefix, silent, lock())

    assert {day for *_, day in published.calls()} == {"2026-11-01"}


def test_a_stamp_says_what_was_installed(published: Registry, prefix: Path) -> None:
    assert published.packages
    said = install(("alpha",), prefix, silent, lock())[1]

    assert isinstance(said, Installed)
    assert (said.harness, said.version, said.package) == ("alpha", "1.0.0", "@team/alpha")
    assert said.command == ("./node_modules/@team/alpha/bin/alpha-linux",)
    assert said.facts["integrity"] == "sha512-@team/alpha"
    assert (said.facts["node"], said.facts["npm"]) == ("1.0.0", "99.9.9")
    assert said.bytes > 0
    assert said == installed(prefix, lock().clis["alpha"])


def test_what_is_there_is_left_alone(published: Registry, prefix: Path) -> None:
    first = install((), prefix, silent, lock())
    calls = published.calls()
    (published.home / "programs" / "npm").unlink()  # nothing has to be installed

    assert install((), prefix, silent, lock()) == first
    assert published.calls() == calls


def test_a_failure_leaves_nothing_and_the_next_call_goes_on(
    published: Registry, prefix: Path
) -> None:
    published.change("beta", fails="ECONNRESET while fetching")
    became = install((), prefix, silent, lock())
    calls = len(published.calls())

    assert [type(one) for one in became] == [Installed, Installed, Failure]
    assert isinstance(became[2], Failure)
    assert "ECONNRESET while fetching" in became[2].error
    assert not list((prefix / "beta").iterdir())

    published.change("beta", fails="")
    assert all(isinstance(one, Installed) for one in install((), prefix, silent, lock()))
    assert {call[1] for call in published.calls()[calls:]} == {"beta"}


def test_what_node_cannot_be_had_for_fails_too(published: Registry, prefix: Path) -> None:
    published.change("node", fails="no space left")
    became = install(("beta",), prefix, silent, lock())

    assert all(isinstance(one, Failure) for one in became)
    assert not names(prefix)


def test_another_package_of_the_same_version_is_refused_before_it_runs(
    published: Registry, prefix: Path
) -> None:
    published.change("@team/alpha", integrity="sha512-changed")
    became = install(("alpha",), prefix, silent, lock())[1]

    assert isinstance(became, Failure)
    assert "sha512-changed" in became.error
    assert ["asked", "@team/alpha"] in [list(call[:2]) for call in published.calls()]
    assert ["begun", "@team/alpha"] not in [list(call[:2]) for call in published.calls()]


def test_a_cli_is_what_it_prints_and_not_what_it_is_called(
    published: Registry, prefix: Path
) -> None:
    published.change("@team/alpha", files={"bin/alpha-linux": says("gamma 1.0.0")})
    became = install(("alpha",), prefix, silent, lock())[1]

    assert isinstance(became, Failure)
    assert "'gamma 1.0.0', expected 'alpha 1.0.0'" in became.error
    assert names(prefix) == {"node/1.0.0"}


@pytest.mark.parametrize("files", [{}, {"bin/alpha-a": says("x"), "bin/alpha-b": says("x")}])
def test_a_command_is_one_file(published: Registry, prefix: Path, files: dict[str, str]) -> None:
    published.change("@team/alpha", files=files)
    became = install(("alpha",), prefix, silent, lock())[1]

    assert isinstance(became, Failure)
    assert f"{len(files)} files fit" in became.error


def test_what_a_killed_installation_left_is_replaced(published: Registry, prefix: Path) -> None:
    assert published.packages
    for left in ("alpha/1.0.0.3f2a.partial", "alpha/0.9.0.partial", "alpha/1.0.0"):
        (prefix / left / "node_modules").mkdir(parents=True)
        (prefix / left / "half").write_text("of a file")

    assert isinstance(install(("alpha",), prefix, silent, lock())[1], Installed)
    assert names(prefix) == {"node/1.0.0", "alpha/1.0.0"}
    assert not (prefix / "alpha/1.0.0/half").exists()


@pytest.mark.parametrize("stamp", ["", "{", "[]", '{"harness": "alpha"}'])
def test_half_a_stamp_is_none(published: Registry, prefix: Path, stamp: str) -> None:
    assert published.packages
    install(("alpha",), prefix, silent, lock())
    place = folder_of(prefix, lock().clis["alpha"]) / STAMP
    place.write_text(stamp)

    assert "alpha" not in programs(prefix, lock())
    assert isinstance(install(("alpha",), prefix, silent, lock())[1], Installed)
    assert "alpha" in programs(prefix, lock())


def test_a_changed_entry_is_installed_anew(published: Registry, prefix: Path) -> None:
    install(("beta",), prefix, silent, lock())
    calls = len(published.calls())
    changed = replace(lock().clis["beta"], command=("node", "./node_modules/beta/cli.js"))
    became = install(("beta",), prefix, silent, lock(changed))[1]

    assert isinstance(became, Installed)
    assert became.command == ("node", "./node_modules/beta/cli.js")
    assert {call[1] for call in published.calls()[calls:]} == {"beta"}


def test_two_are_installed_at_once_and_no_more(published: Registry, prefix: Path) -> None:
    more = []
    for number in range(4):
        name = f"more{number}"
        published.add(name, {"run": says(name)})
        published.change(name, seconds=0.2)
        more.append(locked(name, name, name, f"./node_modules/{name}/run"))
    became = install((), prefix, silent, lock(*more))
    at_once, most = 0, 0
    for what, *_ in published.calls():
        at_once += {"begun": 1, "ended": -1}.get(what, 0)
        most = max(most, at_once)

    assert all(isinstance(one, Installed) for one in became)
    assert 1 <= most <= 2


def test_what_needs_no_node_is_begun_beside_it(
    published: Registry, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = replace(locked("snake", "snake", "snake 1", "./run"), source="pypi", python="3.11")
    node = lock().clis["node"]
    seen = []

    def from_pypi(_: Locked, folder: Path) -> dict[str, str]:
        seen.append(installed(prefix, node))
        (folder / "run").write_text(says("snake 1"))
        (folder / "run").chmod(0o755)
        return {}

    monkeypatch.setattr(installing, "from_pypi", from_pypi)
    published.change("node", seconds=1)
    became = install((), prefix, silent, lock(alone))

    assert seen == [None]
    assert [one.harness for one in became] == ["node", "alpha", "beta", "snake"]
    assert all(isinstance(one, Installed) for one in became)


def test_a_second_installation_waits_for_the_first(published: Registry, prefix: Path) -> None:
    assert published.packages
    prefix.mkdir()
    waits, told, became = threading.Event(), [], []

    def tell(what: str, share: float | None) -> None:
        told.append((what, share))
        waits.set()

    with (prefix / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        second = threading.Thread(
            target=lambda: became.extend(install(("node",), prefix, tell, lock()))
        )
        second.start()
        assert waits.wait(60)
        assert told == [("waiting for another installation to end", None)]
        assert not names(prefix)
    second.join(60)
    assert [type(one) for one in became] == [Installed]


def test_ctrl_c_leaves_nothing_half(published: Registry, prefix: Path) -> None:
    assert published.packages

    def interrupted(what: str, share: float | None) -> None:
        if share:
            raise KeyboardInterrupt(what)

    with pytest.raises(KeyboardInterrupt):
        install((), prefix, interrupted, lock())
    assert names(prefix) <= {"node/1.0.0", "alpha/1.0.0", "beta/1.0.0"}
    assert set(programs(prefix, lock())) <= {"alpha", "beta"}
    assert all(isinstance(one, Installed) for one in install((), prefix, silent, lock()))


def test_without_npm_a_person_is_told_what_to_install(
    published: Registry, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(published.home / "nothing"))

    with pytest.raises(MachineError, match="install Node with npm"):
        install(("alpha",), prefix, silent, lock())


def test_an_unknown_cli_is_refused_with_the_names_of_the_others(prefix: Path) -> None:
    with pytest.raises(UsageError, match="alfa: no CLI of that name; known are node, alpha, beta"):
        install(("alfa",), prefix, silent, lock())
    assert not prefix.exists()


def test_a_prefix_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(MachineError, match="cannot be installed there"):
        install(("node",), tmp_path / "file" / "clis", silent, lock())


def test_one_that_vanishes_meanwhile_is_a_failure(published: Registry, prefix: Path) -> None:
    assert published.packages
    install((), prefix, silent, lock())
    place = folder_of(prefix, lock().clis["alpha"])

    def tell(what: str, share: float | None) -> None:
        silent(what, share)
        shutil.rmtree(place, ignore_errors=True)

    shutil.rmtree(folder_of(prefix, lock().clis["beta"]))
    became = {one.harness: one for one in install((), prefix, tell, lock())}
    assert isinstance(became["alpha"], Failure)
    assert isinstance(became["beta"], Installed)
