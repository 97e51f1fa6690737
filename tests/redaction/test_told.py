"""Secrets that names, commands and sentences tell, in the ways that operators write them."""

from __future__ import annotations

import json

import pytest

from tests.redaction.test_scan import LOOKER, hidden

DRAWN = "q7Vd2mK9xR4tB8wZ1nC6yJ3h"
HEX = "5af0b9b6c29e4ba1f2c1a9a8e7d6c5b4a3f2e1d0"
UUID = "5af0b9b6-c29e-4ba1-8f2c-1a9a8e7d6c5b"
WORD = "sommerwind"

NAMED = [
    'api_key: str = "{}"', 'API_KEY: Final[str] = "{}"', 'let api_key: &str = "{}";',
    'const apiKey: string = "{}"', 'api_key: str | None = "{}"', 'api_key = ("{}")',
    'api_key = (\n    "{}"\n)', 'Settings(api_key=SecretStr("{}"))',
    'add_argument("--api-key", default="{}")', 'add_argument("--token", type=str, default="{}")',
    "python a.py --wandb_key {}", "runpodctl config --apiKey {}", "vastai set api-key {}",
    "cloudflared service install {}", "curl -u {}: https://a.example.org/v1",
    'wandb.login("{}")', 'hub.login(\n    token="{}",\n)', '{"Authorization": "{}"}',
    "https://a.example.org/v1?token={}&b=1", "Your API key is {}.", "the API key `{}` of the user",
    "my wandb key is {}", "Incorrect API key provided: {}.", "the access token {} is valid",
    "WANDB_API_KEY is {}", "`WANDB_API_KEY` is `{}`.", "MY_API_KEY -> {}", "wandb key: {}",
    "I found an API key in .env: `{}`",
]  # fmt: skip
"""What tells a key that a machine drew, in whatever digits."""

IN_CAPITALS = [
    "GITEA_TOKEN={}", "export LINODE_TOKEN='{}'", 'os.environ["SNYK_TOKEN"] = "{}"',
    "- name: NOMAD_TOKEN\n  value: {}\n", "docker run --env=MY_TOKEN={} image",
    "AZURE_DEVOPS_EXT_PAT={}",
]  # fmt: skip

WORDS = [
    "sqlldr userid=app/{} control=a.ctl", "sqlldr app/{}@db control=a.ctl", "expdp app/{}@orcl a=b",
    "impdp app/{} directory=d", "rman target sys/{}@orcl", "sshpass -p {} ssh me@host",
    "gpg --batch --passphrase {} -c a", "ssh-keygen -t ed25519 -N '{}' -f k",
    "CREATE USER 'me'@'%' IDENTIFIED BY '{}';", "ALTER USER me WITH PASSWORD '{}'",
    'psql "host=db user=me password={}"', "Server=a;User ID=sa;Password={};", "SNOWSQL_PWD={} a",
    "<keyMaterial>{}</keyMaterial>", "    Key Content            : {}\n",
]  # fmt: skip

MADE_UP = [
    "netsh wlan set hostednetwork mode=allow ssid=a key={}", "echo {} | kinit me@A",
    "printf {} | docker secret create a -", "x11vnc -passwd {}", "cmdkey /add:a /user:me /pass:{}",
    "ConvertTo-SecureString '{}' -AsPlainText", "openssl enc -aes-256-cbc -k {} -in a",
    "rar a -hp{} a.rar b", "http -a me:{} a.example.org", "mosquitto_pub -u me -P {} -t a",
    "twine upload -u me -p {} d/*", "poetry config http-basic.a me {}", 'db.auth("me", "{}")',
    "log in with user me and password {}, please", "- pw: {}\n", "it says\npass: {}\n",
    "machine a.example.org\n  password {}\n  login me\n",
]  # fmt: skip


def _told(text: str, secret: str, deep: int) -> str:
    told = f"It says:\n{text.replace('{}', secret)}\n"
    for _ in range(deep):
        told = json.dumps({"a": told})
    return told


@pytest.mark.parametrize("text", NAMED)
@pytest.mark.parametrize("secret", [DRAWN, HEX], ids=["drawn", "in hex"])
@pytest.mark.parametrize("deep", range(4))
def test_a_key_is_hidden_where_a_name_or_a_sentence_tells_it(
    text: str, secret: str, deep: int
) -> None:
    if secret == DRAWN or "access token" not in text:
        assert secret not in hidden(_told(text, secret, deep))


@pytest.mark.parametrize("text", IN_CAPITALS)
@pytest.mark.parametrize("secret", [DRAWN, HEX, UUID, f"v1-{DRAWN}_{DRAWN}"])
@pytest.mark.parametrize("deep", range(4))
def test_a_token_of_the_environment_is_hidden_whatever_it_looks_like(
    text: str, secret: str, deep: int
) -> None:
    assert secret not in hidden(_told(text, secret, deep))


