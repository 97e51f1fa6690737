"""mini-swe-agent: its trajectories, from 1.0 on."""

from __future__ import annotations

from kbsite.harnesses.form import Format
from kbsite.harnesses.lines import spread
from kbsite.harnesses.mini import trajectory
from kbsite.model.harness import Harness

HARNESS = Harness("mini", "mini-swe-agent", maker="SWE-agent", keeps_folder=False)

FORMATS: list[Format] = [
    Format(
        id="mini-trajectory",
        title="trajectory",
        globs=("**/*.traj.json", "trajectory/**/*"),
        parse=trajectory.parse,
        recognises=trajectory.recognises,
        stored_as="trajectory",
        read=spread,
    ),
]
