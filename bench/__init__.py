"""The half that starts processes: agents, sandboxes, the grader. Importing it needs no torch."""
