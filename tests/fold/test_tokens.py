from __future__ import annotations

from kbsite.fold.tokens import Ledger
from kbsite.model.event import Scope, Source, TokenUse
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


def test_a_total_without_a_session_that_never_ended_is_a_lower_bound() -> None:
    log = Log()
    ended = log.use(50, scope=Scope.RUN, message="s1")
    held = ledger(log.use(1, message="a"), ended, log.use(60, message="b"))

    assert held.total.output == 50
    assert held.lower_bound
    assert not ledger(log.use(50, message="a"), ended).lower_bound


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
