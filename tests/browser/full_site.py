"""A site that shows every sign there is: statuses, verdicts, floors, quotes, a long session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.records import plain
from kbsite.build import build
from kbsite.model.audit import Verdict
from kbsite.model.grade import Outcome
from kbsite.model.status import EndReason, Status
from kbsite.store.problems import read_problem
from tests.bench.grades import failed, grade
from tests.browser.long_session import line_of, session
from tests.conftest import MakeFloors, MakeProblem, MakeRun, MakeSettings
from tests.store.cards import CARD

QUOTED = 7
"""The round of the long session that the audit quotes."""
LOG = "home/.claude/projects/-w/s.jsonl"
SIGNS = ["passed", *(status.value for status in Status if status is not Status.PASSED)]
COLOURS = [*range(30, 38), *range(90, 98), *range(40, 48), *range(100, 108)]
TERMINAL = "\n".join(
    f"\x1b[{code}m{code} plain\x1b[1m bold\x1b[2m faint\x1b[7m inverse\x1b[0m" for code in COLOURS
)
PROSE = """# A heading

Text with `code`, **strong** words and [a link](https://host.example/).

| left | right |
|------|------:|
| a    |     1 |

1. one
2. two

> quoted

```python
def solve(x):  # a comment
    return f"{x}" + str(1.5)
```

- [x] done
"""
SOLUTION = '''import torch

@torch.compile
class Softmax(torch.nn.Module):
    """A kernel."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # the last axis
        return x.softmax(-1) if x is not None and len("s\\n") == 0x1f else None
'''


def every_kind() -> bytes:
    """A stream with every kind of step: prose, thoughts, edits, errors, and what none reads."""
    return "\n".join([*map(json.dumps, _rows()), "not JSON at all"]).encode()


def _use(call_id: str, name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def _rows() -> Iterator[dict[str, object]]:
    edit = {"file_path": "/w/solution.py", "old_string": "a = 1\n", "new_string": "a = 2\nb = 3\n"}
    parts = [
        {"type": "thinking", "thinking": PROSE}, {"type": "text", "text": PROSE},
        _use("run", "Bash", command="make\n" * 30, description="build"),
        _use("edit", "Edit", **edit), _use("read", "Read", file_path="/w/solution.py"),
        _use("web", "WebFetch", url="https://host.example/", prompt="read"),
        _use("other", "Unheard", one=1, two=["x"]), _use("open", "Bash", command="sleep 9"),
        {"type": "thinking", "thinking": ""},
    ]  # fmt: skip
    usage = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 5}
    yield {"type": "system", "subtype": "init", "model": "opus-x", "cwd": "/w", "tools": ["Bash"]}
    yield {"type": "assistant", "message": {"id": "m", "usage": usage, "content": parts}}
    for call in ("run", "edit", "read", "web", "other", "gone"):
        failed = call in ("run", "gone")
        result = {"type": "tool_result", "tool_use_id": call, "is_error": failed,
                  "content": f"Exit code 1\n{TERMINAL}" if failed else "fine"}  # fmt: skip
        yield {"type": "user", "message": {"role": "user", "content": [result]}}
    yield {"type": "system", "subtype": "compact_boundary", "content": "made shorter"}
    yield {"type": "never-heard-of", "x": 1}
    yield {"type": "result", "subtype": "success", "result": "done", "is_error": False,
           "duration_ms": 1000, "num_turns": 2}  # fmt: skip


def _audit(verdict: Verdict) -> dict[str, object]:
    at = line_of(QUOTED)
    quotes = [
        {"file": f"transcript/{LOG}", "lines": [at], "label": "a round", "text": "Round"},
        {"file": "solution.py", "lines": [1, 1], "label": "the line", "text": "def solve(x):"},
    ]
    return {"verdict": verdict.value, "summary": PROSE, "quotes": quotes, "implication": PROSE}


def _grades() -> dict[str, bytes]:
    """Samples of a grade of our own, and two grades before it."""
    lines = [json.dumps(plain(one)) for one in grade().samples]
    earlier = json.dumps(plain(failed(Outcome.LATE_WRITE).metrics))
    return {
        "samples.jsonl": "\n".join(lines).encode(),
        "grades/20261120T100000Z/metrics.json": earlier.encode(),
        "grades/20261119T100000Z/metrics.json": b"{}",
    }


def full_site(
    home: Path, make_run: MakeRun, make_settings: MakeSettings, make_problem: MakeProblem,
    make_floors: MakeFloors,
) -> Path:  # fmt: skip
    """The folder of a built site; runs/long is the long session, runs/kinds has every step."""
    problems = ["softmax", *(f"problem_{sign}" for sign in SIGNS)]
    about = {"about": PROSE, "contact": PROSE, "tagline": "every sign"}
    cards = home / "bench" / "hardware"
    cards.mkdir(parents=True)
    (cards / "gpu-a.yaml").write_text(CARD)
    settings = make_settings(home, site=about, title="Demo", tagline="a board", problems=problems)
    make_problem(home / "problems", "problem_passed", regime="latency")
    make_problem(
        home / "problems", "softmax", tags=["one"], forbidden=["torch.softmax"], summary="Softmax."
    )
    board = home / "runs" / "demo"
    hashes = {name: read_problem(home / "problems" / name).hash for name in problems}
    for number, sign in enumerate(SIGNS):
        reason = list(EndReason)[number % len(EndReason)].value
        make_run(board, problem=f"problem_{sign}", problem_hash=hashes[f"problem_{sign}"],
                 metrics={"status": sign}, end_reason=reason,
                 audit=_audit(list(Verdict)[number % len(Verdict)]), cost_usd=1.5)  # fmt: skip
    long = {LOG: session()}
    own: dict[str, Any] = {"problem_hash": hashes["softmax"]}
    make_run(board, run_id="long", **own, transcript=long, audit=_audit(Verdict.REWARD_HACK))
    make_run(board, run_id="again", **own, model="other", effort="low", variant="v", cost_usd=0.5,
             metrics={**plain(grade().metrics), "alarms": ["Look at what it computes."],
                      "hardware": "gpu-a"},
             files=_grades())  # fmt: skip
    make_run(home / "runs" / "floors", run_id="floor", **own, harness="floor", model="library",
             metrics=plain(grade(1.5).metrics))  # fmt: skip
    make_run(board, run_id="kinds", **own, model="other", effort="low", variant="v",
             notes=["a note"], origin="made up", end_reason="budget",
             metrics={"peak_fraction": 0.05, "detail": "slow"}, audit=_audit(Verdict.BUG),
             transcript={"stdout.jsonl": every_kind()},
             files={"check.log": TERMINAL.encode(), "solution.py": SOLUTION.encode()})  # fmt: skip
    make_run(board, run_id="refused", model="else", hardware="gpu-b")
    make_floors(
        board, *({"kind": kind, "problem": "softmax", "peak_fraction": 0.1, "source": "measured"}
                 for kind in ("library", "compiled", "eager"))
    )  # fmt: skip
    built = build(settings)

    assert [finding for finding in built.findings if "cannot be made" in finding.message] == []
    return built.out
