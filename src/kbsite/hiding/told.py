"""What a site and whoever builds it are told of what is hidden: where and how often, never what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from kbsite.model.finding import Finding, Severity
from kbsite.model.redacted import RedactedFile, Redactions
from kbsite.model.redaction import Hidden
from kbsite.redaction.titles import must_not_happen, title

MOST_LINES: Final = 20
"""Lines of a file that are told for each rule."""


def redactions(hidden: Mapping[str, Hidden], published: Collection[Path]) -> Redactions:
    """What data/redaction.json tells of it: which rule, where and how often, never what.

    Of the runs in the folders `published` alone.
    """
    files = []
    folders = set(map(str, published))
    for folder, one in sorted(hidden.items()):
        for name, spans in sorted(one.files.items()) if folder in folders else ():
            rules = sorted({span.rule for span in spans})
            by_rule = {rule: [span.line for span in spans if span.rule == rule] for rule in rules}
            files.append(
                RedactedFile(
                    run=Path(folder).name,
                    file=one.names.get(name, name),
                    before=one.before[name],
                    after=one.after[name],
                    hits={rule: len(lines) for rule, lines in by_rule.items()},
                    lines={
                        rule: tuple(filter(None, lines[:MOST_LINES]))
                        for rule, lines in by_rule.items()
                    },
                )
            )
    return Redactions(format=1, files=tuple(files))


def counts(told: Redactions) -> dict[str, int]:
    """How many passages are hidden, by rule."""
    found: Counter[str] = Counter()
    for file in told.files:
        found.update(file.hits)
    return dict(sorted(found.items()))


def unwanted(hidden: Mapping[str, Hidden]) -> Iterator[Finding]:
    """What should not have been in a run at all, as warnings: one for a file and a rule."""
    for folder, one in sorted(hidden.items()):
        for name, spans in sorted(one.files.items()):
            # Of very many passages hardly any are such.
            for rule in sorted(filter(must_not_happen, {span.rule for span in spans})):
                held = [span for span in spans if span.rule == rule]
                path = f"{folder}/{one.names.get(name, name)}"
                message = (
                    f"{len(held)} passages are hidden on the site: {title(rule)}; revoke what"
                    " it is, or tell kbsite.yaml under redact.allow that it is no secret"
                )
                yield Finding(Severity.WARNING, path, message, held[0].line or None, rule)
