"""`kbsite check`."""

from __future__ import annotations

import click
