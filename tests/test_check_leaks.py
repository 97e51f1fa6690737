"""Leaks: what kbsite.yaml says of them, and which audits name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kbsite.check import check
from kbsite.store.files import folder_digest
from kbsite.store.settings import Settings
from tests.conftest import MakeRun, MakeSettings

CLAMP = {
    "id": "clamp", "title": "Clamped inputs", "problem": "softmax", "meant": "To sum exactly.",
    "happened": "A sum of nothing.",
}  # fmt: skip
AUDIT = {"verdict": "rubric_leak", "implication": "Forbid it.", "leak": "clamp"}


def told(settings: Settings) -> list[str]:
    home = settings.path.parent
    return [one.text.replace(f"{home}/", "") for one in check([settings.path])]


def with_leaks(
    home: Path, make_settings: MakeSettings, make_run: MakeRun, *leaks: dict[str, Any]
) -> Settings:
    """A site whose kbsite.yaml has some leaks, with one run that names the leak `clamp`."""
    settings = make_settings(home, site={"leaks": list(leaks)})
    present = folder_digest(settings.problems / "softmax")
    make_run(settings.runs / "demo", audit=AUDIT, problem_hash=present)
    return settings


def test_a_leak_that_an_audit_names_is_fine(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    assert told(with_leaks(tmp_path, make_settings, make_run, CLAMP)) == []


def test_a_leak_that_no_audit_names_is_a_warning(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    other = {**CLAMP, "id": "other"}
    [finding] = told(with_leaks(tmp_path, make_settings, make_run, CLAMP, other))

    assert finding == (
        "kbsite.yaml:8: warning: leaks[1].id: no audit names 'other', so no board shows it"
    )


@pytest.mark.parametrize(
    ("changed", "key", "message"),
    [
        ({"id": "Clamp It"}, "leaks[1].id", "small letters"),
        ({"id": "clamp"}, "leaks[1].id", "leaks[0] has the same id, 'clamp'"),
        ({"problem": "nothing"}, "leaks[1].problem", "no problem is called 'nothing'"),
        ({"title": " "}, "leaks[1].title", "empty"),
        ({"meant": ""}, "leaks[1].meant", "empty"),
        ({"happened": ""}, "leaks[1].happened", "empty"),
    ],
)
def test_what_a_leak_must_not_say_is_named_by_line_and_key(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun,
    changed: dict[str, str], key: str, message: str,
) -> None:  # fmt: skip
    second = {**CLAMP, "id": "second", **changed}
    findings = told(with_leaks(tmp_path, make_settings, make_run, CLAMP, second))
    [error] = [text for text in findings if ": error: " in text]
    line = 8 + list(CLAMP).index(key.rpartition(".")[2])

    assert error.startswith(f"kbsite.yaml:{line}: error: {key}: ")
    assert message in error


def test_a_leak_without_a_problem_is_fine(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    whole = {key: value for key, value in CLAMP.items() if key != "problem"}

    assert told(with_leaks(tmp_path, make_settings, make_run, whole)) == []


@pytest.mark.parametrize("missing", ["id", "title", "meant", "happened"])
def test_a_leak_without_one_of_its_texts_is_named_by_line_and_key(
    tmp_path: Path, make_settings: MakeSettings, missing: str
) -> None:
    settings = make_settings(tmp_path)
    texts = [f"    {key}: {value}" for key, value in CLAMP.items() if key != missing]
    lines = ["title: A site", "boards: []", "leaks:", "  - problem: softmax"]
    settings.path.write_text("\n".join([*lines, *(t for t in texts if "problem" not in t)]))
    [error] = told(settings)

    assert error.startswith("kbsite.yaml:4: error: ")
    assert f"leaks[0].{missing}: missing" in error


def test_an_audit_that_cannot_be_read_names_no_leak(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = with_leaks(tmp_path, make_settings, make_run, CLAMP)
    [audit] = settings.runs.rglob("audit.yaml")
    audit.write_text("verdict: [")

    assert any("no audit names 'clamp'" in text for text in told(settings))
