"""Harbor's Agent Trajectory Interchange Format: trajectories of any agent, as one document."""

from __future__ import annotations

from kbsite.harnesses.atif import trajectory
from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import spread
from kbsite.model.harness import Harness

HARNESS = Harness("atif", "ATIF trajectory", maker="Harbor")

FORMATS: list[Format] = [
    Format(
        id="atif",
        title="trajectory",
        globs=("**/trajectory*.json", "atif/**/*"),
        parse=trajectory.parse,
        recognises=trajectory.recognises,
        stored_as="atif",
        read=spread,
    ),
]
