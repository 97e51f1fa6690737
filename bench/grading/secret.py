"""The secret that all inputs and the order of calls are drawn from."""

from __future__ import annotations

import hashlib
import random
import secrets

from kbsite.model.grade import Commitment
from kbsite.model.secret import bootstrap_seed, drawn

BYTES = 32


class Secret:
    """256 bits; whoever has them can make every input of a grade again."""

    def __init__(self, seed: bytes | None = None) -> None:
        self._seed = seed or secrets.token_bytes(BYTES)

    @property
    def commitment(self) -> Commitment:
        """The hash, which can be told before, and the secret, which is told after."""
        return Commitment(sha256=hashlib.sha256(self._seed).hexdigest(), seed=self._seed.hex())

    def number(self, *path: object) -> int:
        """A seed of 63 bits for one use, by HMAC-SHA256 over its path."""
        return drawn(self._seed, *path)

    @property
    def bootstrap_seed(self) -> int:
        """That of the draws which intervals come from."""
        return bootstrap_seed(self._seed)

    def random(self, *path: object) -> random.Random:
        """A generator for one use."""
        return random.Random(self.number(*path))  # noqa: S311 - seeded with a secret on purpose
