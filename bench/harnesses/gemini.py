"""Gemini CLI: one process without its launcher, the key in a variable, the prompt on stdin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bench.harnesses.asking import as_json, bare_version, check, ended
from bench.harnesses.form import (
    DUMMY_KEY,
    HOME,
    Asked,
    Completion,
    Extract,
    Kept,
    Launch,
    Said,
)
from bench.harnesses.tails import last_rows
from bench.providers import Dialect
from kbsite.harnesses.lines import Record, mapping, text

ATTEMPTS = 5
"""Of one request: 5 to 30 seconds apart, so that a dead provider ends a session in two minutes."""

BUDGETS = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24576}
"""Thinking tokens that Google's own API takes for an effort with models before Gemini 3."""

SHELL_TIMEOUT = 1800
"""Seconds after which a command that prints nothing is stopped."""

_LOST = re.compile(r"API Error|Model stream|Invalid stream|fetch failed|ECONN|quota", re.IGNORECASE)

CHAT = "chat-base"
"""What its own settings of every model to talk with are built on: of some models it asks for
another one than was ordered, and no setting of the one that was ordered counts then."""

WEB_TOOLS = ("google_web_search", "web_fetch")


@dataclass(frozen=True, slots=True)
class Gemini:
    """The adapter of Gemini CLI."""

    id: str = "gemini"
    dialects: tuple[Dialect, ...] = (Dialect.GEMINI,)
    provider: str | None = "google"
    efforts: tuple[str, ...] = tuple(BUDGETS)
    extract: Extract | None = None
    kept: tuple[Kept, ...] = (
        Kept(glob=".gemini/tmp/*/chats/**/*.json", to="home"),
        Kept(glob=".gemini/tmp/*/chats/**/*.jsonl", to="home"),
        Kept(glob=".gemini/tmp/*/tool-outputs/**/*", to="home"),
    )
    unfair: tuple[str, ...] = (
        "An output that holds a NUL byte reaches the model empty, and colours are removed.",
        "A stream that breaks off once ends the session: that request is not repeated.",
        "Some models that it is asked for it replaces by a later one of that name.",
        "A sub-agent has to end with a tool of its own; one that just answers is asked again.",
    )

    def recognises(self, printed: str) -> str | None:
        """The version; Gemini CLI prints nothing but that."""
        return bare_version(printed)

    def launch(self, asked: Asked) -> Launch:
        """How to start it: settings in a file, nothing of the user's, all tools allowed."""
        check(self, asked)
        return Launch(
            command=("--model", asked.model, "--yolo", "--skip-trust", "-o", "stream-json"),
            environment={
                "GEMINI_API_KEY": DUMMY_KEY,
                "GOOGLE_GEMINI_BASE_URL": asked.base_url,
                "GEMINI_CLI_HOME": str(HOME),
                "GEMINI_CLI_NO_RELAUNCH": "true",
                "GEMINI_TELEMETRY_ENABLED": "false",
            },
            files={PurePosixPath(".gemini/settings.json"): as_json(_settings(asked))},
            stdin=asked.prompt.encode(),
        )

    def completion(self, transcript: Path) -> Completion:
        """What its last `result` says; the reason of an error stands in it, or in `error` rows."""
        result: dict[str, object] = {}
        errors: list[str] = []
        for row in last_rows(transcript / "stdout.jsonl"):
            if not isinstance(row, Record):
                continue
            if row.value.get("type") == "result":
                result = dict(row.value)
            elif row.value.get("type") == "error":
                errors.append(text(row.value.get("message")))
        return _completion(result, errors)


def _settings(asked: Asked) -> dict[str, object]:
    settings: dict[str, object] = {
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": False},
        },
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "maxAttempts": ATTEMPTS,
        },
        "tools": {"exclude": list(WEB_TOOLS), "shell": {"inactivityTimeout": SHELL_TIMEOUT}},
    }
    if asked.effort is not None:
        held = {"generateContentConfig": {"thinkingConfig": _thinking(asked.model, asked.effort)}}
        matched = ({"model": CHAT}, {"model": asked.model})
        overrides = [{"match": match, "modelConfig": held} for match in matched]
        settings["modelConfigs"] = {"customOverrides": overrides}
    return settings


def _thinking(model: str, effort: str) -> dict[str, object]:
    if model.startswith(("gemini-2", "gemini-1")):
        return {"thinkingBudget": BUDGETS[effort]}
    return {"thinkingLevel": effort.upper()}


def _completion(result: dict[str, object], errors: list[str]) -> Completion:
    if not result:
        return ended(Said.NOTHING, "stdout.jsonl has no `result` event")
    status = text(result.get("status"))
    if status == "success":
        return ended(Said.COMPLETED, "the `result` event says success")
    error = mapping(result.get("error"))
    told = "; ".join(filter(None, [text(error.get("message")), *errors[-1:]]))
    said = Said.PROVIDER if _LOST.search(told) else Said.FAILED
    return ended(said, f"the `result` event says {status!r}: {told}")


ADAPTER = Gemini()
