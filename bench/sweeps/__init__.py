"""Sweeps: many runs in an order that is fair, on one host or many, until all are there."""
