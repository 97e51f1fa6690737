"""Programs that want out, want more, or want to stay: each ends clearly and leaves nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.sandbox.box import Limits, Sandbox
from bench.sandbox.processes import family
from tests.bench.sandbox.boxes import LIMITS, MIB, outcome, sandbox, started, user_of_box, works

__all__ = ["sandbox"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_program_that_loops_for_ever_is_killed(sandbox: Sandbox, log: Path) -> None:
    with started(sandbox, log, "print('here', flush=True)\nwhile True: pass") as running:
        assert running.wait(0.3) is None
        assert running.running()
        running.kill()
        ending = running.ended()
    assert ending is not None
    assert (ending.killed, ending.exit_code, ending.signal) == (True, None, None)
    assert ending.sentence == "it was killed while it ran"
    assert works(sandbox, log)


def test_a_program_that_ignores_signals_is_killed(sandbox: Sandbox, log: Path) -> None:
    program = """
import signal, time
for number in signal.valid_signals():
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("deaf", flush=True)
time.sleep(100)
"""
    with started(sandbox, log, program) as running:
        running.wait(0.3)
    assert running.ended() is not None
    assert log.read_text() == "deaf\n"


def test_a_fork_bomb_stays_within_its_limit_and_dies_with_the_box(
    sandbox: Sandbox, log: Path
) -> None:
    program = """
while True:
    try: os.fork()
    except OSError: pass
"""
    with started(sandbox, log, program) as running:
        assert running.wait(1.0) is None
        assert 1 < len(family(running.pid)) <= LIMITS.processes
        assert subprocess.run(["/bin/true"], check=False).returncode == 0, "the host still forks"
    assert works(sandbox, log)


def test_a_fork_bomb_counts_its_children(sandbox: Sandbox, log: Path) -> None:
    program = """
import time
count = 0
try:
    while count < 200:
        if os.fork() == 0: time.sleep(50)
        count += 1
except BlockingIOError as error:
    print(count, error.errno)
"""
    found = outcome(sandbox, log, program)
    assert found.said == f"{LIMITS.processes - 1} 11"
    assert found.ending.exit_code == 0


def test_threads_count_as_processes(sandbox: Sandbox, log: Path) -> None:
    program = """
import threading, time
count = 0
try:
    while count < 200:
        threading.Thread(target=time.sleep, args=(50,), daemon=True).start()
        count += 1
except RuntimeError:
    print(count, flush=True)
    os._exit(0)
"""
    assert outcome(sandbox, log, program).said == str(LIMITS.processes - 1)


EATERS = {
    "the heap": "held = []\nwhile True: held.append(bytearray(16 << 20))",
    "shared memory": (
        "import mmap\nheld = []\nwhile True:\n"
        "    held.append(mmap.mmap(-1, 16 << 20))\n    held[-1].write(bytes(16 << 20))"
    ),
    "children": (
        "import time\nfor _ in range(8):\n    if os.fork() == 0: break\n"
        "held = bytearray(48 << 20)\ntime.sleep(50)"
    ),
}


@pytest.mark.parametrize("eater", EATERS)
def test_a_program_that_eats_memory_is_killed(sandbox: Sandbox, log: Path, eater: str) -> None:
    found = outcome(sandbox, log, EATERS[eater])
    assert found.ending.over_memory
    assert "more memory" in found.ending.sentence


def test_a_program_that_prints_a_gigabyte_is_let_be(sandbox: Sandbox, log: Path) -> None:
    program = """
piece = b"x" * (1 << 20)
for _ in range(1024): os.write(1, piece)
"""
    found = outcome(sandbox, log, program)
    assert found.ending.exit_code == 0
    assert log.stat().st_size == 0, "the log is that of the start that followed"
    assert found.ending.over_log == 1024 * MIB - LIMITS.log_bytes
    assert len(found.said) == LIMITS.log_bytes


def test_a_program_that_kills_all_it_can_harms_itself_only(sandbox: Sandbox, log: Path) -> None:
    program = f"""
