def solve(a, b):
    """The sum of two numbers: naïve ✓"""
    return a + b
