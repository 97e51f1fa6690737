"""A file of hardware for tests to start from and to spoil."""

CARD = """name: Card
vendor: Maker
architecture: First
aliases: [CARD 1, Card One]
unit: SM
units: {value: 50, source: sheet}
boost_mhz: {value: 2000, source: sheet}
maximum_mhz: {value: 2500, source: sheet}
l2_mb: null
dram_gb: {value: 80, source: sheet}
dram_gb_per_second: {value: 1000, source: sheet, note: As rounded there.}
power_watts: {value: 300, source: sheet}
peaks:
  - {format: fp32, tflops: 25.6, per_clock: 256, source: sheet}
  - {format: fp16, accumulate: fp32, tflops: 51.2, per_clock: 512, source: sheet}
  - {format: fp16, accumulate: fp16, tflops: 51.2, per_clock: 512, source: sheet}
  - {format: bf16, tflops: 102.4, per_clock: 1024, source: sheet}
lacks: [tf32, fp8, fp4, int8]
sources:
  sheet:
    title: The sheet
    url: https://a.example/sheet
    looked_up: 2026-11-21
notes: []
"""
