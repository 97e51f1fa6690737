"""CLIs installed in the versions that clis.lock.toml names, below a folder of our own."""
