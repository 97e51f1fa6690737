from __future__ import annotations

from itertools import permutations

from msgspec.structs import replace

from kbsite.fold.tokens import Ledger
from kbsite.model.event import Scope, Session, Source, TokenUse
from kbsite.model.usage import Usage
from tests.fold.making import Log


def ledger(*uses: TokenUse) -> Ledger:
    held = Ledger()
    for use in uses:
        held.add(use)
    return held


def test_the_last_count_of_a_message_holds_and_messages_add_up() -> None:
    log = Log()
    held = ledger(
        log.use(1, message="a"), log.use(9, message="a"), log.use(5, message="b"), log.use(2)
    )
    assert held.total == Usage(output=16)
    assert held.counted == held.total
    assert held.told == Usage()


def test_counts_without_id_are_messages_of_their_own_even_on_one_line() -> None:
    uses = [
        TokenUse(source=Source("f", 1, part), usage=Usage(output=2), scope=Scope.MESSAGE)
        for part in (0, 1, 2)
    ]
    assert ledger(*uses).total.output == 6


def test_one_message_id_in_two_agents_is_two_messages() -> None:
    log = Log()
    held = ledger(log.use(1, message="a"), log.use(2, message="a", agent="x"))
    assert (held.usage(""), held.usage("x")) == (Usage(output=1), Usage(output=2))
    assert held.total.output == 3
    assert held.usage("nobody") == Usage()


def test_a_cumulative_count_stands_for_the_messages_of_its_agent() -> None:
    log = Log()
    held = ledger(
        log.use(1, message="a"), log.use(10, scope=Scope.AGENT), log.use(30, scope=Scope.AGENT),
        log.use(4, message="b", agent="x"),
    )  # fmt: skip
    assert held.usages() == {"": Usage(output=30), "x": Usage(output=4)}
    assert held.total.output == 34


def test_cumulative_counts_of_two_sessions_add_up_with_the_messages_of_a_third() -> None:
    one, other, third = Log("one"), Log("other"), Log("third")
    held = ledger(
        one.use(1, message="a"), one.use(10, scope=Scope.AGENT, message="s1", cost=0.5),
        other.use(2, message="b"), other.use(20, scope=Scope.AGENT, message="s2", cost=0.25),
        third.use(4, message="c", cost=0.125),
    )  # fmt: skip
    assert held.usages() == {"": Usage(output=34)}
    assert held.cost_usd == 0.875
    assert not held.lower_bound


def test_cumulative_counts_that_name_no_session_are_those_of_their_files() -> None:
    counts = [Log(file).use(10, scope=Scope.AGENT) for file in ("one", "other", "one")]
    assert ledger(*counts).total.output == 20
    finals = [Log(file).use(10, scope=Scope.RUN) for file in ("one", "other", "one")]
    assert ledger(*finals).total.output == 20


def test_what_sessions_had_from_another_is_counted_once_and_at_least() -> None:
    log = Log()
    first, fork = log.use(30, scope=Scope.AGENT, message="s1"), "s1"
    second = replace(log.use(50, scope=Scope.AGENT, message="s2"), continues=fork)
    third = replace(log.use(40, scope=Scope.AGENT, message="s3"), continues="s2")
    apart = log.use(5, scope=Scope.AGENT, message="s4")

    for order in permutations((first, second, third, apart)):
        held = ledger(*order)
        assert (held.total.output, held.lower_bound) == (55, True)
    alone = ledger(second)
    assert (alone.total.output, alone.lower_bound) == (50, False)


def test_sessions_that_name_each_other_are_counted_all_the_same() -> None:
    log = Log()
    one = replace(log.use(30, scope=Scope.AGENT, message="s1"), continues="s2")
    other = replace(log.use(50, scope=Scope.AGENT, message="s2"), continues="s1")
    own = replace(log.use(7, scope=Scope.AGENT, message="s3"), continues="s3")

    assert ledger(one, other, own).total.output == 87


def test_the_cli_s_own_count_of_each_session_is_the_total() -> None:
    log = Log()
    held = ledger(
        log.use(1, message="a", lower_bound=True),
        log.use(50, scope=Scope.RUN, message="s1"),
        log.use(60, scope=Scope.RUN, message="s1"),
        log.use(7, scope=Scope.RUN, message="s2"),
    )
    assert held.total.output == 67
    assert held.counted.output == 1
    assert not held.lower_bound


