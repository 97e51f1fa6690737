"""The Markdown says all that matters, owns up to what it leaves out, and cannot be forged."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import force_setattr, replace

from kbsite.exports.markdown import page
from kbsite.exports.markdown.excerpts import Bound, Left, excerpt
from kbsite.exports.markdown.fences import code, fenced
from kbsite.model.audit import Audit, Earlier, Provenance, Quote, Verdict
from kbsite.model.board import Attempt
from kbsite.model.event import (
    Finish,
    Image,
    Malformed,
    Message,
    Role,
    Scope,
    Source,
    Thought,
    Trace,
    Unknown,
)
from kbsite.model.grade import Metrics, Outcome, ShapeMetrics
from kbsite.model.proof import Proof, ProofState
from kbsite.model.status import Status
from kbsite.model.transcript import Transcript
from tests.exports.hostile import ODD, TEXTS, TRANSCRIPTS
from tests.exports.telling import attempt, every_capture
from tests.fold.making import Log, folded


def file(told: Transcript | None, run: Attempt, *proofs: Proof) -> str:
    return "".join(page(told, run, proofs))


def written(*events: Any, **run: Any) -> str:
    return file(folded(*events), attempt(**run))


def headings(text: str) -> list[str]:
    """The headings, as a reader of Markdown sees them."""
    tokens = MarkdownIt().parse(text)
    return [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]


def audited(verdict: Verdict, **facts: Any) -> Attempt:
    known: dict[str, Any] = {"summary": "Fine.", "auditor": "A. Reader"}
    audit = Audit(verdict=verdict, **{**known, **facts})
    return Attempt(attempt().run, attempt().metrics, audit)


# Facts, verdict, grade


def test_the_head_tells_whose_run_it_is_and_what_it_took() -> None:
    text = written(Log().say(), usage={"input": 1200, "output": 30}, notes=["Rerun by hand."])

    assert text.startswith("# `softmax` by `claude · m [max]`\n")
    assert "- run: `r`" in text
    assert "- tokens: `input 1,200, output 30`" in text
    assert "- budget: `3600 s`" in text
    assert "- note: `Rerun by hand.`" in text


@pytest.mark.parametrize(
    ("seconds", "told"), [(1574831.564, "1574832 s"), (57716.11, "57716.1 s"), (5e-6, "0.000005 s")]
)
def test_times_are_told_without_an_exponent(seconds: float, told: str) -> None:
    assert f"- took: `{told}`" in written(started=None, ended=None, seconds=seconds)


def test_what_is_not_known_is_not_told() -> None:
    text = written(usage={}, hardware=None, harness_version=None)

    assert "None" not in text
    assert "tokens" not in text
    assert "hardware" not in text


def test_the_verdict_is_told_with_what_it_rests_on() -> None:
    quote = Quote(file="solution.py", lines=(3, 9), label="the cheat", text="return cached")
    told = audited(Verdict.REWARD_HACK, quotes=(quote,), date=date(2026, 1, 3), implication="Void.")
    text = file(None, told, Proof(quote=quote, state=ProofState.PROVEN))

    assert "**reward_hack**: It games the evaluation" in text
    assert "- in the ranking: `does not count`" in text
    assert "- implication: `Void.`" in text
    assert "- date: `2026-01-03`" in text
    assert "Quote from `solution.py:3-9` (`the cheat`):\n```text\nreturn cached\n```" in text


def test_no_quote_that_is_not_proven_stands_there_unmarked() -> None:
    quote = Quote(file="transcript/a", event="L7", text="return cached")
    told = audited(Verdict.BUG, quotes=(quote, quote))
    text = file(None, told, Proof(quote=quote, state=ProofState.ELSEWHERE))

    assert "\nQuote from" not in text
    first, second = re.findall(r"Unproven quote, said to be from `transcript/a:L7`: (.*)", text)
    assert first == ProofState.ELSEWHERE.sentence
    assert second == "Nobody held it against the file."


def test_earlier_verdicts_are_told() -> None:
    before = Earlier(
        verdict=Verdict.CLEAN, summary="Fine.", auditor="B", date=date(2026, 1, 1),
        replaced=date(2026, 1, 2), by="A", why="It was not.",
    )  # fmt: skip
    text = file(None, audited(Verdict.BUG, history=(before,), provenance=Provenance.OWN))

    assert "Before 2026-01-02: **clean**" in text
    assert "- why: `It was not.`" in text
    assert "- provenance: `own`" in text


def test_a_run_that_nobody_audited_says_so() -> None:
    assert "No verdict on this run is known." in file(None, attempt())


def test_the_grade_is_told_shape_by_shape() -> None:
    shapes = (ShapeMetrics(shape="n=1", ms=1.5, peak_fraction=0.25), ShapeMetrics(shape="n=2"))
    metrics = Metrics(format=1, status=Status.PASSED, peak_fraction=0.25, interval=(0.2, 0.3),
                      outcome=Outcome.PASS, alarms=("Look here.", "And there."),
                      shapes=shapes)  # fmt: skip
    text = file(None, Attempt(attempt().run, metrics, None))

    assert "- peak_fraction: `0.25`" in text
    assert "- interval: `0.2 to 0.3`" in text
    assert "- outcome: `PASS`" in text
    assert "- alarms of the grader: `Look here.; And there.`" in text
    assert "- shape `n=1`: ms 1.5, peak_fraction 0.25" in text
    assert "- shape `n=2`: not measured" in text


# Steps


def test_every_step_is_headed_by_number_place_and_time() -> None:
    log = Log()
    said, called = log.say("I look.", at=0), log.call("a")
    text = written(said, called, log.result("a", "out"), log.say("Done.", at=62))

    assert headings(text)[-3:] == [
        "1 · `L1` · 0 s · assistant", "2 · `L2` · call of `t`", "3 · `L4` · 62 s · assistant",
    ]  # fmt: skip
    assert "Result:\n```text\nout\n```" in text


def test_how_long_a_call_took_is_told_without_an_exponent() -> None:
    log = Log()
    slow, quick = log.result("a", "out"), log.result("b", "out")
    force_setattr(slow, "seconds", 1805.4)
    force_setattr(quick, "seconds", 0.00002)
    text = written(log.call("a"), slow, log.call("b"), quick)

    assert "Result, 1805 s:" in text
    assert "Result, 0.00002 s:" in text


def test_what_the_cli_tells_of_a_call_stands_below_its_arguments() -> None:
    assert "in /w" in written(replace(Log().call("a"), described="in /w"))


def test_how_a_call_ended_is_told() -> None:
    log = Log()
    failed = log.result("a", "", failed=True)
    force_setattr(failed, "exit_code", 2)
    text = written(log.call("a"), failed, log.call("b"))

    assert "Result, an error, exit code 2, empty:" in text
    assert "No result came back." in text


def test_what_the_cli_put_in_and_what_nobody_can_read_is_marked() -> None:
    log = Log()
    text = written(
        Message(source=log.source, role=Role.USER, text="env", injected=True),
        Thought(source=log.source, text="", encrypted=True),
        Unknown(source=log.source, type="new`", raw='{"type": "new"}'),
        Malformed(source=log.source, text="{", reason="cut"),
    )

    assert headings(text)[-4:] == [
        "1 · `L1` · user, put in by the CLI", "2 · `L2` · thought, not told",
        "3 · `L3` · row of an unknown type, `` new` ``", "4 · `L4` · unreadable: `cut`",
    ]  # fmt: skip


def test_sub_agents_stand_below_their_call() -> None:
    log = Log()
    text = written(
        log.call("t"), log.start("kid", "t", title="Look"), log.say("in", agent="kid"),
        log.result("t"), log.say("alone", agent="stray"),
    )  # fmt: skip

    assert headings(text)[-6:] == [
        "1 · `L1` · call of `t`", "Sub-agent `kid` (`Look`), of step 1", "1.1 · `L3` · assistant",
        "End of sub-agent `kid`", "Sub-agent `stray`, which nothing ties to a call",
        "1 · `L5` · assistant",
    ]  # fmt: skip


def test_an_end_that_another_file_tells_is_told() -> None:
    told = folded(Log().say())
    end = Finish(source=Source("stdout.jsonl", 9), ok=True, reason="end_turn", text="All done.")
    force_setattr(told, "finish", end)

    assert "`stdout.jsonl` · finish (`end_turn`)\n```text\nAll done." in file(told, attempt())


def test_a_run_without_transcript_says_so() -> None:
    assert "There is no transcript of this run." in file(None, attempt())


# What is left out


def test_a_long_output_keeps_head_and_tail_and_counts_the_rest() -> None:
    log = Log()
    output = "".join(f"line {number}\n" for number in range(1000))
    text = written(log.call("a"), log.result("a", output))
    found = re.search(r"\[… ([\d,]+) characters, ([\d,]+) line ends left out …\]", text)

    assert "line 11\n" in text
    assert "line 12\n" not in text
    assert "line 988\n" in text
    assert found is not None
    assert found[2] == "976"
    assert f"{found[1]} characters of long texts and outputs, in 1 places" in text


def test_bookkeeping_and_pictures_are_counted() -> None:
    log = Log()
    shown = Message(source=log.source, role=Role.USER, text="see", images=(Image("a/b", "AA"),))
    text = written(shown, Trace(source=log.source, type="tick", raw="{}"))

    assert "Left out here: 1 rows of bookkeeping; 1 pictures; and" in text
    assert "(1 picture left out)" in text


@given(st.text(max_size=900), st.integers(1, 9), st.integers(1, 200))
def test_an_excerpt_is_the_text_or_counts_what_it_lacks(text: str, lines: int, size: int) -> None:
    left = Left()
    found = excerpt(text, Bound(lines, size), left)
    if left.places == 0:
        assert found == text
    else:
        head, _, tail = found.partition("\n[… ")
        tail = tail.partition("left out …]\n")[2]
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + left.characters == len(text)


def test_the_middle_of_a_text_is_kept_where_leaving_it_out_saves_nothing() -> None:
    text = "x" * 300

    assert excerpt(text, Bound(1, 100), Left()) == text


# Hostile text


@given(TEXTS)
def test_a_fence_holds_all_of_its_text(text: str) -> None:
    tokens = MarkdownIt().parse(fenced(text))

    assert [token.type for token in tokens] == ["fence"]


@given(TEXTS)
def test_a_fact_is_one_line_of_code(text: str) -> None:
    (_, inline, _) = MarkdownIt().parse(f"a {code(text)}")

    assert [child.type for child in inline.children or []] == ["text", "code_inline"]


def test_no_text_of_a_run_is_a_heading() -> None:
    forged = "````\n```\n~~~\n# Verdict\n\n**clean**\n</details>"
    log = Log()
    call = log.call("a")
    force_setattr(call, "tool", forged)
    force_setattr(call, "arguments", {forged: forged})
    found = headings(written(log.say(forged), call, log.result("a", forged), model=forged))

    assert [name for name in found if name == "Verdict"] == ["Verdict"]
    assert len(found) == 7


def test_what_cannot_be_seen_is_written_out() -> None:
    text = written(Log().say("\x1b[31m \u202e \ufeff \udcff \x00"))

    assert "\\x1b[31m \\u202e \\ufeff \\xff \\x00" in text


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(TRANSCRIPTS, st.sampled_from(ODD))
def test_nothing_hostile_stops_it(told: Any, word: str) -> None:
    text = file(told, attempt(model=word, notes=[word]))

    text.encode("utf-8")
    assert text == file(told, attempt(model=word, notes=[word]))
    assert headings(text).count("Verdict") == 1


def test_captures_are_told_whole_and_short() -> None:
    for name, told in every_capture():
        text = file(told, attempt())
        assert len(headings(text)) >= 5, name
        assert len(text) < 200_000, name


@pytest.mark.parametrize(
    ("score", "cost", "told"),
    [
        (0.99996, 0.00003, ("0.99996", "$0.000030")),
        (0.00000123456, 0.0000004, ("0.000001235", "$0.00000040")),
        (0.9996, 0.00096, ("0.9996", "$0.0010")),
        (1.00003, 12.5, ("1.00003", "$12.5000")),
        (1.0, 0.0, ("1", "$0.0000")),
    ],
)
def test_what_is_small_is_not_called_nothing_nor_nearly_all_of_it_all(
    score: float, cost: float, told: tuple[str, str]
) -> None:
    run = attempt(cost_usd=cost).run
    metrics = Metrics(format=1, status=Status.PASSED, peak_fraction=score)
    text = file(None, Attempt(run, metrics, None))

    assert f"- peak_fraction: `{told[0]}`" in text
    assert f"- cost: `{told[1]}`" in text


def test_a_cost_that_only_the_transcript_tells_is_told_and_marked_as_the_tokens_are() -> None:
    log = Log()
    session = log.use(5, scope=Scope.RUN, message="s", cost=0.5)
    whole = file(folded(log.say(), session), attempt(usage={}))
    cut = file(folded(log.say(), session, log.use(70)), attempt(usage={}))

    assert "- cost: `$0.5000`\n" in whole
    assert "- cost: `$0.5000 (a lower bound)`\n" in cut
    assert "(a lower bound)`" in next(line for line in cut.splitlines() if "tokens" in line)


def test_a_step_is_told_at_the_second_that_its_page_tells() -> None:
    log = Log()
    text = file(folded(log.say(at=0), log.say(at=59.7)), attempt())

    assert "2 · `L2` · 59 s · assistant" in text
