"""What is recorded of how a run was made, and the attempts beside it, as its page shows them.

Made here and not by a template: of a small page these rows and links are a fifth.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from markupsafe import Markup

from kbsite.model.run import Run
from kbsite.model.transcript import Transcript
from kbsite.pages.facts import duration, moment
from kbsite.pages.page import Site, address, hardware_path, run_path
from kbsite.text import plain


def provenance(site: Site, run: Run, shown: Transcript | None) -> Markup:
    """The rows of a table: a name and what is recorded, for each thing that may be."""
    host, budget = run.host, run.budget_seconds
    rows = [
        _row("run", run.id),
        _row("started", moment(run.started)),
        _row("ended", moment(run.ended)),
        _row("budget", None if budget is None else duration(budget)),
        _row("exit code", run.exit_code),
        _row("signal", run.signal),
        _row("models in the transcript", ", ".join(shown.models) or None if shown else None),
        _row("provider", run.provider),
        _row("base URL&#39;s host", run.base_url_host),
        _row("command", " ".join(run.command) if run.command else None),
        _row("environment (names)", " ".join(run.environment) if run.environment else None),
        _row("problem hash", run.problem_hash),
        _row("prompt hash", run.prompt_hash),
        _row("usage from", run.usage_source),
        _row("cost from", run.cost_source),
        _row("sandbox", run.sandbox),
        _row("hardware", _hardware(site, run)),
        _row("GPU", host.gpu),
        _row("driver", host.driver),
        _row("CUDA", host.cuda),
        _row("torch", host.torch),
        _row("triton", host.triton),
        _row("CPU", host.cpu),
        _row("OS", host.os),
        _row("kbsite", run.kbsite_version),
        _row("git commit", run.git_commit),
    ]
    return Markup("".join(rows))  # noqa: S704 - the rows are markup


def _row(name: str, value: str | int | None) -> str:
    told = _UNKNOWN if value is None else value if isinstance(value, Markup) else plain(str(value))
    return f'<tr><th scope="row">{name}</th><td>{told}</td></tr>\n'


_UNKNOWN = '<span class="dim">not recorded</span>'


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
