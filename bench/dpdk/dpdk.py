#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The mempool driver beside DPDK's own: a loop of rte_mempool calls, and the
cases of DPDK's performance test, which are made shorter than their 5 s.

The runs of DPDK's test take turns between the two drivers, on two CPUs and on
one. A figure is the median of the ratios of runs of the same turn. ring_mp_mc
runs twice in a turn: its ratio to itself shows what the machine adds. Each of
the three runs is first in one turn of three.

With --soak, DPDK's test runs once as it is, with the driver alone.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import report
from targets import Target

OURS, RIVAL = "dpdk-hone", "dpdk-ring"
# The runs of a turn, and the ops of each.
RUNS = [("hone", "hone"), ("ring_mp_mc", "ring_mp_mc"),
        ("again", "ring_mp_mc")]
LOOPS = ["1t-uncached-keep512-n1", "1t-uncached-keep512-n4",
         "1t-uncached-keep512-n8", "1t-uncached-keep512-n32",
         "1t-keep8192-n1", "1t-keep8192-n8", "1t-keep8192-n32",
         "2t-keep8192-n32", "one-cpu-keep8192-n32"]
# Newer releases pad the numbers.
LINE = re.compile(r"^mempool_autotest cache= *(\d+) cores= *(\d+) n_get_bulk= *(\d+)"
                  r" n_put_bulk= *(\d+) n_keep= *(\d+).* rate_persec= *(\d+)", re.M)


