"""A script in an agent's box that wants out, wants more, or wants to stay: one test for each."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from bench.sandbox.box import SCRATCH, Box, Sandbox
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.place import Place
from bench.sandbox.plan import python_command
from tests.bench.sandbox.boxes import LONG_S, MIB, WALLED_IN, processes_of_boxes
from tests.bench.sandbox.test_agents_box import HOME, WORKSPACE, agents, ran

PORT = 8000
# As root a box has a user of its own; for others it has the caller's, which claims one level less.
KINDS: dict[str, Sandbox] = {
    "bubblewrap": Bubblewrap(),
    "namespaces": Namespaces(),
    "bubblewrap of the caller": Bubblewrap(new_user=True),
    "namespaces of the caller": Namespaces(new_user=True),
}


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that can be used here, in each way; in CI none of the first two is missing."""
    found = KINDS[request.param]
    reason = found.available()
    if reason is not None:
        assert not (os.environ.get("CI") and request.param in ("bubblewrap", "namespaces")), reason
        pytest.skip(reason)
    return found


# Attempts are named; each that gets somewhere without an error is told.
HOSTILE = """
import ctypes, errno, json, os, signal, socket, sys
got = {}
def attempt(name, work):
    try: found = work()
    except (OSError, ValueError, EOFError): return
    got[name] = str(found)[:200]
def read(path):
    with open(path, "rb") as stream: return stream.read(100)
libc = ctypes.CDLL(None, use_errno=True)
def call(done):
    if done < 0: raise OSError(ctypes.get_errno(), "refused")
    return done
"""


def hostile(sandbox: Sandbox, box: Box, program: str, *arguments: str) -> dict[str, str]:
    """What a program got hold of, as it says at its end."""
    program = WALLED_IN + HOSTILE + program + "\nprint(json.dumps(got))"
    command = python_command(Path("-c"), program, *arguments)
    ending, said = ran(sandbox, box, *command)
    assert ending.exit_code == 0, box.log.read_text()
    got: dict[str, str] = json.loads(said.splitlines()[-1])
    return got


def test_it_cannot_read_the_hosts_home_other_runs_or_the_grader(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    other = tmp_path / "runs" / "board" / "another-run"
    other.mkdir(parents=True)
    (other / "canary-of-this-test").write_text("another run")
    checkout = Path(__file__).parents[3]
    program = """
home, checkout, other = sys.argv[1:]
for path in (home + "/.profile", home + "/.bashrc", home + "/.ssh/id_rsa", "/etc/shadow",
             checkout + "/bench/grading/grade.py", checkout + "/src/kbsite/errors.py",
             checkout + "/problems", other, "/proc/1/root/etc/shadow",
             "/proc/self/cwd/../.." + other, "/old_root", "/.host", "/var", "/mnt", "/srv"):
    attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else read(path))
for above, folders, files in os.walk("/"):
    folders[:] = [one for one in folders if (above, one) not in
                  {("/", "proc"), ("/", "sys"), ("/", "usr"), ("/", "lib")}]
    for one in files:
        if one in ("canary-of-this-test", "grade.py", "kbsite.yaml"): got[above] = one
"""
    got = hostile(sandbox, agents(tmp_path), program, str(Path.home()), str(checkout), str(other))
    assert got == {}


def test_it_cannot_read_the_keys_of_the_supervisor(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"sk-planted-{os.getpid()}-by-this-test"
    monkeypatch.setenv("PLANTED_API_KEY", key)
    program = """
key = "".join(map(chr, json.loads(sys.argv[1]))).encode()
if any(key.decode() in value for value in os.environ.values()): got["environment"] = "own"
for process in [one for one in os.listdir("/proc") if one.isdigit()] + ["self", "1"]:
    for name in ("environ", "cmdline", "maps", "mem", "fd", "cwd", "root"):
        path = f"/proc/{process}/{name}"
        def look():
            if os.path.isdir(path): return [os.readlink(path + "/" + n) for n in os.listdir(path)]
            found = open(path, "rb").read()
            if key in found: return "the key"
            raise OSError
        if process not in (str(os.getpid()), "self"): attempt(path, look)
attempt("mem of 1", lambda: os.open("/proc/1/mem", os.O_RDONLY))
for number in range(3, 1000):
    attempt(f"open file {number}", lambda: os.readlink(f"/proc/self/fd/{number}") if
            os.path.exists(f"/proc/self/fd/{number}") else read("/nowhere"))
"""
    # What is looked for is not to be found in the looker's own command line.
    spelt = json.dumps([ord(letter) for letter in key])
    got = hostile(sandbox, agents(tmp_path), program, spelt)
    # The kernel tells anybody what command line process 1 has: it holds no secret.
    assert got == {}


@contextmanager
def host_listens(folder: Path) -> Iterator[dict[str, object]]:
    """Sockets of the host that nobody in a box may reach, and where they are."""
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        named = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        named.bind(f"\0kbsite-test-{os.getpid()}")
        named.listen()
        by_path = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        by_path.bind(str(folder / "socket"))
        by_path.listen()
        (folder / "socket").chmod(0o777)
        asked: dict[str, object] = {
            "tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1],
            "abstract": f"kbsite-test-{os.getpid()}", "path": str(folder / "socket"),
        }  # fmt: skip
        if socket.has_ipv6:
            six = stack.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_STREAM))
            try:
                six.bind(("::1", 0))
                six.listen()
                asked["six"] = six.getsockname()[1]
            except OSError:
                # A machine without IPv6 has nobody to reach by it.
                asked["six"] = 1
        yield asked
        with pytest.raises(BlockingIOError):
            udp.recv(100)
        tcp.setblocking(False)
        with pytest.raises(BlockingIOError):
            tcp.accept()


