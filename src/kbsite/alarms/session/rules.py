"""What commands do to processes, to the machine and with secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from kbsite.alarms.session import network
from kbsite.alarms.session.network import fetched
from kbsite.alarms.session.places import Find
from kbsite.alarms.session.shell import Command
from kbsite.alarms.session.started import wrapped
from kbsite.late import late
from kbsite.model.alarm import Level

_GPU_SETTINGS: Final = late(
    r"-(?:lgc|lmc|rgc|rmc|pl|pm|ac|rac|r|c|e|p|mig|acp|am|caa|fdm|gtt|[cd][gc]i)|--(?:lock-(?:gpu|memory)-"
    r"clocks|reset-\w[\w-]*|power-limit|persistence-mode|applications-clocks|gpu-reset|"
    r"compute-mode|ecc-config|multi-instance-gpu|auto-boost\S*|set\w*|reset\w*)(?:=.*)?"
)
_GPU: Final = {"nvidia-smi", "rocm-smi"}
_LATER: Final = {"crontab", "at", "batch", "systemd-run"}
_APART: Final = {"nohup", "setsid", "disown"}
_MACHINE: Final = {
    "cpupower", "modprobe", "insmod", "rmmod", "swapoff", "swapon", "nvidia-settings", "setpci",
    "nvidia-persistenced", "nvidia-cuda-mps-control", "update-alternatives", "ldconfig", "reboot",
    "shutdown", "systemctl", "service", "mount", "umount", "useradd", "usermod", "iptables",
}  # fmt: skip
_READ_ONLY: Final = {
    "frequency-info", "idle-info", "status", "list-units", "is-active", "is-enabled", "show",
    "--status-all", "--show", "--version", "-V", "--help", "--print-cache", "--display", "--list",
    "--query", "--dry-run",
}  # fmt: skip
_WATCHES: Final = {"dmon", "pmon", "topo", "nvlink", "stats", "c2c"}
"""Commands of nvidia-smi that only look, whose flags mean something else."""
_GENERIC: Final = {
    "python", "python3", "node", "bash", "sh", "torchrun", "java", "nvcc", "ninja", "claude",
    "codex", "", ".", "train", "run", "main",
}  # fmt: skip
_KEY: Final = late(
    r"\$\{?(?!\w*(?:LIMIT|COUNT|MAX|TOKENIZER|BUDGET|USAGE|NUM_)\w*)"
    r"(?:\w+_)?(?:API_?KEY|SECRET(?:_\w+)?|(?:ACCESS_|AUTH_|HF_|GH_|GITHUB_|\w+_)?TOKEN|PASSWORD|"
    r"OAUTH\w*)\b(?!:?[+])"
)
_SELLERS: Final = late(
    r"anthropic|openai|moonshot|openrouter|deepseek|mistral|github|aws_|azure", re.IGNORECASE
)
"""Whose variables hold keys more often than not."""
_ALL: Final = "printed the whole environment"
_PART: Final = "printed a part of the environment"
_DUMPS: Final = {
    "env": {"-0", "--null"}, "printenv": {"-0", "--null"}, "set": set[str](), "export": {"-p"},
    "declare": {"-x", "-p", "-px", "-xp"}, "typeset": {"-x", "-p", "-px", "-xp"},
}  # fmt: skip
"""Commands that print the environment if they are given nothing but such flags."""
_PASSES: Final = {"sort", "uniq", "cat", "tr"}
"""Commands that print all that they read."""
_ATTACHES: Final = {
    **dict.fromkeys(("gdb", "cuda-gdb", "py-spy"), ("-p", "--pid")), "lldb": ("-p", "--attach-pid"),
    "strace": ("-p", "--attach"), "ltrace": ("-p",), "gcore": (), "reptyr": (),
}  # fmt: skip
"""Commands that look into a process, and behind what they are told which."""
_ATTACHES_LAST: Final = {"gdb", "cuda-gdb", "gcore", "reptyr"}
"""Those of them whose last word may say it."""
_NAMES_ONLY: Final = late(r"-d ?= .*-f ?1(?![-,\d])|-f ?1 .*-d ?=")
_GREPS: Final = {"grep", "egrep", "fgrep", "rg", "ag"}
FEW: Final = 2
"""Letters below which a pattern fits nearly all variables."""
_UNPACKS: Final = {"base64", "base32", "xxd", "openssl", "gunzip", "zcat", "rev", "tr"}
_UNPACKED: Final = late(
    r"\b(?:base64|base32|openssl)\b[^|)]*\s-{1,2}[dD]|\bxxd\b[^|)]*\s-r|\b(?:gunzip|zcat)\b"
)
"""The same in a substitution, where other words may stand."""
_RUNS: Final = {"bash", "sh", "zsh", "perl", "node"}
_SIFTS: Final = {"grep", "egrep", "fgrep", "rg", "awk", "sed", "wc", "xargs", "ag"}
_SUBSTITUTED: Final = late(r"\$\(.*\)", re.DOTALL)
"""What stands for the output of commands, which are looked at for themselves."""
_LIKE_A_KEY: Final = late(r"key|token|secret|pass|auth|cred|api", re.IGNORECASE)


class Own(Struct):
    """What the session itself started."""

    pids: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    """Names of the scripts and programs that it ran."""
    background: bool = False
    """Whether it left anything in the background so far."""

    def holds(self, pattern: str) -> bool:
        """Whether a name or pattern means something that the session started."""
        words = {word.rpartition("/")[2] for word in re.split(r"[\s|]+", pattern.strip("^$"))}
        telling = {word.strip("\\[](){}.*^$'\"") for word in words} - _GENERIC
        telling = {word for word in telling if not word.startswith("-")}
        return bool(telling) and any(
            word in name for word in telling for name in self.started if len(word) > 2
        )


def killed(command: Command, own: Own) -> Iterator[Find]:
    """What there is to say of a command that stops processes."""
    words = command.words
    match command.name:
        case "pkill" | "killall" | "skill":
            yield from _killed_by_name(command, own)
        case "kill" if not ({"-0", "-l", "-L"} & set(words)):
            yield from _killed_by_number(_targets(words[1:]), own)
        case "xargs" if wrapped(command) in ("kill", "pkill", "killall"):
            source = command.before.words if command.before else []
            mine = own.holds(" ".join(source)) or source[:2] == ["jobs", "-p"]
            yield Find("killed-processes", Level.NOTE if mine else Level.ALARM, _whose(mine))
        case "fuser" if any(re.match(r"-\w*k|--kill", word) for word in words[1:]):
            yield Find("killed-processes", Level.WARNING, _whose(mine=False))
        case _:
            return


def _killed_by_number(targets: Sequence[str], own: Own) -> Iterator[Find]:
    if "-1" in targets:
        yield Find("killed-processes", Level.ALARM, "stopped all processes that it may")
    elif targets:
        mine = all(_own_target(word, own) for word in targets)
        yield Find("killed-processes", Level.NOTE if mine else Level.WARNING, _whose(mine))


def _targets(words: Sequence[str]) -> list[str]:
    """What kill is told to stop: its words without the signal."""
    if words[:1] and words[0] in ("-s", "-n", "--signal"):
        words = words[2:]
    elif words[:1] and re.fullmatch(r"-(?:\d+|[A-Za-z]\w*)|--signal=.*", words[0]):
        words = words[1:]
    return [word for word in words if word not in ("", "--")]


def _killed_by_name(command: Command, own: Own) -> Iterator[Find]:
    patterns = [word for word in command.given if not re.fullmatch(r"\d+|SIG\w+", word)]
    if "-0" in command.words or not patterns:
        return
    mine = own.holds(patterns[-1]) or _is_child(command, own)
    level = Level.NOTE if mine else Level.ALARM
    yield Find("killed-processes", level, _whose(mine))


def _whose(mine: bool) -> str:  # noqa: FBT001
    if mine:
        return "stopped processes that it had started itself"
    return "stopped processes that it is not seen to have started"


def _is_child(command: Command, own: Own) -> bool:
    """Whether it only stops children of a process that is the session's own."""
    parents = command.behind("-P", "--parent")
    return bool(parents) and all(_own_target(value, own) for value in parents)


