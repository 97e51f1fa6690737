"""The index of texts that Pagefind makes.

The only module of kbsite that starts a process: Pagefind is a program. It is handed copies of the
pages, each with what it belongs to, so that the pages of the site carry nothing of this.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import quote

from kbsite.errors import MachineError
from kbsite.pages.listing import filtered_by
from kbsite.pages.page import INDEX, Site, board_path, from_home, problem_path, run_path
from kbsite.search.blocks import FOLDER
from kbsite.search.words import COLOURS, TOOLS
from kbsite.store.runs import StoredRun
from kbsite.store.writing import write_bytes, write_text
from kbsite.text import plain, visible

ENTRY = "pagefind-entry.json"
"""The file of an index that tells which version of Pagefind made it."""

_NEEDED = ("pagefind.js", "pagefind-worker.js", ENTRY, "wasm.en.pagefind")
"""The files of Pagefind that a page needs beside the index; its own user interfaces it does not."""

SCRIPTS = ("pagefind.js", "pagefind-worker.js")
"""Those of them that are code of pages: the same beside every index of a version of Pagefind."""

_UNQUOTED = "!'()*"
"""What encodeURIComponent leaves as it is, beside what `quote` does."""

_NO_TEXT = "nav, svg, .drawn, .asking, .switch, .tools, .minimap, .steps > * > a, .alarms"
"""What stands on pages to get around, or says of a run what its own text shows further down."""

_BLOCK = re.compile(
    r"</?(?=(?:blockquote|d[dlt]|del|details|div|fig\w+|h\d|ins|li|[ou]l|p|pre|section|small|summary|"
    r"t[dhr]|table)\b)"
)
"""Where a word ends: Pagefind takes what stands on both sides of most tags for one word."""

_TEXT = re.compile(r">[^<]+")
_JOINT = re.compile(r"(?<=\w)(?=['-]*(?:&(?!#39;|#x27;)|[^\w\s<&'-]))(?:&#?\w+;|[^\w\s<&])+(?=\w)")
"""What stands between two words of code: Pagefind would take `torch.nn(x` for one word."""

JOINER = "\u2060"
"""What a joint ends with, before a space that pages do not have: static/search.js drops both."""

_PLACE = re.compile(r'href="index\.html#([^"]*)"')
"""Where a page that holds a long text says which step it is from."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A page of the site whose text can be found."""

    file: str
    """Its place in the site."""
    at: str
    """The page that a hit in it opens."""
    title: str
    filters: Mapping[str, str]


def executable() -> Path:
    """Pagefind's program; MachineError if it is not installed."""
    try:
        from pagefind.service import get_executable
    except ImportError:
        raise MachineError(_MISSING) from None
    found = get_executable()
    if found is None or not Path(found).is_file():
        raise MachineError(_MISSING)
    return Path(found)


_MISSING = (
    "searching in texts needs Pagefind: pip install 'kbsite[search]', or build without --search"
    " and without `search: true` in kbsite.yaml"
)


def index(site: Site, out: Path) -> int:
    """Write the index of a site whose pages lie in `out`; how many pages it covers.

    The same pages make the same index, to the byte. MachineError if Pagefind cannot be run.
    """
    program = executable()
    copies = out / f"{FOLDER}.partial"
    folders = []
    for count, page in enumerate(_pages(site, out), start=1):
        text = (out / page.file).read_text("utf-8")
        folders.append(copies / f"{count:07}")
        write_text(folders[-1] / f"{count:07}.html", _marked(text, page))
    copies.mkdir(parents=True, exist_ok=True)
    made = _made(program, folders, copies)
    shutil.rmtree(copies)
    for path, data in sorted(made.items()):
        if "/" in path or path in _NEEDED or path.endswith(".pf_meta"):
            write_bytes(out / FOLDER / path, data)
    _settle(out / FOLDER)
    return len(folders)


