"""What a box for an agent has besides: folders, seeds, a listener, input, an output of its own."""

from __future__ import annotations

import hashlib
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from bench.sandbox import NONE
from bench.sandbox.box import SCRATCH, Box, Ending, Limits, Sandbox
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.held import Held
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.plan import python_command
from kbsite.errors import MachineError, UsageError
from tests.bench.sandbox.boxes import LONG_S, MIB, left_over, processes_of_boxes, sandbox, traces

__all__ = ["sandbox"]

WORKSPACE, HOME = Path("/workspace"), Path("/home/agent")
LIMITS = Limits(processes=64, log_bytes=20_000, stdout_bytes=50_000, scratch_bytes=4 * MIB)


def agents(outside: Path, **more: object) -> Box:
    """A box as an agent gets it, in small."""
    box = Box(
        log=outside / "stderr",
        stdout=outside / "stdout",
        folder=WORKSPACE,
        home=HOME,
        writable={WORKSPACE: 8 * MIB, HOME: 2 * MIB},
        environment={"HOME": str(HOME), "PATH": "/usr/bin:/bin", "TMPDIR": str(SCRATCH)},
        limits=LIMITS,
    )
    return replace(box, **more)  # type: ignore[arg-type]


def ran(sandbox: Sandbox, box: Box, *command: str) -> tuple[Ending, str]:
    """How a command ended, and what it printed to standard output."""
    before = traces()
    with sandbox.start(command, box) as running:
        ending = running.wait(LONG_S)
    assert ending is not None, "it did not end by itself"
    assert processes_of_boxes() == []
    assert left_over(before) == set()
    assert box.stdout is not None
    return ending, box.stdout.read_text(errors="replace")


def said_by(sandbox: Sandbox, box: Box, script: str) -> str:
    """What a shell printed."""
    ending, said = ran(sandbox, box, "/bin/bash", "-c", script)
    assert ending.exit_code == 0, box.log.read_text()
    return said


def test_folders_are_its_own_and_what_is_seeded_is_too(sandbox: Sandbox, tmp_path: Path) -> None:
    seeds = {HOME / ".config" / "cli" / "a.json": b"{}", WORKSPACE / "notes": b"seed"}
    script = """
pwd; echo ~; id -un; stat -c '%U %a' ~/.config ~/.config/cli/a.json notes
cat ~/.config/cli/a.json notes; echo; echo more >> notes; cat notes; touch ~/x /tmp/x
"""
    said = said_by(sandbox, agents(tmp_path, seeds=seeds), script).split("\n")
    assert said[:3] == ["/workspace", "/home/agent", "agent"]
    assert said[3:6] == ["agent 700", "agent 600", "agent 600"]
    assert said[6:] == ["{}seed", "seedmore", ""]