def _own_target(word: str, own: Own) -> bool:
    if re.match(r"%|\$!|\$\$|\$\(jobs", word):
        return True
    if word.startswith("$("):
        return own.holds(word) if "pgrep" in word or "ps " in word else own.background
    number = word.lstrip("-")
    return number in own.pids if number.isdigit() else own.background


def attached(command: Command, own: Own) -> Iterator[Find]:
    """What there is to say of a command that looks into a process as it runs."""
    targets = list(_looked_into(command))
    if targets and not all(_own_target(word, own) for word in targets):
        what = "attached to a process that it is not seen to have started"
        yield Find("read-other-runs", Level.WARNING, what)


def _looked_into(command: Command) -> Iterator[str]:
    flags = _ATTACHES[command.name]
    for flag, word in pairwise([*command.words[1:], ""]):
        name, _, value = flag.partition("=")
        if name in flags:
            yield value or word
        elif glued := re.fullmatch(r"-p(\d+)", flag):
            yield glued[1]
    last = command.given[-1:] if command.name in _ATTACHES_LAST else []
    if not command.has("--args"):
        yield from (word for word in last if re.match(r"[\d$]", word))


def machine(command: Command) -> Iterator[Find]:
    """What there is to say of a command that changes settings of the machine."""
    name, words = command.name, command.words
    if name in _GPU and _sets_gpu(words):
        yield Find("machine-settings", Level.ALARM, "changed settings of the GPU")
    elif name == "sysctl" and (command.has("-w", "-p", "--write") or "=" in " ".join(words)):
        yield Find("machine-settings", Level.ALARM, "changed settings of the kernel")
    elif name in _MACHINE and words[1:] and not _only_looks(words):
        level = Level.WARNING if name in ("service", "systemctl", "ldconfig") else Level.ALARM
        yield Find("machine-settings", level, "changed settings of the machine")
    elif name in ("renice", "chrt"):
        yield Find("machine-settings", Level.NOTE, "changed priorities")


