"""Who audits: the environment, git's files, the user; no program is started for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbsite.auditing.auditor import auditor


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KBSITE_AUDITOR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "owl")


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_environment_says_it_before_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / ".git" / "config", "[user]\n\tname = Git\n")
    monkeypatch.setenv("KBSITE_AUDITOR", "  N. Owl ")

    assert auditor(tmp_path) == "N. Owl"


def test_the_checkout_says_it_before_the_home_and_that_before_the_user(tmp_path: Path) -> None:
    deep = tmp_path / "site" / "runs"
    assert auditor(deep) == "owl"
    written(tmp_path / "home" / ".config" / "git" / "config", "[user]\nname = Config\n")
    assert auditor(deep) == "Config"
    written(tmp_path / "home" / ".gitconfig", "[user]\nname = Home\n")
    assert auditor(deep) == "Home"
    written(tmp_path / "site" / ".git" / "config", "[core]\n\tbare = false\n")
    assert auditor(deep) == "Home"
    written(tmp_path / "site" / ".git" / "config", "[user]\n\tname = Checkout\n")
    assert auditor(deep) == "Checkout"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[user]\n name = Ada  # a comment\n", "Ada"),
        ('[user]\n name = "Ada; B. #1"\n', "Ada; B. #1"),
        ("[USER]\n NAME=Ada\n", "Ada"),
        ("[user]\n name = Ada\n[user]\n name = Bea\n", "Bea"),
        ('[user "work"]\n name = Ada\n', "owl"),
        ("[author]\n name = Ada\n", "owl"),
        ("[user]\n nickname = Ada\n", "owl"),
        ("name = Ada\n", "owl"),
        ("[user]\n name =\n", "owl"),
        ("[user\x00\n\xff", "owl"),
    ],
)
def test_gits_files_are_read_as_git_reads_them(text: str, name: str, tmp_path: Path) -> None:
    written(tmp_path / "home" / ".gitconfig", text)

    assert auditor(tmp_path) == name


def test_a_user_without_a_name_is_no_auditor(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", unknown)

    assert auditor(Path("/")) == ""
