"""The files of a solution: every line has a place, and what is left out leads there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import html5lib
import pytest

from kbsite.build import build
from kbsite.model.solution import COLOURED
from kbsite.pages import source as module
from kbsite.pages.quotes import lines_by_file
from kbsite.pages.source import AROUND, HERE, Gap, Sources, source_places
from kbsite.proofs import proofs
from kbsite.store.runs import StoredRun, read_run
from tests.conftest import MakeRun, MakeSettings

HOSTILE = '"""</code><script>alert(1)</script>\u202e"""\n'


def numbered(count: int) -> bytes:
    return b"".join(b"x%d = %d\n" % (n, n) for n in range(1, count + 1))


def quote(file: str, low: int, high: int | None = None, shift: int = 0) -> dict[str, Any]:
    """A quote of a numbered file, `shift` lines lower down."""
    text = "".join(f"x{n} = {n}\n" for n in range(low, (high or low) + 1))
    lines = [low + shift, (high or low) + shift]
    return {"file": file, "lines": lines, "label": "it", "text": text}


def sources(stored: StoredRun) -> Sources:
    return module.sources(stored, proofs(stored))


@pytest.fixture(name="stored")
def _stored(tmp_path: Path, make_run: MakeRun) -> Any:
    """Makes a run with files, and audit quotes, and reads it."""

    def make(files: dict[str, bytes], *quotes: dict[str, Any]) -> StoredRun:
        audit = {"quotes": list(quotes)} if quotes else None
        return read_run(make_run(tmp_path / "runs" / "demo", run_id="r", files=files, audit=audit))

    return make


def shown(row: module.Shown) -> list[object]:
    """The numbers of the lines, and (first, last) of those left out."""
    return [(r.first, r.last) if isinstance(r, Gap) else r.number for r in row.rows]


def test_a_short_solution_stands_whole_on_the_run_s_page(stored: Any) -> None:
    found = sources(stored({"solution.py": numbered(HERE)}))

    assert shown(found.here[0]) == list(range(1, HERE + 1))
    assert found.page is None


def test_a_long_one_is_shown_by_its_ends_and_whole_on_its_own_page(stored: Any) -> None:
    found = sources(stored({"solution.py": numbered(1000)}))
    (here,), (whole,) = found.here, found.whole
    head, tail = HERE - HERE // 4, HERE // 4

    assert shown(here) == [
        *range(1, head + 1), (head + 1, 1000 - tail), *range(1000 - tail + 1, 1001)
    ]  # fmt: skip
    assert shown(whole) == list(range(1, 1001))

    assert found.page == "solution.html"


def test_quoted_lines_are_shown_wherever_they_stand(stored: Any) -> None:
    run = stored({"solution.py": numbered(1000)}, quote("solution.py", 500, 501))
    found = sources(run)

    assert set(range(500 - AROUND, 501 + AROUND + 1)) <= set(shown(found.here[0]))
    assert found.here[0].file.quoted == {500, 501}
    assert source_places(found, proofs(run)) == {0: "#solution-L500"}


def test_a_quote_of_very_many_lines_leads_to_where_they_are(stored: Any) -> None:
    quotes = [quote("solution.py", 400, 700), quote("solution.py", 690), quote("solution.py", 5000),
              quote("check.log", 1)]  # fmt: skip
    run = stored({"solution.py": numbered(1000)}, *quotes)
    found = sources(run)

    assert len(found.here[0].rows) < HERE + module.QUOTED
    assert source_places(found, proofs(run)) == {
        0: "#solution-L400",
        1: "solution.html#solution-L690",
    }


def test_sidecars_follow_and_share_the_room(stored: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HERE", 150)
    files = {"solution.py": numbered(100), "files/a.cu": numbered(200), "files/b.h": b"int x;\n",
             "files/deep/c.txt": b"text\n"}  # fmt: skip
    found = sources(stored(files, quote("files/a.cu", 2)))
    names = [(row.file.name, row.file.prefix) for row in found.here]

    assert names == [("solution.py", "solution"), ("files/a.cu", "file-1"), ("files/b.h", "file-2"),
                     ("files/deep/c.txt", "file-3")]  # fmt: skip
    lines = [sum(not isinstance(r, Gap) for r in row.rows) for row in found.here]
    assert lines[0] == 100
    assert lines[1] == 50
    assert lines[2:] == [1, 1]
    assert [len(row.rows) for row in found.whole] == [100, 200, 1, 1]
    assert found.here[1].file.quoted == {2}


def test_each_language_is_highlighted_as_what_it_is(stored: Any) -> None:
    kernel = b"__global__ void k(float *x) { x[0] = 1.0f; } // it\n"
    found = sources(stored({"files/k.cu": kernel, "files/k.txt": kernel, "files/k.cpp": kernel}))
    cpp, cuda, plain = (str(row.file.lines[0].html) for row in found.here[1:])

    assert "hl-c1" in cuda
    assert "hl-c1" in cpp
    assert "hl-" not in plain
    assert cuda != cpp


@pytest.mark.parametrize(
    ("data", "missing"), [(b"a\0b", "not a text"), (b"x" * 101, "too long to be shown")]
)
def test_what_nobody_can_read_is_named_only(
    data: bytes, missing: str, stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST", 100)
    found = sources(stored({"files/x.bin": data, "solution.py": b"pass\n"}))

    assert found.here[1].file.missing == missing
    assert found.here[1].rows == ()
    assert found.page is None


def test_a_stray_nul_does_not_hide_a_file(stored: Any) -> None:
    found = sources(stored({"solution.py": b"x = 1\n" * 20 + b"y = '\0'\n"}))

    assert "␀" in found.here[0].file.lines[20].html


def test_no_lexer_sees_what_no_person_wrote(stored: Any) -> None:
    long = b"x = " + b"(" * (module.WIDEST + 1) + b"\ndef f(): pass\n"
    many = b"def f(): pass\n" * (COLOURED // 10)
    found = sources(stored({"solution.py": long, "files/many.py": many}))

    assert all("hl-" not in row.file.lines[1].html for row in found.here)


def test_a_line_that_holds_a_program_stands_on_the_page_of_the_files_alone(stored: Any) -> None:
    program = b"CUBIN = '" + b"A<" * module.BROAD + b"'\n"
    quote = {"file": "files/one.py", "lines": [2, 2], "label": "it", "text": "CUBIN = 'A<A<"}
    files = {"solution.py": b"a = 1\n" + program + b"b = 2\n", "files/one.py": b"\n" + program}
    run = stored(files, quote)
    found = sources(run)

    assert [shown(row) for row in found.here] == [[1, (2, 2), 3], [1, 2]]
    assert [shown(row) for row in found.whole] == [[1, 2, 3], [1, 2]]
    assert source_places(found, proofs(run)) == {0: "#file-1-L2"}


def test_very_many_files_and_lines_are_bounded(
    stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES", 5)
    monkeypatch.setattr(module, "ALL", 40)
    monkeypatch.setattr(module, "WHOLE", 30)
    found = sources(stored({f"files/{n}.py": numbered(60) for n in range(9)}))

    assert len(found.here) == 5
    assert found.more == 5
    assert len(found.whole[1].rows) == 31
    assert sum(len(row.rows) for row in found.whole) < 70


def test_quoted_lines_are_those_of_each_file(stored: Any) -> None:
    files = {"solution.py": numbered(9), "files/a.cu": numbered(9)}
    lost = quote("files/a.cu", 2, shift=1)
    run = stored(
        files, quote("solution.py", 1, 2), quote("files/a.cu", 7), quote("solution.py", 2, 3), lost
    )

    assert lines_by_file(proofs(run)) == {"solution.py": {1, 2, 3}, "files/a.cu": {7}}


def test_a_run_without_a_solution_has_no_such_section(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    folder = make_run(tmp_path / "runs" / "demo", run_id="r")
    (folder / "solution.py").unlink()
    page = (build(settings).out / "runs/r/index.html").read_text("utf-8")

    assert 'id="solution"' not in page
    assert "#solution" not in page


def test_gaps_lead_to_their_lines_and_every_line_has_a_place(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    name = 'files/<img src=x> "&.cu'
    files = {"solution.py": HOSTILE.encode() + numbered(400), name: HOSTILE.encode() * 3}
    in_name = {"file": name, "lines": [3], "text": HOSTILE.rstrip('\u202e"\n')}
    make_run(tmp_path / "runs" / "demo", run_id="r", files=files,
             audit={"quotes": [quote("solution.py", 249, shift=1), in_name]})  # fmt: skip
    folder = build(settings).out / "runs" / "r"
    here, whole = (
        html5lib.parse((folder / page).read_text("utf-8"), namespaceHTMLElements=False)
        for page in ("index.html", "solution.html")
    )
    ids = {e.get("id") for e in whole.iter("tr")}

    assert {f"solution-L{n}" for n in range(1, 402)} | {f"file-1-L{n}" for n in (1, 2, 3)} <= ids
    gaps = [e for e in here.iter("tr") if e.get("class") == "gap"]
    links = [a.get("href") for gap in gaps for a in gap.iter("a")]
    assert all(link.startswith("solution.html#") and link[14:] in ids for link in links)
    assert len(links) >= 2
    quoted = [e.get("id") for e in here.iter("tr") if e.get("class") == "quoted"]
    assert quoted == ["solution-L250", "file-1-L3"]
    cited = [a.get("href") for told in here.iter("figcaption") for a in told.iter("a")]
    assert cited == ["#solution-L250", "#file-1-L3"]
    for tree in (here, whole):
        assert not [e for e in tree.iter("script") if not e.get("src")]
        assert not list(tree.iter("img"))
        assert "alert(1)" in "".join(tree.itertext())
