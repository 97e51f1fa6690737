"""`kbsite audit quote`: what is quoted stands in the run, word for word, or it is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kbsite.check.audits import audit_findings
from kbsite.check.known import known
from kbsite.model.audit import Audit, Quote
from kbsite.store.records import yaml_record
from kbsite.store.runs import read_run
from tests.cli.audit.calling import called, started
from tests.cli.audit.test_show import session
from tests.conftest import MakeRun, MakeSettings

CODE = b"import x\n\n\ndef solve(a):\n\treturn cache[a]  # \xc3\xbc \xe2\x80\x94\r\nlast"


@pytest.fixture
def run(tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun) -> Path:
    make_settings(tmp_path, problems=())
    return make_run(
        tmp_path / "runs" / "demo",
        audit={},
        files={"solution.py": CODE, "files/odd: name@x.txt": b"one\ntwo\n", "check.log": b"\xff\n"},
        transcript={"stdout.jsonl": session(output="PASS\npeak_fraction: 0.42\n")},
    )


def quotes(run: Path) -> tuple[Quote, ...]:
    return yaml_record(run / "audit.yaml", Audit).quotes


def test_lines_are_taken_from_the_file_proven_and_shown(tmp_path: Path, run: Path) -> None:
    done = started(tmp_path, "quote", "opus", "solution.py:4-5", "--label", "keyed on the input")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"runs/demo/{run.name}/audit.yaml: quotes[0]: solution.py:4-5: keyed on the input",
        "  def solve(a):",
        "      return cache[a]  # ü —",
    ]
    assert quotes(run) == (
        Quote(
            file="solution.py", lines=(4, 5), label="keyed on the input",
            text="def solve(a):\n\treturn cache[a]  # ü —",
        ),
    )  # fmt: skip
    assert audit_findings(read_run(run), known(None)) == []


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("solution.py:1", "import x"),
        ("solution.py:6", "last"),
        ("files/odd: name@x.txt:1-2", "one\ntwo"),
        ("solution.py:1-2", "import x\n"),
        ("transcript/stdout.jsonl@L6", None),
    ],
)
def test_each_way_to_name_a_place_gives_a_quote_that_the_check_proves(
    where: str, text: str | None, tmp_path: Path, run: Path
) -> None:
    words = [] if text is not None else ["--text", "done"]
    done = called(tmp_path, "quote", "opus", where, "--label", "it", *words)

    assert done.returncode == 0, done.stderr
    assert quotes(run)[0].text == (text or "done")
    assert audit_findings(read_run(run), known(None)) == []


def test_an_event_is_quoted_by_its_anchor_also_without_the_folder_of_its_file(
    tmp_path: Path, run: Path
) -> None:
    for where, text in [("stdout.jsonl@L5", "PASS\npeak_fraction: 0.42\n"),
                        ("stdout.jsonl@L4", "./check")]:  # fmt: skip
        done = called(tmp_path, "quote", "opus", where, "--label", "it")
        assert done.returncode == 0, done.stderr
        quote = quotes(run)[-1]
        assert (quote.file, quote.event) == ("transcript/stdout.jsonl", where[-2:])
        assert quote.text.strip() == text.strip()
    assert audit_findings(read_run(run), known(None)) == []


def test_a_part_of_a_long_place_is_told_by_its_text(tmp_path: Path, run: Path) -> None:
    done = called(tmp_path, "quote", "opus", "solution.py:5", "--label", "l", "--text", "cache[a]")

    assert done.returncode == 0
    assert quotes(run)[0].text == "cache[a]"


@pytest.mark.parametrize(
    ("where", "words", "code", "told"),
    [
        ("solution.py:7", (), 1, "there is no line 7; the last is 6"),
        ("solution.py:5-9", (), 1, "there is no line 9"),
        ("solution.py:0", (), 2, "count from 1"),
        ("solution.py:5-4", (), 2, "count from 1"),
        ("solution.py", (), 2, "expected FILE:12"),
        ("solution.py:all", (), 2, "expected FILE:12"),
        ("nothing.py:1", (), 1, "no such file; `kbsite audit show` lists all"),
        ("odd: name@x.txt:1", (), 1, "meant is perhaps files/odd: name@x.txt"),
        ("../../../../etc/passwd:1", (), 1, "no such file"),
        ("/etc/passwd:1", (), 1, "no such file"),
        ("audit.yaml:1", (), 1, "what an audit says proves nothing"),
        ("solution.py:2", (), 2, "nothing to read"),
        ("check.log:1", (), 2, "no text"),
        ("solution.py:5", ("--text", "cache[b]"), 1, "does not stand in the file"),
        (
            "solution.py:5",
            ("--text", "return\u00a0cache[a]"),
            1,
            "they look alike: a blank is U+00A0 in the quote, U+0020 in the file",
        ),
        ("solution.py:4", ("--text", "cache[a]"), 1, "it stands at solution.py:5"),
        ("transcript/stdout.jsonl@L99", (), 1, "no event L99"),
        ("transcript/stdout.jsonl@L4", ("--text", "never said"), 1, "does not stand"),
        ("solution.py@L4", ("--text", "x"), 1, ""),
    ],
)
def test_what_does_not_stand_there_is_refused_and_changes_nothing(
    where: str, words: tuple[str, ...], code: int, told: str, tmp_path: Path, run: Path
) -> None:
    before = (run / "audit.yaml").read_bytes()
    done = called(tmp_path, "quote", "opus", where, "--label", "it", *words)

    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert (run / "audit.yaml").read_bytes() == before


def test_a_row_that_is_too_long_to_be_meant_whole_has_to_be_told(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    make_run(tmp_path / "runs" / "demo", audit={}, files={"check.log": b"a b" * 5_000})
    done = called(tmp_path, "quote", "opus", "check.log:1", "--label", "it")

    assert done.returncode == 2
    assert "15000 characters; say which passage by --text" in done.stderr


def test_what_is_quoted_already_is_not_quoted_again(tmp_path: Path, run: Path) -> None:
    words = ["quote", "opus", "solution.py:1", "--label", "it"]

    assert called(tmp_path, *words).returncode == 0
    again = called(tmp_path, *words)
    assert again.returncode == 2
    assert "quotes this already" in again.stderr
    assert len(quotes(run)) == 1


def test_comments_of_the_audit_stay(tmp_path: Path, run: Path) -> None:
    path = run / "audit.yaml"
    path.write_text(f"# mine\n{path.read_text()}# and mine\n")
    called(tmp_path, "quote", "opus", "solution.py:1", "--label", "a: b # c")

    assert path.read_text().startswith("# mine\n")
    assert "# and mine" in path.read_text()
    assert quotes(run)[0].label == "a: b # c"


def test_a_draft_takes_quotes_before_it_is_finished(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo")
    draft = run.with_name(f"{run.name}.draft.yaml")
    assert called(tmp_path, "new", "opus", "--no-edit", "--verdict", "clean").returncode == 0
    done = called(tmp_path, "quote", "opus", "solution.py:1", "--label", "it")

    assert done.returncode == 0, done.stderr
    assert yaml_record(draft, Audit).quotes[0].text == "def solve(x):"
    assert "#: Quotes:" in draft.read_text()
    assert not (run / "audit.yaml").exists()


def test_without_an_audit_or_a_draft_it_says_how_to_begin(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    run = make_run(tmp_path / "runs" / "demo")
    done = called(tmp_path, "quote", "opus", "solution.py:1", "--label", "it")

    assert done.returncode == 2
    assert f"kbsite audit new {run.name}" in done.stderr


@pytest.mark.parametrize("label", [(), ("--label", ""), ("--label", " \n")])
def test_a_quote_needs_a_label(tmp_path: Path, run: Path, label: tuple[str, ...]) -> None:
    done = called(tmp_path, "quote", "opus", "solution.py:1", *label)

    assert quotes(run) == ()
    assert done.returncode == 2
    assert "--label" in done.stderr


def test_what_a_run_holds_does_nothing_to_the_terminal_and_stands_in_the_audit_as_it_is(
    tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path, problems=())
    evil = "evil \x1b[2J\x9b \u202e end"
    run = make_run(tmp_path / "runs" / "demo", audit={}, files={"solution.py": evil.encode()})
    done = called(tmp_path, "quote", "opus", "solution.py:1", "--label", evil)

    assert done.returncode == 0, done.stderr
    assert {char for char in done.stdout if not char.isprintable()} == {"\n"}
    assert quotes(run)[0].text == evil
    assert not {"\x1b", "\x9b"} & set((run / "audit.yaml").read_text())


def test_auditors_who_quote_at_the_same_time_lose_nothing(tmp_path: Path, run: Path) -> None:
    lines = (1, 4, 5, 6)
    with ThreadPoolExecutor() as pool:
        done = list(
            pool.map(
                lambda n: started(tmp_path, "quote", "opus", f"solution.py:{n}", "--label", "l"),
                lines,
            )
        )

    assert [one.returncode for one in done] == [0] * len(lines)
    assert sorted(quote.lines for quote in quotes(run)) == [(n,) for n in lines]
