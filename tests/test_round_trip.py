"""Every text, thought, command, argument and output of a transcript stands in the built pages."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from kbsite.build import build
from kbsite.harnesses import ALL
from kbsite.harnesses.form import matches
from kbsite.harnesses.lines import mapping
from kbsite.importers.harbor import import_trials
from kbsite.importers.transcript import import_transcripts
from kbsite.model.event import (
    AgentStart,
    Event,
    Finish,
    Malformed,
    Message,
    Notice,
    Role,
    Thought,
    ToolCall,
    ToolKind,
    ToolResult,
    Trace,
    Unknown,
)
from kbsite.store.files import Stored
from kbsite.store.records import InvalidFileError
from kbsite.store.runs import StoredRun, read_run
from kbsite.text import visible
from kbsite.transcripts import events, shown
from tests.conftest import MakeRun, MakeSettings

ROOT = Path(__file__).parents[1]
BESIDE = ROOT.parent / "shared"
PROSE = 16_000
"""Characters up to which a text of the model is shown as Markdown."""

_STEP = re.compile(r'^<li class=(?:"[^"]*"|\w+) id=([\w-]+)', re.MULTILINE)
_RESULT = re.compile(r"<(?:details|p class=dim) id=([\w-]+)")
_FOLDED = re.compile(r"</pre><details><summary>[\d,]+ lines unchanged</summary><pre>")
"""Where a diff folds what is far from any change."""
_ECHO = re.compile(
    r"<pre[^>]*>\n?([^<]*)</pre>"
    r"<p class=dim>lines (\d+) to (\d+) as changed above\n"
    r"(?:<pre[^>]*>\n?([^<]*)</pre>)?</details>"
)
"""Where an output repeats lines of a file that its diff shows."""
_END = re.compile(r'^</ol>\n(?=<section|<nav|<div class="steps|</section)', re.MULTILINE)
_LINK = re.compile(r'<a href="([^"]*)"(?: title="([^"]*)")? rel="noopener nofollow">')
_TAG = re.compile(r"<[^>]*>")
_ENVELOPE = re.compile(r"\s*\*\*\* (?:Begin|End|Add|Update|Delete) ")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\b\d+[.)](?=\s|$)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def said(text: str) -> str:
    """What a page can say of a text: line ends are one character, hidden characters have signs."""
    return visible(_COLOUR.sub("", text).replace("\r\n", "\n"))


def escaped(text: str) -> str:
    """A text as it stands within JSON."""
    return visible(json.dumps(text, ensure_ascii=False)[1:-1])


def written(text: str) -> str:
    """A text as most CLIs write it within JSON."""
    return json.dumps(text)[1:-1]


@lru_cache(maxsize=64)
def spellings(text: str) -> tuple[str, ...]:
    """The ways in which a page may hold a text, the one without its colours first."""
    bare = visible(text.replace("\r\n", "\n"))
    return said(text), bare, escaped(text), written(text)


def words(text: str) -> list[str]:
    """The words of a text without the marks of Markdown; entities and addresses are spelt out."""
    for _ in range(3):
        text = html.unescape(text)
    return _WORD.findall(unquote(text))


def holds_in_order(held: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether the wanted words stand among those held, in their order."""
    rest = iter(held)
    return all(word in rest for word in wanted)


