"""Runs held against each other by fingerprints: whose source or score is another one's too."""
