# SPDX-License-Identifier: BSD-3-Clause
"""Count the instructions of a call in PHP, with its loop and its callees.

Runs time.php under callgrind, once with PHP's macros and once with hone_args.h.
The counts are the same on each run. A star marks calls that coerce.
"""
import argparse
import pathlib
import re
import tempfile

from compilers import run

CALLS = 1000
MARK = "zend_memory_peak_usage"  # begins and ends each loop of time.php
LOOPS = 4  # of each case


def totals(php, module):
    """{case: instructions of a call}"""
    script = pathlib.Path(__file__).with_name("time.php")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        lines = run(["valgrind", "-q", "--tool=callgrind",
                     f"--dump-before={MARK}", f"--callgrind-out-file={out}",
                     php, "-n", "-d", f"extension={module}", script, CALLS])
        names = [line.split("\t")[0] for line in lines.splitlines()]
        # A part ends at each mark; each second one is a loop.
        parts = [int(re.search(r"^(?:totals|summary): (\d+)",
                               pathlib.Path(f"{out}.{i + 1}").read_text(),
                               re.M)[1])
                 for i in range(2 * LOOPS * len(names))]
    last = 2 * LOOPS - 1
    return {name: parts[2 * LOOPS * i + last] / CALLS
            for i, name in enumerate(names)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True,
                        help="where build.sh built")
    parser.add_argument("--php-config", default="php-config")
    options = parser.parse_args()
    php = run([options.php_config, "--php-binary"]).strip()
    stock, hone = (totals(php, (options.work / f"{style}.so").resolve())
                   for style in ("stock", "hone"))
    print(f"PHP {run([options.php_config, '--version']).strip()}, "
          "instructions a call with its loop\n"
          f"{'':28}{'stock':>8}{'hone':>8}{'ratio':>8}")
    for case, count in stock.items():
        print(f"{case:28}{count:8.0f}{hone[case]:8.0f}"
              f"{hone[case] / count:8.2f}")


if __name__ == "__main__":
    main()
