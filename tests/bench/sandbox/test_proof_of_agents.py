"""The self-test of boxes for agents: what they add is tried too, and a missing wall is seen."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import pytest

from bench.sandbox import NONE, probe, self_test, strain
from bench.sandbox.box import SCRATCH, Box, Claim, Ending, Sandbox, Sandboxed
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.proof import NEEDED, OF_AGENTS, level_of, small
from tests.bench.sandbox.boxes import left_over, processes_of_boxes, sandbox, traces
from tests.bench.sandbox.test_agents_box import HOME, WORKSPACE, agents
from tests.bench.sandbox.test_probe import Canned
from tests.bench.sandbox.test_proof import missing

__all__ = ["sandbox"]

OF_PROBE = {"given files", "listener", "folders"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take limits for granted, where a test is about walls."""
    names = sorted(
        name for name in NEEDED["L2"] | OF_AGENTS if name.startswith(("limit of", "nothing"))
    )
    held = [Claim(name=name, held=True, how="not tried", seen="not tried") for name in names]
    monkeypatch.setattr("bench.sandbox.proof.tried_limits", lambda *_: iter(held))


def test_every_claim_of_an_agents_box_holds(sandbox: Sandbox, tmp_path: Path) -> None:
    before = traces()
    tmp_path.chmod(0o755)
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "secret").write_text("kept")
    like = agents(
        tmp_path,
        readable=(*Box(log=tmp_path).readable, tmp_path),
        hidden=(ours,),
        bound={Path("/opt/clis/one"): Path("/usr/bin")},
        listen=8000,
        interfaces=True,
        terminals=True,
    )
    proven = self_test(sandbox, like=like)
    assert missing(proven) <= {"limits kept by the kernel"}
    assert proven.level == ("L2" if missing(proven) else "L3")
    assert sorted(claim.name for claim in proven.claims) == sorted(NEEDED["L3"] | OF_AGENTS)
    assert processes_of_boxes() == []
    assert left_over(before) == set()


@pytest.mark.parametrize("kind", [Bubblewrap, Namespaces])
@pytest.mark.usefixtures("quick")
def test_agents_boxes_of_the_callers_own_user_are_one_level_lower(
    kind: type[Bubblewrap] | type[Namespaces], tmp_path: Path
) -> None:
    sandbox = kind(new_user=True)
    if sandbox.available() is not None:
        pytest.skip("this kernel makes no user namespaces here")
    proven = self_test(sandbox, like=agents(tmp_path))
    assert missing(proven) - {"limits kept by the kernel"} <= {"user"}
    assert proven.level == "L2"


@pytest.mark.usefixtures("quick")
def test_a_device_that_was_given_is_no_device_too_many(sandbox: Sandbox, tmp_path: Path) -> None:
    # As a GPU's are; a terminal is on every machine.
    given = replace(agents(tmp_path), devices=(Path("/dev/tty"),))
    proven = self_test(sandbox, like=given)
    (told,) = (claim for claim in proven.claims if claim.name == "devices")
    assert told.held, told.seen


@pytest.mark.usefixtures("quick")
def test_without_a_sandbox_an_agents_box_keeps_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    proven = self_test(NONE, like=agents(tmp_path, listen=port))
    assert proven.level == "L0"
    assert missing(proven) >= {*OF_PROBE, "network", "root"}


@dataclass(frozen=True)
class Lax:
    """A sandbox that forgets something of the box that it is asked for."""

    less: dict[str, object] = field(hash=False)
    name: str = "lax"
    gives_terminals: bool = False

    def available(self) -> str | None:
        return None

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        return Namespaces(new_user=False).start(command, replace(box, **self.less))  # type: ignore[arg-type]


@pytest.mark.usefixtures("quick")
def test_files_that_can_be_changed_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsealed(*_: object) -> dict[str, object]:
        return {"sealed": []}

    furniture = __import__("bench.sandbox.plan", fromlist=["_furniture"])._furniture
    monkeypatch.setattr(
        "bench.sandbox.plan._furniture", lambda *given: furniture(*given) | unsealed()
    )
    proven = self_test(Namespaces(new_user=False), like=agents(tmp_path))
    assert missing(proven) - {"limits kept by the kernel"} == {"given files"}
    assert proven.level == "L1"
    seen = next(claim.seen for claim in proven.claims if claim.name == "given files")
    assert seen == "done: move what that lies in"


@pytest.mark.usefixtures("quick")
def test_a_listener_that_nobody_asked_for_is_seen(tmp_path: Path) -> None:
    proven = self_test(Lax({"listen": 8001}), like=agents(tmp_path))
    assert "listener" in missing(proven)
    assert proven.level == "L1"


