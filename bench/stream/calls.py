#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the system calls of a turn of each subject of the stream benchmark.

strace counts the calls of some turns and of twice as many. The difference is
that of the turns, without the start. ping-8K is left out: its echo makes calls
too.
"""
import argparse
import collections
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] /
                       "support"))
import report  # noqa: E402 (from bench/support)

TURNS = {"files-10000": 1, "fresh-1G": 0, "ping-8K": 0}
USUALLY = 200
# Fewer calls a turn than this are rare calls of the heap, not of a turn.
FEWEST = 0.05


def counted(program, turns, case, subject):
    """System call -> count of strace."""
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as table:
        subprocess.run(
            ["strace", "-f", "-q", "-c", "-o", table.name, program, "--turns",
             str(turns), case, subject],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        calls = collections.Counter()
        for line in table.read().splitlines():
            fields = line.split()
            if len(fields) >= 5 and fields[3].isdigit():
                calls[fields[-1]] = int(fields[3])
        calls.pop("total", None)
    return calls


def per_turn(program, case, subject):
    turns = TURNS.get(case, USUALLY)
    # The first turns of a program also load and warm up.
    calls = counted(program, 2 * turns, case, subject)
    calls.subtract(counted(program, turns, case, subject))
    found = {name: round(n / turns, 1) for name, n in calls.most_common()}
    return {name: n for name, n in found.items() if n >= FEWEST}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path,
                        help="a build folder with benchmarks")
    parser.add_argument("--json", type=pathlib.Path,
                        help="write the results to this file")
    parser.add_argument("--filter", default="",
                        help="run only cases with this in their name")
    options = parser.parse_args()
    if not shutil.which("strace"):
        sys.exit("strace is not installed")
    program = options.build / "bench" / "stream" / "stream_bench"
    table = {}
    print(f"{'case':13}{'subject':22}{'calls':>9}  of a turn")
    for case, subjects in report.cases_of(program).items():
        if options.filter not in case or TURNS.get(case) == 0:
            continue
        for subject in subjects:
            calls = per_turn(program, case, subject)
            table.setdefault(case, {})[subject] = calls
            print(f"{case:13}{subject:22}{sum(calls.values()):9g}  " +
                  ", ".join(f"{name} {n:g}" for name, n in calls.items()),
                  flush=True)
    if options.json:
        report.save(options.json,
                    {"machine": report.machine(), "calls": table})


if __name__ == "__main__":
    main()
