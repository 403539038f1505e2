#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the benchmarks, print tables and check the targets.

Each case is one process, which interleaves the repetitions of all subjects at
random. A repetition with an involuntary context switch is thrown away. A figure
is the median of the other repetitions.
"""
import argparse
import collections
import datetime
import itertools
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import rivals
import targets

HERE = pathlib.Path(__file__).resolve().parent
FEWEST = 5  # repetitions without a switch that a median needs
ATTEMPTS = 4  # runs of a case until there are FEWEST


def first_line(path):
    try:
        return pathlib.Path(path).read_text().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


# Fields of /proc/cpuinfo, on x86 and on Arm. The name of a virtual CPU may be
# just "AMD EPYC", so a report has the numbers too.
CPU_FIELDS = {
    "model name": "cpu", "cpu family": "family", "model": "model",
    "stepping": "stepping", "CPU implementer": "implementer",
    "CPU part": "part", "CPU variant": "variant", "CPU revision": "revision",
}


def cpu(cpuinfo):
    """The fields of the first CPU in the text of /proc/cpuinfo."""
    found = {"cpu": "unknown"}
    for line in cpuinfo.split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        if name.strip() in CPU_FIELDS:
            found[CPU_FIELDS[name.strip()]] = value.strip()
    return found


def machine():
    """The fields of the first line of a report, in their order."""
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always",
                             "--dirty"], capture_output=True, text=True)
    return {
        **cpu(pathlib.Path("/proc/cpuinfo").read_text()),
        "cpus": os.cpu_count(),
        "governor": first_line("/sys/devices/system/cpu/cpu0/cpufreq/"
                               "scaling_governor"),
        "kernel": platform.release(),
        "commit": commit.stdout.strip() or "unknown",
        "date": datetime.date.today().isoformat(),
    }


def cases_of(program):
    """Case -> subjects, in the order of the program."""
    listed = subprocess.run([*program, "--benchmark_list_tests=true"],
                            stdout=subprocess.PIPE, text=True, check=True)
    cases = collections.OrderedDict()
    for line in listed.stdout.split():
        _, case, subject = line.split("/")[:3]
        cases.setdefault(case, []).append(subject)
    return cases


def run_once(program, pattern, options):
    """All repetitions of the benchmarks that match, from Google's JSON."""
    run = subprocess.run(
        [*program, f"--benchmark_filter={pattern}",
         f"--benchmark_repetitions={options.repetitions}",
         "--benchmark_enable_random_interleaving=true",
         f"--benchmark_min_time={options.min_time}",
         "--benchmark_format=json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [r for r in json.loads(run.stdout)["benchmarks"]
            if r["run_type"] == "iteration"]


def run_case(program, part, case, subjects, options):
    """Subject -> median and samples in nanoseconds."""
    pattern = f"^{part}/{case.replace('.', '[.]')}/"
    kept, thrown = collections.defaultdict(list), collections.Counter()
    for _ in range(ATTEMPTS):
        for r in run_once(program, pattern, options):
            subject = r["name"].split("/")[2]
            if r.get("error_occurred"):
                sys.exit(f"{r['name']}: {r['error_message']}")
            if r["switches"] > 0:
                thrown[subject] += 1
            else:
                kept[subject].append(r["real_time"])
        if all(len(kept[s]) >= FEWEST for s in subjects):
            break
    figures = {}
    for subject in subjects:
        samples = kept[subject]
        if len(samples) < FEWEST:
            print(f"{case}/{subject}: no figure; {thrown[subject]} "
                  "repetitions had a context switch", file=sys.stderr)
            continue
        low, middle, high = statistics.quantiles(samples, n=4)
        figures[subject] = {"median_ns": round(middle, 3),
                            "quartiles_ns": [round(low, 3), round(high, 3)],
                            "repetitions": len(samples),
                            "thrown_away": thrown[subject]}
    return figures


def shown(ns, over):
    """The text of a cell: the median, or the rate if `over` is set."""
    if ns is None:
        return "-"
    value = over / ns if over else ns
    return f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def print_table(title, rows):
    """Print rows: name -> column -> text."""
    columns = list(dict.fromkeys(c for row in rows.values() for c in row))
    widest = max(map(len, [title, *rows])) + 1
    print("\n" + title.ljust(widest) +
          "".join(c.rjust(max(9, len(c) + 2)) for c in columns))
    for name, row in rows.items():
        print(name.ljust(widest) + "".join(
            row.get(c, "-").rjust(max(9, len(c) + 2)) for c in columns))


def holds_dict(value):
    """Whether a dict stands anywhere in the members of the value."""
    members = value.values() if isinstance(value, dict) else value
    return any(isinstance(member, dict) or
               isinstance(member, list) and holds_dict(member)
               for member in members)


def encode(value, indent=""):
    """JSON with a line for each subject, target and row: members of a list,
    and what holds no further dict, stand on one line."""
    if not isinstance(value, (dict, list)) or not holds_dict(value):
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, dict):
        members = [f"{json.dumps(name)}: {encode(member, inner)}"
                   for name, member in value.items()]
        begin, end = "{}"
    else:
        members = [json.dumps(member) for member in value]
        begin, end = "[]"
    body = ",\n".join(inner + member for member in members)
    return f"{begin}\n{body}\n{indent}{end}"


