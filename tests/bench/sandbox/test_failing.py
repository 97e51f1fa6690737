"""What goes wrong on the way into a box, or while it is watched, is told, and nothing is left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.sandbox import best
from bench.sandbox.box import Box, Ending, Limits, Sandbox, Sandboxed
from bench.sandbox.bubblewrap import Bubblewrap, _argv
from bench.sandbox.held import Held
from bench.sandbox.launch import Way, launch
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.places import gpu_devices
from bench.sandbox.trial import first_failure
from bench.sandbox.users import User
from kbsite.errors import MachineError
from tests.bench.sandbox.boxes import left_over, processes_of_boxes, sandbox, traces, works

__all__ = ["sandbox"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def entering_by(*command: str) -> Way:
    """A way into a box whose starter is this command, which knows nothing of channels."""

    def argv(*_: object) -> tuple[Sequence[str], tuple[int, ...]]:
        return command, ()

    return Way(argv=argv, facts={})


def test_a_starter_that_fails_is_quoted(log: Path) -> None:
    before = traces()
    way = entering_by("/bin/sh", "-c", "echo bwrap: no such option >&2; exit 1")
    with pytest.raises(MachineError, match=r"could not be entered: bwrap: no such option$"):
        launch(way, ["/bin/true"], Box(log=log))
    assert left_over(before) == set()


def test_a_starter_that_ends_without_a_word_is_told_of(log: Path) -> None:
    with pytest.raises(MachineError, match="could not be entered: its starter ended"):
        launch(entering_by("/bin/true"), ["/bin/true"], Box(log=log))


def test_what_a_box_prints_onto_a_full_disk_ends_it_and_is_told(
    sandbox: Sandbox, log: Path
) -> None:
    before = traces()
    box = sandbox.start(["/bin/sh", "-c", "echo lost; sleep 60"],
                        Box(log=log, stdout=Path("/dev/full")))  # fmt: skip
    ended = box.wait(30)
    assert ended is not None
    assert ended.killed
    with pytest.raises(OSError, match="No space left on device"), box:
        pass
    assert left_over(before) == set()


def test_a_starter_that_never_enters_is_killed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.sandbox.launch._TO_ENTER_S", 0.2)
    before = traces()
    with pytest.raises(MachineError, match=r"the sandbox was not entered within 0\.2 s"):
        launch(entering_by("/bin/sleep", "60"), ["/bin/true"], Box(log=log))
    assert left_over(before) == set()


def test_a_starter_that_does_not_exist_leaves_nothing(log: Path) -> None:
    before = traces()
    with pytest.raises(FileNotFoundError):
        launch(entering_by("/no/such/starter"), ["/bin/true"], Box(log=log))
    assert left_over(before) == set()
    assert works(best(), log)


def test_what_was_prepared_is_taken_down_when_the_start_fails(log: Path) -> None:
    called: list[str] = []
    way = Way(
        argv=lambda *_: (["/bin/false"], ()), facts={}, afterwards=lambda: called.append("taken")
    )
    with pytest.raises(MachineError):
        launch(way, ["/bin/true"], Box(log=log))
    assert called == ["taken"]


def test_a_log_that_cannot_be_written_is_an_error_of_the_start(tmp_path: Path) -> None:
    before = traces()
    with pytest.raises(FileNotFoundError):
        best().start(["/bin/true"], Box(log=tmp_path / "no-such" / "log"))
    assert left_over(before) == set()
    assert works(best(), tmp_path / "log")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_box_that_can_no_longer_be_watched_is_ended(
    sandbox: Sandbox, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = traces()
    with monkeypatch.context() as patched:

        def broken(_: Held) -> None:
            raise RuntimeError("the watch is broken")

        patched.setattr(Held, "_look_at_memory", broken)
        running = sandbox.start(["/bin/sleep", "60"], Box(log=log))
        ending = running.wait(30)
        # What was raised is told when the thread ends, and else of the next test.
        for thread in threading.enumerate():
            if thread.name == f"box {running.pid}":
                thread.join(30)
    assert ending is not None
    assert ending.killed
    assert processes_of_boxes() == []
    assert left_over(before) == set()


@dataclass
class Lame:
    """A sandbox in which a command that does nothing ends like this, or does not start."""

    ending: Ending | None
    error: MachineError | None = None
    name: str = "lame"
    gives_terminals: bool = False

    def __hash__(self) -> int:
        return 0

    def available(self) -> str | None:
        return first_failure(self)

    def start(self, command: Sequence[str], box: Box) -> Sandboxed:
        assert command == ["/bin/true"]
        assert not box.log.exists()
        if self.error:
            raise self.error
        return LameRun(self.ending)  # type: ignore[return-value]


class LameRun:
    def __init__(self, ending: Ending | None) -> None:
        self.ending = ending

    def wait(self, _: float) -> Ending | None:
        return self.ending

    def __enter__(self) -> LameRun:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was started."""


