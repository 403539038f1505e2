#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time the benchmarks, print tables and say which bars are met.

Every case is one process in which the subjects' repetitions are interleaved
at random. A repetition during which the thread was switched out against its
will is thrown away. The figure is the median of the rest.
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

import bars

HERE = pathlib.Path(__file__).resolve().parent
FEWEST = 5  # clean repetitions that a median is taken of
ATTEMPTS = 4  # at a case that context switches leave fewer of


def first_line(path):
    try:
        return pathlib.Path(path).read_text().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "CPU implementer")):
            model = line.split(":", 1)[1].strip()
            break
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always",
                             "--dirty"], capture_output=True, text=True)
    return {
        "cpu": model,
        "cpus": os.cpu_count(),
        "governor": first_line("/sys/devices/system/cpu/cpu0/cpufreq/"
                               "scaling_governor"),
        "kernel": platform.release(),
        "commit": commit.stdout.strip() or "unknown",
        "date": datetime.date.today().isoformat(),
    }


def cases_of(program):
    """Case -> its subjects, in the program's order."""
    listed = subprocess.run([program, "--benchmark_list_tests=true"],
                            stdout=subprocess.PIPE, text=True, check=True)
    cases = collections.OrderedDict()
    for line in listed.stdout.split():
        _, case, subject = line.split("/")[:3]
        cases.setdefault(case, []).append(subject)
    return cases


def run_once(program, pattern, options):
    """Every repetition of the benchmarks that match, as Google prints it."""
    run = subprocess.run(
        [program, f"--benchmark_filter={pattern}",
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
            print(f"{case}/{subject}: no figure, {thrown[subject]} "
                  "repetitions had a context switch", file=sys.stderr)
            continue
        low, middle, high = statistics.quantiles(samples, n=4)
        figures[subject] = {"median_ns": round(middle, 3),
                            "quartiles_ns": [round(low, 3), round(high, 3)],
                            "repetitions": len(samples),
                            "thrown_away": thrown[subject]}
    return figures


def shown(ns, over):
    """A cell: the median, or the rate it stands for."""
    if ns is None:
        return "-"
    value = over / ns if over else ns
    return f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def print_table(title, rows):
    """Rows down, columns across; rows: name -> column -> text."""
    columns = list(dict.fromkeys(c for row in rows.values() for c in row))
    widest = max(map(len, [title, *rows])) + 1
    print("\n" + title.ljust(widest) +
          "".join(c.rjust(max(9, len(c) + 2)) for c in columns))
    for name, row in rows.items():
        print(name.ljust(widest) + "".join(
            row.get(c, "-").rjust(max(9, len(c) + 2)) for c in columns))


def print_tables(part, results):
    """Medians in ns, or rates: a table for cases that have the same subjects,
    turned on its side where it would be too wide."""
    unit, over = bars.RATES.get(part, ("median ns", None))
    for _, group in itertools.groupby(results.items(), lambda i: list(i[1])):
        rows = {case: {s: shown(m.get("median_ns"), over)
                       for s, m in row.items()} for case, row in group}
        subjects = list(next(iter(rows.values())))
        if len(subjects) > 12 and len(subjects) > len(rows):
            rows = {s: {case: row[s] for case, row in rows.items()}
                    for s in subjects}
        print_table(unit, rows)


def judge(part, results):
    """A line for each bar: name, value, required, ok or short."""
    medians = {case: {s: m["median_ns"] for s, m in row.items()}
               for case, row in results.items()}
    judged = []
    for bar in bars.PARTS.get(part, lambda m: [])(medians):
        value = round(bar.value, 2)
        judged.append({"name": bar.name, "value": value,
                       "required": bar.required,
                       "verdict": "ok" if value >= bar.required else "short"})
    if judged:
        widest = max(len(b["name"]) for b in judged)
        print()
        for b in judged:
            print(f"{b['name'].ljust(widest)}  {b['value']:6.2f}  "
                  f"required {b['required']:.2f}  {b['verdict']}")
    return judged


def run_part(program, part, options):
    """Case -> subject -> figures, for every case that is wanted."""
    results = collections.OrderedDict()
    for case, subjects in cases_of(program).items():
        if options.filter in case:
            print(f"\r{part}: {case}".ljust(40), end="", file=sys.stderr)
            results[case] = run_case(program, part, case, subjects, options)
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return results


def measure(options):
    programs = {p.name[:-len("_bench")]: p
                for p in sorted((options.build / "bench").glob("*_bench"))}
    unknown = set(options.part) - set(programs)
    if unknown:
        sys.exit(f"no part {', '.join(unknown)}; there are: " +
                 ", ".join(programs))
    parts = {part: run_part(program, part, options)
             for part, program in programs.items()
             if part in (options.part or programs)}
    if not any(parts.values()):
        sys.exit(f"no case has {options.filter} in its name")
    return {"machine": machine(), "command": " ".join(sys.argv),
            "parts": parts}


def print_report(report):
    print(", ".join(f"{k} {v}" for k, v in report["machine"].items()))
    report["bars"] = {}
    for part, results in report["parts"].items():
        print_tables(part, results)
        report["bars"][part] = judge(part, results)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", help="parts to time; all if none")
    parser.add_argument("--build", type=pathlib.Path,
                        help="build folder configured with benchmarks")
    parser.add_argument("--json", type=pathlib.Path, help="also write this")
    parser.add_argument("--load", type=pathlib.Path,
                        help="time nothing; print what --json wrote")
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--min-time", default="0.004",
                        help="seconds each repetition takes at least")
    parser.add_argument("--filter", default="",
                        help="only cases whose name contains this")
    options = parser.parse_args()
    if options.load:
        report = json.loads(options.load.read_text())
    elif options.build:
        report = measure(options)
    else:
        parser.error("--build or --load is needed")
    print_report(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
