"""The process that runs a solution. Nothing here is trusted: it can only make a grade worse.

It gets memory that the grader owns, and commands of a fixed size; it answers with frames of a
fixed size. Standard library and torch only: nothing of the grader lies beside it. The grader
imports the constants and the layout of the frames from here, and nothing else.
"""

from __future__ import annotations

import base64
import ctypes
import gc
import importlib.util
import json
import mmap
import os
import select
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

MAGIC_DOWN = b"kbgo"
MAGIC_UP = b"kbdn"

MOST_SLOTS = 40
DOWN = struct.Struct(f"<4sHHII8s{MOST_SLOTS}s")
"""To the worker: magic, command, number of slots, shape, bytes of payload that follow, nonce,
slots, each as a byte."""

UP = struct.Struct("<4sHHQQQ8s24x")
"""From the worker: magic, status, operation, event ns, host ns, processor ns, nonce."""

HELLO, EMPTY, HOLD, FILES, SHAPE, SETUP, CALL, TRACE = range(1, 9)
"""Commands: open the arena, run nothing, keep the device busy with nothing, take the solution, lay
out a shape, prepare, one call or several, one call whose operations are listed on standard error.
"""

DONE, RAISED, OUT_OF_MEMORY, FORBIDDEN = range(1, 5)
"""Statuses: all went well; the solution raised an error; there was no memory left; an operation
that the problem forbids was called."""

ERROR_END = "-- end of the error --"
"""Follows the text of an error on standard error."""

SCRATCH = "/tmp"  # noqa: S108 - of the sandbox

STORED = ("", "Sparse", "SparseCsr")
"""Ways in which torch stores tensors, as they stand before the device's name in its dispatcher."""

SIDE_DOORS = frozenset(
    ("mkldnn", "mkldnn_prepacked", "mkl", "onednn", "quantized", "_quantized", "sparse")
)
"""Namespaces of operations that do what aten's do, by other libraries."""

Views = tuple[Any, ...]
Solve = Callable[..., object]
Lend = Callable[[int, int], Any]
"""Gives so many bytes of the arena from a place on, as a tensor whose storage is no more."""

# Taken before any code of a solution runs, so that replacing them in their modules changes nothing.
_now = time.perf_counter_ns
_processor = time.process_time_ns


class Clock:
    """Times calls on a CPU: this process's own wall clock."""

    def gate(self) -> None:
        """Nothing has to be hidden: a CPU starts at once."""

    def start(self) -> int:
        """The time, ns."""
        return _now()

    def stop(self, started: int) -> int:
        """Nanoseconds since then."""
        return _now() - started

    def wait(self) -> None:
        """Return when all work is done: it is."""

    def hold(self) -> None:
        """Nothing: how long a batch is changes nothing on a CPU."""


class CudaClock:
    """Times calls on a GPU by events around them, behind a kernel that hides the launches."""

    def __init__(self, torch: ModuleType, gate_cycles: int, hold_cycles: int) -> None:
        # Made once: to make an event takes longer than many a kernel.
        self._first, self._last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._sleep = torch._C._cuda_sleep
        self._synchronize = torch._C._cuda_synchronize
        self._cycles = gate_cycles
        self._held = hold_cycles

    def gate(self) -> None:
        """Keep the device busy until the launches of the call are queued."""
        if self._cycles:
            self._sleep(self._cycles)

    def start(self) -> None:
        """Record an event on the current stream."""
        self._first.record()

    def stop(self, started: None) -> int:  # noqa: ARG002 - as a clock on a CPU has it
        """Nanoseconds between then and the end of all that was queued since; 0 at least."""
        self._last.record()
        self.wait()
        # Who changes the stream in between may have the end before the beginning.
        return max(0, int(self._first.elapsed_time(self._last) * 1e6))

    def wait(self) -> None:
        """Return when the whole device is idle, side streams too."""
        self._synchronize()

    def hold(self) -> None:
        """Keep the device busy for a while."""
        self._sleep(self._held)


class Trap:
    """Operations that the problem forbids: they raise, and that they were called is kept.

    With them everything in namespaces of torch that are there for other libraries' operations, and
    every operation on tensors that are stored in another way.
    """

    def __init__(self, torch: ModuleType, names: Sequence[str], key: str) -> None:
        self.called = 0
        self.names = list(names)
        self._libraries = {"aten": torch.library.Library("aten", "IMPL")}
        # That an operation is replaced is what is wanted; torch warns of it.
        with warnings.catch_warnings(action="ignore"):
            for stored in STORED:
                self._replace(torch, stored + key)
            if self.names:
                self._close_side_doors(torch, key)

    def _replace(self, torch: ModuleType, key: str) -> None:
        for number, name in enumerate(self.names, 1):
            packet = getattr(torch.ops.aten, name)
            for overload in packet.overloads():
                spelled = name if overload == "default" else f"{name}.{overload}"
                self._libraries["aten"].impl(spelled, self._raiser(number), key)

    def _close_side_doors(self, torch: ModuleType, key: str) -> None:
        self._libraries |= {space: torch.library.Library(space, "IMPL") for space in SIDE_DOORS}
        for operation in torch._C._dispatch_get_all_op_names():
            space, _, name = operation.partition("::")
            if space in SIDE_DOORS:
                self.names.append(operation)
                for stored in ("", "Quantized"):
                    raiser = self._raiser(len(self.names))
                    self._libraries[space].impl(name, raiser, stored + key)

    def _raiser(self, number: int) -> Solve:
        def forbidden(*args: object, **kwargs: object) -> None:  # noqa: ARG001
            self.called = number
            name = self.names[number - 1]
            spelled = name if "::" in name else f"aten::{name}"
            raise RuntimeError(f"{spelled} is forbidden in this problem")

        return forbidden


