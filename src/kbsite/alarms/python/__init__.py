"""Detectors of what solution.py and its Python sidecars do, by their syntax trees; nothing runs."""
