"""`python -m bench.scripted [SCRIPTS]`: a server by hand, until SIGTERM or ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from bench.scripted import SHIPPED, load_scripts, serve
from kbsite.errors import KbsiteError


def main() -> int:
    """Serve, and say where on stdout; the exit code."""
    parser = argparse.ArgumentParser("bench.scripted", description="Plays scripts to CLIs.")
    parser.add_argument("scripts", type=Path, nargs="?", default=SHIPPED, metavar="SCRIPTS")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep requests in this folder")
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        scripts = load_scripts(options.scripts)
        with serve(scripts, port=options.port, folder=options.keep) as server:
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            stop.wait()
    except KbsiteError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
