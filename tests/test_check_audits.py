"""What `kbsite check` says of an audit.yaml: file, line, key, both texts, and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kbsite.build import build
from kbsite.check import check
from kbsite.check.audits import around
from kbsite.check.remarks import MOST as REMARKS
from kbsite.model.finding import Finding
from kbsite.store.settings import Settings
from tests.conftest import CLEAN, MakeRun, MakeSettings
from tests.proofs.test_proofs import LOG, SOLUTION

WRITTEN = """\
verdict: interesting
summary: It walks over x.
implication: Nothing.
auditor: A. Reader
date: 2026-01-03
quotes:
  - file: solution.py
    lines: [4, 5]
    label: the loop
    text: |
      for i in range(4):
          if x:
  - file: transcript/stdout.jsonl
    event: L2
    text: I cache the output
  - file: check.log
    lines: [2]
    text: all shapes passed
"""


@pytest.fixture(name="audited")
def _audited(tmp_path: Path, make_run: MakeRun) -> Callable[[str], Path]:
    """Writes a run with this audit.yaml."""

    def write(text: str) -> Path:
        folder = make_run(
            tmp_path / "demo", audit={}, transcript={"stdout.jsonl": LOG},
            files={"solution.py": SOLUTION.encode(), "check.log": b"run\nall shapes passed\n"},
        )  # fmt: skip
        (folder / "audit.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        return folder

    return write


def found(folder: Path, settings: Settings | None = None) -> list[Finding]:
    return [one for one in check([folder], settings) if Path(one.path).name == "audit.yaml"]


def told(folder: Path) -> list[tuple[str, int | None, str | None]]:
    return [(one.severity.value, one.line, one.key) for one in found(folder)]


def test_an_audit_whose_quotes_are_proven_has_nothing_wrong(audited: Any) -> None:
    assert found(audited(WRITTEN)) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "says"),
    [
        ("for i in range(4)", "for i in range(5)", 10, "quotes[0].text",
         r"quotes “for i in range\(5\): ⏎     if x:”, in lines 4 to 5 stands “    for i in range"),
        ("          if x:", "          if y:", 10, "quotes[0].text", "copy it"),
        ("          if x:", "         if x:", 10, "quotes[0].text", "not stand in solution.py"),
        ("[4, 5]", "[5, 5]", 8, "quotes[0].lines",
         "in line 5 stands “        if x:”; it stands in lines 4 to 5: kbsite check --fix"),
        ("[4, 5]", "[4, 6]", 8, "quotes[0].lines", "stands in lines 4 to 5"),
        ("[4, 5]", "[3, 5]", 8, "quotes[0].lines", "stands in lines 4 to 5"),
        ("[4, 5]", "[400, 500]", 8, "quotes[0].lines", "not in lines 400 to 500"),
        ("file: solution.py", "file: solutions.py", 7, "quotes[0].file",
         "no file 'solutions.py'; did you mean 'solution.py'?"),
        ("event: L2", "event: L3", 14, "quotes[1].event", "stands in event L2"),
        ("event: L2", "event: L9", 14, "quotes[1].event", "stands in event L2"),
        ("cache the", "cached the", 15, "quotes[1].text", "in event L2 stands"),
        ("stdout.jsonl", "stdout.json", 13, "quotes[1].file", "did you mean"),
        ("all shapes", "All shapes", 18, "quotes[2].text", "in line 2 stands “all shapes passed”"),
        ("[2]", "[1]", 17, "quotes[2].lines", "in line 1 stands “run”; it stands in line 2"),
        ("file: check.log", "file: solution.py", 18, "quotes[2].text", "in line 2 stands “”"),
    ],
)  # fmt: skip
def test_one_broken_character_line_or_name_is_named(
    audited: Any, old: str, new: str, line: int, key: str, says: str
) -> None:
    assert WRITTEN.count(old) >= 1
    (one,) = found(audited(WRITTEN.replace(old, new, 1)))
    assert (one.severity.value, one.line, one.key) == ("error", line, key)
    assert re.search(says, one.message), one.message
    assert one.text.isprintable()


def test_a_broken_quote_of_an_imported_audit_is_a_warning(audited: Any) -> None:
    broken = WRITTEN.replace("[4, 5]", "[5, 5]").replace("check.log", "lost.log")
    folder = audited(f"{broken}origin: elsewhere\n")
    assert told(folder) == [("warning", 8, "quotes[0].lines"), ("warning", 16, "quotes[2].file")]


def test_texts_are_shown_around_where_they_differ() -> None:
    quoted, seen = around("a" * 500 + "X" + "b" * 500, "a" * 500 + "Y" + "b" * 500)
    assert "aX" in quoted
    assert "aY" in seen
    assert len(quoted) == len(seen) < 110
    assert around("a\nb", "") == ("a ⏎ b", "")


RULES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"summary": "word " * 61}, "error", "summary", "at most 60 words, got 61"),
    ({"summary": "word " * 61, "origin": "x"}, "warning", "summary", "at most 60 words, got 61"),
    ({"summary": " "}, "error", "summary", "empty"),
    ({"auditor": ""}, "error", "auditor", "who judged"),
    ({"verdict": "reward_hack"}, "error", "implication", "reward_hack"),
    ({"effect": "does_not_count"}, "warning", "effect", "opposite of what clean does"),
    ({"verdict": "reward_hack", "implication": "x", "effect": "counts"},
     "warning", "effect", "opposite of what reward_hack does"),
    ({"validity": "invalid"}, "warning", "validity", "the verdict is clean"),
    ({"leak": "a-leak"}, "warning", "leak", "the verdict is clean"),
    ({"quotes": [{"file": "solution.py", "text": "x"}]}, "error", "quotes[0].lines", "got []"),
    ({"quotes": [{"file": "solution.py", "lines": [2, 1], "text": "x"}]},
     "error", "quotes[0].lines", "the first and the last"),
    ({"quotes": [{"file": "solution.py", "lines": [0], "text": "x"}]},
     "error", "quotes[0].lines", "got [0]"),
    ({"quotes": [{"file": "solution.py", "lines": [1, 2, 3], "text": "x"}]},
     "error", "quotes[0].lines", "got [1, 2, 3]"),
    ({"quotes": [{"file": "solution.py", "lines": [99], "text": "no such text"}]},
     "error", "quotes[0].lines", "no line 99"),
    ({"quotes": [{"file": "solution.py", "lines": [1], "text": " \n"}]},
     "error", "quotes[0].text", "the passage"),
    ({"quotes": [{"file": "solution.py", "lines": [1], "event": "L1", "text": "x"}]},
     "error", "quotes[0].event", "either lines or an event"),
    ({"quotes": [{"file": "solution.py", "event": "L1", "text": "x"}]},
     "error", "quotes[0].event", "only files under transcript/"),
    ({"quotes": [{"file": "../other/solution.py", "lines": [1], "text": "x"}]},
     "error", "quotes[0].file", "no file"),
    ({"quotes": [{"file": "solution.py", "lines": [1], "text": "def solve(x):"}] * 201},
     "error", "quotes", "at most 200, got 201"),
    ({"score": 0.4}, "error", "score", "comes from metrics.json"),
    ({"peak_fraction": 0.4, "origin": "x"}, "warning", "peak_fraction", "metrics.json"),
    ({"model": "opus"}, "error", "model", "comes from run.json"),
    ({"run_id": "r"}, "error", "run_id", "comes from run.json"),
    ({"sumary": "x"}, "warning", "sumary", "did you mean summary?"),
    ({"mood": "good"}, "warning", "mood", "known are verdict, summary"),
    ({"quotes": [{"file": "solution.py", "line": [1], "lines": [1], "text": "def solve(x):"}]},
     "warning", "quotes[0].line", "did you mean lines?"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "severity", "key", "expectation"), RULES)
def test_a_rule_of_audit_yaml(
    tmp_path: Path,
    make_run: MakeRun,
    fields: dict[str, Any],
    severity: str,
    key: str,
    expectation: str,
) -> None:
    (one,) = found(make_run(tmp_path / "demo", audit=fields))
    assert (one.severity.value, one.key) == (severity, key)
    assert expectation in one.message
    assert one.line is not None or key == "implication"


EARLIER = {
    "verdict": "interesting", "summary": "It was odd.", "auditor": "B", "date": "2026-01-01",
    "replaced": "2026-01-02", "by": "A", "why": "It is not odd.",
}  # fmt: skip


def test_an_effect_that_the_verdict_has_anyway_is_no_fault(
    tmp_path: Path, make_run: MakeRun
) -> None:
    fields = {"effect": "counts", "history": [EARLIER, EARLIER]}
    assert found(make_run(tmp_path / "demo", audit=fields)) == []


@pytest.mark.parametrize(
    ("history", "severity", "key", "expectation"),
    [
        ([EARLIER | {"why": " "}], "error", "history[0].why", "why it was replaced"),
        ([EARLIER | {"by": ""}], "error", "history[0].by", "who replaced it"),
        ([EARLIER | {"replaced": "2025-12-31"}], "error", "history[0].replaced", "or later"),
        ([EARLIER, EARLIER | {"replaced": "2026-01-01"}],
         "error", "history[1].replaced", "the oldest comes first"),
        ([EARLIER | {"replaced": "2026-01-04"}], "error", "date", "was replaced on 2026-01-04"),
        ([EARLIER | {"note": "x"}], "warning", "history[0].note", "unknown"),
        ([EARLIER | {"verdict": "clean", "summary": CLEAN["summary"], "auditor": "A. Reader"}],
         "warning", "history[0]", "nothing was replaced"),
    ],
)  # fmt: skip
def test_a_rule_of_the_history(
    tmp_path: Path,
    make_run: MakeRun,
    history: list[dict[str, Any]],
    severity: str,
    key: str,
    expectation: str,
) -> None:
    (one,) = found(make_run(tmp_path / "demo", audit={"history": history}))
    assert (one.severity.value, one.key) == (severity, key)
    assert expectation in one.message


def test_a_leak_is_one_of_the_site_s(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    leak = {"id": "clamp", "title": "Clamp", "meant": "x", "happened": "y"}
    settings = make_settings(tmp_path, site={"leaks": [leak]})
    went = {"verdict": "rubric_leak", "implication": "Forbid it."}
    known = make_run(settings.runs / "demo", audit={**went, "leak": "clamp"})
    lost = make_run(settings.runs / "demo", audit={**went, "leak": "clump"})
    assert found(known, settings) == []
    assert found(lost) == []
    (one,) = found(lost, settings)
    assert (one.severity.value, one.key) == ("error", "leak")
    assert "known are clamp; got 'clump'" in one.message


BOMB = "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a]\n" for n in range(9))
HOSTILE: list[tuple[str, int, str]] = [
    ("verdict: !!python/object/apply:os.system ['true']\n", 1, "tag"),
    ("verdict: clean\nsummary: !x a\n", 2, "the tag !x is not read"),
    (BOMB, 1, "anchors and aliases are not read"),
    ("verdict: clean\n<<: {summary: a}\nsummary: *a\n", 3, "undefined alias|anchors"),
    ("verdict: clean\nsummary: " + "a" * 10_000_000 + "\n", 1, "too large"),
    ("verdict: clean\nsummary: a\nauditor: b\nverdict: bug\n", 4, "stands there twice"),
    (WRITTEN + "quotes: []\n", 19, "stands there twice"),
    (WRITTEN.replace("label: the loop", "lines: [1]"), 9, "stands there twice"),
    ("verdict: clean\nsummary: " + "[" * 200 + "]" * 200, 2, "nested too deeply"),
    ("verdict: clean\nsummary: a\x00b\n", 2, "not valid YAML"),
    ("verdict: clean\nsummary: a\x1b[31m\n", 2, "not valid YAML"),
    ("verdict: [clean]\nsummary: a\nauditor: b\n", 1, "expected one of clean"),
    ("verdict: clean\nsummary: 7\nauditor: b\n", 2, "expected text, got a whole number"),
    ("verdict: clean\nsummary: a\nauditor: b\ndate: today\n", 4, "a date"),
    ("verdict: fine\nsummary: a\nauditor: b\n", 1, "expected one of clean, rubric_leak"),
    (WRITTEN.replace("[4, 5]", "four"), 8, "expected a list"),
    (WRITTEN.replace("[4, 5]", "[4.5]"), 8, "expected a whole number"),
    (WRITTEN.replace("[4, 5]", "[9999999999999999999]"), 8, "expected a whole number"),
    (WRITTEN.replace("event: L2", "event: {a: b}"), 14, "expected text"),
    ("verdict: clean\nsummary: a\nauditor: b\neffect: ranks\n", 4, "counts, does_not_count"),
    ("verdict: clean\nsummary: a\nauditor: b\nhistory: [{}]\n", 4, "missing"),
    ("- a\n", 1, "expected keys and values"),
    ("", 1, "expected keys and values"),
    ("verdict: clean\n\tsummary: a\n", 2, "not valid YAML"),
    ("verdict: clean\nsummary: \udcff\n", 2, "UTF-8"),
]


@pytest.mark.parametrize(("text", "line", "says"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_audit_is_refused_with_file_and_line(
    audited: Any, text: str, line: int, says: str
) -> None:
    one, *_ = found(audited(text))
    assert (one.severity.value, one.line) == ("error", line), one.text
    assert re.search(says, one.message), one.message
    assert one.text.isprintable()
    assert len(one.text) < 1000


def test_an_audit_of_odd_keys_is_told_in_bounds(tmp_path: Path, make_run: MakeRun) -> None:
    odd = {f"key {number} \x1b[31m" * 9: number for number in range(1000)}
    remarks = found(make_run(tmp_path / "demo", audit=odd))
    assert len(remarks) == 100
    assert all(one.text.isprintable() for one in remarks)


def test_what_is_written_for_a_test_is_what_is_read(audited: Any) -> None:
    folder = audited(WRITTEN)
    read = yaml.safe_load((folder / "audit.yaml").read_text())
    assert json.loads(json.dumps(read, default=str))["quotes"][0]["lines"] == [4, 5]


def test_an_audit_of_thousands_of_unproven_quotes_gets_a_few_remarks_and_one_of_the_rest(
    tmp_path: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(tmp_path)
    wrong = {"file": "solution.py", "lines": [1], "text": "nothing of it"}
    told = {**CLEAN, "quotes": [wrong] * 2000}
    make_run(settings.runs / "demo", audit=told)
    remarks = found(settings.runs, settings)
    unmet = [one for one in build(settings).unmet if "not proven" in one.message]

    assert len(remarks) == REMARKS + 1
    assert remarks[-1].text.endswith("error: 201 remarks in all, 101 not made here")
    assert [one.key for one in unmet] == [*(f"quotes[{number}]" for number in range(20)), "quotes"]
    assert unmet[-1].message == "2000 quotes are not proven in all, 1980 not named here"


@pytest.mark.parametrize("key", ["verdict", "effect", "quotes[0].nobody", "x", "file", "leak"])
def test_a_value_of_a_megabyte_is_not_repeated(
    audited: Callable[[str], Path], make_settings: MakeSettings, tmp_path: Path, key: str
) -> None:
    long = "y" * 900_000
    text = {
        "verdict": f"verdict: {long}\n", "effect": f"{WRITTEN}effect: {long}\n",
        "quotes[0].nobody": WRITTEN.replace("    label", f"    {long}: a\n    label"),
        "x": f"{WRITTEN}{long}: 1\n", "file": WRITTEN.replace("check.log", long),
        "leak": f"{WRITTEN}leak: {long}\n",
    }[key]  # fmt: skip
    remarks = found(audited(text), make_settings(tmp_path))

    assert remarks
    assert all(len(one.text) < 1500 for one in remarks)
