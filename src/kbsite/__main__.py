"""`python -m kbsite` is `kbsite`."""

from __future__ import annotations

import gc
import sys

from kbsite.streams import begin_in_utf8, open_closed


def main() -> None:
    """Run the command line."""
    begin_in_utf8()
    # All that is loaded stays: to look for cycles in it, again and again, takes as long as a tenth
    # of it. The command that is asked for has them looked for again.
    gc.disable()
    open_closed()
    try:
        from kbsite.cli import main as run

        run()
    except KeyboardInterrupt:
        # Whoever presses Ctrl-C before the command line is there to notice.
        sys.exit("Aborted!")


if __name__ == "__main__":
    main()