def save(path, value):
    """Write what --json FILE asks for."""
    pathlib.Path(path).write_text(encode(value) + "\n")


def print_tables(part, results):
    """Print one table for all neighbouring cases with the same subjects. A
    table that is too wide is transposed."""
    unit, over = targets.RATES.get(part, ("median ns", None))
    for _, group in itertools.groupby(results.items(), lambda i: list(i[1])):
        rows = {case: {s: shown(m.get("median_ns"), over)
                       for s, m in row.items()} for case, row in group}
        subjects = list(next(iter(rows.values())))
        if len(subjects) > 12 and len(subjects) > len(rows):
            rows = {s: {case: row[s] for case, row in rows.items()}
                    for s in subjects}
        print_table(unit, rows)


def judge(part, results):
    """Print and return the targets of a part."""
    medians = {case: {s: m["median_ns"] for s, m in row.items()}
               for case, row in results.items()}
    return print_targets(targets.PARTS.get(part, lambda m: [])(medians))


def print_targets(wanted):
    """Print a line for each target: name, value, required value, verdict."""
    judged = []
    for target in wanted:
        value = round(target.value, 2)
        verdict = "ok" if value >= target.required else "short"
        judged.append({"name": target.name, "value": value,
                       "required": target.required, "verdict": verdict})
    if judged:
        widest = max(len(b["name"]) for b in judged)
        print()
        for b in judged:
            print(f"{b['name'].ljust(widest)}  {b['value']:6.2f}  "
                  f"required {b['required']:.2f}  {b['verdict']}")
    return judged


def run_part(program, part, options):
    """Case -> subject -> figures, for the cases that --filter allows."""
    results = collections.OrderedDict()
    for case, subjects in cases_of(program).items():
        if options.filter in case:
            print(f"\r{part}: {case}".ljust(40), end="", file=sys.stderr)
            results[case] = run_case(program, part, case, subjects, options)
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return results


def command(argv):
    """The ./dev command for the same run, without the path of --json."""
    words = argv[1:]
    for option in ("--build", "--json", "--root"):
        if option in words:
            at = words.index(option)
            words[at:at + 2] = []
    return " ".join(["./dev bench", *words])


def programs_of(build, root):
    """Part -> the command of its benchmark, which runs in the root."""
    found = sorted((build / "bench").glob("*/*_bench"))
    if not root:
        return {p.parent.name: [p] for p in found}
    return {p.parent.name: ["chroot", root, f"/{p.relative_to(root)}"]
            for p in found}


def measure(options):
    programs = programs_of(options.build, options.root)
    unknown = set(options.part) - set(programs)
    if unknown:
        sys.exit(f"no part {', '.join(unknown)}; the parts are: " +
                 ", ".join(programs))
    parts = {part: run_part(program, part, options)
             for part, program in programs.items()
             if part in (options.part or programs)}
    if not any(parts.values()):
        sys.exit(f"no name of a case contains {options.filter}")
    return {"machine": machine(), "command": command(sys.argv),
            "rivals": rivals.about(options.root), "parts": parts}


