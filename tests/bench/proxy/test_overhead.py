"""The measurement of the proxy's own cost measures both ways, and tells what it measured."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from benchmarks.proxy import Overhead, Way, overhead, table


def test_both_ways_are_measured() -> None:
    held = overhead(3, 1)
    for way in (held.direct, held.proxied):
        assert 0 < way.first_byte <= way.short
        assert way.throughput > 0
    assert held.peak > 10_000_000
    assert held.processor > 0


def test_the_table_says_what_the_proxy_adds() -> None:
    direct = Way(first_byte=0.001, short=0.002, throughput=800.0)
    proxied = Way(first_byte=0.003, short=0.005, throughput=40.0)
    console = Console(width=120, file=StringIO())
    with console.capture() as captured:
        console.print(
            table(Overhead(direct=direct, proxied=proxied, peak=45_000_000, processor=0.02))
        )
    rows = [line.split() for line in captured.get().replace("│", " ").splitlines()]
    assert ["first", "byte", "1.00", "ms", "3.00", "ms", "3.00", "+2.00", "ms"] in rows
    assert ["long", "answer", "800", "MB/s", "40", "MB/s", "0.05"] in rows
    assert ["its", "memory", "at", "most", "45", "MB"] in rows
    assert ["its", "processor", "time", "20.0", "ms/MB"] in rows