REACHES = """
asked = json.loads(sys.argv[1])
def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(3)
        one.connect(address)
        return "connected"
def send(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.settimeout(3)
        one.connect(address)
        one.send(b"out")
        one.recv(10)
        return "answered"
v4, v6, unix = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX
for address in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "10.0.2.2", "169.254.169.254", "192.0.2.1"):
    attempt(f"tcp {address}", lambda: connect(v4, (address, asked["tcp"])))
    attempt(f"udp {address}", lambda: send(v4, (address, asked["udp"])))
    attempt(f"dns {address}", lambda: send(v4, (address, 53)))
    attempt(f"ssh {address}", lambda: connect(v4, (address, 22)))
for address in ("::1", "::ffff:127.0.0.1", "fe80::1", "2001:db8::1"):
    attempt(f"tcp {address}", lambda: connect(v6, (address, asked["six"])))
    attempt(f"tcp {address} of IPv4", lambda: connect(v6, (address, asked["tcp"])))
    attempt(f"udp {address}", lambda: send(v6, (address, asked["udp"])))
attempt("abstract", lambda: connect(unix, "\\0" + asked["abstract"]))
attempt("path", lambda: connect(unix, asked["path"]))
for name in ("example.com", "localhost.localdomain", "metadata.google.internal"):
    attempt(f"name {name}", lambda: socket.getaddrinfo(name, 80))
for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
    attempt(f"ping {kind}", lambda: socket.socket(v4, kind, 1).sendto(bytes(8), ("127.0.0.1", 0)))
def route():
    one = socket.socket(16, socket.SOCK_RAW, 0)
    # RTM_NEWROUTE: a default route over lo.
    body = bytes([2, 0, 0, 0, 254, 3, 0, 1]) + bytes(4) + bytes([8, 0, 4, 0, 1, 0, 0, 0])
    one.send((16 + len(body)).to_bytes(4, "little") + (24).to_bytes(2, "little")
             + (0x605).to_bytes(2, "little") + bytes(8) + body)
    answer = one.recv(1000)
    failed = -int.from_bytes(answer[16:20], "little", signed=True)
    if failed == errno.EPERM: raise OSError(failed, "refused")
    return f"a new route, or {failed}"
attempt("route", route)
def instead():
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.bind(("127.0.0.1", 8000))
        one.listen()
        return "listens instead of the proxy"
attempt("instead", instead)
connect(v4, ("127.0.0.1", 8000))
"""


