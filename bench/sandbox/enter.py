"""Goes into a box and starts its command there: a program of its own, standard library only.

    enter.py namespaces|inside CHANNEL PLAN

CHANNEL is one end of a pair of sockets, PLAN a file with a marshalled table and after it the
contents of the box's files; both are numbers of open files. `namespaces` makes the namespaces and a
root of their own first; `inside` is there already (bubblewrap made them); `bare` does without.
Then, alike for all:

    starter   waits for the first process of the PID namespace, and ends with it
    └─ init   process 1: reaps what is left without a parent, ends when the command ends or the
       │      channel closes; the kernel then kills whatever else runs in there (bare: init does)
       └─ command   waits for the word, gives up all rights, and becomes the box's command

It tells who listens, a line each: ready, started, exit or signal (and its number), failed (and
why). Whoever waits for a box waits for the imports of this file: json and typing take longer than
all that is done here.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import signal
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any, NoReturn

    Plan = dict[str, Any]

libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x20000, 0x2000000, 0x4000000
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x8000000, 0x10000000, 0x20000000
CLONE_NEWNET = 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
SYS_MOUNT_SETATTR, SYS_CLOSE_RANGE = 442, 436
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
SECCOMP_MODE_FILTER = 2
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41
CAPABILITIES_VERSION = 0x20080522

HOST = "/.host"
NODES = ("null", "zero", "full", "random", "urandom")
LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/dev/shm": "/tmp/.shm",
}


def main() -> None:
    """Do what the command line says, and tell what failed."""
    mode, channel, plan_fd = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    try:
        with os.fdopen(plan_fd, "rb") as stream:
            plan: Plan = marshal.load(stream)  # noqa: S302 - it is from who started this
            contents = stream.read()
        furnish = furnisher(plan["furnisher"])
        if mode == "namespaces":
            first_in_namespaces(plan)
            build_root(plan, contents)
        elif mode == "bare":
            adopt_orphans()
        plan["settle"] = furnish(plan, contents, channel, mount)
        del contents
        run_init(plan, channel)
    except OSError as error:
        tell(channel, f"failed {error}")
        os._exit(1)


def furnisher(code: CodeType | None) -> Callable[..., Callable[[], None]]:
    """What makes what only some boxes have, and returns what the box's user has still to do.

    It is furnish.py, loaded while what that imports can be seen.
    """
    names: dict[str, Callable[..., Any]] = {"furnish": lambda *_: lambda: None}
    if code is not None:
        exec(code, names)  # noqa: S102 - it is from who started this
    return names["furnish"]


def tell(channel: int, line: str) -> None:
    """Write a line to the channel."""
    os.write(channel, line.replace("\n", " ").encode() + b"\n")


def checked(doing: str, returned: int) -> int:
    """What a call of the C library returned; raises OSError if it failed."""
    if returned < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")
    return returned


def first_in_namespaces(plan: Plan) -> None:
    """Return as process 1 of new namespaces; the process that was called stays, and waits."""
    if plan["map_uid"] is not None:
        new_user(plan)
    checked("a new PID namespace", libc.unshare(CLONE_NEWPID))
    leave_to_child()
    wanted = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWCGROUP
    wanted |= 0 if plan["share_ipc"] else CLONE_NEWIPC
    checked("new namespaces", libc.unshare(wanted))


def new_user(plan: Plan) -> None:
    """Enter a user namespace in which one user exists, who is the caller outside."""
    checked("a new user namespace", libc.unshare(CLONE_NEWUSER))
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{plan['uid']} {plan['map_uid']} 1")
    write("/proc/self/gid_map", f"{plan['uid']} {plan['map_gid']} 1")


def adopt_orphans() -> None:
    """Return in a child that will be the parent of all orphans below it; the caller waits."""
    leave_to_child()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def leave_to_child() -> None:
    """Return in a child; this process waits until it ended, and with it all that are below it."""
    child = os.fork()
    if child == 0:
        return die_with_parent()
    # What the box was given is not held open here as well.
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    close_all_but(())
    os.waitpid(child, 0)
    os._exit(0)


def die_with_parent() -> None:
    """Be killed when the parent ends; said anew after each change of rights, which undoes it."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def build_root(plan: Plan, contents: bytes) -> None:
    """Make a root of its own from memory and what may be read of the host's, and enter it."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    # /tmp is covered only until it becomes the root: below HOST it is as it was.
    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, plan["root_options"])
    os.mkdir("/tmp" + HOST)
    os.chdir("/tmp")
    checked("a new root", libc.pivot_root(b".", HOST[1:].encode()))
    os.chdir("/")
    mount("proc", folder("/proc"), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("tmpfs", folder("/tmp"), "tmpfs", MS_NOSUID | MS_NODEV, plan["scratch_options"])
    os.mkdir("/tmp/.shm")
    os.chmod("/tmp/.shm", 0o1777)  # noqa: S103 - as /dev/shm is everywhere
    for source, target in plan["readable"]:
        bind(source, target, MS_RDONLY | MS_NOSUID | MS_NODEV)
    make_devices(plan["devices"])
    for path in plan["folders"]:
        folder(path)
    put_files(plan["files"], contents)
    checked("leaving the host's root", libc.umount2(HOST.encode(), MNT_DETACH))
    os.rmdir(HOST)
    mount("none", "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    checked("a name of its own", libc.sethostname(b"box", 3))
    loopback_up()


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount, or change a mount; raises OSError."""
    words = [word.encode() for word in (source, target, kind or "")]
    done = libc.mount(*words, flags, options.encode())
    checked(f"mounting {kind or source} at {target}", done)


