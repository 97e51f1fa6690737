"""What the page that compares runs gets of each: whole, small, harmless, and only where of use."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kbsite.build import build
from kbsite.model.event import ToolKind
from kbsite.model.price import Price, PriceTable
from kbsite.pages.compared import LEAST, SHARE, TOKENS, _Called, _moment, _OfPhase, script
from kbsite.pages.facts import elapsed
from kbsite.pages.page import comparison, run_key
from kbsite.trajectories.phases import Phase
from tests.browser.long_session import session as long_session
from tests.conftest import MakeRun, MakeSettings
from tests.contest_runs import HASTY, LOG, LOST, STEADY, Call, line_of, session
from tests.pages.test_costs import TWICE

HOSTILE = "</script><!--<script>alert(1)//\u2028\u2029\x00\u202e\udcff\\\"'`${1}"
PHASES = [phase.value for phase in Phase]


def handed_over(path: Path) -> dict[str, Any]:
    """The value that a script of a run hands over."""
    text = path.read_text("ascii")
    match = re.fullmatch(r"kbsiteRun\((\{.*\})\);\n", text)
    assert match, text[:99]
    held: dict[str, Any] = json.loads(match[1])
    return held


@pytest.fixture(name="board")
def _board(tmp_path: Path, make_settings: MakeSettings) -> Path:
    make_settings(tmp_path, problems=[])
    return tmp_path / "runs" / "demo"


def built(board: Path, make_settings: MakeSettings) -> Path:
    return build(make_settings(board.parents[1], problems=[])).out


def test_the_data_say_what_the_session_did(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    run = make_run(board, transcript={LOG: session(STEADY)}, cost_usd=1.5, audit={})
    make_run(board, model="other", transcript={LOG: session(HASTY)})
    held = handed_over(built(board, make_settings) / "runs" / run.name / "compare.js")
    facts = dict(held["facts"])
    kinds = [(PHASES[row[0]], row[1], row[2], row[3]) for row in held["calls"]]

    assert held["label"] == "claude · opus-x [max]"
    assert held["solution"] == (run / "solution.py").read_text()
    assert (facts["score"], facts["interval"]) == (".420", ".400 to .440")
    assert (facts["cost"], facts["verdict"], facts["calls"]) == (
        "at least $1.50", "★ clean", "7",
    )  # fmt: skip
    assert facts["best score that the agent saw"] == ".400"
    assert kinds[:3] == [
        ("first read", "read", "L1-1", 0),
        ("first edit of solution.py", "solution", f"L{line_of(1)}", 10),
        ("first check", "failed", f"L{line_of(2)}", 20),
    ]
    assert [row[1] for row in held["calls"][3:]] == ["solution", "passed", "benchmark", "benchmark"]
    assert held["phases"][PHASES.index("first correct")] == [f"L{line_of(4)}", 41]
    assert held["curves"]["score"] == [
        [51, 0.3, f"L{line_of(5)}", 0],
        [61, 0.4, f"L{line_of(6)}", 0],
        [1800, 0.42, f"L{line_of(6)}", 1],
    ]
    assert [amount for _, amount in held["curves"]["edits"]] == [1, 2]
    assert [amount for _, amount in held["curves"]["checks"]] == [1, 2]


def test_tokens_are_told_as_they_were_spent_though_nothing_was_edited_or_checked(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    """A session without edits stood at no tokens until its end, and then at all of them."""
    calls: list[Call] = [("run", f"make {n}", "ok") for n in range(200)]
    for model, held in (("lost", LOST), ("many", calls)):
        make_run(board, model=model, transcript={LOG: session(held)})
    out = built(board, make_settings)
    lost, many = (handed_over(path)["curves"] for path in sorted(out.glob("runs/*/compare.js")))

    assert lost["tokens"] == [[1, 110], [11, 220], [21, 330]]
    assert lost["edits"] == []
    assert 10 < len(many["tokens"]) <= TOKENS
    assert many["tokens"][-1] == [1991, 22_000]


@pytest.mark.parametrize(("pause", "told"), [(2.4, "00:10"), (1.2, "00:05")])
def test_a_moment_is_told_as_on_the_run_s_own_page(
    pause: float, told: str, board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    """As a length of time it was rounded: the same step stood at two moments of one page."""
    make_run(board)
    run = make_run(board, transcript={LOG: session(STEADY, pause)})
    page = built(board, make_settings) / "runs" / run.name
    held = handed_over(page / "compare.js")

    assert dict(held["facts"])["first correct"] == told
    assert f"{told}</a>" in (page / "index.html").read_text()


def test_runs_tell_the_same_facts_in_the_same_order(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_run(board, transcript={LOG: session(STEADY)}, cost_usd=1.5, audit={})
    make_run(board, model="bare", metrics=None, effort=None, started=None)
    out = built(board, make_settings)
    one, other = (handed_over(path)["facts"] for path in sorted(out.glob("runs/*/compare.js")))

    assert [name for name, _ in one] == [name for name, _ in other]
    assert len(dict(one)) == len(one)


def test_a_cost_that_no_cli_tells_is_the_estimate_of_the_run_s_own_page(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    settings = make_settings(board.parents[1], problems=[])
    price = Price(
        models=("opus-x",), input=Decimal(5), output=Decimal(50), source="https://host.example/",
        looked_up=date(2026, 1, 1),
    )  # fmt: skip
    for model in ("opus-x", "other"):
        make_run(board, model=model, usage={"input": 1_000_000, "output": 100_000})
    out = build(replace(settings, prices=PriceTable(prices=(price,)))).out
    told = [dict(handed_over(path)["facts"])["cost"] for path in sorted(out.glob("runs/*/*.js"))]

    assert told == ["estimate $10.00", "unknown"]


def test_what_is_a_lower_bound_on_the_run_s_own_page_is_one_here(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    run = make_run(board, transcript={"stdout.jsonl": TWICE}, cost_usd=1.25)
    make_run(board, model="other")
    facts = dict(
        handed_over(built(board, make_settings) / "runs" / run.name / "compare.js")["facts"]
    )

    assert (facts["tokens sent"], facts["cost"]) == ("at least 40", "at least $1.25")


def test_only_runs_that_something_can_be_compared_with_have_data(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    one = make_run(board)
    again = make_run(board)
    alone = make_run(board, problem="lonely")
    refused = make_run(board, model="else", hardware="gpu-b")
    out = built(board, make_settings)

    assert {path.parent.name for path in out.glob("runs/*/compare.js")} == {one.name, again.name}
    assert (out / "runs" / alone.name / "index.html").is_file()
    assert (out / "runs" / refused.name / "index.html").is_file()


def test_attempts_of_a_contender_are_told_apart(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    make_run(board)
    make_run(board)
    out = built(board, make_settings)
    labels = [handed_over(path)["label"] for path in sorted(out.glob("runs/*/compare.js"))]

    assert labels == [
        "claude · opus-x [max], attempt 1 of 2",
        "claude · opus-x [max], attempt 2 of 2",
    ]


def test_a_run_leads_to_the_best_other_run_of_its_problem(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    best = make_run(board, model="best", metrics={"peak_fraction": 0.9})
    second = make_run(board, model="second", metrics={"peak_fraction": 0.5})
    wrong = make_run(board, model="wrong", metrics={"status": "wrong"})
    alone = make_run(board, problem="lonely")
    out = built(board, make_settings)

    def led(run: Path) -> list[str]:
        text = (out / "runs" / run.name / "index.html").read_text("utf-8")
        return re.findall(r'href="\.\./\.\./compare/index\.html\?runs=([^"]+)"', text)

    assert led(best) == [f"{best.name},{second.name}"]
    assert led(second) == [f"{second.name},{best.name}"]
    assert led(wrong) == [f"{wrong.name},{best.name}"]
    assert led(alone) == []
    for place in ("demo", "problems/softmax"):
        text = (out / place / "index.html").read_text("utf-8")
        assert f'compare/index.html?runs={best.name},{second.name}"' in text
    page = (out / "compare" / "index.html").read_text("utf-8")
    listed = re.findall(r'<a class="run" href="\.\./runs/([^/]+)/index\.html">', page)
    assert listed == [best.name, second.name, wrong.name]


def test_a_site_without_two_runs_of_a_problem_has_nothing_to_compare(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    run = make_run(board)
    out = built(board, make_settings)

    assert "nothing to compare yet" in (out / "compare" / "index.html").read_text("utf-8")
    for page in ("demo", f"runs/{run.name}", "problems/softmax"):
        assert "?runs=" not in (out / page / "index.html").read_text("utf-8")


def test_a_rival_that_came_later_is_led_to_where_what_did_not_change_is_taken_over(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    run = make_run(board, transcript={LOG: session(STEADY)})
    alone = make_run(board, problem="lonely", transcript={LOG: session(STEADY)})
    first = built(board, make_settings)
    assert not (first / "runs" / run.name / "compare.js").exists()
    rival = make_run(board, model="rival", metrics={"peak_fraction": 0.9})
    later = built(board, make_settings)
    kept = {
        path.name: path.read_bytes()
        for path in (later / "runs" / run.name).iterdir()
        if path.is_file()
    }
    lonely = (later / "runs" / alone.name / "index.html").read_bytes()
    anew = build(make_settings(board.parents[1], problems=[]), fresh=True).out

    assert f"?runs={run.name},{rival.name}" in kept["index.html"].decode()
    assert (anew / "runs" / run.name / "compare.js").read_bytes() == kept["compare.js"]
    assert (anew / "runs" / run.name / "index.html").read_bytes() == kept["index.html"]
    assert (anew / "runs" / alone.name / "index.html").read_bytes() == lonely


def test_a_long_session_is_cut_to_its_share_and_says_how_much_is_left_out(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    calls: list[Call] = [
        ("run", f"python work.py --step {n} {'x' * 300}", "ok") for n in range(900)
    ]
    log = session([*STEADY, *calls])
    run = make_run(board, transcript={LOG: log})
    make_run(board, model="other", transcript={"stdout.jsonl": long_session()})
    path = built(board, make_settings) / "runs" / run.name / "compare.js"
    held = handed_over(path)
    left_out = sum(int(row[4]) for row in held["calls"] if row[1] == "more")
    shown = [row for row in held["calls"] if row[1] != "more"]

    assert path.stat().st_size <= max(SHARE * len(log), LEAST + 4000)
    assert len(shown) + left_out == 907
    assert left_out > 0
    assert shown[-1][2] == f"L{line_of(906)}"
    assert [PHASES[row[0]] for row in shown] == sorted(
        (PHASES[row[0]] for row in shown), key=PHASES.index
    )


def test_a_short_session_is_told_whole(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    run = make_run(board, transcript={LOG: session(STEADY)})
    make_run(board, model="other")
    held = handed_over(built(board, make_settings) / "runs" / run.name / "compare.js")

    assert all(row[1] != "more" for row in held["calls"])


def test_a_solution_that_is_too_long_or_not_there_is_null(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    long = make_run(board, files={"solution.py": b"x = 1\n" * 100_000})
    other = make_run(board, model="other")
    (other / "solution.py").unlink()
    out = built(board, make_settings)

    for run in (long, other):
        assert handed_over(out / "runs" / run.name / "compare.js")["solution"] is None


def test_hostile_text_stays_text(
    board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    text = HOSTILE.replace("\x00", "").replace("\udcff", "")
    hostile = session([("run", HOSTILE.replace("\udcff", ""), text), *STEADY])
    run = make_run(
        board, run_id="20260102_030405_claude_x'><!--_softmax", model=text, effort=text,
        transcript={LOG: hostile}, files={"solution.py": b"\xff\x00</script>\n"},
    )  # fmt: skip
    make_run(board, model="other")
    path = built(board, make_settings) / "runs" / run.name / "compare.js"
    held = handed_over(path)

    assert not re.search(r"[<>&\u0080-\uffff]", path.read_text("ascii"))
    assert "</script>" in held["label"]
    assert "\u202e" not in json.dumps(held, ensure_ascii=False)
    assert held["solution"] == "\\xff␀</script>\n"
    assert held["id"] == run_key(run.name) == "20260102_030405_claude_x%27%3E%3C%21--_softmax"


@given(st.text())
def test_any_text_comes_back_from_a_script_of_harmless_characters(text: str) -> None:
    written = script({"text": text})

    assert written.isascii()
    assert not set("<>&") & set(written)
    assert json.loads(written.removeprefix("kbsiteRun(").removesuffix(");\n")) == {"text": text}


def test_an_id_cannot_end_the_list_that_it_stands_in() -> None:
    assert comparison("a,b", "c&d=e#f", "g") == "?runs=a%2Cb,c%26d%3De%23f,g"


@pytest.mark.parametrize("most", [0, 2, 16, 60, 3000])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 18, 61, 62, 3000, 3001, 3002, 3003, 9000])
def test_of_a_phase_with_many_calls_those_in_the_middle_are_left_out(count: int, most: int) -> None:
    every = [_Called(f"L{n}", ToolKind.RUN, "", None, failed=False) for n in range(count)]
    held = _OfPhase(Phase.CHECK)
    for call in every:
        held.take(call)
    left_out = count - most if count > most + 1 else 0

    first, more, last = held.told(most)
    assert more == left_out
    if left_out:
        assert first == every[: most // 2]
        assert last == every[most // 2 + left_out :]
    else:
        assert [*first, *last] == every
    assert len(held.first) + len(held.last) <= 3001


@pytest.mark.parametrize(
    ("score", "held"), [(0.99996, 0.99996), (1 - 1e-9, 0.999999), (0.533469, 0.533469)]
)
def test_a_score_of_a_curve_is_written_as_the_facts_write_it(
    score: float, held: float, board: Path, make_run: MakeRun, make_settings: MakeSettings
) -> None:
    grade = {"peak_fraction": score, "interval": [0.99995, 0.99997]}
    run = make_run(board, transcript={LOG: session(STEADY)}, metrics=grade)
    make_run(board, model="other", transcript={LOG: session(HASTY)})
    told = handed_over(built(board, make_settings) / "runs" / run.name / "compare.js")

    assert told["curves"]["score"][-1][1] == held
    assert dict(told["facts"])["interval"] == ".99995 to .99997"


@given(st.floats(0, 1e6))
def test_a_moment_keeps_the_second_that_pages_tell(seconds: float) -> None:
    told = _moment(seconds)

    assert told is not None
    assert elapsed(told) == elapsed(seconds)
    assert told == pytest.approx(seconds, rel=0.01, abs=0.001)


def test_a_moment_that_nobody_knows_is_none() -> None:
    assert (_moment(None), _moment(float("nan")), _moment(754.96)) == (None, None, 754.96)
