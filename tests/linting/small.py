"""A site made by hand, smaller than any that a build makes, for each test to spoil."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kbsite.linting import lint
from kbsite.model.finding import Finding

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
)
URL = "https://bench.example/hard/"
RUN = "runs/r/index.html"


def page(body: str, *, head: str = "", policy: str | None = POLICY, parts: str = "") -> str:
    """A page of the site; `parts` says which lines scripts bring into it."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n' if policy else ""
    told = f' data-parts="{parts}"' if parts else ""
    top = f'<!doctype html>\n<html lang="en"{told}><head>\n{meta}{head}</head>\n'
    return f"{top}<body>\n{body}\n</body></html>\n"


STYLED = (
    '<link rel="stylesheet" href="./static/a.css"><script src="./static/a.js" defer></script>\n'
)
LINKS = (
    '<a href="./runs/r/index.html">run</a> <a href="https://host.example/">away</a>'
    ' <a href="./data/feed.xml">feed</a> <a href="./data/runs.json">runs</a>'
    ' <a href="./data/site.json">site</a> <a href="./compare/index.html?runs=r">compare</a>'
)
TRANSCRIPT = (
    '<h1 id="main">run</h1> <a href="#L3">a step</a> <a href="#L30">brought</a>'
    ' <a href="#L41:2-5">lines</a> <a href="raw/run.json">raw</a>\n'
    '<ol class="steps"><li id="L3">three</li></ol>\n'
    '<section data-page="steps-0002.html">'
    '<a href="steps-0002.html">more</a></section><a href="parts-0001.html">others</a>'
    '<a href="#L66">listed</a>'
    '<table class="source"><tr id="solution-L1"><td><a href="solution.html#solution-L2">2</a></td>'
    '</tr></table><a href="#solution-L1-2">some</a> <a href="#solution-L2-3">left out</a>'
)
PARTS = "steps-0002.html 20-50 agent-1-9|parts-0001.html 60-70"
ATOM = (
    '<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>a</id>'
    f'<link href="{URL}runs/r/index.html"/></entry></feed>\n'
)
SITEMAP = (
    '<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    f"<url><loc>{URL}</loc></url><url><loc>{URL}runs/r/</loc></url></urlset>\n"
)

LISTED: dict[str, Any] = {
    "id": "r", "page": RUN, "board": "b", "on_board": True, "problem": "p", "harness": "h",
    "model": "m", "status": "passed", "end_reason": "finished", "cut": False, "usage": {},
    "attempt": 1, "attempts": 1, "counts": True, "ms": None,
    "cost_is_estimate": False, "estimate_is_least": False,
    **dict.fromkeys(("effort", "variant", "hardware", "peak_fraction", "interval", "verdict")),
    **dict.fromkeys(("started", "seconds", "cost_usd", "estimate_usd")),
}  # fmt: skip
"""The run, as data/runs.json has it."""

SOUND: dict[str, str] = {
    "index.html": page(LINKS, head=STYLED),
    "404.html": page('<a href="/hard/">home</a>'),
    RUN: page(TRANSCRIPT, parts=PARTS),
    "runs/r/steps-0002.html": page('<ol><li id="L30">x</li><li id="L40">y</li></ol>'),
    "runs/r/parts-0001.html": page(
        '<a href="steps-0003.html">3</a>', parts="steps-0003.html 60-70"
    ),
    "runs/r/steps-0003.html": page('<ol><li id="L65">x</li></ol>'),
    "runs/r/solution.html": page(
        '<table class="source"><tr id="solution-L1"><td>1</td></tr>'
        '<tr id="solution-L2"><td>2</td></tr></table>'
    ),
    "runs/r/raw/run.json": "{}",
    "runs/r/compare.js": 'kbsiteRun({"id":"fetch(\'https://evil.example/\')"})',
    "compare/index.html": page("compare"),
    "static/a.css": '@import "b.css"; p { background: url(data:image/png;base64,AA) }',
    "static/b.css": "/* url(https://host.example/) */ p { color: red }",
    "static/a.js": "fetch('data.json'); // https://host.example/",
    "data/feed.xml": ATOM,
    "data/runs.json": json.dumps({"format": 1, "runs": [LISTED]}),
    "data/site.json": json.dumps(
        {
            "format": 1,
            "kbsite": "1",
            "config": {"url": URL},
            "boards": [],
            "runs": ["r"],
            "floor_runs": [],
            "problems": [],
            "hardware": {},
            "prices": {"prices": []},
            "findings": [],
        }
    ),
    "sitemap.xml": SITEMAP,
    "robots.txt": f"User-agent: *\n\nSitemap: {URL}sitemap.xml\n",
}
"""Everything that a check looks at, and nothing wrong."""


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """The folder, with these files in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder


def found(folder: Path, files: Mapping[str, str]) -> list[Finding]:
    """What is wrong with a site of these files."""
    return list(lint(written(folder, files)))
