# SPDX-License-Identifier: BSD-3-Clause
"""The kept runs, bench/results/PART-MACHINE-DATE.json, and how libhone does
in them. Of several runs of a part on one machine the last counts."""
import collections
import json
import pathlib
import re

import cases
import targets

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"
SAME = 0.03  # two runs of one program differ by as much

# What JSON does not say of a machine: "AMD EPYC" is all that these report.
Machine = collections.namedtuple("Machine", "name short cpu caches")
MACHINES = {
    "zen5": Machine("Zen 5", "Zen 5",
                    'AMD EPYC 9005 ("Turin", family 26, model 2)',
                    "48 KiB, 1 MiB, 32 MiB"),
    "emerald-rapids": Machine("Emerald Rapids", "Xeon",
                              "Intel Xeon (Emerald Rapids)",
                              "48 KiB, 2 MiB, 300 MiB"),
    "zen4": Machine("Zen 4", "Zen 4",
                    'AMD EPYC 9004 ("Genoa", family 25, model 17)',
                    "32 KiB, 1 MiB, 32 MiB"),
    "zen3": Machine("Zen 3", "Zen 3",
                    'AMD EPYC 7003 ("Milan", family 25, model 1)',
                    "32 KiB, 512 KiB, 32 MiB"),
}
PARTS = ("zero", "copy", "mempool", "ring", "stream", "php", "cache")

# A subject of libhone in a case beside the fastest of its rivals: both in ns,
# and the ratio of their speeds, above 1 if libhone is faster.
Result = collections.namedtuple("Result",
                                "case subject ns rival rival_ns ratio")


class Run:
    """One kept file."""

    def __init__(self, part, machine, path):
        self.part, self.machine, self.path = part, machine, path
        report = json.loads(path.read_text())
        self.about = report["machine"]
        # The rivals and the compilers; not of runs before 2026-11-29.
        self.rivals = report.get("rivals")
        # PHP and what the cache is compared with -> version; as above.
        self.versions = report.get("versions", {})
        self.command = command(report["command"])
        # Subject -> {"rate": 0 to 1}; of the part cache alone.
        self.hits = report.get("hits", {})
        # Part of the bytes -> the same, of arrays.
        self.array_hits = arrays(report)
        # Of the same or a later date: (path, report), or None.
        self.hits_apart = apart(part, machine, self.about["date"])
        if self.hits_apart:
            self.hits = self.hits_apart[1]["hits"] or self.hits
            self.array_hits = arrays(self.hits_apart[1])
        # Case -> subject -> instructions; of the part cache alone, too.
        self.instructions = report.get("instructions", {})
        # As the run found them; a part has none if its run is an early one.
        found = report.get("targets", {})
        self.targets = found.get(part, []) if isinstance(found, dict) else []
        if part == "php":
            self.cases, self.ratios = php_cases(report)
            return
        self.ratios = {}
        self.cases = {case: {s: m["median_ns"] for s, m in row.items()}
                      for case, row in report["parts"][part].items()}

    def compare(self, case, subject, rivals):
        """A Result, or None if the run lacks the case or one side of it."""
        row = self.cases.get(case, {})
        times = [(row[rival], rival) for rival in rivals if rival in row]
        if subject not in row or not times:
            return None
        rival_ns, rival = min(times)
        return Result(case, subject, row[subject], rival, rival_ns,
                      self.ratios.get(case, rival_ns / row[subject]))

    def results(self):
        """The Results of all cases, the slowest first."""
        found = [self.compare(case, *sides) for case in self.cases
                 for sides in cases.comparisons(self.part, case)]
        return sorted((r for r in found if r), key=lambda r: r.ratio)


def arrays(report):
    """Part of the bytes -> subject -> {"rate": 0 to 1}."""
    parts = dict(report.get("array_parts", {}))
    if report.get("array_hits"):
        parts["1/2"] = report["array_hits"]
    # The smallest part first.
    return dict(sorted(parts.items(), key=lambda item: -int(item[0][2:])))


def apart(part, machine, date):
    """Hit rates of the last run of their own: PART-hits-MACHINE-DATE.json."""
    for path in sorted(RESULTS.glob(f"{part}-hits-{machine}-*.json"))[-1:]:
        report = json.loads(path.read_text())
        if report["machine"]["date"] >= date:
            return path, report
    return None


def php_cases(report):
    """Case -> subject -> ns, and case -> ratio, which is a median of pairs.
    A call that is passed on is compared as any other."""
    rows = report["ns"]
    return ({case: {"hone": row["hone"], "stock": row["stock"]}
             for case, row in rows.items()},
            {case: row["ratio"] for case, row in rows.items()})


def command(recorded):
    """What to type for a run like this."""
    if recorded.startswith("./dev"):
        return recorded
    # As earlier runs recorded it.
    options = re.sub(r"^.*--build \S+ ", "", recorded)
    return "./dev bench " + re.sub(r" --json \S+", "", options)


def load():
    """Part -> machine -> Run, in the order of PARTS and MACHINES. A part
    without a run is left out."""
    found = {part: {} for part in PARTS}
    for path in sorted(RESULTS.glob("*.json")):
        match = re.fullmatch(rf"({'|'.join(PARTS)})-({'|'.join(MACHINES)})"
                             r"-\d{4}-\d\d-\d\d\.json", path.name)
        if match:
            part, machine = match.groups()
            found[part][machine] = Run(part, machine, path)
    return {part: {m: runs[m] for m in MACHINES if m in runs}
            for part, runs in found.items() if runs}


def where(machine):
    """The CPU, without what stands in brackets."""
    return MACHINES[machine].cpu.split(" (")[0]


def rate(part):
    """What a part's tables show in place of ns, and over which time."""
    return targets.RATES.get(part)


def three_digits(value):
    """At least three significant digits, as text."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def shown(part, ns, unit=None):
    """A time or a rate as a number in the unit, or with a unit that fits."""
    over = rate(part)
    if over:
        return three_digits(over[1] / ns) + ("" if unit else " " + over[0])
    scales = {"ns": 1, "us": 1e3, "ms": 1e6}
    if unit:
        return three_digits(ns / scales[unit])
    unit = "ns" if ns < 1e3 else "us" if ns < 1e6 else "ms"
    return f"{three_digits(ns / scales[unit])} {unit}"


def verdict(ratio):
    """A ratio is `faster`, `slower`, or the `same` within SAME."""
    if abs(ratio - 1) <= SAME:
        return "same"
    return "faster" if ratio > 1 else "slower"


def plain_times(ratio):
    """0.27x, 1.83x, 10x"""
    return f"{ratio:.2f}x" if ratio < 9.95 else f"{ratio:.0f}x"


def times(ratio):
    """1.83x, or in bold if it is slower: **0.49x**"""
    if verdict(ratio) == "slower":
        return f"**{ratio:.2f}x**"
    return plain_times(ratio)
