"""Words that are passwords for where they stand, and words that are none."""

from __future__ import annotations

import base64
import json
import random
from urllib.parse import quote, unquote

import pytest

from tests.redaction.secrets import escaped
from tests.redaction.test_scan import LOOKER, hidden

WORD = "sommerwind"

TOLD_BY_PLACE = [
    "curl -u 'me':'{}' http://a", "curl -sS \\\n  -u me:{} \\\n  http://a",
    'curl -fsS -u "me":"{}" http://a', "curl -u me:{} http://a",
    "curl -x http://b -U me:{} http://a", "curl --proxy-user me:{} http://a",
    "wget --user=me --password={} http://a", "sqlplus me/{}@host", "sqlplus -S me/{} @a.sql",
    'requests.get(url, auth=("me", "{}"))',
    "session.auth = ('me', '{}')", "HTTPBasicAuth('me', '{}')",
    "aiohttp.BasicAuth(login='me', password='{}')", "requests.get(\n    url,\n    auth=(\n"
    "        'me',\n        '{}',\n    ),\n)", 'server.login("me@a", "{}")',
    "nmcli dev wifi connect home password {}", "nmcli c modify home wifi-sec.psk '{}'",
    "wpa_passphrase home {}", 'network={\n  ssid="home"\n  psk="{}"\n}', '#psk="{}"\n',
    "[wifi-security]\nkey-mgmt=wpa-psk\npsk={}\n", "iwctl --passphrase {} station wlan0 connect a",
    "interface=wlan0\nssid=home\nwpa_passphrase={}\n",
    "db:\n  user: app\n  password: {}\n", "db_host: a.internal\ndb_password: {}\nb: 1\n",
    "port: 5432\npasswd: {}  # of the machine\n", "[client]\nuser = app\npassword = {}\n",
    "[db]\nuser=app\npassword={}\n",
    "spring.datasource.username=app\nspring.datasource.password={}\n",
    '{"user": "app", "password": "{}"}', '{"db_password":"{}"}', "'password' => '{}',",
    "DB_PASSWORD={}\n", "export MYSQL_PASSWORD={} && a", "docker run -e REDIS_PASSWORD={} a",
    "PASSWORD='{}'", 'connect(host="a", password="{}")', 'password = "{}"', "http://a/?u=a&password={}&b=1",
    "   3\t  user: app\n   4\t  password: {}\n", "+  username: app\n+  password: {}\n",
]  # fmt: skip


@pytest.mark.parametrize("text", TOLD_BY_PLACE)
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_word_is_hidden_where_nothing_but_a_password_can_stand(text: str, deep: int) -> None:
    told = text.replace("{}", WORD)
    for _ in range(deep):
        told = json.dumps({"a": told})

    assert WORD not in hidden(told)


@pytest.mark.parametrize("text", TOLD_BY_PLACE)
@pytest.mark.parametrize("before", ["", "It says nothing.\n" * 4, "It says nothing.\n" * 60])
def test_such_a_word_is_hidden_wherever_in_a_long_text(text: str, before: str) -> None:
    told = before + text.replace("{}", WORD) + "\n" + "It says nothing.\n" * 60

    assert WORD not in hidden(told)


@pytest.mark.parametrize("text", TOLD_BY_PLACE)
def test_such_a_word_is_hidden_in_an_address_and_in_json_of_escapes(text: str) -> None:
    told = text.replace("{}", WORD)

    assert WORD not in unquote(hidden(quote(told, safe="")))
    assert WORD not in json.loads(hidden('"' + escaped(told, random.Random(1)) + '"'))


@pytest.mark.parametrize("text", [text for text in TOLD_BY_PLACE if "assword" in text])
@pytest.mark.parametrize("shift", range(3))
def test_a_word_behind_password_is_hidden_in_base64_and_in_hexadecimal(
    text: str, shift: int
) -> None:
    told = ("\n" * shift + text.replace("{}", WORD)).encode()

    assert WORD.encode() not in base64.b64decode(hidden(base64.b64encode(told)))
    assert WORD.encode() not in bytes.fromhex(hidden(told.hex()))


def test_a_word_that_is_a_password_is_looked_for_nowhere_else() -> None:
    assert LOOKER.look(f"DB_PASSWORD={WORD}\n".encode()).secrets == set()


NO_PASSWORD = [
    "password = getpass()", "password: str", "password: str = None\nuser: str", "password = value",
    "def login(user: str, password: str) -> None:",
    "    host: str\n    port: int\n    password: str\n",
    "interface A {\n  user: string;\n  password: string;\n}", "user = name\npassword = word\n",
    "password: words are let pass\n", "The password: sommerwind, he said.", 'password="password"',
    '{"username": "Benutzername", "password": "Passwort"}', '{"password": "string"}',
    "password = config.password", 'password = os.environ["DB"]', "password=$PASSWORD",
    "DB_PASSWORD=${DB_PASSWORD}", "POSTGRES_PASSWORD=postgres\n", "password: required",
    "connect(user=user, password=password)", "password: hashedValue,", "password={password}",
    "auth=(user, password)", 'auth=("user", "pass")', "auth = (a.b, c)", "curl -u me: http://a",
    "docker run -u 1000:1000 a", "sqlplus / as sysdba", "sqlplus /nolog @a/b.sql",
    "sqlplus a/b.sql",
    "sqlplus scott/$PASS@a", 'page.login("#user", form)', "QPSK=modulation psk: see below",
    "chown -u user:staff file", "nmcli con show", "Username: yours\nPassword: your own\n",
    "[tool.x]\npassword = None\n", "user: app\npassword: null\n", "DB_PASSWORD=\nDB_HOST=a\n",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_PASSWORD)
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_words_stay_that_are_no_passwords(text: str, deep: int) -> None:
    for _ in range(deep):
        text = json.dumps({"a": text})

    assert hidden(text) == text
