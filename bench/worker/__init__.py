"""The untrusted side of the grader: one file, copied into the sandbox, that runs the solution."""
