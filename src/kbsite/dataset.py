"""The runs of a site as a dataset for the Hugging Face hub: lines, transcripts, annotations, card.

    README.md                     the dataset card
    runs.jsonl                    a run a line
    transcripts/<run-id>/...      what its CLI wrote
    solutions/<run-id>/...        solution.py and the files that it needs
    annotations/<run-id>.yaml     its audit

Whatever is covered on the site is covered here: files are read as the build reads them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec
import yaml

from kbsite.errors import UsageError
from kbsite.model.listing import ListedRun
from kbsite.pages import listing
from kbsite.pages.page import Site
from kbsite.pages.social import base_url
from kbsite.store.files import Stored
from kbsite.store.runs import AUDIT, SIDECARS, SOLUTION, TRANSCRIPT, StoredRun
from kbsite.store.swapping import put_in_place
from kbsite.store.writing import write_bytes, write_text
from kbsite.text import visible

CARD = "README.md"
RUNS = "runs.jsonl"
MARKER = ".kbsite-dataset"
"""File that says that a folder was made by an export, so that the next one may replace it."""

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Names that the hub has for numbers of lines below these."""


def write_dataset(site: Site, out: Path) -> int:
    """Write the dataset, whole or not at all; how many runs it holds.

    Names that begin with a dot stay, such as the history of a folder that is pushed to the hub.
    UsageError where something stands at its place that no export made.
    """
    # A link is followed: what it leads to is replaced, and not the link.
    out = out.resolve()
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: a file; name a folder")
    folder = out.with_name(f"{out.name}.partial")
    for place in (out, folder):
        if place.is_dir() and any(place.iterdir()) and not (place / MARKER).exists():
            message = "not made by an export, so not replaced; empty it or name another"
            raise UsageError(f"{place}: {message}")
    # Of an export that was killed.
    _put_aside(folder, out)
    write_text(folder / MARKER, "")
    listed = listing.listed(site)
    lines = [_line(site, run, folder) for run in listed]
    write_text(folder / RUNS, "".join(lines))
    write_text(folder / CARD, card(site, listed))
    put_in_place(folder, out)
    _put_aside(folder, out)
    return len(listed)


def _put_aside(old: Path, out: Path) -> None:
    """Remove what an export made; what others keep beside it goes to where the dataset stands."""
    if old.is_dir() and out.is_dir():
        for one in old.glob(".*"):
            if one.name != MARKER and not os.path.lexists(out / one.name):
                one.rename(out / one.name)
    shutil.rmtree(old, ignore_errors=True)


def _line(site: Site, run: ListedRun, folder: Path) -> str:
    """The line of a run, whose files are put in their places."""
    stored = site.by_id[run.id]
    told: dict[str, object] = msgspec.to_builtins(run)
    base = base_url(site)
    told["page"] = f"{base}{told['page']}" if base else None
    told |= {
        "grader": stored.metrics.grader,
        "ms": stored.metrics.ms,
        "summary": stored.audit.summary if stored.audit else None,
        "implication": stored.audit.implication if stored.audit else None,
        "counts": listing.counts(stored) == "yes",
        "transcripts": list(_put(_transcripts(stored), folder)),
        "solutions": list(_put(_solutions(stored), folder)),
        "annotation": next(_put(_annotation(stored), folder), None),
    }
    # In ASCII: a name may hold bytes that are no UTF-8.
    return json.dumps(told, allow_nan=False) + "\n"


def _put(files: Iterator[tuple[str, Stored]], folder: Path) -> Iterator[str]:
    for name, file in files:
        write_bytes(folder / name, file.read())
        yield name


def _transcripts(stored: StoredRun) -> Iterator[tuple[str, Stored]]:
    for file in stored.files:
        if file.name.startswith(TRANSCRIPT):
            yield f"transcripts/{stored.run.id}/{file.name.removeprefix(TRANSCRIPT)}", file


def _solutions(stored: StoredRun) -> Iterator[tuple[str, Stored]]:
    for file in stored.files:
        if file.name == SOLUTION or file.name.startswith(SIDECARS):
            yield f"solutions/{stored.run.id}/{file.name}", file


def _annotation(stored: StoredRun) -> Iterator[tuple[str, Stored]]:
    file = stored.file(AUDIT)
    if file is not None and stored.audit is not None:
        yield f"annotations/{_file_name(stored.run.id)}.yaml", file


