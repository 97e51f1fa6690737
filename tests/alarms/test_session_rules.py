"""What single commands do to processes, the network, the machine and with secrets."""

from __future__ import annotations

import pytest

from kbsite.alarms.session.network import code_fetch, fetched, web
from kbsite.alarms.session.rules import (
    ALWAYS,
    Own,
    hidden,
    killed,
    left,
    machine,
    secrets,
    sifted,
)
from kbsite.alarms.session.shell import commands


def said(rule: object, script: str) -> list[str]:
    """The levels of what a rule says of the last command of a script."""
    assert callable(rule)
    return [find.level.value for find in rule(commands(script)[-1])]


@pytest.mark.parametrize(
    ("script", "levels"),
    [
        ("wget -q https://a.org/x.whl", ["warning"]),
        ("wget https://gist.github.com/a/b", ["alarm"]),
        ("curl --version", []),
        ("curl", []),
        ("curl http://127.0.0.1:80/x", ["note"]),
        ("curl http://localhost:80/x https://a.org/y", ["warning"]),
        ("ssh host ls", ["warning"]),
        ("hf download a/b", ["warning"]),
        ("huggingface-cli download https://huggingface.co/a/resolve/main/x", ["alarm"]),
        ("git fetch origin", ["warning"]),
        ("git clone git@github.com:a/b", ["alarm"]),
        ("git clone /srv/a b", ["note"]),
        ("git submodule status", []),
        ("git submodule update --init", ["warning"]),
        ("git status", []),
        ("pip install .", ["warning"]),
        ("pip list", []),
        ("pip install torch==2.9", ["warning", "warning"]),
        ("uv pip install numpy", ["warning"]),
        ("uv run python x.py", []),
        ("npx vitest", ["note"]),
        ("npm run build", []),
        ("npm ci", ["warning"]),
        ("apt-get install -y ninja-build", ["warning"]),
        ("apt list", []),
        ("conda install x", ["warning"]),
        ("cargo build", []),
        ("cargo install x", ["warning"]),
        ("docker pull a/b", ["warning"]),
        ("docker ps", []),
    ],
)
def test_the_network(script: str, levels: list[str]) -> None:
    assert said(fetched, script) == levels


def test_addresses_of_web_tools_and_of_code() -> None:
    assert web("https://docs.nvidia.com/cuda").level.value == "warning"
    assert web("kda kernel solution").level.value == "alarm"
    assert web("http://localhost:3000").level.value == "note"
    assert code_fetch("urlopen('https://raw.githubusercontent.com/a')").level.value == "alarm"


@pytest.mark.parametrize(
    ("script", "levels"),
    [
        ("nvidia-smi -q -d CLOCK", []),
        ("nvidia-smi --query-gpu=clocks.sm --format=csv -l 1", []),
        ("nvidia-smi --lock-gpu-clocks=1980,1980", ["alarm"]),
        ("nvidia-smi -i 0 -pm 1", ["alarm"]),
        ("nvidia-smi --gpu-reset", ["alarm"]),
        ("rocm-smi --setsclk 7", ["alarm"]),
        ("rocm-smi --showtemp", []),
        ("sysctl -a", []),
        ("sysctl kernel.x=1", ["alarm"]),
        ("cpupower frequency-set -g performance", ["alarm"]),
        ("cpupower frequency-info", []),
        ("modprobe nvidia", ["alarm"]),
        ("systemctl status x", []),
        ("systemctl restart x", ["warning"]),
        ("mount", []),
        ("mount -o remount,rw /", ["alarm"]),
        ("renice -n -5 1", ["note"]),
    ],
)
def test_the_machine(script: str, levels: list[str]) -> None:
    assert said(machine, script) == levels


@pytest.mark.parametrize(
    ("rule", "script", "levels"),
    [
        (secrets, "printenv PATH", []),
        (secrets, "printenv HF_TOKEN", ["alarm"]),
        (secrets, "export -p", ["warning"]),
        (secrets, "curl -H \"Authorization: Bearer $API_KEY\" x", ["warning"]),
        (secrets, "echo ${OPENAI_API_KEY:+set}", []),
        (secrets, "echo $MAX_TOKENS $TOKENIZERS_PARALLELISM", []),
        (secrets, "env A=1 make", []),
        (sifted, "env | grep -c PASSWORD", ["alarm"]),
        (sifted, "env | grep TRITON", ["note"]),
        (sifted, "printenv | less", ["warning"]),
        (sifted, "ls | grep KEY", []),
        (hidden, "base64 -d x | python3", ["warning"]),
        (hidden, "base64 -d x | head", []),
        (hidden, "cat x | bash", []),
        (left, "crontab -l", []),
        (left, "crontab jobs", ["alarm"]),
        (left, "at now < job", ["alarm"]),
        (left, "tmux new-session -d x", ["warning"]),
        (left, "tmux ls", []),
        (left, "setsid x", ["warning"]),
        (left, "x &", ["note"]),
        (left, "x", []),
    ],
)  # fmt: skip
def test_secrets_and_what_stays(rule: object, script: str, levels: list[str]) -> None:
    assert said(rule, script) == levels


@pytest.mark.parametrize(
    ("script", "own", "levels"),
    [
        ("kill 7", Own(), ["warning"]),
        ("kill 77", Own(pids={"77"}), ["note"]),
        ("kill -TERM -- -77", Own(pids={"77"}), ["note"]),
        ("kill -s KILL 77 78", Own(pids={"77"}), ["warning"]),
        ("kill -0 77", Own(), []),
        ("kill $(jobs -p)", Own(), ["note"]),
        ("kill $(cat x.pid)", Own(), ["warning"]),
        ("kill $(cat x.pid)", Own(background=True), ["note"]),
        ("kill $(pgrep python)", Own(background=True, started={"a.py"}), ["warning"]),
        ("killall a.out", Own(started={"a.out"}), ["note"]),
        ("pkill -f a.py", Own(started={"a.py"}), ["note"]),
        ("pkill -9 python3", Own(started={"python3"}), ["alarm"]),
        ("pkill -0 x", Own(), []),
        ("pkill", Own(), []),
        ("pgrep -f a.py | xargs kill", Own(started={"a.py"}), ["note"]),
        ("ps aux | xargs kill", Own(started={"a.py"}), ["alarm"]),
        ("jobs -p | xargs kill", Own(), ["note"]),
        ("fuser -k /dev/nvidia0", Own(), ["warning"]),
        ("fuser /dev/nvidia0", Own(), []),
    ],
)
def test_processes(script: str, own: Own, levels: list[str]) -> None:
    assert [find.level.value for find in killed(commands(script)[-1], own)] == levels


def test_a_plain_command_is_nothing_to_any_rule() -> None:
    for script in ("python check.py", "ls -la", "nvcc -O3 a.cu", "ncu --set full python x.py"):
        assert [find for rule in ALWAYS for find in rule(commands(script)[-1])] == []