import signal, subprocess
for target in (-1, 1, os.getppid(), {os.getpid()}):
    try: os.kill(target, signal.SIGKILL)
    except OSError as error: print(target, error.errno, flush=True)
subprocess.run(["/usr/bin/pkill", "-9", "python"], check=False)
print("still here", flush=True)
"""
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        found = outcome(sandbox, log, program)
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
    assert "1 1" in found.said.splitlines(), "process 1 may not be signalled"
    assert f"{os.getpid()} 3" in found.said.splitlines(), "the parent does not exist in there"
    assert found.ending.signal in {None, signal.SIGKILL}


def test_signals_to_the_group_stay_inside(sandbox: Sandbox, log: Path) -> None:
    program = "import signal\nos.kill(0, signal.SIGTERM)"
    found = outcome(sandbox, log, program)
    assert found.ending.signal == signal.SIGTERM
    assert found.ending.sentence == "it was ended by signal SIGTERM"


def test_a_program_that_leaves_at_once_has_left(sandbox: Sandbox, log: Path) -> None:
    found = outcome(sandbox, log, "os._exit(0)")
    assert found.ending.exit_code == 0
    assert found.said == ""


def test_a_daemon_ends_with_its_command(sandbox: Sandbox, log: Path) -> None:
    program = """
import time
there, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getppid() != 1, flush=True)
        os.write(tell, b"x")
        time.sleep(100)
    os._exit(0)
os.read(there, 1)
"""
    found = outcome(sandbox, log, program)
    assert found.said.startswith("daemon")
    assert found.ending.exit_code == 0


def test_nothing_outside_of_the_scratch_can_be_written(sandbox: Sandbox, log: Path) -> None:
    own = log.parent / "own"
    own.write_text("of the host")
    program = f"""
from pathlib import Path
places = ["/x", "/usr/x", "/etc/passwd", "/etc/ld.so.cache", "/box/x", "/box/given", "/dev/x",
          "/root/x", "/home/x", "/var/x", {str(own)!r}, {sys.prefix!r} + "/x", "/lib/x", "/bin/x",
          {str(Path(__file__).parent)!r} + "/x", "/proc/sys/kernel/hostname", "/sys/x",
          "/proc/sysrq-trigger", "/proc/1/oom_score_adj"]
for place in places:
    try: Path(place).write_text("x")
    except OSError: continue
    print("written:", place)
for name in ("given", "../box/given"):
    for act in (os.unlink, os.rmdir, lambda path: os.rename(path, "y"),
                lambda path: os.chmod(path, 0o777), lambda path: os.truncate(path, 0),
                lambda path: os.link(path, "/tmp/y"), lambda path: os.utime(path)):
        try: act(name)
        except OSError: continue
        print("done:", act)
Path("/tmp/fine").write_text("x")
Path("/dev/shm/fine").write_text("x")
print(Path("given").read_text())
"""
    found = outcome(sandbox, log, program, files={"given": b"as it was"})
    assert found.said == "as it was"
    assert own.read_text() == "of the host"


def test_a_full_scratch_is_an_error_inside_and_nothing_outside(sandbox: Sandbox, log: Path) -> None:
    program = """
def fill(path):
    try:
        with open(path, "wb", buffering=0) as stream:
            while True: stream.write(bytes(1 << 16))
    except OSError as error:
        return error.errno
import errno
print(errno.ENOSPC in {fill("/tmp/a"), fill("/dev/shm/b")})
total = sum(os.path.getsize(path) for path in ("/tmp/a", "/dev/shm/b"))
print(total)
"""
    allowed, total = outcome(sandbox, log, program).said.split()
    assert allowed == "True"
    assert int(total) <= LIMITS.scratch_bytes


def test_no_socket_leads_out(sandbox: Sandbox, log: Path) -> None:
    name = f"kbsite-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as at_path,
    ):
        abstract.bind("\0" + name)
        abstract.listen()
        at_path.bind(str(log.parent / "socket"))
        at_path.listen()
        program = f"""