@dataclass(slots=True)
class Shown:
    """The part of the pages that shows one step, with the pages of its long texts."""

    source: str
    _sides: tuple[str, str] | None = None
    _text: str | None = None
    _words: list[str] | None = None

    @property
    def text(self) -> str:
        """What a browser shows of it."""
        if self._text is None:
            self._text = html.unescape(_TAG.sub("", self.source))
        return self._text

    @property
    def unfolded(self) -> str:
        """What it shows where the parts of its diffs stand together."""
        joined = _FOLDED.sub("", self.source).replace("</pre></details><pre>", "")
        return html.unescape(_TAG.sub("", joined))

    @property
    def sides(self) -> tuple[str, str]:
        """What its diffs show of files before and after."""
        if self._sides is None:
            lines = self.unfolded.split("\n")
            old, new = (
                "\n".join(line[1:] for line in lines if line[:1] != sign) for sign in ("+", "-")
            )
            self._sides = f"\n{old}\n", f"\n{new}\n"
        return self._sides

    def says(self, text: str) -> bool:
        """Whether it holds a text to the last character, as it is, within JSON, or in a diff."""
        forms = spellings(text)
        bare = forms[1]
        if any(form in self.text for form in dict.fromkeys(forms)):
            return True
        lines = bare.strip("\n")
        if any(lines in side for side in self.sides):
            return True
        return self._patches(lines) or self._echoes(bare)

    def _patches(self, text: str) -> bool:
        """Whether it shows all lines of a patch in their order, as diffs: heads name the files."""
        if not text.lstrip().startswith("*** Begin Patch"):
            return False
        shown = iter([line.rstrip() for line in self.unfolded.split("\n")])
        names = re.findall(r"^\*\*\* (?:Add|Update|Delete) File: (.*)$", text, re.MULTILINE)
        lines = (line.rstrip() for line in text.split("\n") if not _ENVELOPE.match(line))
        return all(name in self.text for name in names) and all(line in shown for line in lines)

    def _echoes(self, text: str) -> bool:
        """Whether it shows a text but for numbered lines, which its diff shows in one stretch."""
        for before, first, last, after in _ECHO.findall(self.source):
            head, tail = f"{html.unescape(before)}\n", f"\n{html.unescape(after)}" if after else ""
            if not (text.startswith(head) and text.endswith(tail)):
                continue
            lines = text[len(head) : len(text) - len(tail)].split("\n")
            signs = [re.match(rf"{n:6d}[\t→]", line) for n, line in enumerate(lines, int(first))]
            bare = "\n".join(["", *(line[7:] for line in lines), ""])
            if all(signs) and len(lines) == int(last) - int(first) + 1 and bare in self.sides[1]:
                return True
        return False

    def tells(self, markdown: str) -> bool:
        """Whether it holds all words of a Markdown text in their order."""
        if self._words is None:
            source = _LINK.sub(r"\0\1 \2\0", self.source)
            # The address stands behind its text, as it does in Markdown.
            spelt = re.sub(r"\0([^\0]*)\0([^\0]*?)</a>", r"\2 \1 ", source)
            self._words = words(_TAG.sub(" ", spelt))
        return holds_in_order(self._words, words(_NUMBER.sub(" ", said(markdown))))


class Pages:
    """What the pages of a run show, step by step."""

    def __init__(self, folder: Path) -> None:
        self.steps: dict[str, Shown] = {}
        self.lines: dict[int, list[Shown]] = {}
        for path in [folder / "index.html", *sorted(folder.glob("steps-*.html"))]:
            self._take(path.read_text("utf-8"))
        for path in sorted(folder.glob("text-*.html")):
            anchor = path.stem.removeprefix("text-").rpartition("-")[0]
            self.steps[anchor].source += "\n" + path.read_text("utf-8")
        self.rest = Shown(_STEP.split((folder / "index.html").read_text("utf-8"))[0])

    def _take(self, page: str) -> None:
        pieces = _STEP.split(page)
        for anchor, source in zip(pieces[1::2], pieces[2::2], strict=True):
            step = Shown(_END.split(source)[0])
            self.steps[anchor] = step
            for name in (anchor, *_RESULT.findall(step.source)):
                if match := re.search(r"L(\d+)", name):
                    self.lines.setdefault(int(match[1]), []).append(step)

    @cached_property
    def every(self) -> Shown:
        """All steps."""
        return Shown("\n".join(step.source for step in self.steps.values()))


_FILLER = re.compile(r"Executed \w+ \w+")
"""What Harbor makes up as the message of a step that is nothing but a call."""

TEXTS: Mapping[str, tuple[set[str], set[str]]] = {
    "claude-session": ({"text", "thinking", "stdout", "stderr"}, {"input"}),
    "claude-stream": ({"text", "thinking", "stdout", "stderr", "result"}, {"input"}),
    "codex-rollout": ({"text"}, {"arguments", "input", "output"}),
    "codex-exec": ({"text", "command", "aggregated_output", "message"}, set()),
    "opencode-export": ({"text", "output", "error"}, {"input"}),
    "opencode-run": ({"text", "output", "error"}, {"input"}),
    "cursor-stream": ({"text", "stdout", "stderr"}, {"args"}),
    "cursor-transcript": ({"text"}, {"input"}),
    "droid-session": ({"text", "thinking"}, {"input"}),
    "copilot-session": ({"content", "detailedContent", "reasoningText"}, {"arguments"}),
    "copilot-stream": ({"content", "detailedContent", "reasoningText"}, {"arguments"}),
    "pi-stream": ({"content", "text", "thinking"}, {"arguments"}),
    "pi-session": ({"content", "summary", "text", "thinking"}, {"arguments"}),
    "mini-trajectory": (
        {"content", "raw_output", "reasoning_content", "text", "traceback"},
        {"arguments"},
    ),
    "atif": ({"message", "reasoning_content", "content"}, {"arguments"}),
}
"""The fields of each format's raw rows that hold texts, and those below which all strings count."""


