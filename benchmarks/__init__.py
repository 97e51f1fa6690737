"""Comparisons with other programs that make pages of transcripts; not part of what is installed."""
