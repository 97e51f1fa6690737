"""Tries what a box must not allow, from inside: a program of its own, standard library only.

    probe.py FD

reads a line of JSON from FD (paths, numbers and names to try), tries, and writes a line of JSON
there: by name of the claim, whether it held, and what was seen. It is ours and tells the truth; it
does no harm where nothing holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Asked = dict[str, Any]
Seen = tuple[bool, str]

SCRATCH = Path("/tmp")  # noqa: S108 - the box's own
NOTHING = 2_000_000_000  # the number of no process and no file
# Calls that fail otherwise, or do nothing, where no filter refuses them: numbers on x86_64 and
# aarch64, and what they are called with.
REFUSED: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "ptrace": (101, 117, (16, NOTHING, 0, 0)),
    "process_vm_readv": (310, 270, (NOTHING, 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, 271, (NOTHING, 0, 0, 0, 0, 0)),
    "pidfd_getfd": (438, 438, (-1, 0, 0)),
    "io_uring_setup": (425, 425, (0, 0)),
    "bpf": (321, 280, (999, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "userfaultfd": (323, 282, (0xFFFF,)),
    "keyctl": (250, 219, (999,)),
    "add_key": (248, 217, (0, 0, 0, 0, 0)),
    "mount": (165, 40, (0, 0, 0, 0, 0)),
    "fsopen": (430, 430, (0, 0)),
    "open_tree": (428, 428, (-1, 0, 0)),
    "unshare": (272, 97, (0,)),
    "setns": (308, 268, (-1, 0)),
    "kexec_load": (246, 104, (0, 0, 0, 0xFFFFFFFF)),
    # With CLONE_FS, which the kernel never allows beside it: nothing is made where no filter is.
    "clone with a user namespace": (56, 220, (0x10000000 | 0x200, 0, 0, 0, 0)),
}
# Families of sockets that heed no network namespace, or talk to the kernel itself.
FAMILIES = {"netlink": 16, "packet": 17, "alg": 38, "vsock": 40}
NETLINK_AUDIT = 9  # what is still refused where interfaces may be asked for


def main() -> None:
    """Answer one question."""
    number = int(sys.argv[1])
    at_start = _open_files()
    with os.fdopen(os.dup(number), "r") as stream:
        asked: Asked = json.loads(stream.readline()) | {"open": at_start}
    attempts = ATTEMPTS | (OF_AGENTS if asked["given"] else {})
    answers = {name: attempt(asked) for name, attempt in attempts.items()}
    os.write(number, json.dumps(answers).encode() + b"\n")


def rights(_: Asked) -> Seen:
    """Becoming root, or any other user."""
    for uid in (0, 1):
        try:
            os.setuid(uid)
        except PermissionError:
            continue
        except OSError as error:
            # A user that does not exist in here is nobody one could become.
            if error.errno != errno.EINVAL:
                return False, f"setuid({uid}): {error.strerror}"
            continue
        return False, f"became user {uid}"
    return True, "setuid is refused"


def processes(asked: Asked) -> Seen:
    """Seeing and signalling others."""
    seen = sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    if set(seen) - {1, os.getpid()}:
        return False, f"/proc shows {len(seen)} processes"
    try:
        os.kill(asked["parent"], 0)
    except ProcessLookupError:
        return True, f"/proc shows {seen} only; the parent does not exist"
    except PermissionError:
        return False, "the parent exists, and may not be signalled"
    return False, "the parent may be signalled"


def root(asked: Asked) -> Seen:
    """Reading what lies beside the box."""
    for path in asked["hidden"]:
        if Path(path).exists():
            return False, f"{path} is there"
    for path in asked["emptied"]:
        if _names(path):
            return False, f"{path} is not empty"
    try:
        names = os.listdir("/proc/1/root/")  # noqa: PTH208
    except PermissionError:
        return True, "the canary, our code and the home are not there; nor is /proc/1/root"
    return False, f"/proc/1/root shows {len(names)} names"


def memory_of_others(asked: Asked) -> Seen:
    """Reading the memory of the parent and of process 1."""
    for process in (asked["parent"], 1):
        try:
            with Path(f"/proc/{process}/mem").open("rb"):
                return False, f"/proc/{process}/mem can be opened"
        except (PermissionError, FileNotFoundError):
            continue
    return True, "/proc/…/mem of the parent does not exist, of process 1 is refused"


def scratch(asked: Asked) -> Seen:
    """Writing where nothing may be written; what could be is removed at once."""
    for folder in asked["unwritable"]:
        path = Path(folder) / ".kbsite-probe"
        try:
            path.write_bytes(b"probe")
        except OSError:
            continue
        path.unlink()
        return False, f"{folder} can be written"
    for path in map(Path, asked["kernels"]):
        # Opened, and nothing else: that does nothing where it succeeds.
        with contextlib.suppress(OSError), path.open("r+b", buffering=0):
            return False, f"{path} can be written"
    for folder in (SCRATCH, Path("/dev/shm")):  # noqa: S108
        if any(folder.glob("kbsite-canary-*")):
            return False, f"{folder} is the host's"
        (folder / "probe").write_bytes(b"probe")
        (folder / "probe").unlink()
    return True, f"{len(asked['unwritable'])} folders refuse; /tmp and /dev/shm are its own"


def network(asked: Asked) -> Seen:
    """Reaching anything."""
    names = [line.split(":")[0].strip() for line in _lines("/proc/net/dev")[2:]]
    if names != ["lo"]:
        return False, f"interfaces: {', '.join(names)}"
    if len(_lines("/proc/net/route")) > 1:
        return False, "there is a route"
    for family, address in (
        (socket.AF_INET, ("127.0.0.1", asked["port"])),
        (socket.AF_UNIX, "\0" + asked["abstract"]),
    ):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as one:
                one.settimeout(5)
                one.connect(address)
        except OSError:
            continue
        return False, f"the parent answers at {address!r}"
    return True, "no interface but lo, no route; the parent's sockets do not answer"


def ipc(asked: Asked) -> Seen:
    """Finding the parent's shared memory."""
    found = ctypes.CDLL(None, use_errno=True).shmget(asked["shm_key"], 0, 0)
    return found < 0, "the parent's segment " + ("is not there" if found < 0 else "is there")