def test_it_reaches_nobody_but_the_listener(sandbox: Sandbox, tmp_path: Path) -> None:
    box = agents(tmp_path, listen=PORT, interfaces=True)
    program = WALLED_IN + HOSTILE + REACHES + "\nprint(json.dumps(got))"
    with host_listens(tmp_path) as asked:
        command = python_command(Path("-c"), program, json.dumps(asked))
        with sandbox.start(command, box) as running:
            assert running.listener is not None
            with running.listener as listener:
                ending = running.wait(LONG_S)
                listener.setblocking(False)
                listener.accept()[0].close()
                with pytest.raises(BlockingIOError):
                    listener.accept()
    assert ending is not None
    assert ending.exit_code == 0, box.log.read_text()
    assert json.loads((tmp_path / "stdout").read_text()) == {}


def test_it_can_neither_see_nor_signal_processes_of_the_host(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    program = """
host = [int(word) for word in sys.argv[1:]]
seen = [int(one) for one in os.listdir("/proc") if one.isdigit()]
if set(seen) - {1, os.getpid()}: got["processes"] = seen
for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
    # Who has the same user may send it, and nothing comes of it: the kernel shields process 1.
    try: os.kill(1, number)
    except OSError: pass
for pid in host:
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        attempt(f"kill {pid} {number}", lambda: os.kill(pid, number))
        attempt(f"killpg {pid} {number}", lambda: os.killpg(pid, number))
    attempt(f"ptrace {pid}", lambda: call(libc.ptrace(16, pid, 0, 0)))
    attempt(f"priority {pid}", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    attempt(f"affinity {pid}", lambda: os.sched_setaffinity(pid, {0}))
    attempt(f"limits {pid}", lambda: __import__("resource").prlimit(pid, 7, (1, 1)))
    attempt(f"handle {pid}", lambda: os.pidfd_open(pid))
    attempt(f"folder {pid}", lambda: os.listdir(f"/proc/{pid}"))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
attempt("kill all", lambda: os.kill(-1, signal.SIGTERM))
"""
    with subprocess.Popen(["/bin/sleep", "100"]) as victim:
        try:
            got = hostile(sandbox, agents(tmp_path), program, str(victim.pid), str(os.getpid()))
            assert victim.poll() is None
            assert os.sched_getaffinity(victim.pid) == os.sched_getaffinity(0)
        finally:
            victim.kill()
    assert got == {}


def test_harm_to_process_1_ends_the_box_and_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    program = """
import resource, time
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_DATA):
    attempt(limit, lambda: resource.prlimit(1, limit, (1, 1)))
attempt("cpu", lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)))
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    time.sleep(0.05)
os._exit(7)
"""
    command = python_command(Path("-c"), WALLED_IN + HOSTILE + program)
    with sandbox.start(command, agents(tmp_path)) as running:
        ending = running.wait(LONG_S)
        assert ending is not None
        assert ending.exit_code == 7 or ending.killed
    assert processes_of_boxes() == []


DAEMON = """
import os, signal, sys, time
for number in signal.valid_signals():
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def beat(name):
    while True:
        with open("/workspace/beats-" + name, "a") as stream: stream.write(".")
        time.sleep(0.005)
def daemon(name):
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    for number in range(3): os.close(number)
    if name == "again":
        while os.fork() == 0:
            # Each hands over to a child and ends, so that no process of these is ever old.
            with open("/workspace/beats-again", "a") as stream: stream.write(".")
            time.sleep(0.005)
        os._exit(0)
    beat(name)
daemon("first"); daemon("again")
def there(name): return os.path.exists("/workspace/beats-" + name)
while not (there("first") and there("again")): time.sleep(0.005)
open("/workspace/ready", "w").close()
if sys.argv[1] == "stays": beat("own")
"""


@pytest.mark.parametrize("how", ["ends", "stays"])
def test_it_does_not_survive_the_end_of_the_run(sandbox: Sandbox, tmp_path: Path, how: str) -> None:
    program = WALLED_IN + DAEMON
    with sandbox.start(python_command(Path("-c"), program, how), agents(tmp_path)) as running:
        place = running.places[WORKSPACE]
        if how == "ends":
            ending = running.wait(LONG_S)
            assert ending is not None
            assert ending.exit_code == 0, (tmp_path / "stderr").read_text()
        else:
            wait_for(place, "ready")
            running.signal(signal.SIGTERM)
            assert running.wait(0.1) is None
            running.kill()
        assert processes_of_boxes() == []
        beats = {one.path: one.bytes for one in place.walk()}
        assert len(beats) == (3 if how == "ends" else 4)
        threading.Event().wait(0.1)
        assert {one.path: one.bytes for one in place.walk()} == beats


SUPERVISOR = """
import sys, time
from pathlib import Path
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.namespaces import Namespaces
from bench.sandbox.plan import python_command
from tests.bench.sandbox.boxes import WALLED_IN
from tests.bench.sandbox.test_agents_box import WORKSPACE, agents
from tests.bench.sandbox.test_hostile_agents import DAEMON, wait_for
kind = {"bubblewrap": Bubblewrap, "namespaces": Namespaces}[sys.argv[1]](sys.argv[2] == "True")
box = agents(Path(sys.argv[3]), listen=8000)
held = kind.start(python_command(Path("-c"), WALLED_IN + DAEMON, "stays"), box)
wait_for(held.places[WORKSPACE], "ready")
print(held.init, flush=True)
time.sleep(100)
"""


def test_it_does_not_survive_its_supervisor(sandbox: Sandbox, tmp_path: Path) -> None:
    assert isinstance(sandbox, Bubblewrap | Namespaces)
    words = (sandbox.name, str(sandbox.new_user), str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, *words],
        stdout=subprocess.PIPE, cwd=Path(__file__).parents[3],
    ) as supervisor:  # fmt: skip
        assert supervisor.stdout is not None
        init = int(supervisor.stdout.readline())
        inside = namespace_of(Path("/proc", str(init)))
        supervisor.kill()
        supervisor.wait()
        waited = threading.Event()
        for _ in range(int(LONG_S * 20)):
            left = [one for one in Path("/proc").glob("[0-9]*") if namespace_of(one) == inside]
            if not left:
                break
            waited.wait(0.05)
    assert left == []


