"""What is published of runs is shown as text, whatever it holds, and is a file of the site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding, Severity

SHOWN_AS_TEXT = frozenset({".json", ".jsonl", ".log", ".py", ".yaml", ".txt", ".gz"})
"""How names of runs' own files may end; `pages.page.raw_path` gives them."""


def is_raw(path: str) -> bool:
    """Whether a file of the site is one of a run's own."""
    head, _, rest = path.partition("/")
    return head == "runs" and rest.partition("/")[2].startswith("raw/")


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Files of runs that a browser would run, and what is in the folder and no file."""
    for refused in site.refused:
        message = (
            f"{refused.reason}; expected files only: it would be published as what it leads to"
        )
        yield Finding(Severity.ERROR, refused.name, message)
    for name in site.files:
        if not is_raw(name):
            continue
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in SHOWN_AS_TEXT:
            message = f"a browser may take {suffix or 'this'} for a page; expected a name in .txt"
            yield Finding(Severity.ERROR, name, message)
