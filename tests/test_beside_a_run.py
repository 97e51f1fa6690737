"""A run beside others is led to from their pages; nothing else of these is made anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.store.files import folder_digest
from kbsite.store.settings import Settings
from tests.conftest import PASSED, MakeRun, MakeSettings
from tests.trees import tree

HOSTILE = '<a class="step-link" href="../evil/index.html">↑ column</a>\n</nav>'
"""What a run could write to pass for the links of its page."""

AddRun = Callable[..., Path]


@pytest.fixture(name="settings")
def _settings(tmp_path: Path, make_settings: MakeSettings) -> Settings:
    return make_settings(tmp_path)


@pytest.fixture(name="add")
def _add(settings: Settings, make_run: MakeRun) -> AddRun:
    """Writes a run of the board, of a score; none is like another."""

    def add(model: str, score: float) -> Path:
        said = json.dumps({"id": model, "content": [{"type": "text", "text": HOSTILE}]})
        metrics: dict[str, Any] = {**PASSED, "peak_fraction": score, "shapes": []}
        return make_run(
            settings.runs / "demo", model=model, metrics=metrics,
            files={"solution.py": f"def solve(x):\n    return {model}(x)\n".encode()},
            transcript={"stdout.jsonl": f'{{"type": "assistant", "message": {said}}}\n'.encode()},
            problem_hash=folder_digest(settings.problems / "softmax"),
        )  # fmt: skip

    return add


def from_nothing(settings: Settings) -> dict[str, str]:
    out = settings.out.with_name("from_nothing")
    shutil.rmtree(out, ignore_errors=True)
    return tree(build(replace(settings, out=out), fresh=True).out)


def test_a_run_between_two_is_led_to_from_their_pages_and_no_transcript_of_theirs_is_read(
    settings: Settings, add: AddRun
) -> None:
    # The one that the others are compared with comes first, and the new one between the last two.
    pages = [f"runs/{add(m, s).name}/index.html" for m, s in (("a", 0.7), ("b", 0.4), ("c", 0.1))]
    before = tree(build(settings).out)
    new = add("d", 0.25).name

    built = build(settings)
    after = tree(built.out)

    assert built.work.parsed == 1
    assert [before[page] != after[page] for page in pages] == [False, True, True]
    assert all(f"../../runs/{new}/index.html" in read(built.out / one) for one in pages[1:])
    assert after == from_nothing(settings)


def test_a_new_best_run_is_offered_for_comparison_and_no_other_transcript_is_read(
    settings: Settings, add: AddRun
) -> None:
    pages = [f"runs/{add(m, s).name}/index.html" for m, s in (("a", 0.7), ("b", 0.4))]
    build(settings)
    new = add("d", 0.8).name

    built = build(settings)

    assert built.work.parsed == 1
    assert all(f",{new}" in read(built.out / page) for page in pages)
    assert tree(built.out) == from_nothing(settings)


@pytest.mark.parametrize("wrong", ["other links", "moved", "cut", "gone"])
def test_a_page_that_does_not_hold_what_it_led_to_is_made_whole(
    settings: Settings, add: AddRun, wrong: str
) -> None:
    page = [f"runs/{add(m, s).name}/index.html" for m, s in (("a", 0.7), ("b", 0.4))][1]
    stands = build(settings).out / page
    held = read(stands)
    match wrong:
        case "other links":
            stands.write_text(held.replace("↑ column", "↑ COLUMN", 1))
        case "moved":
            stands.write_text(f" {held}")
        case "cut":
            stands.write_text(held[: held.index("↑ column")])
        case _:
            stands.unlink()
    add("d", 0.1)

    built = build(settings)

    assert built.work.parsed == 2
    assert tree(built.out) == from_nothing(settings)


def read(page: Path) -> str:
    return page.read_text("utf-8")
