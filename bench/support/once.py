#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run every benchmark of a program for one turn. Exits 1 if a benchmark gave a
wrong answer, or if none ran."""
import json
import subprocess
import sys

run = subprocess.run(
    [sys.argv[1], "--benchmark_min_time=0", "--benchmark_format=json",
     # Left out: cases of hundreds of megabytes. ./dev bench runs them.
     "--benchmark_filter=-512M|256M|1G"],
    stdout=subprocess.PIPE, check=True)
results = json.loads(run.stdout)["benchmarks"]
wrong = [r for r in results if r.get("error_occurred")]
for r in wrong:
    print(f"{r['name']}: {r['error_message']}")
print(f"{len(results)} benchmarks ran, {len(wrong)} gave a wrong answer")
sys.exit(1 if wrong or not results else 0)