def test_the_largest_of_the_counts_of_a_session_in_several_files_is_its_total() -> None:
    """Taken up again, a CLI counts on, and nobody knows what its files are called."""
    logs = [Log(name) for name in ("a", "b", "c")]
    counts = (10, 30, 20)
    uses = [
        log.use(count, scope=Scope.RUN, message="s", cost=count / 10)
        for log, count in zip(logs, counts, strict=True)
    ]
    for order in permutations(uses):
        held = ledger(*order)
        assert (held.total.output, held.cost_usd) == (30, 3.0)
    later = logs[1].use(5, scope=Scope.RUN, message="s")
    assert ledger(*uses, later).total.output == 20, "in a file the last one holds"


def test_the_largest_cumulative_count_of_a_session_in_several_files_stands_for_all() -> None:
    logs = [Log(name) for name in ("a", "b", "c")]
    counts = [
        log.use(count, scope=Scope.AGENT, message="s")
        for log, count in zip(logs, (10, 30, 20), strict=True)
    ]
    messages = [log.use(10, message=f"{log.file}'s") for log in logs]
    for order in permutations([*counts, *messages]):
        assert ledger(*order).total.output == 30
    later = logs[1].use(5, scope=Scope.AGENT, message="s")
    assert ledger(*counts, later).total.output == 20, "in a file the last one holds"


def test_a_total_without_a_session_that_never_ended_is_a_lower_bound() -> None:
    log = Log()
    ended = log.use(50, scope=Scope.RUN, message="s1")
    held = ledger(log.use(1, message="a"), ended, log.use(60, message="b"))

    assert held.total.output == 50
    assert held.lower_bound
    assert not ledger(log.use(50, message="a"), ended).lower_bound


def test_a_total_leaves_out_a_session_in_another_file_that_was_killed() -> None:
    ended, killed = Log("one"), Log("other")
    uses = ended.use(1, message="a"), ended.use(50, scope=Scope.RUN, message="s1")

    assert ledger(*uses, killed.use(1, message="b")).lower_bound
    assert ledger(killed.use(1, message="b"), *uses).lower_bound


def test_a_total_leaves_out_a_session_that_was_killed_before_in_the_same_file() -> None:
    log, held = Log(), Ledger()
    for session in ("s1", "s1", "s2"):
        held.enter(Session(source=log.source, session_id=session))
        held.add(log.use(1, message=session))
        assert not held.lower_bound
    held.enter(Session(source=log.source, session_id="helper", agent="helper"))
    held.add(log.use(50, scope=Scope.RUN, message="s2"))
    assert held.lower_bound


def test_a_session_that_tells_no_tokens_leaves_those_that_were_counted() -> None:
    log = Log()
    held = ledger(log.use(8, message="a"), log.use(None, scope=Scope.RUN, cost=0.5))
    assert (held.total.output, held.cost_usd) == (8, 0.5)


def test_what_nobody_tells_stays_unknown() -> None:
    log = Log()
    assert ledger().total == Usage()
    assert ledger().cost_usd is None
    assert ledger(log.use(None, message="a")).total.output is None
    assert ledger(log.use(0, message="a")).total.output == 0


def test_costs() -> None:
    log = Log()
    each = [log.use(1, message=name, cost=0.25) for name in "ab"]
    assert ledger(*each).cost_usd == 0.5
    whole = log.use(9, scope=Scope.AGENT, cost=2.0)
    other = log.use(1, message="c", agent="x", cost=1.0)
    assert ledger(*each, whole).cost_usd == 2.0
    assert ledger(*each, whole, other).cost_usd == 3.0
    final = log.use(9, scope=Scope.RUN, cost=5.0)
    assert ledger(*each, whole, other, final).cost_usd == 5.0
    assert ledger(log.use(1, message="a", cost=0.0)).cost_usd == 0.0


def test_a_lower_bound_is_told_until_the_whole_count_comes() -> None:
    log = Log()
    low = log.use(1, message="a", lower_bound=True)
    assert ledger(low).lower_bound
    assert not ledger(low, log.use(9, message="a")).lower_bound


def test_many_agents_and_messages_are_summed() -> None:
    log, held = Log(), Ledger()
    for n in range(30_000):
        held.add(log.use(1, message=str(n), agent=str(n % 1000)))
    assert held.total.output == 30_000
