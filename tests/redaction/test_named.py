"""Secrets that a name or a program tells, in forms of files and command lines of their own."""

from __future__ import annotations

import base64
import json
import random
from urllib.parse import quote

import pytest

from kbsite.redaction.values import is_placeholder
from tests.redaction.secrets import ALNUM, planted
from tests.redaction.test_scan import hidden, hidden_within

KEY = "q7Vd2mK9xR4tB8wZ1nC6yJ3hT5s"
IN_HEX = "3f9a0c7be15d48826e4bb0957ac1d2f83f9a0c7be15d48826e4bb0957ac1d2f8"

TOLD = [
    "curl -ume:{} https://a.example.org", "curl -sSfLu 'me:{}' https://a.example.org",
    "curl https://a.example.org -su me:{}\n", "curl -b sid={} https://a.example.org",
    "gh secret set NAME --body {}", "echo {} | gh secret set NAME",
    "echo {} | gh auth login --with-token", "echo {} | wrangler secret put NAME",
    "aws ssm put-parameter --name /a/b --value {} --type SecureString",
    "az keyvault secret set --vault-name a --name b --value {}",
    "keytool -list -keystore a -storepass {}", "jarsigner -keypass {} a.jar b",
    "rabbitmqctl add_user me {}", "security add-generic-password -a me -s a -w {}",
    'export BW_SESSION="{}=="', "ALTER USER 'a'@'%' IDENTIFIED WITH caching_sha2_password BY '{}';",
    "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0$" + KEY + "aaaa{}=:b", "userPassword: {SSHA}{}",
    "python\0serve.py\0--api-key\0{}\0--port",
    "api_key: >-\n  {}\n", "access_token: |\n    {}\n", "api_key = '''{}'''", 'api_key = """{}"""',
    '{"api_keys": ["{}"]}', "api_keys = [\n    'another-name', '{}',\n]", 'api_key: Some("{}")',
    "<key>apiKey</key>\n\t<string>{}</string>", "<td>API key</td><td><code>{}</code></td>",
    '<pre>api_key: <span class="s">{}</span></pre>',
    "<name>fs.s3a.secret.key</name><value>{}</value>",
    'expect "*?assword:*"\nsend "{}\\r"', "expect {\n \"Password:\" { send -- {{}\\r} }",
    "a.expect(['password:', pexpect.EOF])\n  a.sendline(b'{}')",
    "a.expect('Passphrase')\na.send('{}\\n')",
    "INSERT INTO users (name, password) VALUES ('me', '{}');",
    'insert into "a"."b"\n  (id, api_key)\nvalues\n  (1, \'a-name\'),\n  (2, \'{}\')',
    '<meta name="access-token" content="{}">', "密码：{}\n", "API密钥: {}", 'Passwort = "{}"',
]  # fmt: skip


@pytest.mark.parametrize("text", TOLD)
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_secret_is_hidden_that_a_name_or_a_program_tells(text: str, deep: int) -> None:
    told = text.replace("{}", KEY)
    for _ in range(deep):
        told = json.dumps({"a": told}, ensure_ascii=False)

    assert KEY not in hidden(told)


@pytest.mark.parametrize(
    "text",
    [
        "a.expect('password:')\na.sendline(password)",
        "a.expect('password:')\na.sendline(x)\na.expect('>')\na.sendline('correcthorse')",
        "the password\na.sendline('correcthorse')",
        "INSERT INTO users (name, password) VALUES (?, '%s')",
        "INSERT INTO words (token, password_hash) VALUES ('correcthorse', 'battery')",
    ],
)
def test_what_no_password_is_stays(text: str) -> None:
    assert hidden(text) == text


@pytest.mark.parametrize("word", ["correcthorse", "Tr0ub4dor"])
def test_any_word_is_a_password_that_answers_a_question_or_fills_a_column(word: str) -> None:
    for text in TOLD:
        if "ass" in text and ("expect" in text or "INSERT" in text):
            assert word not in hidden(text.replace("{}", word)), text


