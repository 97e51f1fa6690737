"""The only code that knows file names and keys: files to records, and records to files."""
