"""Pictures of cards: drawn anew here, and held against those of a site."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from kbsite.model.finding import Finding, Severity

MOST = 20
"""Pictures that are named one by one."""


class Drawn(Struct):
    """What came of holding pictures against what is drawn here of the same figures.

    Letters are those of the machine that drew them, and a site may have been made by several: so
    what differs is a warning, and never called false.
    """

    same: int = 0
    others: list[str] = field(default_factory=list)

    def take(self, path: str, wanted: bytes, got: bytes) -> None:
        """Hold a picture against what is drawn here."""
        if wanted == got:
            self.same += 1
        else:
            self.others.append(path)

    def findings(self) -> Iterator[Finding]:
        """The pictures of which nobody here can say that they show what follows."""
        if self.others and not self.same:
            message = f"drawn otherwise than here, like all {len(self.others)} pictures of the site"
            cure = "their letters are of other fonts, so that they are held against nothing"
            yield Finding(Severity.WARNING, self.others[0], f"{message}: {cure}")
            return
        for path in self.others[:MOST]:
            message = f"not what is drawn here of its figures, as {self.same} pictures are"
            why = "look at it: somebody changed it, or drew it with other fonts"
            yield Finding(Severity.WARNING, path, f"{message}; {why}")
        if len(self.others) > MOST:
            message = f"nor is this, nor {len(self.others) - MOST - 1} more"
            yield Finding(Severity.WARNING, self.others[MOST], message)
