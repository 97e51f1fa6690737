"""Code of which nothing changed is not coloured again, and comes out as if it were."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kbsite.build import build
from kbsite.pages.coloured import Colours, Made, coloured
from kbsite.store.settings import Settings
from kbsite.text import CodeLine, code_lines
from tests.conftest import MakeRun, MakeSettings
from tests.trees import tree

PAGE = "<nav>{}</nav><table>\n{}</table><p>é</p>"


@pytest.fixture(name="asked")
def _asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were coloured."""
    found = list[str]()

    def counted(source: str, language: str) -> list[CodeLine]:
        found.append(source)
        return code_lines(source, language)

    monkeypatch.setattr("kbsite.pages.source.code_lines", counted)
    return found


@pytest.mark.parametrize("count", [0, 1, 200])
def test_a_solution_is_coloured_where_it_changed_and_not_because_its_run_did(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings, asked: list[str], count: int
) -> None:
    held = "".join(f"x{n} = '<a> é </code>'\n" for n in range(count))
    files = {"solution.py": held.encode(), "files/k.cu": b"int k;\n\n\xff\n"}
    run = make_run(tmp_path / "runs" / "demo", files=files)
    settings: Settings = make_settings(tmp_path)
    build(settings)
    asked.clear()
    # Its lines lie elsewhere on the page then, and one of them is quoted.
    quote = "{file: files/k.cu, lines: [1], label: it, text: 'int k;'}"
    for summary in ("Fine.", "It is fine."):
        told = f"verdict: clean\nsummary: {summary}\nauditor: a\nquotes: [{quote}]\n"
        (run / "audit.yaml").write_text(told)
        build(settings)
    page = (settings.out / "runs" / run.name / "index.html").read_text()
    # Of a file without lines none can be taken.
    again = [text for text in asked if text]
    (run / "solution.py").write_text(f"{held}y = 2\n")
    after = tree(build(settings).out)

    assert again == []
    assert [text for text in asked if text] == [f"{held}y = 2\n"]
    assert '<tr id="file-1-L1" class="quoted">' in page
    assert after == tree(build(replace(settings, out=tmp_path / "anew")).out)


def _rows(lines: list[CodeLine]) -> str:
    return "".join(
        f'<tr id="solution-L{one.number}"><td><code>{one.html}</code></td></tr>\n' for one in lines
    )


def test_lines_are_taken_where_they_lie_and_of_the_file_that_they_are_of_alone() -> None:
    lines = code_lines("def f(): return '</code>'\n\nx = 1\n")
    page = PAGE.format("", _rows(lines))
    lies = coloured(page, "solution", lines, b"one")
    assert lies
    moved = PAGE.format("é longer", _rows(lines))

    def taken(held: str, name: str = "solution.py", made_of: bytes = b"one") -> object:
        pages = [("none", None), ("page", Made(coloured={"solution.py": lies}))]
        return Colours(pages, lambda _: held.encode()).lines(name, made_of)

    assert taken(page) == taken(moved) == tuple(lines)
    assert taken(page, made_of=b"other") is None
    assert taken(page, name="other.py") is None
    assert taken(page.replace("def", "abc")) is None
    assert taken(f"{page} ") is None
    assert taken("") is None
    assert taken(page[-20:]) is None


def test_a_page_that_lacks_lines_is_none_to_take_them_from() -> None:
    lines = code_lines("x = 1\ny = 2\n")
    page = PAGE.format("", _rows(lines))

    assert coloured(page, "file-1", lines, b"") is None
    assert coloured(PAGE.format("", _rows(lines[:1])), "solution", lines, b"") is None
    assert coloured(page.replace("</table>", ""), "solution", lines, b"") is None
