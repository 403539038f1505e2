# SPDX-License-Identifier: BSD-3-Clause
"""Write docs/benchmarks.md from the kept runs."""
import cases
import kept
import pages_args
import pages_cache
import pages_convert
import tables

MADE = "<!-- Made by ./dev plot from bench/results: do not edit. -->"
INTRO = f"""# Benchmarks

{MADE}

Every number comes from a kept run in [bench/results](../bench/results). `./dev plot`
makes this page, the pages of the parts and the charts from the runs, and `./dev check`
fails if one is not up to date.

- **Best rival** is the fastest of all rivals in the same case on the same machine.
- **The ratio** is the speed of hone over that of the best rival. `2.00x` is twice as
  fast. **0.80x**, in bold, is 0.80 times its speed: slower.
- A difference of 3 % or less is not counted: two runs of one program differ by as
  much.
- Figures are medians of interleaved runs on virtual machines. Each run has a command,
  a date and a commit. A dash stands for what a run did not measure.
- `./dev bench` takes the rivals of Debian sid, in a chroot; with `--rivals debian12`
  those of Debian 12. Each rival runs with the fastest of several sets of flags.

**What was wrong here before 2026-11-29.** This page said that a compressed qcow2 image
takes 12.6 s with hone, and 106.6 s with the best settings of `qemu-img`. But `qemu-img` ran
without `-W`, so it compressed on one core, and the targets were compared with this time. The
rivals were those of Debian 12, of 2022, which the page did not state. Rows of that time
without `-W` now have no ratio.
"""

