# SPDX-License-Identifier: BSD-3-Clause
"""The pages of docs/benchmarks/ about `hone convert`, and its figures elsewhere,
from what `./dev bench convert --json` and `./dev bench reach --json`
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
         "cache for every tool. They\nunderstate hone.\n",
         "convert-clouds-emerald-rapids-2026-11-29.json":
         "The first run ended at a wrong check of the fixed VHD, before it "
         "wrote its file. So the rows\nof VMDK and of the dynamic VHD are "
         "the medians of three turns that it printed. The other rows\nare of "
         "a second run.\n",
         "reach-emerald-rapids-2026-11-29.json":
         "hone has liblzma 5.4.1 of Debian 12, and `xz` has 5.8.4. So there is "
         "a second row of hone\nwith 5.8.4. `skopeo` and `docker-registry` are "
         "those of Debian 12. Cases that say \"measured again\"\nare of "
         "another run of the same day. hone packed gzip at level 6; since "
         "2026-11-30 the\ndefault is 5.\n"}
ONE_CORE = ("Rows of `qemu-img` *without `-W`* are not its best time: it "
            "compresses on one core then.\nThey have no ratio.\n")
LONG = re.compile(r"\b0\.\d{5,}")  # a figure such as 0.3333333333333333
# What the page says of a case with fewer than three rounds.
FEW = {1: "Each tool was timed once.\n\n", 2: "Each tool was timed twice.\n\n"}
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
    core: the runs up to 2026-11-27 took it for its best way. A row with sets of
    flags that were tried is of the fastest."""
    return ("qemu-img convert" in row["command"]
            and " -W " not in row["command"] and not row.get("tried"))


def is_rival(row):
    """Whether it does all of the work; a library alone does not."""
    return not is_ours(row) and row.get("rival", True)


def name(row):
    if not row.get("rival", True):
        return row["tool"]
    return f"`{row['tool']}`" + (", without `-W`" if is_one_core(row) else "")


def best_rival(rows):
    return min(filter(is_rival, rows), key=lambda row: row["wall"])


def is_fair(rows):
    """Whether the best rival of a case, if there is one, had all cores."""
    return not any(map(is_rival, rows)) or not is_one_core(best_rival(rows))


def version(row):
    """`qemu-img` 11.1.3: what a report has of a rival's version."""
    number = re.search(r"\d+\.\d+(\.\d+)?", row.get("version", ""))
    return f"{row['tool']} {number[0]}" if number else row["tool"]


def used(row):
    """CPU and memory. A library alone counts only a part of its process."""
    if not row.get("rival", True):
        return "–", "–"
    return f"{row['cpu']:.2f}", f"{row['peak_memory'] / 1e6:.0f}"


def table(markdown, rows):
    """One case: its tools, the fastest rival's time as the measure."""
    best = best_rival(rows) if any(map(is_rival, rows)) else None
    body = []
    for row in rows:
        # A tool that reads only writes nothing.
        written = (f"{row['disk_usage'] / MIB:,.0f}" if row["disk_usage"]
                   else "–")
        left = (f"{row['page_cache_left'] / MIB:,.0f}"
                if row["disk_usage"] else "–")
        calls = row["system_calls"]
        body.append([
            name(row), f"{row['wall']:.2f}", *used(row), written, left,
            f"{calls:,}" if calls else "–",
            kept.times(best["wall"] / row["wall"])
            if best and is_ours(row) and is_fair(rows) else ""])
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
              for row in rows if is_rival(row) and row["before"]]
    text = f"Measured again: {again['date']}, commit {again['commit']}"
    if "rivals" in again:
        text += f", beside the rivals of {without_name(again['rivals'])}"
    text += "."
    if before:
        text += f" Before, the ratio was {kept.times(min(before))}."
    return text + "\n\n"


# What conversions are compared with; the other packages are rivals of parts.
OF_COMMANDS = ("qemu-utils", "libnbd-bin", "pigz", "zstd", "xz-utils", "zlib1g",
               "libzstd1", "curl", "openssl", "gzip", "tar")


