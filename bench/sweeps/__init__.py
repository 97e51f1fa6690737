"""Sweeps: contenders x problems x attempts, on a ledger that survives whoever works on it.

The ledger and the disk are the truth; drivers and executors can be killed at any time. `sheet` is
the file that a person writes, `cells` what it asks for, `states` what can become of a cell,
`ledger` where that is kept, `shelf` what lies on disk, `driver` what brings both together.
"""