def folder(path: str) -> str:
    """The folder, made with its parents if it was not there."""
    os.makedirs(path, mode=0o755, exist_ok=True)
    return path


def bind(source: str, target: str, flags: int) -> None:
    """Show a path of the host in the new root, with all that is mounted below it."""
    if os.path.isdir(HOST + source):
        folder(target)
    else:
        folder(os.path.dirname(target))
        with open(target, "ab"):
            pass
    mount(HOST + source, target, None, MS_BIND | MS_REC)
    # Read-only, nosuid and nodev have the same numbers as attributes and as flags.
    attributes = struct.pack("QQQQ", flags, 0, 0, 0)
    where = (AT_FDCWD, target.encode(), AT_RECURSIVE)
    done = libc.syscall(SYS_MOUNT_SETATTR, *where, attributes, len(attributes))
    checked(f"making {target} read-only", done)


def make_devices(given: list[str]) -> None:
    """The devices that every program needs, those that were given, and no others."""
    folder("/dev")
    for node in [f"/dev/{name}" for name in NODES] + given:
        bind(node, node, MS_NOSUID | MS_NOEXEC)
    for link, target in LINKS.items():
        os.symlink(target, link)


def put_files(files: list[list[Any]], contents: bytes) -> None:
    """Write files (path, place in the contents, length), for all to read and nobody to write."""
    for path, start, length in files:
        folder(os.path.dirname(path))
        with open(path, "xb") as stream:
            stream.write(contents[start : start + length])
        os.chmod(path, 0o444)


def loopback_up() -> None:
    """Have an address 127.0.0.1 that leads nowhere else."""
    number = checked("a socket", libc.socket(2, 2, 0))
    request = struct.pack("16sH14x", b"lo", IFF_UP_RUNNING)
    checked("the loopback interface", libc.ioctl(number, SIOCSIFFLAGS, request))
    os.close(number)


