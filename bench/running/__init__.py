"""One run: a CLI in a sandbox, watched until it ends or its budget does, and kept on disk."""
