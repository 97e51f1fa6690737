from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from kbsite.model.usage import Usage, of_run, total, with_hours_of, without

KINDS = [field.name for field in fields(Usage)]
counts = st.none() | st.integers(0, 10**9)
usages = st.builds(Usage, **dict.fromkeys(KINDS, counts))


@given(st.lists(usages))
def test_a_kind_that_nobody_tells_stays_unknown(held: list[Usage]) -> None:
    summed = total(held)
    for kind in KINDS:
        told = [getattr(one, kind) for one in held if getattr(one, kind) is not None]
        assert getattr(summed, kind) == (sum(told) if told else None)


@given(st.lists(usages), st.lists(usages))
def test_the_order_and_grouping_of_a_sum_do_not_matter(one: list[Usage], two: list[Usage]) -> None:
    assert total([*one, *two]) == total([*two, *one]) == total([total(one), total(two)])


@given(usages)
def test_what_was_sent_is_unknown_only_if_all_of_it_is(usage: Usage) -> None:
    parts = [usage.input, usage.cache_read, usage.cache_write]
    told = [part for part in parts if part is not None]
    assert usage.sent == (sum(told) if told else None)
    assert usage.known == any(getattr(usage, kind) is not None for kind in KINDS)


@given(usages)
def test_all_tokens_are_what_was_sent_and_what_came_out(usage: Usage) -> None:
    parts = [usage.input, usage.cache_read, usage.cache_write, usage.output]

    assert usage.tokens == sum(part or 0 for part in parts)


@given(usages, usages)
def test_what_is_left_of_a_count_is_the_rest_of_each_kind_and_never_less_than_nothing(
    whole: Usage, part: Usage
) -> None:
    left = without(whole, part)
    for kind in KINDS:
        had, elsewhere = getattr(whole, kind), getattr(part, kind)
        assert getattr(left, kind) == (None if had is None else max(had - (elsewhere or 0), 0))


def test_what_was_written_for_an_hour_is_told_of_a_count_that_can_hold_it() -> None:
    told = Usage(input=1, cache_write=10, output=2)
    counted = Usage(cache_write=10, cache_write_1h=4)
    kept = [
        replace(told, cache_write=9), replace(told, cache_write=None),
        replace(told, cache_write_1h=0),
    ]  # fmt: skip

    for held in (told, replace(told, cache_write=11)):
        assert with_hours_of(held, counted) == replace(held, cache_write_1h=4)
    assert [with_hours_of(held, counted) for held in kept] == kept
    assert with_hours_of(told, Usage(cache_write=10)) == told


def test_nothing_is_known_of_nothing_and_zero_is_something() -> None:
    assert total([]) == Usage()
    assert not Usage().known
    assert Usage().sent is None
    assert Usage(input=0).known
    assert Usage(input=0).sent == 0
    assert Usage(output=3, reasoning=2).sent is None
    assert total(iter([Usage(input=1), Usage(input=2)])) == Usage(input=3)


def test_a_0_of_a_kind_that_nobody_counted_is_unknown() -> None:
    told = Usage(input=10, cache_read=0, cache_write=0, output=3, reasoning=0)
    counted = Usage(input=10, cache_read=0, cache_write=None, output=3, reasoning=1)

    assert of_run(told, counted) == Usage(
        input=10, cache_read=0, cache_write=None, output=3, reasoning=0
    )
    assert of_run(told, Usage()) == told
    assert of_run(Usage(), counted) == counted
    assert of_run(Usage(input=1, cache_write=2), counted) == Usage(input=1, cache_write=2)