def run_init(plan: Plan, channel: int) -> NoReturn:
    """Start the command when told to, and stay until it ends or nobody listens any more."""
    os.umask(0o077)
    word, give_word = os.pipe()
    outcome, tell_outcome = os.pipe()
    command = os.fork()
    if command == 0:
        os.close(give_word)
        become_command(plan, word, tell_outcome)
    del plan["settle"]
    os.close(tell_outcome)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    close_all_but((channel, give_word, outcome, wake, waker))
    if not plan["same_rights"]:
        give_up_rights(plan, plan["init_uid"])
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    die_with_parent()
    tell(channel, "ready")
    if os.read(channel, 1):
        os.write(give_word, b"g")
        tell_start(channel, os.read(outcome, 4096))
        watch(channel, wake, command)
    if os.getpid() != 1:
        kill_children()
    os._exit(0)


def tell_start(channel: int, failure: bytes) -> None:
    """Tell that the command started, or why it did not."""
    if failure:
        tell(channel, f"failed {failure.decode()}")
        os._exit(1)
    tell(channel, "started")


def watch(channel: int, wake: int, command: int) -> None:
    """Reap until the command ended, and tell how; or return as soon as the channel closes."""
    waiting = select.poll()
    waiting.register(channel, select.POLLIN)
    waiting.register(wake, select.POLLIN)
    ended = reap(channel, command)
    while not ended:
        if any(number == channel for number, _ in waiting.poll()):
            return
        os.read(wake, 4096)
        ended = reap(channel, command)


def reap(channel: int, command: int) -> bool:
    """Whether the command was among those that ended; if so, how was told."""
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if child == command:
            code = os.waitstatus_to_exitcode(status)
            tell(channel, f"exit {code}" if code >= 0 else f"signal {-code}")
            return True
        if child == 0:
            return False


def kill_children() -> None:
    """Kill and reap all that is below this process, where no namespace ends with it."""
    children = f"/proc/self/task/{os.getpid()}/children"
    while True:
        with open(children) as stream:
            for child in stream.read().split():
                os.kill(int(child), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def become_command(plan: Plan, word: int, tell_outcome: int) -> NoReturn:
    """Give up all rights when the word comes, and be the command; tell why if that fails."""
    try:
        if not os.read(word, 1):
            os._exit(1)
        os.setsid()
        write("/proc/self/oom_score_adj", "1000")
        for name, most in plan["rlimits"].items():
            lower_limit(getattr(resource, name), most)
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        close_all_but((*plan["fds"], tell_outcome))
        os.chdir(plan["folder"])
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            if signal.getsignal(number) is not None:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if not plan["same_rights"]:
            give_up_rights(plan, plan["uid"])
        plan["settle"]()
        for number in plan["fds"]:
            os.set_inheritable(number, True)  # noqa: FBT003
        deny_calls(bytes.fromhex(plan["filter"]))
        os.execvpe(plan["command"][0], plan["command"], plan["environment"])  # noqa: S606
    except OSError as error:
        os.write(tell_outcome, str(error).encode()[:4000])
    os._exit(127)


def lower_limit(limit: int, most: int) -> None:
    """Set a limit for good; one that is lower already stays."""
    _, hard = resource.getrlimit(limit)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def give_up_rights(plan: Plan, uid: int) -> None:
    """Become a user without rights, for ever."""
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if plan["change_user"]:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    head = struct.pack("Ii", CAPABILITIES_VERSION, 0)
    checked("giving up capabilities", libc.capset(head, bytes(24)))
    checked("no new privileges", libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def deny_calls(program: bytes) -> None:
    """Have the kernel refuse the calls that a filter names, here and in all that is started."""
    if not program:
        return
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    held = ctypes.create_string_buffer(head, len(head))
    done = libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(held), 0, 0)
    checked("the filter of system calls", done)


def close_all_but(kept: tuple[int, ...]) -> None:
    """Close all files from 3 on, but for these."""
    first = 3
    for number in sorted({number for number in kept if number >= 3}):
        if number > first:
            libc.syscall(SYS_CLOSE_RANGE, first, number - 1, 0)
        first = number + 1
    libc.syscall(SYS_CLOSE_RANGE, first, 0x7FFFFFFF, 0)


def write(path: str, text: str) -> None:
    """Write to a file of the kernel's."""
    with open(path, "w") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()
