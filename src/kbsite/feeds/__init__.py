"""What other programs read of a site: tables, feeds and cards, made of records; pure."""