import socket
for address in (("127.0.0.1", {listener.getsockname()[1]}), ("8.8.8.8", 53),
                ("169.254.169.254", 80),
                chr(0) + {name!r}, {str(log.parent / "socket")!r}, "/run/docker.sock"):
    one = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    one.settimeout(5)
    try: one.connect(address)
    except OSError: continue
    print("connected:", address)
for family in (16, 17, 38, 40, 44):
    try: socket.socket(family, socket.SOCK_RAW)
    except OSError: continue
    print("family:", family)
print(sorted(os.listdir("/sys/class/net")) if os.path.exists("/sys/class/net") else "none")
"""
        found = outcome(sandbox, log, program)
        for one in (listener, abstract, at_path):
            one.settimeout(0)
            with pytest.raises(BlockingIOError):
                one.accept()
    assert found.said == "none"


def test_nothing_beside_the_box_can_be_read(sandbox: Sandbox, log: Path) -> None:
    canary = log.parent / "canary"
    canary.write_text("a secret")
    canary.chmod(0o666)
    program = f"""
places = [{str(canary)!r}, {str(Path(__file__))!r}, "/etc/shadow", "/etc/hostname",
          "/proc/1/root/etc/passwd", "/proc/1/environ", "/proc/1/maps", "/proc/1/mem",
          "/proc/1/fd/0", "/proc/{os.getpid()}/environ", "/proc/{os.getpid()}/mem",
          "/proc/{os.getpid()}/root" + {str(canary)!r}, "/proc/1/cwd" + {str(canary)!r},
          "/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/run",
          "/var", "/home", "/mnt", "/proc/self/root/.host", "/.host", "/oldroot", "/newroot"]
for place in places:
    try:
        found = os.listdir(place) if os.path.isdir(place) else open(place, "rb").read(10)
    except OSError: continue
    print("read:", place, found)
print("SECRET" in os.environ)
"""
    os.environ["SECRET"] = "of the parent"
    try:
        found = outcome(sandbox, log, program)
    finally:
        del os.environ["SECRET"]
    assert found.said == "False"


def test_only_what_is_passed_is_open(sandbox: Sandbox, log: Path) -> None:
    (log.parent / "open").write_text("of the host")
    with (log.parent / "open").open() as stream:
        os.set_inheritable(stream.fileno(), True)
        reading, writing = os.pipe()
        os.write(writing, b"passed")
        program = f"""
found = []
for number in range(3, 4096):
    try: os.fstat(number)
    except OSError: continue
    found.append(number)
print(found == [{reading}], os.read({reading}, 100), os.fstat(0).st_rdev == os.makedev(1, 3))
"""
        found = outcome(sandbox, log, program, pass_fds=(reading,))
        os.close(reading)
        os.close(writing)
    assert found.said == "True b'passed' True"


def test_processes_cannot_be_traced_nor_rights_regained(sandbox: Sandbox, log: Path) -> None:
    program = """
