"""What an agent did in its session that its auditor has to know of: commands, files, code."""
