"""Functions of a library are found by where they lie in its file."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import torch

from bench.functions import Functions, functions_of, plain

TORCH = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
FOUND = functions_of(str(TORCH))


def offset_of(name: str) -> int:
    """Where a function lies in torch's file, as the loader has it."""
    library = ctypes.CDLL(str(TORCH))
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, rights, offset, *_ = line.split()
        start, end = (int(word, 16) for word in first.split("-"))
        if start <= address < end:
            assert "x" in rights
            return address - start + int(offset, 16)
    raise AssertionError(name)


def test_each_byte_of_a_function_bears_its_name() -> None:
    start = offset_of("sgemm_")

    assert "sgemm" in (FOUND.at(start) or "").lower()
    assert FOUND.at(start) == FOUND.at(start + 9)
    assert FOUND.at(start - 1) != FOUND.at(start)


def test_torchs_library_names_all_its_functions() -> None:
    assert FOUND.complete
    assert len(FOUND) > 100_000


def test_what_lies_outside_all_functions_has_no_name() -> None:
    assert FOUND.at(0) is None
    assert FOUND.at(1 << 60) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"no library", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 99],
)
def test_a_file_that_is_no_whole_library_has_no_functions(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    path.write_bytes(content)
    found = Functions(path)

    assert not len(found)
    assert not found.complete
    assert found.at(0) is None
    assert Functions(tmp_path / "none").at(1) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mkl_blas_sgemm", "mkl_blas_sgemm"),
        ("_ZN4dnnl4impl3cpu11gemm_kernelIaEEvl", "dnnl::impl::cpu::gemm_kernel"),
        ("_ZNK2at6Tensor3sumEv", "at::Tensor::sum"),
        ("_Z3fooi", "foo"),
        ("_ZN2at6nativeL15addmm_impl_cpu_ERNS", "at::native::addmm_impl_cpu_"),
        ("_ZN99short", "short"),
        ("_Z", "_Z"),
        (None, "a function without a name"),
    ],
)
def test_names_of_cpp_are_told_as_a_person_reads_them(name: str | None, said: str) -> None:
    assert plain(name) == said
