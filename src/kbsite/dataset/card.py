"""The dataset card: what the hub reads, then what a person does, with what a person wrote there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

import yaml
from msgspec import Struct

from kbsite.errors import UsageError
from kbsite.model.board import Board
from kbsite.model.config import canary_line
from kbsite.model.counts import number_of
from kbsite.model.listing import ListedRun
from kbsite.model.usage import Usage
from kbsite.pages.page import Site
from kbsite.pages.social import base_url
from kbsite.text import visible

CARD = "README.md"
RUNS = "runs.jsonl"
LINE = "<!-- What stands below this line is kept when the dataset is exported anew. -->"
"""Below it a person may write."""

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Names that the hub has for numbers of lines below these."""
_PARTS = re.compile(r"---\n(.*?\n)?---(?:\n|\Z)(.*)", re.DOTALL)


class Card(Struct, frozen=True):
    """A card."""

    head: Mapping[str, object]
    """What the hub reads."""
    text: str
    kept: str = "\n"
    """What stands below the LINE."""

    @property
    def whole(self) -> str:
        """The file."""
        head = yaml.safe_dump(dict(self.head), sort_keys=False, allow_unicode=True)
        return f"---\n{head}---\n{self.text}{LINE}{self.kept}"

    @property
    def digest(self) -> str:
        """Of what stands above the LINE and is no head."""
        return sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()

    def over(self, held: Card, heads: Sequence[Mapping[str, object]]) -> Card:
        """The card with what a person changed in one of these `heads`; none, where none is known.

        Without them only keys that no export writes are the person's.
        """
        ours = heads or [{key: held.head.get(key) for key in self.head}]
        own = {
            key: value
            for key, value in held.head.items()
            if not any(key in head and head[key] == value for head in ours)
        }
        return Card({**self.head, **own}, self.text, held.kept)


def card_at(folder: Path) -> Card:
    """The card that stands in a folder, whoever wrote it; without anything if there is none.

    UsageError where its head cannot be read.
    """
    place = folder / CARD
    if not place.is_file():
        return Card({}, "")
    # Where git writes other line ends, nobody changed anything.
    text = place.read_text("utf-8", "surrogateescape").replace("\r\n", "\n").removeprefix("\ufeff")
    parts = _PARTS.fullmatch(text)
    try:
        head = yaml.safe_load(parts[1] or "") if parts else None
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        raise UsageError(f"{place}: its head is no YAML, so it is not replaced: {error}") from error
    if head is not None and not isinstance(head, dict):
        raise UsageError(f"{place}: its head has no keys, so it is not replaced")
    own, line, kept = (parts[2] if parts else text).partition(LINE)
    return Card(head or {}, own, kept if line else "\n")


def card(site: Site, runs: tuple[ListedRun, ...]) -> Card:
    """The card of a site's dataset, as long as nobody wrote anything into it."""
    title = " ".join(visible(site.config.title).split())
    size = next((name for most, name in _SIZES if len(runs) < most), "n>1M")
    head: dict[str, object] = {
        "pretty_name": title,
        "tags": ["agent-traces", "gpu-kernels", "benchmark"],
        "task_categories": ["text-generation"],
        "size_categories": [size],
        "dataset_info": [{"config_name": "runs", "features": [*_features()]}],
        "configs": [{"config_name": "runs", "data_files": RUNS}],
    }
    boards = "\n".join(
        f"* {_plain(board.config.title)}: {number_of(len(board.rows), 'contender')},"
        f" {number_of(len(board.columns), 'problem')}, {number_of(board.run_count, 'run')}."
        f" {board.config.represents.sentence}{_own_metric(board)}"
        for board in site.boards
    )
    audited = sum(run.verdict is not None for run in runs)
    base = base_url(site)
    where = f"The site: <{base}>\n\n" if base else ""
    line = canary_line(site.config.canary)
    return Card(
        head,
        f"\n# {_plain(title)}\n\n{_plain(site.config.tagline)}\n\n{where}"
        f"{number_of(len(runs), 'run')} of coding agents on kernel problems,"
        f" {audited} of them audited.\n\n"
        f"{boards}\n\n{_LAYOUT}\n" + (f"\n{line}\n" if line else ""),
    )


def _own_metric(board: Board) -> str:
    """What has to be known of a board whose scores are no shares of a ceiling."""
    metric = _plain(board.config.metric)
    return "" if board.config.in_shares else f" Its `peak_fraction` is another figure: {metric}."


_TEXT, _NUMBER, _WHOLE, _TRUTH = "string", "float64", "int64", "bool"
_MOMENT = "timestamp[us, tz=UTC]"
"""As text, a moment would lose its zone where those of all runs have whole seconds."""

FEATURES: Mapping[str, str | list[str] | Mapping[str, str]] = {
    "id": _TEXT, "page": _TEXT, "board": _TEXT, "on_board": _TRUTH, "problem": _TEXT,
    "harness": _TEXT, "model": _TEXT, "effort": _TEXT, "variant": _TEXT, "hardware": _TEXT,
    "status": _TEXT, "peak_fraction": _NUMBER, "interval": [_NUMBER], "ms": _NUMBER,
    "verdict": _TEXT, "counts": _TRUTH, "end_reason": _TEXT, "cut": _TRUTH, "started": _MOMENT,
    "seconds": _NUMBER, "cost_usd": _NUMBER, "cost_is_estimate": _TRUTH, "estimate_usd": _NUMBER,
    "estimate_is_least": _TRUTH,
    "usage": dict.fromkeys((kind.name for kind in fields(Usage)), _WHOLE),
    "attempt": _WHOLE, "attempts": _WHOLE, "grader": _TEXT, "summary": _TEXT,
    "implication": _TEXT, "transcripts": [_TEXT], "solutions": [_TEXT], "annotation": _TEXT,
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
What stands as `(redacted)` was covered before publication. Made by `kbsite export hf`.
"""
