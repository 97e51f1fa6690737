"""The patterns of detect-secrets."""

from __future__ import annotations

import subprocess
import sys

from kbsite.redaction.library import patterns
from kbsite.redaction.rules import TOKENS

_LOADED = """
import sys
from kbsite.redaction.library import patterns
for plugin in sys.argv[1:]:
    assert patterns(plugin), plugin
print([name for name in ("requests", "urllib3", "http.client", "ssl") if name in sys.modules])
"""


def test_they_find_what_they_say() -> None:
    found = [one.search(b"id = AKIA" + b"Q7ZT4MXRC2VNB8LD") for one in patterns("aws")]
    assert any(found)


def test_nothing_is_loaded_that_asks_servers() -> None:
    plugins = sorted({rule.library for rule in TOKENS if rule.library})
    assert len(plugins) > 5
    told = subprocess.run(
        [sys.executable, "-c", _LOADED, *plugins], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"