# What the cache is compared with: pages_cache.versions() has these.
OF_CACHE = ("php", "memcached", "redis-server")


def rivals_of(report, part=None):
    """What a report says of the rivals and the compilers: lines of a list. The
    benchmarks of a part are built with its rivals, by their compiler."""
    about = report.get("rivals")
    if not about:
        return []
    packages = ", ".join(f"{package} {without_epoch(version)}"
                         for package, version in about["packages"].items()
                         if not package.startswith(OF_CACHE)
                         and ((package in OF_COMMANDS) != (part in kept.PARTS)
                              or package == "libc6"))
    theirs = without_epoch(about["compiler_of_rivals"])
    ours = theirs if part in kept.PARTS else about["compiler_here"]
    zstd = about.get("libzstd_here") if part not in kept.PARTS else None
    return [f"- Rivals of {without_name(about['suite'])}: {packages}",
            f"- hone is built by {ours}" +
            (f" and has libzstd {zstd}" if zstd else "") +
            f"; the compiler of the suite is {theirs}"]


def without_name(suite):
    """Debian sid, index of ...: without what stands in brackets."""
    return re.sub(r" \(.*?\)", "", suite)


def without_epoch(version):
    return re.sub(r"\b\d+:", "", version)


def named(flags):
    return f"`{flags}`" if flags else "no flags"


def tried(rows):
    """The sets of flags that a case tried: lines of a list."""
    lines = []
    for row in rows:
        found = row.get("tried") or {}
        if len(found) > 1:
            shown = ", ".join(f"{named(flags)} {seconds:.2f} s"
                              for flags, seconds in found.items() if seconds)
            stopped = ", ".join(named(flags)
                                for flags, seconds in found.items()
                                if not seconds)
            lines.append(f"{version(row)}, one run of each set of flags: "
                         f"{shown}. Timed: {named(row['flags'])}." +
                         (f" Stopped because they were slower: {stopped}."
                          if stopped else ""))
    return "".join(f"\n{line}\n" for line in lines)


def page(markdown, subject, title, command, note):
    """A page: its machines, and the cases of each. Empty without a run."""
    parts = [f"# {title}\n\n{note}\n"]
    for machine, (path, report) in newest_first(load(subject)):
        about = report["machine"]
        lines = [f"- `{command}`, {about['date']}, commit {about['commit']} "
                 f"([run](../bench/results/{path.name}))",
                 *rivals_of(report)]
        parts.append(f"## {kept.MACHINES[machine].name}, {about['date']}\n\n" +
                     "\n".join(lines) + "\n")
        if path.name in NOTES:
            parts.append(NOTES[path.name])
        if any(map(is_one_core, report["rows"])):
            parts.append(ONE_CORE)
        for case, rows in cases(report).items():
            rounds = len(rows[0]["seconds"])
            parts.append(f"### {case}\n\n{measured_again(rows)}"
                         f"{FEW.get(rounds, '')}"
                         f"{table(markdown, rows)}\n{tried(rows)}")
    return "\n".join(parts) if parts[1:] else ""


def newest_first(found):
    return sorted(found.items(), reverse=True,
                  key=lambda item: item[1][1]["machine"]["date"])


def pages(markdown):
    """Name -> page."""
    cached = ("Sources are in the page cache, and every output is on the disk "
              "when its time ends. The\nratio is the time of the fastest other "
              "tool over that of hone. [Reasons and\nlimits](design/image.md).")
    return {
        "convert": page(markdown, "convert", "Conversions of disk images",
                        "./dev bench convert", cached),
        "clouds": page(markdown, "convert-clouds",
                       "VMDK, VHD and Google's archives",
                       "./dev bench convert --only 'VMDK|VHD|Google'",
                       "A disk of 12 GiB with 0.9 GiB of files. " + cached),
        "reach": page(markdown, "reach",
                      "Images by address, packed or through a pipe",
                      "./dev bench reach",
                      "Servers run on the same machine, and share its two CPUs "
                      "with the tool. `curl` alone only\nstores the file."),
    }


