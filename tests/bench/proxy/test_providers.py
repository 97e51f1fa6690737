"""Providers by file: what is shipped, what an operator says instead, what is refused."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from bench.providers import KNOWN, Dialect, Provider, key_of, load_providers
from kbsite.errors import UsageError
from kbsite.store.parsing import InvalidFileError

NAMES = {
    "anthropic", "openai", "google", "moonshot", "openrouter", "dashscope", "zai", "deepseek",
}  # fmt: skip


def written(folder: Path, text: str) -> Path:
    path = folder / "providers.yaml"
    path.write_text(text)
    return path


def test_public_providers_are_known() -> None:
    known = load_providers()
    assert set(known) == NAMES
    for name, provider in known.items():
        assert provider.id == name
        assert provider.key_variable is not None
        assert provider.key_variable.endswith("_API_KEY")
        for dialect in provider.bases:
            assert "." in provider.host(dialect)
            assert provider.bases[dialect].startswith("https://")
    assert "sk-" not in KNOWN.read_text()


def test_a_file_adds_and_says_key_by_key_what_is_different(tmp_path: Path) -> None:
    path = written(tmp_path, """
providers:
  anthropic: {slots: 9}
  openai: {bases: {chat: "http://127.0.0.1:8080"}, headers: {X-Title: kb}}
  own:
    bases: {chat: "http://gpu-box:8000"}
    slots: 2
""")  # fmt: skip
    held, known = load_providers(path), load_providers()
    assert set(held) == NAMES | {"own"}
    assert held["anthropic"].slots == 9
    assert held["anthropic"].bases == known["anthropic"].bases
    assert held["openai"].bases == {
        Dialect.RESPONSES: "https://api.openai.com", Dialect.CHAT: "http://127.0.0.1:8080"
    }  # fmt: skip
    assert held["openai"].headers == {"X-Title": "kb"}
    assert held["own"] == Provider(
        id="own", bases={Dialect.CHAT: "http://gpu-box:8000"}, key_variable=None, slots=2
    )
    assert held["zai"] == known["zai"]


@pytest.mark.parametrize(
    ("entry", "key", "message"),
    [
        ("{slots: 1}", "providers.x", "bases is missing"),
        ("{bases: {chat: ftp://h}}", "providers.x.bases.chat", "expected an address"),
        ("{bases: {chat: 'https://user:pass@h'}}", "providers.x.bases.chat", "expected an address"),
        ("{bases: {chat: 'https://h/?key=1'}}", "providers.x.bases.chat", "expected an address"),
        ("{bases: {chat: 'https://h/#a'}}", "providers.x.bases.chat", "expected an address"),
        ("{bases: {chat: 'https://[h'}}", "providers.x.bases.chat", "expected an address"),
        ("{bases: {chat: 'https://h:99999'}}", "providers.x.bases.chat", "expected an address"),
        ("{bases: {chat: 'https://'}}", "providers.x.bases.chat", "expected an address"),
        ("{bases: {soap: 'https://h'}}", "providers.x.bases.soap", "is no dialect"),
        ("{bases: {chat: 'https://h'}, key_variable: 'sk-secret'}", "providers.x.key_variable",
         "expected the name of a variable"),
        ("{bases: {chat: 'https://h'}, key: abc}", "providers.x.key", "a key itself never"),
        ("{bases: {chat: 'https://h'}, slots: 0}", "providers.x.slots", "got 0"),
        ("{bases: {chat: 'https://h'}, slots: many}", "providers.x.slots", "a whole number"),
        ('{bases: {chat: "https://h"}, note: "a\\nb"}', "providers.x.note", "one line"),
        ("{bases: {chat: 'https://h'}, headers: {Authorization: x}}",
         "providers.x.headers.Authorization", "is set by the proxy"),
        ("{bases: {chat: 'https://h'}, headers: {'a b': x}}", "providers.x.headers.a b",
         "expected a header's name"),
        ('{bases: {chat: "https://h"}, headers: {a: "b\\nc"}}', "providers.x.headers.a",
         "one line"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_key(
    entry: str, key: str, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, f"providers:\n  x: {entry}\n")
    with pytest.raises(InvalidFileError) as caught:
        load_providers(path)
    assert [(one.path, one.key) for one in caught.value.errors] == [(path, key)]
    assert message in str(caught.value)
    assert all(one.line for one in caught.value.errors)
    # Whoever wrote a key into it by mistake does not find it in a log as well.
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "providers: []", "other: {}", "providers: {x: 1}"])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError):
        load_providers(written(tmp_path, text))


def test_an_id_is_a_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="expected an id"):
        load_providers(written(tmp_path, "providers: {'../x': {bases: {chat: 'https://h'}}}"))


PROVIDER = Provider(id="x", bases={}, key_variable="X_KEY")


def test_a_key_is_taken_out_of_the_environment() -> None:
    environment = {"X_KEY": " sk-0123456789\n", "PATH": "/bin"}
    assert key_of(PROVIDER, environment) == "sk-0123456789"
    assert environment == {"PATH": "/bin"}
    assert key_of(Provider(id="x", bases={}, key_variable=None), environment) is None


@pytest.mark.parametrize(
    "value", ["", "  ", "short", "sk-with a space", "sk-über-012345", "sk-a\nb-01"]
)
def test_what_is_no_key_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(UsageError, match="X_KEY") as caught:
        key_of(PROVIDER, {"X_KEY": value})
    assert not value.strip() or value not in str(caught.value)


def test_the_file_that_is_told_is_read_and_each_of_its_keys_is_told(tmp_path: Path) -> None:
    told = (Path(__file__).parents[3] / "docs" / "proxy.md").read_text("utf-8")
    own = told.partition("## A provider of your own")[2].partition("\n## ")[0]
    read = load_providers(written(tmp_path, own.partition("```yaml\n")[2].partition("```")[0]))
    table = re.findall(r"^\| `(\w+)` \|", own, re.M)

    # The scripted server speaks all of them: with one left out, a CLI could not be tried so.
    assert read["ours"].bases == dict.fromkeys(Dialect, "http://127.0.0.1:8911")
    assert table == [one.name for one in fields(Provider) if one.name != "id"]
    assert all(f"`{dialect.value}`" in own for dialect in Dialect)