def dpdk_test(options, ops, cpus, shorter):
    """What DPDK's performance test prints. It passes, or this ends."""
    libs = {str(path.parent) for path in options.root.rglob("*.so.*")}
    # Preloaded: EAL opens no driver below a folder that all may write to.
    preload = [options.build / "integrations/dpdk/librte_mempool_hone.so",
               options.build / "integrations/dpdk/libshim.so",
               # Newer releases do not link the test with the ops that it names.
               *(next(options.root.rglob(f"librte_mempool_{name}.so.*"))
                 for name in ("ring", "stack"))]
    with tempfile.TemporaryDirectory() as runtime:
        done = subprocess.run(
            [next(options.root.rglob("dpdk-test")), "--no-huge", "--no-pci",
             "--no-telemetry", "--no-shconf", "-m", "2048",
             f"--mbuf-pool-ops-name={ops}",
             "--lcores", f"0@{cpus[0]},1@{cpus[1]}"],
            env={**os.environ, "LD_LIBRARY_PATH": ":".join(sorted(libs)),
                 "LD_PRELOAD": " ".join(map(str, preload)),
                 "HONE_DPDK_OPS": ops, "XDG_RUNTIME_DIR": runtime,
                 "HONE_DPDK_SHORTER": str(shorter),
                 "DPDK_TEST": "mempool_perf_autotest"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
    if done.returncode or "Test OK" not in done.stdout:
        sys.exit(f"{done.stdout[-3000:]}\ndpdk-test failed")
    return done.stdout


def perf_test(options, ops, cpus):
    """Case -> objects a second, of one run of DPDK's test. A case may come
    several times: the pools with other ops, and caches of the user."""
    out = dpdk_test(options, ops, cpus, options.shorter)
    rates = {}
    for *case, rate in LINE.findall(out):
        cache, cores, get, put, keep = case
        name = f"cache {cache}, {cores} lcores, get {get}, put {put}, {keep}"
        # The first of a name: the pools that ask for ring_mp_mc.
        rates.setdefault(name, int(rate) * options.shorter)
    if not rates:
        sys.exit(f"{out[-3000:]}\ndpdk-test printed no rates")
    return rates


def command():
    """The ./dev command for the same run."""
    words = report.command(sys.argv).split()
    at = words.index("--root")
    words = [*words[:2], "dpdk", *words[2:at], *words[at + 2:]]
    if "--soak" in words:
        words[words.index("--soak") + 1] = "LOG"
    return " ".join(words)


def soak(options):
    """The log: the machine, the command, and a line for each case."""
    machine = report.machine()
    cpus = sorted(os.sched_getaffinity(0))
    begin = time.monotonic()
    out = dpdk_test(options, "hone", (cpus[0], cpus[-1]), 1)
    minutes = (time.monotonic() - begin) / 60
    pools = re.findall(r"^start .*|^mempool_autotest .*", out, re.M)
    cases = [line for line in pools if "rate_persec" in line]
    return "\n".join([
        ", ".join(f"{k} {v}" for k, v in machine.items()),
        f"{command()}: {len(cases)} cases in {minutes:.0f} minutes: Test OK",
        "cache, lcores, get, put, keep, constant, objects a second",
        *(" ".join(re.findall(r"= *(\d+)", line)) or line
          for line in pools)]) + "\n"


def placements():
    """Two lcores on two CPUs and on one."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        yield "two CPUs", (cpus[0], cpus[1])
    yield "one CPU", (cpus[0], cpus[0])


def perf(options):
    """Placement -> case -> the rates of both, and the ratios."""
    found = {}
    for place, cpus in placements():
        if options.place not in place:
            continue
        cases = found[place] = {}
        for turn in range(options.repeat):
            print(f"DPDK's test, {place}, {turn + 1} of {options.repeat}",
                  file=sys.stderr)
            first = turn % len(RUNS)
            for name, ops in RUNS[first:] + RUNS[:first]:
                for case, rate in perf_test(options, ops, cpus).items():
                    cases.setdefault(case, {}).setdefault(
                        name, []).append(rate)
        for row in cases.values():
            row["ratio"] = ratio(row["hone"], row["ring_mp_mc"])
            row["control"] = ratio(row["again"], row["ring_mp_mc"])
    return found


def ratio(rates, rivals):
    """The median of the ratios of runs of the same turn."""
    return round(statistics.median(
        a / max(b, 1) for a, b in zip(rates, rivals)), 3)


def loops(options):
    """Case -> subject -> figures, as bench/support/report.py has them."""
    program = options.build / "bench/mempool/mempool_bench"
    subjects = report.cases_of(program)
    return {case: report.run_case(program, "mempool", case, subjects[case],
                                  options) for case in LOOPS}


def print_perf(found):
    for place, cases in found.items():
        groups = {}
        for case, row in cases.items():
            group = case.split(", get")[0]
            groups.setdefault(group, []).append((row["ratio"], case))
            groups.setdefault(f"{group}: itself", []).append(
                (row["control"], case))
        rows = {}
        for group, ratios in groups.items():
            least, case = min(ratios)
            middle = statistics.median(ratio for ratio, _ in ratios)
            rows[group] = {"cases": str(len(ratios)),
                           "below 0.95": str(sum(r < 0.95 for r, _ in ratios)),
                           "least": f"{least:.2f}",
                           "median": f"{middle:.2f}",
                           "most": f"{max(ratios)[0]:.2f}",
                           "the least is": "  " + case.split("lcores, ")[1]}
        report.print_table(f"{place}: of ring_mp_mc", rows)


def wanted(medians, found):
    """The targets."""
    for case in LOOPS:
        row = medians.get(case, {})
        if case.startswith("1t-keep") and OURS in row and RIVAL in row:
            yield Target(f"{case}: {OURS} against {RIVAL}",
                         row[RIVAL]["median_ns"] / row[OURS]["median_ns"], 1.5)
    for place, cases in found.items():
        for cached, required in ((False, 1.0), (True, 0.95)):
            ratios = [(row["ratio"], case) for case, row in cases.items()
                      if case.startswith("cache 0,") != cached]
            if ratios:
                yield Target(f"{place}, the worst case with"
                             f"{'' if cached else 'out'} a cache: "
                             f"{min(ratios)[1]}", min(ratios)[0], required)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True,
                        help="a build folder with benchmarks and the driver")
    parser.add_argument("--root", type=pathlib.Path, required=True,
                        help="where the packages of DPDK's tests are")
    parser.add_argument("--json", type=pathlib.Path,
                        help="write the results to this file")
    parser.add_argument("--repetitions", type=int, default=31,
                        help="of the loop")
    parser.add_argument("--min-time", default="0.004",
                        help="least seconds of a repetition of the loop")
    parser.add_argument("--repeat", type=int, default=3,
                        help="turns of DPDK's test; of a multiple of 3, each "
                        "run is first equally often")
    parser.add_argument("--shorter", type=int, default=50,
                        help="each case of DPDK's test takes 5 s / SHORTER")
    parser.add_argument("--place", default="",
                        help="'two' or 'one': the lcores of DPDK's test only "
                        "on as many CPUs. On one, ring_mp_mc takes far longer")
    parser.add_argument("--soak", type=pathlib.Path, metavar="LOG",
                        help="only run DPDK's test as it is, which takes an "
                        "hour, with this driver, and write what it prints")
    options = parser.parse_args()
    if options.soak:
        options.soak.write_text(soak(options))
        return
    result = {"machine": report.machine(), "command": command(),
              "parts": {"mempool": loops(options)}, "perf": perf(options)}
    print(", ".join(f"{k} {v}" for k, v in result["machine"].items()))
    report.print_tables("mempool", result["parts"]["mempool"])
    print_perf(result["perf"])
    result["targets"] = {"dpdk": report.print_targets(
        wanted(result["parts"]["mempool"], result["perf"]))}
    if options.json:
        report.save(options.json, result)


if __name__ == "__main__":
    main()
