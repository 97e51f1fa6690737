"""kimi-cli, the Python program: its configuration in a file, the prompt on stdin.

What it prints tells neither tokens nor whether it ended well: that is read from its wire log.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bench.harnesses.asking import as_toml, check, ended
from bench.harnesses.form import (
    DUMMY_KEY,
    HOME,
    WORKSPACE,
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
"""What it takes for the model's window, in tokens; it has to be told."""

ATTEMPTS = 4
"""Of one step, each of which the library below repeats twice: it gives up within a minute."""

SHARE = HOME / ".kimi"
_SESSIONS = ".kimi/sessions/*/*"
_VERSION = re.compile(r"kimi(?:-cli)?, version (\d+\.\d+\.\d+\S*)")
_OWN = re.compile(r"Interrupted by user|Max number of steps|Unknown error|LLM not|not support")
"""What it prints of ends that are not the API's."""


@dataclass(frozen=True, slots=True)
class KimiCli:
    """The adapter of kimi-cli."""

    id: str = "kimi-cli"
    dialects: tuple[Dialect, ...] = (Dialect.CHAT,)
    provider: str | None = "moonshot"
    efforts: tuple[str, ...] = ("off", "on")
    extract: Extract | None = None
    kept: tuple[Kept, ...] = (
        Kept(glob=f"{_SESSIONS}/wire.jsonl", to="home"),
        Kept(glob=f"{_SESSIONS}/context.jsonl", to="home"),
        Kept(glob=f"{_SESSIONS}/subagents/*/wire.jsonl", to="home"),
        Kept(glob=f"{_SESSIONS}/subagents/*/context.jsonl", to="home"),
        Kept(glob=f"{_SESSIONS}/tasks/*/output.log", to="home"),
    )
    unfair: tuple[str, ...] = (
        "Its makers gave it up: 1.50.0 is the last version that runs.",
        f"It is told a window of {CONTEXT:,} tokens for every model, and sums up what it "
        "remembers by that.",
        "Thinking is on or off: it has no other effort.",
        "A sub-agent whose report is short is asked for a longer one.",
        "A shell command is stopped after a minute unless the model asks for up to five, or lets "
        "it run in the background.",
        "An answer that breaks off without an error counts as the last one.",
    )

    def recognises(self, printed: str) -> str | None:
        """The version; unlike its successor, it says its name with it."""
        found = _VERSION.fullmatch(printed.strip())
        return found[1] if found else None

    def launch(self, asked: Asked) -> Launch:
        """How to start it: thinking is on unless it is asked to be off."""
        check(self, asked)
        thinking = "--no-thinking" if asked.effort == "off" else "--thinking"
        return Launch(
            command=(
                "--print", "--output-format", "stream-json", "--input-format", "text", "--yolo",
                "--work-dir", str(WORKSPACE), "--agent-file", str(SHARE / "agent.yaml"), thinking,
            ),
            environment={
                "KIMI_SHARE_DIR": str(SHARE),
                "KIMI_DISABLE_TELEMETRY": "1",
                "KIMI_CLI_NO_AUTO_UPDATE": "1",
            },
            files={
                PurePosixPath(".kimi/config.toml"): _config(asked).encode(),
                PurePosixPath(".kimi/agent.yaml"): AGENT.encode(),
            },
            stdin=asked.prompt.encode(),
        )  # fmt: skip

    def completion(self, transcript: Path) -> Completion:
        """What the wire log says of the last turn, and stdout of an error."""
        logs = sorted((transcript / "home/.kimi/sessions").glob("*/*/wire.jsonl"))
        if not logs:
            return ended(Said.NOTHING, "there is no wire.jsonl")
        last = _Last()
        for row in last_rows(logs[-1]):
            if isinstance(row, Record):
                last.take(mapping(row.value.get("message")))
        return _completion(last, _said(transcript / "stdout.jsonl"))


AGENT = """version: 1
agent:
  extend: default
  exclude_tools:
    - "kimi_cli.tools.web:SearchWeb"
    - "kimi_cli.tools.web:FetchURL"
    - "kimi_cli.tools.ask_user:AskUserQuestion"
"""
"""Its own agent without what needs the web or a person."""


def _config(asked: Asked) -> str:
    model = as_toml(asked.model)
    # its own type knows how Moonshot's models are told to think
    kind = "kimi" if asked.model.startswith("kimi-") else "openai_legacy"
    return f"""default_model = "ordered"
default_thinking = true
telemetry = false

[providers.proxy]
type = "{kind}"
base_url = {as_toml(asked.base_url + "/v1")}
api_key = "{DUMMY_KEY}"

[models.ordered]
provider = "proxy"
model = {model}
max_context_size = {CONTEXT}
capabilities = ["thinking"]

[loop_control]
max_retries_per_step = {ATTEMPTS}
"""


@dataclass(slots=True)
class _Last:
    """How the last turn of a wire log went."""

    ended: bool = False
    interrupted: bool = False
    counted: bool = True
    """Whether the last answer told tokens: it does unless it broke off."""
    open_calls: set[str] = field(default_factory=set)

    def take(self, message: Mapping[str, object]) -> None:
        """Take note of a row; those of sub-agents are wrapped, and say nothing here."""
        payload = mapping(message.get("payload"))
        match message.get("type"):
            case "TurnBegin":
                self.ended = self.interrupted = False
            case "TurnEnd":
                self.ended = True
            case "StepBegin":
                self.interrupted = False
                self.open_calls.clear()
            case "StepInterrupted":
                self.interrupted = True
            case "StatusUpdate" if "token_usage" in payload:
                self.counted = payload["token_usage"] is not None
            case "ToolCall":
                self.open_calls.add(text(payload.get("id")))
            case "ToolResult":
                self.open_calls.discard(text(payload.get("tool_call_id")))
            case _:
                pass


def _said(stdout: Path) -> str:
    """The lines of plain text that it printed last, which are its errors."""
    told: deque[str] = deque(maxlen=20)
    for row in last_rows(stdout):
        if isinstance(row, Record):
            told.clear()
        else:
            told.append(row.text)
    return "".join(told)


def _completion(last: _Last, told: str) -> Completion:
    if not last.ended:
        detail = f"wire.jsonl has no TurnEnd of its last turn{_quoted(told)}"
        return ended(Said.NOTHING, detail)
    if last.interrupted:
        # after an error of the API it prints what that said, and no word around it
        said = Said.FAILED if _OWN.search(told) else Said.PROVIDER
        return ended(said, f"wire.jsonl ends within a step{_quoted(told)}")
    if last.open_calls:
        detail = f"wire.jsonl ends with a call without its result{_quoted(told)}"
        return ended(Said.FAILED, detail)
    if not last.counted:
        return ended(Said.PROVIDER, "wire.jsonl: the last answer broke off")
    return ended(Said.COMPLETED, "wire.jsonl ends with TurnEnd after an answer")


def _quoted(told: str) -> str:
    return f"; stdout says: {told}" if told else ""


ADAPTER = KimiCli()
