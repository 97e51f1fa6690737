"""The filter of system calls, run by a machine of four instructions instead of the kernel."""

from __future__ import annotations

import struct

import pytest

from bench.sandbox.probe import FAMILIES
from bench.sandbox.probe import REFUSED as TRIED
from bench.sandbox.seccomp import REFUSED, filter_of_calls

ALLOW, EPERM, ENOSYS, EAFNOSUPPORT, KILL = (
    0x7FFF0000, 0x00050001, 0x00050026, 0x00050061, 0x80000000
)  # fmt: skip
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def verdict(
    machine: str,
    number: int,
    argument: int = 0,
    architecture: int | None = None,
    *,
    third: int = 0,
    interfaces: bool = False,
) -> int:
    """What the filter says of a call."""
    known = architecture or ARCHITECTURES[machine]
    data = struct.pack("IIQQQQ", number & 0xFFFFFFFF, known, 0, argument, 3, third)
    filter_ = filter_of_calls(machine, interfaces=interfaces)
    program = [struct.unpack("HBBI", piece) for piece in _pieces(filter_)]
    at, held = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("I", data, value)
            case 0x54:
                held &= value
            case 0x15:
                at += if_true if held == value else if_false
            case 0x35:
                at += if_true if held >= value else if_false
            case 0x06:
                return int(value)
            case _:
                pytest.fail(f"instruction {code:#x}")


def _pieces(program: bytes) -> list[bytes]:
    return [program[start : start + 8] for start in range(0, len(program), 8)]


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_that_are_named_are_refused_and_their_neighbours_are_not(machine: str) -> None:
    column = list(ARCHITECTURES).index(machine)
    refused = {pair[column] for pair in REFUSED.values()} - {None}
    special = {(56, 220)[column], 435, (41, 198)[column]}
    for number in range(500):
        if number not in special:
            assert (verdict(machine, number) == EPERM) == (number in refused), number
    assert {verdict(machine, number) for number in range(500)} == {
        ALLOW, EPERM, ENOSYS, EAFNOSUPPORT
    }  # fmt: skip


@pytest.mark.parametrize(("machine", "clone"), [("x86_64", 56), ("aarch64", 220)])
def test_clone_makes_threads_and_children_and_no_namespaces(machine: str, clone: int) -> None:
    threads, children = 0x003D0F00, 0x01200011
    assert verdict(machine, clone, threads) == ALLOW
    assert verdict(machine, clone, children) == ALLOW
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, clone, children | flag) == EPERM
    assert verdict(machine, 435) == ENOSYS


@pytest.mark.parametrize(("machine", "make_socket"), [("x86_64", 41), ("aarch64", 198)])
def test_sockets_are_of_families_that_heed_namespaces(machine: str, make_socket: int) -> None:
    families = {family for family in range(50) if verdict(machine, make_socket, family) == ALLOW}
    assert families == {1, 2, 10}
    assert {verdict(machine, make_socket, family) for family in FAMILIES.values()} == {EAFNOSUPPORT}


@pytest.mark.parametrize(("machine", "make_socket"), [("x86_64", 41), ("aarch64", 198)])
def test_interfaces_are_told_by_one_protocol_of_netlink(machine: str, make_socket: int) -> None:
    def verdicts(family: int) -> list[int]:
        return [
            verdict(machine, make_socket, family, third=protocol, interfaces=True)
            for protocol in range(30)
        ]

    assert verdicts(16) == [ALLOW] + [EAFNOSUPPORT] * 29
    assert verdicts(17) == [EAFNOSUPPORT] * 30
    assert verdicts(1) == verdicts(2) == verdicts(10) == [ALLOW] * 30
    assert verdict(machine, make_socket, 16) == EAFNOSUPPORT
    for number in range(500):
        if number != make_socket:
            assert verdict(machine, number, interfaces=True) == verdict(machine, number)


def test_numbers_of_other_machines_mean_nothing() -> None:
    assert verdict("x86_64", 0, architecture=0x40000003) == KILL
    assert verdict("x86_64", 0x40000000 | 101) == ENOSYS
    assert verdict("x86_64", -1) == ENOSYS


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert filter_of_calls("riscv64") == b""
    assert filter_of_calls() in {filter_of_calls("x86_64"), filter_of_calls("aarch64")}


def test_the_filter_is_one_that_the_kernel_takes() -> None:
    for machine in ARCHITECTURES:
        program = filter_of_calls(machine)
        assert len(program) % 8 == 0
        assert len(program) // 8 <= 4096


def test_the_probe_tries_what_the_filter_refuses() -> None:
    for name, (number, on_arm, _) in TRIED.items():
        if name in REFUSED:
            assert REFUSED[name] == (number, on_arm)
        else:
            assert name == "clone with a user namespace"
