"""Secrets in ways to write them that are seldom thought of: aligned, numbered, shown as bytes."""

from __future__ import annotations

import base64
import json
import random

import pytest

from kbsite.redaction.gates import ALL_TOKENS, gate
from tests.redaction.secrets import ALNUM, planted
from tests.redaction.test_scan import hidden, hidden_within

DRAWN = "q7Vd2mK9xR4tB8wZ1nC6yJ3h"
IN_HEX = "5af0b9b6c29e4ba1f2c1a9a8e7d6c5b4"
WORD = "sommerwind"

SHORT = {
    "hugging face": "hf_", "openai": "sk-", "sendgrid": "SG.", "fireworks": "fw_",
    "airtable": "pat",
}  # fmt: skip
"""Kinds that begin with three letters, which are a group of base64 only where one begins."""


def _drawn(size: int) -> str:
    return "".join(random.Random(size).choices(ALNUM, k=size - 4)) + "7aB2"


LIKE_WORDS = {
    "Notion": f"secret_{_drawn(43)}", "Cursor": f"key_{IN_HEX}{IN_HEX}",
    "ElevenLabs": f"sk_{IN_HEX}{IN_HEX[:16]}", "Brave": f"BSA{_drawn(28)}",
    "Telegram": f"712345678:AA{_drawn(33)}", "Terraform": f"{_drawn(14)}.atlasv1.{_drawn(67)}",
    "Doppler": f"dp.pt.{_drawn(43)}", "Modal": f"ak-{_drawn(22)}",
}  # fmt: skip


@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("before", range(3))
def test_a_token_that_begins_with_three_letters_is_hidden_wherever_a_group_begins(
    kind: str, before: int
) -> None:
    for seed in range(4):
        one = planted(seed, kind).secret
        assert one.startswith(SHORT[kind])
        text = f"{' ' * before}{one} and so on".encode()

        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            shown = hidden(f"it is {encode(text).decode()} there")
            assert one.encode() not in base64.urlsafe_b64decode(
                shown.split()[2].translate(str.maketrans("+/", "-_"))
            )


@pytest.mark.parametrize("kind", LIKE_WORDS)
def test_a_token_that_begins_like_a_word_is_hidden_in_base64_and_in_hexadecimal(kind: str) -> None:
    one = LIKE_WORDS[kind].encode()

    assert one not in base64.b64decode(hidden(base64.b64encode(b"it is " + one + b" there")))
    assert one not in bytes.fromhex(hidden((b"it is " + one).hex()))


def test_what_begins_a_token_is_looked_for_as_it_stands() -> None:
    # A plus of base64 is one of a pattern, too, and lets it end early.
    for literal in {literal for rule in ALL_TOKENS for literal in rule.encoded}:
        for shift in range(3):
            text = base64.b64encode(b"\xfb\xef\xbe"[:shift] + literal + b"\xff" * 30)
            found = gate().next(text, 0, len(text))
            assert found, literal
            assert found[1] in text


@pytest.mark.parametrize(
    "kind",
    ["hugging face", "github fine-grained", "docker", "wandb of 2025", "notion", "stripe", "amp"],
)
def test_a_token_is_hidden_in_markdown_with_a_backslash_before_each_mark(kind: str) -> None:
    one = planted(3, kind).secret
    for deep in range(3):
        text = f"The key is {one}.".replace("_", "\\_")

        assert one not in hidden_within(text, deep).replace("\\_", "_")


@pytest.mark.parametrize("before", ["\\x00", "\\0", "\x1b(B", "\\x1b(B"])
@pytest.mark.parametrize("kind", ["openai", "github", "hugging face", "google", "npm"])
@pytest.mark.parametrize("deep", range(3))
def test_a_token_begins_behind_a_byte_that_a_program_shows(
    before: str, kind: str, deep: int
) -> None:
    one = planted(2, kind).secret
    text = f"b'it is{before}{one}{before}'"
    for _ in range(deep):
        text = json.dumps({"a": text})

    assert one not in hidden(text)


@pytest.mark.parametrize(
    "write",
    ["&#{:04d};", "&#X{:x};", "&#x00{:X};", "\\u{{{:x}}}", "\\u{{00{:02x}}}", "\\U000000{:02x}"],
)
@pytest.mark.parametrize("kind", ["openai", "anthropic", "github", "google"])
def test_a_token_is_hidden_whatever_numbers_code_has_for_its_letters(write: str, kind: str) -> None:
    one = planted(2, kind).secret
    text = f"it is {''.join(write.format(ord(letter)) for letter in one)} there"
    shown = hidden(text)

    assert shown != text
    assert write.format(ord(one[20])) + write.format(ord(one[21])) not in shown


