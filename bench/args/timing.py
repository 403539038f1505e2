# SPDX-License-Identifier: BSD-3-Clause
"""Time a call in PHP, with PHP's macros and with hone_args.h.

The two take turns, each turn in a process of its own. Prints medians of all
turns. A star marks calls that coerce.
"""
import argparse
import pathlib
import statistics
import sys

from compilers import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] /
                       "support"))
import report  # noqa: E402 (from bench/support)


def turn(php, module, calls):
    """{case: ns}"""
    script = pathlib.Path(__file__).with_name("time.php")
    lines = run([php, "-n", "-d", f"extension={module}", script, calls])
    return {name: float(ns) for name, ns in
            (line.split("\t") for line in lines.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True,
                        help="where build.sh built")
    parser.add_argument("--php-config", default="php-config")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--calls", type=int, default=30000)
    options = parser.parse_args()
    php = run([options.php_config, "--php-binary"]).strip()
    times = {"stock": [], "hone": []}
    for _ in range(options.turns):
        for style, each in times.items():
            module = (options.work / f"{style}.so").resolve()
            each.append(turn(php, module, options.calls))
    print(", ".join(f"{k} {v}" for k, v in report.machine().items()))
    print(f"PHP {run([options.php_config, '--version']).strip()}, ns a call "
          f"with its loop, medians of {options.turns} turns\n"
          f"{'':28}{'stock':>8}{'hone':>8}{'ratio':>8}")
    short = []
    for case in times["stock"][0]:
        stock, hone = (statistics.median(t[case] for t in times[style])
                       for style in ("stock", "hone"))
        # Ratios of neighbouring turns: a slow phase affects both.
        ratio = statistics.median(b[case] / a[case] for a, b in zip(
            times["stock"], times["hone"]))
        holds = ratio <= (1.15 if case.startswith("*") else 1.02)
        short += [] if holds else [case]
        print(f"{case:28}{stock:8.2f}{hone:8.2f}{ratio:8.2f}  "
              f"{'' if holds else 'short'}")
    print("targets: 1.15 where something is coerced, 1.02 (the noise)",
          f"elsewhere; short: {len(short)}")
    return len(short) > 0


if __name__ == "__main__":
    raise SystemExit(main())
