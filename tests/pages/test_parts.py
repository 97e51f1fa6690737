"""A transcript in parts: how it is cut, what stays when it grows, where long texts go."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbsite.build import build
from kbsite.pages.long_text import HEAD, TAIL, WHOLE, LongText, Overflow
from kbsite.pages.part_lists import HERE, IN_LIST, told
from kbsite.pages.parts import (
    FIRST_ELEMENTS,
    FIRST_STEPS,
    PART_BYTES,
    PART_ELEMENTS,
    PART_STEPS,
    Part,
)
from tests.browser.long_session import LONG, LONG_ROUND, ROUNDS, line_of, session
from tests.conftest import MakeRun, MakeSettings

LOG = "home/.claude/projects/-w/s.jsonl"
STEP = re.compile(r'<li class=(?:"[^"]*"|\w+) id=([\w-]+)')


def pages_of(home: Path, data: bytes, make_settings: MakeSettings, make_run: MakeRun) -> Path:
    settings = make_settings(home, problems=[])
    run = make_run(home / "runs" / "demo", transcript={LOG: data})
    return build(settings).out / "runs" / run.name


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Path:
    return pages_of(tmp_path, session(), make_settings, make_run)


def parts(folder: Path) -> list[str]:
    names = ["index.html", *sorted(path.name for path in folder.glob("steps-*.html"))]
    return [(folder / name).read_text("utf-8") for name in names]


def test_no_part_is_larger_than_it_may_be(folder: Path) -> None:
    first, *others = parts(folder)

    assert len(others) > 3
    assert len(STEP.findall(first)) <= FIRST_STEPS
    for part in others:
        assert len(STEP.findall(part)) <= PART_STEPS
        assert len(part) <= PART_BYTES + 5000


@pytest.mark.parametrize(("count", "sizes"), [
    (0, []), (1, []), (1 + HERE, []), (2 + HERE, [1]), (2 + HERE + IN_LIST, [IN_LIST, 1]),
])  # fmt: skip
def test_of_very_many_parts_the_page_tells_of_the_first_and_lists_of_all_others(
    count: int, sizes: list[int]
) -> None:
    every = [Part(number, 10 * number) for number in range(1, count + 1)]
    here, lists = told(every)

    assert [len(one.parts) for one in lists] == sizes
    assert [*every[:1], *here, *(part for one in lists for part in one.parts)] == every


def test_outputs_that_are_all_colours_fill_a_part_with_few_steps(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    flood = "\x1b[31ma\x1b[32mb" * 150
    rows = []
    for n in range(60):
        use = {"type": "tool_use", "id": f"c{n}", "name": "Bash", "input": {"command": "x"}}
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": flood}
        rows.append({"type": "assistant", "message": {"content": [use]}})
        rows.append({"type": "user", "message": {"content": [result]}})
    data = "\n".join(map(json.dumps, rows)).encode()
    first, *others = parts(pages_of(tmp_path, data, make_settings, make_run))

    # Two parts held 50 and 10,000 elements and more.
    assert first[first.index('<ol class="steps"') :].count("<") < 2 * FIRST_ELEMENTS + 500
    assert max(part.count("<") for part in others) < 2 * PART_ELEMENTS + 100
    assert sum(len(STEP.findall(part)) for part in (first, *others)) == 60
    assert sum(part.count("<u>b</u>") for part in (first, *others)) == 60 * 150


def test_every_step_stands_in_exactly_one_part_in_order(folder: Path) -> None:
    anchors = [anchor for part in parts(folder) for anchor in STEP.findall(part)]

    assert len(anchors) == len(set(anchors))
    lines = [int(anchor[1:].partition("-")[0]) for anchor in anchors]
    assert lines == sorted(lines)
    assert len(anchors) == 3 * ROUNDS + 1


def test_a_call_is_never_split_from_its_result(folder: Path) -> None:
    for part in parts(folder):
        for number in range(ROUNDS):
            call = f'id="L{line_of(number) + 1}"' in part
            result = f'id="L{line_of(number) + 2}"' in part
            assert call == result


def test_what_is_appended_changes_only_the_last_part(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    lines = session().splitlines(keepends=True)
    before = pages_of(tmp_path / "a", b"".join(lines[:-40]), make_settings, make_run)
    after = pages_of(tmp_path / "b", b"".join(lines), make_settings, make_run)
    held = sorted(path.name for path in before.glob("*.html") if path.name != "index.html")
    same = [name for name in held if (before / name).read_bytes() == (after / name).read_bytes()]
    steps = [name for name in held if name.startswith("steps-")]

    assert [name for name in held if name not in same] == steps[-1:]


def test_a_long_output_is_whole_on_a_page_of_its_own(folder: Path) -> None:
    (page,) = folder.glob("text-*.html")

    assert page.name == f"text-L{line_of(LONG_ROUND) + 1}-1.html"
    assert LONG in re.sub("</?span>", "", page.read_text("utf-8"))


@given(st.text(alphabet="ab\n", max_size=40), st.integers(0, 2 * WHOLE))
def test_the_ends_of_a_long_text_are_its_ends(pattern: str, size: int) -> None:
    text = ((pattern or "x") * (size // max(1, len(pattern)) + 1))[:size]
    texts = Overflow()
    ends = texts.ends(text, "L1")
    held = list(texts.take())
    if ends is None:
        assert len(text) <= WHOLE
        assert held == []
        return

    assert text.startswith(ends.head)
    assert text.endswith(ends.tail)
    assert len(ends.head) <= HEAD
    assert len(ends.tail) <= TAIL
    assert [one.text for one in held if isinstance(one, LongText)] == [text]
    assert list(texts.take()) == []


def test_two_long_texts_of_a_step_have_pages_of_their_own() -> None:
    texts = Overflow()
    first, second = texts.ends("x" * 20_000, "L1"), texts.ends("y" * 20_000, "L1")

    assert first is not None
    assert second is not None
    assert first.page != second.page


def test_the_map_has_a_lane_and_marks_only_for_long_transcripts(
    folder: Path, tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    short = session().splitlines(keepends=True)[:20]
    other = pages_of(tmp_path / "short", b"".join(short), make_settings, make_run)

    figure = parts(folder)[0].partition('id="minimap"')[2].partition("</figure>")[0]
    picture, links = re.findall(r"<svg.*?</svg>", figure, re.DOTALL)
    assert links.count("class=m-error ") == 2
    (drawn,) = re.findall(r'<path class="m-error" d="([^"]*)"', picture)
    assert {int(x) for x in re.findall(r"M(\d+) ", drawn)} == {
        int(x) for x in re.findall(r"class=m-error x=(\d+) ", links)
    }
    assert 'id="minimap"' not in parts(other)[0]


def test_the_first_page_tells_of_every_other_part_what_it_holds(folder: Path) -> None:
    first = parts(folder)[0]
    told = re.findall(r'data-page="([^"]+)" data-items="(\d+)"', first)
    (lines,) = re.findall(r'<html lang="en" data-parts="([^"]+)">', first)
    ranges = re.findall(r"([^ |]+) (\d+)-(\d+)(?:\||$)", lines)

    assert [page for page, _ in told] == sorted(path.name for path in folder.glob("steps-*"))
    assert [page for page, *_ in ranges] == [page for page, _ in told]
    ends = [(int(low), int(high)) for _, low, high in ranges]
    assert all(one[1] < other[0] for one, other in pairwise(ends))
    for (page, items), html in zip(told, parts(folder)[1:], strict=True):
        assert len(STEP.findall(html)) == int(items), page
