"""How a provider failed to answer, and how a client gets to see just that.

CLIs treat a reset, an early end and an error in different ways: what they did has to tell of the
provider, not of a proxy in between.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientOSError,
    ClientResponse,
    ServerDisconnectedError,
    web,
)
from aiohttp.client_proto import ResponseHandler

_ABORT: Final = struct.pack("ii", 1, 0)
_FLUSH_SECONDS: Final = 2.0


@dataclass
class BrokenOffError(Exception):
    """The provider hung up before its answer was whole."""

    reset: bool
    """By a reset of the connection; else by its orderly end."""
    sentence: str


@dataclass
class UnansweredError(Exception):
    """There is no connection to the provider, or it says nothing."""

    status: int
    """What a gateway answers in this case."""
    sentence: str


def unanswered(error: ClientError | TimeoutError) -> BrokenOffError | UnansweredError:
    """What became of a request that got no answer."""
    match error:
        case TimeoutError():
            return UnansweredError(504, "the provider did not answer in time")
        case ClientConnectorError():
            # As where it hangs up on a handshake of TLS: nothing says so.
            said = str(error.os_error) or "it hung up before there was a connection"
            return UnansweredError(502, f"the provider cannot be reached: {said}")
        case ServerDisconnectedError():
            return BrokenOffError(False, "the provider hung up before it answered")  # noqa: FBT003
        case ClientOSError():
            sentence = "the provider reset the connection before it answered"
            return BrokenOffError(True, sentence)  # noqa: FBT003
        case _:
            said = str(error) or type(error).__name__
            return UnansweredError(502, f"the provider's answer cannot be understood: {said}")


async def pieces(answer: ClientResponse) -> AsyncIterator[bytes]:
    """The body of an answer as it comes; raises BrokenOffError where it is not whole."""
    connection = answer.connection
    protocol = None if connection is None else connection.protocol
    try:
        async for piece in answer.content.iter_any():
            yield piece
    except TimeoutError as error:
        sentence = "the provider fell silent in the middle of its answer"
        raise BrokenOffError(True, sentence) from error  # noqa: FBT003
    except ClientError as error:
        raise _broken(reset=isinstance(error, OSError) or _was_reset(protocol)) from error
    if _was_reset(protocol):
        # An answer without a length ends with its connection: a reset looks like its end.
        raise _broken(reset=True)


def _was_reset(protocol: ResponseHandler | None) -> bool:
    return protocol is not None and isinstance(protocol.exception(), OSError)


def _broken(*, reset: bool) -> BrokenOffError:
    how = "reset the connection" if reset else "hung up"
    return BrokenOffError(reset, f"the provider {how} in the middle of its answer")


async def drop(request: web.BaseRequest, *, reset: bool) -> None:
    """End the client's connection as the provider ended its own."""
    transport = request.transport
    if transport is None:
        return
    if not reset:
        transport.close()
        return
    await _flushed(transport)
    held = transport.get_extra_info("socket")
    if held is not None and not transport.is_closing():
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
    transport.abort()


async def _flushed(transport: asyncio.Transport) -> None:
    """Wait until what was written before is with the kernel: a reset would take it back."""
    for _ in range(int(_FLUSH_SECONDS / 0.01)):
        if transport.is_closing() or transport.get_write_buffer_size() == 0:
            return
        await asyncio.sleep(0.01)
