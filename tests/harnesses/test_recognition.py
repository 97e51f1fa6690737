"""Whose file it is: each that is known is claimed by one format of all CLIs, the right one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kbsite import harnesses
from kbsite.harnesses.form import Format, matches
from kbsite.harnesses.lines import lines
from kbsite.importers.recognition import head
from tests.harnesses.reading import BESIDE, CORPUS, beside, corpus
from tests.harnesses.test_transcripts_beside import CAPTURES

FORMS = [form for module in harnesses.ALL for form in module.FORMATS]
COMMITTED = Path(__file__).parent / "captures"


def claimed(head: list[Mapping[str, object]]) -> list[str]:
    return [form.id for form in FORMS if form.recognises(head)]


def stored(form: Format, scenario: Path) -> Iterator[Path]:
    """The files of a format in a captured run that hold at least one object of their own."""
    for path in sorted(scenario.rglob("*")):
        name = str(path.relative_to(scenario))
        note = name.endswith(".meta.json")
        found = path.is_file() and any(matches(name, glob) for glob in form.globs)
        if found and not note and head(path, form.read):
            yield path


def of_captures(root: Path, folders: Mapping[str, str]) -> list[tuple[str, Path]]:
    return [
        (form.id, path)
        for module in harnesses.ALL
        if module.HARNESS.id in folders
        for form in module.FORMATS
        for scenario in sorted(root.glob(folders[module.HARNESS.id]))
        for path in stored(form, scenario)
    ]


HERE = of_captures(
    COMMITTED, {module.HARNESS.id: f"{module.HARNESS.id}/*/" for module in harnesses.ALL}
)
THERE = of_captures(BESIDE / "captures", {key: f"{value}*/*/" for key, value in CAPTURES.items()})
CORPUS_FILES = [
    (form.id, path) for form in FORMS for path in corpus(form.id) if path.suffix != ".eval"
]
OTHERS = [
    path
    for folder in ("other", "harbor-trial", "derived")
    for path in sorted((CORPUS / folder).rglob("*"))
    if path.suffix in {".json", ".jsonl", ".txt"}
]


@pytest.mark.parametrize(("form", "path"), HERE, ids=lambda value: getattr(value, "name", value))
def test_a_captured_file_is_claimed_by_its_format_alone(form: str, path: Path) -> None:
    (read,) = [one.read for one in FORMS if one.id == form]
    assert claimed(head(path, read)) == [form]


ODD: tuple[object, ...] = (None, 7, [], {}, [["x"]], {"x": []})


def altered(value: object, depth: int = 4) -> Iterator[object]:
    """A row with something else in the place of each value within it."""
    if depth and isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: odd} for odd in (*ODD, *altered(inner, depth - 1)))
    elif depth and isinstance(value, list):
        yield from (
            [one, *value[1:]] for one in (*ODD, *altered(value[:1] and value[0], depth - 1))
        )


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_whatever_stands_in_the_place_of_a_value_is_recognised_or_not(form: Format) -> None:
    path = next((path for name, path in (*HERE, *CORPUS_FILES) if name == form.id), None)
    if path is None:
        pytest.skip("no file of this format is here")
    known = head(path, form.read)[:12]
    for number, row in enumerate(known):
        for other in altered(row):
            rows: list[Any] = [*known[:number], other, *known[number + 1 :]]
            for each in FORMS:
                assert each.recognises(rows) in (True, False), each.id


@beside
def test_each_captured_file_beside_the_checkout_is_claimed_by_its_format_alone() -> None:
    found = {str(path.relative_to(BESIDE)): claimed(head(path, lines)) for _, path in THERE}

    assert found == {str(path.relative_to(BESIDE)): [form] for form, path in THERE}
    assert {form for form, _ in THERE} >= {"qwen-session", "claude-session", "gemini-chat"}


@beside
def test_each_file_of_the_corpus_is_claimed_by_its_format_alone() -> None:
    found = {str(path.relative_to(CORPUS)): claimed(head(path, lines)) for _, path in CORPUS_FILES}

    assert found == {str(path.relative_to(CORPUS)): [form] for form, path in CORPUS_FILES}


@beside
def test_no_other_file_is_claimed_by_two_formats() -> None:
    found = {str(path): claimed(head(path, lines)) for path in OTHERS}

    assert {path: forms for path, forms in found.items() if len(forms) > 1} == {}


QWEN: dict[str, Any] = {"uuid": "1", "parentUuid": None, "sessionId": "s", "version": "0.24.4"}
CLAUDE: dict[str, Any] = QWEN | {"isSidechain": False, "version": "2.1.0"}


@pytest.mark.parametrize(
    ("row", "form"),
    [
        (QWEN | {"type": "user", "message": {"role": "user", "parts": []}}, "qwen-session"),
        (QWEN | {"type": "system", "subtype": "x", "systemPayload": {}}, "qwen-session"),
        (CLAUDE | {"type": "user", "message": {"role": "user", "content": []}}, "claude-session"),
        (CLAUDE | {"type": "system", "subtype": "x", "content": "y"}, "claude-session"),
    ],
)
def test_rows_with_the_same_keys_are_told_apart_by_their_content(row: Any, form: str) -> None:
    assert claimed([row]) == [form]


@pytest.mark.parametrize(
    "head", [[], [{}], [{"type": "user"}], [{"type": "result"}], [{"sessionId": "s"}]]
)
def test_what_says_too_little_is_claimed_by_nobody(head: Any) -> None:
    assert claimed(head) == []
