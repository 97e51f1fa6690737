"""Sandboxes for code that nobody trusts: what a process gets is named, all else is kept from it."""
