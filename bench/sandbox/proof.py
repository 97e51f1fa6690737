"""What a sandbox keeps on this machine, found out by trying: nothing is claimed that was not seen.

A probe (probe.py) tries inside, while this side looks at it from outside; then four small programs
run into a limit each. The level follows from the claims that held:

    L3  L2, a user of its own, and limits and devices kept by the kernel for the whole box
    L2  namespaces, a root of its own, no rights, no network, refused calls
    L1  a user of its own
    L0  anything less
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator, Set
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path

from bench.sandbox.bait import Bait, laid_out
from bench.sandbox.box import FOLDER, SCRATCH, Box, Claim, Limits, Proven, Sandbox, Sandboxed
from bench.sandbox.enter import LINKS, NODES
from bench.sandbox.groups import KEPT_BY_KERNEL
from bench.sandbox.places import our_code, own_packages
from bench.sandbox.plan import python_command
from bench.sandbox.processes import status_of
from bench.sandbox.strain import tried_limits
from kbsite.errors import MachineError
from kbsite.store.scratch import scratch_folder

_PROBE = Path(__file__).with_name("probe.py")
# IPC is a claim of its own: a box may have been asked to share it.
_NAMESPACES = ("pid", "mnt", "net", "uts", "cgroup")
_LONG_S = 30.0
NEEDED = {
    "L1": {"user"},
    "L2": {
        *("namespaces", "capabilities", "no new privileges", "filter", "rights", "processes"),
        *("root", "memory of others", "scratch", "network", "ipc", "calls", "devices"),
        *("open files", "nothing left"),
        *("limit of memory", "limit of processes", "limit of scratch", "limit of the log"),
    },
}
NEEDED["L3"] = {*NEEDED["L1"], *NEEDED["L2"], "limits kept by the kernel"}
# What has to hold besides of a box that an agent gets, for L2.
OF_AGENTS = {
    *("given files", "listener", "folders"),
    *("limit of folders", "limit of files", "limit of standard output"),
}

_HOW = {
    "rights": "the probe calls setuid for root and for another user",
    "processes": "the probe reads /proc and signals the process that started the box",
    "root": "the probe looks for a canary beside the box, our code, the home, /proc/1/root",
    "memory of others": "the probe opens /proc/…/mem of its starter and of process 1",
    "scratch": "the probe writes to folders of the host and of its own, /tmp and /dev/shm",
    "network": "the probe reads its interfaces and routes, and connects to sockets of its starter",
    "ipc": "the probe looks for a segment of System V shared memory of its starter",
    "calls": "the probe makes the calls, with arguments that do nothing",
    "devices": "the probe lists /dev and makes a node",
    "open files": "the probe tries all numbers",
    "given files": "the probe writes, replaces, moves and removes a file, and its folder",
    "listener": "the probe reads who listens, and sends a word there, which arrives outside",
    "folders": "the probe writes to its folders, and compares their devices with that of /",
}
_FOLDER_BYTES = 4 * 1024 * 1024
_MOST_NAMES = 100  # of what lies in a home
_PROBE_BYTES = 256 * 1024 * 1024  # far more than the probe takes
_PORT = 8000
_PTMX = ("ptmx", "pts/ptmx")
_SYSTEM = (Path("/proc"), Path("/dev"), Path("/etc"))  # every box has some of these
_GIVEN = "given/deep/file"


def self_test(sandbox: Sandbox, *, like: Box | None = None) -> Proven:
    """What a sandbox was seen to keep, and its level.

    `like` is a box of the kind that is asked about: what it can read, its devices and its folders,
    which are made small here, are tried; left out, it is a grader's. Of a box with folders more
    has to hold. Raises MachineError where the sandbox cannot be entered at all, or its probe does
    not answer.
    """
    with scratch_folder("canary") as folder, laid_out(folder) as bait:
        box = small(like or Box(log=folder / "log", hidden=own_packages()), folder)
        claims, facts = _probed(sandbox, bait, box)
        claims += tried_limits(sandbox, box)
    level = level_of(claims, OF_AGENTS if box.writable else set())
    return Proven(sandbox=sandbox.name, level=level, claims=tuple(claims), facts=dict(facts))


def small(like: Box, folder: Path) -> Box:
    """A box of a kind, with nothing of its own yet, whose output lies in a folder of the host."""
    return replace(
        like,
        log=folder / "log",
        stdout=folder / "stdout" if like.writable else None,
        files={},
        seeds={},
        stdin=b"",
        pass_fds=(),
        limits=Limits(),
        writable=dict.fromkeys(like.writable, _FOLDER_BYTES),
        listen=(like.listen or _PORT) if like.writable else None,
    )


def level_of(claims: list[Claim], more: Set[str] = frozenset()) -> str:
    """The highest level of which every claim held; `more` is needed for all above L1."""
    held = {claim.name for claim in claims if claim.held}
    for level in ("L3", "L2", "L1"):
        if NEEDED[level] | (set() if level == "L1" else more) <= held:
            return level
    return "L0"


def _probed(sandbox: Sandbox, bait: Bait, box: Box) -> tuple[list[Claim], dict[str, str]]:
    ours, theirs = socket.socketpair()
    with ExitStack() as stack, ours, theirs:
        inside = theirs.fileno()
        files = {"probe.py": _PROBE.read_bytes(), _GIVEN: b"given"}
        limits = Limits(memory_bytes=_PROBE_BYTES)
        box = replace(box, files=files, pass_fds=(inside,), limits=limits)
        command = python_command(Path("probe.py"), str(inside))
        with sandbox.start(command, box) as started:
            theirs.close()
            if started.listener:
                stack.enter_context(started.listener)
            claims = [_own_user(started), *_from_outside(started), *_kept(started)]
            answers = _answers(ours, bait, box)
            if started.listener and not _heard(started.listener, bait.abstract):
                answers["listener"] = (False, "what was sent there did not arrive")
        claims += [
            Claim(name=name, held=held, how=_HOW[name], seen=seen)
            for name, (held, seen) in answers.items()
        ]
        return claims, dict(started.facts)


def _heard(listener: socket.socket, word: str) -> bool:
    """Whether a word came to a listener, by the first who connected."""
    listener.settimeout(0)
    try:
        one, _ = listener.accept()
    except BlockingIOError:
        return False
    with one:
        one.settimeout(_LONG_S)
        return one.recv(1000) == word.encode()


def _answers(ours: socket.socket, bait: Bait, box: Box) -> dict[str, tuple[bool, str]]:
    ours.settimeout(_LONG_S)
    try:
        ours.sendall(json.dumps(_asked(bait, box)).encode() + b"\n")
        with ours.makefile("r") as stream:
            line = stream.readline()
    except OSError as error:
        raise MachineError(f"the probe of the sandbox does not answer: {error}") from error
    if not line:
        # The last line of a traceback says what happened; whoever shows a message shows its start.
        said = box.log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        raise MachineError(f"the probe of the sandbox failed: {said[-1].strip()}")
    answers: dict[str, tuple[bool, str]] = json.loads(line)
    return answers


def _asked(bait: Bait, box: Box) -> dict[str, object]:
    """What the probe is to try."""
    home = os.path.expanduser("~")  # noqa: PTH111 - one that nobody knows stops no proof
    place = Path(home if home.startswith("/") else "/root")
    return {
        "parent": os.getpid(),
        "hidden": [str(bait.canary), "/etc/shadow", *_our_code(box), *_beside(place, box)],
        "emptied": [str(path) for path in box.hidden if path.is_dir()],
        "unwritable": list(map(str, _unwritable(place, box))),
        "kernels": ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"],
        "port": bait.port,
        "abstract": bait.abstract,
        "shm_key": bait.shm_key,
        "devices": [
            *(f"/dev/{name}" for name in (*NODES, *(_PTMX if box.terminals else ()))),
            *_given_nodes(box),
        ],
        "interfaces": box.interfaces,
        "given": _GIVEN if box.writable else None,
        "folders": [str(path) for path in _own(box)],
        "listen": box.listen,
        "token": bait.abstract,
    }


def _our_code(box: Box) -> Iterator[str]:
    """Our own packages that a box is not told to show empty."""
    hidden = {path.resolve() for path in box.hidden}
    return (str(path) for path in our_code() if path not in hidden)


def _unwritable(home: Path, box: Box) -> Iterator[Path]:
    """Folders that a box cannot write to."""
    yield from map(Path, ("/", "/usr", "/etc", "/dev", "/proc", sys.prefix, "/var"))
    if not any(home.is_relative_to(one) for one in _own(box)):
        yield home
    if not box.writable:
        yield FOLDER
    yield from (*box.bound, *(path.parent for path in box.writable))


def _beside(home: Path, box: Box) -> list[str]:
    """What lies in the home of who runs this and is not there in a box, as far as is known."""
    whole = (*box.readable, *(path.resolve() for path in box.readable), *box.bound, *_SYSTEM)
    empty = (SCRATCH, Path(LINKS["/dev/shm"]), box.folder, *box.writable)  # noqa: S108
    names = islice(sorted(home.glob("*")), _MOST_NAMES)
    return [
        str(path)
        for path in (home / ".profile", *names)
        if not any(path.is_relative_to(one) for one in whole)
        and not any(one.is_relative_to(path) for one in (*whole, *empty))
    ]


def _own(box: Box) -> tuple[Path, ...]:
    """What a box can write to."""
    return (*box.writable, SCRATCH)


def _given_nodes(box: Box) -> Iterator[str]:
    """The devices that a box was given, a GPU's say; of folders those within."""
    for path in box.devices:
        inside = path.rglob("*") if path.is_dir() else [path]
        yield from (str(node) for node in inside if not node.is_dir())