@pytest.mark.parametrize("before", ["", "HF_TOKEN="])
def test_a_token_that_begins_with_three_letters_is_hidden_in_base64_and_hexadecimal(
    before: str,
) -> None:
    token = f"{before}hf_{KEY}".encode()
    for told in (base64.b64encode(token).decode(), token.hex()):
        assert told[len(before) * 2 + 6 :] not in hidden(f"echo {told} | base64 -d")


@pytest.mark.parametrize("text", ["secret_key_base: {}{}", "DD-APPLICATION-KEY: {}"])
def test_a_key_in_hexadecimal_is_hidden_that_its_name_tells(text: str) -> None:
    assert IN_HEX[:32] not in hidden(text.replace("{}", IN_HEX))


def test_each_key_of_a_list_of_json_is_hidden_and_other_texts_stay() -> None:
    other = KEY[::-1]
    shown = hidden(json.dumps({"api_keys": [KEY, "a-name", other], "name": "a"}))

    assert KEY not in shown
    assert other not in shown
    assert json.loads(shown)["api_keys"][1] == "a-name"


@pytest.mark.parametrize(
    "text",
    ["curl -su me https://a.example.org", "docker run -ubuntu:22.04 image",
     "the keys: |\n  are long\n",
     "keys = ['M', 'N', 'K', 'BLOCK_SIZE_M']", '"tokens": ["Ġthe", "Ġkernel", "ization"]',
     "<td>API key</td><td>your_api_key</td>", "<key>apiKey</key>\n<string>$(API_KEY)</string>",
     "api_key: Some(value)", "aws ssm get-parameter --name /a/b",
     "keytool -list -storepass changeit",
     '<meta name="token" content="width=device-width">', "api_key = '''\nsome text\n'''",
     "SCRAM-SHA-256 is asked for", "密码: your_password"],
)  # fmt: skip
@pytest.mark.parametrize("deep", [0, 1])
def test_what_only_reads_like_one_stays(text: str, deep: int) -> None:
    for _ in range(deep):
        text = json.dumps({"a": text}, ensure_ascii=False)

    assert hidden(text) == text


@pytest.mark.parametrize("word", ["XxXx", "nUll", "yOur", "faKe", "SamPLe"])
def test_a_token_is_hidden_that_has_letters_of_a_place_holder_by_chance(word: str) -> None:
    drawn = "".join(random.Random(3).choices(ALNUM, k=30))

    assert word not in hidden(f"it is hf_{drawn[:15]}{word}{drawn[15:]} there")


@pytest.mark.parametrize(
    "value", [b"xxxxQ7", b"XXXXq7", b"your-key", b"YOUR_KEY", b"YourKey", b"Null"]
)
def test_a_place_holder_is_one_however_it_is_usually_written(value: bytes) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "kind", ["github", "github fine-grained", "hugging face", "npm", "groq", "stripe"]
)
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_token_is_hidden_in_markdown_that_escapes_its_marks(kind: str, deep: int) -> None:
    secret = planted(1, kind).secret
    end = secret[-16:].rpartition("_")[2]
    text = f"it is {secret} there".replace("_", "\\_")
    shown = hidden_within(text, deep)

    assert end not in shown
    assert shown.startswith("it is ")
    assert shown.endswith(" there")


def test_a_name_with_escaped_marks_stays() -> None:
    text = r"\text{hf\_hub\_download} npm\_config\_cache \alpha\_test\_1 gsk\_a"

    assert hidden(text) == text


@pytest.mark.parametrize("times", [1, 2])
def test_a_secret_is_hidden_in_an_address_within_an_address(times: int) -> None:
    text = f"https://a.example/?u=https://b.example/ {planted(1, 'github').secret} b"
    secret = planted(1, "github").secret
    for _ in range(times):
        text = quote(text, safe="")

    assert secret not in hidden(text)