def scripts(folder: Path) -> tuple[str, Mapping[str, bytes]]:
    """The version of the Pagefind that is here, and its SCRIPTS; `folder` is an empty one for it.

    MachineError if Pagefind cannot be run.
    """
    write_text(folder / INDEX, '<!doctype html><html lang="en"><body>word')
    made = _made(executable(), [folder], folder)
    held = {name: made[name] for name in SCRIPTS}
    return str(json.loads(made[ENTRY])["version"]), held


def _settle(folder: Path) -> None:
    """Put the filters that an index names in order: Pagefind writes them in one that changes."""
    entry_path = folder / ENTRY
    entry = json.loads(entry_path.read_text("utf-8"))
    for held in entry["languages"].values():
        path = folder / f"pagefind.{held['hash']}.pf_meta"
        data = _in_order(gzip.decompress(path.read_bytes()))
        language = held["hash"].partition("_")[0]
        held["hash"] = f"{language}_{hashlib.sha256(data).hexdigest()[:10]}"
        write_bytes(folder / f"pagefind.{held['hash']}.pf_meta", gzip.compress(data, mtime=0))
        path.unlink()
    write_text(entry_path, json.dumps(entry, ensure_ascii=False, separators=(",", ":")))


_SIGNATURE = b"pagefind_dcd"
"""What each binary file of Pagefind starts with; CBOR follows."""

_FILTERS = 3
"""Which item of an index's description lists its filters."""


def _in_order(data: bytes) -> bytes:
    start, end = _items(data, len(_SIGNATURE))[_FILTERS]
    filters = _items(data, start)
    first = filters[0][0] if filters else end
    return data[:first] + b"".join(sorted(data[at:to] for at, to in filters)) + data[end:]


def _items(data: bytes, at: int) -> list[tuple[int, int]]:
    """Where each item of the CBOR array at `at` starts and ends."""
    _, count, at = _head(data, at)
    found = []
    for _ in range(count):
        found.append((at, _end(data, at)))
        at = found[-1][1]
    return found


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    """The major type of the CBOR item at `at`, its number, and where what follows starts."""
    kind, short = data[at] >> 5, data[at] & 31
    size = 1 << (short - 24) if short >= 24 else 0
    number = int.from_bytes(data[at + 1 : at + 1 + size], "big") if size else short
    return kind, number, at + 1 + size


def _end(data: bytes, at: int) -> int:
    kind, number, body = _head(data, at)
    match kind:
        case 2 | 3:  # bytes, text
            return body + number
        case 4:  # an array
            return max((end for _, end in _items(data, at)), default=body)
        case _:  # numbers; Pagefind writes nothing else
            return body


def _made(program: Path, folders: Sequence[Path], here: Path) -> Mapping[str, bytes]:
    """The files of an index of the pages of folders, one after the other as they are given.

    Left to find pages itself, Pagefind numbers them as the file system lists them: each file system
    does so in its own way, and the same pages had another index on another machine. Asked to write
    the files itself, it says so and ends before all of them are whole.
    """
    asked: list[Mapping[str, object]] = [
        {"type": "NewIndex", "config": {"exclude_selectors": [_NO_TEXT]}},
        *({"type": "AddDir", "index_id": 0, "path": str(path.absolute())} for path in folders),
        {"type": "GetFiles", "index_id": 0},
    ]
    answers: list[dict[str, Any]] = []
    with TemporaryFile() as stderr:
        # It would take options from its environment and from the folder that it is started in.
        with (
            suppress(BrokenPipeError),  # it ended: its exit code says why
            subprocess.Popen(  # noqa: S603 - a program of our own choice, and no text of a run
                [str(program.absolute()), "--service"], cwd=here, env={},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            ) as process,
        ):  # fmt: skip
            answers = _answers(process, asked)
        stderr.seek(0)
        told = stderr.read().decode("utf-8", "replace").strip()[-500:]
    wrong = next((str(one["message"]) for one in answers if one["type"] == "Error"), "")
    files = next((one["files"] for one in answers if one["type"] == "GetFiles"), ())
    made = {one["path"]: b64decode(one["content"]) for one in files}
    if process.returncode != 0 or wrong or ENTRY not in made:
        message = f"{program} failed with exit code {process.returncode}: {wrong or told}"
        raise MachineError(message)
    return made


