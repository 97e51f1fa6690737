"""The log of a scripted server: what was asked, and what was said."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from bench.providers import Dialect
from bench.records import plain
from bench.scripted.replies import SIDE
from kbsite.model.usage import Usage, total
from kbsite.store.folders import make_folder


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request, as it stands."""

    number: int
    """From 1, in the order in which they came."""
    method: str
    path: str
    """Without the run's prefix."""
    run: str
    """The name in the prefix /r/NAME; empty without one."""
    dialect: Dialect | None = None
    """None for a path of none of them."""
    model: str = ""
    """As the request names it."""
    script: str | None = None
    """The script that was played; SIDE for a request that belongs to none."""
    turn: int | None = None
    attempt: int = 1
    """How often this turn was asked for in the run."""
    tools: tuple[str, ...] = ()
    """The names that were offered."""
    called: tuple[str, ...] = ()
    """The names that the answer calls."""
    streamed: bool = False
    status: int | None = None
    """None until headers went out, and where none ever did."""
    fault: str | None = None
    """The kind of the fault that was played (`Fault.kind`)."""
    told: Usage | None = None
    """What those bytes tell of the usage that went out; None where they tell nothing."""
    ended: bool = False
    hung_up: bool = False
    """Whether the client went before the answer's end."""

    @property
    def side(self) -> bool:
        """Whether it belongs to no script, such as one for a title."""
        return self.script == SIDE


def expected_usage(requests: Iterable[Request]) -> Usage:
    """The sum of what these requests were told, side requests included."""
    return total(one.told for one in requests if one.told is not None)


class RequestLog:
    """Requests as they come and end; safe to ask from any thread."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`, if any, gets the body of each request, and the log itself as it ends."""
        self._folder = folder
        self._changed = threading.Condition()
        self._held: dict[int, Request] = {}
        if folder is not None:
            make_folder(folder)

    @property
    def all(self) -> tuple[Request, ...]:
        """All so far, in the order in which they came."""
        with self._changed:
            return tuple(self._held.values())

    def begin(self, method: str, path: str, run: str) -> Request:
        """A new one."""
        with self._changed:
            one = Request(number=len(self._held) + 1, method=method, path=path, run=run)
            self._held[one.number] = one
            self._changed.notify_all()
            return one

    def change(self, request: Request, **changes: Any) -> Request:
        """The request with these fields changed, in the log as well."""
        with self._changed:
            one = replace(self._held[request.number], **changes)
            self._held[one.number] = one
            self._changed.notify_all()
            return one

    def finish(self, request: Request, **changes: Any) -> Request:
        """The request, ended, with these fields changed; its line is written where logs are."""
        one = self.change(request, ended=True, **changes)
        if self._folder is not None:
            with self._changed, (self._folder / "requests.jsonl").open("a") as stream:
                stream.write(json.dumps(plain(one)) + "\n")
        return one

    def keep_body(self, request: Request, body: bytes) -> None:
        """Write a request's body, where bodies are kept."""
        if self._folder is not None:
            (self._folder / f"{request.number:05d}.json").write_bytes(body)

    def wait_until(self, holds: Callable[[Sequence[Request]], bool], seconds: float) -> bool:
        """Whether it came to hold of the requests within that time."""
        end = monotonic() + seconds
        with self._changed:
            return self._changed.wait_for(
                lambda: holds(tuple(self._held.values())), max(0.0, end - monotonic())
            )
