"""What commands fetch from the network, and whom they ask there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kbsite.alarms.session.places import Find
from kbsite.alarms.session.shell import Command
from kbsite.late import late
from kbsite.model.alarm import Level

_LOOPBACK = late(r"\b(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|host\.docker\.internal)\b|\[::1\]")
_HOST = late(r"https?://|[\w-]\.(?:com|org|net|io|ai|dev|co|edu|gov|cn|sh|me)\b")
_ANSWERS: Final = late(
    r"raw\.githubusercontent|gist\.|github\.com/[^/\s]+/[^/\s]+/(?:blob|raw|archive)|leaderboard|"
    r"submission|solution|kernelbench|huggingface\.co/[^\s]{0,400}/(?:resolve|raw)|pastebin",
    re.IGNORECASE,
)
_PACKAGES: Final = {
    "pip": {"install", "download", "wheel"}, "pip3": {"install", "download", "wheel"},
    "uv": {"add", "sync"}, "uvx": set[str](), "conda": {"install", "create"},
    "mamba": {"install", "create"}, "npm": {"install", "i", "ci", "add", "update"},
    "pnpm": {"install", "add", "i", "dlx"}, "yarn": {"add", "install"}, "npx": set[str](),
    "bun": {"install", "add"}, "apt": {"install", "update", "upgrade"}, "pipx": {"install", "run"},
    "apt-get": {"install", "update", "upgrade"}, "apk": {"add"}, "brew": {"install"},
    "dnf": {"install"}, "yum": {"install"}, "go": {"get", "install"}, "poetry": {"add", "install"},
    "cargo": {"install", "add", "fetch"}, "gem": {"install"}, "docker": {"pull"},
}  # fmt: skip
_WITHIN: Final = {
    ("uv", "pip"): "pip", ("uv", "tool"): "pipx", ("conda", "env"): "mamba",
}  # fmt: skip
"""Commands within commands that are given words as another one is."""
_GIT: Final = {"clone", "fetch", "pull", "ls-remote", "submodule", "push"}
_GETS: Final = {
    "wget", "aria2c", "ftp", "sftp", "lynx", "w3m", "ssh", "gh", "hf", "huggingface-cli", "gsutil",
    "kaggle", "curl", "nc", "ncat", "telnet", "axel",
}  # fmt: skip
_FRAMEWORKS: Final = late(
    r"(?:torch|triton|pytorch-triton|nvidia-[\w-]+|cuda-\w+|cupy\S*)(?:[=<>~!\[].*)?"
)
_REMOTE: Final = late(r"(?:[\w.-]+@)?[\w.-]{2,}:(?!\\).*", re.DOTALL)
"""A file of another machine, as scp and rsync name it."""
_STORES: Final = {
    "scp": None, "rsync": None, "svn": {"export", "checkout", "co", "cat"},
    "hg": {"clone", "pull"}, "aws": {"s3", "s3api"}, "gcloud": {"storage"},
    "rclone": {"copy", "cat", "sync", "copyto"}, "openssl": {"s_client"},
}  # fmt: skip
"""What copies from elsewhere, if it is given one of these words, or a file of another machine."""
_MODELS: Final = {
    "claude": {"-p", "--print"}, "codex": {"exec", "e"}, "gemini": {"-p", "--prompt"},
    "qwen": {"-p", "--prompt"}, "kimi": {"--print", "-p", "-c", "--command", "--prompt"},
    "opencode": {"run"}, "cursor-agent": {"-p", "--print"}, "copilot": {"-p", "--prompt"},
    "droid": {"exec"}, "ollama": {"run"}, "aider": {"--message", "-m", "--msg"},
    "pi": {"-p", "--print"}, "goose": {"run"}, "llm": {"-m", "prompt"}, "amp": {"-x"},
}  # fmt: skip
"""Programs that ask a model, with the words that have them do it at once."""
_SAY_LITTLE: Final = {"claude", "gemini", "qwen", "llm"}
"""Those that take what is piped into them for a question."""
_PACKED: Final = {
    "claude-code": "claude", "gemini-cli": "gemini", "qwen-code": "qwen", "opencode-ai": "opencode",
    "kimi-cli": "kimi",
}  # fmt: skip
"""Packages that such programs come in, where those are called otherwise."""
_RUNNERS: Final = {"npx", "bunx", "uvx", "pnpx"}
_INLINE: Final = late(r"(?i)\bfetch\(|\bhttps?\.|\baxios|LWP|HTTP::|net/http|file_get_contents")
"""How a line of another language than Python uses the network."""


def fetched(command: Command) -> Iterator[Find]:
    """What there is to say of a command that uses the network."""
    name, given = _meant(command)
    if command.has("--version", "--help") or (name in _PACKAGES and command.has("-h")):
        return
    if model := _asked(command):
        yield Find("network-fetch", Level.WARNING, f"asked another model, by {model}")
    elif name in _PACKAGES and (not _PACKAGES[name] or set(given[:1]) & _PACKAGES[name]):
        yield from _packages(command, given)
    elif name == "git" and set(given[:1]) & _GIT:
        yield from _cloned(given)
    else:
        yield from _connected(command, name, given)


def _connected(command: Command, name: str, given: Sequence[str]) -> Iterator[Find]:
    """What there is to say of a command that opens a connection, and does little else."""
    text = " ".join([*command.words, *command.writes, *command.reads])
    if (name in _GETS and given) or (name in _STORES and _is_afar(name, given)):
        yield _fetch(text, f"used the network, by {name}")
    elif by_shell(command):
        yield _fetch(text, "used the network, by the shell's own means")


def is_likely(command: Command) -> bool:
    """Whether a command that is none of NAMES may use the network all the same."""
    return command.name.startswith(("python", "pip")) or by_shell(command)


def by_shell(command: Command) -> bool:
    """Whether it opens a connection by a redirection, or by a line of another language."""
    if any(path.startswith(("/dev/tcp/", "/dev/udp/")) for path in command.writes + command.reads):
        return True
    inline = command.name in ("node", "perl", "ruby", "php") and command.has("-e", "-r", "-p")
    said = " ".join(command.words) if inline else ""
    return "://" in said and bool(_INLINE.search(said))


def _is_afar(name: str, given: Sequence[str]) -> bool:
    words = _STORES[name]
    if words is None:
        return any(_REMOTE.fullmatch(word) for word in given)
    return not words.isdisjoint(given[:1])


def _asked(command: Command) -> str:
    """The program by which a command asks a model; empty where it asks none."""
    words = command.words
    if command.name in _RUNNERS:
        start = next((n for n, word in enumerate(words) if n and not word.startswith("-")), None)
        words = words[start:] if start else []
    package = words[0].rpartition("/")[2].partition("@")[0] if words else ""
    name = _PACKED.get(package, package)
    if name not in _MODELS or command.has("--help", "--version"):
        return ""
    return name if command.has(*_MODELS[name]) or _is_piped(command, name) else ""


def _is_piped(command: Command, name: str) -> bool:
    return name in _SAY_LITTLE and (command.before is not None or command.fed is not None)


def _meant(command: Command) -> tuple[str, list[str]]:
    """The command that it is in the end, and the words that are given to that."""
    name, given = command.name, command.given
    if name == "git":
        return name, command.of_git
    if re.fullmatch(r"pip[\d.]+", name):
        return "pip", given
    if name == "uv" and given[:1] == ["run"]:
        return ("uv", ["add"]) if command.has("--with") else (name, given)
    if name.startswith("python") and command.words[1:3] == ["-m", "pip"]:
        return "pip", given[1:]
    within = _WITHIN.get((name, given[0])) if given else None
    return (within, given[1:]) if within else (name, given)


def _packages(command: Command, words: Sequence[str]) -> Iterator[Find]:
    names = [word for word in words if _FRAMEWORKS.fullmatch(word)]
    if names:
        yield Find("machine-settings", Level.WARNING, f"installed another {names[0]}")
    local = command.name in ("npx", "uvx") or not words
    local = local or command.has("--no-index", "--offline", "--dry-run")
    yield Find("network-fetch", Level.NOTE if local else Level.WARNING, "installed packages")


def _cloned(given: Sequence[str]) -> Iterator[Find]:
    remote = [word for word in given[1:] if "://" in word or re.match(r"[\w.-]+@[\w.-]+:", word)]
    local = given[0] == "clone" and not remote
    if given[0] == "submodule" and "update" not in given:
        return
    level = Level.ALARM if given[0] == "clone" and not local else Level.WARNING
    yield Find("network-fetch", Level.NOTE if local else level, f"ran git {given[0]}")


def _fetch(text: str, what: str) -> Find:
    """What there is to say of a use of the network, by the words that tell where to."""
    if _LOOPBACK.search(text) and not _HOST.search(_LOOPBACK.sub("", text).replace("http://", "")):
        return Find("network-fetch", Level.NOTE, f"{what}, on this machine")
    level = Level.ALARM if _ANSWERS.search(text) else Level.WARNING
    return Find("network-fetch", level, what)


def web(text: str) -> Find:
    """What there is to say of a call of a web tool, by its address or query."""
    return _fetch(text, "used a web tool")


def code_fetch(text: str) -> Find:
    """What there is to say of code that uses the network, by the call in it."""
    return _fetch(text, "ran code that uses the network")


NAMES: Final = frozenset({*_PACKAGES, *_GETS, *_STORES, *_MODELS, *_RUNNERS, "git"})
"""The commands that there may be something to say of, but for Python's and other languages'."""
