"""Kimi Code, the npm program: its prompt in the command line, or in a file where it is too long.

It reads no prompt from stdin. One argument holds 128 KiB at most; up to PROMPT_BYTES the model is
asked just what every other CLI's is, beyond that it is asked to read the file first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from bench.harnesses.asking import as_toml, bare_version, check, ended
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

CONTEXT = 200_000
OUTPUT = 32_000
"""What it takes for the model's window and its longest answer, in tokens; it has to be told."""

ATTEMPTS = 6
"""Of one step, up to 40 seconds apart: it gives up within two minutes."""

PROMPT_BYTES = 100_000
PROMPT_FILE = PurePosixPath("prompt.md")

CODE_HOME = HOME / ".kimi-code"
_SESSION = ".kimi-code/sessions/*/*"

TYPES: Mapping[Dialect, tuple[str, str]] = MappingProxyType({
    Dialect.CHAT: ("openai", "/v1"),
    Dialect.ANTHROPIC: ("anthropic", ""),
    Dialect.RESPONSES: ("openai_responses", "/v1"),
})  # fmt: skip
"""What it calls a dialect, and where its URL ends."""


@dataclass(frozen=True, slots=True)
class KimiCode:
    """The adapter of Kimi Code."""

    id: str = "kimi-code"
    dialects: tuple[Dialect, ...] = tuple(TYPES)
    provider: str | None = "moonshot"
    efforts: tuple[str, ...] = ("off", "low", "medium", "high", "xhigh", "max")
    extract: Extract | None = None
    kept: tuple[Kept, ...] = (
        Kept(glob=f"{_SESSION}/agents/*/wire.jsonl", to="home"),
        Kept(glob=f"{_SESSION}/agents/*/tasks/*/output.log", to="home"),
        Kept(glob=f"{_SESSION}/tasks/*/output.log", to="home"),
    )
    unfair: tuple[str, ...] = (
        f"A prompt of more than {PROMPT_BYTES:,} bytes reaches the model as a file to be read.",
        f"It is told a window of {CONTEXT:,} tokens and answers of at most {OUTPUT:,} for every "
        "model, and sums up what it remembers by that.",
        "A shell command is stopped after a minute unless the model asks for up to five, or lets "
        "it run in the background.",
        "An answer that breaks off without an error, or that its limit of tokens cut, counts as "
        "the last one.",
    )

    def recognises(self, printed: str) -> str | None:
        """The version, and nothing else; kimi-cli says its name with it."""
        return bare_version(printed)

    def launch(self, asked: Asked) -> Launch:
        """How to start it."""
        check(self, asked)
        prompt, files = _prompt(asked.prompt)
        config = PurePosixPath(".kimi-code/config.toml")
        return Launch(
            command=(f"--prompt={prompt}", "--output-format", "stream-json"),
            environment={
                "KIMI_CODE_HOME": str(CODE_HOME),
                "KIMI_DISABLE_TELEMETRY": "1",
                "KIMI_CLI_NO_AUTO_UPDATE": "1",
                "KIMI_CODE_NO_AUTO_UPDATE": "1",
                "KIMI_DISABLE_CRON": "1",
                "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP": str(ATTEMPTS),
            },
            files={config: _config(asked).encode(), **files},
            stdin=b"",
        )

    def completion(self, transcript: Path) -> Completion:
        """What the main agent's log says of its last turn; stdout has to name the session."""
        logs = sorted((transcript / "home/.kimi-code/sessions").glob("*/*/agents/main/wire.jsonl"))
        last = _Last()
        for row in last_rows(logs[-1]) if logs else ():
            if isinstance(row, Record):
                last.take(row.value)
        hinted = any(
            isinstance(row, Record) and row.value.get("type") == "session.resume_hint"
            for row in last_rows(transcript / "stdout.jsonl")
        )
        return _completion(last, hinted=hinted)


def _prompt(prompt: str) -> tuple[str, dict[PurePosixPath, bytes]]:
    """What stands in the command line, and the file that it names."""
    held = prompt.encode()
    if len(held) <= PROMPT_BYTES:
        return prompt, {}
    told = f"Read {HOME / PROMPT_FILE} to its end first: it holds your task. Then do that task."
    return told, {PROMPT_FILE: held}


def _config(asked: Asked) -> str:
    kind, path = TYPES[asked.dialect]
    if asked.dialect is Dialect.CHAT and asked.model.startswith("kimi-"):
        # its own type knows how Moonshot's models are told to think
        kind = "kimi"
    efforts = [one for one in ADAPTER.efforts if one != "off"]
    effort = "" if asked.effort in (None, "off") else f"effort = {as_toml(asked.effort or '')}\n"
    return f"""default_model = "ordered"
default_permission_mode = "auto"
auto_session_title = false
telemetry = false

[providers.proxy]
type = "{kind}"
base_url = {as_toml(asked.base_url + path)}
api_key = "{DUMMY_KEY}"

[models.ordered]
provider = "proxy"
model = {as_toml(asked.model)}
max_context_size = {CONTEXT}
max_output_size = {OUTPUT}
capabilities = ["thinking", "tool_use"]
support_efforts = [{", ".join(map(as_toml, efforts))}]
off_effort = "none"

[thinking]
enabled = {str(asked.effort != "off").lower()}
{effort}
[[permission.rules]]
decision = "deny"
pattern = "WebSearch"

[[permission.rules]]
decision = "deny"
pattern = "FetchURL"
"""


@dataclass(slots=True)
class _Last:
    """How the last turn of a log went."""

    reason: str = ""
    error: Mapping[str, object] = field(default_factory=dict)
    finish: str = ""
    """Why the model's last answer ended."""
    broken: bool = False

    def take(self, row: Mapping[str, object]) -> None:
        """Take note of a row."""
        match row.get("type"):
            case "turn.prompt" | "agent.turn.started":
                self.reason = ""
            case "turn.ended":
                self.reason = text(row.get("reason"))
                self.error = mapping(row.get("error"))
            case "context.append_loop_event":
                event = mapping(row.get("event"))
                if event.get("type") == "step.end":
                    self.finish = text(event.get("finishReason"))
            case "agent.message.appended":
                self._message(mapping(row.get("message")))
            case _:
                pass

    def _message(self, message: Mapping[str, object]) -> None:
        if mapping(message.get("message")).get("role") == "assistant":
            finish = mapping(mapping(message.get("meta")).get("finish"))
            self.broken = "rawFinishReason" in finish and finish["rawFinishReason"] is None


def _completion(last: _Last, *, hinted: bool) -> Completion:
    log = "wire.jsonl of the main agent"
    if last.reason == "failed":
        code, told = text(last.error.get("code")), text(last.error.get("message"))
        said = Said.PROVIDER if code.startswith("provider.") else Said.FAILED
        return ended(said, f"{log}: turn.ended says failed, {code}: {told}")
    if last.reason == "cancelled":
        return ended(Said.FAILED, f"{log}: turn.ended says cancelled")
    if last.reason != "completed" or not hinted:
        return ended(Said.NOTHING, f"{log} or stdout has no end of the session")
    if last.finish == "max_tokens":
        return ended(Said.CUT, f"{log}: the last step.end says max_tokens")
    if last.broken:
        return ended(Said.PROVIDER, f"{log}: the last answer broke off")
    return ended(Said.COMPLETED, f"{log}: turn.ended says completed")


ADAPTER = KimiCode()