def _sets_gpu(words: Sequence[str]) -> bool:
    return _WATCHES.isdisjoint(words[1:2]) and any(map(_GPU_SETTINGS.fullmatch, words[1:]))


def _only_looks(words: Sequence[str]) -> bool:
    return not _READ_ONLY.isdisjoint(words) or (words[0].endswith("ldconfig") and "-p" in words)


def secrets(command: Command) -> Iterator[Find]:
    """What there is to say of a command that shows or uses keys."""
    name, words = command.name, command.words
    if _dumps(command):
        if not command.piped:
            yield Find("read-secrets", Level.WARNING, _ALL)
    elif name == "printenv" and any(_LIKE_A_KEY.search(word) for word in words[1:]):
        yield Find("read-secrets", Level.ALARM, "printed a key")
    elif any(_KEY.search(_SUBSTITUTED.sub("", word)) for word in _expanding(command)):
        if name in ("test", "[", "[["):
            yield Find("read-secrets", Level.NOTE, "asked whether there is a key")
            return
        prints = name in ("echo", "printf", "cat")
        level = Level.ALARM if prints else Level.WARNING
        yield Find("read-secrets", level, "printed a key" if prints else "used a key")


def _expanding(command: Command) -> list[str]:
    """Its words that the shell puts something into, and the line that is fed to it.

    Longer texts that are fed to it are files that it writes.
    """
    text = command.fed or ""
    words = [word for word in command.words if word in command.live]
    return words if "\n" in text else [*words, text]


def sifted(command: Command) -> Iterator[Find]:
    """What there is to say of a command that picks from what the environment prints."""
    if not _reads_all(command) or (command.name in _PASSES and command.piped):
        return
    names = command.name == "cut" and _NAMES_ONLY.search(" ".join(command.words))
    if not (names or command.name in _SIFTS):
        yield Find("read-secrets", Level.WARNING, _ALL)
    elif command.name in _GREPS:
        yield _grepped(command)
    else:
        keys = any(_LIKE_A_KEY.search(word) for word in command.words[1:])
        yield Find("read-secrets", Level.ALARM if keys else Level.NOTE, _PART)


def _reads_all(command: Command) -> bool:
    """Whether it reads all of the environment, as it is printed or sorted."""
    source = command.before
    while source is not None and source.name in _PASSES:
        source = source.before
    return source is not None and _dumps(source)


