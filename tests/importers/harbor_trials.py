"""Harbor's trials, made up: folders as Harbor 0.25 writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

AT = "2026-01-02T03:%s+00:00"
SPAN = {"started_at": AT % "04:05", "finished_at": AT % "14:05"}
GRADED = {"started_at": AT % "14:06", "finished_at": AT % "15:00"}

SESSION: list[dict[str, Any]] = [
    {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "version": "2.1.0",
     "isSidechain": False, "timestamp": "2026-01-02T03:04:06Z",
     "message": {"role": "user", "content": "Make it fast."}},
    {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s", "version": "2.1.0",
     "isSidechain": False, "timestamp": "2026-01-02T03:05:00Z",
     "message": {"id": "m1", "role": "assistant", "model": "opus-x-20260101",
                 "content": [{"type": "text", "text": "I look first."}],
                 "usage": {"input_tokens": 10, "output_tokens": 5}}},
]  # fmt: skip
STREAM: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s", "model": "opus-x", "cwd": "/app",
     "tools": ["Bash"], "permissionMode": "default", "claude_code_version": "2.1.0"},
    {"type": "result", "subtype": "success", "is_error": False, "result": "done",
     "session_id": "s"},
]  # fmt: skip
TRAJECTORY = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s",
    "agent": {"name": "terminus-2", "version": "2.0.0", "model_name": "opus-x"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Make it fast."},
        {"step_id": 2, "source": "agent", "message": "I look first.",
         "timestamp": "2026-01-02T03:05:00Z"},
    ],
}  # fmt: skip
LOG = "agent/sessions/projects/-app/s.jsonl"


def lines(rows: list[Any]) -> str:
    """Rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


CLAUDE = {LOG: lines(SESSION), "agent/claude-code.txt": lines(STREAM)}
"""What Claude Code leaves in a trial."""


def result(name: str = "add__abc", agent: str = "claude-code", **keys: Any) -> dict[str, Any]:
    """result.json of a trial that passed."""
    return {
        "id": f"id of {name}",
        "task_name": "add",
        "trial_name": name,
        "trial_uri": f"file:///home/somebody/jobs/j/{name}",
        "task_id": {"path": "tasks/add"},
        "task_checksum": "5e55",
        "config": {
            "task": {"path": "tasks/add"},
            "trial_name": name,
            "timeout_multiplier": 1.0,
            "agent": {"name": agent, "model_name": "lab/opus-x", "kwargs": {}},
        },
        "agent_info": {
            "name": agent,
            "version": "2.1.0",
            "model_info": {"name": "opus-x", "provider": "lab"},
        },
        "agent_result": {"n_input_tokens": 100, "n_cache_tokens": 80, "n_output_tokens": 7,
                         "cost_usd": 0.5, "rollout_details": None, "metadata": None},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": None,
        "agent_execution": SPAN,
        "verifier": GRADED,
        "step_results": None,
        **keys,
    }  # fmt: skip


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, which is returned."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def trial(
    folder: Path,
    files: Mapping[str, str | bytes] = CLAUDE,
    *,
    told: Mapping[str, Any] | str | None = None,
    agent: str = "claude-code",
    **keys: Any,
) -> Path:
    """Write a trial, named like its folder; `told` is result.json as it stands there."""
    held = result(folder.name, agent, **keys) if told is None else told
    text = held if isinstance(held, str) else json.dumps(held, indent=2)
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("agent", "verifier", "artifacts"):
        (folder / part).mkdir(exist_ok=True)
    config = {"trial_name": folder.name, "agent": {"name": agent}}
    return write(folder, {"result.json": text, "config.json": json.dumps(config), **files})


def job(folder: Path) -> Path:
    """Write what Harbor writes of a job itself; its trials are written into the folder."""
    told = {"id": "j", "n_total_trials": 1, "stats": {"n_trials": 1}}
    config = {"job_name": folder.name, "agents": []}
    return write(folder, {"result.json": json.dumps(told), "config.json": json.dumps(config)})


def failed(kind: str, message: str = "it broke") -> dict[str, str]:
    """exception_info."""
    return {
        "exception_type": kind,
        "exception_message": message,
        "exception_traceback": "Traceback",
        "occurred_at": AT % "14:00",
    }
