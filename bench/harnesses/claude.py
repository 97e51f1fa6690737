"""Claude Code: Anthropic Messages, a prompt on stdin, sessions below ~/.claude/projects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from bench.harnesses.asking import check
from bench.harnesses.form import DUMMY_KEY, Asked, Completion, Extract, Kept, Launch, Said
from bench.harnesses.tails import last_rows
from bench.providers import Dialect
from kbsite.harnesses.lines import Record
from kbsite.model.finding import one_line

_SWITCHES = MappingProxyType(
    {
        # Nothing but the model's API is asked, and nothing is changed while a session runs.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
        "CLAUDE_CODE_DISABLE_WEB_FETCH": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_BUG_COMMAND": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_UPDATES": "1",
        # The model that was asked for, or none: it has successors and cheaper ones in mind.
        "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
        "CLAUDE_CODE_NO_MODEL_FALLBACK": "1",
        # Each session begins with nothing.
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        # Waits of 0.5 s, doubled up to 32 s: a dead provider is given up after about 2 minutes.
        "CLAUDE_CODE_MAX_RETRIES": "8",
        # Building a kernel takes minutes; what the model asks for may be longer still.
        "BASH_DEFAULT_TIMEOUT_MS": "300000",
        "BASH_MAX_TIMEOUT_MS": "1800000",
        # It refuses to skip permissions as root, which a box without users of its own runs as.
        "IS_SANDBOX": "1",
    }
)
_MODELS = (
    "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL",
)  # fmt: skip
"""Variables that name a model for some purpose: all are the model that is measured."""
_COMMAND = (
    "--print", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
    "--strict-mcp-config", "--disallowedTools", "WebSearch,WebFetch",
)  # fmt: skip


class Claude:
    """Claude Code, without a terminal."""

    id = "claude"
    dialects = (Dialect.ANTHROPIC,)
    provider: str | None = "anthropic"
    efforts = ("low", "medium", "high", "xhigh", "max")
    kept = (
        Kept(glob=".claude/projects/**/*.jsonl", to="home"),
        Kept(glob=".claude/projects/**/*.meta.json", to="home"),
        Kept(glob=".claude/projects/**/workflows/wf_*.json", to="home"),
        Kept(glob=".claude/projects/**/tool-results/*", to="home"),
    )
    extract: Extract | None = None
    unfair = (
        "A shell command is stopped after 5 minutes unless the model asks for up to 30.",
        "Of an output of more than 30,000 characters the model sees the beginning, and a file.",
        "It takes the context of a model whose name it does not know for 1,000,000 tokens, and "
        "shortens a long session too late for a model that has less.",
        "Without a terminal it offers no list of things to do.",
    )

    def recognises(self, printed: str) -> str | None:
        """The version in "2.1.329 (Claude Code)"."""
        match = re.fullmatch(r"(\d+\.\d+\.\d+\S*) \(Claude Code\)", printed.strip())
        return match[1] if match else None

    def launch(self, asked: Asked) -> Launch:
        """How to start it; UsageError for an effort or a dialect that it has not."""
        check(self, asked)
        effort = ("--effort", asked.effort) if asked.effort else ()
        command = (*_COMMAND, "--session-id", asked.session_id, "--model", asked.model, *effort)
        environment = {
            **_SWITCHES,
            **dict.fromkeys(_MODELS, asked.model),
            "ANTHROPIC_API_KEY": DUMMY_KEY,
            "ANTHROPIC_BASE_URL": asked.base_url,
        }
        return Launch(
            command=command, environment=environment, files={}, stdin=asked.prompt.encode()
        )

    def completion(self, transcript: Path) -> Completion:
        """What its last result event says; never raises."""
        last: Mapping[str, object] = {}
        result: Mapping[str, object] | None = None
        for row in last_rows(transcript / "stdout.jsonl"):
            last = row.value if isinstance(row, Record) else last
            result = last if last.get("type") == "result" else result
        if result is None:
            return Completion(said=Said.NOTHING, detail=_unfinished(last))
        said = _said(result)
        detail = f"the result event on stdout says {_reason(result)}"
        answer = result.get("result")
        if said is not Said.COMPLETED and isinstance(answer, str):
            detail = f"{detail}: {one_line(answer[:400])}"
        return Completion(said=said, detail=detail)


def _said(result: Mapping[str, object]) -> Said:
    # `subtype` is "success" for most errors, too.
    reason = result.get("terminal_reason")
    if result.get("api_error") == "max_output_tokens" or result.get("stop_reason") == "max_tokens":
        return Said.CUT
    if result.get("is_error") is False and reason == "completed":
        return Said.COMPLETED
    return Said.PROVIDER if reason == "api_error" else Said.FAILED


def _reason(result: Mapping[str, object]) -> str:
    reason = result.get("terminal_reason") or result.get("subtype")
    said = one_line(reason) if isinstance(reason, str) else "nothing of its reason"
    status = result.get("api_error_status")
    return f"{said}, status {status}" if isinstance(status, int) else said


def _unfinished(last: Mapping[str, object]) -> str:
    if last.get("subtype") == "api_retry":
        return "no result event on stdout; the last event says that it asks the model's API again"
    return "no result event on stdout"


ADAPTER = Claude()
