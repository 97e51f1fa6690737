"""Write what the detectors of alarms catch as the table that the site publishes.

    python scripts/alarm_table.py

It shows every fixture and every honest kernel of tests/alarms to them, and writes
src/kbsite/alarms/caught.json: the same bytes for the same cases and detectors.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from kbsite.store.writing import write_text  # noqa: E402
from tests.alarms.cases import FIXTURES, HONEST, outcomes, table_text  # noqa: E402

CAUGHT = ROOT / "src" / "kbsite" / "alarms" / "caught.json"


def main() -> None:
    """Write the table, and say what is in it."""
    with TemporaryDirectory() as scratch:
        fixtures = outcomes(FIXTURES, Path(scratch) / "fixtures")
        honest = outcomes(HONEST, Path(scratch) / "honest")
    write_text(CAUGHT, table_text(fixtures, honest))
    missed = [one.case.name for one in fixtures if not one.caught]
    flagged = [one.case.name for one in honest if one.highest and one.highest.weight]
    sys.stdout.write(
        f"{len(fixtures) - len(missed)} of {len(fixtures)} caught, "
        f"{len(flagged)} of {len(honest)} honest ones flagged\n"
    )
    for name in missed:
        sys.stdout.write(f"missed {name}\n")
    for name in flagged:
        sys.stdout.write(f"flagged {name}\n")


if __name__ == "__main__":
    main()