import ctypes, subprocess, time
libc = ctypes.CDLL(None, use_errno=True)
child = subprocess.Popen(["/bin/sleep", "5"])
for name, found in (("attach", libc.ptrace(16, child.pid, 0, 0)),
              ("trace me", libc.ptrace(0, 0, 0, 0)),
              ("read memory", libc.process_vm_readv(child.pid, 0, 0, 0, 0, 0)),
              ("a user of its own", libc.unshare(0x10000000)),
              ("root", libc.setuid(0)), ("groups", libc.setgroups(0, 0)),
              ("a mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
              ("a mount anew", libc.mount(b"none", b"/box", None, 32 | 4096, None)),
              ("an end of a mount", libc.umount2(b"/usr", 2)),
              ("a root", libc.chroot(b"/tmp")),
              ("another root", libc.pivot_root(b"/tmp", b"/tmp")),
              ("a node", libc.mknod(b"/tmp/node", 0o60666, 0xfe00)),
              ("a host name", libc.sethostname(b"x", 1))):
    if found != -1: print("done:", name)
print("over")
"""
    assert outcome(sandbox, log, program).said == "over"


def test_programs_that_become_root_do_not(sandbox: Sandbox, log: Path) -> None:
    program = """
import subprocess
found = []
for folder in ("/usr/bin", "/usr/sbin", "/usr/lib"):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.stat(path).st_mode & 0o6000: found.append(path)
flags = {path: os.statvfs(path).f_flag & os.ST_NOSUID for path in found}
print(all(flags.values()))
own = "/tmp/own"
open(own, "w").write("#!/bin/sh\\nid -u\\n")
os.chmod(own, 0o6755)
print(subprocess.run([own], capture_output=True, text=True).stdout.strip() == str(os.getuid()))
print(os.getuid() not in (0, 1000))
"""
    assert outcome(sandbox, log, program).said.split() == ["True"] * 3


def test_links_inside_lead_nowhere_outside(sandbox: Sandbox, log: Path) -> None:
    canary = log.parent / "canary"
    canary.write_text("a secret")
    program = f"""
os.symlink({str(canary)!r}, "/tmp/link")
os.symlink("/", "/tmp/.shm/root")
for path in ("/tmp/link", "/tmp/.shm/root" + {str(canary)!r}, "/tmp/../../.." + {str(canary)!r}):
    try: open(path).read()
    except OSError: continue
    print("read:", path)
for act in (lambda: os.rename("/tmp/.shm", "/tmp/moved"), lambda: os.rmdir("/dev/shm"),
            lambda: os.symlink("/tmp", "/box/link")):
    try: act()
    except OSError: continue
    print("done")
print("over")
"""
    assert outcome(sandbox, log, program).said == "over"


def test_semaphores_and_segments_end_with_the_box(sandbox: Sandbox, log: Path) -> None:
    program = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(min(libc.shmget(0, 4096, 0o1666), libc.semget(0, 1, 0o1666), libc.msgget(0, 0o1666)) >= 0)
"""
    before = segments()
    assert outcome(sandbox, log, program).said == "True"
    with started(sandbox, log, program, share_ipc=True) as running:
        running.wait(30)
    assert log.read_text().strip() == "True"
    assert segments() == before


def segments() -> list[str]:
    """What users of this process's boxes own; other tests have boxes of their own meanwhile."""
    ours = {str(user_of_box(slot)) for slot in range(64)}
    return [
        line
        for kind in ("shm", "sem", "msg")
        for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()
        if ours.intersection(line.split())
    ]


def test_a_box_ends_with_the_process_that_started_it(sandbox: Sandbox, log: Path) -> None:
    program = f"""
import sys, time
from pathlib import Path
from bench.sandbox import named
from bench.sandbox.box import Box
held = named({sandbox.name!r}).start(["/bin/sleep", "100"], Box(log=Path({str(log)!r})))
print(held.pid, flush=True)
time.sleep(100)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        inside = int(starter.stdout.readline())
        starter.send_signal(signal.SIGKILL)
        starter.wait()
        for _ in range(200):
            if not Path(f"/proc/{inside}").exists():
                break
            time.sleep(0.05)
    assert not Path(f"/proc/{inside}").exists()
    assert works(sandbox, log)


def test_a_stopped_program_can_be_killed(sandbox: Sandbox, log: Path) -> None:
    with started(sandbox, log, "import signal\nos.kill(os.getpid(), signal.SIGSTOP)") as running:
        assert running.wait(0.3) is None
    assert running.ended() is not None


def test_many_orphans_are_reaped(sandbox: Sandbox, log: Path) -> None:
    program = """
import time
def forked():
    # On a slow machine those that have ended may not be reaped yet; one day they are.
    for _ in range(6000):
        try:
            return os.fork()
        except BlockingIOError:
            time.sleep(0.01)
    raise SystemExit("they were never reaped")
for _ in range(100):
    middle = forked()
    if middle == 0:
        if forked() == 0: time.sleep(0.02)
        os._exit(0)
    os.waitpid(middle, 0)
    time.sleep(0.005)
print("all")
"""
    assert outcome(sandbox, log, program, limits=Limits(processes=24)).said == "all"