def _answers(
    process: subprocess.Popen[bytes], asked: Sequence[Mapping[str, object]]
) -> list[dict[str, Any]]:
    """What Pagefind says to all that it is asked, as far as it comes.

    It ends when its stdin is closed, also that of a build that was killed.
    """
    assert process.stdin
    assert process.stdout
    for number, payload in enumerate(asked, start=1):
        message = json.dumps({"message_id": number, "payload": payload}).encode()
        process.stdin.write(b64encode(message) + b",")
    process.stdin.flush()
    told, held = 0, bytearray()
    while told < len(asked) and (more := os.read(process.stdout.fileno(), 1 << 16)):
        told += more.count(b",")
        held += more
    return [json.loads(b64decode(one))["payload"] for one in bytes(held).split(b",")[:-1]]


def _pages(site: Site, out: Path) -> Iterator[Indexed]:
    yield from about_no_run(site)
    for stored in sorted(site.every_run, key=lambda stored: stored.run.id):
        yield from _pages_of(about(site, stored), out)


def about_no_run(site: Site) -> Iterator[Indexed]:
    """The pages of boards and problems."""
    for board in site.boards:
        path = board_path(board.config.id)
        yield Indexed(path, from_home(path), board.config.title, {"board": board.config.id})
    for problem in sorted(site.problems):
        path = problem_path(problem)
        yield Indexed(path, from_home(path), site.problem_title(problem), {"problem": problem})


def about(site: Site, stored: StoredRun) -> Indexed:
    """The page of a run."""
    path = run_path(stored.run.id)
    title = f"{site.problem_title(stored.run.problem)} by {stored.run.contender.label}"
    return Indexed(path, from_home(path), title, filtered_by(site, stored))


def _pages_of(own: Indexed, out: Path) -> Iterator[Indexed]:
    folder = (out / own.file).parent
    parts, texts = sorted(folder.glob("steps-*.html")), sorted(folder.glob("text-*.html"))
    for held in [folder / INDEX, *parts, *texts]:
        yield replace(own, file=own.file.removesuffix(INDEX) + held.name)


def _marked(text: str, page: Indexed) -> str:
    """A page with what Pagefind has to know of it."""
    told = {"at": page.at, "title": page.title}
    place = _PLACE.search(text) if Path(page.file).name.startswith("text-") else None
    if place:
        told |= {"anchor": place[1], "whole": from_home(page.file)}
    lines = [_line("meta", name, value) for name, value in told.items()]
    lines += [_line("filter", _filter(*held), "1") for held in page.filters.items()]
    spaced = _TEXT.sub(_apart, _BLOCK.sub(r" \g<0>", COLOURS.sub("", TOOLS.sub("", text))))
    marked = spaced.replace("</head>", f"{''.join(lines)}</head>", 1)
    return marked.replace("<main ", "<main data-pagefind-body ", 1)


def _apart(held: re.Match[str]) -> str:
    """A text with the words of its code apart."""
    return _JOINT.sub(rf"\g<0>{JOINER} ", held[0])


def _filter(name: str, value: str) -> str:
    """What a filter's value is called in the index, as static/search.js spells it too.

    Each value is a filter of its own: Pagefind writes several of one in an order that changes.
    """
    return f"{name}-{quote(visible(value), safe=_UNQUOTED)}"


def _line(kind: str, name: str, value: str) -> str:
    return f'<meta data-pagefind-{kind}="{name}[content]" content="{plain(value)}">'
