# SPDX-License-Identifier: BSD-3-Clause
"""Write docs/benchmarks.md from the kept runs."""
import cases
import kept
import pages_args
import pages_cache
import pages_convert
import tables

INTRO = """# Benchmarks

<!-- Made by ./dev plot from bench/results: do not edit. -->

Every number on this page comes from a kept run in
[bench/results](../bench/results). `./dev plot` makes this page and its chart
from the runs, and `./dev check` fails if the page is not up to date.

![Speed of each part over its best rival: the median and the slowest case of each
machine](chart-parts.svg)

- **Best rival** is the fastest of all rivals in the same case on the same
  machine. The rivals differ from case to case.
- **The ratio** is the speed of libhone over the speed of the best rival.
  `2.00x` is twice as fast. **0.80x**, in bold, is 0.80 times its speed: slower.
- A figure is the median of interleaved repetitions. A repetition of a C
  program during which its thread was switched out is thrown away.
- A difference of 3 % or less counts as none: two runs of one program differ by
  as much.
- A peak of memory is at least that of the benchmark when it starts the tool:
  19 to 24 MB.
- The machines are virtual, and each run has a command, a date and a commit. A
  dash stands for what a run did not measure.

To make the runs again: `./dev bench PART --json FILE`. To see all subjects of
a kept run: `bench/support/report.py --load FILE`.
"""


def markdown(header, body, numbers=True):
    """A table: the first column is text, and so are the others unless they
    are numbers."""
    align = ["---"] + ["--:" if numbers else "---"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(row) + " |"
                     for row in [header, align, *body])


def machines(runs):
    """The table of machines."""
    body = []
    for key, machine in kept.MACHINES.items():
        abouts = [of[key].about for of in runs.values() if key in of]
        if abouts:
            body.append([machine.name, machine.cpu, str(abouts[0]["cpus"]),
                         machine.caches])
    header = ["name", "CPU", "vCPUs", "L1, L2, L3"]
    return (f"## Machines\n\n{markdown(header, body, False)}\n\n"
            "All run Debian 12 with Linux 6.18, GCC 12.2 and glibc 2.36.\n")


def overview(runs):
    """How many cases are faster and slower, and the slowest of each run."""
    body = []
    for part, of in runs.items():
        for run in of.values():
            found = run.results()
            faster, same, slower = (
                sum(kept.verdict(r.ratio) == v for r in found)
                for v in ("faster", "same", "slower"))
            worst = found[0]
            body.append([
                f"{part}, {kept.MACHINES[run.machine].name}",
                str(len(found)), str(faster),
                str(same),
                f"**{slower}**" if slower else "0",
                f"{found[len(found) // 2].ratio:.2f}",
                f"{kept.times(worst.ratio)}: "
                f"{cases.describe(part, worst.case)}, beside "
                f"{cases.NAMES[worst.rival]}"])
    header = ["part, machine", "cases", "faster", "within 3 %", "slower",
              "median ratio", "slowest case"]
    return ("## All cases, and the slowest\n\nEvery case of every part counts "
            "here, also those that the tables below leave\nout. A case counts "
            "with the policy or the call that is meant for it: rows below "
            "show\nwhat another one costs, as STREAM of data that is then read "
            "as a list.\n\n"
            f"{markdown(header, body, False)}\n")


def sides(part, row):
    """(subject, rivals) of a row."""
    if row.subject:
        return row.subject, row.rivals
    return next(iter(cases.comparisons(part, row.case)))


def cells(run, row):
    """What one run has of a row: libhone, its best rival, the ratio."""
    result = run.compare(row.case, *sides(run.part, row))
    if not result:
        return ["–", "–", "–"]
    unit = True if kept.rate(run.part) else None
    return [kept.shown(run.part, result.ns, unit),
            kept.shown(run.part, result.rival_ns, unit) +
            ("" if run.part == "php" else f", {cases.NAMES[result.rival]}"),
            kept.times(result.ratio)]


def table(part, runs, wanted):
    """One table of a part."""
    header = ["case"]
    for machine in runs:
        header += [kept.MACHINES[machine].name, "best rival", "ratio"]
    body = [[row.label or cases.describe(part, row.case)] +
            [cell for run in runs.values() for cell in cells(run, row)]
            for row in wanted.rows]
    title = f"### {wanted.title}\n\n" if wanted.title else ""
    note = f"{wanted.note}\n\n" if wanted.note else ""
    return f"{title}{note}{markdown(header, body)}\n"


def section(part, runs):
    """One part: its runs, its tables."""
    what, reasons = tables.ABOUT[part]
    lines = [f"- {kept.MACHINES[machine].name}: `{run.command}`, "
             f"{run.about['date']}, commit {run.about['commit']} "
             f"([run](../bench/results/{run.path.name}))"
             for machine, run in runs.items()]
    return "\n".join([f"## {part}: {what}\n", *lines,
                      f"- Why it is so: {reasons}\n"] +
                     [table(part, runs, wanted)
                      for wanted in tables.TABLES[part]] +
                     (pages_cache.objects(markdown, runs) +
                      pages_cache.instructions(markdown, runs)
                      if part == "cache" else []) +
                     pages_cache.hits(markdown, runs) +
                     pages_cache.missed(runs))


def benchmarks(runs):
    """The whole page."""
    return "\n".join([INTRO, machines(runs), overview(runs)] +
                     [section(part, of) for part, of in runs.items()] +
                     [pages_args.section(markdown)] +
                     pages_convert.section(markdown) +
                     pages_convert.clouds_section(markdown) +
                     pages_convert.reach_section(markdown))
