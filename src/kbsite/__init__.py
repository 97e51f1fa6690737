"""kbsite: run directories in, the leaderboard site out."""

__version__ = "0.1.0"
