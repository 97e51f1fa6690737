"""A registry and an npm of the tests' own: packages are shell scripts, calls are written down."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest

from bench.installing import Lock, Locked

BEFORE = date(2026, 11, 1)

# What stands for npm. It knows what the installer uses of it, and no more.
_NPM = r"""#!{python} -I
import json, os, sys, time
from pathlib import Path

home = Path({home!r})
words = sys.argv[1:]
if words == ["--version"]:
    print("99.9.9")
    sys.exit()
options = dict(word.partition("=")[::2] for word in words if word.startswith("--"))
folder, only = Path(options["--prefix"]), "--package-lock-only" in options
node = os.environ["PATH"].split(os.pathsep)[0]


def log(what, package):
    with (home / "log").open("a") as stream:
        stream.write(json.dumps([what, package, node, options.get("--before")]) + "\n")


known = json.loads((home / "registry.json").read_text())
if only:
    package, _, version = words[-1].rpartition("@")
    log("asked", package)
    (folder / "package.json").write_text(json.dumps({{"dependencies": {{package: version}}}}))
    entry = {{"version": known[package]["version"], "integrity": known[package]["integrity"]}}
    lock = {{"packages": {{"": {{}}, "node_modules/" + package: entry}}}}
    (folder / "package-lock.json").write_text(json.dumps(lock))
    sys.exit()
package = next(iter(json.loads((folder / "package.json").read_text())["dependencies"]))
log("begun", package)
time.sleep(known[package]["seconds"])
for name, text in known[package]["files"].items():
    path = folder / "node_modules" / package / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
log("ended", package)
if known[package]["fails"]:
    sys.exit("npm error: " + known[package]["fails"])
"""

NODE_SCRIPT = '#!/bin/sh\n[ "$1" = --version ] && echo v1.0.0 && exit\nexec /bin/sh "$@"\n'


def says(words: str) -> str:
    """A program that prints words when asked for its version, and else nothing."""
    return f'#!/bin/sh\ncase "$*" in *--version) echo "{words}";; esac\n'


@dataclass
class Registry:
    """Packages, by name, and the npm that has them."""

    home: Path
    packages: dict[str, dict[str, object]] = field(default_factory=dict)

    def add(self, package: str, files: dict[str, str], version: str = "1.0.0") -> None:
        """Publish a package."""
        self.packages[package] = {
            "version": version, "integrity": f"sha512-{package}", "files": files, "fails": "",
            "seconds": 0,
        }  # fmt: skip
        self.write()

    def change(self, package: str, **values: object) -> None:
        """Make something else of a package."""
        self.packages[package].update(values)
        self.write()

    def write(self) -> None:
        """Let npm know of it."""
        (self.home / "registry.json").write_text(json.dumps(self.packages))

    def calls(self) -> list[tuple[str, str, str, str]]:
        """What npm was called for: asked, begun or ended, the package, the first folder of PATH,
        and the day that was given."""
        path = self.home / "log"
        rows = path.read_text().splitlines() if path.exists() else []
        return [tuple(json.loads(row)) for row in rows]


def registry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """An npm on PATH, and packages `node`, `alpha` and `beta`, which runs on Node."""
    programs = folder / "programs"
    programs.mkdir()
    npm = programs / "npm"
    npm.write_text(_NPM.format(python=sys.executable, home=str(folder)))
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    made = Registry(folder)
    made.add("node", {"bin/node": NODE_SCRIPT})
    made.add("@team/alpha", {"bin/alpha-linux": says("alpha 1.0.0")})
    made.add("beta", {"cli.js": says("1.0.0")})
    return made


def locked(name: str, package: str, prints: str, *command: str) -> Locked:
    """An entry of a lock file."""
    return Locked(
        id=name, source="npm", package=package, version="1.0.0", prints=prints, command=command,
        integrity=f"sha512-{package}",
    )  # fmt: skip


def lock(*more: Locked) -> Lock:
    """A lock file with the packages of `registry`."""
    entries = [
        locked("node", "node", "v1.0.0", "./node_modules/node/bin/node"),
        locked("alpha", "@team/alpha", "alpha 1.0.0", "./node_modules/@team/alpha/bin/alpha-*"),
        locked("beta", "beta", "1.0.0", "node", "./node_modules/beta/cli.js", "--fast"),
        *more,
    ]
    return Lock(before=BEFORE, clis={one.id: one for one in entries})
