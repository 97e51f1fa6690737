"""Qwen Code: one process without its launcher, its memory off, the prompt on stdin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from bench.harnesses.asking import as_json, bare_version, check, ended
from bench.harnesses.form import (
    DUMMY_KEY,
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

RETRIES = 1
"""Of one request by the library below it; Qwen Code itself tries six more times, unasked."""

LONGEST_DELAY = 20_000
"""Milliseconds that it waits at most after an answer of 429; a minute, if it is not told."""

SILENCE = 600_000
"""Milliseconds without a byte after which a request is given up; less, if it is not told."""

SHELL_TIMEOUT = 300_000
"""Milliseconds after which a command is stopped, unless the model asks for up to twice that."""

WEB_TOOLS = ("web_fetch", "web_search")

TYPES: Mapping[Dialect, tuple[str, str, str]] = MappingProxyType({
    Dialect.CHAT: ("openai", "OPENAI", "/v1"),
    Dialect.RESPONSES: ("openai-responses", "OPENAI", "/v1"),
})  # fmt: skip
"""What it calls a dialect, how the variables of that begin, and where its URL ends."""


@dataclass(frozen=True, slots=True)
class Qwen:
    """The adapter of Qwen Code."""

    id: str = "qwen"
    dialects: tuple[Dialect, ...] = tuple(TYPES)
    provider: str | None = None
    efforts: tuple[str, ...] = ("low", "medium", "high", "xhigh", "max")
    extract: Extract | None = None
    kept: tuple[Kept, ...] = (
        Kept(glob=".qwen/projects/*/chats/*.jsonl", to="home"),
        Kept(glob=".qwen/projects/*/subagents/*/*.jsonl", to="home"),
        Kept(glob=".qwen/projects/*/subagents/*/*.meta.json", to="home"),
        Kept(glob=".qwen/tmp/**/*.jsonl", to="home"),
        Kept(glob=".qwen/tmp/**/*.output", to="home"),
        Kept(glob=".qwen/tmp/**/*.txt", to="home"),
    )
    unfair: tuple[str, ...] = (
        "Where its sandbox has no terminals (no caller but root gets any), it loses the output of "
        "some commands that end quickly (7 of 80): the model is told that there was none.",
        "An output with a NUL byte reaches the model empty, one with a byte that is no UTF-8 "
        "misread.",
        "It suits its requests to some providers by the name of their host, which is the proxy's "
        "here.",
        "A shell command is stopped after 5 minutes unless the model asks for up to 10.",
        "An answer that its limit of tokens cut is asked for again several times, and all that "
        "came is put together.",
    )

    def recognises(self, printed: str) -> str | None:
        """The version; Qwen Code prints nothing but that."""
        return bare_version(printed)

    def launch(self, asked: Asked) -> Launch:
        """How to start it: settings in a file, without background requests to the model."""
        check(self, asked)
        kind, name, path = TYPES[asked.dialect]
        return Launch(
            command=(
                "--auth-type", kind, "--approval-mode", "yolo", "--output-format", "stream-json",
                "--session-id", asked.session_id,
            ),
            environment={
                f"{name}_API_KEY": DUMMY_KEY,
                f"{name}_BASE_URL": f"{asked.base_url}{path}",
                f"{name}_MODEL": asked.model,
                "QWEN_CODE_NO_RELAUNCH": "true",
                "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            },
            files={PurePosixPath(".qwen/settings.json"): as_json(_settings(asked, kind))},
            stdin=asked.prompt.encode(),
        )  # fmt: skip

    def completion(self, transcript: Path) -> Completion:
        """What its last `result` says."""
        result: Mapping[str, object] = {}
        last: Mapping[str, object] = {}
        for row in last_rows(transcript / "stdout.jsonl"):
            last = row.value if isinstance(row, Record) else last
            result = last if last.get("type") == "result" else result
        return _completion(result, asks_again=last.get("subtype") == "retry")


def _settings(asked: Asked, kind: str) -> dict[str, object]:
    generation: dict[str, object] = {
        "maxRetries": RETRIES,
        "retryMaxDelayMs": LONGEST_DELAY,
        "timeout": SILENCE,
        "streamIdleTimeoutMs": SILENCE,
    }
    if asked.effort is not None:
        generation["reasoning"] = {"effort": asked.effort}
    return {
        "security": {"auth": {"selectedType": kind}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
        "memory": {
            "enableManagedAutoMemory": False,
            "enableManagedAutoDream": False,
            "enableAutoSkill": False,
        },
        "ui": {"enableFollowupSuggestions": False},
        "tools": {
            "exclude": list(WEB_TOOLS),
            # Without a terminal it loses what some commands print; where none can be had, it would
            # run none of them in one.
            "shell": {
                "enableInteractiveShell": asked.terminals,
                "defaultTimeoutMs": SHELL_TIMEOUT,
            },
        },
        "model": {"name": asked.model, "generationConfig": generation},
    }


_TOO_LARGE = "Context is too large to send"
"""It asked nobody: the context was too large for it, also after it was summed up."""


def _completion(result: Mapping[str, object], *, asks_again: bool) -> Completion:
    if not result:
        told = "; the last event says that it asks again" if asks_again else ""
        return ended(Said.NOTHING, f"stdout.jsonl has no `result` event{told}")
    if result.get("is_error") is False:
        return ended(Said.COMPLETED, "the `result` event says no error")
    told = text(mapping(result.get("error")).get("message")) or text(result.get("subtype"))
    said = Said.PROVIDER if "API Error" in told and _TOO_LARGE not in told else Said.FAILED
    return ended(said, f"the `result` event says: {told}")


ADAPTER = Qwen()
