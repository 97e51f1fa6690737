"""What is hidden of bytes: secrets in every form, and nothing else."""

from __future__ import annotations

import base64
import json
import pickle
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbsite.hiding.files import Seen
from kbsite.model.redaction import Form, Span, cover, covered
from kbsite.redaction.gates import RULES
from kbsite.redaction.known import Known, Value, forms
from kbsite.redaction.people import People
from kbsite.redaction.scan import Looker
from kbsite.redaction.spans import merged
from kbsite.redaction.titles import DENIED, SEEN, must_not_happen, title
from kbsite.store.files import Stored
from tests.redaction.secrets import BEGIN_WITH_LETTERS, KINDS, Planted, escaped, percent, planted

LOOKER = Looker()
FILLING = "The kernel ran in 1.25 ms on the H100; see runs/demo/a.py, line 12.\n"


def hidden(text: str | bytes, looker: Looker = LOOKER) -> str:
    """A text as the site shows it."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    shown = covered(data, looker.look(data).spans)
    assert len(shown) == len(data)
    assert shown.count(b"\n") == data.count(b"\n")
    return shown.decode("utf-8", "surrogateescape")


def hidden_within(text: str, deep: int) -> str:
    """What is shown of a text within so many JSON texts, as they say it then."""
    for _ in range(deep):
        text = json.dumps({"a": text})
    shown = hidden(text)
    for _ in range(deep):
        shown = json.loads(shown)["a"]
    return shown


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_hidden_wherever_it_stands(kind: str) -> None:
    for seed in range(8):
        one = planted(seed, kind)
        for text in (one.text, f"{FILLING}{one.text}\n{FILLING}", json.dumps({"out": one.text})):
            assert one.secret not in hidden(text)


@pytest.mark.parametrize("listed", [0, 5, 10**6, 10**7])
def test_a_file_is_looked_at_to_its_end_whatever_its_size_was(tmp_path: Path, listed: int) -> None:
    one, seen = planted(1, "github"), Seen(LOOKER)
    path = tmp_path / "log"
    path.write_text(f"{FILLING * 10_000}{one.text}\n")
    seen.see(Stored("log", str(path), listed))
    found = {seen.value("log", span) for span in seen.spans["log"]}

    assert one.secret.encode() in found


@pytest.mark.parametrize("filling", [b"\n", b"a\n", b"a" * 300 + b"\n", b"a" * 9000])
def test_what_is_hidden_has_its_line_whether_lines_are_long_or_short(
    tmp_path: Path, filling: bytes
) -> None:
    one, seen = planted(1, "github"), Seen(LOOKER)
    data = b"".join(filling * 700 + b" " + one.text.encode() + b" " for _ in range(3))
    path = tmp_path / "log"
    path.write_bytes(data)
    seen.see(Stored("log", str(path), len(data)))
    seen.again()

    found = seen.spans["log"]
    assert len(found) >= 3
    assert [span.line for span in found] == [
        data.count(b"\n", 0, span.start) + 1 for span in found
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_hidden_in_json_whose_letters_are_escapes(kind: str) -> None:
    for seed in range(8):
        one, draw = planted(seed, kind), random.Random(seed)
        row = '{"text": "said \\n' + escaped(f"{one.text} and so on", draw) + '"}'
        shown = json.loads(hidden(row))["text"]

        assert one.secret in json.loads(row)["text"]
        assert one.secret not in shown


def _json_twice(text: str, draw: random.Random) -> str:
    del draw
    return json.dumps({"content": json.dumps({"stdout": f"a\n{text}\nb"})})


def _base64(text: str, draw: random.Random) -> str:
    shift = draw.randrange(3)
    return (
        "data "
        + base64.b64encode(b"x" * (30 + shift) + b" " + text.encode() + b" and more").decode()
    )


def _hex(text: str, draw: random.Random) -> str:
    del draw
    return f"0000 {(b'it is ' + text.encode() + b'.').hex()}"


def _hex_of_code(text: str, draw: random.Random) -> str:
    row = f"printf '{''.join(f'{chr(92)}x{ord(one):02x}' for one in text)}\\n'"
    return draw.choice([row, json.dumps(row), json.dumps(json.dumps(row))])


def _octal_of_code(text: str, draw: random.Random) -> str:
    row = f"printf '{''.join(f'{chr(92)}{ord(one):03o}' for one in text)}\\n'"
    return draw.choice([row, json.dumps(row)])


def _html(text: str, draw: random.Random) -> str:
    kind = draw.choice(["&#{};", "&#x{:x};"])
    return json.dumps(f"<b>{''.join(kind.format(ord(one)) for one in text)}</b>")


@pytest.mark.parametrize("kind", sorted(BEGIN_WITH_LETTERS))
@pytest.mark.parametrize(
    "write", [_json_twice, _base64, _hex, percent, _hex_of_code, _octal_of_code, _html]
)
def test_a_token_is_hidden_in_other_writing(
    kind: str, write: Callable[[str, random.Random], str]
) -> None:
    for seed in range(6):
        one = planted(seed, kind)
        text = write(one.secret, random.Random(seed))
        shown = hidden(text)

        assert shown != text
        again = LOOKER.look(shown.encode())
        assert covered(shown.encode(), again.spans) == shown.encode()
        for piece in forms(one.secret.encode()):
            assert piece.decode("latin-1") not in shown


CLEAN = [
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"prompt_cache_key":"019ed50c-2fb3-7002-a384-360bea6e7f04"',
    "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
    '"id":"msg_01XFDUDYJgAACzvnptvVoYEL","request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"',
    '"input_tokens":12345,"cache_read_input_tokens":123456789012',
    "__global__ void k(const float* __restrict__ key, float4* value) { key[i] = value[i].x; }",
    "token = tokenizer.encode(text)[0]; key = (m, n, k)",
    "out = q@k.transpose(-2, -1); y = x@w.to(torch.float16)",
    "@triton.autotune(configs=configs, key=['M', 'N', 'K'])",
    "cuda 12.4.131.0, driver 550.54.15, Chrome/120.0.0.0, nvidia-cublas-cu12==12.4.5.8",
    "listening on 127.0.0.1:8080 and 10.0.0.3, asked 8.8.8.8",
    "/home/agent/work/solution.py /root/.cache /home/user/x C:\\Users\\runner\\a",
    "git@github.com:a/b.git noreply@anthropic.com someone@example.com react@18.2.0 a@2x.png",
    "API_KEY=your_api_key_here SECRET=${SECRET} token: <TOKEN> password=os.environ['PASSWORD']",
    "sk-learn-contrib-and-other-words hf_hub_download task-force-of-many-people risk-analysis",
    "key: conv2d_forward_kernel_v2_sm90a secret_santa_list_of_2024 api_key=settings.api_key_name",
    "docker run -u 1000:1000 --user=me:mygroup --token-limit 12000 --key sorted_by_name image",
    "password=hash2Base64(value) password=make_password2_v3a8 <password>$PASSWORD</password>",
    'ENV["TOKEN"], "some words"; zip(keys, "abcdefgh1"); {"auth": "c29tZSB3b3JkcyBvbmx5"}',
    "machine learning, login and password fields of the form; wandb login and then train",
    "route-fc-12 pat_pattern key_value_pairs sk_linear secret_key_of_nobody fw_kernel_forward_v2",
    '"signature":"EqQBCkYIBRgCKkCvbnVtYmVyc0FuZExldHRlcnMxMjM0NTY3ODkwYWJjZGVmZ2hpag=="',
    "PWD=/srv/a1b2c3d4 OLDPWD=/root; mysql -u root -ppassword -p; redis-cli -a $PASSWORD ping",
    "echo y | sudo -S true; docker login -u me --password-stdin < file; unzip -P $SECRET a.zip",
    "password is required; the token is invalid; USER=postgres USER=$USER; 12:34:56:789 done",
    "total 12\n-rw-r--r-- 1 root root 5 Jan 1 12:00 a\ndrwxr-xr-x 2 postgres staff 4 Jan 1 b",
    '{"Action":"pass","Test":"TestA1b2C3d4E5f6"} localhost:5432:5432 a.py:12:5:error:E501',
    "rt_kernel_v2a8.some_long_function_name_v3b9 app_key=key_of_App2 ?page_token=CAoQAA2Bq7Vd2mK9",
    "uses GH_TOKEN --submit-everything, awk '{print $1$2}', $2b$12$ is bcrypt, as-is, key-value",
    "".join(rf"\x{one:02x}" for one in random.Random(2).randbytes(9000)),
    r"C:\101\102 [\x20-\x7e] \303\251 &#39;a&#39; &#x27;&#x27; \033[1m \x41\x42\x43",
    "data:image/png;base64," + base64.b64encode(random.Random(1).randbytes(9000)).decode(),
]


@pytest.mark.parametrize("text", CLEAN, ids=range(len(CLEAN)))
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert hidden(text) == text
    assert hidden(json.dumps({"a": text})) == json.dumps({"a": text})


MADE_UP = "Tr0ub4dor&3"


@pytest.mark.parametrize(
    "text",
    ["PGPASSWORD={} psql", "export MYSQL_PWD='{}'", "password: {}", "password = {}\nport = 1",
     "Server=a;User Id=sa;Password={};", '"Env": ["POSTGRES_PASSWORD={}"]', "-e DB_PASS={} image",
     "--from-literal=password={}", "ansible_become_pass: {}", "mysql -uroot -p'{}' a",
     "mariadb -p{}", "sshpass -p {} ssh a@b", "sudo -S true <<< '{}'", "echo 'root:{}' | chpasswd",
     "machine localhost login me password {}", "default login me password {}",
     "machine a.example.org login me account b password {}", "the password is: {}",
     "$ cat ~/.pgpass\n10.0.0.5:15432:*:me:{}", "postgres:5432:a:me:{}",
     "jdbc:oracle:thin:me/{}@a:1",
     "smbclient //a/b -U me%{}", "lftp -u me,{} a.example.org", "7z x -p{} a.7z",
     "htpasswd -bc .htpasswd me {}", "mc alias set a http://a:9000 me {}",
     "ldapsearch -x -w {} -b a"],
)  # fmt: skip
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_password_that_a_person_made_up_is_hidden_where_it_is_told(text: str, deep: int) -> None:
    told, secret = text.replace("{}", MADE_UP), MADE_UP
    for _ in range(deep):
        told = json.dumps(told)

    assert secret not in hidden(told)


def test_a_password_ends_where_the_next_field_begins_and_where_its_quotes_do() -> None:
    cover = "(redacted)xx"

    assert hidden("password=q7Vd2mK9xR4t&next=1") == f"password={cover}&next=1"
    assert hidden('password="q7Vd2mK9(xR4" if a') == f'password="{cover}" if a'


@pytest.mark.parametrize(
    "text",
    ["total 8\ndrwxr-xr-x 2 {} staff 64 Jan 1 12:00 a\n", "uid=1000({}) gid=100(users)",
     "USER={}\n", "Access: (0644/-rw-r--r--)  Uid: ( 1000/ {})", "ustar  \0{}\0",
     "ustar\x0000{}\0\0", "drwxr-xr-x {}/staff         0 2026-01-01 12:00 a/\n",
     "-rw-r--r-- {}/1000 12 2026-01-01 12:00 a\n", "-rw-r--r--  0 {} staff    12 Jan  1 12:00 a\n"],
)  # fmt: skip
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_a_person_is_known_by_what_a_system_says(text: str, deep: int) -> None:
    text = text.replace("{}", "marianne")
    for _ in range(0 if "ustar" in text else deep):
        text = json.dumps({"a": f"it says\n{text}"})
    data = text.encode()

    assert LOOKER.look(data).people == {b"marianne"}
    assert "marianne" not in hidden(data)


def test_a_long_listing_of_an_archive_is_not_too_crowded_and_tells_each_owner(
    tmp_path: Path,
) -> None:
    rows = (f"-rw-r--r-- {name}/staff {n} 2026-01-01 12:00 a/{n}\n"
            for n in range(20_000) for name in ("marianne", "postgres", "bernhard"))  # fmt: skip
    path, seen = tmp_path / "log", Seen(LOOKER)
    path.write_text("".join(rows))
    seen.see(Stored("log", str(path), path.stat().st_size))
    seen.again()
    shown = covered(path.read_bytes(), seen.spans["log"])

    assert seen.people == {b"marianne", b"bernhard"}
    assert shown.count(b"xxxxxxxx/staff") == 40_000
    assert shown.count(b"postgres/staff") == 20_000
    assert {span.rule for span in seen.spans["log"]} == {"home"}


@pytest.mark.parametrize(
    "text",
    ["drwxr-xr-x {}/{} 0 2026-01-01 a", "drwxr-xr-x a/{} 0 2026-01-01 a", "ustar\x0000{}\0\0",
     "\n{}:x:1000:1000:", "groups=27(sudo),1000({})", "chown -R {}:{} a", "su - {}\n",
     "ssh -l {} a", "whoami\n{}\n", '{"stdout": "{}"}', '{"content":"{}\\n"}',
     "\n{} 12 0.0 0.1 12 5 pts/0", "\n{}  pts/0  a", "12 gpu a {}  R  1:00", "Gid: ( 1000/ {})"],
)  # fmt: skip
def test_a_name_that_is_known_is_hidden_where_a_system_says_it(text: str) -> None:
    looker = Looker(again=(People([b"marianne"]).looked,))
    data = text.replace("{}", "marianne").encode()
    found = looker.look_again(data, 0, len(data)).spans

    assert b"marianne" not in covered(data, found)
    assert not looker.look_again(b"say marianne is it", 0, 18).spans


BESIDE_BYTES: Mapping[str, Callable[[bytes], bytes]] = {
    "msgpack": lambda text: b"\x82\xa4name\xa2me\xa3key\xd9" + bytes([len(text)]) + text + b"\xc0",
    "a protocol buffer": lambda text: b"\x0a\x02me\x12" + bytes([len(text)]) + text + b"\x18\x01",
    "a pickle": lambda text: pickle.dumps({"a": text.decode()}),
    "bytes": lambda text: b"\xff\xd8\0\0" + text + b"\xff\xc3\0",
    "noise": lambda text: random.Random(len(text)).randbytes(900) + b"\0" + text + b"\0\x01\xfe",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("within", BESIDE_BYTES)
def test_a_secret_is_hidden_beside_bytes_that_are_no_text(kind: str, within: str) -> None:
    for seed in range(6):
        one = planted(seed, kind)
        if len(one.text) < 256:
            data = BESIDE_BYTES[within](one.text.encode())
            assert one.secret.encode() not in covered(data, LOOKER.look(data).spans)


SURROUNDED = {
    "coloured": "it is \x1b[01;32m{}\x1b[0m.",
    "coloured by grep": "it is \x1b[m\x1b[K{}\x1b[m\x1b[K.",
    "on a line that was cleared": "it is \x1b[2K\x1b[1G{}\x1b[0K.",
    "behind a cursor that is shown": "it is \x1b[?25h{}\x1b[?25l.",
    "on a cleared line in JSON": '{"a": "\\u001b[2K{}\\u001b[K"}',
    "in JSON of Go": '{"a": "it is \\u003c{}\\u003e"}',
    "behind a quote that is an escape": '{"a": "\\u0022{}\\u0022"}',
    "in JSON of ASCII alone": '{"a": "     1\\u2192{}\\n"}',
    "coloured in JSON": '{"a": "\\u001b[32m{}\\u001b[0m"}',
    "in an address": "https://a.example/?q=a%20{}%20b",
    "coloured by jq": '{"a": "\\u001b[34;1m\\"api_key\\"\\u001b[0m\\u001b[1;39m:\\u001b[0m'
    ' \\u001b[0;32m\\"{}"}',
    "set in an address": "https://a.example/?q=key%3D{}%26b",
}
"""What programs put around a word, so that a letter or a digit stands before it."""


@pytest.mark.parametrize("around", SURROUNDED)
@pytest.mark.parametrize(
    "kind",
    ["openai", "github", "google", "hugging face", "npm", "groq", "nvidia", "slack", "fireworks"],
)
def test_a_token_begins_behind_whatever_programs_put_there(kind: str, around: str) -> None:
    for seed in range(4):
        secret = planted(seed, kind).secret

        assert secret not in hidden(SURROUNDED[around].replace("{}", secret))


@pytest.mark.parametrize(
    "text",
    ["api_key%3D{}", "api_key%22%3A%20%22{}%22", "api_key\\u003d{}",
     "\\u0022api_key\\u0022: \\u0022{}",
     "&quot;api_key&quot;: &quot;{}&quot;", "&#34;api_key&#34;:&#34;{}&#34;", "**API_KEY={}**"],
)  # fmt: skip
def test_a_named_secret_is_hidden_however_its_quotes_are_written(text: str) -> None:
    secret = "q7Vd2mK9xR4tB8wZ1nC6yJ3h"
    assert secret not in hidden(text.replace("{}", secret))


@pytest.mark.parametrize(
    "kind", ["anthropic", "github", "gitlab", "hugging face", "npm", "nvidia", "slack", "openai"]
)
@pytest.mark.parametrize("colours", ["\x1b[m\x1b[K", "\x1b[0m", "\x1b[1m"])
def test_a_token_is_hidden_of_which_the_beginning_is_coloured(kind: str, colours: str) -> None:
    secret = planted(1, kind).secret
    at = secret.index("_" if "_" in secret[:5] else "-") + 1
    text = f"it is \x1b[01;31m\x1b[K{secret[:at]}{colours}{secret[at:]} there"

    assert secret[at + 8 :] not in hidden(text)
    row = json.dumps({"a": text})
    assert secret[at + 8 :] not in hidden(row)
    assert json.loads(hidden(row))["a"].endswith(" there")


@pytest.mark.parametrize("kind", ["github", "google", "hugging face", "npm", "groq", "notion"])
def test_a_token_may_stand_within_a_name(kind: str) -> None:
    secret = planted(1, kind).secret
    assert secret not in hidden(f"mcp__{secret} MY_{secret}")


@pytest.mark.parametrize("around", SURROUNDED)
def test_a_short_value_of_the_list_is_a_word_behind_an_escape(around: str) -> None:
    looker = Looker(Known([Value(b"build7", DENIED)]))
    assert "build7" not in hidden(SURROUNDED[around].replace("{}", "build7"), looker)
    assert "rebuild7" in hidden("it is rebuild7 and rm build7x", looker)


@pytest.mark.parametrize(
    "text",
    ["inet6 2a01:4f8::1/64", "2a01:4f8:0:1:2:3:4:5 a", "12:34:56 2a01:4f8:1::2",
     "\\n2a01:4f8:c17:b0f::2: icmp_seq=1", "2a01:4f8:c17:b0f::2.", "\\n93.184.71.9 a",
     "host=93.184.71.9", "SERVER_ADDR=93.184.71.9", "\x1b[32m93.184.71.9\x1b[0m", "\\nssh 5.9.71.9",
     "a b.smith%40acme-corp.com"],
)  # fmt: skip
def test_an_address_is_hidden_whatever_it_is_followed_by(text: str) -> None:
    assert hidden(text) != text


def test_a_home_in_the_name_of_a_folder_is_hidden_where_nothing_else_tells_it() -> None:
    assert (
        hidden("~/.claude/projects/-home-marianne-work") == "~/.claude/projects/-home-xxxxxxxx-work"
    )
    assert hidden("projects/C--Users-marianne-work") == "projects/C--Users-xxxxxxxx-work"


def test_what_stands_instead_says_so_and_keeps_its_shape() -> None:
    token = planted(1, "anthropic").secret
    mail = "write to maria.anders@siemens.com now"

    assert hidden(f"key {token} end") == f"key (redacted){'x' * (len(token) - 10)} end"
    assert hidden(mail) == "write to xxxxx.xxxxxx@xxxxxxx.xxx now"
    assert hidden("from 93.184.216.34:80") == "from xx.xxx.xxx.xx:80"
    assert hidden("cd /home/maria/x") == "cd /home/xxxxx/x"


@pytest.mark.parametrize("between", ["\n", "\n+", "\n   12\t", "\r\n", "\n> ", "^M$\n"])
@pytest.mark.parametrize("deep", [0, 1, 2])
def test_the_end_of_a_private_key_is_hidden_whose_beginning_was_left_out(
    between: str, deep: int
) -> None:
    lines = [planted(seed, "private key").secret for seed in range(4)]
    text = between.join(["... and so on", *lines, "AbC9==", "-----END RSA PRIVATE KEY-----", "x"])
    for _ in range(deep):
        text = json.dumps(text)

    assert not [line for line in [*lines, "AbC9=="] if line in hidden(text)]
    assert "... and so on" in hidden(text)


def test_the_lines_of_a_private_key_stay_lines() -> None:
    one = planted(3, "private key")
    lines = hidden(one.text).split("\n")
    row = json.dumps({"text": one.text})

    assert (lines[0], lines[2]) == (one.text.split("\n")[0], one.text.split("\n")[2])
    assert json.loads(hidden(row))["text"].count("\n") == one.text.count("\n")


def test_a_value_of_the_list_is_hidden_in_all_its_forms() -> None:
    secret = 'Zürich/42 "q" & more'
    known = Looker(Known([Value(secret.encode(), DENIED)]))
    for piece, form in forms(secret.encode()).items():
        data = b"before " + piece + b" behind"
        spans = known.look(data).spans

        assert [data[span.start : span.end] for span in spans] == [piece], form
        assert {span.rule for span in spans} == {DENIED}


def test_a_short_value_is_hidden_as_a_word_and_never_as_a_number_of_json() -> None:
    known = Looker(Known([Value(b"maria", DENIED), Value(b"4711", DENIED), Value(b"abc", DENIED)]))
    text = '{"user":"maria","n":4711,"list":[4711, 1],"pin":"4711","other":"marianne abc"}'

    assert hidden(text, known) == text.replace('maria"', 'xxxxx"').replace('"4711"', '"xxxx"')


def test_what_one_file_tells_is_found_in_another() -> None:
    one = planted(5, "password")
    found = LOOKER.look(one.text.encode())
    again = Looker(Known(Value(value, SEEN) for value in found.secrets))

    assert found.secrets == {one.secret.encode()}
    assert one.secret in hidden(f"it is {one.secret}, he said")
    assert one.secret not in hidden(f"it is {one.secret}, he said", again)


def test_addresses_of_networks_inside_are_hidden_where_that_is_asked_for() -> None:
    assert hidden("ssh 10.1.2.3", Looker(private=True)) == "ssh xx.x.x.x"
    assert hidden("ping 127.0.0.1", Looker(private=True)) == "ping 127.0.0.1"


def test_every_rule_has_a_title_and_says_whether_it_may_happen() -> None:
    assert all(title(rule.id) == rule.title for rule in RULES if rule.id != "openai-key")
    assert must_not_happen("aws-key")
    assert must_not_happen(DENIED)
    assert not must_not_happen("home")


SOME = st.sampled_from([planted(seed, kind) for seed in range(2) for kind in KINDS])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    | SOME.map(lambda one: one.text),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=8) | SOME.map(lambda one: one.secret), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=150)
@given(JSON, st.booleans(), st.integers(0, 3))
def test_json_stays_json_of_the_same_form(value: object, ascii_only: bool, deep: int) -> None:
    row = json.dumps(value, ensure_ascii=ascii_only)
    for _ in range(deep):
        row = json.dumps({"content": row})
    data = row.encode("utf-8", "surrogatepass")
    shown = covered(data, LOOKER.look(data).spans)

    assert len(shown) == len(data)
    # Two keys may become the same.
    before, after = (json.loads(text, object_pairs_hook=tuple) for text in (data, shown))
    assert _form(after) == _form(before)
    assert covered(shown, LOOKER.look(shown).spans) == shown


def _form(value: object) -> object:
    """Numbers as they are, texts by their lines, objects as pairs."""
    match value:
        case list() | tuple():
            return [_form(held) for held in value]
        case str():
            return value.count("\n")
        case _:
            return value


@settings(max_examples=60)
@given(SOME, st.integers(-3000, 3000), st.integers(0, 400))
def test_where_a_file_is_cut_does_not_matter(one: Planted, away: int, before: int) -> None:
    filling = (FILLING * 400).encode()
    data = filling[: 20_000 + before] + b"\n" + one.text.encode() + b"\n" + filling[:20_000]
    whole = LOOKER.look(data).spans
    cut = 20_000 + before + away
    parts = merged([*LOOKER.look(data, 0, cut).spans, *LOOKER.look(data, cut).spans])

    assert covered(data, parts) == covered(data, whole)
    assert one.secret.encode() not in covered(data, parts)


@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 60), st.sampled_from(list(Form)))
def test_a_cover_is_as_long_as_what_it_covers_and_made_of_pieces(
    data: bytes, start: int, size: int, form: Form
) -> None:
    span = Span(min(start, len(data)), min(start + size, len(data)), "a", form)
    whole = covered(data, [span])
    pieces = [covered(data[at : at + 7], [span], at) for at in range(0, len(data), 7)]

    assert len(whole) == len(data)
    assert b"".join(pieces) == whole
    assert cover(span, b"", 0) == b""


def test_thousands_of_values_are_found_and_none_hides_another() -> None:
    values = [f"sk-{number:06d}-value" for number in range(3000)]
    known = Known(Value(value.encode(), DENIED) for value in values)
    text = " ".join([*values, "sk-00000-sk-000001-value", "sk-999999-value"]).encode()
    found = [text[span.start : span.end].decode() for span in known.found(text, 0, len(text))]

    assert found == [*values, "sk-000001-value"]
