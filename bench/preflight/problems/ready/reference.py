"""What check.py compares with; nobody is to run it."""


def solve(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b
