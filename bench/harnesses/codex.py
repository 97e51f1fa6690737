"""Codex: OpenAI Responses, a prompt on stdin, a rollout for each thread below ~/.codex/sessions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from bench.harnesses.asking import as_toml, check
from bench.harnesses.form import DUMMY_KEY, Asked, Completion, Extract, Kept, Launch, Said
from bench.harnesses.tails import last_rows
from bench.providers import Dialect
from kbsite.harnesses.lines import Record, mapping, text
from kbsite.model.finding import one_line

_KEY = "CODEX_PROXY_KEY"
"""The variable that its provider's entry names for the key."""
_CONFIG = PurePosixPath(".codex/config.toml")
_SETTINGS = """\
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"

[history]
persistence = "none"

[features]
apps = false
enable_request_compression = false
plugins = false
"""
_PROVIDER = """
[model_providers.proxy]
name = "Proxy"
wire_api = "responses"
request_max_retries = 7
stream_max_retries = 7
stream_idle_timeout_ms = 300000
supports_websockets = false
"""
_COMMAND = (
    "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
)  # fmt: skip


class Codex:
    """Codex, without a terminal."""

    id = "codex"
    dialects = (Dialect.RESPONSES,)
    provider: str | None = "openai"
    efforts = ("none", "minimal", "low", "medium", "high", "xhigh")
    kept = (
        Kept(glob=".codex/sessions/**/rollout-*.jsonl", to="home"),
        Kept(glob=".codex/archived_sessions/**/rollout-*.jsonl", to="home"),
    )
    extract: Extract | None = None
    unfair = (
        "Which tools it offers depends on the model's name: one that it does not know gets no "
        "tool to apply patches, and a context of a size that it guesses.",
        "The model sees about 10,000 tokens of a long output, and no file with the rest.",
        "It does not wait for a sub-agent unless the model does: one that still works when the "
        "answer is complete is lost.",
        "When a command ends, all that it left running is killed.",
    )

    def recognises(self, printed: str) -> str | None:
        """The version in "codex-cli 0.169.0"."""
        match = re.fullmatch(r"codex-cli (\d+\.\d+\.\d+\S*)", printed.strip())
        return match[1] if match else None

    def launch(self, asked: Asked) -> Launch:
        """How to start it; UsageError for an effort or a dialect that it has not."""
        check(self, asked)
        return Launch(
            command=(*_COMMAND, "-"),
            environment={_KEY: DUMMY_KEY},
            files={_CONFIG: _config(asked).encode()},
            stdin=asked.prompt.encode(),
        )

    def completion(self, transcript: Path) -> Completion:
        """Whether its last turn completed or failed, and why; never raises."""
        turn: Mapping[str, object] = {}
        for row in last_rows(transcript / "stdout.jsonl"):
            if isinstance(row, Record) and text(row.value.get("type")).startswith("turn."):
                turn = row.value
        if turn.get("type") == "turn.completed":
            return Completion(said=Said.COMPLETED, detail="turn.completed is on stdout")
        if turn.get("type") == "turn.failed":
            why = text(mapping(turn.get("error")).get("message")) or "no reason is given"
            detail = f"turn.failed is on stdout: {one_line(why[:400])}"
            return Completion(said=_said(why), detail=detail)
        return Completion(
            said=Said.NOTHING, detail="neither turn.completed nor turn.failed is on stdout"
        )


def _config(asked: Asked) -> str:
    lines = [f"model = {as_toml(asked.model)}", 'model_provider = "proxy"']
    if asked.effort:
        lines.append(f"model_reasoning_effort = {as_toml(asked.effort)}")
    lines.append(_SETTINGS)
    base = as_toml(f"{asked.base_url}/v1")
    return "\n".join(lines) + _PROVIDER + f'base_url = {base}\nenv_key = "{_KEY}"\n'


def _said(message: str) -> Said:
    if "max_output_tokens" in message:
        return Said.CUT
    # All other reasons for which a turn fails are answers of the model's API, or that none came.
    own = ("context window", "interrupted", "aborted")
    return Said.FAILED if any(sign in message.lower() for sign in own) else Said.PROVIDER


ADAPTER = Codex()
