# SPDX-License-Identifier: BSD-3-Clause
"""The part of docs/benchmarks.md about hone_args.h, from what `./dev bench
args` prints: bench/results/args-MACHINE-DATE.txt."""
import re

import kept

COMPILER = re.compile(r"^(\w.*, (?:GCC|Clang|mingw-w64))$")
FUNCTION = re.compile(r"^(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ")
TOTAL = re.compile(r"^all +(\d+) +(\d+) +(\d+) +hone/stock ([\d.]+)")
NUMBER = r" +(\d+\.\d\d)"
TIME = re.compile(rf"^(\*? ?\w.*?){NUMBER}{NUMBER}{NUMBER}(?: |$)")


def parse(text):
    """(compiler -> what it says, [(call, stock ns, hone ns, ratio)])"""
    compilers, calls, compiler = {}, [], None
    for line in text.splitlines():
        title = COMPILER.match(line)
        row, total = FUNCTION.match(line), TOTAL.match(line)
        time = TIME.match(line)
        if title:
            compiler = compilers.setdefault(title[1], {})
        elif row and compiler is not None:
            compiler[row[1]] = row[2], row[4]
        elif total:
            compiler["all"] = total[1], total[3], total[4]
        elif time:
            calls.append(time.groups())
    return compilers, calls


def ratio(hone_over_stock):
    """As the other tables have it: above 1 if libhone is faster."""
    return kept.times(1 / float(hone_over_stock))


def section(markdown):
    """The section; markdown(header, rows) makes a table."""
    path = sorted(kept.RESULTS.glob("args-*.txt"))[-1]
    machine, date = re.fullmatch(r"args-(.+)-(\d{4}-\d\d-\d\d)\.txt",
                                 path.name).groups()
    compilers, calls = parse(path.read_text())
    code = [[name, *(f"{found[f][0]} → {found[f][1]}"
                     for f in ("int", "int4", "substr", "object")),
             f"{found['all'][0]} → {found['all'][1]}", found["all"][2]]
            for name, found in compilers.items()]
    time = [[call.replace("* ", ""), stock, hone, ratio(of)]
            for call, stock, hone, of in calls]
    return "\n".join([
        "## args: arguments of PHP functions in C, PHP's macros and "
        "`hone_args.h`\n",
        f"- {kept.MACHINES[machine].name}: `./dev bench args`, {date} "
        f"([run](../bench/results/{path.name}))",
        "- Why it is so: [reasons and limits](design/args.md)\n",
        "### Instructions of a call, and bytes of eleven functions\n",
        "From PHP's macros to `hone_args.h`. Instructions are counted by an "
        "emulator.\n",
        markdown(["compiler", "one int", "four ints", "substr", "object",
                  "bytes", "ratio of bytes"], code) + "\n",
        "### Time of a call\n",
        "ns a call with its loop. A call \"from\" something converts an "
        "argument.\n",
        markdown(["call", "PHP's macros", "hone_args.h", "ratio"], time),
        ""])
