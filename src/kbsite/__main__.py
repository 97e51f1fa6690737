"""`python -m kbsite` is `kbsite`."""

from __future__ import annotations

from kbsite.cli import main

if __name__ == "__main__":
    main()
