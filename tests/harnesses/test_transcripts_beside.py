"""Every transcript that lies beside the checkout, against what is known of it.

`expected/<harness>.json` holds, for each file, the number of events by kind, the unknown types and
the token totals. `python tests/harnesses/test_transcripts_beside.py --write HARNESS` writes it
anew from what the parser says now: read the difference before you commit it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kbsite.fold.tokens import Ledger
from kbsite.harnesses import ALL, HarnessModule
from kbsite.harnesses.form import Format, matches
from kbsite.model.event import AnyEvent, Event, TokenUse, Unknown

OTHER = {
    "copilot-session": "other/*/copilot-cli__*.jsonl",
    "opencode-server": "other/rivet-dev+sandbox-agent/all-events.json",
    "pi-session": "other/*/[ps]*.jsonl",
}
"""Where the corpus holds formats that have no folder of their own."""

ROOT = Path(__file__).parents[2]
BESIDE = ROOT.parent / "shared"
EXPECTED = Path(__file__).parent / "expected"


ENDINGS = {".json", ".jsonl", ".eval"}

MADE_UP = {"codex_exec_json_phase_and_unknown.jsonl"}
"""Files that somebody made by hand with a row of a type that no CLI writes."""


def files_of(form: Format) -> Iterator[Path]:
    """The files of one format beside the checkout: corpus folders are named by format."""
    for folder in [BESIDE / "corpus" / form.id, BESIDE / "corpus" / "derived" / form.id]:
        yield from sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS)
    if form.id in OTHER:
        yield from sorted((BESIDE / "corpus").glob(OTHER[form.id]))
    mutated = BESIDE / "corpus" / "derived" / "mutations"
    yield from sorted(mutated.glob(f"{form.id}__*"))
    yield from sorted((BESIDE / "corpus" / "derived" / "large").glob(f"{form.id}__*"))


def captured(module: HarnessModule, form: Format) -> Iterator[tuple[Path, str]]:
    """The files of one format in our own captures, with their path as it is in transcript/."""
    folders = CAPTURES.get(module.HARNESS.id)
    if folders is None:
        return
    for scenario in sorted((BESIDE / "captures").glob(f"{folders}*/*/")):
        for path in sorted(scenario.rglob("*")):
            name = path.relative_to(scenario)
            globs = form.globs + form.beside
            if path.is_file() and any(matches(str(name), glob) for glob in globs):
                yield path, str(name)


CAPTURES = {
    "claude": "claude-code-", "codex": "codex-", "gemini": "gemini-cli-", "kimi": "kimi-",
    "opencode": "opencode-", "qwen": "qwen-code-",
}  # fmt: skip
"""What the folders of a CLI's captures begin with; of some CLIs there are none."""


def parsed(form: Format, path: Path, name: str) -> list[Event]:
    with path.open("rb") as stream:
        return list(form.parse(form.read(stream), name))


def account(events: list[Event]) -> dict[str, Any]:
    ledger = Ledger()
    for event in events:
        if isinstance(event, TokenUse):
            ledger.add(event)
    return {
        "events": dict(sorted(Counter(event.kind for event in events).items())),
        "unknown": dict(sorted(Counter(e.type for e in events if isinstance(e, Unknown)).items())),
        "usage": {k: v for k, v in asdict(ledger.total).items() if v is not None},
    }


def cases(module: HarnessModule) -> Iterator[tuple[str, Format, Path, str]]:
    for form in module.FORMATS:
        for path in files_of(form):
            yield f"{form.id} {path.relative_to(BESIDE)}", form, path, path.name
        for path, name in captured(module, form):
            yield f"{form.id} {path.relative_to(BESIDE)}", form, path, name


@pytest.mark.skipif(not BESIDE.is_dir(), reason="no transcripts beside this checkout")
@pytest.mark.parametrize("module", ALL, ids=[module.HARNESS.id for module in ALL])
def test_every_transcript_beside_the_checkout_reads_as_expected(module: HarnessModule) -> None:
    expected = json.loads((EXPECTED / f"{module.HARNESS.id}.json").read_text("utf-8"))
    found = {}
    for case, form, path, name in cases(module):
        events = parsed(form, path, name)
        found[case] = account(events)
        unknown = sum(found[case]["unknown"].values())
        allowed = 1 if path.name in MADE_UP else len(events) / 100
        assert unknown <= allowed, f"{case}: {found[case]['unknown']}"
        assert_it_can_be_packed(events, case)

    assert expected == found


def assert_it_can_be_packed(events: list[Event], case: str) -> None:
    """What comes back of packed events is told alike: times in the same zone, numbers alike."""
    try:
        packed = msgspec.msgpack.encode(events)
    except (UnicodeError, OverflowError):
        return  # halves of characters, numbers of more than eight bytes
    back = msgspec.msgpack.decode(packed, type=list[AnyEvent])
    wrong = [(one, two) for one, two in zip(events, back, strict=True) if repr(one) != repr(two)]
    assert not wrong, f"{case}: {wrong[0]}"


def write(harness: str) -> None:
    module = next(module for module in ALL if module.HARNESS.id == harness)
    found = {case: account(parsed(form, path, name)) for case, form, path, name in cases(module)}
    EXPECTED.mkdir(exist_ok=True)
    text = (
        "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n"
    )
    (EXPECTED / f"{harness}.json").write_text(text, "utf-8")


if __name__ == "__main__" and sys.argv[1:2] == ["--write"]:
    write(sys.argv[2])