def namespace_of(process: Path) -> str:
    """The PID namespace of a process; nothing where it ended."""
    try:
        return str((process / "ns" / "pid").readlink())
    except OSError:
        return ""


def wait_for(place: Place, name: str) -> None:
    """Wait until a file is there."""
    waited = threading.Event()
    for _ in range(int(LONG_S * 100)):
        if place.read(PurePosixPath(name), 1) is not None:
            return
        waited.wait(0.01)
    pytest.fail(f"{name} did not appear")


FILLS = """
folder = sys.argv[1]
deep, depth = folder, 0
def bytes_():
    count = 0
    for number in range(40):
        with open(f"{folder}/big{number}", "wb", buffering=0) as stream:
            for _ in range(2): count += stream.write(bytes(1 << 20))
    return count
def sparse():
    with open(folder + "/sparse", "wb") as stream: stream.truncate(1 << 40)
def holes():
    number = os.open(folder + "/holes", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(number, 0, 1 << 33)
def many():
    for number in range(100_000): os.close(os.open(f"{folder}/f{number}", os.O_CREAT))
def links():
    for number in range(100_000): os.symlink("x" * 4000, f"{folder}/l{number}")
def nested():
    at = folder
    for _ in range(100_000):
        os.mkdir("d"); os.chdir("d")
os.chdir(folder)
for work in (sparse, holes, bytes_, many, links, nested): attempt(work.__name__, work)
"""


@pytest.mark.parametrize("folder", [WORKSPACE, HOME, SCRATCH])
def test_it_cannot_fill_a_folder_beyond_its_limit(
    sandbox: Sandbox, tmp_path: Path, folder: Path
) -> None:
    box = agents(tmp_path)
    most = box.writable.get(folder, box.limits.scratch_bytes)
    program = WALLED_IN + HOSTILE + FILLS + "\nprint(json.dumps(got))"
    with sandbox.start(python_command(Path("-c"), program, str(folder)), box) as running:
        ending = running.wait(LONG_S)
        assert ending is not None
        assert ending.exit_code == 0, box.log.read_text()
        assert json.loads((tmp_path / "stdout").read_text()) == {}
        place = running.places[folder]
        used = os.statvfs(place._number)
        assert used.f_blocks * used.f_frsize == most
        assert used.f_files == most // 4096
        assert not place.write_new(PurePosixPath("note"), b"x" * 10_000)
        found = list(place.walk())
        assert len(found) <= most // 4096
        assert max(one.bytes for one in found) <= 8 * MIB
        others = set(running.places) - {folder}
        assert all(running.places[one].write_new(PurePosixPath("n"), b"x") for one in others)


