"""The pages of the site: a module for each kind of page, listed in `kinds`."""