SPEED = """![Speed over the best rival: the median and the slowest case of each
machine](chart-parts.svg)
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
            "All run Debian 12 with Linux 6.18, GCC 12.2 and glibc 2.36. A run "
            "with rivals of\nDebian sid names them, and the compilers, on its "
            "page.\n")


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
                f"[{part}](benchmarks/{part}.md), "
                f"{kept.MACHINES[run.machine].name}",
                str(len(found)), str(faster),
                str(same),
                f"**{slower}**" if slower else "0",
                f"{found[len(found) // 2].ratio:.2f}",
                f"{kept.times(worst.ratio)}: "
                f"{cases.describe(part, worst.case)}, beside "
                f"{cases.NAMES[worst.rival]}"])
    header = ["part, machine", "cases", "faster", "within 3 %", "slower",
              "median ratio", "slowest case"]
    return markdown(header, body, False)


# What has to be known of a run.
NOTES = {"copy-emerald-rapids-2026-11-29.json":
         "Another program, of low priority, kept the second CPU busy."}

LIBRARY = ("zero", "copy", "mempool", "ring", "stream")


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
    """One table of a part, of the machines that have a row of it."""
    runs = {machine: run for machine, run in runs.items()
            if any(cells(run, row)[0] != "–" for row in wanted.rows)}
    if not runs:
        return ""
    header = ["case"]
    for machine in runs:
        header += [kept.MACHINES[machine].name, "best rival", "ratio"]
    body = [[row.label or cases.describe(part, row.case)] +
            [cell for run in runs.values() for cell in cells(run, row)]
            for row in wanted.rows]
    title = f"### {wanted.title}\n\n" if wanted.title else ""
    note = f"{wanted.note}\n\n" if wanted.note else ""
    return f"{title}{note}{markdown(header, body)}\n"


def part_page(part, runs):
    """One part: its runs, its tables."""
    what, reasons = tables.ABOUT[part]
    lines = []
    for machine, run in runs.items():
        lines += [f"- {kept.MACHINES[machine].name}: `{run.command}`, "
                  f"{run.about['date']}, commit {run.about['commit']} "
                  f"([run](../bench/results/{run.path.name}))",
                  *(f"  {line}" for line in pages_cache.versions(run)
                    or pages_convert.rivals_of({"rivals": run.rivals}, part))]
        if run.path.name in NOTES:
            lines.append(f"  - {NOTES[run.path.name]}")
    text = "\n".join([f"## {part}: {what}\n", *lines,
                      f"- Why it is so: {reasons}\n"] +
                     [text for wanted in tables.TABLES[part]
                      if (text := table(part, runs, wanted))] +
                     (pages_cache.objects(markdown, runs) +
                      pages_cache.instructions(markdown, runs)
                      if part == "cache" else []) +
                     pages_cache.hits(markdown, runs))
    return promoted(text)


def promoted(text):
    """A section as a page: each heading one level higher."""
    return text.replace("\n### ", "\n## ").replace("## ", "# ", 1)


def below(text):
    """A page in docs/benchmarks/, whose links begin at docs/."""
    return text.replace("\n", f"\n\n{MADE}\n", 1).replace(
        "](", "](../").replace("](../#", "](#")


def subpages(runs):
    """Name -> page of docs/benchmarks/."""
    found = {part: part_page(part, of) for part, of in runs.items()}
    found["args"] = promoted(pages_args.section(markdown))
    found |= pages_convert.pages(markdown)
    return {name: below(text) for name, text in found.items() if text}


def benchmarks(runs):
    """docs/benchmarks.md: one table for each product."""
    machine, report = pages_convert.newest()
    library = {part: of for part, of in runs.items() if part in LIBRARY}
    return "\n".join([
        INTRO,
        "## Disk images: the command hone\n",
        f"{kept.where(machine)}, {report['machine']['cpus']} CPUs, "
        f"{report['machine']['date']}. The size is that of hone's output "
        "over that of\nthe rival's. The last column compares hone with a "
        "program that does only a part of the work:\n\n"
        "- the library of the codec alone, two threads, without reads and "
        "writes: 0.9 of it is enough\n  for a target;\n"
        "- `pread`: two threads of Python that only read;\n"
        "- `curl`, which only stores the file.\n",
        pages_convert.overview(markdown),
        pages_convert.notes(),
        "\nAll tools: [conversions](benchmarks/convert.md), [VMDK, VHD and "
        "Google's\narchives](benchmarks/clouds.md), [addresses, packed images "
        "and\npipes](benchmarks/reach.md).\n",
        "## PHP: the cache and the file functions\n",
        pages_cache.overview(markdown, runs, table_row),
        "\nAll values: [cache](benchmarks/cache.md), [file "
        "functions](benchmarks/php.md), [arguments of\nfunctions in C]"
        "(benchmarks/args.md).\n",
        "## C: libhone\n",
        "The table counts all cases, also those that are not on the pages. Of "
        "the policies or calls that\na case was measured with, the table has "
        "the one that is meant for the case.\n",
        overview(library), "", SPEED, machines(runs)])


def table_row(part, run, case):
    """Cells of a case in an overview."""
    wanted = tables.Row(case)
    return [cases.describe(part, case), *cells(run, wanted)]


def missed(runs):
    """docs/design/targets.md: what was not reached."""
    lines = []
    for (machine, subject), short in pages_convert.missed().items():
        lines += [f"## {subject}, {kept.MACHINES[machine].name}\n",
                  *(f"- {text}" for text in short), ""]
    for part in LIBRARY:
        lines += pages_cache.missed(part, runs.get(part, {}))
    lines += pages_cache.missed("cache", {
        machine: run for machine, run in runs["cache"].items() if run.hits})
    return ("# Targets that were missed\n\n" + MADE + "\n\nThese are "
            "the misses of the kept runs. A line has the case, what was "
            "compared,\nthe target and the result, or, as `0.91 of 3`, the "
            "result and the target. Targets beside\n`qemu-img` without `-W` "
            "are left out, since that rival ran on one core. `raw to raw.gz` "
            "was\npacked at level 6; since 2026-11-30 the default is 5.\n\n"
            + "\n".join(lines).rstrip() + "\n")
