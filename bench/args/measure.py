# SPDX-License-Identifier: BSD-3-Clause
"""Measure the code of functions with PHP's macros for their arguments, with the
register pairs that were proposed for PHP, and with hone_args.h.

Prints instructions of a call, bytes, and stack protectors, for each compiler of
compilers.py. Exits 1 if a target is missed.
"""
import argparse
import pathlib
import shutil

import emulate
from compilers import FUNCTIONS, STYLES, code, compilers, link, run


def measure(compiler, php, work):
    """{style: {function: (instructions, bytes, protected)}}. The function ''
    has the bytes of the shared code."""
    result = {}
    for style in STYLES:
        obj = work / f"{compiler.machine}-{compiler.command[0]}-{style}.o"
        compiler.build(php, style, obj)
        sizes = code(compiler, obj)
        image, symbols = link(compiler, obj, obj.with_suffix(".flat"))
        rows = {}
        for name in FUNCTIONS:
            symbol = f"zif_args_{name}"
            size, guard = sizes.pop(symbol)
            rows[name] = (emulate.count(compiler.machine, image,
                                        symbols[symbol], name), size, guard)
        shared = [(n, s) for n, s in sizes.items() if n.startswith("hone_")]
        rows[""] = (0, sum(size for _, (size, _) in shared),
                    any(guard for _, (_, guard) in shared))
        result[style] = rows
    return result


def table(compiler, result):
    """Print one compiler's figures."""
    print(f"\n{compiler.name}\n{'':12}{'instructions a call':>26}"
          f"{'bytes':>26}   stack protector")
    print(f"{'':12}" + 2 * (2 * "".ljust(1) + "".join(
        f"{style:>8}" for style in STYLES)) + "   " + " ".join(STYLES))
    for name in [*FUNCTIONS, ""]:
        rows = [result[style][name] for style in STYLES]
        counts = "".join(f"{row[0] or '':>8}" for row in rows)
        sizes = "".join(f"{row[1]:>8}" for row in rows)
        guards = " ".join(("yes" if row[2] else "-").ljust(5) for row in rows)
        print(f"{name or 'shared':12}  {counts}  {sizes}   {guards}")
    totals = [sum(row[1] for row in result[s].values()) for s in STYLES]
    print(f"{'all':12}  {'':24}  " + "".join(f"{t:>8}" for t in totals)
          + f"   hone/stock {totals[2] / totals[0]:.3f}")


def targets(compiler, result):
    """[(what, whether it holds)]"""
    stock, hone = result["stock"], result["hone"]
    out = [("no stack protector", not any(row[2] for row in hone.values())),
           ("no call takes more instructions than with PHP's macros",
            all(hone[n][0] <= stock[n][0] for n in FUNCTIONS)),
           ("text at most 0.5 of PHP's macros",
            sum(row[1] for row in hone.values())
            <= 0.5 * sum(row[1] for row in stock.values()))]
    if compiler.machine == "x86_64":
        out += [("one int: 9 instructions", hone["int"][0] <= 9),
                ("four ints: 17 instructions", hone["int4"][0] <= 17)]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--php-config", default="php-config")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    php = pathlib.Path(run([options.php_config, "--include-dir"]).strip())
    print("PHP", run([options.php_config, "--version"]).strip(),
          "headers; -O2 -fstack-protector-strong; instructions counted by an "
          "emulator,\nfrom the first of the function to its return; bytes "
          "without the filler between functions")
    verdicts = []
    for compiler in compilers():
        if not shutil.which(compiler.command[0]):
            print(f"\n{compiler.name}: skipped, {compiler.command[0]} is not "
                  "installed")
            continue
        result = measure(compiler, php, options.work)
        table(compiler, result)
        verdicts += [(f"{compiler.name}: {what}", holds)
                     for what, holds in targets(compiler, result)]
    print()
    for what, holds in verdicts:
        print(f"{'ok' if holds else 'short':6}{what}")
    return not all(holds for _, holds in verdicts)


if __name__ == "__main__":
    raise SystemExit(main())
