"""`python -m bench.running ORDER.json`: one run in a process of its own, its supervisor.

At the end it prints one line of JSON: folder, reason, detail, retryable. SIGTERM or SIGINT ends the
session and completes the run; a second one ends this process at once, and with it the sandbox.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from bench.running.orders import OrderFile, read_order
from bench.running.stopping import stopped_by_signals
from bench.sandbox import best
from kbsite.errors import KbsiteError, MachineError

if TYPE_CHECKING:
    from bench.running.run import Job


def main() -> int:
    """Carry out an order; the exit code: 0 if a run is complete, however its session ended.

    1 and 2 say that the order cannot be carried out anywhere, 3 that this machine failed.
    """
    parser = argparse.ArgumentParser("bench.running", description="Carries out one run.")
    parser.add_argument("order", type=Path, metavar="ORDER.json")
    options = parser.parse_args()
    with stopped_by_signals() as stop:
        try:
            job = _job(read_order(options.order))
            from bench.running.run import run

            ended = run(job, lambda _: None, stop)
        except KbsiteError as error:
            sys.stderr.write(f"bench.running: {error}\n")
            return error.exit_code
        except OSError as error:
            # A disk that is full, a socket that cannot be had: the machine's, not the contender's.
            sys.stderr.write(f"bench.running: this machine failed: {error}\n")
            return MachineError.exit_code
    told = {
        "folder": str(ended.folder), "reason": ended.reason, "detail": ended.detail,
        "retryable": ended.retryable,
    }  # fmt: skip
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


def _job(told: OrderFile) -> Job:
    """What an order needs; to try the sandbox is mostly waiting, and all is loaded meanwhile."""
    with ThreadPoolExecutor(1, thread_name_prefix="sandbox") as pool:
        if told.sandbox is None:
            # It is remembered; where none can be used, `job_of` says so.
            pool.submit(best)
        from bench.running.supervising import job_of
    return job_of(told)


if __name__ == "__main__":
    sys.exit(main())
