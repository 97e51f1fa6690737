"""Records of one kind as bytes, and read again from them."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Packing(Generic[T]):
    """How records of one kind are packed, as MessagePack has it, and unpacked."""

    def __init__(self, kind: type[T]) -> None:
        self.unpacked = msgspec.msgpack.Decoder(kind).decode
        """The record in some bytes."""

    def packed(self, record: T) -> bytes | None:
        """A record as bytes; None for what cannot be packed, or not be unpacked again.

        That is halves of characters, numbers of more than eight bytes and nesting too deep.
        """
        try:
            data = msgspec.msgpack.encode(record)
            # What cannot be unpacked is found now, where it can still stay in memory.
            self.unpacked(data)
        except (OverflowError, RecursionError, TypeError, ValueError):
            return None
        return data