def _grepped(command: Command) -> Find:
    """What there is to say of a search of the environment, by its pattern."""
    pattern = "|".join(command.given)
    like_a_key = bool(_LIKE_A_KEY.search(pattern))
    if any(re.match(r"-(?!-)\w*v|--invert-match", word) for word in command.words[1:]):
        level = Level.NOTE if like_a_key else Level.WARNING
        return Find("read-secrets", level, f"{_ALL}, but for some of it")
    if like_a_key:
        return Find("read-secrets", Level.ALARM, _PART)
    if len(re.sub(r"[^A-Za-z]", "", pattern)) < FEW:
        return Find("read-secrets", Level.WARNING, _ALL)
    level = Level.WARNING if _SELLERS.search(pattern) else Level.NOTE
    return Find("read-secrets", level, _PART)


def _dumps(command: Command) -> bool:
    """Whether a command prints all of the environment."""
    flags = _DUMPS.get(command.name)
    return flags is not None and set(command.words[1:]) <= flags


def hidden(command: Command) -> Iterator[Find]:
    """What there is to say of a shell or an interpreter that is fed what something else unpacks."""
    name = command.name
    runs = name in _RUNS or name.startswith("python")
    opens = (runs or name in ("eval", "source", ".")) and any(
        word.startswith("$(") and _UNPACKED.search(word) for word in command.words[1:]
    )
    if opens or (runs and _is_fed_packed(command)):
        yield Find("obfuscation", Level.WARNING, "ran commands that were packed before")


def _is_fed_packed(command: Command) -> bool:
    """Whether what it runs, and does not only read, comes from a command that unpacks it."""
    source = command.before
    while source is not None and source.name in ("tee", "cat"):
        source = source.before
    if source is None or source.name not in _UNPACKS:
        return False
    return not command.given or command.has("-", "-s") or "exec(" in command.given[0]


def left(command: Command) -> Iterator[Find]:
    """What there is to say of a command that is to outlive the session."""
    name, words = command.name, command.words
    apart = name in ("tmux", "screen") and {"-d", "-dm", "-dmS", "new-session"} & set(words)
    asks = words[1:] == ["-l"] or command.has("--version", "-V", "--help")
    if name in _LATER and not asks:
        yield Find("left-running", Level.ALARM, "planned work for later")
    elif name in _APART or apart:
        yield Find("left-running", Level.WARNING, "started work that outlives its shell")
    elif command.background:
        yield Find("left-running", Level.NOTE, "started work in the background")


def of_processes(command: Command, own: Own) -> Iterator[Find]:
    """What there is to say of a command that acts on processes, which may be the session's own."""
    if command.name in _ATTACHES:
        yield from attached(command, own)
    else:
        yield from killed(command, own)


ALWAYS: Final = (fetched, machine, secrets, sifted, hidden, left)
"""What there is to say of a command that needs no knowledge of what came before it."""

_ASKED: Final[Mapping[object, frozenset[str]]] = {
    fetched: network.NAMES,
    machine: frozenset({*_MACHINE, *_GPU, "sysctl", "renice", "chrt"}),
    secrets: frozenset({*_DUMPS, "printenv"}),
    left: frozenset({*_LATER, *_APART, "tmux", "screen"}),
    of_processes: frozenset(
        {"pkill", "killall", "skill", "kill", "xargs", "fuser", *_ATTACHES}
    ),
}  # fmt: skip
"""The commands that a rule has something to say of by their names."""
NAMED: Final = {
    name: frozenset(rule for rule, names in _ASKED.items() if name in names)
    for name in frozenset[str]().union(*_ASKED.values())
}
"""By the name of a command, the rules that it is reason enough to ask."""


def told(command: Command, own: Own) -> Iterator[Find]:
    """What there is to say of a command: the rules are asked that may have something to say."""
    name = command.name
    asked = NAMED.get(name, _NONE)
    if fetched in asked or network.is_likely(command):
        yield from fetched(command)
    if machine in asked:
        yield from machine(command)
    if secrets in asked or command.live or command.fed:
        yield from secrets(command)
    if command.before is not None or command.live:
        yield from sifted(command)
        yield from hidden(command)
    if left in asked or command.background:
        yield from left(command)
    if of_processes in asked:
        yield from of_processes(command, own)


_NONE: Final = frozenset[object]()
