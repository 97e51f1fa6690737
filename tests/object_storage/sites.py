"""Small sites for publishing, and what a reader of a bucket finds."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from kbsite.reading import MARKER

_LINK = re.compile(r'(?:href|src)="([^"#?]+)[^"]*"')


def write_site(folder: Path, files: Mapping[str, str]) -> Path:
    """A site of these files in a folder, in the place of what stood there."""
    for old in folder.rglob("*") if folder.exists() else ():
        if old.is_file() and old.relative_to(folder).as_posix() not in files:
            old.unlink()
    for name, text in {**files, MARKER: "1\n"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return folder


def site_of(version: int, runs: range, style: str = "style") -> dict[str, str]:
    """A site with a page for each of some runs; pages, data and scripts tell the version."""
    links = "".join(f'<a href="runs/{run}/index.html">{run}</a>' for run in runs)
    files = {
        "index.html": f'{_head("")}{version}<a href="runs/index.html">all</a>{links}',
        "runs/index.html": _head("../") + "".join(f'<a href="{run}/index.html">' for run in runs),
        f"static/{style}.css": f"/* {version} */",
        "data/runs.json": f"[{version}]",
    }
    for run in runs:
        files[f"runs/{run}/index.html"] = (
            f'{_head("../../")}<a href="../index.html">up</a><a href="part.html">more</a>'
            f'<script src="part.js"></script>{run} {version}'
        )
        files[f"runs/{run}/part.html"] = f"{_head('../../')}{run} {version}"
        files[f"runs/{run}/part.js"] = f"// {run} {version}"
    return {
        name: text.replace("static/style.css", f"static/{style}.css")
        for name, text in files.items()
    }


def _head(up: str) -> str:
    return f'<link href="{up}static/style.css"><a href="{up}data/runs.json">data</a>'


def reached(held: Mapping[str, bytes]) -> set[str]:
    """All that a reader reaches from the first page; KeyError for what is not there."""
    seen: set[str] = set()
    waiting = ["index.html"] if "index.html" in held else []
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        text = held[name].decode()
        links = _LINK.findall(text) if name.endswith(".html") else []
        here = posixpath.dirname(name)
        waiting += [posixpath.normpath(posixpath.join(here, unquote(link))) for link in links]
    return seen


def of_one(held: Mapping[str, bytes], versions: Sequence[Mapping[str, str]]) -> bool:
    """Whether all that a reader reaches stands so in one of the versions, whole."""
    return all(
        held[name].decode() in [files.get(name) for files in versions] for name in reached(held)
    )
