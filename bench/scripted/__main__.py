"""`python -m bench.scripted [SCRIPTS]`: a server by hand, until SIGTERM or ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from bench.scripted import SHIPPED, load_scripts, serve
from kbsite.errors import KbsiteError


def _port(text: str) -> int:
    """A port; ValueError for what is none, which argparse tells."""
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"expected 0 to 65535, got {port}")
    return port


def main() -> int:
    """Serve, and say where on stdout; the exit code."""
    parser = argparse.ArgumentParser("bench.scripted", description="Plays scripts to CLIs.")
    parser.add_argument("scripts", type=Path, nargs="?", default=SHIPPED, metavar="SCRIPTS")
    parser.add_argument("--port", type=_port, default=0, help="0, the default, takes a free one")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep requests in this folder")
    options = parser.parse_args()
    # Waited for at the end; blocked here, they are so in the threads of the server, too.
    ends = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        scripts = load_scripts(options.scripts)
        with serve(scripts, port=options.port, folder=options.keep) as server:
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            signal.sigwait(ends)
    except KbsiteError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