def test_it_cannot_fill_the_disk_by_what_it_prints(sandbox: Sandbox, tmp_path: Path) -> None:
    program = """
piece = b"x" * (1 << 16)
for _ in range(400):
    os.write(1, piece)
    os.write(2, piece)
for name in ("stdout", "stderr"):
    attempt("truncate " + name, lambda: os.truncate("/dev/" + name, 1 << 30))
    attempt("seek " + name, lambda: os.lseek(1, 1 << 30, 0))
os._exit(len(got))
"""
    box = agents(tmp_path)
    with sandbox.start(python_command(Path("-c"), WALLED_IN + HOSTILE + program), box) as running:
        ending = running.wait(LONG_S)
    assert ending is not None
    assert ending.exit_code == 0
    assert (tmp_path / "stdout").stat().st_size == box.limits.stdout_bytes
    assert (tmp_path / "stderr").stat().st_size == box.limits.log_bytes
    assert ending.over_stdout == 400 * 65536 - box.limits.stdout_bytes
    assert ending.over_log == 400 * 65536 - box.limits.log_bytes


CHANGES = """
import shutil, subprocess
given, above = "/workspace/problem/reference.py", "/workspace/problem"
os.mkdir("own"); open("own/reference.py", "w").write("changed"); open("file", "w").write("changed")
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND):
    attempt(f"open {flags}", lambda: os.open(given, flags))
    attempt(f"open again {flags}", lambda: os.open(f"/proc/self/fd/{os.open(given, 0)}", flags))
    attempt(f"open elsewhere {flags}", lambda: os.open("/proc/self/root" + given, flags))
attempt("truncate", lambda: os.truncate(given, 0))
attempt("rename over", lambda: os.rename("file", given))
attempt("rename away", lambda: os.rename(given, above + "/away"))
attempt("rename its folder", lambda: os.rename(above, "moved"))
attempt("exchange its folder",
        lambda: call(libc.renameat2(-100, above.encode(), -100, b"/workspace/own", 2)))
attempt("exchange a tool", lambda: call(libc.renameat2(-100, b"tool", -100, b"file", 2)))
attempt("unlink", lambda: os.unlink(given))
attempt("unlink a tool", lambda: os.unlink("tool"))
attempt("remove its folder", lambda: os.rmdir(above))
attempt("link over", lambda: os.link("file", given))
attempt("link away", lambda: os.link(given, "hard"))
attempt("symlink over", lambda: os.symlink("/workspace/file", given))
for mode in (0o777, 0o200):
    attempt("chmod", lambda: os.chmod(given, mode))
    attempt("chmod its folder", lambda: os.chmod(above, mode))
attempt("chown", lambda: os.chown(given, os.getuid(), os.getgid()))
attempt("time", lambda: os.utime(given, (0, 0)))
attempt("attribute", lambda: os.setxattr(given, "user.x", b"x"))
attempt("mount", lambda: call(libc.mount(b"/workspace/own", above.encode(), None, 4096, None)))
attempt("remount", lambda: call(libc.mount(b"none", above.encode(), None, 32 | 4096, None)))
attempt("unmount", lambda: call(libc.umount2(above.encode(), 2)))
attempt("namespaces", lambda: call(libc.unshare(0x10020000)))
attempt("map", lambda: __import__("mmap").mmap(os.open(given, 0), 0))
attempt("map and protect", lambda: __import__("mmap").mmap(os.open(given, 0), 0, prot=3, flags=1))
if shutil.which("unshare"):
    script = "mount --bind /workspace/own /workspace/problem"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True)
    if done.returncode == 0: got["unshare"] = "done"
attempt("rename the workspace", lambda: os.rename("/workspace", "/workspace2"))
got.pop("map", None)
got["inside"] = read(given).decode() + read("tool").decode()
"""


