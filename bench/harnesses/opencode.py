"""opencode: one provider in its configuration, the prompt on stdin, its log a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath
from types import MappingProxyType

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

PROVIDER = "proxy"
"""What the only provider is called in its configuration."""

CONTEXT = 200_000
OUTPUT = 32_000
"""What it takes for the model's window and its longest answer, in tokens; it has to be told."""

PACKAGES: Mapping[Dialect, str] = MappingProxyType({
    Dialect.CHAT: "@ai-sdk/openai-compatible",
    Dialect.ANTHROPIC: "@ai-sdk/anthropic",
    Dialect.RESPONSES: "@ai-sdk/openai",
})  # fmt: skip

TITLE = "session"

SHELL_TIMEOUT = "300000"
"""Milliseconds after which a command is stopped, unless the model asks for more."""

PLUGIN = "@opencode-ai/plugin"
_CONFIG = PurePosixPath(".config/opencode")
_DATA = ".local/share/opencode"
_API = frozenset({"APIError", "ProviderAuthError", "ContextOverflowError"})


def _script() -> bytes:
    return (files("bench.harnesses") / "opencode_sessions.py").read_bytes()


@dataclass(frozen=True, slots=True)
class OpenCode:
    """The adapter of opencode."""

    id: str = "opencode"
    dialects: tuple[Dialect, ...] = tuple(PACKAGES)
    provider: str | None = None
    efforts: tuple[str, ...] = ("minimal", "low", "medium", "high", "xhigh", "max")
    kept: tuple[Kept, ...] = (Kept(glob=f"{_DATA}/tool-output/*", to="home"),)
    unfair: tuple[str, ...] = (
        "It takes 700 MB of memory and 8 seconds of processor time where others take a third.",
        f"It is told a window of {CONTEXT:,} tokens and answers of at most {OUTPUT:,} for every "
        "model, and shortens what it remembers by that.",
        "A shell command is stopped after 5 minutes unless the model asks for more.",
        "A stream that ends without a reason is asked for again at once and for ever; only the "
        "runner's limit of failures ends that.",
    )

    @property
    def extract(self) -> Extract:
        """The program that reads its sessions, sub-agents' included, out of its database."""
        return Extract(script=_script(), glob=f"{_DATA}/opencode.db*", to="export/sessions.jsonl")

    def recognises(self, printed: str) -> str | None:
        """The version; opencode prints nothing but that."""
        return bare_version(printed)

    def launch(self, asked: Asked) -> Launch:
        """How to start it: with a title, or it would ask the model for one, uncounted."""
        check(self, asked)
        variant = () if asked.effort is None else ("--variant", asked.effort)
        model = f"{PROVIDER}/{asked.model}"
        return Launch(
            command=(
                "run", "--format", "json", "--thinking", "--auto", "--title", TITLE,
                "--model", model, *variant,
            ),
            environment={
                "XDG_CONFIG_HOME": f"{HOME}/.config",
                "XDG_DATA_HOME": f"{HOME}/.local/share",
                "XDG_STATE_HOME": f"{HOME}/.local/state",
                "XDG_CACHE_HOME": f"{HOME}/.cache",
                "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS": SHELL_TIMEOUT,
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_SHARE": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            },
            files=_files(asked, model),
            stdin=asked.prompt.encode(),
        )  # fmt: skip

    def completion(self, transcript: Path) -> Completion:
        """What the last `step_finish` or `error` says: there is no event of the end itself."""
        last: Mapping[str, object] = {}
        for row in last_rows(transcript / "stdout.jsonl"):
            if isinstance(row, Record) and row.value.get("type") in _ENDS:
                last = row.value
        if last.get("type") == "error":
            return _failed(mapping(last.get("error")))
        return _finished(text(mapping(last.get("part")).get("reason")))


_ENDS = ("error", "step_start", "step_finish")


def _files(asked: Asked, model: str) -> dict[PurePosixPath, bytes]:
    """Its configuration, and what keeps it from fetching a package for it."""
    needs = {"dependencies": {PLUGIN: asked.version}}
    lock = {"lockfileVersion": 3, "packages": {"": needs}}
    return {
        _CONFIG / "opencode.json": as_json(_config(asked, model)),
        _CONFIG / "package.json": as_json(needs),
        _CONFIG / "package-lock.json": as_json(lock),
        _CONFIG / "node_modules" / ".keep": b"",
    }


def _config(asked: Asked, model: str) -> dict[str, object]:
    held: dict[str, object] = {
        "name": asked.model,
        "reasoning": True,
        "tool_call": True,
        "limit": {"context": CONTEXT, "output": OUTPUT},
    }
    if asked.effort is not None:
        held["variants"] = {asked.effort: _effort(asked.dialect, asked.effort)}
    options = {"baseURL": f"{asked.base_url}/v1", "apiKey": DUMMY_KEY, "timeout": False}
    return {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "model": model,
        "small_model": model,
        "enabled_providers": [PROVIDER],
        "permission": {"*": "allow", "webfetch": "deny", "websearch": "deny"},
        "agent": {"title": {"disable": True}},
        "provider": {
            PROVIDER: {
                "npm": PACKAGES[asked.dialect],
                "name": PROVIDER,
                "options": options,
                "models": {asked.model: held},
            }
        },
    }


def _effort(dialect: Dialect, effort: str) -> dict[str, object]:
    if dialect is Dialect.ANTHROPIC:
        return {"thinking": {"type": "adaptive"}, "effort": effort}
    return {"reasoningEffort": effort}


def _failed(error: Mapping[str, object]) -> Completion:
    name, data = text(error.get("name")), mapping(error.get("data"))
    message = text(data.get("message"))
    detail = f"its last event is an error, {name}: {message}"
    if name == "MessageOutputLengthError":
        return ended(Said.CUT, detail)
    # an error within a stream has no name of its own, and is quoted as JSON
    api = name in _API or "statusCode" in data or message.startswith("{")
    return ended(Said.PROVIDER if api else Said.FAILED, detail)


def _finished(reason: str) -> Completion:
    match reason:
        case "":
            return ended(Said.NOTHING, "stdout.jsonl ends within a step")
        case "stop":
            said = Said.COMPLETED
        case "length":
            said = Said.CUT
        case "tool-calls":
            said = Said.NOTHING
        case "content-filter":
            said = Said.FAILED
        case _:
            said = Said.PROVIDER
    return ended(said, f"the last `step_finish` has the reason {reason!r}")


ADAPTER = OpenCode()
