"""What is recorded of how a run was made, and the attempts beside it, as its page shows them.

Made here and not by a template: of a small page these rows and links are a fifth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from markupsafe import Markup

from kbsite.model.run import Run
from kbsite.model.transcript import Transcript
from kbsite.pages.facts import duration, moment
from kbsite.pages.page import Site, address, hardware_path, run_path
from kbsite.text import plain

Recorded = TypeVar("Recorded")


def provenance(site: Site, run: Run, shown: Transcript | None) -> Markup:
    """The rows of a table: a name and what is recorded, and a last one of what was not."""
    host = run.host
    facts: list[tuple[str, str | int | None]] = [
        ("run", run.id),
        ("started", _written(run.started, moment)),
        ("ended", _written(run.ended, moment)),
        ("budget", _written(run.budget_seconds, duration)),
        ("exit code", run.exit_code),
        *_signal(run),
        ("models in the transcript", ", ".join(shown.models) or None if shown else None),
        ("provider", run.provider),
        ("base URL&#39;s host", run.base_url_host),
        ("command", " ".join(run.command) if run.command else None),
        ("environment (names)", " ".join(run.environment) if run.environment else None),
        ("problem hash", run.problem_hash),
        ("prompt hash", run.prompt_hash),
        ("usage from", run.usage_source),
        ("cost from", run.cost_source),
        ("sandbox", run.sandbox),
        ("hardware", _hardware(site, run)),
        ("GPU", host.gpu),
        ("driver", host.driver),
        ("CUDA", host.cuda),
        ("torch", host.torch),
        ("triton", host.triton),
        ("CPU", host.cpu),
        ("OS", host.os),
        ("kbsite", run.kbsite_version),
        ("git commit", run.git_commit),
    ]
    rows = [_row(name, value) for name, value in facts if value is not None]
    if unknown := ", ".join(name for name, value in facts if value is None):
        rows.append(_row("not recorded", Markup(f'<span class="dim">{unknown}</span>')))  # noqa: S704
    return Markup("".join(rows))  # noqa: S704 - the rows are markup


def _written(value: Recorded | None, written: Callable[[Recorded], str]) -> str | None:
    return None if value is None else written(value)


def _signal(run: Run) -> list[tuple[str, str | int | None]]:
    """What ended the process; nothing where it ended by itself, with an exit code."""
    return [] if run.signal is None and run.exit_code is not None else [("signal", run.signal)]


def _row(name: str, value: str | int) -> str:
    told = value if isinstance(value, Markup) else plain(str(value))
    return f'<tr><th scope="row">{name}</th><td>{told}</td></tr>\n'


def _hardware(site: Site, run: Run) -> str | None:
    """Its name, which leads to its page where it has one."""
    if run.hardware is None or run.hardware not in site.hardware:
        return run.hardware
    return _link(address(hardware_path(run.hardware), seen_from=run_path(run.id)), run.hardware)


def near(run_id: str, ids: Sequence[str]) -> Markup:
    """Some attempts, the run itself among them, each of the others with a link to its page."""
    links = [f"<b>{plain(run_id)}</b>" if one == run_id else _run_link(one) for one in ids]
    return Markup(", ".join(links))  # noqa: S704 - the links are markup


# An attempt stands on the pages of twenty others, which are made next. All lie equally deep.
@lru_cache(maxsize=1000)
def _run_link(run_id: str) -> Markup:
    path = run_path(run_id)
    return _link(address(path, seen_from=path), run_id)


def _link(target: str, words: str) -> Markup:
    return Markup(f'<a href="{plain(target)}">{plain(words)}</a>')  # noqa: S704 - escaped
