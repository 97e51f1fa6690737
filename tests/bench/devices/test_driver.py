"""CUDA's driver: a real one where there is a GPU, else an object with its C functions."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

from bench.devices import driver
from kbsite.errors import MachineError


class Fake:
    """A driver whose memory begins at the address that is its size."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.freed: list[int] = []

    def cuMemAlloc_v2(self, address: Any, size: ctypes.c_size_t) -> int:
        address._obj.value = size.value
        return self.code

    def cuMemFree_v2(self, address: ctypes.c_uint64) -> int:
        self.freed.append(address.value)
        return self.code

    def cuIpcGetMemHandle(self, handle: Any, address: ctypes.c_uint64) -> int:
        handle._obj.bytes = str(address.value).encode()
        return self.code

    def cuGetErrorName(self, code: int, name: Any) -> int:
        name._obj.value = b"CUDA_ERROR_OUT_OF_MEMORY" if code == 2 else None
        return 0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    found = Fake()
    monkeypatch.setattr(driver, "library", lambda: found)
    return found


@pytest.fixture
def real() -> Iterator[None]:
    driver.library.cache_clear()
    yield
    driver.library.cache_clear()


def test_memory_is_allocated_named_and_given_back(fake: Fake) -> None:
    address = driver.allocate(16)
    assert driver.handle_of(address) == str(address).encode().ljust(driver.HANDLE_BYTES, b"\0")
    driver.free(address)
    assert fake.freed == [address]


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (2 << 20, 1), ((2 << 20) + 1, 2)])
def test_memory_that_others_open_shares_no_block_with_ours(
    fake: Fake, size: int, blocks: int
) -> None:
    # The fake one's address is the size that it was asked for.
    assert driver.allocate(size) == blocks * driver.BLOCK_BYTES
    assert not fake.freed


def test_a_failure_says_what_the_driver_calls_it(fake: Fake) -> None:
    fake.code = 2
    with pytest.raises(MachineError, match=r"CUDA_ERROR_OUT_OF_MEMORY \(16 bytes\)"):
        driver.allocate(16)


def test_a_failure_without_a_name_says_its_number(fake: Fake) -> None:
    fake.code = 77
    with pytest.raises(MachineError, match="error 77"):
        driver.free(1)


@pytest.mark.usefixtures("real")
def test_a_machine_without_the_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LIBRARY", "libno-such-driver.so.1")
    with pytest.raises(MachineError, match="install NVIDIA's driver"):
        driver.library()


def test_bytes_at_an_address_say_where_and_how_many_they_are() -> None:
    told = driver.Bytes(4096, 10).__cuda_array_interface__
    assert (told["data"], told["shape"], told["typestr"]) == ((4096, False), (10,), "|u1")
