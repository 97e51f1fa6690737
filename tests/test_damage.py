"""Transcripts in every state of damage: built without an exception, nothing lost, place named."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from kbsite.build import build
from kbsite.check import check
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings

CAPTURES = Path(__file__).parent / "harnesses" / "captures"
STDOUT = {
    "claude": CAPTURES / "claude" / "quick" / "stdout.jsonl",
    "codex": CAPTURES / "codex" / "quick" / "stdout.jsonl",
    "kimi": CAPTURES / "kimi" / "kimi-cli-quick" / "stdout.jsonl",
    "opencode": CAPTURES / "opencode" / "quick" / "stdout.jsonl",
}
NOISE = b"Traceback (most recent call last): <b>not JSON</b>"


def damaged(whole: bytes) -> dict[str, tuple[bytes, str]]:
    """A transcript in each state of damage, and a text that its page must still hold."""
    first, _, rest = whole.partition(b"\n")
    return {
        "cut in the last line": (whole.rstrip()[:-20], whole.rstrip()[-40:-20].decode()),
        "noise between lines": (first + b"\n" + NOISE + b"\n" + rest, NOISE.decode()),
        "NUL": (first + b"\n\0\0not\0text\n" + rest, "␀␀not␀text"),
        "bad UTF-8": (first + b"\nbad \xff\xfe bytes\n" + rest, "bad \\xff\\xfe bytes"),
        "two objects on one line": (whole.replace(b"\n", b"", 1), ""),
        "no object at all": (b'[1, 2]\n"text"\n17\nnull\n', '"text"'),
        "an unknown row": (b'{"type": "zz-new", "x": "kept <i>as it is</i>"}\n' + whole, "zz-new"),
        "deep": (b'{"a":' * 20000 + b"\n" + whole, '{"a":{"a":'),
        "no transcript": (b"\x7fELF\x02\x01 binary \x00\x01\x02" * 50, "ELF"),
    }


STATES = list(damaged(b"{}\n{}\n"))


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings) -> Settings:
    return make_settings(tmp_path, problems=[])


def page_of(settings: Settings, run: Path) -> str:
    """All that the pages of a run hold: its own, the parts of its transcript, its long texts."""
    built = build(settings)

    assert [finding for finding in built.findings if "cannot be made" in finding.message] == []
    pages = sorted((built.out / "runs" / run.name).glob("*.html"))
    return html.unescape("".join(page.read_text("utf-8") for page in pages))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("harness", STDOUT)
def test_damage_loses_nothing_and_is_named(
    harness: str, state: str, settings: Settings, make_run: MakeRun
) -> None:
    data, kept = damaged(STDOUT[harness].read_bytes())[state]
    board = settings.runs / "demo"
    run = make_run(board, harness=harness, transcript={"stdout.jsonl": data})
    page = page_of(settings, run)
    warnings = [finding.text for finding in check([run], settings)]

    assert kept in page
    place = f"{run}/transcript/stdout.jsonl:"
    # kimi-cli prints its errors as plain text between its JSON: such lines are no damage.
    said = ("noise between lines", "bad UTF-8", "no object at all")
    sound = state == "two objects on one line" or (harness == "kimi" and state in said)
    assert any(place in warning for warning in warnings) != sound, warnings


@pytest.mark.parametrize("harness", STDOUT)
def test_an_empty_transcript_is_said_to_be_empty(
    harness: str, settings: Settings, make_run: MakeRun
) -> None:
    run = make_run(settings.runs / "demo", harness=harness, transcript={"stdout.jsonl": b""})

    assert "The transcript is empty." in page_of(settings, run)


def test_a_run_without_transcript_says_so(settings: Settings, make_run: MakeRun) -> None:
    run = make_run(settings.runs / "demo")

    assert "There is no transcript of this run." in page_of(settings, run)


def test_a_run_of_a_harness_without_a_parser_keeps_its_files(
    settings: Settings, make_run: MakeRun
) -> None:
    run = make_run(settings.runs / "demo", harness="droid", transcript={"stdout.jsonl": b"{}\n"})
    page = page_of(settings, run)

    assert "There is no transcript of this run." in page
    assert "raw/transcript/stdout.jsonl" in page


def whole(page: str) -> str:
    """A page without the stretches that a browser lays out its long lines in."""
    return re.sub("</?span[^>]*>", "", page)


def test_a_line_of_50_mb_is_read_whole(settings: Settings, make_run: MakeRun) -> None:
    text = "".join(f"{number:010d}" for number in range(5_000_000))
    row = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": text}]}}
    data = json.dumps(row).encode() + b"\n"
    run = make_run(settings.runs / "demo", transcript={"stdout.jsonl": data})
    page = page_of(settings, run)

    assert len(data) > 50_000_000
    assert text in whole(page)


def test_a_last_line_of_50_mb_that_is_cut_is_kept(settings: Settings, make_run: MakeRun) -> None:
    data = b'{"type":"user","x":"' + b"y" * 50_000_000
    run = make_run(settings.runs / "demo", transcript={"stdout.jsonl": data})
    page = page_of(settings, run)

    assert "y" * 50_000_000 in whole(page)
    assert "stdout.jsonl line 1: the file ends in the middle of this line" in page