def strings(value: object, keys: set[str], below: set[str], key: str = "") -> Iterator[str]:
    """The texts of a row: all strings under `keys`, and everything under `below`."""
    if isinstance(value, str):
        if key in keys:
            yield value
        elif key in below:
            yield from _decoded(value)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, keys, below, key)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in ("type", "image_url") and "output" in below:
                continue  # the parts of a Codex output are texts and pictures
            inner = key if key in below else name
            yield from strings(item, keys, below, inner)


def _decoded(text: str) -> Iterator[str]:
    """A string, or the strings of the JSON object that it holds."""
    try:
        held = json.loads(text, strict=False) if text.startswith("{") else None
    except (ValueError, RecursionError):
        held = None
    yield from [text] if held is None else strings(held, set(), {""})


def told(event: Event) -> Iterator[tuple[str, bool]]:
    """The texts of an event, and whether each is shown as Markdown where it is short."""
    match event:
        case Message(role=role, injected=injected):
            yield event.text, role is Role.ASSISTANT and not injected
        case Thought():
            yield event.text, True
        case ToolCall():
            plan = event.tool_kind is ToolKind.PLAN
            for text in strings(event.arguments, set(), {""}):
                yield text, plan and "\n" in text.strip()
        case ToolResult():
            yield event.output, False
        case Notice() | Finish() | Malformed():
            yield event.text, False
        case Unknown():
            yield event.raw, False
        case _:
            pass


@dataclass(slots=True)
class Account:
    """How many strings were looked for, and which were not found."""

    events: int = 0
    rows: int = 0
    lost: list[str] = field(default_factory=list)


def check(stored: StoredRun, pages: Pages, account: Account) -> None:
    """Look for every string of a run, as events tell them and as the raw rows do."""
    found = shown(stored.run.harness, stored.transcripts)
    assert found is not None, stored.run.id
    form, files = found
    own: dict[str, list[Event]] = {file.name: [] for file in files}
    for event in events(form, files):
        own[event.source.file].append(event)
    for file in files:
        quiet: dict[int, bool] = {}
        repeats = False
        for event in own[file.name]:
            # What a file repeats is shown where another file tells it.
            repeats = repeats or (isinstance(event, AgentStart) and event.repeats)
            line = -1 if repeats else event.source.line
            quiet[line] = quiet.get(line, True) and isinstance(event, Trace)
            for text, prose in told(event):
                account.events += 1
                if not _found(text, prose and len(text) <= PROSE, line, pages):
                    account.lost.append(f"{file.path} line {line} {event.kind}: {text[:200]!r}")
        if form.id in TEXTS:
            _check_rows(file, TEXTS[form.id], quiet, pages, account)


def _found(text: str, prose: bool, line: int, pages: Pages) -> bool:
    near = pages.lines.get(line, []) if line >= 0 else list(pages.steps.values())
    if prose:
        return any(step.says(text) or step.tells(text) for step in near)
    return any(step.says(text) for step in near) or pages.every.says(text) or pages.rest.says(text)


def _check_rows(
    file: Stored,
    fields: tuple[set[str], set[str]],
    quiet: Mapping[int, bool],
    pages: Pages,
    account: Account,
) -> None:
    for line, row in _rows(file.path):
        # Its events count parts of sessions, of which a line holds all.
        place = 0 if file.name.startswith("export/") else line
        if quiet.get(place):
            continue
        near = pages.lines.get(place, [])
        own, before = _apart(row)
        for text in strings(own, *fields):
            account.rows += 1
            if _FILLER.fullmatch(text) or any(step.says(text) for step in near):
                continue
            # All steps of a run are long: they are looked at where the step at hand says nothing.
            if any(step.tells(text) for step in near) or pages.every.says(text):
                continue
            if near or not any(step.tells(text) for step in pages.steps.values()):
                account.lost.append(f"{file.path} line {line} raw: {text[:200]!r}")
        for text in strings(before, *fields):
            if not any(step.tells(text) for step in pages.steps.values()):
                account.lost.append(f"{file.path} line {line} repeated: {text[:200]!r}")


