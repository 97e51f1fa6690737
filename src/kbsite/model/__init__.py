"""What kbsite knows, as frozen records. Imports nothing but the standard library."""
