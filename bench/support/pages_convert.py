# SPDX-License-Identifier: BSD-3-Clause
"""The parts of docs/benchmarks.md about `hone convert`, and its figures
elsewhere, from what `./dev bench convert --json` and `./dev bench reach --json`
wrote: bench/results/convert-MACHINE-DATE.json, convert-clouds-MACHINE-DATE.json
and reach-MACHINE-DATE.json."""
import json
import re

import kept

MIB = 1 << 20
# What has to be known of a run: bench/results/README.md.
NOTES = {"convert-zen3-2026-11-22.json":
         "The rows raw to qcow2, raw to raw, zeros to raw and durable raw to "
         "qcow2 are of a\nbenchmark that did not keep the source in the page "
         "cache for every tool. They\nunderstate hone.\n"}
ONE_CORE = ("Rows of `qemu-img` *without `-W`* are not its best time: it "
            "compresses on one core then.\nThis page called them its best. On "
            "two cores of an Emerald Rapids, hone was 10.7 times as\nfast as "
            "`qemu-img` 7.2 without `-W` and 5.9 times as fast as with it "
            "(zlib), 3.4 and 2.0 times\n(zstd), on 2026-11-28. These rows will "
            "be measured again, with `-W`.\n")
# What the chart has: a case, and what to call it there.
CHART = [("raw to qcow2, zlib", "raw to zlib qcow2"),
          ("raw to qcow2, zstd", "raw to zstd qcow2"),
          ("qcow2 zlib to raw", "zlib qcow2 to raw"),
          ("raw to qcow2", "raw to plain qcow2"),
          ("compare raw with raw", "compare two images")]


def load(subject="convert"):
    """Machine -> (path, report), in the order of the machines."""
    found = {}
    for path in sorted(kept.RESULTS.glob(f"{subject}-*.json")):
        match = re.fullmatch(rf"{subject}-(.+)-\d{{4}}-\d\d-\d\d\.json",
                             path.name)
        if match and match[1] in kept.MACHINES:
            found[match[1]] = path, json.loads(path.read_text())
    return {name: found[name] for name in kept.MACHINES if name in found}


def cases(report):
    """Case -> its rows."""
    found = {}
    for row in report["rows"]:
        found.setdefault(row["case"], []).append(row)
    return found


def is_ours(row):
    return row["tool"].startswith("hone")


def is_one_core(row):
    """Whether a row is of qemu-img without -W, which then compresses on one
    core: the runs up to 2026-11-27 took it for its best way."""
    return "qemu-img convert" in row["command"] and " -W " not in row["command"]


def name(row):
    return f"`{row['tool']}`" + (", without `-W`" if is_one_core(row) else "")


def best_rival(rows):
    return min((row for row in rows if not is_ours(row)),
               key=lambda row: row["wall"])


def table(markdown, rows):
    """One case: its tools, the fastest rival's time as the measure."""
    best = best_rival(rows)
    body = []
    for row in rows:
        # A tool that reads only writes nothing.
        written = (f"{row['disk_usage'] / MIB:,.0f}" if row["disk_usage"]
                   else "–")
        left = (f"{row['page_cache_left'] / MIB:,.0f}"
                if row["disk_usage"] else "–")
        calls = row["system_calls"]
        body.append([
            name(row), f"{row['wall']:.2f}", f"{row['cpu']:.2f}",
            f"{row['peak_memory'] / 1e6:.0f}", written, left,
            f"{calls:,}" if calls else "–",
            kept.times(best["wall"] / row["wall"]) if is_ours(row) else ""])
    return markdown(["tool", "seconds", "CPU s", "peak MB", "on disk MiB",
                     "page cache left MiB", "system calls", "ratio"], body)


def measured_again(rows):
    """Where a case is not of the run that the section names: what that run
    had."""
    again = rows[0].get("again")
    if not again:
        return ""
    before = [row["before"] / ours["before"]
              for ours in rows if ours["tool"] == "hone" and ours["before"]
              for row in rows if not is_ours(row) and row["before"]]
    text = f"Measured again: {again['date']}, commit {again['commit']}."
    if before:
        text += f" Before, the ratio was {kept.times(min(before))}."
    return text + "\n\n"


def section(markdown):
    """The section; markdown(header, rows) makes a table. Empty without a
    run."""
    parts = []
    for machine, (path, report) in load().items():
        about = report["machine"]
        parts.append(
            f"## `hone convert` on {kept.MACHINES[machine].name}\n\n"
            f"- `./dev bench convert`, {about['date']}, commit "
            f"{about['commit']} ([run](../bench/results/{path.name}))\n"
            "- Why it is so: [reasons and limits](design/image.md)\n\n"
            "Sources are in the page cache, and every output is on the disk "
            "when its time ends.\nThe ratio is the time of the fastest other "
            "tool over that of hone.\n")
        if path.name in NOTES:
            parts.append(NOTES[path.name])
        if any(map(is_one_core, report["rows"])):
            parts.append(ONE_CORE)
        short = [t["text"] for t in report["targets"] if not t["met"]]
        if short:
            parts.append("Targets that were missed:\n\n" +
                         "\n".join(f"- {text}" for text in short) + "\n")
        for case, rows in cases(report).items():
            parts.append(f"### {case}\n\n{measured_again(rows)}"
                         f"{table(markdown, rows)}\n")
    return parts


def targets_section(markdown, subject, title, command, note):
    """A section whose cases have their targets below them. Empty without a
    run."""
    parts = []
    for machine, (path, report) in load(subject).items():
        about = report["machine"]
        parts.append(
            f"## {title}, on {kept.MACHINES[machine].name}\n\n"
            f"- `{command}`, {about['date']}, commit "
            f"{about['commit']} ([run](../bench/results/{path.name}))\n\n"
            f"{note}\n")
        if any(map(is_one_core, report["rows"])):
            parts.append(ONE_CORE)
        for case, rows in cases(report).items():
            targets = [
                f"- {target['text'].partition(': ')[2]}: "
                f"{'met' if target['met'] else '**missed**'}"
                for target in report["targets"]
                if target["text"].startswith(f"{case}: ")]
            parts.append(f"### {case}\n\n{table(markdown, rows)}\n\n" +
                         "\n".join(targets) + "\n")
    return parts


def clouds_section(markdown):
    """The section about the formats of the clouds."""
    return targets_section(
        markdown, "convert-clouds", "VMDK, VHD and Google's archives",
        "./dev bench convert --only 'VMDK|VHD|Google'",
        "A disk of 12 GiB with 0.9 GiB of files. Sources are in the page "
        "cache, and every output is on\nthe disk when its time ends.")


def reach_section(markdown):
    """The section about images that are no files of this machine."""
    return targets_section(
        markdown, "reach", "Images by address, packed or through a pipe",
        "./dev bench reach",
        "Servers run on the same machine, and share its two CPUs with the "
        "tool. `curl` alone only\nstores the file.")


def first(case):
    """The rows of hone and of the best rival in the first machine's run."""
    _, report = next(iter(load().values()))
    rows = cases(report)[case]
    return next(row for row in rows if row["tool"] == "hone"), best_rival(rows)
