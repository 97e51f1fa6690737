"""Secrets of many kinds, drawn anew for each seed: none of them was ever anybody's."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"

Draw = Callable[[random.Random], tuple[str, str]]
"""Draws a secret, and a text that it may stand in."""


@dataclass(frozen=True)
class Planted:
    """A secret in a text."""

    kind: str
    secret: str
    text: str


def _of(size: int, alphabet: str = ALNUM) -> Callable[[random.Random], str]:
    return lambda draw: "".join(draw.choices(alphabet, k=size))


def _token(start: str, size: int, alphabet: str = ALNUM) -> Draw:
    def drawn(draw: random.Random) -> tuple[str, str]:
        secret = start + _of(size, alphabet)(draw)
        return secret, draw.choice(["{}", "export KEY={}", '"{}"', "it printed {} and ended"])

    return drawn


def _in(context: str, size: int, alphabet: str = ALNUM) -> Draw:
    def drawn(draw: random.Random) -> tuple[str, str]:
        # Letters and digits in turn: a key that happens to look like a word is nobody's fault.
        return _of(size, alphabet)(draw) + "7aB2x9Q", context

    return drawn


def _jwt(draw: random.Random) -> tuple[str, str]:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(_of(60)(draw).encode()).decode().rstrip("=")
    return f"{head}.{body}.{_of(43)(draw)}", "{}"


def _jwe(draw: random.Random) -> tuple[str, str]:
    head = base64.urlsafe_b64encode(b'{"alg":"dir","enc":"A256GCM"}').decode().rstrip("=")
    return f"{head}..{_of(16)(draw)}.{_of(200)(draw)}.{_of(22)(draw)}", "{}"


def _docker_auth(draw: random.Random) -> tuple[str, str]:
    pair = base64.b64encode(f"somebody:{_of(21)(draw)}".encode()).decode()
    return pair, '{"auths": {"registry.example.org": {"auth": "{}"}}}'


def _password_in_base64(draw: random.Random) -> tuple[str, str]:
    return base64.b64encode(f"{_of(15)(draw)}7aB2x9Q".encode()).decode(), "  password: {}\n"


def _of_kubernetes(draw: random.Random) -> tuple[str, str]:
    pair = {"auths": {"a.example.org": {"auth": _docker_auth(draw)[0]}}}
    return base64.b64encode(json.dumps(pair).encode()).decode(), "  .dockerconfigjson: {}\n"


def _hash(draw: random.Random) -> tuple[str, str]:
    return _of(86, ALNUM + "./")(draw), f"me:$6${_of(16)(draw)}${{}}:19000:0:99999:7:::"


def _uuid(draw: random.Random) -> str:
    return "-".join(_of(size, HEX)(draw) for size in (8, 4, 4, 4, 12))


def _key_block(draw: random.Random) -> tuple[str, str]:
    name = draw.choice(["RSA ", "EC ", "OPENSSH ", ""])
    frame = f"-----BEGIN {name}PRIVATE KEY-----\n{{}}\n-----END {name}PRIVATE KEY-----\n"
    return _of(64, ALNUM + "+/")(draw), frame


def _email(draw: random.Random) -> tuple[str, str]:
    name = f"{_of(7, string.ascii_lowercase)(draw)}.{_of(6, string.ascii_lowercase)(draw)}"
    return f"{name}@{_of(9, string.ascii_lowercase)(draw)}.com", "Author: Somebody <{}>"


def _ip(draw: random.Random) -> tuple[str, str]:
    return (
        f"93.{draw.randint(10, 250)}.{draw.randint(10, 250)}.{draw.randint(10, 250)}",
        "ssh {}:22",
    )


def _home(draw: random.Random) -> tuple[str, str]:
    where = draw.choice(["/home/{}/code", "/Users/{}/work/a.py", "C:/Users/{}/x"])
    return _of(9, string.ascii_lowercase)(draw), where


KINDS: Mapping[str, Draw] = {
    "anthropic": _token("sk-ant-api03-", 60, ALNUM + "-_"),
    "openai project": _token("sk-proj-", 48),
    "openai": _token("sk-", 48),
    "openrouter": _token("sk-or-v1-", 64, HEX),
    "google": _token("AIza", 35, ALNUM + "-_"),
    "google oauth": _token("ya29.", 60),
    "groq": _token("gsk_", 52),
    "hugging face": _token("hf_", 34),
    "github": _token("ghp_", 36),
    "github fine-grained": _token("github_pat_", 82),
    "gitlab": _token("glpat-", 20),
    "slack": _token("xoxb-123456789012-", 24),
    "aws": _token("AKIA", 16, string.ascii_uppercase + string.digits),
    "npm": _token("npm_", 36),
    "nvidia": _token("nvapi-", 64),
    "stripe": _token("sk_live_", 24),
    "sendgrid": lambda draw: (f"SG.{_of(22)(draw)}.{_of(43)(draw)}", "{}"),
    "pypi": _token("pypi-AgEIcHlwaS5vcmc", 80),
    "azure": _in("AccountKey={}==;EndpointSuffix", 79),
    "telegram": lambda draw: (f"{_of(9, '123456789')(draw)}:AA{_of(33)(draw)}", "bot {}"),
    "jwt": _jwt,
    "private key": _key_block,
    "bearer": _in("Authorization: Bearer {}", 24),
    "address": _in("git clone https://me:{}@git.example.org/a.git", 12),
    "cookie": _in("Cookie: sessionid={}; theme=dark", 20),
    "password": _in('password = "{}"', 14),
    "api key": _in("MY_API_KEY={}", 25),
    "kept by docker": _docker_auth,
    "of a machine in .netrc": _in("machine api.example.org\n  login me\n  password {}\n", 33),
    "named to wandb": lambda draw: (_of(40, HEX)(draw), "wandb login --relogin {}"),
    "of curl": _in("curl -u admin:{} https://a.example.org", 12),
    "of curl, both in quotes": _in("curl -sS -u 'me':'{}' https://a.example.org", 12),
    "of a proxy": _in("curl --proxy-user me:'{}' https://a.example.org", 12),
    "of sqlplus": _in("sqlplus -S app/{}@db.internal:1521/prod @a.sql", 12),
    "of requests": _in('requests.get(url, auth=("me", "{}"))', 12),
    "of a class": _in("HTTPBasicAuth(\n    'me',\n    '{}',\n)", 12),
    "of wpa_supplicant": _in('network={\n\tssid="home"\n\tpsk="{}"\n}', 12),
    "of nmcli": _in("nmcli dev wifi connect home password '{}' ifname wlan0", 12),
    "of a flag": _in("client --api-key {} run", 25),
    "set in Python": _in('os.environ["MY_API_KEY"] = "{}"', 25),
    "default in Python": _in('os.environ.setdefault("MY_API_KEY", "{}")', 25),
    "password of a file": _in("DB_PASSWORD={}", 14),
    "password of a connection": _in("Server=a;User ID=sa;Password={};Encrypt=true", 14),
    "tag": _in("<apiKey>{}</apiKey>", 25),
    "header of a list": _in('{"name": "X-Api-Key", "value": "{}"}', 25),
    "cookie of curl": _in("curl -b 'sessionid={}' https://a.example.org", 20),
    "jar of cookies": _in("a.example.org\tTRUE\t/\tTRUE\t1999999999\tsession\t{}", 20),
    "token without a name": lambda draw: (_of(40, HEX)(draw), "https://{}@git.example.org/a.git"),
    "UUID as a key": lambda draw: (_uuid(draw), "MY_API_KEY={}"),
    "signed address": _in("https://a.blob.core.windows.net/b?sv=2022&sig={}%3D", 40),
    "encrypted web token": _jwe,
    "google of 2025": _token("AQ.Ab8", 48, ALNUM + "-_"),
    "openai of old": _token("sk-None-", 48),
    "slack app": _token("xapp-1-A0123456789-1234567890123-", 64, HEX),
    "docker": _token("dckr_pat_", 27),
    "gitlab of 2025": lambda draw: (f"glpat-{_of(60)(draw)}.01.{_of(9, LOWER)(draw)}", "{}"),
    "wandb of 2025": _token("wandb_v1_", 70),
    "vault": _token("hvs.", 95),
    "runpod": _token("rpa_", 46, string.ascii_uppercase + string.digits),
    "fireworks": _token("fw_", 24),
    "notion": _token("ntn_", 46),
    "airtable": lambda draw: (f"pat{_of(14)(draw)}.{_of(64, HEX)(draw)}", "{}"),
    "terraform": lambda draw: (f"{_of(14)(draw)}.atlasv1.{_of(67)(draw)}", "{}"),
    "azure application": lambda draw: (f"{_of(3)(draw)}8Q~{_of(34)(draw)}", "{}"),
    "discord hook": lambda draw: (
        f"{_of(18, '123456789')(draw)}/{_of(68)(draw)}",
        "https://discord.com/api/webhooks/{}",
    ),
    "secret in hex": lambda draw: (_of(64, HEX)(draw), 'client_secret: "{}"'),
    "of PostgreSQL's file": _in("db.internal:5432:prod:app:{}", 12),
    "of psql": _in("PGPASSWORD={} psql -h db prod", 9),
    "of mysql": _in("mysql -u root -p{} -h db prod", 12),
    "of mysqldump": _in("mysqldump --user=me --password='{}' prod", 12),
    "of redis-cli": _in("redis-cli -h cache -a {} ping", 12),
    "of mongosh": _in("mongosh -u me -p {} --host db", 12),
    "of sshpass": _in("SSHPASS={} sshpass -e ssh me@host", 12),
    "told to sudo": _in("echo '{}' | sudo -S true", 12),
    "told to docker": _in("echo {} | docker login -u me --password-stdin", 12),
    "of openssl": _in("openssl rsa -in key -passin pass:{}", 12),
    "said": _in("The password is `{}`.", 12),
    "of kubectl": _password_in_base64,
    "of a registry in Kubernetes": _of_kubernetes,
    "of letters alone in Kubernetes": lambda draw: (
        base64.b64encode(f"hf_{_of(33, 'VRTUdqhEF')(draw)}".encode()).decode(),
        "  HF_TOKEN: {}\n",
    ),
    "hash of a password": _hash,
    "of Jupyter": lambda draw: (_of(48, HEX)(draw), "http://127.0.0.1:8888/lab?token={}"),
    "of Kaggle": lambda draw: (_of(32, HEX)(draw), '{"username":"somebody","key":"{}"}'),
    "set to a UUID": lambda draw: (_uuid(draw), "SNYK_TOKEN={}"),
    "named above": _in("- name: API_TOKEN\n  value: {}\n", 25),
    "named beside": _in('{"Key": "API_TOKEN", "Value": "{}"}', 25),
    "of setenv": _in("setenv MY_API_KEY {}", 25),
    "of a table": _in("| MY_API_KEY | {} |", 25),
    "of a list in Markdown": _in("- **API key:** `{}`", 25),
    "signed": lambda draw: (_of(64, HEX)(draw), "https://a.example/b?X-Amz-Signature={}"),
    "context7": lambda draw: (f"ctx7sk-{_uuid(draw)}", "it is {}"),
    "amp": lambda draw: (f"sgamp_user_01{_of(24, LOWER)(draw).upper()}_{_of(64, HEX)(draw)}", "{}"),
    "openai refresh": lambda draw: (f"rt_{_of(43)(draw)}.{_of(43)(draw)}", '{"refresh": "{}"}'),
    "prime": _token("pit_", 43),
    "of VS Code": lambda draw: (_uuid(draw), "http://0.0.0.0:8000?tkn={}"),
    "kept by opencode": lambda draw: (
        _of(64, HEX)(draw),
        '{\n    "type": "api",\n    "key": "{}"\n}',
    ),
    "of Azure in hex": lambda draw: (_of(32, HEX)(draw), "AZURE_OPENAI_KEY={}"),
    "of fal": lambda draw: (_of(32, HEX)(draw), f"Authorization: Key {_uuid(draw)}:{{}}"),
    "of Lambda": lambda draw: (
        f"{_of(32)(draw)}.{_of(32)(draw)}",
        "curl -u {}: https://a.example.org",
    ),
    "piped to wandb": lambda draw: (_of(40, HEX)(draw), "echo '{}' | wandb login\n"),
    "named to wandb of a host": lambda draw: (
        _of(40, HEX)(draw),
        "wandb login --relogin --host=https://a.example.org {}",
    ),
    "identity kept by docker": _in('{"x.azurecr.io": {"identitytoken": "{}"}}', 60, ALNUM + "-_"),
    "before no password": lambda draw: (
        _of(40, HEX)(draw),
        "https://{}:x-oauth-basic@git.example.org/a.git",
    ),
    "in a field": _in("http://a.example.org:8888/tree?token={}", 6),
    "argument of a container": _in('[\n    "--api-key",\n' + " " * 16 + '"{}"\n]', 17),
    "e-mail": _email,
    "address of a machine": _ip,
    "home": _home,
}

BEGIN_WITH_LETTERS = frozenset(
    ["anthropic", "openai project", "openrouter", "google", "groq", "github",
     "github fine-grained", "gitlab", "slack", "npm", "nvidia", "stripe", "jwt"]
)  # fmt: skip
"""Kinds that are known in base64 and hexadecimal, however little stands around them."""


def planted(seed: int, kind: str) -> Planted:
    """A secret of a kind, in a text of its own."""
    secret, text = KINDS[kind](random.Random(f"{seed} {kind}"))
    return Planted(kind, secret, text.replace("{}", secret))


def escaped(text: str, draw: random.Random) -> str:
    """A text as JSON may write it: some of its characters as escapes."""
    plain = json.dumps(text)[1:-1]
    return "".join(
        f"\\u{ord(one):04x}" if one.isalnum() and before != "\\" and draw.random() < 0.2 else one
        for before, one in zip(" " + plain, plain, strict=False)
    )


def percent(text: str, draw: random.Random) -> str:
    """A text as a URL may write it: some of its letters as escapes, too."""
    pieces = (f"%{ord(c):02X}" if draw.random() < 0.3 else quote(c, safe="") for c in text)
    return "".join(pieces)
