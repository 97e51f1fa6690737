"""What holds of every adapter: runner, site and installing know a CLI by the same names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from bench.harnesses import ADAPTERS
from bench.harnesses.form import (
    DUMMY_KEY,
    Adapter,
    Asked,
    Kept,
    Launch,
    Said,
    by_id,
)
from bench.installing import read_lock
from bench.providers import Dialect
from kbsite.errors import UsageError
from kbsite.harnesses import BY_ID
from kbsite.harnesses.form import matches
from tests.bench.harnesses.captured import PROMPT, URL, asked

RUNNERS = {"HOME", "PATH", "TMPDIR", "LANG", "TERM", "NO_COLOR", "CI"}
PROMPT_IN_ARGUMENTS = {"kimi-code"}
"""CLIs that take a prompt in no other way."""
SIDE_FILES = re.compile(r"(/|^)(tool-results|tool-outputs?|tasks)/")
"""Folders of long outputs, which belong to a transcript and are read by no parser."""


@pytest.fixture(name="adapter", params=ADAPTERS, ids=lambda one: one.id)
def _adapter(request: pytest.FixtureRequest) -> Adapter:
    adapter: Adapter = request.param
    return adapter


def every(adapter: Adapter) -> list[Asked]:
    """A session in each dialect, and one with each effort."""
    plain = [asked(dialect) for dialect in adapter.dialects]
    return [*plain, *(replace(plain[0], effort=one) for one in adapter.efforts)]


def words(launch: Launch) -> str:
    return "\n".join(launch.command)


def test_ids_are_those_of_the_lock_file() -> None:
    assert set(by_id(ADAPTERS)) <= set(read_lock().clis)
    assert len(by_id(ADAPTERS)) == len(ADAPTERS)


def test_its_id_is_known_to_the_site(adapter: Adapter) -> None:
    assert adapter.id in BY_ID


def test_it_speaks_a_known_dialect_and_names_each_once(adapter: Adapter) -> None:
    assert adapter.dialects
    assert len(set(adapter.dialects)) == len(adapter.dialects)
    assert all(isinstance(one, Dialect) for one in adapter.dialects)
    assert len(set(adapter.efforts)) == len(adapter.efforts)


def test_it_recognises_what_the_locked_version_prints(adapter: Adapter) -> None:
    locked = read_lock().clis[adapter.id]

    assert adapter.recognises(f"{locked.prints}\n") == locked.version
    for other in ("", "no version", "bash, version 5", f"error: {locked.version} is too old"):
        assert adapter.recognises(other) is None


def test_starting_it_is_the_same_each_time(adapter: Adapter) -> None:
    for one in every(adapter):
        assert adapter.launch(one) == adapter.launch(one)


def test_neither_prompt_nor_key_is_on_the_command_line(adapter: Adapter) -> None:
    for one in every(adapter):
        launch = adapter.launch(one)
        assert DUMMY_KEY not in words(launch)
        if adapter.id not in PROMPT_IN_ARGUMENTS:
            assert PROMPT.strip() not in words(launch)
            assert PROMPT.encode() in launch.stdin


def test_the_prompt_is_given_once_and_to_the_letter(adapter: Adapter) -> None:
    given = adapter.launch(asked(adapter.dialects[0]))
    held = [given.stdin, *(word.encode() for word in given.command), *given.files.values()]

    assert sum(one.count(PROMPT.encode()) for one in held) == 1


def test_all_that_it_asks_goes_to_the_proxy(adapter: Adapter) -> None:
    for one in every(adapter):
        launch = adapter.launch(one)
        held = [words(launch), *launch.environment.values()]
        held += [data.decode() for data in launch.files.values()]
        told = [url for text in held for url in re.findall(r"https?://[^\s\"']+", text)]
        named = {url for url in told if not url.startswith(URL)}
        assert any(url.startswith(URL) for url in told)
        assert named <= {"https://opencode.ai/config.json"}, "a schema's name, asked by nobody"


def test_variables_have_names_and_are_not_the_runners(adapter: Adapter) -> None:
    for one in every(adapter):
        environment = adapter.launch(one).environment
        assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", name) for name in environment)
        assert not RUNNERS & set(environment)
        assert all(value and "\0" not in value for value in environment.values())


def test_its_files_stay_in_the_home(adapter: Adapter) -> None:
    for one in every(adapter):
        for path in adapter.launch(one).files:
            assert isinstance(path, PurePosixPath)
            assert not path.is_absolute()
            assert ".." not in path.parts


def test_the_model_is_named(adapter: Adapter) -> None:
    for one in every(adapter):
        launch = adapter.launch(replace(one, model="a-model-of-its-own"))
        held = [words(launch), *launch.environment.values()]
        held += [data.decode() for data in launch.files.values()]
        assert any("a-model-of-its-own" in text for text in held)


def test_every_effort_changes_how_it_is_started(adapter: Adapter) -> None:
    launches = [adapter.launch(one) for one in every(adapter)[len(adapter.dialects) :]]

    assert all(one != two for i, one in enumerate(launches) for two in launches[:i])


def test_what_it_has_not_is_refused(adapter: Adapter) -> None:
    foreign = [one for one in Dialect if one not in adapter.dialects]
    for dialect in foreign:
        with pytest.raises(UsageError, match=adapter.id):
            adapter.launch(asked(dialect))
    with pytest.raises(UsageError, match="effort"):
        adapter.launch(asked(adapter.dialects[0], effort="as much as you can"))


def kept_at(kept: Kept) -> str:
    """Where a file that fits a glob comes to lie in transcript/."""
    path = kept.glob.replace("**/", "some/deep/").replace("*", "x")
    assert matches(path, kept.glob)
    assert path.startswith(kept.below)
    return f"{kept.to}/{path.removeprefix(kept.below).lstrip('/')}"


def test_kept_logs_lie_where_the_site_looks_for_them(adapter: Adapter) -> None:
    globs = [glob for form in BY_ID[adapter.id].FORMATS for glob in form.globs]
    logs = [kept for kept in adapter.kept if not SIDE_FILES.search(kept.glob)]
    read = [kept for kept in logs if any(_meet(kept, glob) for glob in globs)]

    assert read or adapter.extract
    if adapter.extract:
        assert any(matches(adapter.extract.to, glob) for glob in globs)


def _meet(kept: Kept, glob: str) -> bool:
    """Whether some file that a glob of the site's fits is one that is kept."""
    for deep in ("", "one/", "one/two/", "subagents/"):
        for name in ("x", "agent-x", "rollout-x"):
            path = glob.replace("**/", deep).replace("*", name)
            inside = path.removeprefix(f"{kept.to}/")
            if inside != path and matches(kept.below + inside, kept.glob):
                return True
    return False


def test_kept_files_stay_in_the_transcript(adapter: Adapter) -> None:
    for kept in adapter.kept:
        for path in (PurePosixPath(kept.glob), PurePosixPath(kept_at(kept))):
            assert not path.is_absolute()
            assert ".." not in path.parts


def test_it_says_what_is_unfair_in_sentences(adapter: Adapter) -> None:
    assert adapter.unfair
    assert all(one.endswith(".") and one[0].isupper() for one in adapter.unfair)


def test_an_empty_transcript_is_no_completion(adapter: Adapter, tmp_path: Path) -> None:
    assert adapter.completion(tmp_path).said is Said.NOTHING


def test_a_link_is_not_followed(adapter: Adapter, tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_text(
        '{"type":"result","is_error":false,"subtype":"success","status":"success",'
        '"terminal_reason":"completed"}\n{"type":"turn.completed"}\n'
    )
    folder = tmp_path / "transcript"
    folder.mkdir()
    (folder / "stdout.jsonl").symlink_to(good)

    assert adapter.completion(folder).said is Said.NOTHING
