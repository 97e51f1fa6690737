"""What others made, turned into run directories: one module each, called by `kbsite import`."""