def calls(asked: Asked) -> Seen:
    """Making the calls that a filter has to refuse."""
    libc = ctypes.CDLL(None, use_errno=True)
    machine = os.uname().machine
    if machine not in {"x86_64", "aarch64"}:
        return False, f"no numbers of calls are known for {machine}"
    for name, (number, on_arm, arguments) in REFUSED.items():
        ctypes.set_errno(0)
        done = libc.syscall(number if machine == "x86_64" else on_arm, *arguments)
        if done != -1 or ctypes.get_errno() != errno.EPERM:
            return False, f"{name} is not refused: {os.strerror(ctypes.get_errno())}"
    for name, family in FAMILIES.items():
        protocol = NETLINK_AUDIT if asked["interfaces"] and name == "netlink" else 0
        try:
            socket.socket(family, socket.SOCK_DGRAM, protocol).close()
        except OSError as error:
            if error.errno == errno.EAFNOSUPPORT:
                continue
        return False, f"a socket of family {name} is not refused"
    return True, f"{len(REFUSED)} calls and {len(FAMILIES)} families of sockets are refused"


def devices(asked: Asked) -> Seen:
    """Finding or making a device that was not given."""
    found = {str(path) for path in _nodes(Path("/dev"))}
    more = sorted(found - set(asked["devices"]))
    if more:
        return False, f"also there: {', '.join(more[:5])}"
    try:
        os.mknod(SCRATCH / "node", 0o600 | 0o020000, os.makedev(1, 1))
    except PermissionError:
        return True, f"{len(found)} nodes, and none can be made"
    (SCRATCH / "node").unlink()
    return False, "a node can be made"


def open_files(asked: Asked) -> Seen:
    """Having files open that nobody passed."""
    wanted = [0, 1, 2, int(sys.argv[1])]
    return asked["open"] == wanted, f"open are {asked['open']}, passed was {wanted[-1]}"


