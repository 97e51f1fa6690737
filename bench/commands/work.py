"""From the values of options to the choice of how to grade, and from its steps to progress."""

from __future__ import annotations

from bench.commands.choices import folder
from bench.commands.command import Given, Told
from bench.grading.setting import CALLS, ROUNDS, Step
from bench.jobs import Choice
from bench.progress import Told as ToldStep
from bench.progress import Track, words
from kbsite.errors import UsageError


def choice(given: Given) -> Choice:
    """How to grade, as options say; UsageError where a number makes no sense."""
    for name in ("rounds", "calls"):
        if given.get(name) is not None and given[name] < 1:
            raise UsageError(f"--{name} {given[name]}: expected 1 or more")
    return Choice(
        device=given.get("device") or "",
        hardware=given.get("hardware") or "",
        sandbox=given.get("sandbox") or "",
        anchors=given.get("anchors"),
        rounds=given.get("rounds") or ROUNDS,
        calls=given.get("calls") or CALLS,
        shapes=tuple(given.get("shape") or ()),
        problems=folder(given, "problems"),
        runs=folder(given, "runs"),
    )


def step_by_step(told: Told) -> ToldStep:
    """Tells the steps of a grading as a share of the whole."""
    track = Track()

    def step(one: Step) -> None:
        told(words(one), track.share(one))

    return step