def print_php(report):
    """Print the table of bench/php/reads.py."""
    print(f"{'ns a call':46}{'stock':>12}{'hone':>12}{'times':>7}  "
          "system calls")
    for case, row in report["ns"].items():
        print(f"{case:46}{row['stock']:12.0f}{row['hone']:12.0f}"
              f"{row['ratio']:7.2f}  {row['calls'][0]:g} {row['calls'][1]:g}")


def print_report(report):
    """Print the tables and the targets, and add the targets to the report."""
    print(", ".join(f"{k} {v}" for k, v in report["machine"].items()))
    for what, value in report.get("rivals", {}).items():
        print(f"{what}: {value}")
    if "versions" in report:
        print(", ".join(f"{k} {v}" for k, v in report["versions"].items()))
    if "ns" in report:
        print_php(report)
        return
    report["targets"] = {}
    for part, results in report["parts"].items():
        print_tables(part, results)
        report["targets"][part] = judge(part, results)
    if "hits" in report:
        report["targets"]["cache"] += print_hits(report)


def print_hits(report):
    """Print and judge what only bench/cache/cache.py has: hit rates,
    instructions, and what has no figure."""
    rates = {subject: of["rate"] for subject, of in report["hits"].items()}
    if rates:
        print_table("hit rate", {"half of the memory": {
            subject: f"{rate:.3f}" for subject, rate in rates.items()}})
    parts = {part: of for part, of in (
        ("1/2", report.get("array_hits")),
        *report.get("array_parts", {}).items()) if of}
    for what, shown in (("hit rate", lambda of: f"{of['rate']:.3f}"),
                        ("us of a fetch with its share of stores",
                         lambda of: f"{of['ns'] / 1000:.1f}" if "ns" in of
                         else "-")):
        if parts:
            print_table(f"arrays, {what}", {
                f"{part} of the serialized bytes": {
                    subject: shown(of) for subject, of in row.items()}
                for part, row in parts.items()})
    if report.get("bytes"):
        print_table("bytes of a value", {case: {
            subject: f"{size:,.0f}" for subject, size in of.items()}
            for case, of in report["bytes"].items()})
    judged = print_targets(targets.cache_hits(rates))
    counts = report.get("instructions", {})
    if counts:
        print_table("thousand instructions", {
            case: {s: f"{count / 1e3:.0f}" for s, count in row.items()}
            for case, row in counts.items()})
        judged += print_targets(targets.cache_counts(counts))
    print()
    for subject, reason in report["skipped"].items():
        print(f"skipped: {subject}: {reason}")
    for trouble in report["troubles"]:
        print("no figure: {case}: {subject}: {reason}".format(**trouble))
    return judged


def known_part(name):
    """The type of an argument: a folder of bench that has a benchmark."""
    parts = sorted(p.parent.name for p in HERE.parent.glob("*/*_bench.cc"))
    if name not in parts:
        raise argparse.ArgumentTypeError(
            f"'{name}' is not a part; the parts are: {' '.join(parts)}, or, "
            "as the first word, one of: args cache convert dpdk php reach")
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", type=known_part,
                        help="default: all parts")
    parser.add_argument("--build", type=pathlib.Path,
                        help="a build folder with benchmarks")
    parser.add_argument("--rivals", choices=("newest", "debian12"),
                        default="newest",
                        help="build and run in a chroot of Debian sid (needs "
                        "root), or on this system")
    parser.add_argument("--root", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=pathlib.Path,
                        help="write the results to this file")
    parser.add_argument("--load", type=pathlib.Path,
                        help="run nothing; print a file that --json wrote")
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--min-time", default="0.004",
                        help="least seconds of a repetition")
    parser.add_argument("--filter", default="",
                        help="run only cases with this in their name")
    options = parser.parse_args()
    if options.load:
        report = json.loads(options.load.read_text())
    elif options.build:
        report = measure(options)
    else:
        parser.error("--build or --load is required")
    print_report(report)
    if options.json:
        save(options.json, report)


if __name__ == "__main__":
    main()