class Worker:
    """What the process knows: the channel, the arena, the shapes, the solution."""

    def __init__(self, channel: int, told: Mapping[str, Any]) -> None:
        # Functions are looked up when they are called: all take a tenth of the import.
        flags = sys.getdlopenflags()
        sys.setdlopenflags(os.RTLD_LAZY)
        import torch

        sys.setdlopenflags(flags)
        self.torch = torch
        self.channel = channel
        torch.set_grad_enabled(False)
        if told["threads"]:
            torch.set_num_threads(told["threads"])
        self.spin = bool(told["spin"])
        self.cuda = told["device"] == "cuda"
        if self.cuda:
            torch.cuda.init()  # type: ignore[no-untyped-call]
        self.lend = (open_cuda if self.cuda else open_shared)(torch, told["arena"])
        cycles = told.get("gate_cycles", 0), told.get("hold_cycles", 0)
        self.clock: Any = CudaClock(torch, *cycles) if self.cuda else Clock()
        self.trap = Trap(torch, told["forbidden"], "CUDA" if self.cuda else "CPU")
        self.shapes: dict[int, list[Views]] = {}
        self.nothing: Solve = nothing_on_gpu if self.cuda else nothing
        self.solve: Solve = nothing
        self.setup: Solve | None = None

    def answer(self, status: int, nonce: bytes, times: tuple[int, int, int] = (0, 0, 0)) -> None:
        """Send a frame."""
        operation = 0
        if self.trap.called:
            status, operation, self.trap.called = FORBIDDEN, self.trap.called, 0
        os.write(self.channel, UP.pack(MAGIC_UP, status, operation, *times, nonce))

    def run(self, solve: Solve, calls: Sequence[Views]) -> tuple[int, int, int]:
        """Event, host and processor time of calls, ns; they are done when this returns."""
        clock = self.clock
        clock.gate()
        processor, host = _processor(), _now()
        started = clock.start()
        for views in calls:
            solve(*views)
        host = _now() - host
        event = clock.stop(started)
        return event, host, _processor() - processor

    def lay_out(self, number: int, told: Mapping[str, Any]) -> None:
        """Make the tensors of every slot of a shape, each over bytes of the arena."""
        self.shapes[number] = [
            tuple(self.view(one, base) for one in told["tensors"]) for base in told["slots"]
        ]

    def view(self, told: Mapping[str, Any], base: int) -> Any:
        """A tensor at an offset of the arena, in a storage of its own.

        torch.compile takes tensors of one storage for such as may overlap: it refuses some of
        them, and compiles anew where others lie elsewhere.
        """
        held = self.lend(base + told["offset"], told["bytes"])
        seen = held.view(getattr(self.torch, told["dtype"])).view(told["shape"])
        return seen.new_empty(0).set_(held.untyped_storage(), 0, seen.shape, seen.stride())

    def load(self, files: Mapping[str, str]) -> None:
        """Import the solution from files of its own; its errors are the caller's."""
        folder = Path(SCRATCH, "solution")
        for name, content in files.items():
            if name.endswith(".pyc"):
                continue  # what runs is what a reader of the sources sees
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(content))
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        spec = importlib.util.spec_from_file_location("solution", folder / "solution.py")
        if spec is None or spec.loader is None:
            raise ImportError("solution.py cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules["solution"] = module
        spec.loader.exec_module(module)
        solve = getattr(module, "solve", None)
        if not callable(solve):
            raise TypeError("solution.py has no function solve")
        self.solve = solve
        self.setup = getattr(module, "setup", None)

    def act(self, command: int, shape: int, slots: bytes, payload: bytes) -> tuple[int, int, int]:
        """Do one command; what it took, ns."""
        if command == FILES:
            self.load(json.loads(payload)["files"])
        elif command == SHAPE:
            self.lay_out(shape, json.loads(payload))
        elif command in (EMPTY, HOLD, CALL):
            called = {EMPTY: self.nothing, HOLD: self.hold, CALL: self.solve}[command]
            return self.run(called, [self.shapes[shape][slot] for slot in slots])
        elif command == SETUP:
            return self.run(self.setup or self.solve, [self.shapes[shape][slots[0]]])
        elif command == TRACE:
            self.trace(self.shapes[shape][slots[0]])
        return (0, 0, 0)

    def hold(self, *tensors: Any) -> None:
        """The empty call, and the device kept busy."""
        self.nothing(*tensors)
        self.clock.hold()

    def trace(self, views: Views) -> None:
        """Run one call under torch's profiler and print the names of kernels or operations."""
        torch: Any = self.torch
        # That of all devices imports a compiler first, which takes as long as torch itself.
        seen = torch.autograd.profiler.profile(use_kineto=True)
        if self.cuda:
            seen = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        with seen:
            self.solve(*views)
            self.clock.wait()
        took = "device_time_total" if self.cuda else "cpu_time_total"
        rows = [[one.key, int(one.count), float(getattr(one, took))] for one in seen.key_averages()]
        sys.stderr.write("\nkbtrace " + json.dumps(rows) + "\n")
        sys.stderr.flush()

    def serve(self) -> None:
        """Do what is asked until the channel is closed."""
        while True:
            head = receive(self.channel, DOWN.size, spin=self.spin)
            _, command, count, shape, size, nonce, slots = DOWN.unpack(head)
            payload = receive(self.channel, size)
            times, status = (0, 0, 0), DONE
            try:
                times = self.act(command, shape, slots[:count], payload)
            except BaseException as error:  # noqa: BLE001 - whatever a solution raises is its result
                status = self.status(error)
                traceback.print_exc()
                sys.stderr.write(ERROR_END + "\n")
                sys.stderr.flush()
            self.answer(status, nonce, times)

    def status(self, error: BaseException) -> int:
        """The status that says what was raised."""
        memory = (MemoryError, self.torch.cuda.OutOfMemoryError)
        told = "can't allocate memory" in str(error)
        return OUT_OF_MEMORY if isinstance(error, memory) or told else RAISED


def nothing(*tensors: object) -> None:
    """The empty call, which shows what a call costs that does nothing."""


def nothing_on_gpu(*tensors: Any) -> None:
    """The empty call where a gate hides what the host does.

    It takes the host about as long as to launch a kernel: a processor that had other things to do
    meanwhile is slower to see the end and to answer.
    """
    for tensor in tensors:
        for _ in range(8):
            tensor.reshape(-1)[:1]


def receive(channel: int, size: int, *, spin: bool = False) -> bytes:
    """Exactly `size` bytes; the process ends when the grader closes its side.

    To be woken costs a sleeping process up to hundreds of microseconds: one that spins has none.
    """
    found = bytearray()
    while spin and not select.select([channel], [], [], 0)[0]:
        pass
    while len(found) < size:
        part = os.read(channel, min(size - len(found), 1 << 20))
        if not part:
            os._exit(0)
        found += part
    return bytes(found)


def open_shared(torch: ModuleType, told: Mapping[str, Any]) -> Lend:
    """What gives bytes of the arena: memory that the grader shares by a file descriptor."""
    held = mmap.mmap(told["fd"], told["bytes"])
    return lambda start, size: torch.frombuffer(held, dtype=torch.uint8, offset=start, count=size)


def open_cuda(torch: ModuleType, told: Mapping[str, Any]) -> Lend:
    """What gives bytes of the arena: device memory that the grader owns, by its IPC handle."""
    # Makes the context that the driver's calls need.
    torch.zeros(1, device="cuda")
    driver = ctypes.CDLL("libcuda.so.1")
    handle = Handle.from_buffer_copy(bytes.fromhex(told["ipc"]))
    address = ctypes.c_uint64()
    driver.cuIpcOpenMemHandle_v2.argtypes = [ctypes.c_void_p, Handle, ctypes.c_uint]
    code = driver.cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, 1)
    if code:
        raise RuntimeError(f"the arena cannot be opened: CUDA's driver says {code}")
    return lambda start, size: torch.as_tensor(Lent(address.value + start, size), device="cuda")


class Handle(ctypes.Structure):
    """What stands for another process's device memory."""

    _fields_ = (("bytes", ctypes.c_char * 64),)


class Lent:
    """Device memory at an address, as torch takes it in."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "strides": None,
            "version": 3,
        }  # fmt: skip


def main() -> None:
    """Serve on the channel whose number is the one argument."""
    channel = int(sys.argv[1])
    head = receive(channel, DOWN.size)
    _, _, _, _, size, nonce, _ = DOWN.unpack(head)
    told = json.loads(receive(channel, size))
    # Nothing of what an import makes is garbage, and to look for some takes a sixth of it.
    gc.disable()
    worker = Worker(channel, told)
    gc.enable()
    worker.answer(DONE, nonce)
    worker.serve()


if __name__ == "__main__":
    main()
