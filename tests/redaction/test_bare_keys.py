"""Keys of more services, lists of keys, and what Redis and rclone are told; nothing beside."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping

import pytest

from kbsite.model.redaction import covered
from kbsite.redaction.known import Known, Value
from kbsite.redaction.scan import Looker
from kbsite.redaction.titles import DENIED
from tests.redaction.secrets import ALNUM, HEX

LOOKER = Looker()
DRAW = random.Random(7)


def drawn(size: int, alphabet: str = ALNUM) -> str:
    return "".join(DRAW.choices(alphabet, k=size - 4)) + "7aB2" if alphabet == ALNUM else "".join(
        DRAW.choices(alphabet, k=size)
    )  # fmt: skip


def shown(text: str, looker: Looker = LOOKER) -> str:
    data = text.encode()
    hidden = covered(data, looker.look(data).spans)
    assert len(hidden) == len(data)
    assert covered(hidden, looker.look(hidden).spans) == hidden
    return hidden.decode()


KEYS: Mapping[str, Callable[[], str]] = {
    "CircleCI, of a person": lambda: f"CCIPAT_{drawn(22)}_{drawn(40, HEX)}",
    "CircleCI, of a project": lambda: f"CCIPRJ_{drawn(22)}_{drawn(40, HEX)}",
    "Apify": lambda: f"apify_api_{drawn(36)}",
    "Devin": lambda: f"cog_{drawn(52)}",
    "Devin, of a person": lambda: f"apk_user_{base64.b64encode(drawn(30).encode()).decode()}",
    "Devin, of an organisation": lambda: f"apk_{base64.b64encode(drawn(30).encode()).decode()}",
    "Baidu Qianfan": lambda: f"bce-v3/ALTAK-{drawn(22)}/{drawn(40, HEX)}",
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("text", ["it printed {} and ended", '{"a": "{}\\n"}', "x\\n{}\n"])
def test_a_bare_key_is_hidden(kind: str, text: str) -> None:
    key = KEYS[kind]()

    assert key[-20:] not in shown(text.replace("{}", key))
    assert shown(text.replace("{}", key)).replace("x", "") != text


@pytest.mark.parametrize(
    "text",
    [
        "cog_wheel_of_a_machine_that_has_a_long_name_with_many_words_in_it",
        "apk_files_that_were_built_for_the_release_of_the_application_yesterday",
        "export APIFY_API_TOKEN_NAME=apify_api_token_of_the_project",
        "apify_api_client.ApifyClientAsync.from_environment",
        "bce-v3/ALTAK-test/secret", "CCIPAT_*", "API_KEYS=a,b,c", "SORT_KEYS=name,created_at",
        "REQUIRED_SECRETS=DATABASE_PASSWORD,STRIPE_SECRET_KEY",
        "STOP_TOKENS=<|im_end|>,<|endoftext|>",
        "NUM_KEYS=16777216,33554432", "redis-cli AUTH default password", "smtp> AUTH PLAIN",
        "db.auth AUTH LOGIN", "pass = self.forward_pass_of_the_model", "pass = 1",
    ],
)  # fmt: skip
def test_what_is_no_key_stays(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "API_KEYS={},{}\n", "export OPENAI_API_KEYS='{},{}'\n", 'GEMINI_API_KEYS="{}, {}"\n',
        '{"command": "HF_TOKENS=\\"{};{}\\" python3 run.py"}', "MY_SECRETS={},short,{} run",
    ],
)  # fmt: skip
def test_each_key_of_a_list_is_hidden(text: str) -> None:
    one, two = drawn(24), drawn(30)
    told = shown(text.replace("{}", one, 1).replace("{}", two))

    assert one not in told
    assert two not in told
    assert told.count("(redacted)") == 2


@pytest.mark.parametrize(
    "text",
    [
        "redis-cli -h cache -a {} ping", "redis-cli --pass {} ping", "redis-cli AUTH {}\n",
        "redis-cli AUTH default {}\n", "127.0.0.1:6379> AUTH {}\nOK", "echo 'AUTH {}' | nc a 6379",
        "[drive]\ntype = sftp\npass = {}\n", "[a]\\ntype = crypt\\npassword2 = {}\\n",
    ],
)  # fmt: skip
def test_what_redis_and_rclone_are_told_is_hidden(text: str) -> None:
    secret = drawn(30)

    assert secret not in shown(text.replace("{}", secret))


@pytest.mark.parametrize("before", range(6))
def test_a_known_value_is_hidden_in_base32(before: int) -> None:
    looker = Looker(Known([Value(b"Tr0ub4dor7aB2x9QhZk3", DENIED)]))
    text = "a" * before + "Tr0ub4dor7aB2x9QhZk3" + "b" * 9
    told = shown(f"it is {base64.b32encode(text.encode()).decode()} so", looker)
    digits = told.split()[2].replace("x", "A").rstrip("=")
    said = base64.b32decode(digits + "=" * (-len(digits) % 8))

    assert b"r0ub4dor7aB2x9QhZk" not in said
    assert said[:before] == b"a" * before