def _apart(row: object) -> tuple[object, object]:
    """A row, and what it says once more of those before it, which stands where they do."""
    if not isinstance(row, dict) or "normalizedMessages" not in (data := mapping(row.get("data"))):
        return row, None
    own = {key: told for key, told in data.items() if key != "normalizedMessages"}
    return {**row, "data": own}, data["normalizedMessages"]


def _rows(path: Path) -> Iterator[tuple[int, object]]:
    """The rows of a file with their lines; the whole document, as line 0, where it is one."""
    data = path.read_bytes().decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    lines = data.split("\n")
    try:
        if not lines[0].startswith("{") or (len(lines) > 1 and lines[0].strip() == "{"):
            yield 0, json.loads(data)
            return
    except ValueError:
        pass
    for number, line in enumerate(lines, start=1):
        try:
            yield number, json.loads(line, strict=False)
        except (ValueError, RecursionError):
            continue  # a line that is no JSON is a Malformed event, and looked for as that


CAPTURES = {
    "kimi-cli": "kimi",
    "kimi-code": "kimi",
    "claude-code": "claude",
    "gemini-cli": "gemini",
}
"""The harness of a folder of captures, where the folder is not called by its id."""


def captured(folder: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The harness and the files of each format of each scenario below a folder of captures."""
    for scenario in sorted(folder.glob("*/*/")):
        ids = (module.HARNESS.id for module in ALL)
        harness = next((name for name in ids if scenario.parent.name.startswith(name)), "")
        files = {str(p.relative_to(scenario)): p for p in scenario.rglob("*") if p.is_file()}
        for form in next((m.FORMATS for m in ALL if m.HARNESS.id == harness), []):
            names = [name for name in files if _any(name, form.globs)]
            names += [name for name in files if names and _any(name, form.beside)]
            if names:
                yield harness, {name: files[name].read_bytes() for name in sorted(names)}


def _any(name: str, globs: Iterable[str]) -> bool:
    return any(matches(name, glob) for glob in globs)


def imported(folder: Path, board: Path) -> None:
    """A run for each file below a folder that is a transcript of a known format."""
    for path in sorted(folder.rglob("*")):
        # Session logs that were put one after the other: each is there by itself, too.
        if "large" in path.parts or not path.is_file():
            continue
        try:
            import_transcripts([path], board)
        except InvalidFileError:
            continue  # settings, results: not a transcript


def account(home: Path, out: Path) -> Account:
    """What of all runs below a folder is in the pages that were built of them."""
    found = Account()
    for folder in sorted(home.iterdir()):
        if folder.is_dir():
            check(read_run(folder), Pages(out / "runs" / folder.name), found)
    return found


AS_IT_IS = {"redact": {"on": False}}
"""What is covered of a transcript does not stand in its pages, and is tested elsewhere."""


def test_every_string_of_our_own_transcripts_stands_in_the_pages(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, site=AS_IT_IS)
    board = settings.runs / "demo"
    for run in sorted((ROOT / "runs" / "demo").iterdir()):
        shutil.copytree(run, board / run.name)
    for harness, files in captured(ROOT / "tests" / "harnesses" / "captures"):
        make_run(board, harness=harness, model="captured", transcript=files)
    found = account(board, build(settings).out)

    assert found.lost == []
    assert found.events > 500
    assert found.rows > 200


@pytest.mark.skipif(not BESIDE.is_dir(), reason="no transcripts beside this checkout")
def test_every_string_of_every_transcript_beside_the_checkout_stands_in_the_pages(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path, site=AS_IT_IS)
    board = settings.runs / "demo"
    imported(BESIDE / "corpus", board)
    for harness, files in captured(BESIDE / "captures"):
        make_run(board, harness=harness, model="captured", transcript=files)
    found = account(board, build(settings).out)

    assert found.lost == []
    assert found.events > 20_000
    assert found.rows > 20_000


@pytest.mark.skipif(not BESIDE.is_dir(), reason="no trials beside this checkout")
def test_every_string_of_a_trial_of_harbors_stands_in_the_pages(
    tmp_path: Path, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path, site=AS_IT_IS)
    board = settings.runs / "demo"
    trials = list(import_trials([BESIDE / "corpus" / "harbor-trial"], board))
    found = account(board, build(settings).out)

    assert all(trial.folder for trial in trials)
    assert found.lost == []
    assert found.events > 150
    assert found.rows > 150