@pytest.mark.parametrize("deep", range(4))
def test_the_address_of_a_hook_is_hidden_however_often_its_slashes_are_escaped(deep: int) -> None:
    path = f"T0AAAAAAA/B0BBBBBBB/{DRAWN}"
    text = f'{{"url":"https://hooks.slack.com/services/{path}"}}'.replace("/", "\\/")
    for _ in range(deep):
        text = json.dumps({"a": text})

    assert DRAWN not in hidden(text)


def test_the_address_of_a_hook_of_discord_is_hidden_in_each_version() -> None:
    one = planted(1, "discord hook").secret
    for path in ("api/webhooks", "api/v10/webhooks"):
        assert one not in hidden(f"https://discord.com/{path}/{one}?wait=true")


NAMED = [
    "api_key          = {}", 'secret_key           = "{}"', "access_token:        {}",
    "  API_KEY            := {}", "API_KEY_2={}", 'OPENAI_API_KEY2="{}"', '"api_key_2": "{}"',
    "api_key1: {}", "api_key=\x1b[32m{}\x1b[0m", "**api_key**: {}", "- **API_KEY**: `{}`",
    'api_key: Optional[str] = "{}"', "API Key : {}", "api key = {}",
]  # fmt: skip
"""How names and their values stand in files that a program aligned, and in what a model says."""


@pytest.mark.parametrize("text", NAMED)
@pytest.mark.parametrize("deep", range(4))
def test_a_named_key_is_hidden_however_its_name_stands(text: str, deep: int) -> None:
    told = f"It says:\n{text.replace('{}', DRAWN)}\nand so on"
    for _ in range(deep):
        told = json.dumps({"a": told})

    assert DRAWN not in hidden(told)


@pytest.mark.parametrize("deep", range(4))
def test_a_password_is_hidden_behind_its_chinese_name_in_json_of_ascii(deep: int) -> None:
    text = f"密码：Tr0ub4dor&3, 密钥: {DRAWN}"
    for _ in range(deep):
        text = json.dumps({"a": text})
    shown = hidden(text)

    assert "Tr0ub4dor&3" not in shown
    assert DRAWN not in shown


FLAGGED = [
    "docker login -u me --password {} a.example.org", "a --username me --password {}",
    "a --db-user=me --password '{}' -v", "a --password {} --user me", "--password={}\n",
    "tool --password={} run", 'db_password             = "{}"',
]  # fmt: skip


@pytest.mark.parametrize("text", FLAGGED)
@pytest.mark.parametrize("deep", range(3))
@pytest.mark.parametrize("word", [WORD, "Kiefer9"])
def test_any_word_is_hidden_where_a_flag_or_quotes_say_that_it_is_a_password(
    text: str, deep: int, word: str
) -> None:
    told = f"It says\n{text.replace('{}', word)}\n"
    for _ in range(deep):
        told = json.dumps({"a": told})

    assert word not in hidden(told)


@pytest.mark.parametrize(
    "password", ["P@ssw0rd", "abc@def9x", "w0r#dK9zz", "a$b9Kzzq", "pa:ss9word"]
)
@pytest.mark.parametrize("address", ["postgres://me:{}@db:5432/x", "redis://:{}@[::1]:6379/0"])
def test_a_password_in_an_address_is_hidden_whatever_marks_it_has(
    password: str, address: str
) -> None:
    text = f'URL="{address.format(password)}" me@example.org'
    shown = hidden(text)

    assert password[1:] not in shown
    assert not any(piece in shown for piece in password.split("@") if len(piece) > 2)
    assert shown.endswith('" me@example.org')


HONEST = [
    "use --password to be asked, or --password file", "the --password flag, the --user option",
    "a --user me --password $PASSWORD", "a -u me --password-stdin", "key                = 12",
    "key                    : attention_mask_for_decoding", "token          = next_token_of_a",
    "http://localhost:8080/#me@example", "see http://a.example:80?x=a@b.example.com",
    "https://${USER}:${PASS}@a.example", "C:\\xadmin\\0 \\x00\\x01\\x02 \\0 (B, T, H) @triton",
    "\\u{1F600}\\u{1F601} \\U0001F600\\U0001F601 &#0160;&#0160; &#x1F600;&#x1F601;",
    "key_1: query_of_the_head_v2 key2 = value_of_layer_12", "a\\_b key\\_padding\\_mask",
    "api_key     = os.environ['API_KEY']", "API key = see the settings of the account",
]  # fmt: skip


@pytest.mark.parametrize("text", HONEST, ids=range(len(HONEST)))
@pytest.mark.parametrize("deep", range(3))
def test_what_is_written_so_and_tells_nothing_stays(text: str, deep: int) -> None:
    for _ in range(deep):
        text = json.dumps({"a": text})

    assert hidden(text) == text