def _own_user(started: Sandboxed) -> Claim:
    uids = status_of(started.pid, "Uid").split()
    held = len(set(uids)) == 1 and uids[0] not in {"0", str(os.getuid())}
    return Claim(
        name="user", held=held, how="Uid in /proc/…/status, read outside", seen=f"uid {uids[0]}"
    )


def _from_outside(started: Sandboxed) -> Iterator[Claim]:
    """What the kernel says of the probe to this side."""
    how = "/proc/…/status, read outside"
    rights = {name: status_of(started.pid, name) for name in ("CapPrm", "CapEff", "CapBnd")}
    none = all(int(value, 16) == 0 for value in rights.values())
    seen = ", ".join(f"{name} {value}" for name, value in rights.items())
    yield Claim(name="capabilities", held=none, how=how, seen=seen)
    never = status_of(started.pid, "NoNewPrivs")
    yield Claim(name="no new privileges", held=never == "1", how=how, seen=f"NoNewPrivs {never}")
    mode = status_of(started.pid, "Seccomp")
    yield Claim(name="filter", held=mode == "2", how=how, seen=f"Seccomp {mode}")
    shared = [
        name
        for name in _NAMESPACES
        if Path(f"/proc/{started.pid}/ns/{name}").stat().st_ino
        == Path(f"/proc/self/ns/{name}").stat().st_ino
    ]
    yield Claim(
        name="namespaces",
        held=not shared,
        how="/proc/…/ns of the probe and of its starter compared",
        seen=f"shared: {', '.join(shared)}" if shared else f"its own: {', '.join(_NAMESPACES)}",
    )


def _kept(started: Sandboxed) -> Iterator[Claim]:
    """Whether the kernel keeps limits for the box as a whole, read back from it."""
    lacking = [
        name
        for name in ("memory", "processes", "devices")
        if KEPT_BY_KERNEL not in started.facts.get(name, "")
    ]
    lines = Path(f"/proc/{started.pid}/cgroup").read_text().splitlines()
    groups = [line.split(":")[1] or "all" for line in lines if "kbsite-box-" in line]
    seen = f"a group of its own for {', '.join(groups)}" if groups else "no group of its own"
    yield Claim(
        name="limits kept by the kernel",
        held=bool(groups) and not lacking,
        how="/proc/…/cgroup, read outside",
        seen=f"{seen}; not kept by it: {', '.join(lacking)}" if groups and lacking else seen,
    )