@pytest.mark.parametrize("text", [*WORDS, *MADE_UP])
@pytest.mark.parametrize("deep", range(4))
def test_a_password_is_hidden_where_a_program_is_given_it(text: str, deep: int) -> None:
    secret = WORD if text in WORDS else "Tr0ub4dor&3"

    assert secret not in hidden(_told(text, secret, deep))


@pytest.mark.parametrize(
    "text",
    ['DB_PASSWORD="{}"', "export GPG_PASSPHRASE='{}'", '{"user": "me", "password": "{}"}',
     'password = "{}"', "sshpass -p '{}' ssh me@host", "gpg --passphrase '{}' -c a"],
)  # fmt: skip
@pytest.mark.parametrize("deep", range(4))
def test_a_password_with_blanks_is_hidden_in_quotes(text: str, deep: int) -> None:
    secret = "my dog has 7 fleas"

    assert secret not in hidden(_told(text, secret, deep))


TOKENS = {
    "of SiliconFlow": "sk-" + "qhzvwkxjtnbpldrmgycfsauoe" * 2,
    "of Copilot": f"tid={HEX[:32]};exp=1770000000;sku=x;8kp=1:{HEX}",
    "of Fernet": f"{DRAWN}{DRAWN[:19]}=",
    "of AWS": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ7Vd2mK9x",
}


@pytest.mark.parametrize(
    ("kind", "text"),
    [("of SiliconFlow", "it is {} there"), ("of Copilot", '{"token":"{}"}'),
     ("of Fernet", "Fernet(b'{}')"), ("of AWS", "AKIAQ7VD2MK3XR4TB5WZ:{}\n"),
     ("of AWS", "Secret access key\nAKIAQ7VD2MK3XR4TB5WZ,{}\n"),
     ("of AWS", "ID [None]: AKIAQ7VD2MK3XR4TB5WZ\nAWS Secret Access Key [None]: {}\n")],
)  # fmt: skip
@pytest.mark.parametrize("deep", range(4))
def test_a_token_is_hidden_that_its_form_tells(kind: str, text: str, deep: int) -> None:
    secret = TOKENS[kind][:51] if kind == "of SiliconFlow" else TOKENS[kind]

    assert secret not in hidden(_told(text, secret, deep))


def test_addresses_that_hold_a_token_are_hidden() -> None:
    for text in ("https://conda.anaconda.org/t/{}/channel",
                 "https://hooks.slack.com/workflows/T0AAAA111/A0BBBB222/12345/{}"):  # fmt: skip
        assert DRAWN not in hidden(text.replace("{}", DRAWN))


def test_ssh_tells_who_somebody_is() -> None:
    text = "debug1: Authenticating to a.example.org:22 as 'marianne'\n"

    assert LOOKER.look(text.encode()).people == {b"marianne"}
    assert LOOKER.look(text.replace("marianne", "ubuntu").encode()).people == set()


HONEST = [
    "the token embeddings_of_the_model_v2 and the key `attention_mask_for_decoding`",
    f"key is {HEX}", f"the token {HEX} of the cache", f"commit key {HEX}", f"the key is {UUID}",
    "MY_API_KEY is needed_by_the_client_v2; MAX_TOKEN is 2048; an API key in conf: `see_a_b.yaml`",
    f"CACHE_KEY is {HEX}, JOB_ID={HEX} job_key={HEX} map_key={HEX}",
    "API key is required; the access token expired; token is invalid, password is wrong",
    f'{{"cache_key": "{UUID}", "idempotency_key": "{UUID}", "page_token": "{HEX}"}}',
    f"PROMPT_CACHE_KEY={HEX}\nSORT_KEY={HEX}", "PAD_TOKEN=<pad> EOS_TOKEN=</s> MAX_TOKEN=2048",
    "key: str = field(default=None); token: str = tokenizer.decode(ids); key = (block_m, block_n)",
    "def f(key: str = 'attention_weights', token: Optional[str] = None) -> None:",
    'parser.add_argument("--sort-key", default="attention_score_of_the_head")',
    "PASS: TestParsesManyThings1 pass: typecheck-2 and-on PASS: Test_A1b2 (0.01s)",
    'password = "Enter your password: "', '{"password": "must have 8 letters at least"}',
    '{"username": "The name", "password": "The password of the user"}',
    'DB_PASSWORD="change it please"', '"password": "Must be 12 characters"',
    "cat /etc/passwd | grep x; kinit user; ssh-keygen -N '' -f k; gpg --verify a; http -v a",
    'DISABLE_SESSION_AUTH = (\n    "AWS::S3::DisableS3ExpressSessionAuth"\n)',
    "docker run -u 1000: image", "exp scott file", "SELECT x FROM y WHERE PASSWORD IS NULL",
]  # fmt: skip


@pytest.mark.parametrize("text", HONEST, ids=range(len(HONEST)))
@pytest.mark.parametrize("deep", range(3))
def test_what_only_speaks_of_secrets_stays(text: str, deep: int) -> None:
    told = _told(text, "", deep)

    assert hidden(told) == told
