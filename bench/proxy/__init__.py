"""The proxy between a CLI and its provider: the only way out of a sandbox, and the meter."""
