"""What an auditor works with: what to read next, drafts of audits, passages, and their tallies."""
