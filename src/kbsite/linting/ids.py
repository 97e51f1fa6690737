"""An id stands once on its page, and what is named by one is there."""

from __future__ import annotations

from collections.abc import Iterator

from kbsite.linting.site import BuiltSite
from kbsite.model.finding import Finding, Severity


def findings(site: BuiltSite) -> Iterator[Finding]:
    """Ids that stand twice, and labels of what is not there."""
    for page, facts in site.pages.items():
        for name in facts.doubled:
            line = site.line(page, name, 2)
            message = "this id stands there before; expected each id once on a page"
            yield Finding(Severity.ERROR, page, message, line=line, key=name)
        for name in facts.named:
            if name not in facts.ids:
                yield site.on(page, name, "no element of the page has this id", key=name)