def given_files(asked: Asked) -> Seen:
    """Writing, replacing, moving or removing a file, or the folder that it lies in."""
    given = Path(asked["given"]).absolute()
    before = given.read_bytes()
    own = given.parents[2] / "own"
    done = []
    for name, change in CHANGES.items():
        own.write_bytes(b"changed")
        try:
            change(given, own)
        except OSError:
            continue
        done.append(name)
    own.unlink(missing_ok=True)
    if done or given.read_bytes() != before:
        return False, f"done: {', '.join(done)}"
    return True, f"{len(CHANGES)} ways to change one are refused"


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "write": lambda given, _: given.write_bytes(b"changed"),
    "append": lambda given, _: os.open(given, os.O_WRONLY | os.O_APPEND),
    "truncate": lambda given, _: os.truncate(given, 0),
    "write by an open file": lambda given, _: os.open(f"/proc/self/fd/{_held(given)}", os.O_RDWR),
    "replace": lambda given, own: own.replace(given),
    "move": lambda given, own: given.rename(own),
    "remove": lambda given, _: given.unlink(),
    "link elsewhere": lambda given, own: os.link(given, own.with_name("other")),
    "chmod": lambda given, _: given.chmod(0o666),
    "chown": lambda given, _: os.chown(given, os.getuid(), os.getgid()),
    "set its time": lambda given, _: os.utime(given, (0, 0)),
    "add beside it": lambda given, _: (given.parent / "more").touch(),
    "move its folder": lambda given, _: given.parent.rename(given.parent.with_name("moved")),
    "move what that lies in": lambda given, own: given.parents[1].rename(own.with_name("moved")),
    "remove its folder": lambda given, _: given.parent.rmdir(),
}


def _held(path: Path) -> int:
    return os.open(path, os.O_RDONLY)


def listener(asked: Asked) -> Seen:
    """Reaching what listens for it, and finding nothing else that does."""
    told = [line.split() for name in ("tcp", "tcp6") for line in _lines(f"/proc/net/{name}")[1:]]
    listening = sorted({int(words[1].rpartition(":")[2], 16) for words in told if words[3] == "0A"})
    if listening != [asked["listen"]]:
        return False, f"listening are {listening}"
    others = sum(len(_lines(f"/proc/net/{name}")) - 1 for name in ("udp", "udp6", "raw", "unix"))
    if others:
        return False, f"{others} other sockets are there"
    with socket.create_connection(("127.0.0.1", asked["listen"]), 5) as one:
        one.sendall(asked["token"].encode())
    return True, f"only port {asked['listen']} of 127.0.0.1 listens, and answers"


def folders(asked: Asked) -> Seen:
    """Writing to its folders, which nothing lies in but what was put there."""
    for folder in asked["folders"]:
        if not Path(folder).is_dir():
            return False, f"{folder} is not there"
        path = Path(folder) / "probe"
        path.write_bytes(b"probe")
        path.unlink()
        if Path(folder).stat().st_dev == Path("/").stat().st_dev:
            return False, f"{folder} is no file system of its own"
    return True, f"{', '.join(asked['folders'])} are file systems of their own, and can be written"


def _open_files() -> list[int]:
    found = []
    for number in range(4096):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def _nodes(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder, onerror=_unless_none):
        yield from (Path(place, name) for name in names if not os.path.islink(f"{place}/{name}"))  # noqa: PTH114 - it may be gone


def _unless_none(error: OSError) -> None:
    """Raise an error but where what is gone, or too deep to be named, is asked for.

    Shared memory of others has such: nodes of a box lie above.
    """
    if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
        raise error


def _names(folder: str) -> list[str]:
    """What is seen in a folder: nothing in one that is closed, or not there."""
    try:
        return os.listdir(folder)  # noqa: PTH208
    except (PermissionError, FileNotFoundError):
        return []


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


ATTEMPTS: dict[str, Callable[[Asked], Seen]] = {
    "rights": rights,
    "processes": processes,
    "root": root,
    "memory of others": memory_of_others,
    "scratch": scratch,
    "network": network,
    "ipc": ipc,
    "calls": calls,
    "devices": devices,
    "open files": open_files,
}

OF_AGENTS: dict[str, Callable[[Asked], Seen]] = {
    "given files": given_files,
    "listener": listener,
    "folders": folders,
}

if __name__ == "__main__":
    main()
