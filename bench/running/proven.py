"""What the sandbox was seen to keep on this machine: tried once in a process, beside its work."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from bench.sandbox import self_test
from bench.sandbox.box import Proven, Sandbox


@cache
def proving(sandbox: Sandbox) -> Future[Proven]:
    """The self-test of a sandbox, under way or done; its errors are raised by `result`."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="self-test")
    try:
        return pool.submit(self_test, sandbox)
    finally:
        pool.shutdown(wait=False)


def level(proven: Proven) -> str:
    """The sandbox and its level, as run.json has it."""
    return f"{proven.sandbox} ({proven.level})"
