"""The trusted side of the grader: secrets, inputs, references, clocks, comparison."""
