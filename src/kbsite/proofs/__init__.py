"""Proof of quotes: each passage of an audit held against the lines of the run that it cites."""
