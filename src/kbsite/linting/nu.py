"""HTML held against its standard by the Nu Html Checker, the W3C's: a program in Java.

It is not part of kbsite (32 MB, and Java): `npm install vnu-jar` brings it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kbsite.errors import MachineError
from kbsite.model.finding import Finding, Severity

_POLICY = re.compile(r"Content Security Policy")
"""From disk nothing is of a page's own origin, so it takes 'self' for nothing; `policy` knows."""
_STYLE = re.compile(r"CSS: ")
"""It knows neither container queries nor `::highlight()`, and no division by a custom property."""
_ADVICE = re.compile(r"Section lacks heading")
"""Parts of a transcript are sections that scripts fill: a list that goes on, with no title."""
_OF_TEXTS = re.compile(r"The heading .* follows the heading")
"""Levels of headings within texts of runs are those of their writers."""
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Half of the processor's time, for tens of pages and for hundreds."""
SECONDS = 3600


def nu_findings(folder: Path, jar: Path) -> Iterator[Finding]:
    """What the checker says of each page: errors and warnings of its own.

    MachineError where it cannot be run.
    """
    java = shutil.which("java")
    if java is None:
        raise MachineError("--nu needs Java; install it, for example the package default-jre")
    asked = [*_QUICK, "-Xss4m", "-jar", str(jar.absolute()), "--format", "json", "--stdout"]
    asked += ["--exit-zero-always", "--skip-non-html", str(folder.absolute())]
    try:
        done = subprocess.run(  # noqa: S603 - the operator names the program
            [java, *asked], capture_output=True, timeout=SECONDS, check=False
        )
        told = json.loads(done.stdout)["messages"]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        message = f"{jar}: the checker told nothing that can be read: {error}"
        raise MachineError(f"{message}; install it anew with: npm install vnu-jar") from error
    for one in told:
        finding = _finding(folder.absolute(), one)
        if finding:
            yield finding


def _finding(folder: Path, told: dict[str, object]) -> Finding | None:
    message = str(told.get("message", ""))
    place = Path(unquote(urlsplit(str(told.get("url", ""))).path, errors="surrogateescape"))
    name = place.relative_to(folder).as_posix() if place.is_relative_to(folder) else str(place)
    line = told.get("lastLine")
    own = line if isinstance(line, int) else None
    if (
        _POLICY.search(message)
        or _STYLE.match(message)
        or _ADVICE.match(message)
        or (told.get("type") == "info" and not told.get("subType"))
    ):
        return None
    wrong = told.get("type") in ("error", "non-document-error") and not _OF_TEXTS.match(message)
    severity = Severity.ERROR if wrong else Severity.WARNING
    return Finding(severity, name, f"{message} Expected HTML by its standard.", own, "html")
