"""Which way a call goes that finds what an earlier one kept: tests of it are decided so."""

from __future__ import annotations

import pytest

from tests.alarms.solutions import found, loud
from tests.alarms.twins import ALARM, solution

MADE = "self.y = self.key = None\nself.held = {}"
MISSING = "MISSING = object()\n"

FIRST = [
    "self.y is None",
    "self.y == None",
    "None is self.y or x.dim() > 9",
    "not self.y",
    "not (self.y is not None)",
    "self.y is MISSING",
    "self.y is False",
    "self.key != x.shape",
    "self.key is not x",
    "x.shape not in self.held",
    "not hasattr(self, 'y')",
    "getattr(self, 'y', None) is None",
    "(kept := self.y) is None",
    "self.y is None or self.key != x.data_ptr()",
    "len(x) > 0 and self.y is None",
]
"""Tests that only a call meets that finds nothing kept."""

STORES = "self.y = double(x)\n    self.key = x\n    self.held[x.shape] = 1"


@pytest.mark.parametrize("test", FIRST)
def test_a_later_call_does_not_do_what_the_first_does(test: str) -> None:
    text = solution(f"if {test}:\n    {STORES}\nreturn self.y", MISSING, MADE)

    assert "output-cache" in loud(text)


@pytest.mark.parametrize("test", FIRST)
def test_a_later_call_does_what_stands_behind_else(test: str) -> None:
    body = f"if {test}:\n    {STORES}\nelse:\n    self.y = double(x)\nreturn self.y"
    raised = {alarm.kind for alarm in found(solution(body, MISSING, MADE)) if alarm.level is ALARM}

    assert "output-cache" not in raised


@pytest.mark.parametrize("test", FIRST)
def test_a_later_call_returns_early_where_the_test_is_turned_round(test: str) -> None:
    body = f"if not ({test}):\n    return self.y\n{STORES.replace('    ', '')}\nreturn self.y"

    assert "output-cache" in loud(solution(body, MISSING, MADE))


@pytest.mark.parametrize(
    "test",
    [
        "x.dim() == 2",
        "x.shape[0] > 64",
        "x.is_contiguous()",
        "self.training",
        "x.dtype is torch.half",
    ],
)
def test_a_test_of_something_else_is_not_decided(test: str) -> None:
    body = f"""
        if {test}:
            y = torch.empty_like(x)
            double_into(x, y)
        else:
            y = double(x.contiguous())
        self.last = y
        return y
        """

    assert loud(solution(body)) == set()


@pytest.mark.parametrize(
    "reset",
    ["self.y = None", "self.y = torch.empty_like(x)\ndouble_into(x, self.y)", "self.y = double(x)"],
)
def test_what_each_call_sets_anew_is_not_kept(reset: str) -> None:
    body = f"{reset}\nif self.y is None:\n    self.y = double(x)\nreturn self.y"

    assert "output-cache" not in loud(solution(body, made="self.y = None"))


@pytest.mark.parametrize(
    "sets",
    [
        "if x.dim() == 2:\n    self.y = double(x)",
        "for _ in range(len(x)):\n    self.y = double(x)",
        "while self.y is None:\n    self.y = double(x)",
        "match x.dim():\n    case 2:\n        self.y = double(x)",
    ],
    ids=["if", "for", "while", "match"],
)
def test_what_only_some_calls_set_may_be_kept(sets: str) -> None:
    text = solution(f"{sets}\nreturn self.y", made="self.y = None")

    assert loud(text) & {"output-cache", "input-cache"}