@pytest.mark.usefixtures("quick")
def test_a_folder_of_ours_that_is_not_hidden_is_seen(tmp_path: Path) -> None:
    like = agents(tmp_path, hidden=(Path("/usr/share"),))
    assert missing(self_test(Lax({"hidden": ()}), like=like)) >= {"root"}
    assert "root" not in missing(self_test(Lax({}), like=like))


@pytest.mark.usefixtures("quick")
def test_a_home_of_the_same_name_as_the_agents_lowers_no_level(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(HOME))
    proven = self_test(sandbox, like=agents(tmp_path))
    assert missing(proven) <= {"limits kept by the kernel"}


def test_folders_that_are_no_file_systems_are_seen(tmp_path: Path) -> None:
    same = tmp_path if tmp_path.stat().st_dev == Path("/").stat().st_dev else Path("/var")
    held, seen = probe.folders({"folders": [str(same)]})
    assert (held, seen) == (False, f"{same} is no file system of its own")
    assert probe.folders({"folders": ["/no/such"]}) == (False, "/no/such is not there")


def test_words_that_do_not_arrive_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.sandbox.proof import _heard

    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not _heard(listener, "word")
        with socket.create_connection(listener.getsockname()) as one:
            one.sendall(b"another")
            assert not _heard(listener, "word")
    lines = {f"/proc/net/{name}": ["head"] for name in ("tcp", "tcp6", "udp", "udp6", "raw")}
    monkeypatch.setattr(probe, "_lines", {**lines, "/proc/net/unix": ["head", "one"]}.__getitem__)
    assert not probe.listener({"listen": 8000})[0]
    local = "0: 0100007F:1F40 00000000:0000 0A"
    monkeypatch.setattr(
        probe, "_lines", {**lines, "/proc/net/tcp": ["", local], "/proc/net/unix": ["", "1"]}.get
    )
    assert probe.listener({"listen": 8000}) == (False, "1 other sockets are there")


def tried(said: str, box: Box) -> dict[str, Claim]:
    class Says(Canned):
        def start(self, command: object, box: Box) -> Sandboxed:
            assert box.stdout is not None
            box.stdout.write_text(self.said)
            return super().start(command, box)

    sandbox: Sandbox = Says(Ending(exit_code=0), said)
    return {claim.name: claim for claim in strain.tried_limits(sandbox, box)}


def test_folders_without_limits_are_seen(tmp_path: Path) -> None:
    box = small(agents(tmp_path), tmp_path)
    claims = tried("16 4096", box)
    assert claims["limit of folders"].seen == "MiB written: 16"
    assert claims["limit of files"].seen == "files made: 4096"
    assert [name for name in OF_AGENTS & set(claims) if claims[name].held] == []
    assert not any(claims[name].held for name in OF_AGENTS & set(tried("", box)))
    held = tried("4 1023", box)
    assert held["limit of folders"].held
    assert held["limit of files"].held


def test_levels_of_agents_boxes_need_more() -> None:
    names = sorted(NEEDED["L3"] | OF_AGENTS)
    all_held = [Claim(name=name, held=True, how="", seen="") for name in names]
    assert level_of(all_held, OF_AGENTS) == "L3"
    for name in OF_AGENTS:
        without = [replace(claim, held=claim.name != name) for claim in all_held]
        assert level_of(without, OF_AGENTS) == "L1"
        assert level_of(without) == "L3"


def test_the_box_that_is_tried_is_like_the_one_that_is_meant(tmp_path: Path) -> None:
    like = agents(tmp_path, seeds={HOME / "key": b"x"}, files={"a": b""}, stdin=b"x", devices=())
    box = small(like, tmp_path / "other")
    assert box.writable.keys() == {WORKSPACE, HOME}
    assert max(box.writable.values()) < max(like.writable.values())
    assert (box.files, box.seeds, box.stdin, box.listen) == ({}, {}, b"", 8000)
    assert (box.readable, box.environment, box.home) == (like.readable, like.environment, HOME)
    assert small(Box(log=tmp_path), tmp_path).stdout is None
    assert SCRATCH not in box.writable
    assert os.fspath(box.log).startswith(os.fspath(tmp_path / "other"))


def test_the_page_on_sandboxes_names_what_is_claimed_of_agents_boxes() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")]
    (level,) = [row[1] for row in rows if row[0].strip() == "L2 of a box with folders"]
    explained = {name.strip() for row in rows for name in row[0].split(",")}
    assert {name.strip() for name in level.partition(":")[2].split(",")} == OF_AGENTS
    assert explained >= OF_AGENTS
    assert f"{len(probe.CHANGES)} ways to write, replace" in page
    named = {name.strip(" `") for row in rows for name in row[0].split(",")}
    grader = {"files", "readable", "devices", "environment", "pass_fds", "limits", "share_ipc"}
    assert named >= {one.name for one in fields(Box)} - {"log"} >= grader
