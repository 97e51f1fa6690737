"""A filter of system calls, as the kernel takes it: what no kernel under test has a use for.

It is a list of what is refused. A list of what is let through would be stronger, and would break
with each new version of CUDA's driver, whose calls nobody promises.
"""

from __future__ import annotations

import platform
import struct

# Name of the call: its numbers on x86_64 and on aarch64.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # large ways into the kernel
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_secret": (447, 447),
    "fanotify_init": (300, 262),
    "modify_ldt": (154, None),
    "lookup_dcookie": (212, 18),
    # keys
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # namespaces and mounts
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # the machine
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "vhangup": (153, 58),
    # clocks
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
}
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)
# Threads and children are made by clone; these flags of it make namespaces.
_NAMESPACES = 0x7E020000
# A socket to the hypervisor (vsock) or to the kernel's cryptography heeds no network namespace.
_FAMILIES = (1, 2, 10)
# Tells of interfaces and routes of the own network namespace, as getifaddrs(3) asks for.
_NETLINK, _NETLINK_ROUTE = 16, 0

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_KILL, _ERROR, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 32


def filter_of_calls(machine: str | None = None, *, interfaces: bool = False) -> bytes:
    """The filter for a kind of processor, this machine's if none is named; empty where unknown.

    Refused calls fail with EPERM. `interfaces` lets sockets through that tell which interfaces
    there are. Numbers mean something else to programs of another kind: those
    of 32 bits are killed at their first call, those of x32 find that none of theirs exists.
    """
    known = _ARCHITECTURES.get(machine or platform.machine())
    if known is None:
        return b""
    column, architecture = known
    numbers = [pair[column] for pair in REFUSED.values()]
    program = [
        _op(_LOAD, _ARCHITECTURE),
        _op(_EQUAL, architecture, 1, 0),
        _op(_RETURN, _KILL),
        _op(_LOAD, _NUMBER),
        _op(_AT_LEAST, 0x40000000, 0, 1),
        _op(_RETURN, _ERROR | _ENOSYS),
    ]
    for number in numbers:
        if number is not None:
            program += [_op(_EQUAL, number, 0, 1), _op(_RETURN, _ERROR | _EPERM)]
    # clone3 hides its flags in memory, where a filter cannot look; the C library then uses clone.
    program += [_op(_EQUAL, _CLONE3[column], 0, 1), _op(_RETURN, _ERROR | _ENOSYS)]
    program += _clone_without_namespaces(_CLONE[column])
    if interfaces:
        program += _socket_that_tells_of_interfaces(_SOCKET[column])
    program += _socket_of_known_family(_SOCKET[column])
    return b"".join([*program, _op(_RETURN, _ALLOW)])


def _clone_without_namespaces(number: int) -> list[bytes]:
    return [
        _op(_EQUAL, number, 0, 5),
        _op(_LOAD, _FIRST_ARGUMENT),
        _op(_AND, _NAMESPACES),
        _op(_EQUAL, 0, 0, 1),
        _op(_RETURN, _ALLOW),
        _op(_RETURN, _ERROR | _EPERM),
    ]


def _socket_of_known_family(number: int) -> list[bytes]:
    tests = [_op(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    return [
        _op(_EQUAL, number, 0, len(tests) + 2),
        _op(_LOAD, _FIRST_ARGUMENT),
        *tests,
        _op(_RETURN, _ERROR | _EAFNOSUPPORT),
    ]


def _socket_that_tells_of_interfaces(number: int) -> list[bytes]:
    return [
        _op(_EQUAL, number, 0, 6),
        _op(_LOAD, _FIRST_ARGUMENT),
        _op(_EQUAL, _NETLINK, 0, 3),
        _op(_LOAD, _THIRD_ARGUMENT),
        _op(_EQUAL, _NETLINK_ROUTE, 0, 1),
        _op(_RETURN, _ALLOW),
        # What comes next looks at the number again.
        _op(_LOAD, _NUMBER),
    ]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction of classic BPF: code, jumps, value."""
    return struct.pack("HBBI", code, if_true, if_false, value)
