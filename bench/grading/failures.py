"""How a grading ends before its end."""

from __future__ import annotations

from kbsite.model.grade import Outcome


class Failure(Exception):  # noqa: N818 - it is a finding, not an error of the grader
    """The grade is decided: an outcome other than PASS, and what was found, in one sentence."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        self.outcome = outcome
        self.detail = detail
        super().__init__(f"{outcome.value}: {detail}")