def test_given_files_stay_as_they_are(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {
        "problem/prompt.md": b"given",
        "problem/deep/a": b"given too",
        "tool": b"#!/bin/sh\npwd",
    }
    script = """
./tool; cat problem/prompt.md problem/deep/a; echo
touch x problem/x; mv x tool; rm -f tool; mv problem p; rmdir problem/deep
ln -f problem/prompt.md hard; chmod 777 tool problem; echo x > problem/deep/a; ls; cat tool; true
"""
    box = agents(tmp_path, files=files)
    said = said_by(sandbox, box, script).split("\n")
    assert said == ["/workspace", "givengiven too", "problem", "tool", "x", "#!/bin/sh", "pwd"]
    assert len(box.log.read_text().splitlines()) == 9


def test_what_is_bound_is_seen_elsewhere_and_what_is_hidden_is_empty(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    shown = tmp_path / "shown"
    (shown / "bin").mkdir(parents=True)
    (shown / "ours").mkdir()
    (shown / "bin" / "cli").write_text("a program")
    (shown / "ours" / "secret").write_text("a secret")
    (tmp_path / "link").symlink_to(shown)
    box = agents(
        tmp_path,
        readable=(*Box(log=tmp_path).readable, tmp_path / "link"),
        bound={Path("/opt/clis/one"): shown},
        hidden=(tmp_path / "link" / "ours", tmp_path / "not-there"),
    )
    script = f"""
cat /opt/clis/one/bin/cli; echo x > /opt/clis/one/bin/cli || echo kept
for at in /opt/clis/one {shown} {tmp_path}/link; do ls -A $at/ours; touch $at/ours/x; done; true
"""
    said = said_by(sandbox, box, script)
    assert said == "a programkept\n"
    assert (shown / "bin" / "cli").read_text() == "a program"


def test_input_comes_from_memory_and_ends(sandbox: Sandbox, tmp_path: Path) -> None:
    prompt = bytes(range(256)) * 1000
    ending, said = ran(sandbox, agents(tmp_path, stdin=prompt), "/usr/bin/sha256sum")
    assert ending.exit_code == 0
    assert said.split() == [hashlib.sha256(prompt).hexdigest(), "-"]
    assert ran(sandbox, agents(tmp_path), "/usr/bin/wc", "-c")[1] == "0\n"


def test_standard_output_has_a_file_and_a_limit_of_its_own(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    box = agents(tmp_path, limits=replace(LIMITS, stdout_bytes=1000, log_bytes=10))
    ending, said = ran(sandbox, box, "/bin/bash", "-c", "seq 1 5000; seq 1 9 >&2; exit 3")
    whole = "".join(f"{number}\n" for number in range(1, 5001))
    assert said == whole[:1000]
    assert box.log.read_text() == "1\n2\n3\n4\n5\n"
    assert (ending.exit_code, ending.over_stdout, ending.over_log) == (3, len(whole) - 1000, 8)
    assert f"{len(whole) - 1000 + 8} bytes of output over the limit" in ending.sentence


CLIENT = """
import socket
with socket.create_connection(("127.0.0.1", 8123), 20) as one:
    one.sendall(b"question")
    print(one.recv(100).decode())
"""


@pytest.mark.parametrize("kind", [Bubblewrap(), Namespaces(), Bubblewrap(True), NONE])
def test_a_listener_is_handed_out(kind: Sandbox, tmp_path: Path) -> None:
    if kind.available() is not None:
        pytest.skip("it cannot be used here")
    heard: list[bytes] = []

    def answer(listener: socket.socket) -> None:
        with listener:
            one, _ = listener.accept()
            with one:
                heard.append(one.recv(100))
                one.sendall(b"answer")

    box = agents(tmp_path, listen=8123)
    with kind.start(python_command(Path("-c"), CLIENT), box) as running:
        assert running.listener is not None
        thread = threading.Thread(target=answer, args=(running.listener,), daemon=True)
        thread.start()
        ending = running.wait(LONG_S)
        thread.join(LONG_S)
    assert ending is not None
    assert ending.exit_code == 0, box.log.read_text()
    assert heard == [b"question"]
    assert (tmp_path / "stdout").read_text() == "answer\n"


def test_a_signal_goes_to_the_command_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    script = """
/bin/bash -c 'trap "echo child" TERM; sleep 60 & wait; echo child' &
trap 'echo got it; exit 9' TERM; touch ready; wait
"""
    box = agents(tmp_path)
    with sandbox.start(["/bin/bash", "-c", script], box) as running:
        place = running.places[WORKSPACE]
        waited = threading.Event()
        while place.read(PurePosixPath("ready"), 1) is None:
            assert running.running()
            waited.wait(0.01)
        running.signal(signal.SIGTERM)
        ending = running.wait(LONG_S)
        running.signal(signal.SIGTERM)
    assert ending is not None
    assert ending.exit_code == 9
    assert (tmp_path / "stdout").read_text() == "got it\n"


@pytest.mark.parametrize("kind", [Bubblewrap(), Namespaces(), Namespaces(True), NONE])
def test_places_are_seen_from_outside_before_and_after_the_end(
    kind: Sandbox, tmp_path: Path
) -> None:
    if kind.available() is not None:
        pytest.skip("it cannot be used here")
    before = traces()
    box = agents(tmp_path, files={"problem/a": b"given"}, seeds={HOME / "s": b"seed"})
    script = "echo one > /workspace/f; echo two > /tmp/g; touch /workspace/ready; sleep 60"
    with kind.start(["/bin/bash", "-c", script], box) as running:
        place = running.places[WORKSPACE]
        waited = threading.Event()
        while place.read(PurePosixPath("ready"), 1) is None:
            waited.wait(0.01)
        names = {"f", "ready", "problem/a"}
        for killed in (False, True):
            if killed:
                running.kill()
            assert set(running.places) == {WORKSPACE, HOME, SCRATCH}
            assert {str(one.path) for one in place.walk()} == names
            assert place.read(PurePosixPath("f"), 100) == b"one\n"
            assert place.read(PurePosixPath("problem/a"), 100) == b"given"
            assert running.places[HOME].read(PurePosixPath("s"), 100) == b"seed"
            assert running.places[SCRATCH].read(PurePosixPath("g"), 100) == b"two\n"
            assert place.write_new(PurePosixPath(f"note-{killed}"), b"note")
            (found,) = place.walk(below=PurePosixPath("problem"))
            assert found.bytes == 5
            assert place.read(PurePosixPath(f"note-{killed}"), 10) == b"note"
            running.places[HOME].copy(PurePosixPath("s"), tmp_path / "copy", 10)
            assert (tmp_path / "copy").read_bytes() == b"seed"
            assert not place.write_new(PurePosixPath("f"), b"again")
            names |= {f"note-{killed}"}
    assert left_over(before) == set()


BAD: dict[str, Mapping[str, object]] = {
    "a folder within another": {"writable": {WORKSPACE: MIB, WORKSPACE / "a": MIB}},
    "a folder in the scratch": {"writable": {SCRATCH / "a": MIB}},
    "a folder without room": {"writable": {WORKSPACE: 4095}},
    "a seed elsewhere": {"seeds": {Path("/etc/passwd"): b""}},
    "a seed that is a folder": {"seeds": {HOME: b""}},
    "a seed below a seed": {"seeds": {HOME / "a": b"", HOME / "a" / "b": b""}},
    "a seed among files": {"files": {"p/a": b""}, "seeds": {WORKSPACE / "p" / "b": b""}},
    "a folder that is bound over": {"bound": {HOME / "x": Path("/usr")}},
    "a path with two dots": {"bound": {Path("/opt/x"): Path("/usr/../root")}},
    "a port of root's": {"listen": 80},
    "a folder that is no path": {"folder": Path("workspace")},
    "a folder below a folder": {"folder": HOME / "work"},
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^Box\."):
        agents(tmp_path, **BAD[name])


def test_what_cannot_be_bound_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Box\.bound: /no/such does not exist"):
        sandbox.start(["/bin/true"], agents(tmp_path, bound={Path("/opt/x"): Path("/no/such")}))
    with pytest.raises(UsageError, match=r"Box\.bound: /usr/x lies within"):
        sandbox.start(["/bin/true"], agents(tmp_path, bound={Path("/usr/x"): tmp_path}))


def test_a_box_that_cannot_be_furnished_is_an_error_and_leaves_nothing(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    before = traces()
    box = agents(tmp_path, writable={WORKSPACE: 4096}, files={"a": b"x" * 10_000})
    with pytest.raises(MachineError, match="No space left"):
        sandbox.start(["/bin/true"], box)
    seeded = agents(tmp_path, seeds={HOME / "a": b"x" * (3 * MIB)})
    with pytest.raises(MachineError, match="No space left"):
        sandbox.start(["/bin/true"], seeded)
    with pytest.raises(MachineError, match="/nowhere"):
        sandbox.start(["/nowhere"], agents(tmp_path, listen=8123))
    assert processes_of_boxes() == []
    assert left_over(before) == set()


def test_interfaces_are_told_only_where_that_is_asked_for(sandbox: Sandbox, tmp_path: Path) -> None:
    program = """
import json, socket
told = {}
for name, family, protocol in (("route", 16, 0), ("audit", 16, 9), ("packet", 17, 0)):
    try: socket.socket(family, socket.SOCK_RAW, protocol).close()
    except OSError as error: told[name] = error.errno
    else: told[name] = 0
print(json.dumps(told))
"""
    command = python_command(Path("-c"), program)
    _, said = ran(sandbox, agents(tmp_path, interfaces=True), *command)
    assert json.loads(said) == {"route": 0, "audit": 97, "packet": 97}
    _, said = ran(sandbox, agents(tmp_path), *command)
    assert json.loads(said) == {"route": 97, "audit": 97, "packet": 97}


def test_without_a_sandbox_paths_are_replaced(tmp_path: Path) -> None:
    box = agents(
        tmp_path,
        files={"tool": b"#!/bin/sh\necho tool"},
        seeds={HOME / "c": b"home=/home/agent other=/home/agents"},
        bound={Path("/opt/clis/one"): Path("/usr/bin")},
        stdin=b"work in /workspace/, not in /a/workspace",
    )
    ending, said = ran(NONE, box, "/opt/clis/one/sh", "-c", "pwd; ./tool; cat $HOME/c -; exit 4")
    assert ending.exit_code == 4
    real, tool, rest = said.split("\n")
    assert tool == "tool"
    root = real.removesuffix("/workspace")
    assert rest == f"home={root}/home/agent other=/home/agentswork in {real}/, not in /a/workspace"
    assert not Path(root).exists()


IGNORES = """
import signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
from pathlib import Path
from bench.sandbox import named
from tests.bench.sandbox.test_agents_box import agents
box = agents(Path(sys.argv[2]))
with named(sys.argv[1]).start(["/bin/bash", "-c", "/bin/true; echo $?; exit 5"], box) as running:
    print(running.wait(30).exit_code)
"""


def test_a_process_that_ignores_its_children_can_have_a_box(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IGNORES, sandbox.name, str(tmp_path)],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == "5\n"
    assert (tmp_path / "stdout").read_text() == "0\n"


def test_a_starter_that_stays_is_ended(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = traces()
    with sandbox.start(["/bin/sleep", "100"], agents(tmp_path)) as running:
        assert isinstance(running, Held)
        starter = running._starter
        wait = starter.wait

        def late(seconds: float | None = None) -> int:
            if seconds is not None:
                raise subprocess.TimeoutExpired("starter", seconds)
            return wait()

        monkeypatch.setattr(starter, "wait", late)
        running.kill()
        ending = running.ended()
    assert ending is not None
    assert ending.killed
    assert left_over(before) == set()


TERMINAL = """
import os, pty, sys
child, ours = pty.fork()
if child == 0:
    os.execv("/bin/sh", ["sh", "-c", "tty; test -t 0 && stty size; ls /dev/pts"])
said = b""
while True:
    try: piece = os.read(ours, 1000)
    except OSError: break
    if not piece: break
    said += piece
os.waitpid(child, 0)
print(said.decode().replace("\\r\\n", " ").strip())
held = []
try:
    while len(held) < 1000: held.append(os.openpty())
except OSError: pass
print(len(held))
"""


def test_terminals_are_its_own_and_counted(sandbox: Sandbox, tmp_path: Path) -> None:
    command = python_command(Path("-c"), TERMINAL)
    box = agents(tmp_path, terminals=True)
    ending, said = ran(sandbox, box, *command)
    assert ending.exit_code == 0, box.log.read_text()
    assert said.split("\n") == ["/dev/pts/0 0 0 0  ptmx", "63", ""]
    assert sandbox.gives_terminals
    ending, _ = ran(sandbox, agents(tmp_path), *command)
    assert ending.exit_code == 1, "there are none where nobody asked for some"


@pytest.mark.parametrize("kind", [Bubblewrap(new_user=True), Namespaces(new_user=True)])
def test_a_box_of_the_caller_has_no_terminals_and_runs(kind: Sandbox, tmp_path: Path) -> None:
    if kind.available() is not None:
        pytest.skip("it cannot be used here")
    said = said_by(kind, agents(tmp_path, terminals=True), "test -e /dev/ptmx || echo none")
    assert said == "none\n"
    assert not kind.gives_terminals
