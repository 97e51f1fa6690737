"""The page of data tells what is covered of the runs: which rule, where and how often."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from kbsite.build import build
from kbsite.model.redacted import RedactedFile, Redactions
from kbsite.pages.covered import FILES, covered_rules
from tests.conftest import MakeRun, MakeSettings
from tests.redaction.secrets import planted


def file_of(run: str, hits: dict[str, int]) -> RedactedFile:
    """A file of which something is covered, each in a line of its own."""
    lines = {rule: tuple(range(1, count + 1)) for rule, count in hits.items()}
    return RedactedFile(run=run, file="check.log", before="a", after="b", hits=hits, lines=lines)


def test_rules_come_by_how_often_they_covered_something() -> None:
    files = (file_of("one", {"email": 1, "jwt": 2}), file_of("two", {"email": 3}))
    rows = covered_rules(Redactions(format=1, files=files))

    assert [(row.id, row.title, row.count, row.more) for row in rows] == [
        ("email", "e-mail address", 4, 0), ("jwt", "JSON Web Token", 2, 0)
    ]  # fmt: skip
    assert [(file.run, file.count, file.lines) for file in rows[0].files] == [
        ("one", 1, (1,)), ("two", 3, (1, 2, 3))
    ]  # fmt: skip


def test_of_many_files_the_first_are_named_and_the_rest_is_counted() -> None:
    files = tuple(file_of(f"run-{number}", {"ip": 1}) for number in range(FILES + 7))
    (row,) = covered_rules(Redactions(format=1, files=files))

    assert (row.count, len(row.files), row.more) == (FILES + 7, FILES, 7)


def test_the_page_names_files_and_lines_and_no_secret(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    one = planted(1, "stripe")
    log = f"a\n{one.secret}\nb\n{one.secret}\n".encode()
    make_run(settings.runs / "demo", run_id="one", files={"check.log": log})
    page = (build(settings).out / "data" / "index.html").read_text("utf-8")
    told = unescape(re.sub("<[^>]+>", "", page.partition('id="covered"')[2]))

    assert "key of Stripe: 2" in told
    assert "2 in one check.log, lines 2, 4" in told
    assert '<a href="../runs/one/index.html">one</a>' in page
    assert one.secret not in page


def test_a_site_of_which_nothing_is_covered_says_so(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    settings = make_settings(tmp_path)
    make_run(settings.runs / "demo")
    page = (build(settings).out / "data" / "index.html").read_text("utf-8")

    assert "Nothing of the files of runs had to be covered." in page
