"""Whether contenders can start: looked at, and tried, before a night is spent on them."""