def test_whether_a_sandbox_can_be_used_is_found_out_by_using_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Lame(Ending(exit_code=0)).available() is None
    assert Lame(Ending(exit_code=1)).available() == (
        "a command that does nothing: it exited with code 1"
    )
    assert Lame(None).available() == "a command that does nothing still ran after 20 s"
    assert Lame(None, MachineError("no")).available() == "no"
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert Lame(Ending(exit_code=0)).available() == "namespaces exist on Linux only"


def test_the_best_is_the_first_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Lame(None, MachineError("not here"))
    good = Lame(Ending(exit_code=0), name="good")
    monkeypatch.setattr("bench.sandbox.SANDBOXES", (refused, good))
    assert best.__wrapped__() is good
    monkeypatch.setattr("bench.sandbox.SANDBOXES", (refused, refused))
    with pytest.raises(MachineError, match=r"no sandbox can be used here\. lame: not here; lame"):
        best.__wrapped__()


def words_of(box: Box, *, new_user: bool) -> list[str]:
    """What bubblewrap is told of a box."""

    argv, given = _argv(box, User(1000, 1001, 0), ["inner"], new_user=new_user)
    assert argv[1:3] == ["--args", str(given[0])]
    assert argv[3:] == ["--", "inner"]
    words = os.pread(given[0], 1_000_000, 0).decode().split("\0")
    for number in given:
        os.close(number)
    return words


def test_bubblewrap_is_told_of_users_and_rights(log: Path) -> None:
    own = words_of(Box(log=log), new_user=False)
    assert "--unshare-user" not in own
    assert own.count("--cap-add") == 3
    assert own[own.index("--cap-drop") + 1] == "ALL"
    assert own.index("--cap-drop") < own.index("--cap-add")
    mapped = words_of(Box(log=log), new_user=True)
    assert mapped[mapped.index("--uid") + 1] == "1000"
    assert "--cap-add" not in mapped


def test_bubblewrap_is_told_what_to_share_and_what_not(log: Path) -> None:
    for box, shared in ((Box(log=log), False), (Box(log=log, share_ipc=True), True)):
        words = words_of(box, new_user=False)
        assert ("--unshare-ipc" in words) != shared
        assert {"--unshare-pid", "--unshare-net", "--unshare-uts", "--as-pid-1"} <= set(words)
        assert "--share-net" not in words
        assert not any(word in {"--bind", "--bind-try", "--dev"} for word in words)


def test_bubblewrap_closes_the_root_last(log: Path) -> None:
    limits = Limits(scratch_bytes=12_345_678)
    words = words_of(Box(log=log, files={"deep/a": b"x"}, limits=limits), new_user=False)
    closed = words.index("--remount-ro")
    assert words[closed + 1] == "/"
    assert words.index("/box/deep/a") < closed
    assert words[words.index("--size") + 1] == "12345678"
    assert words[words.index("--size") + 2 :][:2] == ["--tmpfs", "/tmp"]
    assert words.index("/tmp") < words.index("/usr"), "what is shown in /tmp lies on top of it"


def test_devices_of_a_gpu_are_nodes_and_folders_of_nodes() -> None:
    assert all(path.is_char_device() or path.is_dir() for path in gpu_devices())


def test_boxes_that_start_and_end_at_once_do_not_get_in_each_others_way(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    before = traces()
    said: list[str] = []

    def several(number: int) -> None:
        for turn in range(3):
            log = tmp_path / f"{number}-{turn}"
            # Only what boxes write: Python itself may lie below /tmp.
            script = f"echo {number} >/tmp/box-{number}; cat /tmp/box-*; ls -d /tmp/box-*"
            box = Box(log=log, environment={"PATH": "/usr/bin:/bin"})
            with sandbox.start(["/bin/sh", "-c", script], box) as running:
                if turn == 1:
                    time.sleep(0.01 * number)
                    running.kill()
                else:
                    running.wait(30)
                    said.append(log.read_text())

    threads = [threading.Thread(target=several, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 8
    assert {text.split()[0] for text in said} == set("0123")
    assert all(text.split() == [text[0], f"/tmp/box-{text[0]}"] for text in said)
    assert processes_of_boxes() == []
    assert left_over(before) == set()


def test_sandboxes_of_a_kind_are_the_same() -> None:
    assert Namespaces() == Namespaces()
    assert Bubblewrap(new_user=True) != Bubblewrap()
    assert len({Namespaces(), Namespaces(), Bubblewrap()}) == 2
