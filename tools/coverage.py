#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests reach in the library of a build with -Db_coverage=true: lines
and branches of each part, and each place that no test reaches.

tests/coverage.toml lists the places that tests cannot reach and the files that
are not compiled, with the reasons. They count as not reached. Fails if less of
src/ is reached than LINES and BRANCHES, if a listed place does not exist once
or is reached, or if a file is neither compiled nor listed.

A template counts once for each variant that includes it. The copies of another
inline function count together. gcov counts a call that can throw as a branch
with two directions; both are left out here.
"""
import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINES, BRANCHES = 95, 90  # percent


def variants():
    """The sources of the rows of variants.def, such as zero/avx2.c."""
    return {table.parent / (row.split("(")[1].split(",")[0].strip() + ".c")
            for table in ROOT.glob("src/*/variants.def")
            for row in table.read_text().splitlines()
            if row.startswith("HONE_VARIANT(")}


def directions(branches):
    """How often each direction was taken, without those of calls that can
    throw: gcov lists the return of the call, then the exception."""
    taken = []
    for branch in branches:
        if branch["throw"]:
            taken.pop()
        else:
            taken.append(branch["count"])
    return taken


def gcov(build, data):
    """What gcov says of one object."""
    said = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities",
         data.relative_to(build)], cwd=build, check=True, capture_output=True)
    return json.loads(said.stdout)


def measure(build):
    """{file: {(variant, function, line): [times run, directions]}}"""
    table = variants()
    found = defaultdict(lambda: defaultdict(lambda: [0, []]))
    with ThreadPoolExecutor() as pool:
        every = pool.map(lambda data: gcov(build, data),
                         sorted(build.glob("**/*.gcda")))
        files = [each for one in every for each in units(build, one, table)]
    for path, variant, lines in files:
        for line in lines:
            place = found[path][variant, line.get("function_name"),
                                line["line_number"]]
            place[0] += line["count"]
            place[1] = [a + b for a, b in zip_longest(
                place[1], directions(line["branches"]), fillvalue=0)]
    return found


def units(build, one, table):
    """(path, variant or "", lines) of each file of the library in one object."""
    paths = [(build / each["file"]).resolve() for each in one["files"]]
    variant = next((str(path.relative_to(ROOT)) for path in paths
                    if path in table), "")
    for path, each in zip(paths, one["files"]):
        if path.is_relative_to(ROOT / "src") or \
                path.is_relative_to(ROOT / "include"):
            yield str(path.relative_to(ROOT)), variant, each["lines"]


def part_of(path):
    """src/PART/FILE: src/PART. Others: their first folder."""
    names = Path(path).parts
    return "/".join(names[:2]) if len(names) == 3 and names[0] == "src" \
        else names[0]


def sums(found):
    """{part: [lines, lines run, directions, directions taken]}"""
    table = defaultdict(lambda: [0, 0, 0, 0])
    for path, places in found.items():
        for count, taken in places.values():
            one = [1, count > 0, len(taken), sum(map(bool, taken))]
            table[part_of(path)] = list(map(sum, zip(table[part_of(path)],
                                                     one)))
    return table


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def show(name, row):
    print(f"{name:14}{row[1]:6} of{row[0]:6} {percent(row[1], row[0])}"
          f"{row[3]:8} of{row[2]:6} {percent(row[3], row[2])}")


def unreached(found):
    """{(path, line number): what of it no test reaches}"""
    places = defaultdict(list)
    for path, each in found.items():
        for (variant, _, number), (count, taken) in each.items():
            missing = sum(not times for times in taken)
            if count and not missing:
                continue
            what = f"{missing} of {len(taken)} directions" if count \
                else "never runs"
            places[path, number].append(
                f"{what}, {variant}" if variant else what)
    return places


def located(row):
    """The line numbers of the text of a place; None if it is not there once."""
    text = (ROOT / row["file"]).read_text()
    if text.count(row["text"]) != 1:
        return None
    first = text[:text.index(row["text"])].count("\n") + 1
    return range(first, first + row["text"].rstrip("\n").count("\n") + 1)


def compiled(build):
    """The files of src/ that the build compiles."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return {Path(build, each["file"]).resolve() for each in commands}


def judge_places(rows, missing):
    """({(path, line number): reason}, complaints about the list)"""
    reasons, complaints = {}, []
    for row in rows:
        lines = located(row)
        if lines is None:
            complaints.append(f"{row['file']} does not have this once:\n"
                              f"{row['text']}")
            continue
        reasons |= {(row["file"], number): row["why"] for number in lines}
        if not row.get("sometimes") and \
                not any((row["file"], number) in missing for number in lines):
            complaints.append(f"{row['file']}:{lines[0]}: is listed, but "
                              "reached")
    return reasons, complaints


def judge_files(rows, build):
    """What is neither compiled nor listed."""
    known = {ROOT / row["file"] for row in rows}
    for row in rows:
        print(f"{row['file']}: not compiled: {row['why']}")
    return [f"{path.relative_to(ROOT)} is not compiled, and not listed"
            for path in sorted(ROOT.glob("src/**/*.c"))
            if path not in known | compiled(build)]


def show_table(table):
    """Prints the sums of each part. Returns the complaint about src/."""
    print(f"\n{'part':14}{'lines':>22}{'directions of branches':>32}")
    for name in sorted(table):
        show(name, table[name])
    lines, run, branches, taken = map(sum, zip([0, 0, 0, 0], *(
        row for name, row in table.items() if name.startswith("src"))))
    show("src, all", [lines, run, branches, taken])
    if run and 100 * run >= LINES * lines and \
            100 * taken >= BRANCHES * branches:
        return []
    return [f"src/ needs {LINES} % of lines and {BRANCHES} % of branches"]


def main(build):
    with open(ROOT / "tests/coverage.toml", "rb") as file:
        known = tomllib.load(file)
    found = measure(build)
    missing = unreached(found)
    reasons, complaints = judge_places(known["place"], missing)
    for place in sorted(missing):
        print(f"{place[0]}:{place[1]}: {'; '.join(missing[place])}\n"
              f"    {reasons.get(place, 'not listed')}")
    complaints += judge_files(known["file"], build)
    complaints += show_table(sums(found))
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