def test_it_cannot_change_given_files_unnoticed(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {"problem/reference.py": b"given", "tool": b"#!/bin/sh\n"}
    box = agents(tmp_path, files=files)
    program = WALLED_IN + HOSTILE + CHANGES + "\nprint(json.dumps(got), flush=True)\n"
    command = python_command(Path("-c"), program + "import time; time.sleep(100)")
    with sandbox.start(command, box) as running:
        place = running.places[WORKSPACE]
        waited = threading.Event()
        for _ in range(int(LONG_S * 100)):
            if (tmp_path / "stdout").read_text().endswith("}\n") or not running.running():
                break
            waited.wait(0.01)
        assert running.running(), box.log.read_text()
        assert json.loads((tmp_path / "stdout").read_text()) == {"inside": "given#!/bin/sh\n"}
        for _ in ("while it runs", "and afterwards"):
            assert place.read(PurePosixPath("problem/reference.py"), 100) == b"given"
            assert place.read(PurePosixPath("tool"), 100) == b"#!/bin/sh\n"
            assert [str(one.path) for one in place.walk(below=PurePosixPath("problem"))] == [
                "problem/reference.py"
            ]
            running.kill()


def test_it_cannot_write_beside_its_folders(sandbox: Sandbox, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "cli").mkdir(mode=0o777)
    (tmp_path / "cli").chmod(0o777)
    program = """
def make(path):
    with open(path, "w") as stream: stream.write("x")
    return path
for folder, below, _ in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/usr", "/workspace", "/home/agent", "/tmp")):
        below.clear()
    else:
        attempt(folder, lambda: make(folder + "/mine"))
for path in ("/home/mine", "/.enter.py", "/opt/clis/one/mine", "/etc/passwd", "/usr/mine",
             "/sys/devices/system/cpu/mine"):
    attempt(path, lambda: make(path))
# Settings of the kernel are opened, and never written, for the day on which that succeeds.
for above, folders, files in os.walk("/proc"):
    # Anybody may ask to be told of pressure; the number is that of its own namespace.
    skipped = ("self", "thread-self", "pressure", "net", "irq")
    folders[:] = [one for one in folders if not one.isdigit() and one not in skipped]
    for one in set(files) - {"ns_last_pid"}:
        attempt(above + "/" + one, lambda: os.close(os.open(above + "/" + one, os.O_WRONLY)))
attempt("read again", lambda: call(libc.mount(b"none", b"/opt/clis/one", None, 32 | 4096, None)))
"""
    box = agents(tmp_path, bound={Path("/opt/clis/one"): tmp_path / "cli"})
    assert hostile(sandbox, box, program) == {}
    assert list((tmp_path / "cli").iterdir()) == []


LOOKS_BESIDE = """
attempt("secret", lambda: read("/home/agent/secret"))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", 8000), 3))
attempt("signal all", lambda: os.kill(-1, 0))
if sorted(one for one in os.listdir("/proc") if one.isdigit()) != ["1", str(os.getpid())]:
    got["processes"] = os.listdir("/proc")
print(json.dumps(got))
"""


def test_it_sees_nothing_of_another_run_at_the_same_time(sandbox: Sandbox, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    box = agents(first, seeds={HOME / "secret": b"of the first"}, listen=PORT)
    with sandbox.start(["/bin/sleep", "100"], box) as running:
        assert running.listener is not None
        with running.listener as listener:
            command = python_command(Path("-c"), WALLED_IN + HOSTILE + LOOKS_BESIDE)
            with sandbox.start(command, agents(second)) as beside:
                ending = beside.wait(LONG_S)
            assert ending is not None
            assert ending.exit_code == 0, (second / "stderr").read_text()
            assert json.loads((second / "stdout").read_text()) == {}
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
        assert running.running()


def test_its_memory_counts_what_lies_in_its_folders(sandbox: Sandbox, tmp_path: Path) -> None:
    limits = replace(agents(tmp_path).limits, memory_bytes=48 * MIB)
    box = agents(tmp_path, limits=limits, writable={WORKSPACE: 256 * MIB, HOME: 4096})
    program = WALLED_IN + "import time\n" + (
        "with open('big', 'wb') as stream:\n"
        "    for _ in range(100): stream.write(bytes(1 << 20)); stream.flush()\n"
        "time.sleep(100)"
    )  # fmt: skip
    with sandbox.start(python_command(Path("-c"), program), box) as running:
        if running.facts["memory"] != "control group":
            # Elsewhere the folders' own sizes are all that limits them; docs/sandbox.md says so.
            assert running.wait(0.3) is None
            return
        ending = running.wait(LONG_S)
    assert ending is not None
    assert ending.over_memory
