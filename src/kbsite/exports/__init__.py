"""A run as files for other programs: a trajectory in ATIF, and Markdown for people and agents.

Pure: from a transcript and what is recorded of its run to text, the same bytes every time.
"""
