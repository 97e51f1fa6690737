"""The wheel carries what it needs, and builds a site where no checkout is."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import MakeRun, MakeSettings

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out), "."]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    return next(out.glob("*.whl"))


def test_the_wheel_holds_every_template_and_static_file(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        f"kbsite/{path.relative_to(ROOT).as_posix()}"
        for folder in ("templates", "static")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }

    assert expected <= held
    assert "bench/__init__.py" in held
    assert "kbsite/alarms/caught.json" in held
    assert "kbsite/exploits.json" in held
    assert "bench/hardware/h200-sxm.yaml" in held
    assert not {name for name in held if name.startswith(("tests/", "runs/", "site/"))}


def test_the_wheel_builds_a_site_where_no_checkout_is(
    wheel: Path, tmp_path: Path, make_settings: MakeSettings, make_run: MakeRun
) -> None:
    make_settings(tmp_path / "mine")
    make_run(tmp_path / "mine" / "runs" / "demo")
    # The dependencies are those of this environment: only kbsite itself comes from the wheel,
    # whatever PYTHONPATH says (-E).
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    site = subprocess.run(
        [python, "-E", "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    zipfile.ZipFile(wheel).extractall(site)
    here = next(path for path in sys.path if path.endswith("site-packages"))
    code = f"import sys; sys.path.append({here!r}); from kbsite.cli import main; main()"
    done = subprocess.run(
        [python, "-E", "-c", code, "build"],
        cwd=tmp_path / "mine", capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    where = subprocess.run(
        [python, "-E", "-c", "import kbsite; print(kbsite.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert where.startswith(site)
    assert (tmp_path / "mine" / "site" / "demo" / "index.html").is_file()
