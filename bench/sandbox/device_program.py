"""Which devices a control group of version 2 opens: decided by a program that the kernel runs."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable
from pathlib import Path

_CALL = {"x86_64": 321, "aarch64": 280}
_LOAD, _ATTACH = 5, 8  # what bpf(2) is asked to do
_KIND, _WHERE = 15, 6  # a program of a control group for devices, both as program and as hook
_CHARACTER, _MKNOD = 2, 1
# Instructions of eBPF, and the registers of the program.
_READ, _AND, _MOVE, _COPY, _SHIFT_RIGHT = 0x61, 0x57, 0xB7, 0xBF, 0x77
_UNLESS_EQUAL, _END = 0x55, 0x95
_GIVEN, _ACCESS, _MAJOR, _MINOR, _HELD = 1, 2, 3, 4, 5


def open_devices_only(group: Path, devices: Iterable[tuple[int, int]]) -> None:
    """Have a group open these character devices (major, minor), for as long as it exists.

    Nodes can neither be made nor opened for any other. Raises OSError where the kernel does not
    take the program.
    """
    code = device_program(devices)
    program = ctypes.create_string_buffer(code, len(code))
    license_ = ctypes.create_string_buffer(b"Apache-2.0")
    loading = struct.pack(
        "IIQQ", _KIND, len(code) // 8, ctypes.addressof(program), ctypes.addressof(license_)
    )
    loaded = _bpf(_LOAD, loading)
    folder = os.open(group, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _bpf(_ATTACH, struct.pack("IIII", folder, loaded, _WHERE, 0))
    finally:
        os.close(folder)
        os.close(loaded)


def device_program(devices: Iterable[tuple[int, int]]) -> bytes:
    """The program: 1 for a character device of the list that is opened, 0 for all else."""
    head = [
        _op(_READ, _ACCESS, _GIVEN, offset=0),
        _op(_READ, _MAJOR, _GIVEN, offset=4),
        _op(_READ, _MINOR, _GIVEN, offset=8),
        # The lower half of the access is the kind of device, the upper what is done to it.
        _op(_COPY, _HELD, _ACCESS),
        _op(_AND, _HELD, value=0xFFFF),
        *_unless(_HELD, _CHARACTER),
        _op(_SHIFT_RIGHT, _ACCESS, value=16),
        _op(_AND, _ACCESS, value=_MKNOD),
        *_unless(_ACCESS, 0),
    ]
    for major, minor in devices:
        head += [
            _op(_UNLESS_EQUAL, _MAJOR, offset=3, value=major),
            _op(_UNLESS_EQUAL, _MINOR, offset=2, value=minor),
            *_return(1),
        ]
    return b"".join([*head, *_return(0)])


def _unless(register: int, value: int) -> list[bytes]:
    """Return 0 unless a register holds a value."""
    # Where it does not, the jump over the way on leads to the return.
    return [_op(_UNLESS_EQUAL, register, offset=1, value=value), _op(0x05, offset=2), *_return(0)]


def _return(value: int) -> list[bytes]:
    return [_op(_MOVE, 0, value=value), _op(_END)]


def _op(code: int, to: int = 0, of: int = 0, *, offset: int = 0, value: int = 0) -> bytes:
    """One instruction: code, registers, offset (of a jump, in instructions), value."""
    return struct.pack("BBhi", code, to | of << 4, offset, value)


def _bpf(what: int, attributes: bytes) -> int:
    number = _CALL.get(platform.machine())
    if number is None:
        raise OSError(f"the number of bpf(2) is not known for {platform.machine()}")
    whole = ctypes.create_string_buffer(attributes, 128)
    done = int(ctypes.CDLL(None, use_errno=True).syscall(number, what, whole, len(whole)))
    if done < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"bpf(2): {os.strerror(error)}")
    return done