_LONGEST = 200
"""Bytes of a run's id from which it is cut where it begins the name of a file: systems have names
of 255."""


def _file_name(run_id: str) -> str:
    """The id as a name that letters may follow; no two runs have the same."""
    held = run_id.encode("utf-8", "surrogateescape")
    if len(held) <= _LONGEST:
        return run_id
    start = held[: _LONGEST - 20].decode("utf-8", "ignore")
    return f"{start}-{sha256(held).hexdigest()[:16]}"


def card(site: Site, runs: tuple[ListedRun, ...]) -> str:
    """The dataset card: what the hub reads, then what a person does."""
    title = " ".join(visible(site.config.title).split())
    size = next((name for most, name in _SIZES if len(runs) < most), "n>1M")
    head = {
        "pretty_name": title,
        "tags": ["agent-traces", "gpu-kernels", "benchmark"],
        "task_categories": ["text-generation"],
        "size_categories": [size],
        "dataset_info": [{"config_name": "runs", "features": [*_features()]}],
        "configs": [{"config_name": "runs", "data_files": RUNS}],
    }
    boards = "\n".join(
        f"* {_plain(board.config.title)}: {len(board.rows)} contenders, {len(board.columns)}"
        f" problems, {board.attempts} runs. {board.config.represents.sentence}"
        for board in site.boards
    )
    audited = sum(run.verdict is not None for run in runs)
    base = base_url(site)
    where = f"The site: <{base}>\n\n" if base else ""
    return (
        f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n"
        f"# {_plain(title)}\n\n{_plain(site.config.tagline)}\n\n{where}"
        f"{len(runs)} runs of coding agents on kernel problems, {audited} of them audited.\n\n"
        f"{boards}\n\n{_LAYOUT}"
    )


_TEXT, _NUMBER, _WHOLE, _TRUTH = "string", "float64", "int64", "bool"

FEATURES: Mapping[str, str | list[str] | Mapping[str, str]] = {
    "id": _TEXT, "page": _TEXT, "board": _TEXT, "on_board": _TRUTH, "problem": _TEXT,
    "harness": _TEXT, "model": _TEXT, "effort": _TEXT, "variant": _TEXT, "hardware": _TEXT,
    "status": _TEXT, "peak_fraction": _NUMBER, "interval": [_NUMBER], "verdict": _TEXT,
    "end_reason": _TEXT, "cut": _TRUTH, "started": _TEXT, "seconds": _NUMBER,
    "cost_usd": _NUMBER, "estimate_usd": _NUMBER,
    "usage": dict.fromkeys(("input", "cache_read", "cache_write", "output", "reasoning"), _WHOLE),
    "attempt": _WHOLE, "attempts": _WHOLE, "grader": _TEXT, "ms": _NUMBER, "summary": _TEXT,
    "implication": _TEXT, "counts": _TRUTH, "transcripts": [_TEXT], "solutions": [_TEXT],
    "annotation": _TEXT,
}  # fmt: skip
"""What a line holds, by key: a type of the hub, a list of one, or a record of some.

A reader that takes the types from the first lines fails at the first value of a key that is null
in all of these.
"""


def _features() -> Iterator[Mapping[str, object]]:
    """FEATURES as a card has to say them."""
    for name, kind in FEATURES.items():
        match kind:
            case str():
                yield {"name": name, "dtype": kind}
            case list():
                yield {"name": name, "list": kind[0]}
            case _:
                inner = [{"name": key, "dtype": own} for key, own in kind.items()]
                yield {"name": name, "struct": inner}


def _plain(text: str) -> str:
    """A text within Markdown that can start no markup."""
    words = " ".join(visible(text).split())
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#!|&" else sign for sign in words)


_LAYOUT = """## Layout

| path | holds |
|---|---|
| `runs.jsonl` | a run a line: contender, problem, status, score, verdict, tokens, paths of files |
| `transcripts/<run-id>/` | what the CLI wrote, its own logs and those of sub-agents among it |
| `solutions/<run-id>/` | the final `solution.py` and the files that it needs |
| `annotations/<run-id>.yaml` | the auditor's verdict with its quotes |

`peak_fraction` is the time that the hardware's ceilings allow over the measured time, as the
geometric mean over the shapes; null unless the run passed. A run whose `counts` is false was taken
out of the ranking by its verdict.
What stands as `[redacted]` was covered before publication. Made by `kbsite export hf`.
"""
