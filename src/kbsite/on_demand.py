"""Rows of things that are made whenever one is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class OnDemand(Sequence[T_co]):
    """A row of which no more is in memory than it takes to make each."""

    @abstractmethod
    def made(self, number: int) -> T_co:
        """One of them, by its number from 0."""

    def several(self, chosen: slice) -> Sequence[T_co]:
        """Some of them."""
        return [self.made(one) for one in range(len(self))[chosen]]

    @overload
    def __getitem__(self, number: int) -> T_co: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[T_co]: ...
    def __getitem__(self, number: int | slice) -> T_co | Sequence[T_co]:
        """One of them, or several; IndexError where there are not so many."""
        if isinstance(number, slice):
            return self.several(number)
        return self.made(range(len(self))[number])
