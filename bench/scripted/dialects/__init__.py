"""The APIs that the scripted server speaks, one module each."""

from __future__ import annotations

from typing import Final

from bench.scripted.dialects.anthropic import Anthropic
from bench.scripted.dialects.chat import Chat
from bench.scripted.dialects.form import Frame, Speech, Target
from bench.scripted.dialects.gemini import Gemini
from bench.scripted.dialects.responses import Responses

__all__ = ["SPEECHES", "Frame", "Speech", "Target"]

SPEECHES: Final[tuple[Speech, ...]] = (Anthropic(), Responses(), Chat(), Gemini())
"""All of them; a path belongs to the first that knows it."""
