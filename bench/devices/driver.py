"""CUDA's driver by its C interface: memory that another process can open."""

from __future__ import annotations

import ctypes
from functools import lru_cache

from kbsite.errors import MachineError

LIBRARY = "libcuda.so.1"
BLOCK_BYTES = 2 << 20
"""What the driver divides memory into."""

HANDLE_BYTES = 64
"""Of what stands for memory in another process."""


class _Handle(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_char * HANDLE_BYTES),)


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The driver's library; MachineError where there is none."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise MachineError(
            f"{LIBRARY} cannot be loaded: {error}; install NVIDIA's driver"
        ) from error


def allocate(size: int) -> int:
    """The address of new memory of the current context's device, in whole blocks of its own.

    A handle opens the blocks that memory lies in, with whatever else of ours lies in them.
    """
    address = ctypes.c_uint64()
    whole = ctypes.c_size_t(-(-size // BLOCK_BYTES) * BLOCK_BYTES)
    _check(library().cuMemAlloc_v2(ctypes.byref(address), whole), f"{size} bytes")
    return address.value


def free(address: int) -> None:
    """Give back memory that was allocated here."""
    _check(library().cuMemFree_v2(ctypes.c_uint64(address)), "giving memory back")


def handle_of(address: int) -> bytes:
    """What another process opens allocated memory by."""
    handle = _Handle()
    _check(
        library().cuIpcGetMemHandle(ctypes.byref(handle), ctypes.c_uint64(address)),
        "a handle for another process",
    )
    return bytes(handle)


class Bytes:
    """Memory at an address, as libraries for arrays take it in."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


def _check(code: int, doing: str) -> None:
    if not code:
        return
    name = ctypes.c_char_p()
    library().cuGetErrorName(code, ctypes.byref(name))
    said = name.value.decode() if name.value else f"error {code}"
    raise MachineError(f"CUDA's driver says {said} ({doing})")