def newest():
    """Machine and report of the last run of conversions."""
    machine, (_, report) = newest_first(load())[0]
    return machine, report


def overview(markdown):
    """The table of docs/benchmarks.md: the last run of conversions, and of the
    images by address what was measured on that machine with these rivals."""
    machine, report = newest()
    body = []
    for case, rows in cases(report).items():
        body += summary(case, rows)
    for subject in "convert-clouds", "reach":
        _, other = load(subject).get(machine, (None, {"rows": []}))
        for case, rows in cases(other).items():
            if "version" in rows[0]:
                body += summary(case, rows)
    return markdown(["work", "hone", "best rival", "ratio", "size",
                     "flags of the rival", "beside a part alone"], body)


def notes():
    """What has to be known of rows of the overview."""
    zlib = {row["tool"]: row for row in cases(newest()[1])[
        "raw to qcow2, zlib"]}
    best = best_rival(zlib.values())
    equal = max((row for row in zlib.values() if is_ours(row)
                 and row["disk_usage"] <= best["disk_usage"]),
                key=lambda row: best["wall"] / row["wall"], default=None)
    lines = []
    if equal and equal["tool"] != "hone":
        lines.append(f"- zlib: at the size of `{best['tool']}` or below it, "
                     f"`{equal['tool']}` is "
                     f"{kept.plain_times(best['wall'] / equal['wall'])} as "
                     "fast.")
    lines.append("- `nbdcopy` leaves nothing of its output in the page cache. "
                 "So it is also compared with\n  `hone --cache drop`, which "
                 "leaves nothing either.")
    lines.append("- `raw.gz`: hone packed at level 6. The default is 5 since "
                 "2026-11-30; no run of it\n  is kept.")
    return "\n" + "\n".join(lines)


def summary(case, rows):
    """Rows of the overview; none if a case has no fair rival."""
    if not any(map(is_rival, rows)) or not is_fair(rows):
        return []
    best = best_rival(rows)
    flags = f"`{best['flags']}`" if best.get("flags") else "–"
    found = []
    shown = {"hone", "hone --level 2", "hone --direct"}
    if best["disk_usage"] and best["page_cache_left"] < MIB << 6:
        shown.add("hone --cache drop")
    for mine in rows:
        if (mine["tool"] not in shown and
                not mine["tool"].startswith("hone with lib")):
            continue
        wall, level = mine["wall"], mine["tool"].removeprefix("hone")
        alone = [f"{row['wall'] / wall:.2f}, {row['tool'].split(' ')[0]}"
                 for row in rows if not row.get("rival", True)]
        # Several commands also leave what is between them.
        alike = not best["command"].startswith("sh ")
        size = (f"{mine['disk_usage'] / best['disk_usage']:.3f}"
                if mine["disk_usage"] and best["disk_usage"] and alike
                else "–")
        found.append([
            f"{case},{level}" if level else case, f"{wall:.2f} s",
            f"{best['wall']:.2f} s, {version(best)}",
            kept.times(best["wall"] / wall), size, flags,
            alone[0] if alone and not level else "–"])
    return found


def missed():
    """Machine, subject -> the targets that its last run missed, without those
    of cases whose rival had one core."""
    found = {}
    for subject in "convert", "convert-clouds", "reach":
        for machine, (_, report) in load(subject).items():
            of = cases(report)
            short = [LONG.sub(lambda m: f"{float(m[0]):.3g}", t["text"])
                     for t in report["targets"] if not t["met"]
                     and is_fair(of[t["text"].split(": ")[0]])]
            if short:
                found[machine, subject] = short
    return found


def first(case):
    """The rows of hone and of the best rival in the last run."""
    rows = cases(newest()[1]).get(case)
    if not rows:
        return None
    return next(row for row in rows if row["tool"] == "hone"), best_rival(rows)


def ratios(report):
    """How many times as fast as the best rival hone is, of each case with a
    fair one."""
    return sorted(best_rival(rows)["wall"] / next(
        row["wall"] for row in rows if is_ours(row))
        for rows in cases(report).values()
        if any(map(is_rival, rows)) and is_fair(rows))
